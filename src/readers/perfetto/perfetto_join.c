/* Joins begins and ends to events, and slices to the stages of a GPU that are the same work. */
#include "base/core/array.h"
#include "base/core/invariant.h"
#include "base/core/large_array.h"
#include "base/core/large_sort.h"
#include "readers/perfetto/perfetto_reading.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SAME_STAGES_MAX = 64, NUMBER_BYTES_MAX = 40 };

/* ---- stages of GPUs ------------------------------------------------------------------------- */

/* x 1, y 2, z 3. A size that is not said is 1, as in a launch. */
static void read_size(struct proto_bytes message, int32_t *size)
{
    struct proto_walk walk = proto_walk_of(message);
    struct proto_field field;

    for (int i = 0; i < 3; i++)
        size[i] = 1;
    while (proto_next(&walk, &field)) {
        if (field.number >= 1 && field.number <= 3 && field.form == PROTO_VARINT &&
            field.value <= INT32_MAX)
            size[field.number - 1] = (int32_t)field.value;
    }
}

/* ExtraData: name 1 (interned: 3), value 2. Numbers of streams and calls may stand there.
 * Writers put there what the message has no field for; only numbers are taken. */
static void read_extra(struct perfetto_stage *stage, struct proto_bytes message)
{
    struct proto_walk walk = proto_walk_of(message);
    struct proto_field field;
    struct proto_bytes name = {NULL, 0};
    int64_t value = -1;

    while (proto_next(&walk, &field)) {
        if (proto_is(&field, 1, PROTO_LENGTH))
            name = field.bytes;
        else if (proto_is(&field, 2, PROTO_LENGTH) && field.bytes.length < 20) {
            struct json_slice digits = {.text = field.bytes.at,
                                        .length = (uint32_t)field.bytes.length};

            if (!slice_integer(&digits, &value))
                value = -1;
        }
    }
    if (value < 0 || !name.length)
        return;
    if (name.length >= 11 && memcmp(name.at, "correlation", 11) == 0)
        stage->event.correlation = value;
    else if (name.length >= 6 && memcmp(name.at, "stream", 6) == 0)
        stage->queue = value;
}

/* What the event is called by, best first. */
struct stage_names {
    struct proto_bytes kernel;
    struct proto_bytes own;
    struct proto_bytes stage;
};

/* A stage has up to three names. Each that the file does not tell counts, as it may be what would
 * have said that the stage is a copy. */
static struct proto_bytes stage_name(struct perfetto_reading *reading,
                                     const struct perfetto_sequence *sequence,
                                     enum perfetto_interned kind, uint64_t number)
{
    bool is_lost = false;
    uint32_t name = perfetto_name_or_number(&reading->state, sequence, kind, number, &is_lost);

    reading->builder.read.lost_names += is_lost;
    return perfetto_known_text(&reading->state, name);
}

/* A queue has a number of its own (3) or that of its description (13), by the writer's
 * version: both only tell queues apart. */
static void read_stage_field(struct perfetto_reading *reading,
                             const struct perfetto_sequence *sequence, struct perfetto_stage *stage,
                             struct stage_names *names, const struct proto_field *field)
{
    struct proto_bytes empty = {NULL, 0};

    switch (field->number) {
    /* 0 is protobuf's default and no id; the top bit has no place in a signed one. */
    case 1:
        stage->event.correlation = field->value ? (int64_t)(field->value & INT64_MAX) : NO_ID;
        break;
    case 2:
        stage->event.duration_ns = proto_signed(field);
        break;
    case 3:
    case 13:
        stage->queue = field->form == PROTO_VARINT ? proto_signed(field) : stage->queue;
        break;
    case 6:
        read_extra(stage, field->bytes);
        break;
    case 11:
        /* A number beyond 31 bits is no device: -1, as if it had not been told. */
        stage->gpu = field->value <= INT32_MAX ? (int32_t)field->value : -1;
        break;
    case 14:
        names->stage = stage_name(reading, sequence, INTERNED_STAGE, field->value);
        break;
    case 17:
        names->own = field->form == PROTO_LENGTH ? field->bytes : empty;
        break;
    case 19:
        names->kernel = stage_name(reading, sequence, INTERNED_KERNEL, field->value);
        break;
    case 20:
        names->own = stage_name(reading, sequence, INTERNED_EVENT_NAME, field->value);
        break;
    default:
        break;
    }
}

