/* How long the steps of a job took: how they spread, which stood out, and whether they drifted. */
#ifndef FLOPLEDGER_JOB_JOB_STEP_TIMES_H
#define FLOPLEDGER_JOB_JOB_STEP_TIMES_H

#include "job/job_accounts.h"
#include "trace/job/job.h"

#include <stddef.h>
#include <stdint.h>

enum { STEP_PARTS_MAX = 16, STEP_PART_ENTRIES_MIN = 8, SLOW_STEPS_MAX = 10 };

/* A step is slow above so many per cent of the median of the steps around it. */
enum { SLOW_PER_CENT = 150 };

/* A stretch of the job's entries, in the order of time. */
struct step_part {
    size_t attempt; /* that it begins in */
    int64_t first_step;
    int64_t last_step;
    int64_t median_ns;
};

struct slow_step {
    size_t attempt;
    int64_t step;
    int64_t count; /* of steps that the entry stands for */
    int64_t each_ns;
    int64_t median_ns; /* of the part it is in */
    int64_t end_ns;    /* JOB_NOT_KNOWN */
};

struct job_step_times {
    int64_t entries; /* with a length that can be */
    int64_t steps;   /* that they stand for */
    int64_t mean_ns;
    int64_t minimum_ns;
    int64_t median_ns;
    int64_t p90_ns;
    int64_t p99_ns;
    int64_t maximum_ns;
    struct step_part parts[STEP_PARTS_MAX];
    size_t part_count;
    struct slow_step slow[SLOW_STEPS_MAX]; /* those that cost most, the worst first */
    size_t slow_count;
    int64_t slow_steps; /* in all */
    int64_t slow_ns;    /* that they took beyond the median around them */
};

/* Entries whose rate cannot be are left out. */
void job_step_times_fill(struct job_step_times *times, const struct job *job,
                         const struct job_accounts *accounts);

#endif
