/* One event of traceEvents, as its text says. All time that the program spends on a large trace is
 * spent here first: what a profiler usually writes is taken by a short way, and everything else
 * that JSON allows by a long one. */
#include "readers/torch_profiler/torch_profiler_scan.h"

#include "base/core/processor.h"
#include "readers/torch_profiler/torch_profiler_known.h"

/* ---- keys ----------------------------------------------------------------------------------- */

enum field {
    FIELD_OTHER,
    FIELD_PHASE,
    FIELD_CATEGORY,
    FIELD_NAME,
    FIELD_ID,
    FIELD_PID,
    FIELD_TID,
    FIELD_TS,
    FIELD_DUR,
    FIELD_ARGS
};

/* Comparisons with a text of known length, which compilers turn into one or two of whole words. */
#define KEY_IS(name) (memcmp(key->text, name, sizeof(name) - 1) == 0)

/* By length first: of millions of keys, one compare of a few bytes decides. */
static inline enum field field_of(const struct json_slice *key)
{
    switch (key->length) {
    case 2:
        return KEY_IS("ph")   ? FIELD_PHASE
               : KEY_IS("ts") ? FIELD_TS
               : KEY_IS("id") ? FIELD_ID
                              : FIELD_OTHER;
    case 3:
        return KEY_IS("cat")   ? FIELD_CATEGORY
               : KEY_IS("pid") ? FIELD_PID
               : KEY_IS("tid") ? FIELD_TID
               : KEY_IS("dur") ? FIELD_DUR
                               : FIELD_OTHER;
    case 4:
        return KEY_IS("name") ? FIELD_NAME : KEY_IS("args") ? FIELD_ARGS : FIELD_OTHER;
    default:
        return FIELD_OTHER;
    }
}

/* The same as arg_number(), of keys of 15 letters and more. */
static unsigned long_arg_number(const struct json_slice *key)
{
    switch (key->length) {
    case 15:
        return KEY_IS("Sequence number")   ? ARG_SEQUENCE_NUMBER
               : KEY_IS("Concrete Inputs") ? ARG_CONCRETE_INPUTS
               : KEY_IS("Collective name") ? ARG_COLLECTIVE_NAME
               : KEY_IS("flopledger work") ? ARG_WORK
                                           : ARG_COUNT;
    case 16:
        return KEY_IS("flopledger flops")   ? ARG_FLOPS
               : KEY_IS("flopledger phase") ? ARG_PHASE
                                            : ARG_COUNT;
    case 18:
        return KEY_IS("Process Group Name") ? ARG_GROUP_NAME : ARG_COUNT;
    case 19:
        return KEY_IS("Process Group Ranks") ? ARG_GROUP_RANKS : ARG_COUNT;
    case 20:
        return KEY_IS("registers per thread") ? ARG_REGISTERS : ARG_COUNT;
    case 25:
        return KEY_IS("est. achieved occupancy %") ? ARG_OCCUPANCY : ARG_COUNT;
    default:
        return ARG_COUNT;
    }
}

/* enum event_arg, or ARG_COUNT for a key of no interest. By length first, then by whole words:
 * args are most of a trace's text, and a hash would read each key twice. */
