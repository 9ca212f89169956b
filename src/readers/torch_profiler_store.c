/* Turns the text of events into events of a trace_builder. */
#include "readers/torch_profiler_store.h"

#include "base/invariant.h"
#include "readers/torch_profiler_category.h"

#include <stdlib.h>
#include <string.h>

/* A duration beyond this is no duration but an overflow: no profiler records for a month. */
static const int64_t longest_duration_ns = (int64_t)30 * 24 * 3600 * 1000000000;

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

/* The text of an array on one line: "[[8, 64], [64, 64]]" however it was written. */
static uint32_t store_json_text(struct torch_store *store, const struct json_slice *slice)
{
    char *text = scratch_of(store, (size_t)slice->length * 2);
    size_t length = 0;
    bool is_in_string = false;

    if (slice->is_string)
        return torch_store_string(store, slice);
    for (uint32_t i = 0; i < slice->length; i++) {
        char c = slice->text[i];

        if (!is_in_string && (c == ' ' || c == '\n' || c == '\r' || c == '\t'))
            continue;
        if (is_in_string && c == '\\' && i + 1 < slice->length)
            text[length++] = slice->text[i++];
        else if (c == '"')
            is_in_string = !is_in_string;
        text[length++] = slice->text[i];
        if (c == ',' && !is_in_string)
            text[length++] = ' ';
    }
    return string_pool_add(&store->builder->strings, text, length);
}

static uint32_t field_string(struct torch_store *store, const struct torch_event *event,
                             enum event_field field)
{
    return event_has(event, field) ? torch_store_string(store, &event->fields[field]) : 0;
}

static int64_t arg_integer(const struct torch_event *event, enum event_arg arg, int64_t if_none)
{
    int64_t value;

    return event_has_arg(event, arg) && slice_integer(&event->args[arg], &value) ? value : if_none;
}

static int32_t small(int64_t value)
{
    return value > INT32_MAX || value < INT32_MIN ? -1 : (int32_t)value;
}

static float arg_fraction(const struct torch_event *event, enum event_arg arg)
{
    double value;

    return event_has_arg(event, arg) && slice_fraction(&event->args[arg], &value) ? (float)value
                                                                                  : -1.0F;
}

/* "[24, 1, 1]"; left as it is where it is something else. */
static void arg_triple(const struct torch_event *event, enum event_arg arg, int32_t *triple)
{
    struct json_scan scan = {0};
    const char *at;

    if (!event_has_arg(event, arg) || *event->args[arg].text != '[')
        return;
    at = event->args[arg].text;
    scan.limit = at + event->args[arg].length;
    at++;
    for (int i = 0; i < 3; i++) {
        struct json_slice number;
        int64_t value;

        at = scan_value(&scan, scan_space(at), &number);
        if (!at || !slice_integer(&number, &value))
            return;
        triple[i] = small(value);
        at = scan_space(at);
        if (*at != ',')
            return;
        at++;
    }
}

static uint32_t arg_text(struct torch_store *store, const struct torch_event *event,
                         enum event_arg arg)
{
    return event_has_arg(event, arg) ? store_json_text(store, &event->args[arg]) : 0;
}

/* All args that struct event_detail has a place for. */
static const uint32_t detail_args =
    1U << ARG_REGISTERS | 1U << ARG_SHARED_MEMORY | 1U << ARG_OCCUPANCY | 1U << ARG_BLOCKS_PER_SM |
    1U << ARG_WARPS_PER_SM | 1U << ARG_GRID | 1U << ARG_BLOCK | 1U << ARG_BYTES |
    1U << ARG_INPUT_DIMS | 1U << ARG_INPUT_TYPE | 1U << ARG_CONCRETE_INPUTS | 1U << ARG_CALL_STACK |
    1U << ARG_COLLECTIVE_NAME | 1U << ARG_DTYPE | 1U << ARG_GROUP_NAME | 1U << ARG_GROUP_RANKS |
    1U << ARG_IN_ELEMENTS | 1U << ARG_OUT_ELEMENTS | 1U << ARG_GROUP_SIZE;

