/* What each host thread was doing when, told by the names of its calls and ranges. */
#include "ledger/host_activity.h"

#include "base/core/array.h"
#include "base/core/invariant.h"
#include "base/text/prefix.h"
#include "ledger/kernel_class.h"
#include "trace/name_answers.h"

#include <stdlib.h>
#include <string.h>

static bool host_activity_is_one_of(const char *name, const char *const *names)
{
    for (; *names; names++) {
        if (strcmp(name, *names) == 0)
            return true;
    }
    return false;
}

static bool starts_with_one_of(const char *name, const char *const *starts)
{
    for (; *starts; starts++) {
        if (has_prefix(name, *starts))
            return true;
    }
    return false;
}

/* Calls that return only when the device has caught up. */
static const char *const sync_calls[] = {
    "cudaStreamSynchronize",
    "cudaDeviceSynchronize",
    "cudaEventSynchronize",
    "cudaCtxSynchronize",
    "hipStreamSynchronize",
    "hipDeviceSynchronize",
    "hipEventSynchronize",
    "hipCtxSynchronize",
    "hsa_signal_wait_relaxed",
    "hsa_signal_wait_scacquire",
    "cuStreamSynchronize",
    "cuCtxSynchronize",
    "cuEventSynchronize",
    "zeEventHostSynchronize",
    "zeFenceHostSynchronize",
    "zeCommandQueueSynchronize",
    "zeCommandListHostSynchronize",
    "urQueueFinish",
    "urEventWait",
    NULL,
};

/* Beginnings: of the driver's calls each has versions ("cuMemAlloc_v2") and kinds (cuMemAllocHost).
 */
static const char *const allocator_calls[] = {
    "cudaMalloc",        "hipMalloc",           "cudaFree",
    "hipFree",           "cudaHostAlloc",       "hipHostAlloc",
    "cudaHostRegister",  "hipHostRegister",     "cudaMallocHost",
    "hipMallocHost",     "cudaHostMalloc",      "hipHostMalloc",
    "cudaFreeHost",      "hipFreeHost",         "cudaHostUnregister",
    "hipHostUnregister", "cuMemCreate",         "cuMemMap",
    "cuMemUnmap",        "cuMemRelease",        "cuMemSetAccess",
    "cuMemAlloc",        "cuMemFree",           "cuMemHostAlloc",
    "cuMemHostRegister", "cuMemHostUnregister", "cuMemAddress",
    "hipMemAddress",     "hipMemCreate",        "hipMemMap",
    "hipMemUnmap",       "hipMemRelease",       "hipMemSetAccess",
    "aclrtMalloc",       "aclrtFree",           "urUSM",
    "zeMemAlloc",        "zeMemFree",           NULL,
};

/* Copies return when they are done, but for those between devices, or on one. */
static bool is_waiting_copy(const char *name)
{
    static const char *const starts[] = {"cudaMemcpy", "hipMemcpy", "cuMemcpy", "aclrtMemcpy",
                                         NULL};

    return starts_with_one_of(name, starts) && !strstr(name, "Async") && !strstr(name, "Peer") &&
           !strstr(name, "DtoD");
}

/* Calls of CANN are "AscendCL@aclrtMalloc" in JSON, and have what they do behind their name:
 * "aclrtSynchronizeStreamWithTimeout". */
static enum host_class runtime_call_class(const char *name)
{
    static const char of_cann[] = "AscendCL@";

    if (has_prefix(name, of_cann))
        name += strlen(of_cann);
    if (has_prefix(name, "aclrtSynchronize"))
        return HOST_SYNC;
    if (host_activity_is_one_of(name, sync_calls) || is_waiting_copy(name))
        return HOST_SYNC;
    if (starts_with_one_of(name, allocator_calls))
        return HOST_ALLOCATOR;
    return HOST_RUNTIME;
}

static bool is_garbage_collection(const char *name)
{
    return has_prefix(name, "Python GC") || has_prefix(name, "gc.collect") ||
           strstr(name, "<built-in function collect>") ||
           strstr(name, "built-in method collect of");
}

/* Python that only waits for the device: JAX's block_until_ready, which records no call beside it,
 * and what it goes through. */
static bool is_waiting_python(const char *name)
{
    const char *function = strrchr(name, ' ');

    return function &&
           (strcmp(function, " block_until_ready") == 0 || strcmp(function, " try_to_block") == 0);
}

static enum host_class python_class(const char *name)
{
    if (is_waiting_python(name))
        return HOST_SYNC;
    return is_garbage_collection(name) ? HOST_GARBAGE : HOST_PYTHON;
}

/* HOST_NOTHING for events that explain no idle time: steps, the profiler's own. */
static enum host_class event_class(const struct trace *trace, const struct event *event)
{
    const char *name = trace_text(trace, event->name);

