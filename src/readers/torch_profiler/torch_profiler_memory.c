/* The [memory] events of a trace: one for each allocation and each release. */
#include "readers/torch_profiler/torch_profiler_reading.h"

enum { CPU_TYPE = 0 };

/* No device has more. */
static const int64_t most_total_bytes = (int64_t)1 << 60;

/* The args of one. */
struct memory_args {
    int64_t bytes;
    int64_t address;
    int64_t allocated_bytes;
    int64_t reserved_bytes;
    int64_t device_type;
    int64_t device;
    bool has_bytes;
    bool has_address;
};

bool is_torch_memory_event(const struct torch_event *event)
{
    return (event->phase == 'i' || event->phase == 'I') &&
           (event->has & (HAS_PHASE | HAS_NAME | HAS_START)) ==
               (HAS_PHASE | HAS_NAME | HAS_START) &&
           slice_is(&event->name, "[memory]");
}

static void store_arg(struct memory_args *args, const struct json_slice *key, int64_t number)
{
    if (slice_is(key, "Bytes")) {
        args->bytes = number;
        args->has_bytes = true;
    } else if (slice_is(key, "Addr")) {
        args->address = number;
        args->has_address = true;
    } else if (slice_is(key, "Total Allocated")) {
        args->allocated_bytes = number;
    } else if (slice_is(key, "Total Reserved")) {
        args->reserved_bytes = number;
    } else if (slice_is(key, "Device Type")) {
        args->device_type = number;
    } else if (slice_is(key, "Device Id")) {
        args->device = number;
    }
}

/* The value of one, which is kept where it is an integer; behind it. */
static const char *parse_arg(struct memory_args *args, const struct json_slice *key,
                             struct json_scan *scan, const char *at)
{
    struct json_slice value;
    uint64_t digits;
    unsigned count;
    int64_t number;
    const char *behind = scan_digits(at, &digits, &count);

    if (count && is_number_end(*behind) && !scan->is_tolerant) {
        store_arg(args, key, (int64_t)digits);
        return behind;
    }
    behind = scan_value(scan, at, &value);
    if (behind && slice_integer(&value, &number))
        store_arg(args, key, number);
    return behind;
}

/* False where the text is no JSON. The event goes on behind it: with its end, or another key. */
static bool read_members(struct memory_args *args, const struct json_slice *text, bool is_tolerant)
{
    const char *behind = scan_space(text->text + text->length);
    struct json_scan scan = {.limit = behind + 1, .is_tolerant = is_tolerant};
    const char *at = scan_space(text->text + 1);

    while (*at != '}') {
        struct json_slice key;

        at = scan_key(&scan, at, &key);
        if (at)
            at = parse_arg(args, &key, &scan, at);
        if (!at)
            return false;
        at = scan_space(at);
        if (*at != ',')
            break;
        at = scan_space(at + 1);
    }
    return *at == '}';
}

static void read_args(struct memory_args *args, const struct json_slice *text)
{
    const struct memory_args none = *args;

    if (text->length == 0 || *text->text != '{' || read_members(args, text, false))
        return;
    *args = none;
    if (!read_members(args, text, true))
        *args = none;
}

bool torch_memory_event_read(struct memory_event *memory, const struct torch_event *event)
{
    struct memory_args args = {.allocated_bytes = -1, .reserved_bytes = -1, .device = -1};

    read_args(&args, &event->args);
    if (!args.has_bytes || !args.has_address || args.bytes > MEMORY_BLOCK_BYTES_MAX ||
        args.bytes < -MEMORY_BLOCK_BYTES_MAX || event->start_ns > MEMORY_TIME_NS_MAX ||
        event->start_ns < -MEMORY_TIME_NS_MAX)
        return false;
    if (args.allocated_bytes > most_total_bytes)
        args.allocated_bytes = -1;
    if (args.reserved_bytes > most_total_bytes)
        args.reserved_bytes = -1;
    *memory = (struct memory_event){
        .time_ns = event->start_ns,
        .address = (uint64_t)args.address,
        .bytes = args.bytes,
        .allocated_bytes = args.allocated_bytes,
        .reserved_bytes = args.device_type == CPU_TYPE ? -1 : args.reserved_bytes,
        .device = args.device_type == CPU_TYPE || args.device < 0 || args.device > INT32_MAX
                      ? HOST_MEMORY
                      : (int32_t)args.device,
    };
    return true;
}
