/* One process that rocprofv3 recorded, on its way into a trace. */
#include "base/core/array.h"
#include "base/core/hash_mix.h"
#include "base/json/json_walk.h"
#include "readers/nvtx_name.h"
#include "readers/rocprof/rocprof_reading.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* rocprofv3 records no shapes: a fact of the recorder, and no option that was off. */
void rocprof_run_init(struct rocprof_run *run, bool sums_events)
{
    *run = (struct rocprof_run){.pid = -1, .last_thread = -1};
    trace_builder_init(&run->builder);
    run->builder.sums_events = sums_events;
    string_pool_add(&run->builder.strings, "", 0);
    run->builder.facts.is_rocm = 1;
    run->builder.facts.record_shapes = 0;
}

void rocprof_run_clear(struct rocprof_run *run)
{
    trace_builder_clear(&run->builder);
    event_store_clear(&run->counted);
    event_sums_clear(&run->device_sums);
    free(run->agents);
    free(run->queues);
    index_table_clear(&run->queue_index);
    free(run->kernels);
    hash_map_clear(&run->kernel_index);
    free(run->operations);
    hash_map_clear(&run->operation_index);
    hash_map_clear(&run->messages);
    free(run->counters.ids);
    hash_map_clear(&run->counted_in);
    hash_map_clear(&run->counters.index);
    free(run->counted_agents.ids);
    hash_map_clear(&run->counted_agents.index);
    *run = (struct rocprof_run){.pid = -1};
}

static uint32_t rocprof_run_text(struct rocprof_run *run, const char *text)
{
    return string_pool_add(&run->builder.strings, text, strlen(text));
}

static uint32_t rocprof_run_number_text(struct rocprof_run *run, const char *before, int64_t number)
{
    char text[48];

    (void)snprintf(text, sizeof text, "%s%" PRId64, before, number);
    return rocprof_run_text(run, text);
}

static int64_t value_or(const struct rocprof_record *record, enum rocprof_value which,
                        int64_t if_none)
{
    return record->has >> which & 1 ? record->values[which] : if_none;
}

int32_t rocprof_run_small(int64_t number)
{
    return number >= 0 && number <= INT32_MAX ? (int32_t)number : -1;
}

/* ---- texts --------------------------------------------------------------------------------- */

/* Nearly no string has escapes, so that copying is for those that do. */
uint32_t rocprof_json_string(struct rocprof_run *run, const struct json_slice *slice)
{
    struct string_pool *strings = &run->builder.strings;
    uint32_t string;
    char *text;

    if (!slice->has_escapes)
        return string_pool_add(strings, slice->text, slice->length);
    text = require_memory(malloc(slice->length + (size_t)1));
    string = string_pool_add(strings, text, slice_unescape(slice, text));
    free(text);
    return string;
}

/* The value of a member; false where there is none. */
bool rocprof_json_member(const struct json_slice *object, const char *key, struct json_slice *value)
{
    struct json_walk walk = json_walk_begin(object, '{');
    struct json_slice found;

    while (json_walk_next(&walk, &found, value))
        if (slice_is(&found, key))
            return true;
    return false;
}

int64_t rocprof_json_integer(const struct json_slice *object, const char *key, int64_t if_none)
{
    struct json_slice value;

    return rocprof_json_member(object, key, &value) ? json_walk_integer(&value, if_none) : if_none;
}

/* ---- what names records --------------------------------------------------------------------- */

/* Memory of the device itself: heaps 1 and 2 are its frame buffer, seen by the host and not. */
static int64_t device_memory_bytes(const struct json_slice *banks)
{
    struct json_walk walk = json_walk_begin(banks, '[');
    struct json_slice bank;
    int64_t sum = 0;

    while (json_walk_next(&walk, &bank, &bank)) {
        int64_t heap = rocprof_json_integer(&bank, "heap_type", 0);
        int64_t bytes = rocprof_json_integer(&bank, "size_in_bytes", 0);

        if ((heap == 1 || heap == 2) && bytes > 0 && __builtin_add_overflow(sum, bytes, &sum))
            return -1;
    }
    return sum > 0 ? sum : -1;
}

