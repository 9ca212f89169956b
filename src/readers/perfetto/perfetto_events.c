/* Track events as torch.profiler's JSON has them: the same words, so that one trace in both forms
 * has one ledger. */
#include "base/core/array.h"
#include "base/core/large_array.h"
#include "base/io/input_stream.h"
#include "base/json/json_walk.h"
#include "readers/perfetto/perfetto_reading.h"
#include "readers/torch_profiler/torch_profiler_reading.h"
#include "readers/torch_profiler/torch_profiler_scan.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NESTING_MAX = 16, PARENTS_MAX = 8, NUMBER_BYTES_MAX = 40 };

/* ---- JSON text ------------------------------------------------------------------------------ */

/* Inline, for most texts are constants of a few bytes. */
static inline void add_bytes(struct perfetto_reading *reading, const char *text, size_t length)
{
    if (reading->text_length + length + INPUT_PADDING > reading->text_room)
        ARRAY_RESERVE(reading->text, reading->text_room,
                      reading->text_length + length + INPUT_PADDING);
    memcpy(reading->text + reading->text_length, text, length);
    reading->text_length += length;
}

static inline void append_text(struct perfetto_reading *reading, const char *text)
{
    add_bytes(reading, text, __builtin_strlen(text));
}

static bool needs_escape(unsigned char c)
{
    return c < ' ' || c == '"' || c == '\\';
}

/* How many bytes from `text` on need no escape; eight are looked at together. In a byte that a
 * number was subtracted from, the highest bit is set where it was smaller; an exclusive or makes a
 * byte 0 where it was the one that is looked for. Bytes from 0x80 on set it too, and are none. A
 * borrow from the byte below only marks a byte behind one that is marked. */
static size_t unescaped_length(const char *text, size_t length)
{
    const uint64_t each = UINT64_C(0x0101010101010101);
    size_t at = 0;

    for (; at + 8 <= length; at += 8) {
        uint64_t bytes = load_8_bytes(text + at);
        uint64_t quote = bytes ^ each * '"';
        uint64_t slash = bytes ^ each * '\\';

        if (((bytes - each * ' ') | (quote - each) | (slash - each)) & ~bytes & each * 0x80)
            break;
    }
    while (at < length && !needs_escape((unsigned char)text[at]))
        at++;
    return at;
}

/* Bytes above 0x7f are copied as they are: names that are no UTF-8 are counted when stored. */
static void append_quoted(struct perfetto_reading *reading, struct proto_bytes text)
{
    char escape[8];

    append_text(reading, "\"");
    for (size_t start = 0; start < text.length;) {
        size_t plain = unescaped_length(text.at + start, text.length - start);

        add_bytes(reading, text.at + start, plain);
        start += plain;
        if (start == text.length)
            break;
        (void)snprintf(escape, sizeof escape,
                       (unsigned char)text.at[start] < ' ' ? "\\u%04x" : "\\%c",
                       (unsigned char)text.at[start]);
        add_bytes(reading, escape, strlen(escape));
        start++;
    }
    append_text(reading, "\"");
}

/* By hand: nearly each argument has a number, and snprintf would parse its format each time. */
static void append_natural(struct perfetto_reading *reading, uint64_t number)
{
    char digits[NUMBER_BYTES_MAX];
    size_t at = sizeof digits;

    do {
        digits[--at] = (char)('0' + number % 10);
        number /= 10;
    } while (number);
    add_bytes(reading, digits + at, sizeof digits - at);
}

static void append_integer(struct perfetto_reading *reading, int64_t number)
{
    if (number < 0)
        append_text(reading, "-");
    append_natural(reading, number < 0 ? -(uint64_t)number : (uint64_t)number);
}

/* ---- arguments ------------------------------------------------------------------------------ */

/* DebugAnnotation: its name is 10 or, interned, 1. */
static struct proto_bytes annotation_name(const struct perfetto_reading *reading,
                                          const struct perfetto_sequence *sequence,
                                          struct proto_bytes message)
{
    struct proto_walk walk = proto_walk_of(message);
    struct proto_field field;

    while (proto_next(&walk, &field)) {
        if (proto_is(&field, 10, PROTO_LENGTH))
            return field.bytes;
        if (proto_is(&field, 1, PROTO_VARINT))
            return perfetto_known_text(
                &reading->state,
                perfetto_interned_name(sequence, INTERNED_ARGUMENT_NAME, field.value));
    }
    return (struct proto_bytes){NULL, 0};
}

