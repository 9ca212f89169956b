/* Turns the text of events into events of a trace_builder. */
#include "base/core/array.h"
#include "base/core/invariant.h"
#include "base/text/utf8.h"
#include "readers/ascend/ascend_words.h"
#include "readers/torch_profiler/torch_profiler_reading.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A duration beyond this is no duration but an overflow: no profiler records for a month. */
static const int64_t longest_duration_ns = (int64_t)30 * 24 * 3600 * 1000000000;

/* ---- texts ---------------------------------------------------------------------------------- */

static char *scratch_of(struct torch_store *store, size_t size)
{
    if (size > store->scratch_size) {
        free(store->scratch);
        store->scratch_size = size * 2;
        store->scratch = require_memory(malloc(store->scratch_size));
    }
    return store->scratch;
}

uint32_t torch_store_string(struct torch_store *store, const struct json_slice *slice)
{
    char *text;

    if (!slice->has_escapes)
        return string_pool_add(&store->builder->strings, slice->text, slice->length);
    text = scratch_of(store, slice->length);
    return string_pool_add(&store->builder->strings, text, slice_unescape(slice, text));
}

/* The text of an array on one line: "[[8, 64], [64, 64]]" however it was written. `to` has room for
 * twice the length. */
static size_t write_on_one_line(const struct json_slice *slice, char *to)
{
    size_t length = 0;
    bool is_in_string = false;

    for (uint32_t i = 0; i < slice->length; i++) {
        char c = slice->text[i];

        if (!is_in_string && (unsigned char)c <= ' ')
            continue;
        if (is_in_string && c == '\\' && i + 1 < slice->length)
            to[length++] = slice->text[i++];
        else if (c == '"')
            is_in_string = !is_in_string;
        to[length++] = slice->text[i];
        if ((c == ',' || c == ':') && !is_in_string)
            to[length++] = ' ';
    }
    return length;
}

/* Arrays of shapes repeat, byte for byte: a pool of their texts as they stand saves laying
 * each out anew. */
static uint32_t store_array(struct torch_store *store, const struct json_slice *slice)
{
    size_t known = store->arrays.count;
    uint32_t array = string_pool_add(&store->arrays, slice->text, slice->length);

    if (array >= known || array == 0) { /* 0: the empty one that each pool begins with */
        char *text = scratch_of(store, (size_t)slice->length * 2);

        ARRAY_RESERVE(store->array_strings, store->array_string_capacity, store->arrays.count);
        store->array_strings[array] =
            string_pool_add(&store->builder->strings, text, write_on_one_line(slice, text));
    }
    return store->array_strings[array];
}

static uint32_t arg_text(struct torch_store *store, const struct torch_event *event,
                         enum event_arg arg)
{
    const struct json_slice *slice = &event->texts[arg - ARG_INPUT_DIMS];

    if (!event_has_arg(event, arg))
        return 0;
    if (!slice->text) /* see known_text */
        return slice->length;
    return slice->is_string ? torch_store_string(store, slice) : store_array(store, slice);
}

static uint32_t field_string(struct torch_store *store, const struct torch_event *event,
                             unsigned bit, const struct json_slice *slice)
{
    return event->has & bit ? torch_store_string(store, slice) : 0;
}

/* ---- names ---------------------------------------------------------------------------------- */

/* Bits of torch_store.name_facts. */
enum {
    NAME_IS_LOOKED_AT = 1,
    NAME_IS_STEP = 2,
    NAME_IS_HIP = 4,
    NAME_IS_DMA = 8,
    NAME_IS_WAIT = 16,
    NAME_IS_FILL = 32,
    NAME_IS_CALL = 64
};

/* Control characters and broken UTF-8 would break a terminal or a page; nearly all names have
 * neither, and one look per name tells. */
static bool is_clean(const char *text, size_t length)
{
    for (size_t i = 0; i < length;) {
        struct utf8_character character = utf8_decode(text + i, length - i);

        if (!character.is_valid || character.code < ' ')
            return false;
        i += character.length;
    }
    return true;
}