/* gfx_target_version is 10000 * major + 100 * minor + stepping (90402 is gfx942). */
void rocprof_run_read_device(struct rocprof_run *run, const struct json_slice *agent,
                             uint32_t index, struct device *device)
{
    struct json_slice value;
    int64_t version = rocprof_json_integer(agent, "gfx_target_version", 0);
    int64_t number = rocprof_json_integer(agent, "logical_node_type_id", -1);

    *device = (struct device){.number = -1, .memory_bytes = -1, .entry = DEVICE_ENTRY_OWN};
    number = rocprof_json_integer(agent, "gpu_index", number);
    if (rocprof_json_integer(agent, "type", 0) == 2) /* a GPU */
        device->number = rocprof_run_small(number >= 0 ? number : index);
    if (rocprof_json_member(agent, "product_name", &value) && value.length > 0)
        device->name = rocprof_json_string(run, &value);
    else if (rocprof_json_member(agent, "name", &value))
        device->name = rocprof_json_string(run, &value);
    if (rocprof_json_member(agent, "mem_banks", &value))
        device->memory_bytes = device_memory_bytes(&value);
    device->multiprocessors = rocprof_run_small(rocprof_json_integer(agent, "cu_count", -1));
    device->compute_major = version > 0 ? rocprof_run_small(version / 10000) : -1;
    device->compute_minor = version > 0 ? rocprof_run_small(version / 100 % 100) : -1;
}

void rocprof_run_add_agent(struct rocprof_run *run, int64_t id, const struct device *device)
{
    ARRAY_ADD(run->agents, run->agent_count,
              (struct rocprof_agent){.id = id, .device = device->number});
    if (device->number >= 0)
        trace_builder_add_device(&run->builder, device);
}

static uint32_t kernel_of(struct rocprof_run *run, int64_t id)
{
    uint32_t index = hash_map_add(&run->kernel_index, (uint64_t)id, run->kernel_count);

    if (index == run->kernel_count)
        ARRAY_ADD(run->kernels, run->kernel_count,
                  (struct rocprof_kernel){.id = id, .registers = -1});
    return index;
}

void rocprof_run_name_kernel(struct rocprof_run *run, const struct rocprof_kernel *kernel)
{
    uint32_t index = kernel_of(run, kernel->id); /* which may move the array */

    run->kernels[index] = *kernel;
}

static uint32_t operation_of(struct rocprof_run *run, int64_t kind, int64_t operation)
{
    uint64_t key = (uint64_t)kind << 32 ^ (uint64_t)operation;
    uint32_t index = hash_map_add(&run->operation_index, key, run->operation_count);

    if (index == run->operation_count)
        ARRAY_ADD(run->operations, run->operation_count,
                  (struct rocprof_operation){.kind = kind, .operation = operation});
    return index;
}

void rocprof_run_name_operation(struct rocprof_run *run, const struct rocprof_operation *operation)
{
    uint32_t index = operation_of(run, operation->kind, operation->operation);

    run->operations[index].name = operation->name;
}

void rocprof_run_name_marker(struct rocprof_run *run, int64_t correlation, uint32_t message)
{
    hash_map_set(&run->messages, (uint64_t)correlation, message);
}

void rocprof_run_set_category(struct rocprof_run *run, const char *name)
{
    run->category = rocprof_run_text(run, name);
}

/* ---- where it ran --------------------------------------------------------------------------- */

static bool is_same_queue(const struct rocprof_queue *a, const struct rocprof_queue *b)
{
    return a->agent == b->agent && a->source == b->source && a->queue == b->queue &&
           a->stream == b->stream;
}

/* Rows of a queue follow each other: the last one is tried first. Hashed with a secret, as ids
 * are the file's. */