/* 11: a dictionary, 12: an array, else the field with the value; false where it has none. */
static bool annotation_value(struct proto_bytes message, struct proto_field *value)
{
    struct proto_walk walk = proto_walk_of(message);
    struct proto_field field;
    bool is_found = false;

    while (proto_next(&walk, &field)) {
        if ((field.number >= 2 && field.number <= 12 && field.number != 8 && field.number != 10) ||
            field.number == 17) {
            if (!is_found || field.number == 11 || field.number == 12)
                *value = field;
            is_found = true;
        }
    }
    return is_found;
}

static void append_real(struct perfetto_reading *reading, double number)
{
    char text[NUMBER_BYTES_MAX];

    (void)snprintf(text, sizeof text, "%.17g", number);
    append_text(reading, isfinite(number) ? text : "null");
}

/* A value that holds no others. */
static void append_scalar(struct perfetto_reading *reading,
                          const struct perfetto_sequence *sequence, const struct proto_field *value)
{
    if (value->number == 2) {
        append_text(reading, value->value ? "true" : "false");
    } else if (value->number == 4) {
        append_integer(reading, proto_signed(value));
    } else if (value->number == 3 || value->number == 7) {
        append_natural(reading, value->value);
    } else if (value->number == 5) {
        append_real(reading, proto_real(value));
    } else if (value->number == 9 && value->form == PROTO_LENGTH) {
        add_bytes(reading, value->bytes.at, value->bytes.length); /* JSON as it is */
    } else if (value->number == 17) {
        append_quoted(reading,
                      perfetto_known_text(
                          &reading->state,
                          perfetto_interned_name(sequence, INTERNED_ARGUMENT_VALUE, value->value)));
    } else {
        append_quoted(reading,
                      value->form == PROTO_LENGTH ? value->bytes : (struct proto_bytes){NULL, 0});
    }
}

/* A dictionary or array that is open. */
struct open_value {
    struct proto_walk walk;
    uint32_t number;
    bool has_members;
};

/* Opens what the annotation holds, or appends it where it holds no others. True: it is open. */
static bool append_value(struct perfetto_reading *reading, const struct perfetto_sequence *sequence,
                         struct proto_bytes message, struct open_value *open)
{
    struct proto_field value;

    if (!annotation_value(message, &value)) {
        append_text(reading, "null");
        return false;
    }
    if (value.number != 11 && value.number != 12) {
        append_scalar(reading, sequence, &value);
        return false;
    }
    if (!open) {
        append_text(reading, "null");
        return false;
    }
    *open = (struct open_value){.walk = proto_walk_of(message), .number = value.number};
    append_text(reading, value.number == 11 ? "{" : "[");
    return true;
}

/* The next member of an open value; false at its end. */
static bool next_member(struct open_value *open, struct proto_field *member)
{
    while (proto_next(&open->walk, member)) {
        if (proto_is(member, open->number, PROTO_LENGTH))
            return true;
    }
    return false;
}

/* Without recursion, on a stack of NESTING_MAX that no file overflows: what lies deeper is null. */
static void append_annotation(struct perfetto_reading *reading,
                              const struct perfetto_sequence *sequence, struct proto_bytes message)
{
    struct open_value open[NESTING_MAX];
    unsigned depth = append_value(reading, sequence, message, &open[0]);

    while (depth > 0) {
        struct open_value *top = &open[depth - 1];
        struct proto_field member;

        if (!next_member(top, &member)) {
            append_text(reading, top->number == 11 ? "}" : "]");
            depth--;
            continue;
        }
        if (top->has_members)
            append_text(reading, ", ");
        top->has_members = true;
        if (top->number == 11) {
            append_quoted(reading, annotation_name(reading, sequence, member.bytes));
            append_text(reading, ": ");
        }
        depth += append_value(reading, sequence, member.bytes,
                              depth < NESTING_MAX ? &open[depth] : NULL);
    }
}

/* ---- where an event is ---------------------------------------------------------------------- */

static const struct perfetto_track *parent_of(const struct perfetto_state *state,
                                              const struct perfetto_track *track)
{
    uint32_t index = track->parent ? hash_map_find(&state->track_by_id, track->parent) : NO_VALUE;

    return index == NO_VALUE ? NULL : &state->tracks[index];
}

/* NULL where no process is said. PARENTS_MAX steps: tracks may name each other in a circle. */
static const struct perfetto_track *process_of(const struct perfetto_state *state,
                                               const struct perfetto_track *track)
{
    for (int i = 0; track && i < PARENTS_MAX; i++) {
        if (track->has_process || track->has_thread)
            return track;
        track = parent_of(state, track);
    }
    return NULL;
}