/* Looks at each name once; names are few. */
static uint8_t torch_profiler_store_look_at_name(struct torch_store *store, uint32_t name)
{
    const char *text = string_pool_text(&store->builder->strings, name);
    size_t length = string_pool_length(&store->builder->strings, name);
    uint8_t facts = NAME_IS_LOOKED_AT;
    enum event_kind command;

    if (name >= store->name_fact_count) {
        size_t known = store->name_fact_count;

        ARRAY_RESERVE(store->name_facts, store->name_fact_count, (size_t)name + 1);
        memset(store->name_facts + known, 0, store->name_fact_count - known);
    }
    if (strncmp(text, "ProfilerStep", 12) == 0)
        facts |= NAME_IS_STEP;
    if (strncmp(text, "hip", 3) == 0)
        facts |= NAME_IS_HIP;
    if (strcmp(text, "dma_request") == 0)
        facts |= NAME_IS_DMA;
    if (strcmp(text, "event_wait") == 0 || strcmp(text, "event_record") == 0)
        facts |= NAME_IS_WAIT;
    command = torch_profiler_command(text);
    if (command != EVENT_HOST_OTHER)
        facts |= NAME_IS_CALL;
    if (command == EVENT_MEMCPY)
        facts |= NAME_IS_DMA;
    if (command == EVENT_MEMSET)
        facts |= NAME_IS_FILL;
    if (command == EVENT_DEVICE_SYNC)
        facts |= NAME_IS_WAIT;
    if (!is_clean(text, length))
        store->builder->read.replaced_names++;
    store->name_facts[name] = facts;
    return facts;
}

static inline uint8_t name_facts(struct torch_store *store, uint32_t name)
{
    if (name < store->name_fact_count && store->name_facts[name])
        return store->name_facts[name];
    return torch_profiler_store_look_at_name(store, name);
}

/* The string of the event's name, and what is known of it. A small table by the ends of the name
 * and its length is asked before the pool, and its text is compared: names of events come in
 * runs, and this is the hottest look-up of the program. */
static uint32_t name_of(struct torch_store *store, const struct torch_event *event, uint8_t *facts)
{
    const struct json_slice *name = &event->name;
    struct text_key key = {0};
    struct name_memo *memo;
    uint32_t string;

    if (!(event->has & HAS_NAME) || !text_ends_of(name, &key)) {
        string = field_string(store, event, HAS_NAME, name);
        *facts = name_facts(store, string);
        return string;
    }
    memo = &store->names[name_memo_place(&key)];
    if (!name_memo_is(memo, &key, name->text)) {
        string = torch_store_string(store, name);
        *memo = (struct name_memo){
            .key = key,
            .text = string_pool_text(&store->builder->strings, string),
            .string = string,
            .facts = name_facts(store, string),
        };
    }
    *facts = memo->facts;
    return memo->string;
}

/* ---- categories and tracks ------------------------------------------------------------------ */

/* Done once for each text of a category, not for each event: a trace has some dozens of texts. */
static struct category_memo look_up_category(struct torch_store *store,
                                             const struct torch_event *event)
{
    struct category_memo memo = {.kind = EVENT_HOST_OTHER, .is_used = true};
    const struct json_slice *category = &event->category;

    memo.string = field_string(store, event, HAS_CATEGORY, category);
    if (!(event->has & HAS_CATEGORY)) {
        memo.kind = (uint8_t)torch_profiler_process_kind(event);
        return memo;
    }
    memo.kind = (uint8_t)torch_profiler_category_kind(category->text, category->length);
    if (torch_profiler_category_platform(category->text, category->length) != PLATFORM_CUDA)
        store->builder->facts.platform =
            (uint8_t)torch_profiler_category_platform(category->text, category->length);
    memo.is_flow = slice_is(category, "async_npu");
    memo.is_launch_flow = slice_is(category, "HostToDevice");
    memo.is_ours = slice_is(category, OWN_CATEGORY);
    return memo;
}

/* `own` is for a category that nothing remembers. */
static inline struct category_memo *category_of(struct torch_store *store,
                                                const struct torch_event *event,
                                                struct category_memo *own)
{
    struct text_key key;
    struct category_memo *memo = event->category_memo;

