/* Level A of the ledger: each second of a job, booked to exactly one account. The rules are those
 * of docs/metrics/ettr.md: fate decides which steps were kept, re-execution counts once. */
#ifndef FLOPLEDGER_JOB_JOB_ACCOUNTS_H
#define FLOPLEDGER_JOB_JOB_ACCOUNTS_H

#include "trace/job/job.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum job_account {
    JOB_KEPT,        /* steps that the job's weights are made of */
    JOB_SKIPPED,     /* kept, but without an update (overflow, NaN) */
    JOB_DISCARDED,   /* steps that a later attempt went back behind */
    JOB_CHECKPOINTS, /* training stood still for one */
    JOB_EVALUATIONS,
    JOB_OTHER,   /* between steps, none of these */
    JOB_HANG,    /* from the last step to the end of an attempt that did not complete */
    JOB_STARTUP, /* from the start of an attempt to its first step */
    JOB_DOWN,    /* no attempt alive */
    JOB_ACCOUNT_COUNT
};

const char *job_account_key(enum job_account account);   /* "kept_steps" */
const char *job_account_title(enum job_account account); /* "kept steps" */

struct attempt_accounts {
    int64_t ns[JOB_ACCOUNT_COUNT]; /* JOB_DOWN: before it, since the attempt before ended */
    int64_t restore_ns;            /* of JOB_STARTUP: a checkpoint was loaded */
    bool is_down_known;            /* of the first: true, it has none */
    bool is_timed; /* the parts are all the time from its start to its end; false: some of it is not
                      told */
    bool is_hang_in_other;       /* its steps have no times: what came after the last is in
                                    JOB_OTHER */
    bool is_startup_known;       /* false: no line tells of a time before its first step */
    bool begins_run;             /* another run behind one that had completed: takes none of its
                                    steps back */
    bool is_first_step_in_start; /* its first entry's length is not told: it is in JOB_STARTUP */
    int64_t untimed_steps;       /* whose length nothing tells: in no account */
    int64_t devices;             /* 0: not known */
    int64_t kept_until;          /* number of the last step kept; INT64_MAX: all */
    int64_t steps;
    int64_t steps_discarded;
    int64_t steps_skipped;
    bool are_skipped_known; /* some line tells of steps without an update, and be it that none was
                             */
    int64_t *each_ns;       /* [step_count of the attempt]: mean length of the steps of an entry;
                               JOB_NOT_KNOWN */
};

struct job_accounts {
    struct attempt_accounts *attempts; /* [attempt_count of the job] */
    size_t attempt_count;
    int64_t ns[JOB_ACCOUNT_COUNT];
    int64_t total_ns;
    double device_seconds[JOB_ACCOUNT_COUNT]; /* 0 where devices are not known */
    double total_device_seconds;
    bool is_complete;       /* every second from the first to the last is in an account */
    bool are_devices_known; /* of all attempts */
};

/* `devices` of attempts that do not tell; 0: not known. `accounts` must be zeroed. */
void job_accounts_fill(struct job_accounts *accounts, const struct job *job, int64_t devices);
void job_accounts_clear(struct job_accounts *accounts);

/* There are steps, and of none is known how long it took: shares of the job's time say nothing. */
bool job_accounts_lack_steps(const struct job_accounts *accounts);

/* Time of the attempt's accounts without JOB_DOWN. */
int64_t attempt_alive_ns(const struct attempt_accounts *accounts);

/* Did it end otherwise than planned? The last one of a job whose lines just stop did not. */
bool job_attempt_failed(const struct job *job, size_t attempt);

#endif