/* A track of neither thread nor process has its parent's name: so writers group their streams. */
static void append_track(struct perfetto_reading *reading, uint32_t index)
{
    const struct perfetto_track *track = &reading->state.tracks[index];
    const struct perfetto_track *process = process_of(&reading->state, track);
    const struct perfetto_track *parent = parent_of(&reading->state, track);

    append_text(reading, ", \"pid\": ");
    if (process)
        append_integer(reading, process->pid);
    else
        append_quoted(reading, parent && parent->name
                                   ? perfetto_known_text(&reading->state, parent->name)
                                   : (struct proto_bytes){"trace", 5});
    append_text(reading, ", \"tid\": ");
    if (track->has_thread)
        append_integer(reading, track->tid);
    else if (track->name)
        append_quoted(reading, perfetto_known_text(&reading->state, track->name));
    else
        append_integer(reading, (int64_t)track->id);
}

/* ---- track events --------------------------------------------------------------------------- */

enum track_event_type { TYPE_BEGIN = 1, TYPE_END = 2, TYPE_INSTANT = 3, TYPE_COUNTER = 4 };

/* A TrackEvent's fields, but for its arguments. */
struct track_event {
    uint64_t type;
    uint64_t track;
    struct proto_bytes name;
    struct proto_bytes category;
    bool is_translated;  /* work of a device in the words of another writer */
    uint64_t flow;       /* 0: none */
    uint64_t submission; /* the stage that the call submits; 0: none */
};

/* Categories in the words of other writers. */
static struct proto_bytes kineto_category(struct proto_bytes category)
{
    static const char *const words[][2] = {
        {"kernel_dispatch", "kernel"},       {"memory_copy", "gpu_memcpy"},
        {"hip_api", "hip_runtime"},          {"hip_runtime_api", "hip_runtime"},
        {"hip_compiler_api", "hip_runtime"}, {"marker_api", "user_annotation"},
    };

    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (category.length == strlen(words[i][0]) &&
            memcmp(category.at, words[i][0], category.length) == 0)
            return (struct proto_bytes){words[i][1], strlen(words[i][1])};
    }
    return category;
}

/* Arguments likewise. */
static struct proto_bytes kineto_argument(struct proto_bytes name)
{
    if (name.length == 7 && memcmp(name.at, "corr_id", 7) == 0)
        return (struct proto_bytes){"correlation", 11};
    return name;
}

/* The first category that says what kind of event it is, else the first. */
static void use_category(struct track_event *event, struct proto_bytes category)
{
    struct proto_bytes known = kineto_category(category);

    event->is_translated |= known.at != category.at &&
                            torch_profiler_category_kind(known.at, known.length) > EVENT_HOST_OTHER;
    category = known;
    if (!event->category.length ||
        (torch_profiler_category_kind(event->category.at, event->category.length) ==
             EVENT_HOST_OTHER &&
         torch_profiler_category_kind(category.at, category.length) != EVENT_HOST_OTHER))
        event->category = category;
}

/* gpu_correlation: the ids of stages that the call submits, 1. */
static uint64_t submission_of(struct proto_bytes message)
{
    struct proto_walk walk = proto_walk_of(message);
    struct proto_field field;
    uint64_t id = 0;

    while (proto_next(&walk, &field)) {
        if (proto_is(&field, 1, PROTO_VARINT))
            return field.value;
        if (proto_is(&field, 1, PROTO_LENGTH) && proto_next_packed(&field.bytes, &id))
            return id;
    }
    return 0;
}

static uint64_t first_fixed(const struct proto_field *field)
{
    uint64_t value = 0;

    if (field->form != PROTO_LENGTH)
        return field->value;
    memcpy(&value, field->bytes.at, field->bytes.length < 8 ? field->bytes.length : 8);
    return value;
}

/* Numbers of categories come one by one or packed, as writers of protobuf may choose. */
static void read_categories(struct track_event *event, const struct perfetto_reading *reading,
                            const struct perfetto_sequence *sequence, struct proto_field *field)
{
    uint64_t number = field->value;

    if (field->form == PROTO_VARINT)
        use_category(event, perfetto_known_text(
                                &reading->state,
                                perfetto_interned_name(sequence, INTERNED_CATEGORY, number)));
    while (field->form == PROTO_LENGTH && proto_next_packed(&field->bytes, &number))
        use_category(event, perfetto_known_text(
                                &reading->state,
                                perfetto_interned_name(sequence, INTERNED_CATEGORY, number)));
}

