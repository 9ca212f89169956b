/* One event of traceEvents, as its text says. */
#include "readers/torch_profiler_event.h"

#include <string.h>

struct known_key {
    const char *name;
    int number;
};

static const struct known_key field_keys[] = {
    {"ph", FIELD_PHASE}, {"cat", FIELD_CATEGORY}, {"name", FIELD_NAME}, {"pid", FIELD_PID},
    {"tid", FIELD_TID},  {"ts", FIELD_TS},        {"dur", FIELD_DUR},
};

static const struct known_key arg_keys[] = {
    {"correlation", ARG_CORRELATION},
    {"External id", ARG_EXTERNAL_ID},
    {"external id", ARG_EXTERNAL_ID},
    {"Sequence number", ARG_SEQUENCE_NUMBER},
    {"device", ARG_DEVICE},
    {"stream", ARG_STREAM},
    {"registers per thread", ARG_REGISTERS},
    {"shared memory", ARG_SHARED_MEMORY},
    {"est. achieved occupancy %", ARG_OCCUPANCY},
    {"blocks per SM", ARG_BLOCKS_PER_SM},
    {"warps per SM", ARG_WARPS_PER_SM},
    {"grid", ARG_GRID},
    {"block", ARG_BLOCK},
    {"bytes", ARG_BYTES},
    {"Input Dims", ARG_INPUT_DIMS},
    {"Input dims", ARG_INPUT_DIMS},
    {"Input type", ARG_INPUT_TYPE},
    {"Concrete Inputs", ARG_CONCRETE_INPUTS},
    {"Call stack", ARG_CALL_STACK},
    {"Collective name", ARG_COLLECTIVE_NAME},
    {"dtype", ARG_DTYPE},
    {"Process Group Name", ARG_GROUP_NAME},
    {"Process Group Ranks", ARG_GROUP_RANKS},
    {"In msg nelems", ARG_IN_ELEMENTS},
    {"Out msg nelems", ARG_OUT_ELEMENTS},
    {"Group size", ARG_GROUP_SIZE},
    {"name", ARG_NAME},
};

static int find_key(const struct known_key *keys, size_t count, const struct json_slice *key)
{
    for (size_t i = 0; i < count; i++) {
        if (slice_is(key, keys[i].name))
            return keys[i].number;
    }
    return -1;
}

static const char *scan_args(struct json_scan *scan, const char *at, struct torch_event *event)
{
    if (*at != '{') {
        struct json_slice other;

        return scan_value(scan, at, &other);
    }
    at = scan_space(at + 1);
    if (*at == '}')
        return at + 1;
    for (;;) {
        struct json_slice key;
        struct json_slice value;
        int number;

        at = scan_key(scan, at, &key);
        if (!at)
            return NULL;
        number = find_key(arg_keys, sizeof arg_keys / sizeof arg_keys[0], &key);
        at = scan_value(scan, at, number < 0 ? &value : &event->args[number]);
        if (!at)
            return NULL;
        if (number >= 0)
            event->has_args |= (uint32_t)1 << number;
        at = scan_space(at);
        if (*at == '}')
            return at + 1;
        if (*at != ',')
            return scan_fail(scan, at, "',' or '}' after a value of args");
        at = scan_space(at + 1);
    }
}

const char *torch_event_scan(struct json_scan *scan, const char *at, struct torch_event *event)
{
    event->has_fields = 0;
    event->has_args = 0;
    if (*at != '{')
        return scan_fail(scan, at, "'{', the beginning of an event");
    at = scan_space(at + 1);
    if (*at == '}')
        return at + 1;
    for (;;) {
        struct json_slice key;
        struct json_slice value;
        int number;

        at = scan_key(scan, at, &key);
        if (!at)
            return NULL;
        if (slice_is(&key, "args")) {
            event->has_args = 0;
            at = scan_args(scan, at, event);
        } else {
            number = find_key(field_keys, sizeof field_keys / sizeof field_keys[0], &key);
            at = scan_value(scan, at, number < 0 ? &value : &event->fields[number]);
            if (at && number >= 0)
                event->has_fields |= (uint32_t)1 << number;
        }
        if (!at)
            return NULL;
        at = scan_space(at);
        if (*at == '}')
            return at + 1;
        if (*at != ',')
            return scan_fail(scan, at, "',' or '}' after a value");
        at = scan_space(at + 1);
    }
}
