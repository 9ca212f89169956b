/* Track events as torch.profiler's JSON has them: the same words, so that one trace in both forms
 * has one ledger. */
#include "base/core/array.h"
#include "base/core/large_array.h"
#include "base/io/input_stream.h"
#include "base/json/json_walk.h"
#include "readers/perfetto/perfetto_reading.h"
#include "readers/torch_profiler/torch_profiler_reading.h"
#include "readers/torch_profiler/torch_profiler_scan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Categories in the words of other writers: rocprofv3, rocprof-sys and, before it, Omnitrace. */
static struct proto_bytes kineto_category(struct proto_bytes category)
{
    static const char *const words[][2] = {
        {"kernel_dispatch", "kernel"},
        {"memory_copy", "gpu_memcpy"},
        {"hip_api", "hip_runtime"},
        {"hip_runtime_api", "hip_runtime"},
        {"hip_compiler_api", "hip_runtime"},
        {"marker_api", "user_annotation"},
        {"hsa_api", "hip_runtime"},
        {"rccl_api", "hip_runtime"},
        {"rocm_hip", "hip_runtime"},
        {"rocm_hsa", "hip_runtime"},
        {"rocm_roctx", "user_annotation"},
        {"rocm_hip_stream", "kernel"},
        {"device_hip", "kernel"},
    };
    static const char of_systems[] = "rocm_";
    size_t skipped = proto_text_begins(category, of_systems) ? strlen(of_systems) : 0;

    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (proto_text_is(category, words[i][0]) ||
            (skipped && category.length == skipped + strlen(words[i][0]) &&
             memcmp(category.at + skipped, words[i][0], category.length - skipped) == 0))
            return (struct proto_bytes){words[i][1], strlen(words[i][1])};
    }
    return category;
}

/* The text as a category. */
static const struct perfetto_word *category_word(struct perfetto_state *state, uint32_t string)
{
    struct perfetto_word *word = perfetto_word_of(state, string);
    struct proto_bytes written;

    if (word->category.length)
        return word;
    written = perfetto_known_text(state, string);
    word->category = kineto_category(written);
    word->kind = (uint8_t)torch_profiler_category_kind(word->category.at, word->category.length);
    word->is_translated = word->category.at != written.at && word->kind > EVENT_HOST_OTHER;
    word->is_of_stream =
        proto_text_is(written, "rocm_hip_stream") || proto_text_is(written, "device_hip");
    state->is_of_rocprof |= word->category.at != written.at;
    state->is_of_systems |= word->is_of_stream || (word->category.at != written.at &&
                                                   proto_text_begins(written, "rocm_"));
    return word;
}

/* The first category that says what kind of event it is, else the first. */
static void use_category(struct perfetto_event *event, struct perfetto_state *state,
                         uint32_t string)
{
    const struct perfetto_word *word = category_word(state, string);
    bool says_kind = word->kind != EVENT_HOST_OTHER;

    event->is_translated |= word->is_translated;
    if (!event->category ||
        (says_kind && perfetto_word_of(state, event->category)->kind == EVENT_HOST_OTHER))
        event->category = string;
}