/* Numbers are those of TrackEvent in track_event.proto. The sequence's default track counts
 * where the event names none. */
static struct track_event track_event_of(const struct perfetto_reading *reading,
                                         const struct perfetto_sequence *sequence,
                                         struct proto_bytes message)
{
    struct proto_walk walk = proto_walk_of(message);
    struct proto_field field;
    struct track_event event = {.track = sequence->track};

    while (proto_next(&walk, &field)) {
        if (proto_is(&field, 9, PROTO_VARINT))
            event.type = field.value;
        else if (field.number == 11 && field.form != PROTO_LENGTH)
            event.track = field.value;
        else if (proto_is(&field, 23, PROTO_LENGTH))
            event.name = field.bytes;
        else if (proto_is(&field, 10, PROTO_VARINT))
            event.name = perfetto_known_text(
                &reading->state,
                perfetto_interned_name(sequence, INTERNED_EVENT_NAME, field.value));
        else if (field.number == 3)
            read_categories(&event, reading, sequence, &field);
        else if (proto_is(&field, 22, PROTO_LENGTH))
            use_category(&event, field.bytes);
        else if (field.number == 47 || field.number == 36)
            event.flow = first_fixed(&field);
        else if (proto_is(&field, 3000, PROTO_LENGTH))
            event.submission = submission_of(field.bytes);
    }
    return event;
}

/* The number behind `word` in a track's name, "COMPUTE - AGENT [4] QUEUE [0]"; 0 where there is
 * none. */
static int64_t number_in_name(struct proto_bytes name, const char *word)
{
    const char *at = name.length ? memmem(name.at, name.length, word, strlen(word)) : NULL;
    const char *end = proto_bytes_end(name);
    int64_t number = 0;

    while (at && at < end && (*at < '0' || *at > '9'))
        at++;
    while (at && at < end && *at >= '0' && *at <= '9' && number < INT32_MAX)
        number = number * 10 + (*at++ - '0');
    return number;
}

/* Which device and stream: rocprofv3 says it in the names of tracks alone, whose process is that of
 * the host. */
static void append_place(struct perfetto_reading *reading, const struct track_event *event,
                         bool is_first)
{
    uint32_t index = perfetto_track_of(&reading->state, event->track);
    struct proto_bytes name =
        perfetto_known_text(&reading->state, reading->state.tracks[index].name);

    append_text(reading, is_first ? "\"device\": " : ", \"device\": ");
    append_integer(reading, number_in_name(name, "AGENT"));
    append_text(reading, ", \"stream\": ");
    append_integer(reading, number_in_name(name, "QUEUE"));
}

/* Arguments become JSON in the names of torch.profiler's traces, so that one scanner of
 * arguments is enough. */
static void append_arguments(struct perfetto_reading *reading, const struct track_event *event,
                             const struct perfetto_sequence *sequence, struct proto_bytes message)
{
    struct proto_walk walk = proto_walk_of(message);
    struct proto_field field;
    bool is_first = true;

    append_text(reading, ", \"args\": {");
    while (proto_next(&walk, &field)) {
        if (!proto_is(&field, 4, PROTO_LENGTH))
            continue;
        if (!is_first)
            append_text(reading, ", ");
        is_first = false;
        append_quoted(reading, kineto_argument(annotation_name(reading, sequence, field.bytes)));
        append_text(reading, ": ");
        append_annotation(reading, sequence, field.bytes);
    }
    if (event->is_translated)
        append_place(reading, event, is_first);
    append_text(reading, "}");
}

/* The event as torch.profiler would write it. False where what its arguments hold is no JSON.
 * The event becomes the JSON that torch.profiler would write, and is read by that reader's own
 * code: arguments then mean the same in both forms, and no rule is there twice. It costs a copy
 * of the text. */
static bool scan_as_json(struct perfetto_reading *reading, const struct track_event *event,
                         const struct perfetto_sequence *sequence, struct proto_bytes message,
                         struct torch_event *text)
{
    struct json_scan scan = {0};
    uint32_t track = perfetto_track_of(&reading->state, event->track);

    reading->text_length = 0;
    append_text(reading, event->type == TYPE_BEGIN ? "{\"ph\": \"B\", \"name\": "
                                                   : "{\"ph\": \"i\", \"name\": ");
    append_quoted(reading, event->name);
    if (event->category.length) {
        append_text(reading, ", \"cat\": ");
        append_quoted(reading, event->category);
    }
    append_track(reading, track);
    append_arguments(reading, event, sequence, message);
    append_text(reading, "}");
    memset(reading->text + reading->text_length, 0, INPUT_PADDING);
    scan.limit = reading->text + reading->text_length;
    return torch_event_scan(&scan, reading->text, text) != NULL;
}

