/* The windows that a profiler recorded of a job's steps: each step of them analyzed. */
#ifndef FLOPLEDGER_PIPELINE_JOB_WINDOWS_H
#define FLOPLEDGER_PIPELINE_JOB_WINDOWS_H

#include "cost/efficiency/peak_choice.h"
#include "output/results/results.h"
#include "sections/job/job_inputs.h"
#include "trace/job/job.h"

/* Reads the traces beside the step records of the job's attempts. What cannot be read becomes a
 * problem of the results. `windows` must be zeroed. */
void job_windows_read(struct job_windows *windows, struct results *results, const struct job *job,
                      const struct peak_settings *peaks);

/* For kept_parts_fill: points into `windows`. */
struct traced_steps job_windows_steps(const struct job_windows *windows);

void job_windows_clear(struct job_windows *windows);

#endif
