/* Sums over the kernels and copies of the steps that several rules ask for. */
#ifndef FLOPLEDGER_SECTIONS_ADVICE_KERNEL_FIGURES_H
#define FLOPLEDGER_SECTIONS_ADVICE_KERNEL_FIGURES_H

#include "ledger/step_ledger.h"
#include "trace/trace.h"

#include <stdbool.h>
#include <stdint.h>

struct work_sum {
    int64_t count;
    int64_t duration_ns; /* summed */
};

struct kernel_figures {
    struct work_sum kernels; /* all of them */
    struct work_sum classes[KERNEL_CLASS_COUNT];
    struct work_sum launches;    /* launch calls of kernels, each once */
    int64_t graph_launches;      /* of those, launches of a CUDA graph */
    int64_t graph_kernels;       /* kernels that such a call launched */
    int64_t shorter_than_launch; /* kernels with a launch call of their own that took longer */
    int64_t launched_singly;     /* kernels with a launch call of their own */
};

/* Of the ledger's device: what starts inside a step. */
struct kernel_figures sum_kernels(const struct trace *trace, const struct ledger *ledger);

#endif
