/* The step records of recorded runs as the events of a job: what `flopledger ettr CAPTURE` reads.
 */
#ifndef FLOPLEDGER_PIPELINE_RECORDED_JOB_H
#define FLOPLEDGER_PIPELINE_RECORDED_JOB_H

#include "base/core/attributes.h"
#include "base/core/error.h"
#include "output/results/results.h"
#include "trace/job/job.h"

#include <stdbool.h>

struct recorded_job {
    int64_t entries; /* read */
    int64_t bytes;
    int64_t damaged; /* entries that are left out */
};

/* A folder, or a file that begins as a step record does. */
bool is_recorded_job(const char *path);

/* Adds the attempts of the lowest rank that has records: of the file, of the capture, or of all
 * captures below the folder that are of the newest one's job (of the newest one alone where it has
 * no job id). What is damaged or not known becomes a problem of the results. Errors: no record
 * there, or none that can be read. */
MUST_USE bool add_recorded_job(struct job *job, struct results *results, const char *path,
                               struct recorded_job *read, struct error *error);

#endif
