/* What stands beside traceEvents: what the run was. */
#include "base/json/json_walk.h"
#include "readers/torch_profiler/torch_profiler_reading.h"

#include <string.h>

static int32_t torch_profiler_header_small(int64_t value)
{
    return value > INT32_MAX || value < INT32_MIN ? -1 : (int32_t)value;
}

/* A field that is missing stays -1, as 0 bytes or 0 multiprocessors would be a wrong figure.
 * Entries that are no objects are no devices. */
static void read_device(struct torch_store *store, const struct json_slice *properties)
{
    struct device device = {
        .number = -1,
        .memory_bytes = -1,
        .compute_major = -1,
        .compute_minor = -1,
        .multiprocessors = -1,
        .entry = DEVICE_ENTRY_OWN,
    };
    struct json_walk walk = json_walk_begin(properties, '{');
    struct json_slice key;
    struct json_slice value;

    while (json_walk_next(&walk, &key, &value)) {
        if (slice_is(&key, "id"))
            device.number = torch_profiler_header_small(json_walk_integer(&value, -1));
        else if (slice_is(&key, "name"))
            device.name = torch_store_string(store, &value);
        else if (slice_is(&key, "totalGlobalMem"))
            device.memory_bytes = json_walk_integer(&value, -1);
        else if (slice_is(&key, "computeMajor"))
            device.compute_major = torch_profiler_header_small(json_walk_integer(&value, -1));
        else if (slice_is(&key, "computeMinor"))
            device.compute_minor = torch_profiler_header_small(json_walk_integer(&value, -1));
        else if (slice_is(&key, "numSms"))
            device.multiprocessors = torch_profiler_header_small(json_walk_integer(&value, -1));
    }
    if (*properties->text == '{' && !properties->is_string)
        trace_builder_add_device(store->builder, &device);
}

/* Two spellings of the host's name are about. A rank that is not told stays -1, as 0 is one. */
static void parse_distributed_info(struct torch_store *store, const struct json_slice *info)
{
    struct run_facts *facts = &store->builder->facts;
    struct json_walk walk = json_walk_begin(info, '{');
    struct json_slice key;
    struct json_slice value;

    while (json_walk_next(&walk, &key, &value)) {
        if (slice_is(&key, "backend"))
            facts->backend = torch_store_string(store, &value);
        else if (slice_is(&key, "rank"))
            facts->rank = json_walk_integer(&value, -1);
        else if (slice_is(&key, "world_size"))
            facts->world_size = json_walk_integer(&value, -1);
        else if (slice_is(&key, "hostname") || slice_is(&key, "host_name"))
            facts->hostname = torch_store_string(store, &value);
    }
}

/* Writers have 1, true and "True"; what is none of these is not told. */
static int8_t flag_of(const struct json_slice *value)
{
    int64_t number;

    if (slice_integer(value, &number))
        return number != 0;
    if (slice_is(value, "true") || slice_is(value, "True"))
        return 1;
    return slice_is(value, "false") || slice_is(value, "False") ? 0 : -1;
}

/* Flags are -1 ("not told") until the header says: an older recorder that writes none must not
 * count as having them off. */
static bool torch_profiler_header_take_flag(struct run_facts *facts, const struct json_slice *key,
                                            const struct json_slice *value)
{
    int8_t *flag = NULL;

    if (slice_is(key, "record_shapes"))
        flag = &facts->record_shapes;
    else if (slice_is(key, "profile_memory"))
        flag = &facts->profile_memory;
    else if (slice_is(key, "with_stack"))
        flag = &facts->with_stack;
    else if (slice_is(key, "with_modules"))
        flag = &facts->with_modules;
    else if (slice_is(key, "with_flops"))
        flag = &facts->with_flops;
    if (flag)
        *flag = flag_of(value);
    return flag != NULL;
}

/* Values of all other keys are skipped where they stand and never held as a whole: they may be
 * large. */
bool torch_header_knows(const struct json_slice *key)
{
    static const char *const keys[] = {
        "record_shapes",       "profile_memory",  "with_stack",
        "with_modules",        "with_flops",      "deviceProperties",
        "computeProperties",   "distributedInfo", "traceName",
        "baseTimeNanoseconds", "host_name",       "hostname",
        "pytorch_version",     "torch_version",   "cuda_runtime_version",
        "hip_runtime_version",
    };

    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        if (slice_is(key, keys[i]))
            return true;
    }
    return false;
}

/* Several generations have several names for one thing; the last one in the file counts. */
void torch_header_member(struct torch_store *store, const struct json_slice *key,
                         const struct json_slice *value)
{
    struct run_facts *facts = &store->builder->facts;

    if (torch_profiler_header_take_flag(facts, key, value))
        return;
    if (slice_is(key, "deviceProperties") || slice_is(key, "computeProperties")) {
        struct json_walk walk = json_walk_begin(value, '[');
        struct json_slice device;

        while (json_walk_next(&walk, &device, &device))
            read_device(store, &device);
    } else if (slice_is(key, "distributedInfo")) {
        parse_distributed_info(store, value);
    } else if (slice_is(key, "baseTimeNanoseconds")) {
        facts->base_time_ns = json_walk_integer(value, 0);
    } else if (slice_is(key, "traceName")) {
        facts->trace_name = torch_store_string(store, value);
    } else if (slice_is(key, "host_name") || slice_is(key, "hostname")) {
        facts->hostname = torch_store_string(store, value);
    } else if (slice_is(key, "pytorch_version") || slice_is(key, "torch_version")) {
        facts->torch_version = torch_store_string(store, value);
    } else if (slice_is(key, "cuda_runtime_version")) {
        facts->cuda_version = torch_store_string(store, value);
    } else if (slice_is(key, "hip_runtime_version")) {
        facts->cuda_version = torch_store_string(store, value);
        facts->is_rocm = 1;
    }
}
