/* What the logs and records of a training job tell, from its files to the sections of its page. */
#ifndef FLOPLEDGER_PIPELINE_JOB_REPORT_H
#define FLOPLEDGER_PIPELINE_JOB_REPORT_H

#include "base/core/attributes.h"
#include "base/core/error.h"
#include "cost/efficiency/peak_choice.h"
#include "output/results/results.h"
#include "sections/job/job_inputs.h"

#include <stdbool.h>
#include <stdint.h>

/* Which files, and what the user says of the job. */
struct job_report {
    char **paths; /* [count] */
    int count;
    const struct log_pattern *pattern; /* of --pattern; NULL: the formats that are known */
    struct peak_settings peaks;
    const char *device_name; /* NULL: not given */
    int64_t devices;         /* where the log does not say; 0: not given */
    double flops_per_token;  /* 0: not known */
    int64_t top;             /* rows of long tables; 0: all */
    bool shows_progress;
};

/* Adds the job to the results: files are read, attempts ordered, every second put to an account,
 * and each section written. */
MUST_USE bool make_job_report(struct results *results, struct job_reading *reading,
                              const struct job_report *wanted, struct error *error);

/* The report is of what could be read: true, or ERROR_PARTIAL that says what could not. */
bool check_job_reading(const struct job_reading *reading, struct error *error);

#endif