    if (memo && memo->is_used)
        return memo;
    if (!memo) {
        if (!(event->has & HAS_CATEGORY) || !text_key_of(&event->category, &key)) {
            *own = look_up_category(store, event);
            return own;
        }
        memo = &store->categories[category_memo_place(&key)];
        if (memo->is_used && text_key_is(&memo->key, &key))
            return memo;
    }
    *memo = look_up_category(store, event);
    (void)text_key_of(&event->category, &memo->key);
    return memo;
}

static int32_t torch_store_small(int64_t value)
{
    return value > INT32_MAX || value < INT32_MIN ? -1 : (int32_t)value;
}

/* Where a device's event tells no "device" or "stream", pid and tid do. */
static uint32_t look_up_track(struct torch_store *store, const struct torch_event *event,
                              const struct track_memo *memo)
{
    struct track_key key = {
        .process = field_string(store, event, HAS_PID, &event->pid),
        .thread = field_string(store, event, HAS_TID, &event->tid),
        .is_device = memo->is_device,
        .device = memo->device,
        .stream = memo->stream,
    };

    if (key.is_device && (key.device == -1 || key.stream == -1)) {
        struct event_lane lane = torch_profiler_lane(event);

        key.device = key.device == -1 ? torch_store_small(lane.device) : key.device;
        key.stream = key.stream == -1 ? lane.stream : key.stream;
    }
    return trace_builder_track(store->builder, &key);
}

/* The same for tracks; a device event's track is its device and stream, which stand in the
 * args and not in pid and tid alone. */
static inline uint32_t track_of(struct torch_store *store, const struct torch_event *event,
                                uint8_t kind)
{
    struct track_memo memo;
    struct track_memo *known = event->track_memo;

    memo.is_device = kind > EVENT_HOST_OTHER;
    memo.device = -1;
    memo.stream = -1;
    if (memo.is_device) {
        if (event_has_arg(event, ARG_DEVICE))
            memo.device = torch_store_small(event->numbers[ARG_DEVICE]);
        if (event_has_arg(event, ARG_STREAM))
            memo.stream = event->numbers[ARG_STREAM];
    }
    if (known && track_memo_is_on(&memo, known))
        return known->track;
    if ((event->has & (HAS_PID | HAS_TID)) != (HAS_PID | HAS_TID) ||
        !text_key_of(&event->pid, &memo.process) || !text_key_of(&event->tid, &memo.thread))
        return look_up_track(store, event, &memo);
    known = &store->tracks[track_memo_place(&memo)];
    if (!track_memo_is(&memo, known)) {
        memo.track = look_up_track(store, event, &memo);
        memo.is_used = true;
        *known = memo;
    }
    if (event->track_memo)
        *event->track_memo = *known;
    return known->track;
}

/* ---- details -------------------------------------------------------------------------------- */

static inline int64_t number_or(const struct torch_event *event, enum event_arg arg,
                                int64_t if_none)
{
    return event_has_arg(event, arg) ? event->numbers[arg] : if_none;
}

static inline float fraction_or_none(const struct torch_event *event, enum event_arg arg)
{
    return event_has_arg(event, arg) ? event->fractions[arg - ARG_OCCUPANCY] : -1.0F;
}

/* torch_npu writes shapes as text; they are put into the form of lists that all others have. */
static void store_texts(struct torch_store *store, const struct torch_event *event,
                        struct event_detail *detail)
{
    struct string_pool *strings = &store->builder->strings;

