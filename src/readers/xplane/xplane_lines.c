/* The lines of planes: streams and cores of devices, threads of hosts. */
#include "base/core/array.h"
#include "base/core/large_array.h"
#include "base/core/large_sort.h"
#include "base/core/saturated.h"
#include "readers/xplane/xplane_reading.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void count_under(struct xplane_reading *reading, struct proto_bytes plane,
                        struct proto_bytes line)
{
    char text[256];
    int length =
        snprintf(text, sizeof text, "%.*s%s%.*s", (int)(plane.length < 100 ? plane.length : 100),
                 plane.at, line.length ? " " : "", (int)(line.length < 100 ? line.length : 100),
                 line.length ? line.at : "");

    reading->category = string_pool_add(&reading->builder.strings, text, (size_t)length);
}

/* Threads have numbers that may be repeated in other planes: the process is part of the key. */
static uint32_t host_track(struct xplane_reading *reading, int64_t id, struct proto_bytes name)
{
    struct track_key key = {.process = reading->process, .device = -1, .stream = -1};
    char text[24];
    int length = snprintf(text, sizeof text, "%" PRIu64, (uint64_t)id);
    struct given_name given = {.process = key.process, .is_thread = true};

    key.thread = string_pool_add(&reading->builder.strings, text, (size_t)length);
    given.thread = key.thread;
    given.name = xplane_string(reading, name);
    if (name.length)
        trace_builder_name(&reading->builder, &given);
    return trace_builder_track(&reading->builder, &key);
}

/* ---- devices -------------------------------------------------------------------------------- */

bool xplane_is_stream(struct proto_bytes line_name)
{
    return proto_text_begins(line_name, "Stream #");
}

bool xplane_is_ops(struct proto_bytes line_name)
{
    return proto_text_is(line_name, "XLA Ops");
}

static bool xplane_is_async_ops(struct proto_bytes line_name)
{
    return proto_text_is(line_name, "Async XLA Ops");
}

/* The number has at most six digits, so it cannot overflow. */
bool xplane_device_of(struct proto_bytes plane_name, struct xplane_device *device)
{
    static const char *const starts[] = {"/device:GPU:", "/device:TPU:"};

    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
        size_t at = strlen(starts[i]);
        int32_t number = 0;

        if (!proto_text_begins(plane_name, starts[i]) || plane_name.length <= at ||
            plane_name.length > at + 6)
            continue;
        for (; at < plane_name.length; at++) {
            if (plane_name.at[at] < '0' || plane_name.at[at] > '9')
                return false;
            number = number * 10 + (plane_name.at[at] - '0');
        }
        *device = (struct xplane_device){.is_tpu = i == 1, .number = number};
        return true;
    }
    return false;
}

/* A line of a device on its way. */
struct device_line {
    struct xplane_line line;
    int32_t device;
    uint32_t track;    /* of the device */
    uint32_t op_track; /* of the host: where its operators and steps stand */
    bool is_stream;
    bool is_ops;
    bool is_async;
    bool is_steps;
};

static uint32_t device_track(struct xplane_reading *reading, const struct xplane_line *line,
                             int32_t device)
{
    struct track_key key = {.process = reading->process,
                            .thread = xplane_string(reading, line->name),
                            .is_device = true,
                            .device = device,
                            .stream = line->id};

    return trace_builder_track(&reading->builder, &key);
}

/* "grid:1280,1,1" behind `key`; -1 where it is not there. */
static void read_triple(struct proto_bytes text, const char *key, int32_t *triple)
{
    const char *at = memmem(text.at ? text.at : "", text.length, key, strlen(key));
    const char *end = proto_bytes_end(text);

    if (!at)
        return;
    at += strlen(key);
    for (int i = 0; i < 3; i++) {
        int64_t number = 0;

        while (at < end && *at >= '0' && *at <= '9' && number < INT32_MAX)
            number = number * 10 + (*at++ - '0');
        triple[i] = number > INT32_MAX ? -1 : (int32_t)number;
        if (at == end || *at != ',')
            return;
        at++;
    }
}

