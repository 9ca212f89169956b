/* What we add to a trace for Perfetto or chrome://tracing: the steps with their accounts, what each
 * moment of them was booked to, the longest idle gaps and their causes, and on each stream the
 * modules whose kernels ran.
 * Format: https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU */
#ifndef FLOPLEDGER_OUTPUT_EXPORTS_CHROME_TRACKS_H
#define FLOPLEDGER_OUTPUT_EXPORTS_CHROME_TRACKS_H

#include "cost/efficiency/efficiency.h"
#include "cost/modules/module_costs.h"
#include "ledger/step_ledger.h"
#include "trace/trace.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct chrome_source {
    const struct trace *trace;
    const struct ledger *ledger;
    const struct module_costs *costs;
    const struct efficiency *efficiency;
    uint32_t speakers; /* whose words are used: device_words.h */
};

/* Where the events of a trace go in a file that may hold several. */
struct chrome_place {
    int64_t first_pid;  /* number of the process that our tracks are in; tid tells them apart */
    int64_t shift_ns;   /* added to all times */
    const char *prefix; /* of names of processes: "rank 3: ", or "" */
};

/* Events, each behind a comma and a line end. Their `cat` is `category`, which our own reader
 * passes over. Write errors show in ferror(output). */
void chrome_write_tracks(FILE *output, const struct chrome_source *source,
                         const struct chrome_place *place, const char *category);

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