/* A launch tells grid and block as messages of three sizes. */
static uint32_t launch_detail(struct perfetto_reading *reading, struct proto_bytes launch)
{
    struct event_detail detail = event_detail_none();
    struct proto_walk walk = proto_walk_of(launch);
    struct proto_field field;

    while (proto_next(&walk, &field)) {
        if (proto_is(&field, 1, PROTO_LENGTH))
            read_size(field.bytes, detail.grid);
        else if (proto_is(&field, 2, PROTO_LENGTH))
            read_size(field.bytes, detail.block);
    }
    return trace_builder_detail(&reading->builder, &detail);
}

static bool names_copy(struct proto_bytes name)
{
    return proto_text_has(name, "emcpy") || proto_text_has(name, "emory copy");
}

static bool names_memset(struct proto_bytes name)
{
    return proto_text_has(name, "emset");
}

/* A stage has a duration, so it needs no end. Copies are known by the word in a name, since
 * stages have no kind; "emcpy" is found in Memcpy and memcpy. */
void perfetto_read_stage(struct perfetto_reading *reading, const struct perfetto_sequence *sequence,
                         struct proto_bytes message, int64_t time_ns)
{
    struct proto_walk walk = proto_walk_of(message);
    struct proto_field field;
    struct perfetto_stage stage = {.gpu = -1, .queue = -1};
    struct stage_names names = {.kernel = {NULL, 0}};
    struct proto_bytes name;
    struct proto_bytes launch = {NULL, 0};

    stage.event = (struct found_event){
        .start_ns = time_ns, .correlation = NO_ID, .external_id = NO_ID, .kind = EVENT_KERNEL};
    while (proto_next(&walk, &field)) {
        if (proto_is(&field, 21, PROTO_LENGTH))
            launch = field.bytes;
        else
            read_stage_field(reading, sequence, &stage, &names, &field);
    }
    /* The kernel's own name goes before the event's, and that before the stage's, which is a
     * kind. */
    name = names.kernel.length ? names.kernel : names.own.length ? names.own : names.stage;
    if (names_copy(name) || names_copy(names.stage))
        stage.event.kind = EVENT_MEMCPY;
    else if (names_memset(name) || names_memset(names.stage))
        stage.event.kind = EVENT_MEMSET;
    if (launch.length)
        stage.event.detail = launch_detail(reading, launch);
    stage.event.name = name.length
                           ? string_pool_add(&reading->builder.strings, name.at, name.length)
                           : string_pool_add(&reading->builder.strings, "(without a name)", 16);
    /* Both are counted and told: an end before its start would make a step's time negative. */
    if (stage.event.duration_ns < 0)
        reading->builder.read.negative_durations++;
    else if (stage.event.duration_ns > INT64_MAX - (time_ns > 0 ? time_ns : 0))
        reading->builder.read.overflowing_durations++;
    else
        LARGE_ARRAY_ADD(reading->stages, reading->stage_count, stage);
}

/* ---- joining -------------------------------------------------------------------------------- */

/* Halves of one track by time. Where all begins of a track stand before all its ends, an end at the
 * time of a begin comes first. */
static int compare_perfetto_halves(const void *a, const void *b, void *argument)
{
    const struct perfetto_track *track = argument;
    const struct perfetto_half *left = a;
    const struct perfetto_half *right = b;

    if (left->time_ns != right->time_ns)
        return left->time_ns < right->time_ns ? -1 : 1;
    if (track->is_begins_first && (left->slice == NO_SLICE) != (right->slice == NO_SLICE))
        return left->slice == NO_SLICE ? -1 : 1;
    return left->order < right->order ? -1 : left->order > right->order;
}

/* Whether all begins of the file stand before all its ends, so that no end stands where it
 * happened, on tracks with an order of time, too: of two slices one after another, both begins go
 * first. */
