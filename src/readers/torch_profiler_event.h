/* One event of traceEvents, as its text says. */
#ifndef FLOPLEDGER_READERS_TORCH_PROFILER_EVENT_H
#define FLOPLEDGER_READERS_TORCH_PROFILER_EVENT_H

#include "readers/json_scan.h"

enum event_field {
    FIELD_PHASE,
    FIELD_CATEGORY,
    FIELD_NAME,
    FIELD_PID,
    FIELD_TID,
    FIELD_TS,
    FIELD_DUR
};
enum { FIELD_COUNT = FIELD_DUR + 1 };

/* What `args` may hold, of interest to us; torch_profiler_event.c has the keys. */
enum event_arg {
    ARG_CORRELATION,
    ARG_EXTERNAL_ID,
    ARG_SEQUENCE_NUMBER,
    ARG_DEVICE,
    ARG_STREAM,
    ARG_REGISTERS,
    ARG_SHARED_MEMORY,
    ARG_OCCUPANCY,
    ARG_BLOCKS_PER_SM,
    ARG_WARPS_PER_SM,
    ARG_GRID,
    ARG_BLOCK,
    ARG_BYTES,
    ARG_INPUT_DIMS,
    ARG_INPUT_TYPE,
    ARG_CONCRETE_INPUTS,
    ARG_CALL_STACK,
    ARG_COLLECTIVE_NAME,
    ARG_DTYPE,
    ARG_GROUP_NAME,
    ARG_GROUP_RANKS,
    ARG_IN_ELEMENTS,
    ARG_OUT_ELEMENTS,
    ARG_GROUP_SIZE,
    ARG_NAME,
};
enum { ARG_COUNT = ARG_NAME + 1 };

/* Fields and args are valid where their bit is set. */
struct torch_event {
    uint32_t has_fields; /* bits by enum event_field */
    uint32_t has_args;   /* bits by enum event_arg */
    struct json_slice fields[FIELD_COUNT];
    struct json_slice args[ARG_COUNT];
};

static inline bool event_has(const struct torch_event *event, enum event_field field)
{
    return event->has_fields >> field & 1;
}

static inline bool event_has_arg(const struct torch_event *event, enum event_arg arg)
{
    return event->has_args >> arg & 1;
}

/* Reads the event that begins with the '{' at `at`; see json_scan.h for what comes back. */
const char *torch_event_scan(struct json_scan *scan, const char *at, struct torch_event *event);

#endif