    detail->input_shapes = arg_text(store, event, ARG_INPUT_DIMS);
    detail->input_types = arg_text(store, event, ARG_INPUT_TYPE);
    if (event_has_arg(event, ARG_INPUT_DIMS) && event->texts[0].is_string) /* torch_npu */
        detail->input_shapes =
            ascend_shapes(strings, string_pool_text(strings, detail->input_shapes));
    if (event_has_arg(event, ARG_INPUT_TYPE) &&
        event->texts[ARG_INPUT_TYPE - ARG_INPUT_DIMS].is_string)
        detail->input_types = ascend_types(strings, string_pool_text(strings, detail->input_types));
    detail->concrete_inputs = arg_text(store, event, ARG_CONCRETE_INPUTS);
    detail->call_stack = arg_text(store, event, ARG_CALL_STACK);
    detail->collective_name = arg_text(store, event, ARG_COLLECTIVE_NAME);
    detail->element_type = arg_text(store, event, ARG_DTYPE);
    detail->group_name = arg_text(store, event, ARG_GROUP_NAME);
    detail->group_ranks = arg_text(store, event, ARG_GROUP_RANKS);
    detail->kernel_name = arg_text(store, event, ARG_KERNEL);
    detail->work = arg_text(store, event, ARG_WORK);
    detail->phase = arg_text(store, event, ARG_PHASE);
    detail->code = arg_text(store, event, ARG_CODE);
    detail->settings = arg_text(store, event, ARG_SETTINGS);
    detail->lines = arg_text(store, event, ARG_LINES);
}

/* What inductor itself expects a kernel to compute and to move, where it was told to measure
 * (TORCHINDUCTOR_BENCHMARK_KERNEL): products alone, and 0 where it does not know. */
static void store_expected_cost(const struct torch_event *event, struct event_detail *detail)
{
    const double bytes_max = 9e18;
    double gigabytes;

    if (!detail->code)
        return;
    if (detail->flops <= 0)
        detail->flops = -1;
    if (event_has_arg(event, ARG_GIGABYTES) &&
        slice_fraction(&event->texts[ARG_GIGABYTES - ARG_INPUT_DIMS], &gigabytes) &&
        gigabytes > 0 && gigabytes * 1e9 < bytes_max)
        detail->bytes = llround(gigabytes * 1e9);
}

/* Texts come last among the arguments, so that one shift tells whether there are any. Node 0
 * is what CUPTI writes for "of no graph". */
static uint32_t store_detail(struct torch_store *store, const struct torch_event *event)
{
    struct event_detail detail = event_detail_none();

    if (event->has_args >> ARG_INPUT_DIMS)
        store_texts(store, event, &detail);
    for (int i = 0; i < 3; i++) {
        if (event_has_arg(event, ARG_GRID))
            detail.grid[i] = event->triples[0][i];
        if (event_has_arg(event, ARG_BLOCK))
            detail.block[i] = event->triples[ARG_BLOCK - ARG_GRID][i];
    }
    detail.registers_per_thread = torch_store_small(number_or(event, ARG_REGISTERS, -1));
    detail.shared_memory_bytes = torch_store_small(number_or(event, ARG_SHARED_MEMORY, -1));
    detail.occupancy_percent = fraction_or_none(event, ARG_OCCUPANCY);
    detail.blocks_per_sm = fraction_or_none(event, ARG_BLOCKS_PER_SM);
    detail.warps_per_sm = fraction_or_none(event, ARG_WARPS_PER_SM);
    detail.bytes = number_or(event, ARG_BYTES, -1);
    detail.flops = number_or(event, ARG_FLOPS, -1);
    store_expected_cost(event, &detail);
    detail.in_elements = number_or(event, ARG_IN_ELEMENTS, -1);
    detail.out_elements = number_or(event, ARG_OUT_ELEMENTS, -1);
    detail.group_size = number_or(event, ARG_GROUP_SIZE, -1);
    detail.sequence = number_or(event, ARG_COLLECTIVE_SEQUENCE, -1);
    detail.source_rank = torch_store_small(number_or(event, ARG_SOURCE_RANK, -1));
    detail.destination_rank = torch_store_small(number_or(event, ARG_DESTINATION_RANK, -1));
    detail.graph_node =
        number_or(event, ARG_GRAPH_NODE, 0) > 0 ? event->numbers[ARG_GRAPH_NODE] : -1;
    return trace_builder_detail(store->builder, &detail);
}

/* ---- events --------------------------------------------------------------------------------- */