static bool file_begins_first(const struct perfetto_reading *reading)
{
    bool has_end = false;

    for (size_t i = 0; i < reading->half_count; i++) {
        if (reading->halves[i].slice != NO_SLICE && has_end)
            return false;
        has_end |= reading->halves[i].slice == NO_SLICE;
    }
    return true;
}

/* By track, and there in the order of the file: each half is put behind those of its track that
 * stand before it. Most writers go forward in time on each track, and nothing is left to sort then;
 * of a track whose times go back, halves are sorted by time. */
static void sort_halves(struct perfetto_reading *reading)
{
    size_t *next = require_memory(calloc(reading->state.track_count + 1, sizeof *next));
    struct perfetto_half *sorted = large_array_new(reading->half_count * sizeof *sorted);
    bool begins_first = file_begins_first(reading);
    size_t start = 0;

    for (size_t i = 0; i < reading->half_count; i++)
        next[reading->halves[i].track + 1]++;
    for (size_t i = 0; i < reading->state.track_count; i++)
        next[i + 1] += next[i];
    for (size_t i = 0; i < reading->half_count; i++)
        sorted[next[reading->halves[i].track]++] = reading->halves[i];
    large_array_free(reading->halves);
    reading->halves = sorted;
    for (size_t i = 0; i < reading->state.track_count; i++) {
        struct perfetto_track *track = &reading->state.tracks[i];

        track->is_in_order &= !begins_first;
        if (!track->is_in_order)
            sort_large(&sorted[start], next[i] - start,
                       &(struct large_order){.element_bytes = sizeof *sorted,
                                             .compare = compare_perfetto_halves,
                                             .argument = track});
        start = next[i];
    }
    free(next);
}

/* Stages by their start, to find those that slices show once more. */
struct stage_index {
    struct hash_map by_name;  /* start and name */
    struct hash_map by_start; /* NO_VALUE - 1: several begin then */
};
static const uint32_t several = NO_VALUE - 1;

static uint64_t stage_key(const struct found_event *event)
{
    return (uint64_t)event->start_ns * 0x9e3779b97f4a7c15u ^ event->name;
}

/* Chains through `next` hold stages of one start and name; by_start says whether the start
 * alone is enough. */
static void index_stages(struct perfetto_reading *reading, struct stage_index *index)
{
    for (size_t i = 0; i < reading->stage_count; i++) {
        struct perfetto_stage *stage = &reading->stages[i];
        uint64_t start = (uint64_t)stage->event.start_ns;
        uint32_t before = hash_map_set(&index->by_name, stage_key(&stage->event), (uint32_t)i);

        stage->next = before == NO_VALUE ? NO_SLICE : before;
        if (hash_map_add(&index->by_start, start, (uint32_t)i) != i)
            hash_map_set(&index->by_start, start, several);
    }
}

/* Whether the stage is more likely the same work as the slice than the one before: it has its id,
 * or is not shorter, and then the shortest. */
static bool is_likelier_stage(const struct perfetto_stage *stage,
                              const struct perfetto_stage *before, const struct found_event *event)
{
    bool has_id = event->correlation != NO_ID && stage->event.correlation == event->correlation;
    bool had_id =
        before && event->correlation != NO_ID && before->event.correlation == event->correlation;

    if (!before || has_id != had_id)
        return !before || has_id;
    if ((stage->event.duration_ns >= event->duration_ns) !=
        (before->event.duration_ns >= event->duration_ns))
        return stage->event.duration_ns >= event->duration_ns;
    return stage->event.duration_ns <= before->event.duration_ns;
}

/* The stage that is the same work as the slice; NULL where none is.
 *
 * Some recorders write a kernel twice, as a slice of a track and as a stage of the GPU, in two
 * parts of the file. Counted twice it would double the device's time. The same start and name
 * are the same work; where the names differ, the same start is enough if only one stage begins
 * then. A stage is taken once (is_shown). */