/* A number behind `key`; -1 where it is not there or is more than `most`. */
static int64_t number_behind(struct proto_bytes text, const char *key, int64_t most)
{
    const char *at = memmem(text.at ? text.at : "", text.length, key, strlen(key));
    const char *end = proto_bytes_end(text);
    int64_t number = 0;

    if (!at)
        return -1;
    for (at += strlen(key); at < end && *at >= '0' && *at <= '9'; at++) {
        number = number * 10 + (*at - '0');
        if (number > most)
            return -1;
    }
    return number;
}

enum { REGISTERS_MAX = 1024, SHARED_MAX = 1 << 24 };

static uint32_t work_detail(struct xplane_reading *reading, const struct xplane_stats *stats,
                            enum event_kind kind, struct proto_bytes name)
{
    struct event_detail detail = event_detail_none();
    struct proto_bytes details = xplane_text(stats, XSTAT_KERNEL_DETAILS);
    const char *collective = xplane_collective_of(stats, name);

    if (kind == EVENT_KERNEL) {
        read_triple(details, "grid:", detail.grid);
        read_triple(details, "block:", detail.block);
        detail.registers_per_thread = (int32_t)number_behind(details, "regs:", REGISTERS_MAX);
        /* numbers of registers that cannot be are said where none of these is known */
        if (detail.registers_per_thread >= 0)
            detail.shared_memory_bytes = (int32_t)number_behind(details, "shared:", SHARED_MAX);
        if (collective)
            detail.collective_name =
                string_pool_add(&reading->builder.strings, collective, strlen(collective));
        return trace_builder_detail(&reading->builder, &detail);
    }
    details =
        xplane_text(stats, kind == EVENT_MEMCPY ? XSTAT_MEMCPY_DETAILS : XSTAT_MEMSET_DETAILS);
    detail.bytes = number_behind(details, "size:", INT64_MAX / 100);
    if (detail.bytes < 0)
        detail.bytes = number_behind(details, "num_bytes:", INT64_MAX / 100);
    return trace_builder_detail(&reading->builder, &detail);
}

/* Copies in the words of other recorders, where theirs are known. */
static uint32_t copy_name(struct xplane_reading *reading, struct proto_bytes name)
{
    static const char *const words[][3] = {
        {"H2D", "HostToDevice", "Memcpy HtoD (Host -> Device)"},
        {"D2H", "DeviceToHost", "Memcpy DtoH (Device -> Host)"},
        {"D2D", "DeviceToDevice", "Memcpy DtoD (Device -> Device)"},
        {"P2P", "PeerToPeer", "Memcpy PtoP (Device -> Device)"},
    };

    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (proto_text_has(name, words[i][0]) || proto_text_has(name, words[i][1]))
            return string_pool_add(&reading->builder.strings, words[i][2], strlen(words[i][2]));
    }
    return xplane_string(reading, name);
}

/* Where an event of a device stands. */
enum work_place { WORK_ON_STREAM, WORK_ON_CORE, WORK_BESIDE_CORE };

/* Events of one op come by the thousand with the same texts, which stand once in their plane. So
 * what an event is called, and its details, are made once for each set of texts, and sets are
 * told apart by where the texts lie in the file: comparing places is cheap, and equal texts at
 * two places only make one entry more. */
static struct xplane_key work_key(const struct xplane_reading *reading,
                                  const struct xplane_stats *stats,
                                  const struct xplane_event *event, enum work_place place)
{
    return (struct xplane_key){
        .plane = reading->plane->message.at,
        .texts = {xplane_text(stats, XSTAT_CATEGORY).at, xplane_text(stats, XSTAT_HLO_OP).at,
                  xplane_text(stats, XSTAT_KERNEL_DETAILS).at,
                  xplane_text(stats, XSTAT_MEMCPY_DETAILS).at,
                  xplane_text(stats, XSTAT_MEMSET_DETAILS).at, NULL},
        .metadata = event->metadata,
        .has = place,
    };
}