static uint32_t queue_of(struct rocprof_run *run, const struct rocprof_queue *queue)
{
    uint64_t multiplier = HASH_MULTIPLIER;
    uint64_t hash;
    uint32_t known;

    if (run->queue_count && is_same_queue(&run->queues[run->last_queue], queue))
        return run->last_queue;
    if (!run->builder.hash_secret)
        run->builder.hash_secret = hash_secret();
    multiplier ^= run->builder.hash_secret;
    hash = hash_mix((uint64_t)queue->agent, multiplier);
    hash = hash_mix(hash ^ (uint64_t)queue->source, multiplier);
    hash = hash_mix(hash ^ (uint64_t)queue->queue, multiplier);
    hash = hash_mix(hash ^ (uint64_t)queue->stream, multiplier);
    known = INDEX_TABLE_FIND(&run->queue_index, (uint32_t)(hash >> 16), i,
                             is_same_queue(&run->queues[i], queue));
    if (known == NO_INDEX) {
        known = run->queue_count;
        index_table_add(&run->queue_index, (uint32_t)(hash >> 16), known);
        ARRAY_ADD(run->queues, run->queue_count, *queue);
    }
    run->last_queue = known;
    return known;
}

/* Rows of one thread come together, hence the last one is remembered. */
static uint32_t thread_track(struct rocprof_run *run, int64_t thread)
{
    struct track_key key = {.device = -1, .stream = -1};

    if (thread == run->last_thread && run->builder.track_count)
        return run->last_thread_track;
    key.thread = rocprof_run_number_text(run, "", thread);
    run->last_thread = thread;
    run->last_thread_track = trace_builder_track(&run->builder, &key);
    return run->last_thread_track;
}

/* ---- records -------------------------------------------------------------------------------- */

/* Counts the record. False where its times make no event. Each record is counted once, under one
 * reason where its times are bad, so that the sums of what was read agree. */
static bool rocprof_run_time(struct rocprof_run *run, const struct rocprof_record *record,
                             struct found_event *event)
{
    struct read_account *read = &run->builder.read;
    bool is_timed = record->has >> ROCPROF_START & 1 && record->has >> ROCPROF_END & 1;
    int64_t start_ns = value_or(record, ROCPROF_START, 1);
    int64_t end_ns = value_or(record, ROCPROF_END, 0);
    int64_t duration_ns;

    read->events++;
    trace_builder_count(&run->builder, run->category, is_timed && start_ns == end_ns ? 'i' : 'X',
                        is_timed ? start_ns : 1, is_timed ? end_ns : 0);
    if (!is_timed)
        read->missing_times++;
    else if (__builtin_sub_overflow(end_ns, start_ns, &duration_ns))
        read->overflowing_durations++;
    else if (duration_ns < 0)
        read->negative_durations++;
    else {
        *event = (struct found_event){
            .start_ns = start_ns,
            .duration_ns = duration_ns,
            .correlation = NO_ID,
            .external_id = NO_ID,
        };
        return true;
    }
    return false;
}

/* In blocks: the file has work-items. */
static int32_t blocks_of(int64_t items, int64_t block)
{
    if (items < 0 || block <= 0)
        return -1;
    return rocprof_run_small(items / block + (items % block != 0));
}

/* The grid is divided by the block, since the file counts it in work-items and everything else
 * in blocks. */
static uint32_t new_kernel_detail(struct rocprof_run *run, const struct rocprof_record *record,
                                  int32_t registers)
{
    struct event_detail detail = event_detail_none();

    for (unsigned i = 0; i < 3; i++) {
        int64_t block = value_or(record, (enum rocprof_value)(ROCPROF_BLOCK + i), -1);

        detail.block[i] = rocprof_run_small(block);
        detail.grid[i] =
            blocks_of(value_or(record, (enum rocprof_value)(ROCPROF_GRID + i), -1), block);
    }
    detail.registers_per_thread = registers;
    detail.shared_memory_bytes = rocprof_run_small(value_or(record, ROCPROF_SHARED_MEMORY, -1));
    return trace_builder_detail(&run->builder, &detail);
}