static struct perfetto_stage *stage_of(struct perfetto_reading *reading,
                                       const struct stage_index *index,
                                       const struct found_event *event)
{
    uint32_t found = hash_map_find(&index->by_name, stage_key(event));
    struct perfetto_stage *best = NULL;

    for (int i = 0; i < SAME_STAGES_MAX && found != NO_SLICE; i++) {
        struct perfetto_stage *stage = &reading->stages[found];

        if (!stage->is_shown && stage->event.start_ns == event->start_ns &&
            is_likelier_stage(stage, best, event))
            best = stage;
        found = stage->next;
    }
    if (best)
        return best;
    found = hash_map_find(&index->by_start, (uint64_t)event->start_ns);
    if (found == NO_VALUE || found == several || reading->stages[found].is_shown)
        return NULL;
    return &reading->stages[found];
}

/* The stage's time and name count where both are there: the GPU's clock measured it, the slice
 * may have been rounded. */
static void use_stage(struct perfetto_reading *reading, const struct stage_index *index,
                      struct found_event *event)
{
    struct perfetto_stage *stage = NULL;

    if (event_kind_is_device_work((enum event_kind)event->kind) && reading->stage_count)
        stage = stage_of(reading, index, event);
    if (!stage)
        return;
    reading->builder.read.clamped_durations += event->duration_ns < stage->event.duration_ns;
    event->duration_ns = stage->event.duration_ns;
    event->name = stage->event.name;
    if (event->correlation == NO_ID)
        event->correlation = stage->event.correlation;
    if (!event->detail)
        event->detail = stage->event.detail;
    stage->is_shown = true;
}

/* `index` may be NULL where there is no stage. */
static void end_slice(struct perfetto_reading *reading, const struct stage_index *index,
                      struct perfetto_slice *slice, int64_t end_ns)
{
    struct trace_builder *builder = &reading->builder;
    struct found_event *event = &slice->event;

    builder->read.events++;
    if (__builtin_sub_overflow(end_ns, event->start_ns, &event->duration_ns)) {
        builder->read.overflowing_durations++;
        return;
    }
    if (index)
        use_stage(reading, index, event);
    trace_builder_add(builder, event);
    trace_builder_count(builder, slice->category, 'X', event->start_ns, found_event_end_ns(event));
}

/* There is no stage where slices are joined at once. */
void perfetto_end_slice(struct perfetto_reading *reading, struct perfetto_slice *slice,
                        int64_t end_ns)
{
    end_slice(reading, NULL, slice, end_ns);
}

/* Begins that are open on a track. */
struct open_slices {
    uint32_t *slices; /* a large array */
    size_t depth;
};

/* A begin and an end name no partner: on one track slices nest, so an end closes the innermost
 * open begin. That holds where the file's order is that of time. Where it is not (packets of
 * several buffers), halves are sorted by time, and of a begin and an end at one time it cannot
 * be known whether the slice before ends or one of no length begins; those are counted as
 * ambiguous and told. Ends without a begin are counted, not joined. */
static void join_halves(struct perfetto_reading *reading, const struct stage_index *index)
{
    struct read_account *read = &reading->builder.read;
    struct open_slices open = {0};
    size_t waiting = 0; /* ends that came before the begins of the same time */

    for (size_t i = 0; i < reading->half_count; i++) {
        const struct perfetto_half *half = &reading->halves[i];
        const struct perfetto_half *before = i ? half - 1 : half;

        if (half->track != before->track || half->time_ns != before->time_ns) {
            read->unmatched_ends += (int64_t)waiting;
            waiting = 0;
        }
        if (half->track != before->track) {
            read->unmatched_begins += (int64_t)open.depth;
            open.depth = 0;
        }
        if (half->slice != NO_SLICE && before->slice == NO_SLICE && half->track == before->track &&
            half->time_ns == before->time_ns && !reading->state.tracks[half->track].is_in_order)
            read->ambiguous_slices++;
        if (half->slice == NO_SLICE && open.depth) {
            end_slice(reading, index, &reading->slices[open.slices[--open.depth]], half->time_ns);
        } else if (half->slice == NO_SLICE) {
            waiting++;
        } else if (waiting && !reading->state.tracks[half->track].is_in_order) {
            waiting--;
            end_slice(reading, index, &reading->slices[half->slice], half->time_ns);
        } else {
            LARGE_ARRAY_RESERVE(open.slices, open.depth + 1);
            open.slices[open.depth++] = half->slice;
        }
    }
    read->unmatched_ends += (int64_t)waiting;
    read->unmatched_begins += (int64_t)open.depth;
    large_array_free(open.slices);
}