/* Name and details are made once for all launches of one work, of which there are thousands. */
static const struct xplane_known *stream_work(struct xplane_reading *reading,
                                              const struct xplane_stats *stats,
                                              const struct xplane_event *read)
{
    struct xplane_key key = work_key(reading, stats, read, WORK_ON_STREAM);
    struct xplane_known *work = xplane_known(&reading->works, &key);
    struct proto_bytes name = xplane_short_name(read);

    if (!work->is_known) {
        enum event_kind kind = xplane_kind_on_stream(stats, name);

        work->kind = (uint8_t)kind;
        work->name = kind == EVENT_MEMCPY ? copy_name(reading, name) : xplane_string(reading, name);
        work->detail = work_detail(reading, stats, kind, name);
        work->is_known = true;
    }
    return work;
}

/* Since JAX 0.11 calls of the host are named by their kernels, and the kernels tell their ops. In a
 * command buffer (a CUDA graph) they tell the buffer: there the kernel's name is that of its op. A
 * kernel of a library has no op there. An op stands beside its kernel, on a track of its own. */
static int64_t add_op_of_work(struct xplane_reading *reading, const struct device_line *line,
                              const struct xplane_event *read, struct xplane_stats *stats,
                              const struct xplane_time *time)
{
    struct xplane_op op = {stats, NULL, *time, line->op_track, false};
    int64_t program = xplane_number(stats, XSTAT_PROGRAM);
    const struct hlo_op *hlo;

    if (!xplane_has(stats, XSTAT_HLO_OP))
        return NO_ID;
    if (!hlo_op_of(&reading->programs_run, program, xplane_text(stats, XSTAT_HLO_OP))) {
        hlo = hlo_op_of_kernel(&reading->programs_run, program, xplane_short_name(read));
        if (hlo)
            stats->texts[0] = hlo->name;
    }
    return xplane_add_kernel(reading, &op);
}

/* What was launched on this device is noted, so that of the host's calls, which are of all
 * devices, this rank's can be told (is_elsewhere). */
static void add_stream_event(struct xplane_reading *reading, const struct device_line *line,
                             const struct xplane_event *read, const struct xplane_time *time)
{
    struct xplane_stats stats;
    const struct xplane_known *work;
    int64_t op = NO_ID;

    xplane_event_stats(&stats, reading, read);
    work = stream_work(reading, &stats, read);
    if (reading->ops_are_of_work && work->kind == EVENT_KERNEL)
        op = add_op_of_work(reading, line, read, &stats, time);
    if (reading->is_one_of_several || reading->ops_are_of_work)
        hash_map_set(&reading->launches, (uint64_t)xplane_number(&stats, XSTAT_CORRELATION), 1);
    trace_builder_add(&reading->builder,
                      &(struct found_event){
                          .kind = work->kind,
                          .start_ns = time->start_ns,
                          .duration_ns = time->duration_ns,
                          .correlation = xplane_has(&stats, XSTAT_CORRELATION) &&
                                                 xplane_number(&stats, XSTAT_CORRELATION) != 0
                                             ? xplane_number(&stats, XSTAT_CORRELATION)
                                             : NO_ID,
                          .external_id = op,
                          .track = line->track,
                          .name = work->name,
                          .detail = work->detail,
                      });
}

