/* One event of traceEvents, as its text says. */
#ifndef FLOPLEDGER_READERS_TORCH_PROFILER_TORCH_PROFILER_EVENT_H
#define FLOPLEDGER_READERS_TORCH_PROFILER_TORCH_PROFILER_EVENT_H

#include "base/json/json_scan.h"

/* Bits of torch_event.has. */
enum {
    HAS_PHASE = 1 << 0,
    HAS_CATEGORY = 1 << 1,
    HAS_NAME = 1 << 2,
    HAS_PID = 1 << 3,
    HAS_TID = 1 << 4,
    HAS_START = 1 << 5,
    HAS_DURATION = 1 << 6,
    HAS_START_OVERFLOW = 1 << 7, /* a number, but one that no time is */
    HAS_DURATION_OVERFLOW = 1 << 8,
    HAS_ID = 1 << 9,
};

/* What `args` may hold, of interest to us; arg_number() in torch_profiler_scan.c has the keys. */
enum event_arg {
    /* integers: torch_event.numbers */
    ARG_CORRELATION,
    ARG_EXTERNAL_ID,
    ARG_SEQUENCE_NUMBER,
    ARG_DEVICE,
    ARG_STREAM,
    ARG_SIZE, /* of a copy of MTIA; others say ARG_BYTES */
    ARG_REGISTERS,
    ARG_SHARED_MEMORY,
    ARG_BYTES,
    ARG_IN_ELEMENTS,
    ARG_OUT_ELEMENTS,
    ARG_GROUP_SIZE,
    ARG_COLLECTIVE_SEQUENCE,
    ARG_SOURCE_RANK,
    ARG_DESTINATION_RANK,
    ARG_GRAPH_NODE,
    ARG_FLOPS, /* written by our own export; of kernels that torch.compile wrote by itself */
    /* fractions: torch_event.fractions, from ARG_OCCUPANCY on */
    ARG_OCCUPANCY,
    ARG_BLOCKS_PER_SM,
    ARG_WARPS_PER_SM,
    /* three integers: torch_event.triples, from ARG_GRID on */
    ARG_GRID,
    ARG_BLOCK,
    /* texts, also those of arrays: torch_event.texts, from ARG_INPUT_DIMS on */
    ARG_INPUT_DIMS,
    ARG_INPUT_TYPE,
    ARG_CONCRETE_INPUTS,
    ARG_CALL_STACK,
    ARG_COLLECTIVE_NAME,
    ARG_DTYPE,
    ARG_GROUP_NAME,
    ARG_GROUP_RANKS,
    ARG_KERNEL,
    ARG_WORK, /* this and the next are written by our own export only */
    ARG_PHASE,
    /* of kernels that torch.compile wrote */
    ARG_LINES,
    ARG_CODE,
    ARG_SETTINGS,
    ARG_GIGABYTES, /* a number; as text, for a float is too small for it */
    ARG_NAME,
    ARG_DIRECTION, /* of a copy of MTIA */
};
enum { ARG_COUNT = ARG_DIRECTION + 1 };

/* All args that struct event_detail has a place for, as bits. */
#define DETAIL_ARGS (((uint64_t)1 << ARG_NAME) - ((uint64_t)1 << ARG_REGISTERS))

struct category_memo;
struct track_memo;

/* What a bit stands for is valid where the bit is set. */
struct torch_event {
    uint32_t has;
    uint64_t has_args; /* bits by enum event_arg */
    char phase;
    struct json_slice category;
    struct json_slice name;
    struct json_slice pid;
    struct json_slice tid;
    struct json_slice id;   /* of a flow */
    struct json_slice args; /* the text as written; length 0: none */
    /* What is known of events with the same category, and of those with the same pid and tid (or
     * NULL): whoever looks these up may leave it there. */
    struct category_memo *category_memo;
    struct track_memo *track_memo;
    int64_t start_ns;
    int64_t duration_ns;
    int64_t numbers[ARG_OCCUPANCY];
    float fractions[ARG_GRID - ARG_OCCUPANCY];
    int32_t triples[ARG_INPUT_DIMS - ARG_GRID][3];
    struct json_slice texts[ARG_COUNT - ARG_INPUT_DIMS];
};

static inline bool event_has_arg(const struct torch_event *event, enum event_arg arg)
{
    return event->has_args >> arg & 1;
}

/* In torch_event.texts: a string that is in the builder's pool already. */
static inline struct json_slice known_text(uint32_t string)
{
    return (struct json_slice){.text = NULL, .length = string};
}

static inline void torch_event_clear(struct torch_event *event)
{
    event->has = 0;
    event->has_args = 0;
    event->args.length = 0;
    event->args.is_string = false;
    event->category_memo = NULL;
    event->track_memo = NULL;
}

#endif