/* The kind of an event whose name tells more than its category. */
static uint8_t kind_by_name(struct torch_store *store, uint8_t kind, uint8_t facts)
{
    if (facts & NAME_IS_STEP && kind == EVENT_DEVICE_ANNOTATION)
        store->builder->read.device_step_copies++;
    if (facts & NAME_IS_HIP && kind == EVENT_RUNTIME_CALL)
        store->builder->facts.is_rocm = 1;
    /* torch_npu has one category for operators and steps, as old profilers had */
    if (facts & NAME_IS_STEP && kind == EVENT_OPERATOR)
        return EVENT_ANNOTATION;
    /* unitrace has one category for all of the host, too */
    if (facts & NAME_IS_CALL && kind == EVENT_OPERATOR)
        return EVENT_RUNTIME_CALL;
    /* MTIA and unitrace have one category for all that a device does */
    if (facts & NAME_IS_FILL && kind == EVENT_KERNEL)
        return EVENT_MEMSET;
    if (facts & NAME_IS_DMA && kind == EVENT_KERNEL)
        return EVENT_MEMCPY;
    if (facts & NAME_IS_WAIT && kind == EVENT_KERNEL)
        return EVENT_DEVICE_SYNC;
    return kind;
}

static void read_dma(struct torch_store *store, const struct torch_event *text,
                     struct found_event *event)
{
    const struct json_slice *direction = &text->texts[ARG_DIRECTION - ARG_INPUT_DIMS];
    const char *name =
        event_has_arg(text, ARG_DIRECTION) ? torch_profiler_copy_name(direction) : NULL;
    struct event_detail detail = event_detail_none();

    if (name)
        event->name = string_pool_add(&store->builder->strings, name, strlen(name));
    detail.bytes = number_or(text, ARG_SIZE, -1);
    if (detail.bytes >= 0 && !store->layouts.unasked_args)
        event->detail = trace_builder_detail(store->builder, &detail);
}

/* Everything of an event but its times and its track. An operator's id is the sequence number
 * that joins forward and backward, all else has a correlation; both share one field, as no event
 * has both. */
static inline void read_by_known_name(struct torch_store *store, const struct torch_event *text,
                                      uint8_t kind, struct torch_name name,
                                      struct found_event *event)
{
    enum event_arg id = kind == EVENT_OPERATOR ? ARG_SEQUENCE_NUMBER : ARG_CORRELATION;

    event->kind = kind;
    event->name = name.string;
    if (name.facts & ~(unsigned)NAME_IS_LOOKED_AT)
        event->kind = kind_by_name(store, kind, name.facts);
    event->correlation =
        event->kind == kind || kind == EVENT_KERNEL ? number_or(text, id, NO_ID) : NO_ID;
    event->external_id = number_or(text, ARG_EXTERNAL_ID, NO_ID);
    event->detail =
        text->has_args & DETAIL_ARGS & ~store->layouts.unasked_args ? store_detail(store, text) : 0;
    if (name.facts & NAME_IS_DMA && event->kind == EVENT_MEMCPY)
        read_dma(store, text, event);
}

/* Everything of an event but its times. */
static inline void read_without_times(struct torch_store *store, const struct torch_event *text,
                                      uint8_t kind, struct found_event *event)
{
    struct torch_name name;

    name.string = name_of(store, text, &name.facts);
    read_by_known_name(store, text, kind, name, event);
    event->track = track_of(store, text, kind);
}

bool torch_store_convert(struct torch_store *store, const struct torch_event *text,
                         struct found_event *event, uint32_t *category)
{
    struct category_memo own;
    const struct category_memo *memo = category_of(store, text, &own);

    if (memo->is_ours)
        return false;
    *event = (struct found_event){0};
    read_without_times(store, text, memo->kind, event);
    *category = memo->string;
    return true;
}

/* ---- events of other formats ----------------------------------------------------------------- */

/* Of what other formats say once and give numbers, this is asked once. */

struct torch_category torch_store_category(struct torch_store *store, const char *text,
                                           size_t length)
{
    struct torch_event event = {.has = length ? HAS_CATEGORY : 0,
                                .category = {text, (uint32_t)length, true, false}};
    struct category_memo memo = look_up_category(store, &event);

    return (struct torch_category){memo.string, memo.kind, memo.is_ours};
}

