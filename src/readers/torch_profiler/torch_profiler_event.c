/* One event of traceEvents, as its text says. All time that the program spends on a large trace is
 * spent here first: what a profiler usually writes is taken by a short way, and everything else
 * that JSON allows by a long one. */
#include "readers/torch_profiler/torch_profiler_event.h"

#include "readers/torch_profiler/torch_profiler_layout.h"

/* What runs for each value is part of the loop over them. */
#define ALWAYS_INLINE static inline __attribute__((always_inline))

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

/* enum event_arg, or ARG_COUNT for a key of no interest. */
static inline unsigned arg_number(const struct json_slice *key)
{
    switch (key->length) {
    case 3:
        return KEY_IS("Seq") ? ARG_COLLECTIVE_SEQUENCE : ARG_COUNT;
    case 4:
        return KEY_IS("grid") ? ARG_GRID : KEY_IS("name") ? ARG_NAME : ARG_COUNT;
    case 5:
        return KEY_IS("block")   ? ARG_BLOCK
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
    case 10:
        return KEY_IS("Input Dims") || KEY_IS("Input dims") ? ARG_INPUT_DIMS
               : KEY_IS("Input type")                       ? ARG_INPUT_TYPE
               : KEY_IS("Call stack")                       ? ARG_CALL_STACK
               : KEY_IS("Group size")                       ? ARG_GROUP_SIZE
                                                            : ARG_COUNT;
    case 11:
        return KEY_IS("External id") || KEY_IS("external id") ? ARG_EXTERNAL_ID
               : KEY_IS("correlation")                        ? ARG_CORRELATION
                                                              : ARG_COUNT;
    case 12:
        return KEY_IS("warps per SM") ? ARG_WARPS_PER_SM : ARG_COUNT;
    case 13:
        return KEY_IS("shared memory")   ? ARG_SHARED_MEMORY
               : KEY_IS("blocks per SM") ? ARG_BLOCKS_PER_SM
               : KEY_IS("In msg nelems") ? ARG_IN_ELEMENTS
               : KEY_IS("graph node id") ? ARG_GRAPH_NODE
                                         : ARG_COUNT;
    case 14:
        return KEY_IS("Out msg nelems") ? ARG_OUT_ELEMENTS : ARG_COUNT;
    case 15:
        return KEY_IS("Sequence number")   ? ARG_SEQUENCE_NUMBER
               : KEY_IS("Concrete Inputs") ? ARG_CONCRETE_INPUTS
               : KEY_IS("Collective name") ? ARG_COLLECTIVE_NAME
               : KEY_IS("flopledger work") ? ARG_WORK
                                           : ARG_COUNT;
    case 16:
        return KEY_IS("flopledger flops") ? ARG_FLOPS : ARG_COUNT;
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

/* ---- values --------------------------------------------------------------------------------- */

/* The long way for a value of which only the end is wanted, or for one that is not as usual. */
ALWAYS_INLINE const char *skip_value(struct json_scan *scan, const char *at)
{
    struct json_slice ignored;
    uint64_t value;
    unsigned count;
    const char *end = scan_digits(at, &value, &count);

    return count && is_number_end(*end) && !scan->is_tolerant ? end
                                                              : scan_value(scan, at, &ignored);
}

/* An integer; `is_one` tells whether the value is one that fits. */
ALWAYS_INLINE const char *scan_integer(struct json_scan *scan, const char *at, int64_t *number,
                                       bool *is_one)
{
    struct json_slice slice;
    uint64_t value;
    unsigned count;
    const char *end = scan_digits(at, &value, &count);

    if (count && is_number_end(*end)) {
        *number = (int64_t)value;
        *is_one = true;
        return end;
    }
    end = scan_value(scan, at, &slice);
    *is_one = end && slice_integer(&slice, number);
    return end;
}

/* A time in microseconds; the long way takes signs, exponents and more decimals. */
ALWAYS_INLINE const char *scan_time(struct json_scan *scan, const char *at, int64_t *nanoseconds,
                                    uint32_t *has, uint32_t bit)
{
    const uint64_t latest = INT64_MAX / 1000 - 1;
    struct json_slice slice;
    double number;
    uint64_t value;
    unsigned count;
    const char *end = scan_digits(at, &value, &count);

    if (count && value <= latest && is_number_end(*end)) {
        *nanoseconds = (int64_t)value * 1000;
        *has |= bit;
        return end;
    }
    if (count && value <= latest && *end == '.') {
        uint64_t bytes = load_8_bytes(end + 1);
        unsigned decimals = count_digits(bytes);

        if (decimals - 1 < 3 && is_number_end(end[1 + decimals])) {
            *nanoseconds = (int64_t)(value * 1000 +
                                     digits_value(bytes, decimals) * power_of_ten(3 - decimals));
            *has |= bit;
            return end + 1 + decimals;
        }
    }
    end = scan_value(scan, at, &slice);
    *has &= ~bit;
    if (end && slice_nanoseconds(&slice, nanoseconds))
        *has |= bit;
    else if (end && slice_fraction(&slice, &number))
        *has |= bit == HAS_START ? HAS_START_OVERFLOW : HAS_DURATION_OVERFLOW;
    return end;
}

static const char *scan_fraction(struct json_scan *scan, const char *at, struct torch_event *event,
                                 unsigned arg)
{
    static const double powers[] = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8};
    struct json_slice slice;
    uint64_t value;
    unsigned count;
    const char *end = scan_digits(at, &value, &count);
    double number = (double)value;
    uint64_t bytes = load_8_bytes(end + 1);
    unsigned decimals = *end == '.' ? count_digits(bytes) : 0;

    if (decimals) {
        number = (double)(value * power_of_ten(decimals) + digits_value(bytes, decimals)) /
                 powers[decimals];
        end += 1 + decimals;
    }
    /* 7 and 8 digits are exact in a double */
    if (!count || count > 7 || !is_number_end(*end) || scan->is_tolerant) {
        end = scan_value(scan, at, &slice);
        if (!end || !slice_comma_fraction(&slice, &number))
            return end;
    }
    event->fractions[arg - ARG_OCCUPANCY] = (float)number;
    event->has_args |= (uint32_t)1 << arg;
    return end;
}

static int32_t torch_profiler_event_small(int64_t value)
{
    return value > INT32_MAX || value < INT32_MIN ? -1 : (int32_t)value;
}

/* "[24, 1, 1]", or fewer; anything else is left aside. */
static const char *scan_triple(struct json_scan *scan, const char *at, struct torch_event *event,
                               unsigned arg)
{
    int32_t *triple = event->triples[arg - ARG_GRID];
    const char *start = at;

    for (int i = 0; i < 3; i++)
        triple[i] = -1;
    if (*at == '[') {
        for (int i = 0; i < 3; i++) {
            int64_t number;
            bool is_one;

            at = scan_integer(scan, scan_space(at + 1), &number, &is_one);
            if (!at || !is_one)
                break;
            triple[i] = torch_profiler_event_small(number);
            at = scan_space(at);
            if (*at == ']') {
                event->has_args |= (uint32_t)1 << arg;
                return at + 1;
            }
            if (*at != ',')
                break;
        }
    }
    return skip_value(scan, start);
}

ALWAYS_INLINE const char *scan_number_arg(struct json_scan *scan, const char *at,
                                          struct torch_event *event, unsigned arg)
{
    bool is_one;

    event->has_args &= ~((uint32_t)1 << arg);
    at = scan_integer(scan, at, &event->numbers[arg], &is_one);
    event->has_args |= (uint32_t)is_one << arg;
    return at;
}

static const char *scan_text_arg(struct json_scan *scan, const char *at, struct torch_event *event,
                                 unsigned arg)
{
    struct json_slice *text = &event->texts[arg - ARG_INPUT_DIMS];

    at = scan_value(scan, at, text);
    if (at && !slice_is_missing(text))
        event->has_args |= (uint32_t)1 << arg;
    return at;
}

static const char *scan_arg(struct json_scan *scan, const char *at, struct torch_event *event,
                            unsigned arg)
{
    if (arg == ARG_COUNT)
        return skip_value(scan, at);
    if (arg < ARG_OCCUPANCY)
        return scan_number_arg(scan, at, event, arg);
    event->has_args &= ~((uint32_t)1 << arg);
    if (arg >= ARG_INPUT_DIMS)
        return scan_text_arg(scan, at, event, arg);
    if (arg >= ARG_GRID)
        return scan_triple(scan, at, event, arg);
    return scan_fraction(scan, at, event, arg);
}

/* True where an event of this phase has args that matter. */
static inline bool is_with_args(const struct torch_event *event)
{
    return !(event->has & HAS_PHASE) || event->phase == 'X' || event->phase == 'B' ||
           event->phase == 'E' || event->phase == 'M';
}

/* Args whose members matter; the '{' is at `at`. */
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

/* A number or text, kept as written; `bit` of the event says that there is one. */
ALWAYS_INLINE const char *scan_text(struct json_scan *scan, const char *at,
                                    struct torch_event *event, struct json_slice *slice,
                                    uint32_t bit)
{
    unsigned digits;

    event->has |= bit;
    if (*at == '"' && !scan->is_tolerant)
        return scan_string(scan, at + 1, slice);
    digits = count_digits(load_8_bytes(at));
    if (digits && digits < 8 && is_number_end(at[digits])) {
        *slice = (struct json_slice){.text = at, .length = digits};
        return at + digits;
    }
    at = scan_value(scan, at, slice);
    if (at && slice_is_missing(slice))
        event->has &= ~bit;
    return at;
}

/* Args that are not looked into. */
static const char *scan_whole_args(struct json_scan *scan, const char *at,
                                   struct torch_event *event)
{
    event->has_args = 0;
    event->args.text = at;
    at = skip_value(scan, at);
    event->args.length = at ? (uint32_t)(at - event->args.text) : 0;
    return at;
}

/* A value that is neither the phase nor args that matter, by `action` and `arg` of the joint. */
ALWAYS_INLINE const char *scan_by_action(struct json_scan *scan, const char *at,
                                         struct torch_event *event,
                                         const struct layout_joint *joint)
{
    switch ((enum joint_action)joint->action) {
    case JOINT_CATEGORY:
        event->category_memo = NULL;
        return scan_text(scan, at, event, &event->category, HAS_CATEGORY);
    case JOINT_NAME:
        return scan_text(scan, at, event, &event->name, HAS_NAME);
    case JOINT_ID:
        return scan_text(scan, at, event, &event->id, HAS_ID);
    case JOINT_PID:
        event->track_memo = NULL;
        return scan_text(scan, at, event, &event->pid, HAS_PID);
    case JOINT_TID:
        event->track_memo = NULL;
        return scan_text(scan, at, event, &event->tid, HAS_TID);
    case JOINT_TS:
        event->has &= ~(uint32_t)HAS_START_OVERFLOW;
        return scan_time(scan, at, &event->start_ns, &event->has, HAS_START);
    case JOINT_DUR:
        event->has &= ~(uint32_t)HAS_DURATION_OVERFLOW;
        return scan_time(scan, at, &event->duration_ns, &event->has, HAS_DURATION);
    case JOINT_ARGS:
        return scan_whole_args(scan, at, event);
    case JOINT_NUMBER:
        return scan_number_arg(scan, at, event, joint->arg);
    case JOINT_ARG:
        return scan_arg(scan, at, event, joint->arg);
    case JOINT_SKIP:
        return skip_value(scan, at);
    case JOINT_END:
        return at;
    }
    __builtin_unreachable();
}

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

static void torch_event_clear(struct torch_event *event)
{
    event->has = 0;
    event->has_args = 0;
    event->args.length = 0;
    event->args.is_string = false;
    event->category_memo = NULL;
    event->track_memo = NULL;
}

/* Letter by letter. */
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

static inline void read_constants(struct layout_joint *joint, struct torch_event *event)
{
    unsigned constants = joint->constant_of;

    if (constants & 1 << CONSTANT_CATEGORY) {
        event->category = joint->constants[CONSTANT_CATEGORY];
        event->category_memo = &joint->category;
        event->has |= HAS_CATEGORY;
    }
    if (!(constants & (1 << CONSTANT_PID | 1 << CONSTANT_TID)))
        return;
    event->track_memo = NULL;
    if (constants & 1 << CONSTANT_PID) {
        event->pid = joint->constants[CONSTANT_PID];
        event->has |= HAS_PID;
    }
    if (constants & 1 << CONSTANT_TID) {
        event->tid = joint->constants[CONSTANT_TID];
        event->has |= HAS_TID;
        if (constants & 1 << CONSTANT_PID)
            event->track_memo = &joint->track;
    }
}

/* What stands in the text of a joint: the phase, constants, where args begin and end. */
static inline void read_marks(struct layout_joint *joint, const char *at, struct torch_event *event)
{
    if (joint->phase) {
        event->phase = joint->phase;
        event->has |= HAS_PHASE;
    }
    if (joint->constant_of)
        read_constants(joint, event);
    if (joint->args_start) {
        event->args.text = at + joint->args_start - 1;
        event->has_args = 0;
    }
    if (joint->args_end)
        event->args.length = (uint32_t)(at + joint->args_end - event->args.text);
}

/* By joints that are known; NULL where one is not, or a value is not as it should be. */
static const char *scan_known_event(struct json_scan *scan, const char *at,
                                    struct torch_event *event, struct layout_joint *joint)
{
    torch_event_clear(event);
    for (;;) {
        joint = layout_follow(joint, at);
        if (!joint)
            return NULL;
        if (joint->has_marks)
            read_marks(joint, at, event);
        at += joint->length;
        if (joint->action >= JOINT_ARGS) {
            if (joint->action == JOINT_END)
                return at;
            if (*at == '{' && is_with_args(event))
                return NULL; /* an object where there was none: it is looked into */
        }
        at = scan_by_action(scan, at, event, joint);
        if (!at)
            return NULL;
    }
}

const char *torch_event_scan_alike(struct json_scan *scan, const char *at,
                                   struct torch_event *event, struct event_layouts *layouts)
{
    struct layout_trail trail;
    const char *end = layouts->count ? scan_known_event(scan, at, event, layouts->joints) : NULL;

    if (end)
        return end;
    end = scan_event(scan, at, event, &trail);
    if (end)
        layout_learn(layouts, at, &trail);
    return end;
}
