/* Which module's kernels ran on each stream when: as slices that nest. */
#ifndef FLOPLEDGER_OUTPUT_EXPORTS_CHROME_MODULES_H
#define FLOPLEDGER_OUTPUT_EXPORTS_CHROME_MODULES_H

#include "cost/modules/module_costs.h"
#include "trace/trace.h"

#include <stddef.h>
#include <stdint.h>

/* From the first kernel of a module to the last one before another's. The outermost slice is a
 * phase of training, those in it modules from the model down. */
struct module_slice {
    int64_t start_ns;
    int64_t end_ns;
    const char *name; /* lives as long as trace and costs */
    int64_t kernels;  /* copies and memsets, too */
    uint32_t track;   /* in trace.tracks: the stream */
    uint32_t depth;
};

/* Zeroed is empty. */
struct module_slices {
    struct module_slice *slices; /* [count]: by track, start, depth */
    size_t count;
};

/* `slices` must be zeroed. */
void find_module_slices(struct module_slices *slices, const struct trace *trace,
                        const struct module_costs *costs);
void module_slices_clear(struct module_slices *slices);

#endif