/* A copy that the core starts, waits for, or makes itself. */
static bool is_copy_op(const struct xplane_stats *stats, struct proto_bytes name)
{
    struct proto_bytes category = xplane_text(stats, XSTAT_CATEGORY);

    return proto_text_begins(name, "copy-start") || proto_text_begins(name, "copy-done") ||
           proto_text_begins(name, "slice-start") || proto_text_begins(name, "slice-done") ||
           proto_text_begins(category, "copy-") || proto_text_begins(category, "infeed") ||
           proto_text_begins(category, "outfeed") || proto_text_begins(category, "host send") ||
           proto_text_begins(category, "host recv") || proto_text_begins(category, "async-");
}

/* A collective is work of the core whatever line it is on; other ops beside the core
 * (prefetches) take none of its time. */
static void fill_core_work(struct xplane_reading *reading, struct xplane_known *work,
                           const struct xplane_stats *stats, const struct xplane_event *read,
                           enum work_place place)
{
    struct proto_bytes name = xplane_short_name(read);
    bool is_collective = xplane_collective_of(stats, name) != NULL;
    enum event_kind kind = EVENT_KERNEL;

    if (!is_collective && is_copy_op(stats, name))
        kind = EVENT_MEMCPY;
    else if (!is_collective && place == WORK_BESIDE_CORE)
        kind = EVENT_DEVICE_OTHER;
    work->kind = (uint8_t)kind;
    work->name = xplane_event_name(reading, read);
    work->detail = work_detail(reading, stats, kind, name);
    work->is_known = true;
}

/* An op that a TPU's core ran: its operator has the same time. A TPU has no launches: op and
 * kernel are one event, joined by an external id of ours. */
static void add_core_event(struct xplane_reading *reading, const struct device_line *line,
                           const struct xplane_event *read, const struct xplane_time *time)
{
    struct xplane_stats stats;
    enum work_place place = line->is_async ? WORK_BESIDE_CORE : WORK_ON_CORE;
    struct xplane_key key;
    struct xplane_known *work;
    struct xplane_op op = {&stats, read->metadata, *time, line->op_track, false};
    struct found_event event = {.start_ns = time->start_ns,
                                .duration_ns = time->duration_ns,
                                .correlation = NO_ID,
                                .external_id = NO_ID,
                                .track = line->track};

    xplane_event_stats(&stats, reading, read);
    key = work_key(reading, &stats, read, place);
    work = xplane_known(&reading->works, &key);
    if (!work->is_known)
        fill_core_work(reading, work, &stats, read, place);
    event.kind = work->kind;
    event.name = work->name;
    event.detail = work->detail;
    if (event.kind == EVENT_KERNEL && !line->is_async && !reading->builder.sums_events)
        event.external_id = xplane_add_operator(reading, &op);
    trace_builder_add(&reading->builder, &event);
}

/* The name is "step N", which the finder of steps knows from all recorders. */
static void add_step(struct xplane_reading *reading, const struct device_line *line,
                     const struct xplane_event *read, const struct xplane_time *time)
{
    struct proto_bytes name = xplane_short_name(read);
    char text[128];
    int length = snprintf(text, sizeof text, "step %.*s",
                          (int)(name.length < 100 ? name.length : 100), name.at);

    trace_builder_add(&reading->builder,
                      &(struct found_event){
                          .kind = EVENT_ANNOTATION,
                          .start_ns = time->start_ns,
                          .duration_ns = time->duration_ns,
                          .correlation = NO_ID,
                          .external_id = NO_ID,
                          .track = line->op_track,
                          .name = string_pool_add(&reading->builder.strings, text, (size_t)length),
                      });
}

/* Ranges of modules, names and whatever else a line of a device shows once more. */
static void add_note(struct xplane_reading *reading, const struct device_line *line,
                     const struct xplane_event *read, const struct xplane_time *time)
{
    trace_builder_add(&reading->builder, &(struct found_event){
                                             .kind = EVENT_DEVICE_ANNOTATION,
                                             .start_ns = time->start_ns,
                                             .duration_ns = time->duration_ns,
                                             .correlation = NO_ID,
                                             .external_id = NO_ID,
                                             .track = line->track,
                                             .name = xplane_event_name(reading, read),
                                         });
}