static inline unsigned arg_number(const struct json_slice *key)
{
    switch (key->length) {
    case 3:
        return KEY_IS("Seq") ? ARG_COLLECTIVE_SEQUENCE : ARG_COUNT;
    case 4:
        return KEY_IS("grid")   ? ARG_GRID
               : KEY_IS("name") ? ARG_NAME
               : KEY_IS("size") ? ARG_SIZE
                                : ARG_COUNT;
    case 5:
        return KEY_IS("block")   ? ARG_BLOCK
               : KEY_IS("stack") ? ARG_LINES
               : KEY_IS("bytes") ? ARG_BYTES
               : KEY_IS("dtype") ? ARG_DTYPE
                                 : ARG_COUNT;
    case 6:
        return KEY_IS("stream")   ? ARG_STREAM
               : KEY_IS("device") ? ARG_DEVICE
               : KEY_IS("kernel") ? ARG_KERNEL
                                  : ARG_COUNT;
    case 8:
        return KEY_IS("Src Rank")   ? ARG_SOURCE_RANK
               : KEY_IS("Dst Rank") ? ARG_DESTINATION_RANK
                                    : ARG_COUNT;
    case 9:
        return KEY_IS("direction") ? ARG_DIRECTION : ARG_COUNT;
    case 10:
        return KEY_IS("Input Dims") || KEY_IS("Input dims") ? ARG_INPUT_DIMS
               : KEY_IS("Input type")                       ? ARG_INPUT_TYPE
               : KEY_IS("Call stack")                       ? ARG_CALL_STACK
               : KEY_IS("Group size")                       ? ARG_GROUP_SIZE
                                                            : ARG_COUNT;
    case 11:
        return KEY_IS("External id") || KEY_IS("external id") ? ARG_EXTERNAL_ID
               : KEY_IS("correlation")                        ? ARG_CORRELATION
               : KEY_IS("kernel_hash")                        ? ARG_CODE
               : KEY_IS("kernel_flop")                        ? ARG_FLOPS
                                                              : ARG_COUNT;
    case 12:
        return KEY_IS("warps per SM") ? ARG_WARPS_PER_SM : ARG_COUNT;
    case 13:
        return KEY_IS("shared memory")   ? ARG_SHARED_MEMORY
               : KEY_IS("blocks per SM") ? ARG_BLOCKS_PER_SM
               : KEY_IS("In msg nelems") ? ARG_IN_ELEMENTS
               : KEY_IS("graph node id") ? ARG_GRAPH_NODE
               : KEY_IS("kernel_kwargs") ? ARG_SETTINGS
               : KEY_IS("kernel_num_gb") ? ARG_GIGABYTES
                                         : ARG_COUNT;
    case 14:
        return KEY_IS("Out msg nelems") ? ARG_OUT_ELEMENTS : ARG_COUNT;
    default:
        return long_arg_number(key);
    }
}

enum event_arg torch_event_arg(const char *key, size_t length)
{
    return (enum event_arg)arg_number(&(struct json_slice){key, (uint32_t)length, true, false});
}

/* ---- args --------------------------------------------------------------------------------------
 */

/* Args whose members matter; the '{' is at `at`. A second args in one event is unusual, and not
 * learned as a layout. */
static const char *scan_args(struct json_scan *scan, const char *at, struct torch_event *event,
                             struct layout_trail *trail)
{
    struct layout_value *value = &trail->values[trail->count];

    trail->is_unusual |= value->args_start || value->args_end;
    value->args_start = at + 1;
    event->has_args = 0;
    at = scan_space(at + 1);
    for (bool is_end = *at == '}'; !is_end;) {
        struct json_slice key;
        const char *start = scan_key(scan, at, &key);
        unsigned arg = start ? arg_number(&key) : ARG_COUNT;

        at = start ? scan_arg(scan, start, event, arg) : NULL;
        if (!at)
            return NULL;
        value = &trail->values[trail->count];
        value->action = arg == ARG_COUNT      ? JOINT_SKIP
                        : arg < ARG_OCCUPANCY ? JOINT_NUMBER
                                              : JOINT_ARG;
        value->arg = (uint8_t)arg;
        layout_trail_add(trail, start, at);
        at = scan_space(at);
        is_end = *at == '}';
        if (!is_end && *at != ',')
            return scan_fail(scan, at, "',' or '}' after a value of args");
        if (!is_end)
            at = scan_space(at + 1);
    }
    trail->values[trail->count].args_end = at + 1;
    return at + 1;
}

/* "X", with quotes. */
static inline const char *scan_phase(struct json_scan *scan, const char *at,
                                     struct torch_event *event, struct layout_trail *trail)
{
    struct json_slice slice;

    if (*at == '"' && at[2] == '"' && at[1] != '\\') {
        event->phase = at[1];
        event->has |= HAS_PHASE;
        trail->values[trail->count].phase = at[1];
        return at + 3;
    }
    at = scan_value(scan, at, &slice);
    event->phase = at && slice.length ? *slice.text : '?';
    event->has |= HAS_PHASE;
    trail->is_unusual = true;
    return at;
}