struct torch_name torch_store_name(struct torch_store *store, const char *text, size_t length)
{
    /* an empty one may lie nowhere */
    uint32_t string = length ? string_pool_add(&store->builder->strings, text, length) : 0;

    return (struct torch_name){string, name_facts(store, string)};
}

uint32_t torch_store_known_array(const struct torch_store *store, const char *text, size_t length)
{
    uint32_t array = string_pool_find(&store->arrays, text, length);

    return array && array < UINT32_MAX ? store->array_strings[array] : UINT32_MAX;
}

uint32_t torch_store_array(struct torch_store *store, const struct json_slice *slice)
{
    return store_array(store, slice);
}

uint32_t torch_store_track(struct torch_store *store, const struct torch_event *event, uint8_t kind)
{
    return track_of(store, event, kind);
}

struct found_event torch_store_named(struct torch_store *store, const struct torch_event *text,
                                     uint8_t kind, struct torch_name name)
{
    struct found_event event = {0};

    read_by_known_name(store, text, kind, name, &event);
    return event;
}

/* An event whose kind is known at the end of the file. Events without a category may be
 * Ascend's, which shows only when the names of processes are known. */
static void store_row(struct torch_store *store, const struct torch_event *text)
{
    struct ascend_row row = {0};
    struct torch_name name;

    name.string = name_of(store, text, &name.facts);
    read_by_known_name(store, text, EVENT_HOST_OTHER, name, &row.event);
    row.process = field_string(store, text, HAS_PID, &text->pid);
    row.thread = field_string(store, text, HAS_TID, &text->tid);
    row.event.start_ns = text->start_ns;
    row.event.duration_ns = text->duration_ns;
    ascend_rows_add(&store->rows, store->builder, &row, &text->args);
}

/* Ids stay texts: they are only compared, and a number of JSON need not hold them exactly. */
static void store_flow(struct torch_store *store, const struct torch_event *text, bool is_launch)
{
    const struct ascend_flow flow = {
        .process = field_string(store, text, HAS_PID, &text->pid),
        .thread = field_string(store, text, HAS_TID, &text->tid),
        .id = field_string(store, text, HAS_ID, &text->id),
        .is_launch = is_launch,
        .is_end = text->phase == 'f',
        .time_ns = text->start_ns,
    };

    ascend_rows_add_flow(&store->rows, &flow);
}

/* Events of one category and mostly of one phase are counted where the one before was. */
static void store_count(struct torch_store *store, struct category_memo *category, char phase,
                        int64_t start_ns, int64_t end_ns)
{
    struct trace_builder *builder = store->builder;
    struct category_count *count = &builder->read.categories[category->count_place];

    if (count->events == 0 || count->category != category->string || count->phase != phase) {
        count = trace_builder_category(builder, category->string, phase);
        category->count_place = builder->last_category;
    }
    category_count_add(count, start_ns, end_ns);
}

/* A timed event with both its times, which are not yet known to be possible. Each X has both
 * times here: those that cannot be are counted by reason, and counted under their category with
 * no time. */
static void store_timed(struct torch_store *store, const struct torch_event *text,
                        struct category_memo *category)
{
    struct trace_builder *builder = store->builder;
    int64_t end_ns;
    struct found_event event;

    if (text->duration_ns < 0) {
        builder->read.negative_durations++;
    } else if (text->duration_ns > longest_duration_ns ||
               __builtin_add_overflow(text->start_ns, text->duration_ns, &end_ns)) {
        builder->read.overflowing_durations++;
    } else if (!(text->has & HAS_CATEGORY) && category->kind == EVENT_HOST_OTHER) {
        store_row(store, text);
        return;
    } else {
        read_without_times(store, text, category->kind, &event);
        event.start_ns = text->start_ns;
        event.duration_ns = text->duration_ns;
        trace_builder_keep(builder, &event);
        store_count(store, category, 'X', text->start_ns, end_ns);
        return;
    }
    store_count(store, category, 'X', 1, 0);
}