    if (event->kind != EVENT_RUNTIME_CALL && is_compilation(name))
        return HOST_COMPILATION;
    switch ((enum event_kind)event->kind) {
    case EVENT_RUNTIME_CALL:
        return runtime_call_class(name);
    case EVENT_OPERATOR:
        if (has_prefix(name, "ProfilerStep"))
            return HOST_NOTHING;
        return is_data_loading(name) ? HOST_DATA : HOST_OPERATOR;
    case EVENT_ANNOTATION:
        if (has_prefix(name, "ProfilerStep"))
            return HOST_NOTHING;
        if (is_garbage_collection(name))
            return HOST_GARBAGE;
        return is_data_loading(name) ? HOST_DATA : HOST_ANNOTATION;
    case EVENT_PYTHON_FUNCTION:
        return python_class(name);
    case EVENT_SYSTEM_CALL:
        return HOST_SYSTEM;
    /* The profiler's own flushing is no activity of the program: what lies around it says
     * more. */
    case EVENT_OVERHEAD:
    case EVENT_HOST_OTHER:
    case EVENT_KERNEL:
    case EVENT_MEMCPY:
    case EVENT_MEMSET:
    case EVENT_DEVICE_ANNOTATION:
    case EVENT_DEVICE_SYNC:
    case EVENT_DEVICE_OTHER:
        break;
    }
    return HOST_NOTHING;
}

/* Classes are asked per name and kind, not per event: a trace has some thousand names and
 * millions of events, and each question compares with dozens of words. */
void host_activity_init(struct host_activity *activity, const struct trace *trace)
{
    size_t tracks = (size_t)trace->track_count + 1;
    size_t kinds = EVENT_KIND_COUNT;
    size_t names = string_pool_count(&trace->strings);

    *activity = (struct host_activity){
        .trace = trace,
        .track_count = trace->track_count,
        .threads = require_memory(calloc(tracks, sizeof(*activity->threads))),
        .cursors = require_memory(calloc(tracks, sizeof(*activity->cursors))),
        .is_built = require_memory(calloc(tracks, 1)),
        .name_classes = require_memory(malloc(names * kinds)),
    };
    memset(activity->name_classes, HOST_NOT_LOOKED_UP, names * kinds);
}

void host_activity_clear(struct host_activity *activity)
{
    if (activity->threads) {
        for (uint32_t i = 0; i < activity->track_count; i++)
            class_timeline_clear(&activity->threads[i]);
    }
    free(activity->threads);
    free(activity->cursors);
    free(activity->is_built);
    free(activity->name_classes);
    free(activity->left_out);
    *activity = (struct host_activity){0};
}

uint8_t host_activity_look_up(struct host_activity *activity, const struct event *event)
{
    uint8_t class = (uint8_t)event_class(activity->trace, event);

    activity->name_classes[host_activity_place(event)] = class;
    return class;
}

/* A range of that name may come as an annotation or (of old recorders) as an operator: both are
 * left out. What explains nothing anyway is not noted: what is noted is where timelines differ. */
void host_activity_leave_out(struct host_activity *activity, uint32_t name)
{
    static const enum event_kind kinds[] = {EVENT_ANNOTATION, EVENT_OPERATOR};

    for (size_t i = 0; name && i < sizeof kinds / sizeof *kinds; i++) {
        const struct event range = {.name = name, .kind = (uint8_t)kinds[i]};

        if (host_activity_class(activity, &range) == HOST_NOTHING)
            continue;
        activity->name_classes[host_activity_place(&range)] = HOST_NOTHING;
        ARRAY_ADD(activity->left_out, activity->left_out_count, range);
    }
}

/* What is left out explains something, so that of what `activity` leaves out nothing explains
 * anything in `known` only where that leaves it out as well. */
static bool leaves_out_no_more(const struct host_activity *activity,
                               const struct host_activity *known)
{
    for (uint32_t i = 0; i < activity->left_out_count; i++)
        if (known->name_classes[host_activity_place(&activity->left_out[i])] != HOST_NOTHING)
            return false;
    return true;
}

/* Of some steps of those that `known` leaves out all are left out: they are steps, too. */
void host_activity_know(struct host_activity *activity, const struct host_activity *known)
{
    if (!known || !leaves_out_no_more(activity, known))
        return;
    activity->known = known;
    for (uint32_t i = 0; i < known->left_out_count; i++)
        activity->name_classes[host_activity_place(&known->left_out[i])] = HOST_NOTHING;
}

static bool is_name_of_capture(const char *name)
{
    return strstr(name, "StreamBeginCapture") != NULL;
}

/* The end of the capture that event `first` of the thread begins; INT64_MIN where its end is not
 * recorded. O(events of the thread), but asked once per captured graph, of which a run has a few
 * hundred. */
static int64_t capture_end_ns(const struct trace *trace, const struct track *track, uint32_t first)
{
    const struct event *events = &trace->host[track->first_event];

    for (uint32_t i = first + 1; i < track->event_count; i++) {
        if (events[i].kind == EVENT_RUNTIME_CALL &&
            has_suffix(trace_text(trace, events[i].name), "StreamEndCapture"))
            return event_end_ns(&events[i]);
    }
    return INT64_MIN;
}

/* Built when first asked for: most threads of a trace (loader workers, NCCL's proxies) explain
 * no gap. */
