/* Reads the files of a training job: logs of any format. */
#ifndef FLOPLEDGER_PIPELINE_READ_JOB_H
#define FLOPLEDGER_PIPELINE_READ_JOB_H

#include "base/core/attributes.h"
#include "base/core/error.h"
#include "output/results/results.h"
#include "sections/job/job_inputs.h"
#include "trace/job/job.h"

#include <stdbool.h>

struct log_pattern;

/* What is to be read, and how. */
struct job_input {
    char **paths; /* [count] */
    int count;
    const struct log_pattern *pattern; /* of --pattern; NULL: the formats that are known */
    bool shows_progress;
};

/* Fills a zeroed job with what the files tell; what cannot be read becomes a problem of the
 * results. False where no file could be used, or where they are of several jobs. */
MUST_USE bool read_job(struct job *job, struct results *results, const struct job_input *input,
                       struct job_reading *reading, struct error *error);

#endif
