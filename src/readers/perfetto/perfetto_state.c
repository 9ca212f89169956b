/* What packets of a Perfetto trace refer to: interned names, clocks and tracks. */
#include "base/core/array.h"
#include "readers/perfetto/perfetto_reading.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Texts are kept once each, as most repeat. */
uint32_t perfetto_text(struct perfetto_state *state, struct proto_bytes text)
{
    return string_pool_add(&state->texts, text.at ? text.at : "", text.length);
}

struct proto_bytes perfetto_known_text(const struct perfetto_state *state, uint32_t string)
{
    return (struct proto_bytes){string_pool_text(&state->texts, string),
                                string_pool_length(&state->texts, string)};
}

/* Words are zero until they are looked at. */
struct perfetto_word *perfetto_new_word(struct perfetto_state *state, uint32_t string)
{
    size_t known = state->word_count;

    ARRAY_RESERVE(state->words, state->word_count, (size_t)string + 1);
    memset(state->words + known, 0, (state->word_count - known) * sizeof *state->words);
    return &state->words[string];
}

/* ---- sequences ------------------------------------------------------------------------------ */

/* BOOTTIME is the default clock of the format (TracePacket.timestamp_clock_id). */
struct perfetto_sequence *perfetto_sequence_of(struct perfetto_state *state, uint64_t id)
{
    uint32_t index;

    /* Writers put their packets together in pieces. */
    if (state->last_sequence < state->sequence_count &&
        state->sequences[state->last_sequence].id == id)
        return &state->sequences[state->last_sequence];
    index = hash_map_add(&state->sequence_by_id, id, (uint32_t)state->sequence_count);
    state->last_sequence = index;
    if (index == state->sequence_count)
        ARRAY_ADD(state->sequences, state->sequence_count,
                  (struct perfetto_sequence){.id = id, .clock = CLOCK_BOOTTIME_ID});
    return &state->sequences[index];
}

/* Texts stay: other sequences may have them, too. */
static void forget_names(struct perfetto_sequence *sequence)
{
    hash_map_clear(&sequence->names);
    sequence->names = (struct hash_map){0};
    for (size_t i = 0; i < INTERNED_FEW; i++) {
        free(sequence->few[i].strings);
        sequence->few[i] = (struct perfetto_names){0};
    }
}

/* Numbers of names are anew from here on; the clock is the boot's until the sequence says
 * another. */
void perfetto_sequence_begin(struct perfetto_state *state, struct perfetto_sequence *sequence)
{
    state->meaning++;
    forget_names(sequence);
    sequence->has_state = true;
    sequence->track = 0;
    sequence->clock = CLOCK_BOOTTIME_ID;
}

static uint64_t interned_key(enum perfetto_interned kind, uint64_t number)
{
    return (uint64_t)kind << 60 | (number & (((uint64_t)1 << 60) - 1));
}

uint32_t perfetto_rare_name(const struct perfetto_sequence *sequence, enum perfetto_interned kind,
                            uint64_t number)
{
    uint32_t name = hash_map_find(&sequence->names, interned_key(kind, number));

    return name == NO_VALUE ? 0 : name;
}

uint32_t perfetto_name_or_number(struct perfetto_state *state,
                                 const struct perfetto_sequence *sequence,
                                 enum perfetto_interned kind, uint64_t number, bool *is_lost)
{
    uint32_t name = perfetto_interned_name(sequence, kind, number);
    const char *what = kind == INTERNED_KERNEL     ? "kernel"
                       : kind == INTERNED_CATEGORY ? "category"
                                                   : "name";
    char text[64];
    int length;

    if (name || !number || hash_map_find(&sequence->names, interned_key(kind, number)) != NO_VALUE)
        return name; /* 0: there is none, or an empty one */
    *is_lost = true;
    length =
        snprintf(text, sizeof text, "%s %" PRIu64 " (the file does not tell it)", what, number);
    return perfetto_text(state, (struct proto_bytes){text, (size_t)length});
}

/* Writers count names up from 1, so that an array has them without looking for them; a number far
 * beyond those before must not make a large one. */
