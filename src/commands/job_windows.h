/* The windows that a profiler recorded of a job's steps: each step of them booked. */
#ifndef FLOPLEDGER_COMMANDS_JOB_WINDOWS_H
#define FLOPLEDGER_COMMANDS_JOB_WINDOWS_H

#include "efficiency/peak_choice.h"
#include "job/job.h"
#include "job/kept_parts.h"
#include "ledger/account.h"
#include "ledger/kernel_class.h"
#include "results/results.h"

#include <stdbool.h>
#include <stddef.h>

/* So many traces are read at most; of more, some of all, evenly. */
enum { WINDOW_TRACES_MAX = 64 };

/* What FLOPs take at the peak, whatever a step takes: fixed_ns of a traced_step. */
enum window_flops { WINDOW_MODEL, WINDOW_RECOMPUTED, WINDOW_EXTRA, WINDOW_FLOPS_COUNT };

/* Zeroed: none. */
struct job_windows {
    struct traced_step *steps; /* parts are the accounts of the ledger; [count] */
    size_t count;
    size_t traces_found;
    size_t traces_read;
    bool is_of_records; /* some attempt is told by a step record: there could be windows */
    bool is_cpu_only;   /* all of them */
    bool has_model;     /* FLOPs and peak are known, at least of a part */
    const char *needs;  /* what FLOPs need, where they are not known; NULL without a window */
    int64_t class_ns[KERNEL_CLASS_COUNT]; /* over all windows */
    int64_t matrix_ns;
    int64_t unpriced_ns; /* of it */
};

/* Reads the traces beside the step records of the job's attempts. What cannot be read becomes a
 * problem of the results. `windows` must be zeroed. */
void job_windows_read(struct job_windows *windows, struct results *results, const struct job *job,
                      const struct peak_settings *peaks);

/* For kept_parts_fill: points into `windows`. */
struct traced_steps job_windows_steps(const struct job_windows *windows);

void job_windows_clear(struct job_windows *windows);

#endif
