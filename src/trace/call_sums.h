/* Work of devices as a profiler sums it up: by the path of scopes that launched it, without times
 * at which anything ran. Sums of a scope hold what is inside it. */
#ifndef FLOPLEDGER_TRACE_CALL_SUMS_H
#define FLOPLEDGER_TRACE_CALL_SUMS_H

#include "base/core/string_pool.h"
#include "trace/read_account.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Operands of so many bits, as the program that was profiled says of its FLOPs. */
enum sum_width { SUM_BITS_8, SUM_BITS_16, SUM_BITS_32, SUM_BITS_64, SUM_BITS_UNTOLD, SUM_WIDTHS };

struct call_sum {
    const char *name;
    size_t parent; /* SIZE_MAX: none */
    int depth;
    bool is_kernel; /* something was timed here, and not only inside */
    bool is_parted; /* the work inside is of several devices */
    size_t device;  /* SIZE_MAX: of none, or of several */
    double launches;
    double time_ns;
    double flops[SUM_WIDTHS];
    double bytes;
};

struct call_sums_device {
    const char *kind;         /* "CUDA" */
    const char *id;           /* "0" */
    const char *architecture; /* "90", "gfx942" */
    int32_t multiprocessors;
    double memory_bytes_per_second; /* by the width and clock of its bus; 0: not told */
    double time_ns;                 /* of the work on it */
};

/* All work of kernels of one name. */
struct summed_kernel {
    const char *name;
    double launches;
    double time_ns;
    size_t places; /* in the tree */
};

struct call_sums {
    /* [count]: a large array of the first with time in them, each behind the scope it is in; the
     * first holds all */
    struct call_sum *sums;
    size_t count;
    size_t timed_count;            /* scopes with time in them, kept or not */
    struct summed_kernel *kernels; /* [kernel_count], the longest first */
    size_t kernel_count;
    struct call_sums_device *devices; /* [device_count] */
    size_t device_count;
    int64_t not_read; /* values that are no number that can be */
    struct read_account read;
    struct string_pool names;
};

double call_sum_flops(const struct call_sum *sum);

/* The scope has work on that device. One whose work is on two belongs to neither; once parted it
 * stays so, whatever is added behind. */
void call_sum_add_device(struct call_sum *scope, size_t device);

/* `sum` is in the scope. */
void call_sum_add(struct call_sum *scope, const struct call_sum *sum);

void call_sums_clear(struct call_sums *sums);

#endif