static void intern_name(struct perfetto_state *state, struct perfetto_sequence *sequence,
                        enum perfetto_interned kind, uint64_t number, uint32_t string)
{
    const size_t first = 64;
    struct perfetto_names *few = (int)kind < INTERNED_FEW ? &sequence->few[kind] : NULL;
    size_t known = few ? few->count : 0;
    uint32_t before =
        number < known ? few->strings[number] : perfetto_rare_name(sequence, kind, number);

    state->meaning += before && before != string;
    if (!few || number > known + first) {
        hash_map_set(&sequence->names, interned_key(kind, number), string);
        return;
    }
    if (number >= known) {
        ARRAY_RESERVE(few->strings, few->count, number + 1);
        memset(few->strings + known, 0, (few->count - known) * sizeof *few->strings);
    }
    few->strings[number] = string;
    if (!string) /* an empty text, and none that the map may hold */
        hash_map_set(&sequence->names, interned_key(kind, number), 0);
}

/* An entry: number 1, name 2; of a kernel the readable name is 3. */
static void intern_entry(struct perfetto_state *state, struct perfetto_sequence *sequence,
                         enum perfetto_interned kind, struct proto_bytes message)
{
    struct proto_walk walk = proto_walk_of(message);
    struct proto_field field;
    struct proto_bytes name = {NULL, 0};
    uint64_t number = 0;

    while (proto_next(&walk, &field)) {
        if (proto_is(&field, 1, PROTO_VARINT))
            number = field.value;
        else if (proto_is(&field, 2, PROTO_LENGTH) && !name.length)
            name = field.bytes;
        else if (proto_is(&field, 3, PROTO_LENGTH) && kind == INTERNED_KERNEL && field.bytes.length)
            name = field.bytes;
    }
    intern_name(state, sequence, kind, number, perfetto_text(state, name));
}

/* Numbers are those of the fields of InternedData, in which a sequence says each name once. */
void perfetto_intern(struct perfetto_state *state, struct perfetto_sequence *sequence,
                     struct proto_bytes message)
{
    static const struct {
        uint32_t number;
        enum perfetto_interned kind;
    } fields[] = {
        {1, INTERNED_CATEGORY},        {2, INTERNED_EVENT_NAME},      {3, INTERNED_ARGUMENT_NAME},
        {24, INTERNED_STAGE},          {29, INTERNED_ARGUMENT_VALUE}, {1000, INTERNED_KERNEL},
        {1001, INTERNED_GPU_ARGUMENT},
    };
    struct proto_walk walk = proto_walk_of(message);
    struct proto_field field;

    while (proto_next(&walk, &field)) {
        if (proto_is(&field, 47, PROTO_LENGTH))
            perfetto_intern_counters(state, sequence, field.bytes);
        for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
            if (proto_is(&field, fields[i].number, PROTO_LENGTH))
                intern_entry(state, sequence, fields[i].kind, field.bytes);
        }
    }
}

/* ---- clocks --------------------------------------------------------------------------------- */

/* Clocks 64 to 127 belong to their sequence, others to the whole trace. */
static struct perfetto_clock *clock_of(struct perfetto_state *state,
                                       const struct perfetto_sequence *sequence, uint32_t id)
{
    bool is_of_sequence = id >= SEQUENCE_CLOCK_FIRST && id <= SEQUENCE_CLOCK_LAST;
    uint64_t key = (is_of_sequence ? sequence->id << 32 : 0) | id;
    uint32_t index = hash_map_add(&state->clock_by_key, key, (uint32_t)state->clock_count);

    if (index == state->clock_count)
        ARRAY_ADD(state->clocks, state->clock_count, (struct perfetto_clock){.unit_ns = 1});
    return &state->clocks[index];
}

/* A clock of a snapshot. */
struct shown_clock {
    uint32_t id;
    int64_t time_ns;
};
enum { SHOWN_CLOCKS_MAX = 64 };

/* An incremental clock counts from its last value, so that a snapshot sets what the next
 * timestamp is added to. */
static struct shown_clock show_clock(struct perfetto_state *state,
                                     const struct perfetto_sequence *sequence,
                                     struct proto_bytes message)
{
    struct proto_walk walk = proto_walk_of(message);
    struct proto_field field;
    struct shown_clock shown = {.id = 0};
    struct perfetto_clock *clock;
    bool is_incremental = false;
    int64_t unit_ns = 1;
    int64_t time = 0;