/* A kernel mostly has the sizes that it had before. */
static uint32_t rocprof_run_kernel_detail(struct rocprof_run *run,
                                          const struct rocprof_record *record, uint32_t index)
{
    const uint32_t sizes = (((uint32_t)1 << ROCPROF_SIZE_COUNT) - 1) << ROCPROF_SHARED_MEMORY;
    const int64_t *values = &record->values[ROCPROF_SHARED_MEMORY];
    struct rocprof_kernel *kernel = &run->kernels[index];

    if ((record->has & sizes) != sizes)
        return new_kernel_detail(run, record, kernel->registers);
    if (kernel->has_last && memcmp(kernel->last_sizes, values, sizeof kernel->last_sizes) == 0)
        return kernel->last_detail;
    kernel->has_last = true;
    memcpy(kernel->last_sizes, values, sizeof kernel->last_sizes);
    kernel->last_detail = new_kernel_detail(run, record, kernel->registers);
    return kernel->last_detail;
}

/* The name is the place of the kernel's symbol until the end: symbols may stand behind the
 * records (finish_kernel). */
static void rocprof_run_add_kernel(struct rocprof_run *run, const struct rocprof_record *record,
                                   struct found_event *event, bool is_counted)
{
    const struct rocprof_queue queue = {
        .agent = value_or(record, ROCPROF_AGENT, -1),
        .source = -1,
        .queue = value_or(record, ROCPROF_QUEUE, 0),
        .stream = value_or(record, ROCPROF_STREAM, 0),
    };

    run->has_streams |= queue.stream > 0;
    run->has_dispatches |= !is_counted;
    event->kind = EVENT_KERNEL;
    event->correlation = value_or(record, ROCPROF_CORRELATION, NO_ID);
    event->track = queue_of(run, &queue);
    if (run->builder.sums_events && !is_counted) {
        event_sums_add(&run->device_sums, event, false);
        return;
    }
    event->name = kernel_of(run, value_or(record, ROCPROF_KERNEL, -1));
    event->detail = rocprof_run_kernel_detail(run, record, event->name);
    if (is_counted) {
        struct event kept = event_kept(&run->builder.wide_ids, event);

        event_store_add(&run->counted, &kept);
        return;
    }
    trace_builder_add(&run->builder, event);
}

/* The queue is the pair of agents where none is named: rocprofv3 names none for copies. The
 * destination's device gets them, as it does in torch.profiler. */
static void add_copy(struct rocprof_run *run, const struct rocprof_record *record,
                     struct found_event *event, enum event_kind kind)
{
    struct event_detail detail = event_detail_none();
    const struct rocprof_queue queue = {
        .agent = value_or(record, ROCPROF_DESTINATION, -1),
        .source = value_or(record, ROCPROF_SOURCE, -1),
        .queue = value_or(record, ROCPROF_QUEUE, -1),
        .stream = value_or(record, ROCPROF_STREAM, 0),
    };

    run->has_streams |= queue.stream > 0;
    event->kind = (uint8_t)kind;
    event->correlation = value_or(record, ROCPROF_CORRELATION, NO_ID);
    event->track = queue_of(run, &queue);
    if (run->builder.sums_events) {
        event_sums_add(&run->device_sums, event, false);
        return;
    }
    detail.bytes = value_or(record, ROCPROF_BYTES, -1);
    event->name = operation_of(run, value_or(record, ROCPROF_KIND, -1),
                               value_or(record, ROCPROF_OPERATION, -1));
    event->detail = trace_builder_detail(&run->builder, &detail);
    trace_builder_add(&run->builder, event);
}