static const struct class_timeline *thread_timeline(struct host_activity *activity, uint32_t thread)
{
    struct class_timeline *timeline = &activity->threads[thread];
    const struct track *track = &activity->trace->tracks[thread];
    struct name_answers captures = {.ask = is_name_of_capture};

    /* Looked at already for an activity of the same trace that leaves out the same. */
    if (activity->known && activity->known->is_built[thread])
        return &activity->known->threads[thread];
    if (activity->is_built[thread])
        return timeline;
    activity->is_built[thread] = 1;
    for (uint32_t i = 0; i < track->event_count; i++) {
        const struct event *event = &activity->trace->host[track->first_event + i];
        enum host_class class = host_activity_class(activity, event);
        int64_t capture_ns = INT64_MIN;

        if (class == HOST_RUNTIME && event->kind == EVENT_RUNTIME_CALL &&
            name_answer(&captures, activity->trace, event->name))
            capture_ns = capture_end_ns(activity->trace, track, i);

        if (capture_ns > event->start_ns)
            class_timeline_add(timeline, HOST_CAPTURE, event->start_ns, capture_ns);
        if (class != HOST_NOTHING)
            class_timeline_add(timeline, class, event->start_ns, event_end_ns(event));
    }
    free(captures.answers);
    class_timeline_finish(timeline);
    return timeline;
}

/* Gaps are asked in order of time, so the place of the last answer is a near hint for the next
 * one. A thread that is not known has no changes: then the whole range is HOST_NOTHING. */
static struct timeline_walk walk_from(struct host_activity *activity, uint32_t thread,
                                      int64_t time_ns)
{
    struct timeline_walk walk = {.next_ns = INT64_MAX};

    if (thread == NO_EVENT)
        return walk;
    walk =
        timeline_walk_from(thread_timeline(activity, thread), time_ns, activity->cursors[thread]);
    activity->cursors[thread] = timeline_walk_cursor(&walk);
    return walk;
}

/* At each time several events of a thread are open, one in another; the class of the lowest
 * number wins, and the enum is ordered so that what explains most stands first (waiting for data
 * before the operator around it). Of the thread of the step only waiting for data counts:
 * another thread that launches may wait for its batch. */
void host_activity_walk(struct host_activity *activity, uint32_t thread, uint32_t step_thread,
                        const int64_t range_ns[2], const struct host_piece_visitor *visitor)
{
    bool has_other = step_thread != thread && step_thread != NO_EVENT;
    struct timeline_walk own = walk_from(activity, thread, range_ns[0]);
    struct timeline_walk step =
        walk_from(activity, has_other ? step_thread : NO_EVENT, range_ns[0]);
    enum host_class open = HOST_NOTHING;
    int64_t since_ns = range_ns[0];

    for (int64_t time_ns = range_ns[0]; time_ns < range_ns[1];) {
        uint32_t mask = own.mask | (step.mask & ((uint32_t)1 << HOST_DATA));
        enum host_class class = mask ? (enum host_class)__builtin_ctz(mask) : HOST_NOTHING;
        int64_t next_ns = own.next_ns;

        /* Pieces of one class that follow each other are one visit, whatever events they come
         * from. */
        if (class != open && time_ns > since_ns) {
            visitor->visit(visitor->context, open, since_ns, time_ns);
            since_ns = time_ns;
        }
        open = class;
        if (step.next_ns < next_ns)
            next_ns = step.next_ns;
        time_ns = next_ns < range_ns[1] ? next_ns : range_ns[1];
        timeline_walk_to(&own, time_ns);
        timeline_walk_to(&step, time_ns);
    }
    if (range_ns[1] > since_ns)
        visitor->visit(visitor->context, open, since_ns, range_ns[1]);
}

static void host_activity_add_to_class(void *context, enum host_class class, int64_t start_ns,
                                       int64_t end_ns)
{
    int64_t *class_ns = context;

    class_ns[class] += end_ns - start_ns;
}

void host_activity_split(struct host_activity *activity, uint32_t thread, uint32_t step_thread,
                         const int64_t range_ns[2], int64_t *class_ns)
{
    struct host_piece_visitor adder = {.visit = host_activity_add_to_class, .context = class_ns};

    host_activity_walk(activity, thread, step_thread, range_ns, &adder);
}

/* At a moment on a boundary the later state counts: a call that ends at `time_ns` is closed
 * already. */
bool host_activity_is_open(struct host_activity *activity, uint32_t thread, uint32_t mask,
                           int64_t time_ns)
{
    struct timeline_walk walk = walk_from(activity, thread, time_ns);

    return (walk.mask & mask) != 0;
}

bool host_activity_is_just_open(struct host_activity *activity, uint32_t thread, uint32_t mask,
                                int64_t time_ns)
{
    struct timeline_walk walk = walk_from(activity, thread, time_ns - 1);
    uint32_t before = walk.mask;

    timeline_walk_to(&walk, time_ns);
    return ((before | walk.mask) & mask) != 0;
}
