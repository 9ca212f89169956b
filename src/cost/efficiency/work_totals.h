/* Work of the device by operator and by kernel class: time, FLOPs, bytes, and which units did it.
 */
#ifndef FLOPLEDGER_COST_EFFICIENCY_WORK_TOTALS_H
#define FLOPLEDGER_COST_EFFICIENCY_WORK_TOTALS_H

#include "cost/efficiency/efficiency.h"
#include "cost/efficiency/matrix_calls.h"

#include <stdbool.h>
#include <stdint.h>

/* All calls of an operator with equal arguments. Counted: kernels that start inside a step, each
 * with its whole duration. */
struct operator_work {
    uint32_t cost;    /* index in the counted ops' costs */
    uint32_t example; /* index in efficiency.calls: the call with the longest kernel */
    int64_t calls;
    int64_t kernel_ns;
    int64_t unit_ns;   /* of it on matrix units, by the kernels' names */
    int64_t vector_ns; /* of it on vector units, likewise */
    double flops;      /* of products those executed, else pointwise ones */
    double bytes;      /* read and written once each; negative: not known */
};

/* All kernels of one class. */
struct class_work {
    int64_t kernel_ns;
    int64_t known_ns; /* of it by operators whose FLOPs and bytes are known: the rest below */
    double flops;
    double bytes;
    double compute_ns; /* FLOPs at the peaks of their formats */
    double roof_ns;    /* of each operator the longer of FLOPs at its peak and bytes at full
                          bandwidth; 0 where the device is not known */
};

struct module_work {
    int64_t kernel_ns; /* of products, launched in the module or in one inside it */
    int64_t unit_ns;
    double flops; /* executed */
    double ideal_ns;
    int64_t costed_ns; /* of kernel_ns, with FLOPs and a peak */
};

/* Zeroed is empty. */
struct work_totals {
    struct operator_work *operators; /* [operator_count], most time first */
    uint32_t operator_count;
    struct class_work classes[KERNEL_CLASS_COUNT];
    struct module_work *modules; /* [costs->tree.count] */
};

/* One pass over the pieces of work. `totals` must be zeroed. */
void measure_work_totals(struct work_totals *totals, const struct efficiency *efficiency);
void work_totals_clear(struct work_totals *totals);

/* FLOP/s that bound the call: of a product its format's peak, else that of the vector units; 0: not
 * known. */
double compute_roof(const struct efficiency *efficiency, const struct matrix_call *call);

/* Bytes per second; 0: not known. */
double memory_roof(const struct efficiency *efficiency);

/* The device, or what was measured; NULL: not known. */
const char *memory_roof_source(const struct efficiency *efficiency);

#endif
