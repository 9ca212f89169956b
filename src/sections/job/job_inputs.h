/* What was read of a job: its files, and the windows that a profiler recorded of its steps. */
#ifndef FLOPLEDGER_SECTIONS_JOB_JOB_INPUTS_H
#define FLOPLEDGER_SECTIONS_JOB_JOB_INPUTS_H

#include "base/core/error.h"
#include "job/kept_parts.h"
#include "ledger/kernel_class.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What became of the files. */
struct job_reading {
    size_t used_count;
    size_t failed_count; /* told in results->problems */
    size_t cut_count;    /* of those used: packed, and end too early */
    int64_t bytes;       /* of text */
    int64_t lines;
    int64_t step_lines;       /* of them: tell of steps, checkpoints and the like */
    int64_t long_lines;       /* of them: cut */
    int64_t damaged_entries;  /* of step records */
    const char *formats;      /* "megatron" or "megatron, mlperf"; lives as long as the results */
    struct error first_error; /* of those that failed: the first */
};

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
    int64_t uncosted_ns; /* of it */
};

#endif