    while (proto_next(&walk, &field)) {
        if (proto_is(&field, 1, PROTO_VARINT))
            shown.id = (uint32_t)field.value;
        else if (proto_is(&field, 2, PROTO_VARINT))
            time = proto_signed(&field);
        else if (proto_is(&field, 3, PROTO_VARINT))
            is_incremental = field.value != 0;
        else if (proto_is(&field, 4, PROTO_VARINT))
            unit_ns = proto_signed(&field);
    }
    clock = clock_of(state, sequence, shown.id);
    clock->is_incremental = is_incremental;
    clock->unit_ns = unit_ns > 0 ? unit_ns : 1;
    if (__builtin_mul_overflow(time, clock->unit_ns, &shown.time_ns))
        shown.time_ns = 0;
    clock->last_ns = shown.time_ns;
    return shown;
}

/* The trace's time at the snapshot: BOOTTIME, else what a clock that is known says; where none is,
 * the first clock of the first snapshot is the trace's. */
static int64_t time_of_snapshot(struct perfetto_state *state,
                                const struct perfetto_sequence *sequence,
                                const struct shown_clock *shown, size_t count)
{
    int64_t time_ns;

    for (size_t i = 0; i < count; i++) {
        if (shown[i].id == CLOCK_BOOTTIME_ID)
            return shown[i].time_ns;
    }
    for (size_t i = 0; i < count; i++) {
        const struct perfetto_clock *clock = clock_of(state, sequence, shown[i].id);

        if (clock->is_known &&
            !__builtin_add_overflow(shown[i].time_ns, clock->offset_ns, &time_ns))
            return time_ns;
    }
    return shown[0].time_ns;
}

/* All clocks of a snapshot show one moment: each gets the offset that turns it into the
 * trace's time. The latest snapshot counts for what follows it, so drift between clocks is
 * followed step by step. */
void perfetto_read_clocks(struct perfetto_state *state, const struct perfetto_sequence *sequence,
                          struct proto_bytes message)
{
    struct proto_walk walk = proto_walk_of(message);
    struct proto_field field;
    struct shown_clock shown[SHOWN_CLOCKS_MAX];
    size_t count = 0;
    int64_t time_ns;

    while (proto_next(&walk, &field) && count < SHOWN_CLOCKS_MAX) {
        if (proto_is(&field, 1, PROTO_LENGTH))
            shown[count++] = show_clock(state, sequence, field.bytes);
    }
    if (count == 0)
        return;
    time_ns = time_of_snapshot(state, sequence, shown, count);
    state->has_root = true;
    for (size_t i = 0; i < count; i++) {
        struct perfetto_clock *clock = clock_of(state, sequence, shown[i].id);

        clock->is_known = !__builtin_sub_overflow(time_ns, shown[i].time_ns, &clock->offset_ns);
        if (shown[i].id == CLOCK_REALTIME_ID && !state->has_realtime)
            state->has_realtime =
                !__builtin_sub_overflow(shown[i].time_ns, time_ns, &state->realtime_offset);
    }
}

/* An incremental clock gives the difference to its last time, so each packet must be read once
 * and in order. A clock without an offset has no place on the time line: its events are
 * counted as without a time. */
bool perfetto_time(struct perfetto_state *state, struct perfetto_sequence *sequence,
                   uint32_t clock_id, uint64_t time, int64_t *time_ns)
{
    struct perfetto_clock *clock;
    int64_t own_ns;

    if (sequence->clock_id != clock_id || !sequence->clock_index) {
        sequence->clock_index = (uint32_t)(clock_of(state, sequence, clock_id) - state->clocks) + 1;
        sequence->clock_id = clock_id;
    }
    clock = &state->clocks[sequence->clock_index - 1];

    if (time > INT64_MAX || __builtin_mul_overflow((int64_t)time, clock->unit_ns, &own_ns))
        return false;
    if (clock->is_incremental) {
        if (__builtin_add_overflow(clock->last_ns, own_ns, &own_ns))
            return false;
        clock->last_ns = own_ns;
    }
    /* with no snapshot at all there is one clock; BOOTTIME is the trace's own */
    if (!clock->is_known && state->has_root && clock_id != CLOCK_BOOTTIME_ID)
        return false;
    return !__builtin_add_overflow(own_ns, clock->offset_ns, time_ns);
}

