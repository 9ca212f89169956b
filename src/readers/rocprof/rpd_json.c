/* Reads the JSON that rpd2tracing.py, and SGLang by it, make of a file of RocmProfileData: Chrome's
 * events without categories, one after the other: ops, calls and ranges, and arrows from calls to
 * ops. */
#include "base/core/array.h"
#include "base/core/large_sort.h"
#include "base/core/search.h"
#include "base/core/sort.h"
#include "base/json/json_walk.h"
#include "base/text/prefix.h"
#include "readers/rocprof/rpd_reading.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An arrow begins so long before the end of its call, or where the op begins. */
enum { ARROW_BEFORE_END_NS = 2000 };

/* A kernel, copy or memset. */
struct rpd_json_op {
    int64_t device;
    int64_t queue;
    int64_t start_ns;
    int64_t end_ns;
    uint32_t type; /* "KernelExecution" */
    uint32_t name;
    uint32_t call;  /* its place + 1; 0: not known */
    uint32_t taken; /* of the last of several with one start: how many of them have had an arrow */
};

/* A call or range of the host. */
struct rpd_json_call {
    int64_t pid;
    int64_t thread;
    int64_t start_ns;
    int64_t end_ns;
    uint32_t name;
    bool is_range; /* with a text of its own */
};

/* One event, as its text says. */
struct rpd_json_event {
    struct json_slice name;
    struct json_slice args;
    int64_t pid;
    int64_t tid;
    int64_t id;
    int64_t start_ns;
    int64_t duration_ns;
    char phase;
    bool is_timed;
};

struct rpd_json {
    struct json_window window;
    struct rocprof_run run;
    struct rpd_ids devices; /* pids that are devices */
    struct rpd_json_op *ops;
    uint32_t op_count;
    struct rpd_json_call *calls;
    uint32_t call_count;
    uint32_t *op_places;          /* [placed_count]: by device, queue and start */
    uint32_t placed_count;        /* those before the first arrow */
    uint32_t name;                /* the type of an op, or a call: the last that was added ... */
    enum rocprof_content content; /* ... and what such are */
    bool has_fractions;           /* of microseconds, in some time */
    bool is_indexed;              /* as calls are: sorted by process, thread and start */
    struct rpd_json_event arrow;  /* the beginning of the last one */
    struct rpd_parts parts;
};

/* ---- one event ------------------------------------------------------------------------------ */

/* Numbers are texts here, and read as such. What an event lacks, or has in another form, stays
 * unknown: then it is set aside by what it would be needed for. */
static void rpd_json_parse(struct rpd_json_event *event, const struct json_slice *object)
{
    struct json_walk walk = json_walk_begin(object, '{');
    struct json_slice key, value;

    *event = (struct rpd_json_event){.name = {.text = ""},
                                     .args = {.text = ""},
                                     .pid = -1,
                                     .tid = -1,
                                     .id = -1,
                                     .duration_ns = -1};
    while (json_walk_next(&walk, &key, &value)) {
        if (slice_is(&key, "name"))
            event->name = value;
        else if (slice_is(&key, "args"))
            event->args = value;
        else if (slice_is(&key, "ph") && value.length == 1)
            event->phase = value.text[0];
        else if (slice_is(&key, "pid") && event->pid < 0)
            (void)slice_integer(&value, &event->pid);
        else if (slice_is(&key, "tid"))
            (void)slice_integer(&value, &event->tid);
        else if (slice_is(&key, "id"))
            (void)slice_integer(&value, &event->id);
        else if (slice_is(&key, "ts"))
            event->is_timed = slice_nanoseconds(&value, &event->start_ns);
        else if (slice_is(&key, "dur") && !slice_nanoseconds(&value, &event->duration_ns))
            event->duration_ns = -1;
    }
}

/* The text of a member of args; 0: none. Empty texts are none, as a call without arguments has
 * one. */
static uint32_t rpd_json_arg(struct rpd_json *json, const struct rpd_json_event *event,
                             const char *key)
{
    struct json_slice value;

    return rocprof_json_member(&event->args, key, &value) && value.is_string && value.length > 0
               ? rocprof_json_string(&json->run, &value)
               : 0;
}