/* Whether a track's halves are in the order of time is noted as they come: only those that are
 * not need the sort by time (join_halves). */
static void add_half(struct perfetto_reading *reading, uint64_t track_id, uint32_t slice,
                     int64_t time_ns)
{
    uint32_t index = perfetto_track_of(&reading->state, track_id);
    struct perfetto_track *track = &reading->state.tracks[index];

    track->is_in_order &= time_ns >= track->last_ns;
    track->last_ns = time_ns;
    track->has_ends |= slice == NO_SLICE;
    track->is_begins_first &= slice == NO_SLICE || !track->has_ends;
    LARGE_ARRAY_ADD(reading->halves, reading->half_count,
                    (struct perfetto_half){.time_ns = time_ns,
                                           .track = index,
                                           .slice = slice,
                                           .order = (uint32_t)reading->half_count});
}

/* What joins a call and its work where no argument does. */
static void join_by_flow(struct event *event, const struct track_event *from)
{
    uint64_t id = from->submission ? from->submission : from->flow;
    bool can =
        event->kind == EVENT_RUNTIME_CALL || event_kind_is_on_device((enum event_kind)event->kind);

    if (can && event->correlation == NO_ID && id)
        event->correlation = (int64_t)(id & INT64_MAX);
}

/* An event of our own category is no slice, and the ends of its track are not joined. */
static void open_slice(struct perfetto_reading *reading, const struct track_event *event,
                       const struct torch_event *text, int64_t time_ns)
{
    struct perfetto_slice slice;

    if (!torch_store_convert(&reading->store, text, &slice.event, &slice.category)) {
        uint32_t index = perfetto_track_of(&reading->state, event->track);

        reading->state.tracks[index].is_ours = true;
        return;
    }
    slice.event.start_ns = time_ns;
    join_by_flow(&slice.event, event);
    LARGE_ARRAY_ADD(reading->slices, reading->slice_count, slice);
    add_half(reading, event->track, (uint32_t)(reading->slice_count - 1), time_ns);
}

/* What `flopledger export perfetto` says of the run: as torch.profiler does beside its events. */
static void read_own_header(struct perfetto_reading *reading, const struct torch_event *text)
{
    struct json_walk walk = json_walk_begin(&text->args, '{');
    struct json_slice key, value;

    while (json_walk_next(&walk, &key, &value))
        if (torch_header_knows(&key))
            torch_header_member(&reading->store, &key, &value);
}

/* An end has no name and no arguments: it closes what is open on its track, so that only its
 * time is kept. All else is brought into torch.profiler's form first, so that one reader of
 * arguments serves both. */
void perfetto_read_track_event(struct perfetto_reading *reading,
                               const struct perfetto_sequence *sequence, struct proto_bytes message,
                               int64_t time_ns)
{
    struct track_event event = track_event_of(reading, sequence, message);
    struct torch_event text;
    struct damage damage = {.byte = reading->byte, .length = (int64_t)message.length};

    if (event.type == TYPE_END) {
        uint32_t index = perfetto_track_of(&reading->state, event.track);

        if (!reading->state.tracks[index].is_ours)
            add_half(reading, event.track, NO_SLICE, time_ns);
        return;
    }
    if (event.type != TYPE_BEGIN && event.type != TYPE_INSTANT) {
        reading->builder.read.events += event.type == TYPE_COUNTER;
        return;
    }
    if (!scan_as_json(reading, &event, sequence, message, &text)) {
        (void)snprintf(damage.message, sizeof damage.message,
                       "an argument of an event is JSON, and cannot be read");
        trace_builder_damage(&reading->builder, &damage);
        return;
    }
    text.start_ns = time_ns;
    text.has |= HAS_START;
    if (event.type == TYPE_INSTANT && event.category.length == strlen(OWN_CATEGORY) &&
        memcmp(event.category.at, OWN_CATEGORY, event.category.length) == 0)
        read_own_header(reading, &text);
    else if (event.type == TYPE_BEGIN)
        open_slice(reading, &event, &text, time_ns);
    else
        torch_store_event(&reading->store, &text);
}

/* ---- the end --------------------------------------------------------------------------------- */

void perfetto_reading_clear(struct perfetto_reading *reading)
{
    torch_store_clear(&reading->store);
    perfetto_state_clear(&reading->state);
    free(reading->text);
    large_array_free(reading->slices);
    large_array_free(reading->halves);
    large_array_free(reading->stages);
}