static void add_call(struct rocprof_run *run, const struct rocprof_record *record,
                     struct found_event *event, enum event_kind kind)
{
    event->kind = (uint8_t)kind;
    event->correlation = value_or(record, ROCPROF_CORRELATION, NO_ID);
    event->track = thread_track(run, value_or(record, ROCPROF_THREAD, 0));
    run->has_host_events = true;
    if (!run->builder.sums_events)
        event->name = operation_of(run, value_or(record, ROCPROF_KIND, -1),
                                   value_or(record, ROCPROF_OPERATION, -1));
    trace_builder_add(&run->builder, event);
}

/* Markers without a length are points, which say nothing of what a thread does. */
void rocprof_run_add(struct rocprof_run *run, enum rocprof_content content,
                     const struct rocprof_record *record)
{
    struct found_event event;

    /* Samples and marks have no start and no end, and nothing is made of them. */
    if (content == ROCPROF_UNUSED && !(record->has >> ROCPROF_START & 1)) {
        run->builder.read.events++;
        trace_builder_count(&run->builder, run->category, 'i', 1, 0);
        read_account_leave(&run->builder.read,
                           string_pool_text(&run->builder.strings, run->category), 1);
        return;
    }
    if (!rocprof_run_time(run, record, &event))
        return;
    switch (content) {
    case ROCPROF_KERNELS:
        rocprof_run_add_kernel(run, record, &event, false);
        break;
    case ROCPROF_COUNTED_KERNELS:
        rocprof_run_add_kernel(run, record, &event, true);
        break;
    case ROCPROF_COPIES:
        add_copy(run, record, &event, EVENT_MEMCPY);
        break;
    case ROCPROF_FILLS:
        add_copy(run, record, &event, EVENT_MEMSET);
        break;
    case ROCPROF_CALLS:
        add_call(run, record, &event, EVENT_RUNTIME_CALL);
        break;
    case ROCPROF_OVERHEAD:
        add_call(run, record, &event, EVENT_OVERHEAD);
        break;
    case ROCPROF_MARKERS:
        if (event.duration_ns > 0)
            add_call(run, record, &event, EVENT_ANNOTATION);
        break;
    case ROCPROF_UNUSED:
        read_account_leave(&run->builder.read,
                           string_pool_text(&run->builder.strings, run->category), 1);
        break;
    }
}

bool rocprof_run_has_device_work(const struct rocprof_run *run)
{
    return event_store_count(&run->builder.device) > 0 || event_store_count(&run->counted) > 0 ||
           run->device_sums.work.count > 0;
}

bool rocprof_run_has_events(const struct rocprof_run *run)
{
    return run->has_host_events || rocprof_run_has_device_work(run);
}

/* ---- at the end ----------------------------------------------------------------------------- */

static const struct rocprof_agent *find_agent(const struct rocprof_run *run, int64_t id)
{
    for (uint32_t i = 0; i < run->agent_count; i++)
        if (run->agents[i].id == id)
            return &run->agents[i];
    return NULL;
}

static int32_t rocprof_device_of(const struct rocprof_run *run, int64_t agent)
{
    const struct rocprof_agent *known = run->agents_are_devices ? NULL : find_agent(run, agent);

    if (run->agents_are_devices)
        return rocprof_run_small(agent);
    return known ? known->device : -1;
}

/* Addresses look as HIP's own messages write them. */
static uint32_t stream_text(struct rocprof_run *run, int64_t stream)
{
    char text[32];

    if (stream < INT64_C(1) << 32)
        return rocprof_run_number_text(run, "", stream);
    (void)snprintf(text, sizeof text, "0x%" PRIx64, (uint64_t)stream);
    return rocprof_run_text(run, text);
}