/* "GPU2": what follows of this process ran there. */
static void rpd_json_read_name(struct rpd_json *json, const struct rpd_json_event *event)
{
    struct json_slice value;

    if (slice_is(&event->name, "process_name") &&
        rocprof_json_member(&event->args, "name", &value) && value.length > 3 &&
        memcmp(value.text, "GPU", 3) == 0)
        (void)rpd_ids_add(&json->devices, event->pid);
}

/* Frames over the ops of a range, and graphs over theirs, repeat time. */
static void rpd_json_read_work(struct rpd_json *json, const struct rpd_json_event *event)
{
    const uint32_t type = rpd_json_arg(json, event, "desc");
    const uint32_t name = rocprof_json_string(&json->run, &event->name);

    if (!type || has_prefix(string_pool_text(&json->run.builder.strings, type), "UserMarker"))
        read_account_leave(&json->run.builder.read, "frames over ops", 1);
    else
        LARGE_ARRAY_ADD(json->ops, json->op_count,
                        (struct rpd_json_op){.device = event->pid,
                                             .queue = event->tid,
                                             .start_ns = event->start_ns,
                                             .end_ns = event->start_ns + event->duration_ns,
                                             .type = type,
                                             .name = name});
}

/* A range repeats its text in its arguments, a call has others. */
static void rpd_json_read_call(struct rpd_json *json, const struct rpd_json_event *event)
{
    const uint32_t name = rocprof_json_string(&json->run, &event->name);
    const uint32_t text = rpd_json_arg(json, event, "desc");

    LARGE_ARRAY_ADD(json->calls, json->call_count,
                    (struct rpd_json_call){.pid = event->pid,
                                           .thread = event->tid,
                                           .start_ns = event->start_ns,
                                           .end_ns = event->start_ns + event->duration_ns,
                                           .name = name,
                                           .is_range = text == name});
}

/* ---- arrows --------------------------------------------------------------------------------- */

static int rpd_json_call_order(const void *a, const void *b)
{
    const struct rpd_json_call *left = a, *right = b;

    if (left->pid != right->pid)
        return ORDER_OF(left->pid, right->pid);
    if (left->thread != right->thread)
        return ORDER_OF(left->thread, right->thread);
    if (left->start_ns != right->start_ns)
        return ORDER_OF(left->start_ns, right->start_ns);
    return ORDER_OF(left->end_ns, right->end_ns);
}

/* Of ops an arrow tells these three alone. */
static int rpd_json_op_order(const struct rpd_json_op *left, const struct rpd_json_op *right)
{
    if (left->device != right->device)
        return ORDER_OF(left->device, right->device);
    if (left->queue != right->queue)
        return ORDER_OF(left->queue, right->queue);
    return ORDER_OF(left->start_ns, right->start_ns);
}

/* Ops that begin at once stay in the order of the file, which tells which of them an arrow means.
 */
static int rpd_json_place_order(const void *a, const void *b, void *argument)
{
    const uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    const struct rpd_json_op *ops = argument;
    const int order = rpd_json_op_order(&ops[left], &ops[right]);

    return order ? order : ORDER_OF(left, right);
}

/* Arrows come behind all ops and calls, as the program writes them: in order, mostly, and to sort
 * them takes as much memory again. */
static void rpd_json_index(struct rpd_json *json)
{
    bool are_ordered = true;

    if (json->is_indexed)
        return;
    json->is_indexed = true;
    /* to sort what is sorted would take a copy of all calls */
    for (uint32_t i = 1; i < json->call_count && are_ordered; i++)
        are_ordered = rpd_json_call_order(&json->calls[i - 1], &json->calls[i]) <= 0;
    if (!are_ordered)
        qsort(json->calls, json->call_count, sizeof *json->calls, rpd_json_call_order);
    json->placed_count = json->op_count;
    json->op_places = large_array_new((size_t)json->placed_count * sizeof *json->op_places);
    for (uint32_t i = 0; i < json->placed_count; i++)
        json->op_places[i] = i;
    sort_large(json->op_places, json->placed_count,
               &(struct large_order){.element_bytes = sizeof *json->op_places,
                                     .compare = rpd_json_place_order,
                                     .argument = json->ops});
}

