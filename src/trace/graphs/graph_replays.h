/* What is known of the CUDA or HIP graphs that a trace replays: which kernels of theirs were given
 * the operators of a capture, and why the others were not. */
#ifndef FLOPLEDGER_TRACE_GRAPHS_GRAPH_REPLAYS_H
#define FLOPLEDGER_TRACE_GRAPHS_GRAPH_REPLAYS_H

#include <stddef.h>
#include <stdint.h>

/* What a kernel of a graph was given, or why it was given nothing. */
enum graph_fate {
    GRAPH_ATTRIBUTED,    /* operator, shapes and module */
    GRAPH_WITHOUT_PLACE, /* operator and shapes: of several places of the model it is not known
                            which */
    GRAPH_NO_CAPTURE,    /* no capture was given or found */
    GRAPH_NO_NAMES,      /* the captures do not tell what their launches launch */
    GRAPH_NO_MATCH,      /* no captured graph has these kernels in this order */
    GRAPH_AMBIGUOUS,     /* several captured graphs fit, or several places in one, and differ */
    GRAPH_NO_OPERATOR,   /* the capture's launch lies in no operator */
};
enum { GRAPH_FATE_COUNT = GRAPH_NO_OPERATOR + 1 };

/* Launches of graphs with the same kernels in the same order. */
struct graph_kind {
    int64_t launches;
    int64_t kernels;   /* of all of them; copies and memsets too */
    int64_t kernel_ns; /* summed */
    int64_t fate_ns[GRAPH_FATE_COUNT];
    uint32_t capture;    /* the file of the captured graph, in trace.strings; 0: none */
    uint32_t number;     /* which of that file's graphs, from 1; 0: several fit */
    uint32_t candidates; /* captured graphs that fit */
    int64_t missing;     /* kernels that the captured graph has and the launches have not; negative:
                            the other way round */
};

/* The host events that stand for one launch of a graph: copies of what its capture recorded. */
struct graph_copy {
    uint32_t call;  /* of trace.host: the launch call, in which they lie */
    uint32_t first; /* of trace.host */
    uint32_t count;
};

struct graph_replays {
    int64_t launches;
    int64_t kernels; /* and copies and memsets */
    int64_t kernel_ns;
    int64_t fate_ns[GRAPH_FATE_COUNT]; /* their sum is kernel_ns */
    int64_t fate_kernels[GRAPH_FATE_COUNT];
    uint32_t *captures; /* the files read, in trace.strings */
    size_t capture_count;
    size_t captured_graphs;   /* in them */
    struct graph_kind *kinds; /* longest first */
    size_t kind_count;
    struct graph_copy *copies; /* by `first` */
    size_t copy_count;
    uint32_t *host_of; /* [trace.device_count]: the innermost event of the copy that a kernel
                          belongs to, or NO_EVENT; NULL where there is no copy */
};

/* "in no capture": at most 21 characters; NULL for GRAPH_ATTRIBUTED. */
const char *graph_fate_text(enum graph_fate fate);

/* free()s it too; NULL is left alone. */
void graph_replays_free(struct graph_replays *replays);

#endif