/* An op that holds others (a loop, a call) is a note: its time is that of what it holds. */
static void add_to_device(struct xplane_reading *reading, const struct device_line *line,
                          const struct xplane_event *event, bool holds_others)
{
    struct xplane_time time;

    if (!xplane_event_time(reading, &line->line, event, &time))
        return;
    if (line->is_stream)
        add_stream_event(reading, line, event, &time);
    else if (line->is_steps)
        add_step(reading, line, event, &time);
    else if ((line->is_ops || line->is_async) && !holds_others)
        add_core_event(reading, line, event, &time);
    else
        add_note(reading, line, event, &time);
}

/* The longer first where two begin together, so that what holds others comes before them. */
static int compare_xplane_events(const void *a, const void *b, void *argument)
{
    const struct xplane_event *left = a;
    const struct xplane_event *right = b;

    (void)argument;
    if (left->offset_ps != right->offset_ps)
        return left->offset_ps < right->offset_ps ? -1 : 1;
    if (left->duration_ps != right->duration_ps)
        return left->duration_ps > right->duration_ps ? -1 : 1;
    return left->stats.at < right->stats.at ? -1 : left->stats.at > right->stats.at;
}

/* The loop or call that the ops behind it are of: its time is theirs. One look ahead is enough,
 * as events of a core nest and are sorted so. */
static bool holds_next(const struct xplane_event *events, size_t index, size_t count)
{
    const struct xplane_event *event = &events[index];
    const struct xplane_event *next = event + 1;

    return index + 1 < count && next->duration_ps > 0 &&
           saturated_difference(next->offset_ps, event->offset_ps) < event->duration_ps &&
           next->duration_ps < event->duration_ps;
}

/* Those of a core's line: by time, for an event may hold those behind it. Only lines that are
 * not in order are sorted; most are. */
static void read_core_line(struct xplane_reading *reading, struct device_line *line,
                           struct proto_walk *walk)
{
    struct xplane_event *events = NULL;
    struct xplane_event event;
    bool is_in_order = true;
    size_t count = 0;

    while (xplane_next_event(reading, walk, &event)) {
        is_in_order &= count == 0 || compare_xplane_events(&events[count - 1], &event, NULL) < 0;
        LARGE_ARRAY_ADD(events, count, event);
    }
    if (!is_in_order)
        sort_large(events, count,
                   &(struct large_order){.element_bytes = sizeof *events,
                                         .compare = compare_xplane_events});
    for (size_t i = 0; i < count; i++)
        add_to_device(reading, line, &events[i], holds_next(events, i, count));
    large_array_free(events);
}

/* A line that breaks off is told as damage behind what could be read of it: events up to there
 * count. */
static void read_device_line(struct xplane_reading *reading, struct device_line *line)
{
    struct proto_walk walk = proto_walk_of(line->line.message);
    struct xplane_event event;

    count_under(reading, reading->plane->name, line->line.name);
    line->track = device_track(reading, &line->line, line->device);
    if (line->is_ops)
        read_core_line(reading, line, &walk);
    else if (line->is_stream && reading->builder.sums_events)
        xplane_sum_events(reading, &line->line, &walk, line->track, true);
    else
        while (xplane_next_event(reading, &walk, &event))
            add_to_device(reading, line, &event, false);
    (void)xplane_is_whole(reading, &walk, "a line");
}

/* A plane of a GPU has lines by stream, one of a TPU by what they show (operations,
 * asynchronous ones, steps): the latter are asked for only where there are no streams. */
