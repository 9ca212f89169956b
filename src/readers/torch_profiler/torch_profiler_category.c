/* Which kind of event each `cat` of a torch-profiler trace is, in all generations of the format. */
#include "readers/torch_profiler/torch_profiler_reading.h"

#include <string.h>
#include <strings.h>

struct category {
    const char *name;
    enum event_kind kind;
};

static const struct category categories[] = {
    /* host: torch 1.8 wrote Operator and Runtime */
    {"cpu_op", EVENT_OPERATOR},
    {"operator", EVENT_OPERATOR},
    {"user_annotation", EVENT_ANNOTATION},
    {"scope", EVENT_ANNOTATION}, /* Proton's, and those with numbers */
    {"metric", EVENT_ANNOTATION},
    {"python_function", EVENT_PYTHON_FUNCTION},
    {"runtime", EVENT_RUNTIME_CALL},
    {"cuda_runtime", EVENT_RUNTIME_CALL},
    {"cuda_driver", EVENT_RUNTIME_CALL},
    {"hip_runtime", EVENT_RUNTIME_CALL},
    {"hip_driver", EVENT_RUNTIME_CALL},
    {"xpu_runtime", EVENT_RUNTIME_CALL},
    {"xpu_driver", EVENT_RUNTIME_CALL},
    {"mtia_runtime", EVENT_RUNTIME_CALL},
    {"glow_runtime", EVENT_RUNTIME_CALL},
    {"privateuse1_runtime", EVENT_RUNTIME_CALL},
    {"privateuse1_driver", EVENT_RUNTIME_CALL},
    {"overhead", EVENT_OVERHEAD},
    /* device: torch 1.8 wrote Kernel, Memcpy and Memset */
    {"kernel", EVENT_KERNEL},
    {"concurrent_kernel", EVENT_KERNEL},
    {"gpu_memcpy", EVENT_MEMCPY},
    {"memcpy", EVENT_MEMCPY},
    {"gpu_memset", EVENT_MEMSET},
    {"memset", EVENT_MEMSET},
    {"gpu_user_annotation", EVENT_DEVICE_ANNOTATION},
    {"cuda_sync", EVENT_DEVICE_SYNC},
    {"cuda_event", EVENT_DEVICE_SYNC},
    {"cuda_profiler_range", EVENT_DEVICE_OTHER},
    {"graph_event_node", EVENT_DEVICE_SYNC}, /* an event recorded or waited for in a CUDA graph */
    {"graph_host_node", EVENT_DEVICE_OTHER}, /* the stream waits for a function on the host */
    {"mtia_ccp_events", EVENT_KERNEL},       /* by their names also copies and waits */
    {"gpu_op", EVENT_KERNEL}, /* Intel's unitrace: by their names also copies and waits */
    {"mtia_insight", EVENT_DEVICE_OTHER},
    {"mtia_counters", EVENT_DEVICE_OTHER},
};

/* Without regard to case, since generations differ in it only. A search is enough: the store
 * remembers each category's answer. */
enum event_kind torch_profiler_category_kind(const char *category, size_t length)
{
    for (size_t i = 0; i < sizeof categories / sizeof categories[0]; i++) {
        if (strlen(categories[i].name) == length &&
            strncasecmp(categories[i].name, category, length) == 0)
            return categories[i].kind;
    }
    return EVENT_HOST_OTHER;
}

/* torch.autograd.profiler (of torch 1.7 and before, and since by use_kineto=False) has no
 * categories: what it records are operators, of a process of this name, and torch's own ranges,
 * which only their names tell from them. */
enum event_kind torch_profiler_process_kind(const struct torch_event *event)
{
    static const char *const ranges[] = {"Optimizer.", "enumerate(DataLoader)"};

    if (!(event->has & HAS_PID) || !slice_is(&event->pid, "CPU functions"))
        return EVENT_HOST_OTHER;
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges && event->has & HAS_NAME; i++)
        if (event->name.length > strlen(ranges[i]) &&
            memcmp(event->name.text, ranges[i], strlen(ranges[i])) == 0)
            return EVENT_ANNOTATION;
    return EVENT_OPERATOR;
}

/* unitrace calls what a device did by the kernel or, where it copied, filled or waited, by the
 * call. */
enum event_kind torch_profiler_command(const char *name)
{
    static const char *const copies[] = {"Mem", "Image", "Buffer"};
    bool is_call = (strncmp(name, "ze", 2) == 0 || strncmp(name, "cl", 2) == 0) && name[2] >= 'A' &&
                   name[2] <= 'Z';