/* The track of a queue: its stream, where the file tells streams apart, else the queue itself. */
static uint32_t track_of_queue(struct rocprof_run *run, const struct rocprof_queue *queue)
{
    struct track_key key = {
        .is_device = true,
        .device = rocprof_device_of(run, queue->agent),
        .stream = run->has_streams && queue->stream >= 0 ? queue->stream : queue->queue,
    };

    if (key.device < 0)
        key.device = rocprof_device_of(run, queue->source);
    key.process = rocprof_run_number_text(run, "", key.device);
    if (run->has_streams && queue->stream >= 0)
        key.thread = stream_text(run, key.stream);
    else if (key.stream >= 0)
        key.thread = rocprof_run_number_text(run, "queue ", key.stream);
    else
        key.thread = rocprof_run_text(run, "copies (no stream told)");
    return trace_builder_track(&run->builder, &key);
}

/* Records may name a kernel by number before the table of names comes, or without one: its
 * number stands in then. */
static uint32_t kernel_name_of(struct rocprof_run *run, uint32_t index)
{
    struct rocprof_kernel *kernel = &run->kernels[index];
    char text[64];

    if (!kernel->name) {
        (void)snprintf(text, sizeof text, "kernel %" PRId64 " (the file does not name it)",
                       kernel->id);
        kernel->name = rocprof_run_text(run, text);
    }
    return kernel->name;
}

/* In the words that torch.profiler has for it, on ROCm, too. By the operation's word where it
 * tells, else by which ends are devices. */
static uint32_t copy_name_of(struct rocprof_run *run, const struct event *event)
{
    static const char *const names[][2] = {
        {"HOST_TO_DEVICE", "Memcpy HtoD (Host -> Device)"},
        {"DEVICE_TO_HOST", "Memcpy DtoH (Device -> Host)"},
        {"DEVICE_TO_DEVICE", "Memcpy DtoD (Device -> Device)"},
        {"HOST_TO_HOST", "Memcpy HtoH (Host -> Host)"},
    };
    const struct rocprof_queue *queue = &run->queues[event->track];
    const char *operation =
        string_pool_text(&run->builder.strings, run->operations[event->name].name);
    const bool from_device = rocprof_device_of(run, queue->source) >= 0;
    const bool to_device = rocprof_device_of(run, queue->agent) >= 0;

    if (event->kind == EVENT_MEMSET)
        return rocprof_run_text(run, "Memset (Device)");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strstr(operation, names[i][0]))
            return rocprof_run_text(run, names[i][1]);
    if (!find_agent(run, queue->source) || !find_agent(run, queue->agent))
        return rocprof_run_text(run, "Memcpy (direction not told)");
    return rocprof_run_text(run, names[from_device ? (to_device ? 2 : 1) : to_device ? 0 : 3][1]);
}

/* The kernel's symbol may have come after its record. */
static void finish_kernel(struct rocprof_run *run, struct event *event)
{
    int32_t registers = run->kernels[event->name].registers;
    struct event_detail detail;

    event->name = kernel_name_of(run, event->name);
    if (run->builder.details[event->detail].registers_per_thread == registers)
        return;
    detail = run->builder.details[event->detail];
    detail.registers_per_thread = registers;
    event->detail = trace_builder_detail(&run->builder, &detail);
}

/* Names, registers and tracks were places in our tables until now: one pass over all events
 * sets them. */
static void finish_device_events(struct rocprof_run *run, struct event_store *store)
{
    for (size_t chunk = 0; chunk < store->chunk_count; chunk++) {
        struct event *events = store->chunks[chunk];
        size_t count = event_store_chunk_events(store, chunk);

        for (size_t i = 0; i < count; i++) {
            if (events[i].kind == EVENT_KERNEL)
                finish_kernel(run, &events[i]);
            else
                events[i].name = copy_name_of(run, &events[i]);
            events[i].track = run->queues[events[i].track].track & EVENT_TRACK_MAX;
        }
    }
}

/* A text is made only where the file has none, and kept, so that all calls of that kind share
 * it. */
