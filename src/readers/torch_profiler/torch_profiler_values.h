/* The values of an event: each function takes the place of one and returns the place behind it, as
 * those of json_scan.h do. */
#ifndef FLOPLEDGER_READERS_TORCH_PROFILER_TORCH_PROFILER_VALUES_H
#define FLOPLEDGER_READERS_TORCH_PROFILER_TORCH_PROFILER_VALUES_H

#include "base/core/attributes.h"
#include "readers/torch_profiler/torch_profiler_event.h"
#include "readers/torch_profiler/torch_profiler_layout.h"

/* What runs for each value is part of the loop over them: ALWAYS_INLINE. */

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

static inline const char *scan_fraction(struct json_scan *scan, const char *at,
                                        struct torch_event *event, unsigned arg)
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
    event->has_args |= (uint64_t)1 << arg;
    return end;
}

static inline int32_t torch_profiler_event_small(int64_t value)
{
    return value > INT32_MAX || value < INT32_MIN ? -1 : (int32_t)value;
}

/* "[24, 1, 1]", or fewer; anything else is left aside. */
static inline const char *scan_triple(struct json_scan *scan, const char *at,
                                      struct torch_event *event, unsigned arg)
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
                event->has_args |= (uint64_t)1 << arg;
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

    at = scan_integer(scan, at, &event->numbers[arg], &is_one);
    if (is_one)
        event->has_args |= (uint64_t)1 << arg;
    else
        event->has_args &= ~((uint64_t)1 << arg);
    return at;
}

static inline const char *scan_text_arg(struct json_scan *scan, const char *at,
                                        struct torch_event *event, unsigned arg)
{
    struct json_slice *text = &event->texts[arg - ARG_INPUT_DIMS];

    at = scan_value(scan, at, text);
    if (at && !slice_is_missing(text))
        event->has_args |= (uint64_t)1 << arg;
    return at;
}

static inline const char *scan_arg(struct json_scan *scan, const char *at,
                                   struct torch_event *event, unsigned arg)
{
    if (arg == ARG_COUNT)
        return skip_value(scan, at);
    if (arg < ARG_OCCUPANCY)
        return scan_number_arg(scan, at, event, arg);
    event->has_args &= ~((uint64_t)1 << arg);
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
static inline const char *scan_whole_args(struct json_scan *scan, const char *at,
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
        if (*at == '{' && is_with_args(event))
            return NULL; /* an object where there was none: it is looked into */
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

#endif