void xplane_read_device(struct xplane_reading *reading, const struct xplane *plane, int32_t device,
                        bool has_streams)
{
    struct proto_walk walk = proto_walk_of(plane->message);
    struct proto_field field;
    struct device_line line = {.device = device};

    reading->plane = plane;
    reading->process = xplane_string(reading, plane->name);
    while (proto_next(&walk, &field)) {
        if (!proto_is(&field, 3, PROTO_LENGTH))
            continue;
        xplane_line_read(reading, &line.line, field.bytes);
        if (!line.line.has_events)
            continue;
        line.is_stream = xplane_is_stream(line.line.name);
        line.is_ops = !has_streams && xplane_is_ops(line.line.name);
        line.is_async = !has_streams && xplane_is_async_ops(line.line.name);
        line.is_steps = proto_text_is(line.line.name, "Steps");
        if (line.is_ops || line.is_steps)
            line.op_track = host_track(reading, -1, (struct proto_bytes){"XLA ops", 7});
        else if (line.is_stream && reading->ops_are_of_work)
            line.op_track = host_track(reading, -1 - line.line.id,
                                       (struct proto_bytes){"XLA ops of a stream", 19});
        reading->launched.length = 0;
        read_device_line(reading, &line);
    }
    (void)xplane_is_whole(reading, &walk, "a plane");
}

/* ---- hosts ---------------------------------------------------------------------------------- */

/* "$model.py:12 step" is a Python function: "model.py(12): step" to other recorders. */
static uint32_t new_python_name(struct xplane_reading *reading, struct proto_bytes name)
{
    const char *space = memchr(name.at, ' ', name.length);
    const char *colon = space ? memrchr(name.at, ':', (size_t)(space - name.at)) : NULL;
    char text[512];
    int length;

    if (!colon || name.length > sizeof text - 8)
        return string_pool_add(&reading->builder.strings, name.at + 1, name.length - 1);
    length = snprintf(text, sizeof text, "%.*s(%.*s): %.*s", (int)(colon - name.at - 1),
                      name.at + 1, (int)(space - colon - 1), colon + 1,
                      (int)(name.at + name.length - space - 1), space + 1);
    return string_pool_add(&reading->builder.strings, text, (size_t)length);
}

/* Made once for all events of the name. */
static uint32_t python_name(struct xplane_reading *reading, const struct xplane_event *event)
{
    if (!event->metadata->string)
        event->metadata->string = new_python_name(reading, xplane_short_name(event));
    return event->metadata->string;
}

static bool is_runtime_call(const struct xplane_reading *reading, const struct xplane_stats *stats,
                            struct proto_bytes name)
{
    return xplane_has(stats, XSTAT_CORRELATION) &&
           (xplane_may_be_call(name) ||
            (reading->ops_are_of_work &&
             hash_map_find(&reading->launches, (uint64_t)xplane_number(stats, XSTAT_CORRELATION)) !=
                 NO_VALUE));
}

/* "step 7 (train)": StepTraceAnnotation("train", step_num=7). */
static uint32_t step_name(struct xplane_reading *reading, const struct xplane_stats *stats,
                          struct proto_bytes name)
{
    char text[128];
    int length =
        snprintf(text, sizeof text, "step %" PRId64 " (%.*s)", xplane_number(stats, XSTAT_STEP),
                 (int)(name.length < 80 ? name.length : 80), name.at);

    return string_pool_add(&reading->builder.strings, text, (size_t)length);
}

/* TensorFlow's executor calls an op "dense/MatMul:MatMul": its place, and its type, which is shown
 * for it. */
static bool is_tensorflow_op(const struct xplane_event *read)
{
    const struct proto_bytes *name, *type;
    size_t place;

    if (!read->metadata)
        return false;
    name = &read->metadata->name;
    type = &read->metadata->display_name;
    place = name->length > type->length + 1 ? name->length - type->length - 1 : 0;
    return type->length > 0 && place > 0 && name->at[place] == ':' &&
           memcmp(name->at + place + 1, type->at, type->length) == 0;
}

/* JAX 0.4.20, 0.4.30 and 0.6.2 record no op on a processor, but when a compiled program runs: all
 * of it, or its parts on threads of a pool. What calls these waits, or gives it to such a thread.
 */