/* Half a timed event, with its time. */
static void store_half(struct torch_store *store, const struct torch_event *text,
                       const struct category_memo *category)
{
    struct half_event half = {.is_begin = text->phase == 'B'};

    read_without_times(store, text, category->kind, &half.event);
    half.event.start_ns = text->start_ns;
    trace_builder_add_half(store->builder, &half);
}

/* Names of processes and threads come in any order and before or behind their events, so they
 * are kept until the end. */
static void store_metadata(struct torch_store *store, const struct torch_event *text)
{
    struct given_name name = {0};
    const struct json_slice *given = &text->texts[ARG_NAME - ARG_INPUT_DIMS];

    if (text->has & HAS_NAME && slice_is(&text->name, "process_labels") && text->args.length > 0)
        ascend_rows_add_label(&store->rows, field_string(store, text, HAS_PID, &text->pid),
                              &text->args);
    if (!(text->has & HAS_NAME) || !event_has_arg(text, ARG_NAME) || !given->is_string)
        return;
    name.is_thread = slice_is(&text->name, "thread_name");
    if (!name.is_thread && !slice_is(&text->name, "process_name"))
        return;
    name.process = field_string(store, text, HAS_PID, &text->pid);
    name.thread = field_string(store, text, HAS_TID, &text->tid);
    name.name = torch_store_string(store, given);
    trace_builder_name(store->builder, &name);
}

/* One allocated or freed block. */
static void store_memory(struct torch_store *store, const struct torch_event *text)
{
    struct memory_event memory;

    if (!torch_memory_event_read(&memory, text, &store->memory_layouts)) {
        store->builder->memory.set_aside++;
        return;
    }
    memory.track = track_of(store, text, EVENT_HOST_OTHER);
    memory_list_add(&store->builder->memory, &memory);
}

/* The usual event first; what it is decides which counter has it, and each is counted exactly
 * once. */
void torch_store_event(struct torch_store *store, const struct torch_event *text)
{
    struct trace_builder *builder = store->builder;
    char phase = text->has & HAS_PHASE ? text->phase : '?';
    struct category_memo own;
    struct category_memo *category = category_of(store, text, &own);
    bool has_start = text->has & HAS_START;
    bool is_timed = phase == 'X' || phase == 'B' || phase == 'E';

    if (category->is_ours)
        return;
    builder->read.events++;
    if (phase == 'X' && has_start && text->has & HAS_DURATION) {
        store_timed(store, text, category);
        return;
    }
    if (phase == 'M')
        store_metadata(store, text);
    else if (is_timed && text->has & (HAS_START_OVERFLOW | HAS_DURATION_OVERFLOW))
        builder->read.overflowing_durations++;
    /* An X that comes here lacks its start or its duration. */
    else if (is_timed && (!has_start || phase == 'X'))
        builder->read.missing_times++;
    else if (is_timed)
        store_half(store, text, category);
    else if ((category->is_flow || category->is_launch_flow) && has_start && text->has & HAS_ID)
        store_flow(store, text, category->is_launch_flow);
    else if (phase == 'C' && has_start && !(text->has & HAS_CATEGORY) && text->has & HAS_NAME)
        ascend_rows_add_sample(
            &store->rows, builder,
            &(struct ascend_sample){.process = field_string(store, text, HAS_PID, &text->pid),
                                    .time_ns = text->start_ns},
            &text->name, &text->args);
    else if (store->keeps_memory && is_torch_memory_event(text))
        store_memory(store, text);
    if (has_start && phase != 'M' && phase != 'X')
        store_count(store, category, phase, text->start_ns, text->start_ns);
    else
        store_count(store, category, phase, 1, 0);
}

void torch_store_clear(struct torch_store *store)
{
    free(store->scratch);
    free(store->array_strings);
    free(store->name_facts);
    string_pool_clear(&store->arrays);
    ascend_rows_clear(&store->rows);
    event_layouts_clear(&store->layouts);
    event_layouts_clear(&store->memory_layouts);
    *store = (struct torch_store){0};
}
