/* What traces of graph captures tell: which kernels were launched into which graph, in which order,
 * and from which operators and modules. */
#ifndef FLOPLEDGER_TRACE_GRAPHS_CAPTURED_GRAPHS_H
#define FLOPLEDGER_TRACE_GRAPHS_CAPTURED_GRAPHS_H

#include "base/core/hash_map.h"
#include "trace/trace.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a launch launches, where it is no kernel or not known; kernels: their name in the strings of
 * the trace that replays them. */
enum { SYMBOL_UNKNOWN = 0 };
#define SYMBOL_COPY (UINT32_MAX - 1)

/* An operator, a module or a range around a launch. Names and details are those of the trace that
 * replays. */
struct captured_event {
    uint64_t operators; /* equal where name, shapes and values of all operators around are */
    uint64_t place;     /* equal where modules and ranges around are, too */
    int64_t sequence_number;
    uint32_t name;
    uint32_t detail;
    uint32_t parent;       /* in captured_graphs.events, or NO_EVENT */
    uint32_t top_operator; /* the outermost operator around, or the event itself; or NO_EVENT */
    uint8_t kind;
};

struct captured_launch {
    int64_t start_ns;
    uint64_t size;  /* of blocks and threads, hashed; 0 where it is not told in the same way */
    uint32_t graph; /* while they are gathered */
    uint32_t track;
    uint32_t symbol;
    uint32_t event; /* the innermost around, or NO_EVENT */
};

/* What was launched between the begin and the end of a capture. */
struct captured_graph {
    uint32_t first; /* of captured_graphs.launches */
    uint32_t count;
    uint32_t capture; /* of captured_graphs.captures */
    uint32_t number;  /* in its file, from 1 */
    bool is_branched; /* streams waited for each other */
    bool is_cut;      /* its begin or its end was not recorded */
    bool has_unknown; /* a launch whose kernel is not told */
};

/* Zeroed is empty. */
struct captured_graphs {
    struct captured_event *events;
    size_t event_count;
    struct captured_launch *launches; /* of each graph by time */
    size_t launch_count;
    struct captured_graph *graphs; /* by file, then by time */
    size_t graph_count;
    uint32_t *captures; /* paths, in the strings of the trace that replays */
    size_t capture_count;
    struct hash_map details; /* by content: those added to the trace that replays */
};

/* How many blocks of how many threads a launch has, hashed; 0 where that is not told. On HIP calls
 * count in other units than kernels. */
uint64_t size_of_launch(const struct trace *trace, uint32_t detail);

/* Adds what `capture` tells, which may be `trace` itself; names and details go to `trace`, which
 * replays. */
void captured_graphs_add(struct captured_graphs *graphs, struct trace *trace,
                         const struct trace *capture);

void captured_graphs_clear(struct captured_graphs *graphs);

#endif