/* The last call of the thread that begins before the arrow's end in it; its place + 1. Ranges lie
 * around calls and make no ops. */
static uint32_t rpd_json_call_at(const struct rpd_json *json, const struct rpd_json_event *arrow)
{
    const struct rpd_json_call wanted = {
        .pid = arrow->pid, .thread = arrow->tid, .start_ns = arrow->start_ns + ARROW_BEFORE_END_NS};
    uint32_t low =
        LOWER_BOUND(i, 0, json->call_count, rpd_json_call_order(&json->calls[i], &wanted) < 0);

    for (unsigned tries = 0; low > 0 && tries < 64; low--, tries++) {
        const struct rpd_json_call *call = &json->calls[low - 1];

        if (call->pid != arrow->pid || call->thread != arrow->tid)
            return 0;
        if (!call->is_range && call->end_ns >= arrow->start_ns)
            return low;
    }
    return 0;
}

/* Of several ops that begin at once each arrow takes the one before: the last of those that are
 * left. NULL: there is none. */
static struct rpd_json_op *rpd_json_op_at(const struct rpd_json *json,
                                          const struct rpd_json_event *event)
{
    const struct rpd_json_op wanted = {
        .device = event->pid, .queue = event->tid, .start_ns = event->start_ns};
    struct rpd_json_op *ops = json->ops, *last, *op;
    const uint32_t *places = json->op_places;
    const uint32_t behind =
        LOWER_BOUND(i, 0, json->placed_count, rpd_json_op_order(&ops[places[i]], &wanted) <= 0);

    if (behind == 0 || rpd_json_op_order(&ops[places[behind - 1]], &wanted) != 0)
        return NULL;
    last = &ops[places[behind - 1]];
    op = &ops[places[behind - 1 - last->taken]];
    if (op->call)
        return NULL;
    if (behind - 1 > last->taken &&
        rpd_json_op_order(&ops[places[behind - 2 - last->taken]], &wanted) == 0)
        last->taken++;
    return op;
}

/* An arrow is two events, one behind the other: where its call ends, and where its op begins. The
 * second alone leads nowhere, as in a text that lost the first. */
static void rpd_json_read_arrow(struct rpd_json *json, const struct rpd_json_event *event)
{
    const struct rpd_json_event *arrow = &json->arrow;
    struct rpd_json_op *op;

    if (event->phase == 's') {
        json->arrow = *event;
        return;
    }
    if (arrow->id != event->id || !arrow->is_timed)
        return;
    rpd_json_index(json);
    op = rpd_json_op_at(json, event);
    if (op)
        op->call = rpd_json_call_at(json, arrow);
}

/* ---- all events ----------------------------------------------------------------------------- */

/* False where it is none. */
static bool rpd_json_read_event(struct rpd_json *json, const struct json_slice *object)
{
    struct read_account *read = &json->run.builder.read;
    struct rpd_json_event event;
    int64_t end_ns;

    rpd_json_parse(&event, object);
    json->has_fractions |= event.start_ns % 1000 != 0 || event.duration_ns % 1000 > 0;
    if (!event.phase)
        return false;
    if (event.phase == 'M') {
        rpd_json_read_name(json, &event);
    } else if (event.phase == 's' || event.phase == 'f') {
        if (event.is_timed && event.start_ns < INT64_MAX - ARROW_BEFORE_END_NS)
            rpd_json_read_arrow(json, &event);
    } else if (event.phase != 'X') {
        read->events++;
        read_account_leave(read, event.phase == 'C' ? "counters" : "marks", 1);
    } else if (!event.is_timed || event.duration_ns < 0 ||
               __builtin_add_overflow(event.start_ns, event.duration_ns, &end_ns)) {
        read->events++;
        read->missing_times++;
    } else if (rpd_ids_has(&json->devices, event.pid)) {
        rpd_json_read_work(json, &event);
    } else {
        rpd_json_read_call(json, &event);
    }
    return true;
}