    if (!is_call)
        return EVENT_HOST_OTHER;
    if ((strncmp(name, "zeCommandListAppend", 19) != 0 && strncmp(name, "clEnqueue", 9) != 0) ||
        strstr(name, "Kernel"))
        return EVENT_RUNTIME_CALL;
    if (strstr(name, "Fill"))
        return EVENT_MEMSET;
    for (size_t i = 0; i < sizeof copies / sizeof *copies && !strstr(name, "Barrier"); i++)
        if (strstr(name, copies[i]))
            return EVENT_MEMCPY;
    return EVENT_DEVICE_SYNC;
}

/* A number, or the number a text ends with ("stream 7"); -1 where there is none. */
static int64_t number_at_end(const struct json_slice *slice)
{
    struct json_slice end = *slice;
    int64_t value;

    if (slice_integer(slice, &value))
        return value;
    end.text += slice->length;
    end.length = 0;
    while (end.length < slice->length && end.text[-1] >= '0' && end.text[-1] <= '9') {
        end.text--;
        end.length++;
    }
    return slice->is_string && slice_integer(&end, &value) ? value : -1;
}

/* Where Proton's numbers of GPU threads begin, how far those of two devices are apart, and what it
 * knows of either at most. */
enum { LANE_FIRST = 200000, LANES_OF_DEVICE = 1000000, LANE_DEVICES = 32, LANE_STREAMS = 100000 };

/* No process has a higher number. unitrace counts its devices down from the highest number of 32
 * bits, 32 for each rank, and the engines of all devices alike; in Perfetto's form less the highest
 * bit. */
enum { UNITRACE_LEAST = 0x70000000, UNITRACE_DEVICES = 32 };

static int64_t unitrace_number(int64_t number)
{
    return UINT32_MAX - (number | 0x80000000);
}

/* torch.profiler's pid and tid are device and stream. Proton's pid is 0, or none is there, whatever
 * the device: that is in the tid (200007 and 1200007 are stream 7 of devices 0 and 1), or in
 * Perfetto's form in the name of the track ("GPU Stream 7", "GPU Device 1 Stream 7"). */
struct event_lane torch_profiler_lane(const struct torch_event *event)
{
    static const char of_device[] = "GPU Device ";
    struct event_lane lane = {.device = event->has & HAS_PID ? number_at_end(&event->pid) : 0,
                              .stream = event->has & HAS_TID ? number_at_end(&event->tid) : -1};
    int64_t behind = lane.stream - LANE_FIRST;
    struct json_slice digits = event->tid;

    if (lane.device >= UNITRACE_LEAST && lane.device <= UINT32_MAX)
        return (struct event_lane){unitrace_number(lane.device) % UNITRACE_DEVICES,
                                   unitrace_number(lane.stream)};
    if (lane.device != 0)
        return lane;
    if (behind >= 0 && behind / LANES_OF_DEVICE < LANE_DEVICES &&
        behind % LANES_OF_DEVICE < LANE_STREAMS)
        return (struct event_lane){behind / LANES_OF_DEVICE, behind % LANES_OF_DEVICE};
    if (event->has & HAS_TID && digits.length > strlen(of_device) &&
        memcmp(digits.text, of_device, strlen(of_device)) == 0) {
        const char *space =
            memchr(digits.text + strlen(of_device), ' ', digits.length - strlen(of_device));

        digits.text += strlen(of_device);
        digits.length = space ? (uint32_t)(space - digits.text) : 0;
        if (!slice_integer(&digits, &lane.device))
            lane.device = 0;
    }
    return lane;
}

/* Only these name themselves in categories; all others, ROCm's too, use CUDA's words. */
enum platform torch_profiler_category_platform(const char *category, size_t length)
{
    static const struct {
        const char *start;
        enum platform platform;
    } starts[] = {{"mtia_", PLATFORM_MTIA},
                  {"xpu_", PLATFORM_XPU},
                  {"gpu_op", PLATFORM_XPU},
                  {"async_npu", PLATFORM_NPU}};

    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
        if (length >= strlen(starts[i].start) &&
            strncasecmp(starts[i].start, category, strlen(starts[i].start)) == 0)
            return starts[i].platform;
    return PLATFORM_CUDA;
}

const char *torch_profiler_copy_name(const struct json_slice *direction)
{
    static const char *const names[][2] = {
        {"HOST_TO_DEVICE", "Memcpy HtoD (Host -> Device)"},
        {"DEVICE_TO_HOST", "Memcpy DtoH (Device -> Host)"},
        {"DEVICE_TO_DEVICE", "Memcpy DtoD (Device -> Device)"},
    };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (slice_is(direction, names[i][0]))
            return names[i][1];
    return NULL;
}