static uint32_t store_detail(struct torch_store *store, const struct torch_event *event)
{
    struct event_detail detail;

    if (!(event->has_args & detail_args))
        return 0;
    detail = event_detail_none();
    detail.input_shapes = arg_text(store, event, ARG_INPUT_DIMS);
    detail.input_types = arg_text(store, event, ARG_INPUT_TYPE);
    detail.concrete_inputs = arg_text(store, event, ARG_CONCRETE_INPUTS);
    detail.call_stack = arg_text(store, event, ARG_CALL_STACK);
    arg_triple(event, ARG_GRID, detail.grid);
    arg_triple(event, ARG_BLOCK, detail.block);
    detail.registers_per_thread = small(arg_integer(event, ARG_REGISTERS, -1));
    detail.shared_memory_bytes = small(arg_integer(event, ARG_SHARED_MEMORY, -1));
    detail.occupancy_percent = arg_fraction(event, ARG_OCCUPANCY);
    detail.blocks_per_sm = arg_fraction(event, ARG_BLOCKS_PER_SM);
    detail.warps_per_sm = arg_fraction(event, ARG_WARPS_PER_SM);
    detail.bytes = arg_integer(event, ARG_BYTES, -1);
    detail.collective_name = arg_text(store, event, ARG_COLLECTIVE_NAME);
    detail.element_type = arg_text(store, event, ARG_DTYPE);
    detail.group_name = arg_text(store, event, ARG_GROUP_NAME);
    detail.group_ranks = arg_text(store, event, ARG_GROUP_RANKS);
    detail.in_elements = arg_integer(event, ARG_IN_ELEMENTS, -1);
    detail.out_elements = arg_integer(event, ARG_OUT_ELEMENTS, -1);
    detail.group_size = arg_integer(event, ARG_GROUP_SIZE, -1);
    return trace_builder_detail(store->builder, &detail);
}

/* A number in a field or arg, or the number a text ends with ("stream 7"); `if_none` else. */
static int64_t number_in(const struct json_slice *slice, int64_t if_none)
{
    int64_t value;
    struct json_slice end = *slice;

    if (slice_integer(slice, &value))
        return value;
    if (!slice->is_string)
        return if_none;
    end.text += slice->length;
    end.length = 0;
    while (end.length < slice->length && end.text[-1] >= '0' && end.text[-1] <= '9') {
        end.text--;
        end.length++;
    }
    return slice_integer(&end, &value) ? value : if_none;
}

static int64_t arg_or_field(const struct torch_event *event, enum event_arg arg,
                            enum event_field field)
{
    int64_t value = event_has_arg(event, arg) ? number_in(&event->args[arg], -1) : -1;

    if (value == -1 && event_has(event, field))
        value = number_in(&event->fields[field], -1);
    return value;
}

static uint32_t track_of(struct torch_store *store, const struct torch_event *event,
                         enum event_kind kind)
{
    struct track_key key = {
        .process = field_string(store, event, FIELD_PID),
        .thread = field_string(store, event, FIELD_TID),
        .is_device = event_kind_is_on_device(kind),
        .device = -1,
        .stream = -1,
    };

    if (key.is_device) {
        key.device = small(arg_or_field(event, ARG_DEVICE, FIELD_PID));
        key.stream = arg_or_field(event, ARG_STREAM, FIELD_TID);
    }
    return trace_builder_track(store->builder, &key);
}

static bool is_step(const struct json_slice *name)
{
    return name->length >= 12 && memcmp(name->text, "ProfilerStep", 12) == 0;
}

/* Everything of an event but its times. */
static struct event event_of(struct torch_store *store, const struct torch_event *text)
{
    const struct json_slice *category = &text->fields[FIELD_CATEGORY];
    struct event event = {.correlation = NO_ID};

