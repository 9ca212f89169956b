/* Reads the files of a training job: logs of any format. */
#ifndef FLOPLEDGER_COMMANDS_READ_JOB_H
#define FLOPLEDGER_COMMANDS_READ_JOB_H

#include "base/attributes.h"
#include "base/error.h"
#include "job/job.h"
#include "results/results.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct log_pattern;

/* What became of the files. */
struct job_reading {
    size_t used_count;
    size_t failed_count; /* told in results->problems */
    size_t cut_count;    /* of those used: packed, and end too early */
    int64_t bytes;       /* of text */
    int64_t lines;
    int64_t step_lines;       /* of them: tell of steps, checkpoints and the like */
    int64_t long_lines;       /* of them: cut */
    const char *formats;      /* "megatron" or "megatron, mlperf"; lives as long as the results */
    struct error first_error; /* of those that failed: the first */
};

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
