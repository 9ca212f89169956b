/* The [memory] events of a trace: one for each allocation and each release. */
#include "readers/torch_profiler/torch_profiler_reading.h"

enum { CPU_TYPE = 0 };

/* No device has more. */
static const int64_t most_total_bytes = (int64_t)1 << 60;

/* Its args that matter. */
enum memory_arg {
    MEMORY_BYTES,
    MEMORY_ADDRESS,
    MEMORY_ALLOCATED,
    MEMORY_RESERVED,
    MEMORY_DEVICE_TYPE,
    MEMORY_DEVICE,
    MEMORY_ARG_COUNT,
};

struct memory_args {
    int64_t numbers[MEMORY_ARG_COUNT + 1]; /* the last is of all that do not matter */
    unsigned has;                          /* bits by enum memory_arg */
};

bool is_torch_memory_event(const struct torch_event *event)
{
    return (event->phase == 'i' || event->phase == 'I') &&
           (event->has & (HAS_PHASE | HAS_NAME | HAS_START)) ==
               (HAS_PHASE | HAS_NAME | HAS_START) &&
           slice_is(&event->name, "[memory]");
}

/* One past the last stands for every other key; six texts are compared faster than they are
 * hashed. */
static enum memory_arg memory_arg_of(const struct json_slice *key)
{
    static const char *const keys[MEMORY_ARG_COUNT] = {
        [MEMORY_BYTES] = "Bytes",
        [MEMORY_ADDRESS] = "Addr",
        [MEMORY_ALLOCATED] = "Total Allocated",
        [MEMORY_RESERVED] = "Total Reserved",
        [MEMORY_DEVICE_TYPE] = "Device Type",
        [MEMORY_DEVICE] = "Device Id",
    };
    unsigned arg = 0;

    while (arg < MEMORY_ARG_COUNT && !slice_is(key, keys[arg]))
        arg++;
    return (enum memory_arg)arg;
}

/* The value of one, which is kept where it is an integer; behind it. Numbers of up to 18 digits
 * are the usual case, and are read without a slice. */
static const char *parse_arg(struct memory_args *args, unsigned arg, struct json_scan *scan,
                             const char *at)
{
    struct json_slice value;
    uint64_t digits;
    unsigned count;
    int64_t number;
    bool is_negative = *at == '-';
    const char *behind = scan_digits(at + is_negative, &digits, &count);

    if (count && is_number_end(*behind) && !scan->is_tolerant) {
        args->numbers[arg] = is_negative ? -(int64_t)digits : (int64_t)digits;
        args->has |= 1U << arg;
        return behind;
    }
    behind = scan_value(scan, at, &value);
    if (behind && slice_integer(&value, &number)) {
        args->numbers[arg] = number;
        args->has |= 1U << arg;
    }
    return behind;
}

/* False where the text is no JSON. The event goes on behind it: with its end, or another key. */
static bool read_members(struct memory_args *args, const struct json_slice *text, bool is_tolerant,
                         struct layout_trail *trail)
{
    const char *behind = scan_space(text->text + text->length);
    struct json_scan scan = {.limit = behind + 1, .is_tolerant = is_tolerant};
    const char *at = scan_space(text->text + 1);

    layout_trail_begin(trail);
    while (*at != '}') {
        struct json_slice key;
        const char *start = scan_key(&scan, at, &key);
        struct layout_value *value = &trail->values[trail->count];

        value->action = JOINT_NUMBER;
        value->arg = start ? (uint8_t)memory_arg_of(&key) : 0;
        at = start ? parse_arg(args, value->arg, &scan, start) : NULL;
        if (!at)
            return false;
        layout_trail_add(trail, start, at);
        at = scan_space(at);
        if (*at != ',')
            break;
        at = scan_space(at + 1);
    }
    trail->values[trail->count].action = JOINT_END;
    layout_trail_add(trail, at + 1, at + 1);
    return *at == '}';
}

/* The same where other args were laid out so; false where none were. */
static bool read_known_members(struct memory_args *args, const struct json_slice *text,
                               struct event_layouts *layouts)
{
    struct json_scan scan = {.limit = text->text + text->length};
    struct layout_joint *joint = layouts->joints;
    const char *at = text->text + 1;

    while (joint && (joint = layout_follow(joint, at))) {
        at += joint->length;
        if (joint->action == JOINT_END)
            return true;
        at = parse_arg(args, joint->arg, &scan, at);
        if (!at)
            return false;
    }
    return false;
}

/* The layout that was seen before, then strict, then tolerant; each begins with the same empty
 * values, so a failed one leaves nothing. */
static void read_args(struct memory_args *args, const struct json_slice *text,
                      struct event_layouts *layouts)
{
    const struct memory_args none = *args;
    struct layout_trail trail;

    if (text->length == 0 || *text->text != '{' || read_known_members(args, text, layouts))
        return;
    *args = none;
    if (read_members(args, text, false, &trail)) {
        layout_learn(layouts, text->text + 1, &trail);
        return;
    }
    *args = none;
    if (!read_members(args, text, true, &trail))
        *args = none;
}

/* Without bytes and address nothing can be joined. Times and sizes are bounded, so that sums
 * over all of them cannot overflow. Totals of the host are not kept: its allocator reports
 * none that mean anything. */
bool torch_memory_event_read(struct memory_event *memory, const struct torch_event *event,
                             struct event_layouts *layouts)
{
    const unsigned needed = 1U << MEMORY_BYTES | 1U << MEMORY_ADDRESS;
    struct memory_args args = {
        .numbers = {[MEMORY_ALLOCATED] = -1, [MEMORY_RESERVED] = -1, [MEMORY_DEVICE] = -1}};
    int64_t bytes, device;

    read_args(&args, &event->args, layouts);
    bytes = args.numbers[MEMORY_BYTES];
    device = args.numbers[MEMORY_DEVICE];
    if ((args.has & needed) != needed || bytes > MEMORY_BLOCK_BYTES_MAX ||
        bytes < -MEMORY_BLOCK_BYTES_MAX || event->start_ns > MEMORY_TIME_NS_MAX ||
        event->start_ns < -MEMORY_TIME_NS_MAX)
        return false;
    for (int arg = MEMORY_ALLOCATED; arg <= MEMORY_RESERVED; arg++)
        if (args.numbers[arg] > most_total_bytes)
            args.numbers[arg] = -1;
    *memory = (struct memory_event){
        .time_ns = event->start_ns,
        .address = (uint64_t)args.numbers[MEMORY_ADDRESS],
        .bytes = bytes,
        .allocated_bytes = args.numbers[MEMORY_ALLOCATED],
        .reserved_bytes =
            args.numbers[MEMORY_DEVICE_TYPE] == CPU_TYPE ? -1 : args.numbers[MEMORY_RESERVED],
        .device = args.numbers[MEMORY_DEVICE_TYPE] == CPU_TYPE || device < 0 || device > INT32_MAX
                      ? HOST_MEMORY
                      : (int32_t)device,
    };
    return true;
}