static void use_category_number(struct perfetto_event *event, struct perfetto_state *state,
                                const struct perfetto_sequence *sequence, uint64_t number)
{
    use_category(
        event, state,
        perfetto_name_or_number(state, sequence, INTERNED_CATEGORY, number, &event->has_lost_name));
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

/* Flows may be several: the first joins. */
static uint64_t first_fixed(const struct proto_field *field)
{
    uint64_t value = 0;

    if (field->form != PROTO_LENGTH)
        return field->value;
    memcpy(&value, field->bytes.at, field->bytes.length < 8 ? field->bytes.length : 8);
    return value;
}

/* Numbers of categories come one by one or packed, as writers of protobuf may choose. */
static void read_categories(struct perfetto_event *event, struct perfetto_reading *reading,
                            const struct perfetto_sequence *sequence, struct proto_field *field)
{
    uint64_t number = field->value;

    if (field->form == PROTO_VARINT)
        use_category_number(event, &reading->state, sequence, number);
    while (field->form == PROTO_LENGTH && proto_next_packed(&field->bytes, &number))
        use_category_number(event, &reading->state, sequence, number);
}

/* Annotations stand one behind another: what lies between the first and the last is walked again.
 */
static void read_annotation(struct perfetto_event *event, const char *start, const char *end)
{
    if (!event->arguments.length)
        event->arguments.at = start;
    event->arguments.length = (size_t)(end - event->arguments.at);
}

static void read_event_name(struct perfetto_event *event, struct perfetto_state *state,
                            const struct perfetto_sequence *sequence, uint64_t number)
{
    event->name_word = perfetto_name_or_number(state, sequence, INTERNED_EVENT_NAME, number,
                                               &event->has_lost_name);
    event->name = perfetto_known_text(state, event->name_word);
}

/* LegacyEvent: an event of Chrome's JSON as it was. name_iid 1, phase 2, duration_us 3;
 * pid_override 18, tid_override 19. */
static void read_legacy(struct perfetto_event *event, struct perfetto_state *state,
                        const struct perfetto_sequence *sequence, struct proto_bytes message)
{
    struct proto_walk walk = proto_walk_of(message);
    struct proto_field field;

    while (proto_next(&walk, &field)) {
        if (field.form != PROTO_VARINT)
            continue;
        if (field.number == 1 && !event->name.length)
            read_event_name(event, state, sequence, field.value);
        else if (field.number == 2)
            event->phase = field.value < 0x80 ? (char)field.value : '?';
        else if (field.number == 3)
            event->duration_us = proto_signed(&field);
        else if (field.number == 18 || field.number == 19)
            event->is_elsewhere = true;
    }
}

/* Fields of an event that are texts or lists. `start`: of the field. */
static void read_event_text(struct perfetto_event *event, struct perfetto_reading *reading,
                            const struct perfetto_sequence *sequence, struct proto_field *field,
                            const char *start)
{
    switch (field->number) {
    case 3:
        read_categories(event, reading, sequence, field);
        break;
    case 4:
        read_annotation(event, start, proto_bytes_end(field->bytes));
        break;
    case 6:
        read_legacy(event, &reading->state, sequence, field->bytes);
        break;
    case 22:
        use_category(event, &reading->state, perfetto_text(&reading->state, field->bytes));
        break;
    case 23:
        event->name = field->bytes;
        event->name_word = 0;
        break;
    case 36:
    case 47:
        event->flow = first_fixed(field);
        break;
    case 42:
    case 48: /* that end here: of the work, where the call has the one before */
        event->flow = event->flow ? event->flow : first_fixed(field);
        break;
    case 3000:
        event->submission = submission_of(field->bytes);
        break;
    default:
        break;
    }
}

/* Numbers are those of TrackEvent in track_event.proto. `start`: of the field. */
static void read_event_field(struct perfetto_event *event, struct perfetto_reading *reading,
                             const struct perfetto_sequence *sequence, struct proto_field *field,
                             const char *start)
{
    if (field->form == PROTO_LENGTH)
        read_event_text(event, reading, sequence, field, start);
    else if (field->number == 11)
        event->track_id = field->value;
    else if (field->number == 36 || field->number == 47)
        event->flow = first_fixed(field);
    else if ((field->number == 42 || field->number == 48) && !event->flow)
        event->flow = first_fixed(field);
    else if (proto_is(field, 3, PROTO_VARINT))
        read_categories(event, reading, sequence, field);
    else if (proto_is(field, 9, PROTO_VARINT))
        event->type = field->value;
    else if (proto_is(field, 10, PROTO_VARINT))
        read_event_name(event, &reading->state, sequence, field->value);
}

/* A flow: its key has two bytes. */
static bool read_usual_flow(struct perfetto_event *event, const char **at, const char *end)
{
    const unsigned key = 47 << 3 | PROTO_8_BYTES;

    if (end - *at < 10 || (unsigned char)(*at)[1] != key >> 7)
        return false;
    memcpy(&event->flow, *at + 2, sizeof event->flow);
    *at += 2 + sizeof event->flow;
    return true;
}

/* The fields of nearly all events. False where another comes next. */
static bool read_usual_event_field(struct perfetto_event *event, struct perfetto_state *state,
                                   const struct perfetto_sequence *sequence, const char **at,
                                   const char *end)
{
    const char *start = *at;
    struct proto_bytes bytes;
    uint64_t number;

    switch ((unsigned char)*start) {
    case 3 << 3 | PROTO_VARINT:
        if (!proto_usual_varint(at, end, &number))
            return false;
        use_category_number(event, state, sequence, number);
        return true;
    case 4 << 3 | PROTO_LENGTH:
        if (!proto_usual_bytes(at, end, &bytes))
            return false;
        read_annotation(event, start, *at);
        return true;
    case 9 << 3 | PROTO_VARINT:
        return proto_usual_varint(at, end, &event->type);
    case 10 << 3 | PROTO_VARINT:
        if (!proto_usual_varint(at, end, &number))
            return false;
        read_event_name(event, state, sequence, number);
        return true;
    case 11 << 3 | PROTO_VARINT:
        return proto_usual_varint(at, end, &event->track_id);
    case 0x80 | (47 << 3 & 0x7f) | PROTO_8_BYTES:
        return read_usual_flow(event, at, end);
    default:
        return false;
    }
}

/* The sequence's default track counts where the event names none. */
void perfetto_collect_event(struct perfetto_event *event, struct perfetto_reading *reading,
                            const struct perfetto_sequence *sequence, struct proto_bytes message)
{
    struct proto_walk walk = proto_walk_of(message);
    struct proto_field field;
    const char *start;

    *event = (struct perfetto_event){.track_id = sequence->track, .source = -1, .agent = -1};
    do {
        while (walk.at < walk.end &&
               read_usual_event_field(event, &reading->state, sequence, &walk.at, walk.end))
            continue;
        start = walk.at;
        if (start == walk.end || !proto_next(&walk, &field))
            break;
        read_event_field(event, reading, sequence, &field, start);
    } while (walk.at < walk.end);
}

/* The track in the builder of an event of this kind. */
static uint32_t builder_track(struct perfetto_reading *reading, uint32_t index,
                              struct torch_event *text, uint8_t kind)
{
    struct perfetto_track *track = &reading->state.tracks[index];
    bool is_device = event_kind_is_on_device((enum event_kind)kind);
    struct perfetto_place *place = is_device ? &track->on_device : &track->host;
    int64_t device = event_has_arg(text, ARG_DEVICE) ? text->numbers[ARG_DEVICE] : -1;
    int64_t stream = event_has_arg(text, ARG_STREAM) ? text->numbers[ARG_STREAM] : -1;

    if (place->descriptions != reading->state.descriptions + 1 ||
        (is_device && (place->device != device || place->stream != stream))) {
        perfetto_write_place(reading, index, text);
        *place = (struct perfetto_place){.descriptions = reading->state.descriptions + 1,
                                         .track = torch_store_track(&reading->store, text, kind),
                                         .device = device,
                                         .stream = stream};
    }
    return place->track;
}

/* A name that is not interned is looked up each time. */
static struct torch_name name_of_event(struct perfetto_reading *reading,
                                       const struct perfetto_event *event)
{
    struct perfetto_word *word;

    if (!event->name_word)
        return torch_store_name(&reading->store, event->name.at, event->name.length);
    word = perfetto_word_of(&reading->state, event->name_word);
    if (!word->has_name) {
        struct proto_bytes name = perfetto_known_text(&reading->state, event->name_word);

        word->name = torch_store_name(&reading->store, name.at, name.length);
        word->has_name = true;
    }
    return word->name;
}

/* Looked up once for each text, as categories are always interned or few. */
static struct torch_category known_category(struct perfetto_reading *reading,
                                            const struct perfetto_event *event)
{
    struct perfetto_word *word = perfetto_word_of(&reading->state, event->category);

    if (!word->has_known) {
        word->known =
            torch_store_category(&reading->store, word->category.at, word->category.length);
        word->has_known = true;
    }
    return word->known;
}

bool perfetto_is_ours(struct perfetto_reading *reading, const struct perfetto_event *event)
{
    return known_category(reading, event).is_ours;
}

/* ---- slices --------------------------------------------------------------------------------- */

/* On one track slices nest, so that an end closes the innermost open begin. */
static void join_half(struct perfetto_reading *reading, struct perfetto_track *track,
                      const struct perfetto_slice *slice, int64_t time_ns)
{
    reading->must_sort |= !track->is_in_order;
    if (slice) {
        reading->has_begin_behind |= reading->has_end;
        ARRAY_RESERVE(track->open, track->open_room, track->open_count + 1);
        track->open[track->open_count++] = *slice;
        return;
    }
    reading->has_end = true;
    if (track->open_count)
        perfetto_end_slice(reading, &track->open[--track->open_count], time_ns);
    else
        reading->builder.read.unmatched_ends++;
}

/* The begin of a slice, or an end (NULL). Whether a track's halves are in the order of time is
 * noted as they come: only those that are not need the sort by time (join_halves). */
static void add_half(struct perfetto_reading *reading, uint32_t index,
                     const struct perfetto_slice *slice, int64_t time_ns)
{
    struct perfetto_track *track = &reading->state.tracks[index];

    track->is_in_order &= time_ns >= track->last_ns;
    track->last_ns = time_ns;
    if (reading->joins_at_once) {
        join_half(reading, track, slice, time_ns);
        return;
    }
    track->has_ends |= !slice;
    track->is_begins_first &= !slice || !track->has_ends;
    LARGE_ARRAY_ADD(
        reading->halves, reading->half_count,
        (struct perfetto_half){.time_ns = time_ns,
                               .track = index,
                               .slice = slice ? (uint32_t)reading->slice_count : NO_SLICE,
                               .order = (uint32_t)reading->half_count});
    if (slice)
        LARGE_ARRAY_ADD(reading->slices, reading->slice_count, *slice);
}

/* What joins a call and its work where no argument does. rocprofv3's correlations are of a process,
 * and rocpd2pftrace writes several into a file; flows are of all. */
static void join_by_flow(const struct perfetto_reading *reading, struct found_event *event,
                         const struct perfetto_event *from)
{
    uint64_t id = from->submission ? from->submission : from->flow;
    bool can =
        event->kind == EVENT_RUNTIME_CALL || event_kind_is_on_device((enum event_kind)event->kind);

    if (can && (event->correlation == NO_ID || reading->state.is_of_rocprof) && id)
        event->correlation = (int64_t)(id & INT64_MAX);
}

/* An argument of the event is no JSON. */
static void set_event_aside(struct perfetto_reading *reading, struct proto_bytes message)
{
    struct damage damage = {.byte = reading->byte, .length = (int64_t)message.length};

    (void)snprintf(damage.message, sizeof damage.message,
                   "an argument of an event is JSON, and cannot be read");
    trace_builder_damage(&reading->builder, &damage);
}

static void add_open_slice(struct perfetto_reading *reading, const struct perfetto_event *event,
                           struct perfetto_slice *slice, int64_t time_ns)
{
    slice->event.start_ns = time_ns;
    join_by_flow(reading, &slice->event, event);
    add_half(reading, event->track, slice, time_ns);
}

/* Its place comes last: it may be told by the arguments. */
void perfetto_open_slice(struct perfetto_reading *reading, const struct perfetto_event *event,
                         struct torch_event *text, int64_t time_ns)
{
    struct torch_category category = known_category(reading, event);
    struct perfetto_slice slice = {.category = category.string};

    if (event->is_translated)
        perfetto_use_place(reading, event, text);
    slice.event =
        torch_store_named(&reading->store, text, category.kind, name_of_event(reading, event));
    slice.event.track = builder_track(reading, event->track, text, category.kind);
    add_open_slice(reading, event, &slice, time_ns);
}

void perfetto_close_slice(struct perfetto_reading *reading, uint32_t track, int64_t time_ns)
{
    if (!reading->state.tracks[track].is_ours)
        add_half(reading, track, NULL, time_ns);
}

/* An event of our own category is no slice, and the ends of its track are not joined. */
static void read_begin(struct perfetto_reading *reading, const struct perfetto_event *event,
                       const struct perfetto_sequence *sequence, struct proto_bytes message,
                       int64_t time_ns)
{
    struct torch_event text;
    struct perfetto_slice slice;
    bool is_ours = perfetto_is_ours(reading, event);

    torch_event_clear(&text);
    if (!is_ours && perfetto_use_arguments(reading, event, sequence, &text)) {
        perfetto_open_slice(reading, event, &text, time_ns);
        return;
    }
    if (!is_ours && !perfetto_scan_as_json(reading, event, sequence, &text)) {
        set_event_aside(reading, message);
        return;
    }
    is_ours =
        is_ours || !torch_store_convert(&reading->store, &text, &slice.event, &slice.category);
    reading->state.tracks[event->track].is_ours |= is_ours;
    if (!is_ours)
        add_open_slice(reading, event, &slice, time_ns);
}

/* What `flopledger export perfetto` says of the run: as torch.profiler does beside its events. */
static void read_own_header(struct perfetto_reading *reading, const struct torch_event *text)
{
    struct json_walk walk = json_walk_begin(&text->args, '{');
    struct json_slice key, value;

    reading->state.is_of_export = true;
    while (json_walk_next(&walk, &key, &value))
        if (torch_header_knows(&key))
            torch_header_member(&reading->store, &key, &value);
}

static void read_instant(struct perfetto_reading *reading, const struct perfetto_event *event,
                         const struct perfetto_sequence *sequence, struct proto_bytes message,
                         int64_t time_ns)
{
    struct torch_event text;

    if (!perfetto_scan_as_json(reading, event, sequence, &text)) {
        set_event_aside(reading, message);
        return;
    }
    text.start_ns = time_ns;
    text.has |= HAS_START;
    if (event->phase == 'X') {
        text.phase = 'X';
        text.has |= HAS_DURATION;
        if (__builtin_mul_overflow(event->duration_us, INT64_C(1000), &text.duration_ns))
            text.has |= HAS_DURATION_OVERFLOW;
    }
    if (proto_text_is(perfetto_word_of(&reading->state, event->category)->category, OWN_CATEGORY))
        read_own_header(reading, &text);
    else
        torch_store_event(&reading->store, &text);
}

/* Of a category for all work of streams: what the name of an event says that it is, where it is no
 * kernel. What waits is no work. */
static void use_stream_work(struct perfetto_event *event, struct perfetto_state *state)
{
    static const char *const words[][2] = {
        {"MEMORY_COPY_", "memory_copy"}, {"CopyHostTo", "memory_copy"},
        {"CopyDeviceTo", "memory_copy"}, {"FillBuffer", "gpu_memset"},
        {"Marker", "barrier"},           {"InternalMarker", "barrier"},
        {"Barrier", "barrier"},
    };

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (proto_text_begins(event->name, words[i][0])) {
            event->category = string_pool_add(&state->texts, words[i][1], strlen(words[i][1]));
            event->is_translated = category_word(state, event->category)->kind > EVENT_HOST_OTHER;
            return;
        }
}

/* The device of a stream's work, which its track does not tell; -1: not known. */
static int64_t agent_of_stream_work(const struct perfetto_event *event,
                                    struct perfetto_reading *reading,
                                    const struct perfetto_sequence *sequence)
{
    const char *argument = "agent";

    if (perfetto_word_of(&reading->state, event->category)->kind == EVENT_MEMCPY)
        argument = proto_text_has(event->name, "TO_HOST") ? "src_agent" : "dst_agent";
    return perfetto_agent_of(reading, event, sequence, argument);
}

/* A copy of rocprofv3, "MEMORY_COPY_HOST_TO_DEVICE", in the words of torch.profiler, so that copies
 * of one kind are one row whichever of its formats was written. Where it comes from is told by an
 * argument, as its track is that of where it goes to. */
static void use_copy(struct perfetto_event *event, const struct perfetto_reading *reading,
                     const struct perfetto_sequence *sequence)
{
    static const char begins[] = "MEMORY_COPY_";
    struct json_slice direction = {.text = event->name.at, .length = (uint32_t)event->name.length};
    const char *name;

    if (!proto_text_begins(event->name, begins))
        return;
    direction.text += strlen(begins);
    direction.length -= (uint32_t)strlen(begins);
    name = torch_profiler_copy_name(&direction);
    if (name) {
        event->name = (struct proto_bytes){name, strlen(name)};
        event->name_word = 0;
    }
    event->source = perfetto_agent_of(reading, event, sequence, "src_agent");
}

/* The type of an event of Chrome's older form; events with a duration go the way of instants. All
 * that has no type here, arrows and counters among it, is counted as not used. */
static void use_phase(struct perfetto_reading *reading, struct perfetto_event *event)
{
    char text[64];

    if (!event->is_elsewhere && strchr("BEXiIR", event->phase)) {
        event->type = event->phase == 'B'   ? PERFETTO_BEGIN
                      : event->phase == 'E' ? PERFETTO_END
                                            : PERFETTO_INSTANT;
        return;
    }
    (void)snprintf(text, sizeof text, "legacy events of phase %c%s",
                   event->phase > ' ' && event->phase < 0x7f ? event->phase : '?',
                   event->is_elsewhere ? ", of other threads" : "");
    read_account_leave(&reading->builder.read, text, 1);
}

/* An end has no name and no arguments: it closes what is open on its track, so that only its
 * time is kept. */
void perfetto_read_track_event(struct perfetto_reading *reading,
                               const struct perfetto_sequence *sequence, struct proto_bytes message,
                               int64_t time_ns)
{
    struct perfetto_event event;

    perfetto_collect_event(&event, reading, sequence, message);
    if (event.phase && !event.type)
        use_phase(reading, &event);
    else
        event.phase = 0;
    if (event.type < PERFETTO_BEGIN || event.type > PERFETTO_INSTANT) {
        reading->builder.read.events += event.type == PERFETTO_COUNTER;
        return;
    }
    event.track = perfetto_track_of(&reading->state, event.track_id);
    if (event.is_translated && event.type == PERFETTO_BEGIN) {
        if (perfetto_word_of(&reading->state, event.category)->is_of_stream)
            use_stream_work(&event, &reading->state);
        if (perfetto_is_stream_alone(reading, event.track))
            event.agent = agent_of_stream_work(&event, reading, sequence);
        use_copy(&event, reading, sequence);
    }
    reading->builder.read.lost_names += event.has_lost_name && event.type != PERFETTO_END;
    if (event.type == PERFETTO_BEGIN)
        read_begin(reading, &event, sequence, message, time_ns);
    else if (event.type == PERFETTO_INSTANT)
        read_instant(reading, &event, sequence, message, time_ns);
    else
        perfetto_close_slice(reading, event.track, time_ns);
}

/* ---- the end --------------------------------------------------------------------------------- */

void perfetto_reading_clear(struct perfetto_reading *reading)
{
    torch_store_clear(&reading->store);
    perfetto_state_clear(&reading->state);
    string_pool_clear(&reading->lists);
    free(reading->list_strings);
    free(reading->text);
    large_array_free(reading->slices);
    large_array_free(reading->halves);
    large_array_free(reading->stages);
}