/* ---- tracks --------------------------------------------------------------------------------- */

/* A track may be named by an event before its descriptor comes. */
static uint32_t look_up_perfetto_track(struct perfetto_state *state, uint64_t id)
{
    uint32_t index = hash_map_add(&state->track_by_id, id, (uint32_t)state->track_count);

    if (index == state->track_count)
        ARRAY_ADD(
            state->tracks, state->track_count,
            (struct perfetto_track){
                .id = id, .last_ns = INT64_MIN, .is_in_order = true, .is_begins_first = true});
    return index;
}

/* Most events are on one of the tracks that some events before were on. */
uint32_t perfetto_track_of(struct perfetto_state *state, uint64_t id)
{
    size_t place = id * UINT64_C(0x9e3779b97f4a7c15) >> 58;

    if (state->recent_tracks[place].id != id || !state->recent_tracks[place].end) {
        state->recent_tracks[place].end = look_up_perfetto_track(state, id) + 1;
        state->recent_tracks[place].id = id;
    }
    return state->recent_tracks[place].end - 1;
}

/* pid 1, process_name 6. */
static void describe_process(struct perfetto_state *state, struct perfetto_track *track,
                             struct proto_bytes message)
{
    struct proto_walk walk = proto_walk_of(message);
    struct proto_field field;

    track->has_process = true;
    while (proto_next(&walk, &field)) {
        if (proto_is(&field, 1, PROTO_VARINT))
            track->pid = (int32_t)field.value;
        else if (proto_is(&field, 6, PROTO_LENGTH))
            track->process_name = perfetto_text(state, field.bytes);
    }
}

/* pid 1, tid 2, thread_name 5. */
static void describe_thread(struct perfetto_state *state, struct perfetto_track *track,
                            struct proto_bytes message)
{
    struct proto_walk walk = proto_walk_of(message);
    struct proto_field field;

    track->has_thread = true;
    while (proto_next(&walk, &field)) {
        if (proto_is(&field, 1, PROTO_VARINT))
            track->pid = (int32_t)field.value;
        else if (proto_is(&field, 2, PROTO_VARINT))
            track->tid = proto_signed(&field);
        else if (proto_is(&field, 5, PROTO_LENGTH) && !track->name)
            track->name = perfetto_text(state, field.bytes);
    }
}

/* The id first: the fields may stand in any order. */
uint32_t perfetto_describe_track(struct perfetto_state *state, struct proto_bytes message)
{
    struct proto_walk walk = proto_walk_of(message);
    struct proto_field field;
    struct perfetto_track *track;
    uint64_t id = 0;
    uint32_t index;

    while (proto_next(&walk, &field)) {
        if (proto_is(&field, 1, PROTO_VARINT))
            id = field.value;
    }
    index = perfetto_track_of(state, id);
    track = &state->tracks[index];
    state->descriptions++;
    walk = proto_walk_of(message);
    while (proto_next(&walk, &field)) {
        if ((field.number == 2 || field.number == 10) && field.form == PROTO_LENGTH)
            track->name = perfetto_text(state, field.bytes);
        else if (proto_is(&field, 3, PROTO_LENGTH))
            describe_process(state, track, field.bytes);
        else if (proto_is(&field, 4, PROTO_LENGTH))
            describe_thread(state, track, field.bytes);
        else if (proto_is(&field, 5, PROTO_VARINT))
            track->parent = field.value;
    }
    return index;
}

/* Slices that are still open were counted before. */
void perfetto_state_clear(struct perfetto_state *state)
{
    for (size_t i = 0; i < state->sequence_count; i++)
        forget_names(&state->sequences[i]);
    free(state->sequences);
    free(state->clocks);
    for (size_t i = 0; i < state->track_count; i++)
        free(state->tracks[i].open);
    free(state->tracks);
    free(state->words);
    free(state->layouts);
    hash_map_clear(&state->sequence_by_id);
    hash_map_clear(&state->clock_by_key);
    hash_map_clear(&state->track_by_id);
    hash_map_clear(&state->counters);
    string_pool_clear(&state->texts);
    *state = (struct perfetto_state){0};
}