static bool says_gpus(const struct perfetto_reading *reading)
{
    for (size_t i = 0; i < reading->stage_count; i++) {
        if (reading->stages[i].gpu >= 0)
            return true;
    }
    return false;
}

/* Counters of the one GPU that there is, whose number is not said. */
static void number_counters(struct series_list *list, int32_t unsaid)
{
    for (uint32_t i = 0; i < list->count; i++)
        if (list->series[i].device == PERFETTO_GPU_NOT_SAID)
            list->series[i].device = unsaid;
}

/* Where no stage names a GPU there is one, and it is 0; where others do, those that do not
 * stay apart. */
static void add_gpu_stages(struct perfetto_reading *reading)
{
    struct trace_builder *builder = &reading->builder;
    uint32_t category = string_pool_add(&builder->strings, "gpu_render_stage_event", 22);
    int32_t unsaid = says_gpus(reading) ? PERFETTO_GPU_NOT_SAID : 0;
    char text[NUMBER_BYTES_MAX];

    number_counters(&builder->series, unsaid);
    for (size_t i = 0; i < reading->stage_count; i++) {
        struct perfetto_stage *stage = &reading->stages[i];
        struct track_key key = {.is_device = true,
                                .device = stage->gpu >= 0 ? stage->gpu : unsaid,
                                .stream = stage->queue};

        builder->read.events++;
        trace_builder_count(builder, category, 'X', stage->event.start_ns,
                            found_event_end_ns(&stage->event));
        if (stage->is_shown)
            continue;
        (void)snprintf(text, sizeof text, "%" PRId32, key.device);
        key.process = string_pool_add(&builder->strings, text, strlen(text));
        (void)snprintf(text, sizeof text, "queue %" PRId64, key.stream);
        key.thread = string_pool_add(&builder->strings, text, strlen(text));
        stage->event.track = trace_builder_track(builder, &key);
        trace_builder_add(builder, &stage->event);
    }
}

/* Names of threads and processes, as `append_track` calls them. */
static void name_perfetto_tracks(struct perfetto_reading *reading)
{
    struct trace_builder *builder = &reading->builder;
    char text[NUMBER_BYTES_MAX];

    for (size_t i = 0; i < reading->state.track_count; i++) {
        const struct perfetto_track *track = &reading->state.tracks[i];
        struct given_name given = {.is_thread = track->has_thread};
        uint32_t name = track->has_thread ? track->name : track->process_name;
        struct proto_bytes said = perfetto_known_text(&reading->state, name);

        if (!name || !(track->has_thread || track->has_process))
            continue;
        (void)snprintf(text, sizeof text, "%" PRId64, track->pid);
        given.process = string_pool_add(&builder->strings, text, strlen(text));
        (void)snprintf(text, sizeof text, "%" PRId64, track->tid);
        given.thread = string_pool_add(&builder->strings, text, strlen(text));
        given.name = string_pool_add(&builder->strings, said.at, said.length);
        trace_builder_name(builder, &given);
    }
}

/* Sort, index, join, then what of the stages is left: each slice takes at most one stage, so
 * no work counts twice. O(n log n). */
void perfetto_finish_events(struct perfetto_reading *reading)
{
    struct stage_index index = {0};

    for (size_t i = 0; i < reading->state.track_count; i++)
        reading->builder.read.unmatched_begins += (int64_t)reading->state.tracks[i].open_count;
    if (reading->half_count)
        sort_halves(reading);
    index_stages(reading, &index);
    join_halves(reading, &index);
    add_gpu_stages(reading);
    name_perfetto_tracks(reading);
    hash_map_clear(&index.by_name);
    hash_map_clear(&index.by_start);
}
