/* What `flopledger ettr` says of a job: its sections, one file each. */
#ifndef FLOPLEDGER_SECTIONS_JOB_ETTR_PAGE_H
#define FLOPLEDGER_SECTIONS_JOB_ETTR_PAGE_H

#include "job/job_accounts.h"
#include "job/job_rates.h"
#include "job/job_step_times.h"
#include "job/kept_parts.h"
#include "output/results/results.h"
#include "sections/job/job_inputs.h"
#include "trace/job/job.h"

#include <stdint.h>

/* All that is known of the job. */
struct ettr_page {
    struct results *results;
    const struct job *job;
    const struct job_accounts *accounts;
    const struct job_rates *rates;
    const struct job_step_times *times;
    const struct job_failures *failures;
    const struct job_reading *reading;
    const struct job_windows *windows;
    const struct kept_parts *kept;
    double peak;             /* FLOP/s of one device; 0: not known */
    const char *peak_source; /* "bf16 of NVIDIA H100 SXM5"; NULL without a peak */
    double flops_per_token;  /* 0: not known */
    int64_t top;             /* rows of long tables; 0: all */
};

/* The job, ETTR, and where each device-hour went. */
struct section *describe_job(const struct ettr_page *page);
/* What the devices did in the kept steps; of a job whose steps a record tells. */
struct section *describe_kept_steps(const struct ettr_page *page);
/* Its attempts, one by one. */
struct section *describe_attempts(const struct ettr_page *page);
/* How long steps took. */
struct section *describe_step_times(const struct ettr_page *page);
/* Rates the log tells, and what of them cannot be; NULL where it tells none. */
struct section *describe_rates(const struct ettr_page *page);
/* Interruptions, and what could be expected with them. */
struct section *describe_failures(const struct ettr_page *page);

/* What a diary says; NULL where there is none. */
struct section *describe_diary(const struct ettr_page *page);

/* What a reader of the log should know: clocks, holes, copies, missing times. */
void add_job_remarks(const struct ettr_page *page, struct section *section);

/* Do all files with times tell the zone of theirs? Times without one are told as they are
 * written. */
bool are_job_times_utc(const struct job *job);

/* "2025-04-13 23:41:12"; "" where the time is not known. */
const char *job_time_text(const struct ettr_page *page, int64_t time_ns);

/* A finding without a cost per step. */
void add_job_finding(const struct ettr_page *page, struct section *section, bool is_warning,
                     const char *what, const char *try_this);

/* Something to do about the job. */
struct named_finding {
    const char *id; /* the key of an account, "first_step", or what a diary is about */
    const char *what;
    const char *evidence; /* NULL: none */
    const char *try_this; /* likewise */
    const char *reason;   /* why it is sure */
    double share;         /* of the job's time; 0: not a matter of time */
};

void add_named_finding(const struct ettr_page *page, struct section *section,
                       const struct named_finding *named);

/* The loss of the job that is largest, where one takes 2 % of its time. */
void add_largest_loss(const struct ettr_page *page, struct section *section);

/* The share of an account, by device-hours where devices are known. */
double share_of_job_account(const struct job_accounts *accounts, enum job_account account);

#endif
