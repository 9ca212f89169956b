/* One event of traceEvents, as its text says. All time that the program spends on a large trace is
 * spent here first: what a profiler usually writes is taken by a short way, and everything else
 * that JSON allows by a long one. */
#include "readers/torch_profiler/torch_profiler_event.h"

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
static inline const char *skip_value(struct json_scan *scan, const char *at)
{
    struct json_slice ignored;
    uint64_t value;
    unsigned count;
    const char *end = scan_digits(at, &value, &count);

    return count && is_number_end(*end) && !scan->is_tolerant ? end
                                                              : scan_value(scan, at, &ignored);
}

/* An integer; `is_one` tells whether the value is one that fits. */
static inline const char *scan_integer(struct json_scan *scan, const char *at, int64_t *number,
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
static inline const char *scan_time(struct json_scan *scan, const char *at, int64_t *nanoseconds,
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

static inline const char *scan_arg(struct json_scan *scan, const char *at,
                                   struct torch_event *event, unsigned arg)
{
    bool is_one = true;

    if (arg == ARG_COUNT)
        return skip_value(scan, at);
    event->has_args &= ~((uint32_t)1 << arg);
    if (arg < ARG_OCCUPANCY)
        at = scan_integer(scan, at, &event->numbers[arg], &is_one);
    else if (arg >= ARG_INPUT_DIMS) {
        struct json_slice *text = &event->texts[arg - ARG_INPUT_DIMS];

        at = scan_value(scan, at, text);
        is_one = at && !slice_is_missing(text);
    } else if (arg >= ARG_GRID)
        return scan_triple(scan, at, event, arg);
    else
        return scan_fraction(scan, at, event, arg);
    if (is_one)
        event->has_args |= (uint32_t)1 << arg;
    return at;
}

/* True where an event of this phase has args that matter. */
static inline bool is_with_args(const struct torch_event *event)
{
    return !(event->has & HAS_PHASE) || event->phase == 'X' || event->phase == 'B' ||
           event->phase == 'E' || event->phase == 'M';
}

static inline const char *scan_args(struct json_scan *scan, const char *at,
                                    struct torch_event *event)
{
    event->has_args = 0;
    if (*at != '{' || !is_with_args(event))
        return skip_value(scan, at);
    at = scan_space(at + 1);
    if (*at == '}')
        return at + 1;
    for (;;) {
        struct json_slice key;

        at = scan_key(scan, at, &key);
        if (at)
            at = scan_arg(scan, at, event, arg_number(&key));
        if (!at)
            return NULL;
        at = scan_space(at);
        if (*at == '}')
            return at + 1;
        if (*at != ',')
            return scan_fail(scan, at, "',' or '}' after a value of args");
        at = scan_space(at + 1);
    }
}

/* "X", with quotes. */
static inline const char *scan_phase(struct json_scan *scan, const char *at,
                                     struct torch_event *event)
{
    struct json_slice slice;

    if (*at == '"' && at[2] == '"' && at[1] != '\\') {
        event->phase = at[1];
        event->has |= HAS_PHASE;
        return at + 3;
    }
    at = scan_value(scan, at, &slice);
    event->phase = at && slice.length ? *slice.text : '?';
    event->has |= HAS_PHASE;
    return at;
}

/* A number or text, kept as written; `bit` of the event says that there is one. */
static inline const char *scan_text(struct json_scan *scan, const char *at,
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

static inline const char *scan_field(struct json_scan *scan, const char *at,
                                     const struct json_slice *key, struct torch_event *event)
{
    switch (field_of(key)) {
    case FIELD_PHASE:
        return scan_phase(scan, at, event);
    case FIELD_CATEGORY:
        return scan_text(scan, at, event, &event->category, HAS_CATEGORY);
    case FIELD_NAME:
        return scan_text(scan, at, event, &event->name, HAS_NAME);
    case FIELD_ID:
        return scan_text(scan, at, event, &event->id, HAS_ID);
    case FIELD_PID:
        return scan_text(scan, at, event, &event->pid, HAS_PID);
    case FIELD_TID:
        return scan_text(scan, at, event, &event->tid, HAS_TID);
    case FIELD_TS:
        event->has &= ~(uint32_t)HAS_START_OVERFLOW;
        return scan_time(scan, at, &event->start_ns, &event->has, HAS_START);
    case FIELD_DUR:
        event->has &= ~(uint32_t)HAS_DURATION_OVERFLOW;
        return scan_time(scan, at, &event->duration_ns, &event->has, HAS_DURATION);
    case FIELD_ARGS:
        event->args = (struct json_slice){.text = at};
        at = scan_args(scan, at, event);
        event->args.length = at ? (uint32_t)(at - event->args.text) : 0;
        return at;
    case FIELD_OTHER:
        break;
    }
    return skip_value(scan, at);
}

const char *torch_event_scan(struct json_scan *scan, const char *at, struct torch_event *event)
{
    event->has = 0;
    event->has_args = 0;
    event->args.length = 0;
    if (*at != '{')
        return scan_fail(scan, at, "'{', the beginning of an event");
    at = scan_space(at + 1);
    if (*at == '}')
        return at + 1;
    for (;;) {
        struct json_slice key;

        at = scan_key(scan, at, &key);
        if (at)
            at = scan_field(scan, at, &key, event);
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