static bool runs_program(struct proto_bytes name)
{
    return proto_text_is(name, "ThunkExecutor::Execute") ||
           proto_text_is(name, "TfrtCpuExecutable::ExecuteHelper");
}

/* Without a device (the CPU backend) ops are the host's own events; with one only the calls
 * that launch them. */
static void add_host_event(struct xplane_reading *reading, uint32_t track,
                           const struct xplane_event *read, const struct xplane_time *time)
{
    struct xplane_stats stats;
    struct proto_bytes name = xplane_short_name(read);
    struct xplane_op op = {&stats, NULL, *time, track, false};
    struct found_event event = {.kind = EVENT_ANNOTATION,
                                .start_ns = time->start_ns,
                                .duration_ns = time->duration_ns,
                                .correlation = NO_ID,
                                .external_id = NO_ID,
                                .track = track};
    bool is_call;

    xplane_event_stats(&stats, reading, read);
    is_call = is_runtime_call(reading, &stats, name);
    if (xplane_has(&stats, XSTAT_HLO_OP) && is_call)
        xplane_add_launch(reading, &op);
    else if (xplane_has(&stats, XSTAT_HLO_OP) && !reading->has_device)
        (void)xplane_add_operator(reading, &op);
    /* It has become an operator above; an event beside it would be the same time twice. */
    if (xplane_has(&stats, XSTAT_HLO_OP) && !is_call && !reading->has_device)
        return;
    if (is_call) {
        event.kind = EVENT_RUNTIME_CALL;
        event.correlation = xplane_number(&stats, XSTAT_CORRELATION);
    } else if (proto_text_begins(name, "$")) {
        event.kind = EVENT_PYTHON_FUNCTION;
    } else if (is_tensorflow_op(read) || (reading->runs_whole_programs && runs_program(name))) {
        event.kind = EVENT_OPERATOR;
    }
    if (event.kind == EVENT_PYTHON_FUNCTION)
        event.name = python_name(reading, read);
    else if (event.kind == EVENT_OPERATOR)
        event.name = xplane_string(reading, read->metadata->name);
    else if (xplane_has(&stats, XSTAT_STEP) && !reading->has_device_steps)
        event.name = step_name(reading, &stats, name);
    else
        event.name = xplane_event_name(reading, read);
    trace_builder_add(&reading->builder, &event);
}

/* What was launched is forgotten with each line, as a launch and what it starts are of one
 * thread. */
static void read_host_line(struct xplane_reading *reading, const struct xplane_line *line)
{
    struct proto_walk walk = proto_walk_of(line->message);
    uint32_t track = host_track(reading, line->id, line->name);
    struct xplane_event event;
    struct xplane_time time;

    reading->launched.length = 0;
    if (reading->builder.sums_events)
        xplane_sum_events(reading, line, &walk, track, false);
    while (xplane_next_event(reading, &walk, &event)) {
        if (xplane_event_time(reading, line, &event, &time))
            add_host_event(reading, track, &event, &time);
    }
    xplane_end_launches(reading);
    (void)xplane_is_whole(reading, &walk, "a line");
}

/* A line without an event makes no track, so that no empty thread stands in a report. */
void xplane_read_host(struct xplane_reading *reading, const struct xplane *plane)
{
    struct proto_walk walk = proto_walk_of(plane->message);
    struct proto_field field;
    struct xplane_line line;

    reading->plane = plane;
    reading->process = xplane_string(reading, plane->name);
    count_under(reading, plane->name, (struct proto_bytes){NULL, 0});
    while (proto_next(&walk, &field)) {
        if (!proto_is(&field, 3, PROTO_LENGTH))
            continue;
        xplane_line_read(reading, &line, field.bytes);
        if (line.has_events)
            read_host_line(reading, &line);
    }
    (void)xplane_is_whole(reading, &walk, "a plane");
}