    event.kind = EVENT_HOST_OTHER;
    if (event_has(text, FIELD_CATEGORY))
        event.kind = (uint8_t)torch_profiler_category_kind(category->text, category->length);
    event.name = field_string(store, text, FIELD_NAME);
    event.track = track_of(store, text, (enum event_kind)event.kind);
    if (event.kind == EVENT_OPERATOR)
        event.sequence_number = arg_integer(text, ARG_SEQUENCE_NUMBER, NO_ID);
    else
        event.correlation = arg_integer(text, ARG_CORRELATION, NO_ID);
    event.external_id = arg_integer(text, ARG_EXTERNAL_ID, NO_ID);
    event.detail = store_detail(store, text);
    if (event.kind == EVENT_DEVICE_ANNOTATION && event_has(text, FIELD_NAME) &&
        is_step(&text->fields[FIELD_NAME]))
        store->builder->read.device_step_copies++;
    return event;
}

static void store_timed(struct torch_store *store, const struct torch_event *text,
                        uint32_t category, int64_t start_ns)
{
    struct read_account *read = &store->builder->read;
    const struct json_slice *duration = &text->fields[FIELD_DUR];
    int64_t duration_ns = 0;
    int64_t end_ns = 0;
    struct event event;

    if (!slice_nanoseconds(duration, &duration_ns)) {
        double value;

        if (slice_fraction(duration, &value))
            read->overflowing_durations++;
        else
            read->missing_times++;
    } else if (duration_ns < 0) {
        read->negative_durations++;
    } else if (duration_ns > longest_duration_ns ||
               __builtin_add_overflow(start_ns, duration_ns, &end_ns)) {
        read->overflowing_durations++;
    } else {
        event = event_of(store, text);
        event.start_ns = start_ns;
        event.duration_ns = duration_ns;
        trace_builder_add(store->builder, &event);
        trace_builder_count(store->builder, category, 'X', start_ns, end_ns);
        return;
    }
    trace_builder_count(store->builder, category, 'X', 1, 0);
}

static void store_metadata(struct torch_store *store, const struct torch_event *text)
{
    struct given_name name = {0};

    if (!event_has(text, FIELD_NAME) || !event_has_arg(text, ARG_NAME) ||
        !text->args[ARG_NAME].is_string)
        return;
    name.is_thread = slice_is(&text->fields[FIELD_NAME], "thread_name");
    if (!name.is_thread && !slice_is(&text->fields[FIELD_NAME], "process_name"))
        return;
    name.process = field_string(store, text, FIELD_PID);
    name.thread = field_string(store, text, FIELD_TID);
    name.name = torch_store_string(store, &text->args[ARG_NAME]);
    trace_builder_name(store->builder, &name);
}

void torch_store_event(struct torch_store *store, const struct torch_event *text)
{
    struct trace_builder *builder = store->builder;
    char phase = '?';
    uint32_t category = field_string(store, text, FIELD_CATEGORY);
    int64_t start_ns = 0;
    bool has_start;

    if (event_has(text, FIELD_PHASE) && text->fields[FIELD_PHASE].length)
        phase = text->fields[FIELD_PHASE].text[0];
    builder->read.events++;
    if (phase == 'M') {
        store_metadata(store, text);
        trace_builder_count(builder, category, phase, 1, 0);
        return;
    }
    has_start = event_has(text, FIELD_TS) && slice_nanoseconds(&text->fields[FIELD_TS], &start_ns);
    if (!has_start || (phase == 'X' && !event_has(text, FIELD_DUR))) {
        builder->read.missing_times++;
        trace_builder_count(builder, category, phase, 1, 0);
    } else if (phase == 'X') {
        store_timed(store, text, category, start_ns);
    } else {
        if (phase == 'B' || phase == 'E') {
            struct half_event half = {.event = event_of(store, text), .is_begin = phase == 'B'};

            half.event.start_ns = start_ns;
            trace_builder_add_half(builder, &half);
        }
        trace_builder_count(builder, category, phase, start_ns, start_ns);
    }
}

void torch_store_clear(struct torch_store *store)
{
    free(store->scratch);
    store->scratch = NULL;
    store->scratch_size = 0;
}