/* What was scanned is noted as a trail: the next event of the same layout is read by it,
 * without looking at each key. */
static const char *scan_field(struct json_scan *scan, const char *at, enum field field,
                              struct torch_event *event, struct layout_trail *trail)
{
    static const uint8_t actions[] = {
        [FIELD_OTHER] = JOINT_SKIP, [FIELD_CATEGORY] = JOINT_CATEGORY, [FIELD_NAME] = JOINT_NAME,
        [FIELD_ID] = JOINT_ID,      [FIELD_PID] = JOINT_PID,           [FIELD_TID] = JOINT_TID,
        [FIELD_TS] = JOINT_TS,      [FIELD_DUR] = JOINT_DUR,           [FIELD_ARGS] = JOINT_ARGS};
    const char *start = at;

    if (field == FIELD_PHASE)
        return scan_phase(scan, at, event, trail);
    if (field == FIELD_ARGS && *at == '{' && is_with_args(event)) {
        event->args = (struct json_slice){.text = at};
        at = scan_args(scan, at, event, trail);
        event->args.length = at ? (uint32_t)(at - event->args.text) : 0;
        return at;
    }
    at = scan_by_action(scan, at, event, &(struct layout_joint){.action = actions[field]});
    trail->values[trail->count].action = actions[field];
    if (at)
        layout_trail_add(trail, start, at);
    return at;
}

/* ---- events ---------------------------------------------------------------------------------- */

/* Letter by letter. In one pass and without memory of its own: values are slices of the window,
 * good until it moves. */
static const char *scan_event(struct json_scan *scan, const char *at, struct torch_event *event,
                              struct layout_trail *trail)
{
    torch_event_clear(event);
    layout_trail_begin(trail);
    if (*at != '{')
        return scan_fail(scan, at, "'{', the beginning of an event");
    at = scan_space(at + 1);
    for (bool is_end = *at == '}'; !is_end;) {
        struct json_slice key;

        at = scan_key(scan, at, &key);
        if (at)
            at = scan_field(scan, at, field_of(&key), event, trail);
        if (!at)
            return NULL;
        at = scan_space(at);
        is_end = *at == '}';
        if (!is_end && *at != ',')
            return scan_fail(scan, at, "',' or '}' after a value");
        if (!is_end)
            at = scan_space(at + 1);
    }
    trail->values[trail->count].action = JOINT_END;
    layout_trail_add(trail, at + 1, at + 1);
    return at + 1;
}

const char *torch_event_scan(struct json_scan *scan, const char *at, struct torch_event *event)
{
    struct layout_trail trail;

    return scan_event(scan, at, event, &trail);
}

/* ---- events that are laid out as others ---------------------------------------------------------
 */

const char *torch_event_scan_known_portable(struct json_scan *scan, const char *at,
                                            struct torch_event *event,
                                            struct event_layouts *layouts)
{
    return scan_known_event(scan, at, event, layouts->joints);
}

/* Chosen at run time, so one program serves processors with and without AVX2; both do the
 * same. */
const char *torch_event_scan_known(struct json_scan *scan, const char *at,
                                   struct torch_event *event, struct event_layouts *layouts)
{
#ifdef __x86_64__
    if (processor_has_avx2())
        return torch_event_scan_known_avx2(scan, at, event, layouts);
#endif
    return torch_event_scan_known_portable(scan, at, event, layouts);
}

/* Learned only after the slow way has read the event, so that layouts hold nothing that is no
 * event. */
const char *torch_event_scan_alike(struct json_scan *scan, const char *at,
                                   struct torch_event *event, struct event_layouts *layouts)
{
    struct layout_trail trail;
    const char *brace = scan_space(at);
    const char *end = torch_event_scan_known(scan, at, event, layouts);

    if (end)
        return end;
    end = scan_event(scan, brace, event, &trail);
    if (end)
        layout_learn(layouts, at, &trail);
    return end;
}