/* The event of the line at the place, which moves behind it; false where the text ends first. */
static bool rpd_json_next_line(struct json_window *window, struct json_slice *object)
{
    const char *end;

    for (;;) {
        const size_t left = (size_t)(window->scan.limit - window->at);

        end = left ? memchr(window->at, '\n', left) : NULL;
        if (end)
            break;
        if (!json_window_grow(window))
            return false;
    }
    *object = (struct json_slice){.text = window->at};
    object->text += *object->text == ',';
    object->length = (uint32_t)(end - object->text);
    window->at = end + 1;
    return true;
}

/* Nothing but an object, and all of it. */
static bool rpd_json_is_object(const struct json_slice *line)
{
    const char *end = line->text + line->length;
    struct json_scan scan = {.limit = end};
    struct json_slice unused;
    const char *behind =
        line->length > 0 && *line->text == '{' ? scan_value(&scan, line->text, &unused) : NULL;

    return behind && behind <= end && scan_space(behind) >= end;
}

static void rpd_json_note_damage(struct rpd_json *json, const struct json_slice *object)
{
    struct damage damage = {.byte = json_window_byte(&json->window, object->text),
                            .length = object->length};

    (void)snprintf(damage.message, sizeof damage.message, "expected an event");
    trace_builder_damage(&json->run.builder, &damage);
}

/* The list has an end of its own, so that a text without it is known to be cut. */
static void rpd_json_note_cut(struct rpd_json *json)
{
    struct read_account *read = &json->run.builder.read;

    read->is_truncated = true;
    (void)snprintf(read->truncation, sizeof read->truncation,
                   "the text ends at byte %" PRId64 " in the middle of the events",
                   json_window_byte(&json->window, json->window.scan.limit));
}

/* To the end of the list. An event is a line, and is read as one: a name of a kernel may hold
 * quotes, which the program does not escape, and whatever follows would be read as text. */
static void rpd_json_read_events(struct rpd_json *json)
{
    struct json_slice object;

    if (!json_window_find(&json->window, "[") || !rpd_json_next_line(&json->window, &object))
        return;
    while (rpd_json_next_line(&json->window, &object)) {
        if (object.length > 0 && *object.text == ']')
            return;
        if (!rpd_json_is_object(&object) || !rpd_json_read_event(json, &object))
            rpd_json_note_damage(json, &object);
    }
    rpd_json_note_cut(json);
}

/* ---- into the trace ------------------------------------------------------------------------- */

/* Grids and sizes of copies are not in the text; a copy's way is, by its type. */
static void rpd_json_add_op(struct rpd_json *json, const struct rpd_json_op *op)
{
    struct rocprof_run *run = &json->run;
    const char *type = string_pool_text(&run->builder.strings, op->type);
    const enum rocprof_content content =
        op->type == json->name ? json->content : rpd_content_of(type);
    const struct rocprof_kernel kernel = {.id = op->name, .name = op->name, .registers = -1};
    struct rocprof_record record = {.has = 0};

    rocprof_record_set(&record, ROCPROF_START, op->start_ns);
    rocprof_record_set(&record, ROCPROF_END, op->end_ns);
    rocprof_record_set(&record, ROCPROF_AGENT, op->device);
    rocprof_record_set(&record, ROCPROF_QUEUE, op->queue);
    if (op->call)
        rocprof_record_set(&record, ROCPROF_CORRELATION, op->call);
    if (content == ROCPROF_KERNELS) {
        rocprof_run_name_kernel(run, &kernel);
        rocprof_record_set(&record, ROCPROF_KERNEL, op->name);
    } else {
        rocprof_take_name(run, &record, rocprof_text(run, rpd_way_of(type, "hip", -1)));
        rocprof_record_set(&record, ROCPROF_DESTINATION, op->device);
        rocprof_record_set(&record, ROCPROF_SOURCE, op->device);
    }
    run->category = json->name = op->type;
    json->content = content;
    rocprof_run_add(run, content, &record);
}

