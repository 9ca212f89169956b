/* Modules out of NVTX ranges that the program put around parts of its model. */
#ifndef FLOPLEDGER_READERS_NSYS_NSYS_SQLITE_MODULES_H
#define FLOPLEDGER_READERS_NSYS_NSYS_SQLITE_MODULES_H

#include "trace/trace_builder.h"

#include <stdbool.h>
#include <stdint.h>

/* A range on its thread. */
struct module_range {
    int64_t start_ns;
    int64_t end_ns;
    uint32_t track; /* in the builder */
    uint32_t name;  /* in the builder; 0: an op, of which only the place counts */
};

/* What NVTX said, gathered while it is read. A zeroed one is empty. */
struct module_ranges {
    struct module_range *ranges;
    uint32_t count;
    bool has_operators;
    bool has_marks; /* the program marks its modules itself (nn:...) */
};

/* Takes a range of the default domain; an op, or one that the program named. */
void module_ranges_add(struct module_ranges *ranges, const struct trace_builder *builder,
                       const struct event *event);

/* Adds a mark `nn:OUTER.INNER` to the builder for each range that encloses ops, called by the names
 * of the ranges around it; ranges of steps and of phases (forward, backward) are left out of these
 * names. Nothing where the program marks its modules itself. */
void module_ranges_mark(struct module_ranges *ranges, struct trace_builder *builder);

void module_ranges_clear(struct module_ranges *ranges);

#endif