static uint32_t operation_name_of(struct rocprof_run *run, uint32_t index)
{
    struct rocprof_operation *operation = &run->operations[index];
    char text[96];

    if (!operation->name) {
        (void)snprintf(text, sizeof text,
                       "call %" PRId64 " of kind %" PRId64 " (the file does not name it)",
                       operation->operation, operation->kind);
        operation->name = rocprof_run_text(run, text);
    }
    return operation->name;
}

/* A marker has its own text; one of PyTorch's emit_nvtx is an operator. A call of roctx that is no
 * range (roctxGetThreadId) says nothing of what the thread does. */
static void finish_marker(struct rocprof_run *run, struct event *event)
{
    struct found_event found = event_as_found(&run->builder.wide_ids, event);
    uint32_t message = found.correlation == NO_ID
                           ? NO_VALUE
                           : hash_map_find(&run->messages, (uint64_t)found.correlation);
    uint32_t name = operation_name_of(run, found.name);

    found.correlation = NO_ID;
    found.name = name;
    if (message != NO_VALUE)
        nvtx_name_apply(&run->builder, &found, string_pool_text(&run->builder.strings, message));
    else if (!strstr(string_pool_text(&run->builder.strings, name), "Range"))
        found.kind = EVENT_HOST_OTHER;
    *event = event_kept(&run->builder.wide_ids, &found);
}

/* Names may come behind the records in the file, so that they are put in at its end. */
static void finish_host_events(struct rocprof_run *run)
{
    struct event_store *store = &run->builder.host;

    for (size_t chunk = 0; chunk < store->chunk_count; chunk++) {
        struct event *events = store->chunks[chunk];
        size_t count = event_store_chunk_events(store, chunk);

        for (size_t i = 0; i < count; i++) {
            if (events[i].kind == EVENT_ANNOTATION)
                finish_marker(run, &events[i]);
            else
                events[i].name = operation_name_of(run, events[i].name);
        }
    }
}

/* Kernels of counter collection are the only ones there are. */
static void keep_counted(struct rocprof_run *run)
{
    for (size_t chunk = 0; chunk < run->counted.chunk_count; chunk++) {
        size_t count = event_store_chunk_events(&run->counted, chunk);

        for (size_t i = 0; i < count; i++) {
            struct found_event event =
                event_as_found(&run->builder.wide_ids, &run->counted.chunks[chunk][i]);

            if (run->builder.sums_events)
                event_sums_add(&run->device_sums, &event, false);
            else
                trace_builder_add(&run->builder, &event);
        }
    }
}

/* Of queues, whose tracks are known now. */
static void finish_sums(struct rocprof_run *run)
{
    struct event_sums *sums = &run->builder.sums;

    for (uint32_t i = 0; i < run->queue_count; i++)
        event_sums_move_track(sums, run->queues[i].track, &run->device_sums, i);
    sums->work = run->device_sums.work;
    run->device_sums.work = (struct launch_numbers){0};
}

/* Whether streams are told apart shows only at the end, and decides what a track is: so queues
 * get their tracks here. Kernels of counter collection are kept where there are no others; the
 * counters slow them down, and with both each kernel would count twice. */
void rocprof_run_finish(struct rocprof_run *run)
{
    uint32_t process = run->pid >= 0 ? rocprof_run_number_text(run, "", run->pid) : 0;
    struct series_list *series = &run->builder.series;

    if (!run->has_dispatches)
        keep_counted(run);
    event_store_clear(&run->counted);
    for (uint32_t i = 0; i < run->builder.track_count; i++)
        run->builder.tracks[i].process = process; /* these are host threads */
    for (uint32_t i = 0; i < run->queue_count; i++)
        run->queues[i].track = track_of_queue(run, &run->queues[i]);
    finish_sums(run);
    finish_device_events(run, &run->builder.device);
    finish_host_events(run);
    rocprof_run_name_series(run);
    for (uint32_t i = 0; i < series->count; i++)
        series->series[i].device =
            rocprof_device_of(run, run->counted_agents.ids[series->series[i].device].id);
}