/* Domains are not in the text: names tell calls from ranges that libraries log. */
static void rpd_json_add_call(struct rpd_json *json, uint32_t place)
{
    const struct rpd_json_call *call = &json->calls[place];
    enum rocprof_content content = ROCPROF_MARKERS;
    struct rocprof_record record = {.has = 0};

    if (call->name != json->name) {
        json->name = call->name;
        json->content =
            rpd_content_of_call("", string_pool_text(&json->run.builder.strings, call->name));
    }
    if (!call->is_range)
        content = json->content;
    rocprof_record_set(&record, ROCPROF_START, call->start_ns);
    rocprof_record_set(&record, ROCPROF_END, call->end_ns);
    rocprof_record_set(&record, ROCPROF_THREAD, call->thread);
    rocprof_record_set(&record, ROCPROF_CORRELATION, (int64_t)place + 1);
    if (content == ROCPROF_MARKERS)
        rocprof_run_name_marker(&json->run, (int64_t)place + 1, call->name);
    rocprof_take_name(&json->run, &record, call->name);
    rpd_add_call(&json->run, content, &record);
}

/* Processes whose calls made ops, in the order of the devices. */
static void rpd_json_find_parts(struct rpd_json *json)
{
    for (uint32_t i = 0; i < json->op_count; i++) {
        const struct rpd_json_op *op = &json->ops[i];

        if (op->call)
            rpd_parts_add(&json->parts, &(struct rpd_part){.pid = json->calls[op->call - 1].pid,
                                                           .device = op->device});
    }
    rpd_parts_sort(&json->parts);
}

/* Ops and calls are kept until all is read: arrows, which tell whose an op is, stand behind both.
 */
static void rpd_json_read_all(struct rpd_json *json, struct input_stream *input, bool sums_events)
{
    rocprof_run_init(&json->run, sums_events);
    json->run.agents_are_devices = true;
    json_window_init(&json->window, input, 0);
    rpd_json_read_events(json);
    rpd_json_index(json);
    rpd_json_find_parts(json);
}

static void rpd_json_clear(struct rpd_json *json)
{
    rocprof_run_clear(&json->run);
    rpd_ids_clear(&json->devices);
    large_array_free(json->ops);
    large_array_free(json->calls);
    large_array_free(json->op_places);
}

/* An op that no arrow leads to is that of the only process; of several nobody's. */
static void rpd_json_add_all(struct rpd_json *json, bool is_first)
{
    const bool is_alone = json->parts.count <= 1;

    for (uint32_t i = 0; i < json->op_count; i++) {
        const struct rpd_json_op *op = &json->ops[i];

        if (is_alone || (op->call && json->calls[op->call - 1].pid == json->run.pid))
            rpd_json_add_op(json, op);
        else if (!op->call && is_first)
            read_account_leave(&json->run.builder.read, "ops of no process", 1);
    }
    json->name = NO_VALUE; /* of calls from here on */
    for (uint32_t i = 0; i < json->call_count; i++)
        if (json->run.pid < 0 || json->calls[i].pid == json->run.pid)
            rpd_json_add_call(json, i);
}

/* ---- the reader ----------------------------------------------------------------------------- */

/* It begins with an empty object and the end of its line, and devices are the first processes. */
static bool rpd_json_recognises(const char *head, size_t length)
{
    static const char begin[] = "[ {}\n,{", sorts[] = "\"process_sort_index\"";
    static const char device[] = "\"GPU";
    const char *open = memmem(head, length < 64 ? length : 64, begin, sizeof begin - 1);
    const size_t left = open ? length - (size_t)(open - head) : 0;
    const size_t seen = left < 4096 ? left : 4096;

    return open && memmem(open, seen, sorts, sizeof sorts - 1) &&
           memmem(open, seen, device, sizeof device - 1);
}

/* Whether all calls are of one process: most lines begin with that of a line before, and are read
 * no further. */
static bool rpd_json_has_one_process(struct rpd_json *json, struct input_stream *input)
{
    struct json_slice line, key, value;
    struct rpd_json_event event;
    bool has_process = false;
    int64_t process = -1;

    json_window_init(&json->window, input, 0);
    if (!json_window_find(&json->window, "["))
        return false;
    while (rpd_json_next_line(&json->window, &line) && *line.text != ']') {
        struct json_walk walk = json_walk_begin(&line, '{');

        if (json_walk_next(&walk, &key, &value) && slice_is(&key, "pid") &&
            slice_integer(&value, &event.pid) && event.pid >= 0 &&
            (event.pid == process || rpd_ids_has(&json->devices, event.pid)))
            continue;
        if (!rpd_json_is_object(&line))
            continue;
        rpd_json_parse(&event, &line);
        if (event.phase == 'M')
            rpd_json_read_name(json, &event);
        if (event.phase != 'X')
            continue;
        if (has_process && event.pid != process)
            return false;
        has_process = true;
        process = event.pid;
    }
    return true;
}

/* Processes with device work are known by arrows alone, so that all is read. */
static bool rpd_json_count_parts(uint32_t *count, const struct input_stream *input,
                                 struct error *error)
{
    SCOPED(input_stream) again = {0};
    SCOPED(input_stream) once_more = {0};
    struct rpd_json json = {.is_indexed = false};
    bool is_good;

    *count = 1;
    if (!input_stream_open(&again, input->name, false, error))
        return false;
    is_good = rpd_json_has_one_process(&json, &again);
    rpd_json_clear(&json);
    if (is_good)
        return true;
    if (!input_stream_open(&once_more, input->name, false, error))
        return false;
    json = (struct rpd_json){.is_indexed = false};
    rpd_json_read_all(&json, &once_more, true);
    *count = json.parts.count > 0 ? json.parts.count : 1;
    is_good = reader_can_split(json.parts.count + json.parts.are_too_many, error);
    rpd_json_clear(&json);
    return is_good;
}

/* A text that is cut may hold calls alone, which come behind the ops: that is worth a report. */
static bool rpd_json_check(const struct rocprof_run *run, struct error *error)
{
    if (rocprof_run_has_events(run))
        return true;
    return error_set(error, ERROR_NO_DATA,
                     "no kernel, copy, call or range in it; the .rpd file that rpd2tracing.py "
                     "made it of may hold more");
}

/* The part is known by its place only when all has been read, for a pipe as for a file: a pipe that
 * turns out to hold several processes is refused then. */
static bool rpd_json_read(struct trace *trace, struct input_stream *input,
                          const struct read_options *options, struct error *error)
{
    struct rpd_json json = {.is_indexed = false};
    struct read_account *read = &json.run.builder.read;
    bool is_good;

    input->progress = options->progress;
    rpd_json_read_all(&json, input, options->skips_details);
    if (options->part < json.parts.count)
        json.run.pid = json.parts.parts[options->part].pid;
    rpd_json_add_all(&json, options->part == 0);
    read->text_bytes = json_window_byte(&json.window, json.window.scan.limit);
    (void)snprintf(read->recorder, sizeof read->recorder,
                   "RocmProfileData, JSON of rpd2tracing.py%s",
                   json.has_fractions ? "" : ", times of whole microseconds");
    is_good = reader_has_all_parts(input, options, json.parts.count, error) &&
              rpd_json_check(&json.run, error);
    if (is_good) {
        rocprof_name_process(&json.run, options->part, json.parts.count,
                             "numbered in the order of their devices");
        rocprof_run_finish(&json.run);
        trace_finish(trace, &json.run.builder, 1, options->threads);
    }
    rpd_json_clear(&json);
    return is_good;
}

const struct reader rpd_json_reader = {
    .name = "rpd-json",
    .summary = "JSON that rpd2tracing.py made of a file of RocmProfileData",
    .recognises = rpd_json_recognises,
    .count_parts = rpd_json_count_parts,
    .read = rpd_json_read,
};
