/* The members of a memory snapshot by their names, and the walk from values of the pickle to
 * numbers. */
#include "readers/memory_snapshot/cuda_memory_fields.h"

#include "base/core/array.h"
#include "base/core/hash_mix.h"
#include "base/core/invariant.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SIZE_BYTES_MAX   ((int64_t)1 << 60)
#define BYTES_IN_ALL_MAX ((int64_t)1 << 62)

static const struct {
    const char *name;
    enum snapshot_field field;
} names[] = {
    {"action", FIELD_ACTION},
    {"addr", FIELD_ADDRESS},
    {"address", FIELD_ADDRESS},
    {"size", FIELD_SIZE},
    {"real_size", FIELD_SIZE},
    {"requested_size", FIELD_REQUESTED_SIZE},
    {"total_size", FIELD_TOTAL_SIZE},
    {"stream", FIELD_STREAM},
    {"time_us", FIELD_TIME_US},
    {"frames", FIELD_FRAMES},
    {"history", FIELD_HISTORY},
    {"user_metadata", FIELD_USER_METADATA},
    {"device_free", FIELD_DEVICE_FREE},
    {"device", FIELD_DEVICE},
    {"state", FIELD_STATE},
    {"blocks", FIELD_BLOCKS},
    {"segment_type", FIELD_SEGMENT_TYPE},
    {"segment_pool_id", FIELD_SEGMENT_POOL_ID},
    {"is_expandable", FIELD_IS_EXPANDABLE},
    {"name", FIELD_NAME},
    {"filename", FIELD_FILENAME},
    {"line", FIELD_LINE},
    {"stage", FIELD_STAGE},
};

/* Member names become numbers once per text, so that a dict of an event is read without
 * comparing strings. */
void snapshot_reading_begin(struct snapshot_reading *reading)
{
    const struct string_pool *strings = &reading->tree->strings;

    reading->hash_secret = hash_secret();
    reading->field_of_text =
        require_memory(calloc(string_pool_count(strings), sizeof *reading->field_of_text));
    reading->id_of_sequence =
        require_memory(calloc(reading->tree->sequence_count + 1, sizeof *reading->id_of_sequence));
    reading->known = require_memory(calloc(STACKS_KNOWN, sizeof *reading->known));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        uint32_t id = string_pool_find(strings, names[i].name, strlen(names[i].name));

        if (id != UINT32_MAX)
            reading->field_of_text[id] = (uint8_t)names[i].field;
    }
}

void snapshot_reading_end(struct snapshot_reading *reading)
{
    free(reading->field_of_text);
    free(reading->id_of_sequence);
    free(reading->known);
    hash_map_clear(&reading->frame_ids);
    hash_map_clear(&reading->stack_ids);
    index_table_clear(&reading->pool_ids);
}

/* Every value goes to its field's place, those of unknown names all to one: no search per
 * member. */
void snapshot_members_of(struct snapshot_members *members, const struct snapshot_reading *reading,
                         struct pickle_value dict)
{
    struct pickle_items items = pickle_items(reading->tree, dict);

    memset(members, 0, sizeof *members); /* all PICKLE_NOTHING */
    if (pickle_kind(dict) != PICKLE_DICT)
        return;
    for (uint32_t i = 0; i < items.count; i++)
        members->values[reading->field_of_text[pickle_text_id(items.cells[2 * (size_t)i])]] =
            items.cells[2 * (size_t)i + 1];
}

/* The place (which segment, which block) is kept while reading, and put before the message
 * only when one is needed. */
bool snapshot_fail(const struct snapshot_reading *reading, const char *format, ...)
{
    char text[512];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    (void)error_set(reading->error, ERROR_INPUT, "%s", text);
    return reading->place[0] ? error_in(reading->error, "%s", reading->place) : false;
}

static bool is_known(struct pickle_value value)
{
    return pickle_kind(value) != PICKLE_NOTHING && pickle_kind(value) != PICKLE_NONE;
}

static bool fail_number(const struct snapshot_reading *reading, struct pickle_value value,
                        const char *name)
{
    bool is_number = pickle_kind(value) == PICKLE_INTEGER;

    return snapshot_fail(reading, "'%s' is %s, expected an integer%s: is this a memory snapshot?",
                         name,
                         is_number ? "too large or negative" : pickle_kind_name(pickle_kind(value)),
                         is_number ? " in range" : "");
}

bool snapshot_integer(const struct snapshot_reading *reading, struct pickle_value value,
                      const char *name, int64_t *integer)
{
    if (!is_known(value) || pickle_integer(reading->tree, value, integer))
        return true;
    return fail_number(reading, value, name);
}

bool snapshot_address(const struct snapshot_reading *reading, struct pickle_value value,
                      const char *name, uint64_t *address)
{
    if (!is_known(value) || pickle_unsigned(reading->tree, value, address))
        return true;
    return fail_number(reading, value, name);
}

/* The sum of all sizes is bounded here, so no later sum of sizes can overflow. */
bool snapshot_size(struct snapshot_reading *reading, struct pickle_value value, const char *name,
                   int64_t *bytes)
{
    int64_t size;

    if (!is_known(value))
        return true;
    if (!pickle_integer(reading->tree, value, &size) || size < 0 || size > SIZE_BYTES_MAX)
        return fail_number(reading, value, name);
    if (size > BYTES_IN_ALL_MAX - reading->bytes_in_all)
        return snapshot_fail(reading,
                             "all sizes up to this '%s' add up to more than 4 EiB: the "
                             "file is damaged",
                             name);
    reading->bytes_in_all += size;
    *bytes = size;
    return true;
}

static uint64_t cuda_memory_fields_mix(uint64_t hash, uint64_t number)
{
    hash = (hash ^ number) * 0x9E3779B97F4A7C15u;
    return hash ^ (hash >> 29);
}

static bool same_frame(struct snapshot_frame a, struct snapshot_frame b)
{
    return a.name == b.name && a.file == b.file && a.line == b.line;
}

/* Frames of one hash that differ (hardly ever) both stay: one of them is only not shared. */
static uint32_t add_frame(struct snapshot_reading *reading, struct snapshot_frame frame)
{
    struct memory_snapshot *snapshot = reading->snapshot;
    uint64_t hash = cuda_memory_fields_mix(
        cuda_memory_fields_mix(cuda_memory_fields_mix(0, frame.name), frame.file), frame.line);
    uint32_t known = hash_map_add(&reading->frame_ids, hash, snapshot->frame_count);

    if (known < snapshot->frame_count && same_frame(snapshot->frames[known], frame))
        return known;
    ARRAY_ROOM(snapshot->frames, snapshot->frame_count);
    snapshot->frames[snapshot->frame_count] = frame;
    return snapshot->frame_count++;
}

/* Pickle writes a frame once and refers to it by its number afterwards: a dict that was seen
 * is known by that number, without a look at its texts. 0 is "not seen", hence the + 1. */
static bool frame_id(struct snapshot_reading *reading, struct pickle_value dict, uint32_t *id)
{
    struct snapshot_members members;
    struct snapshot_frame frame;
    int64_t line = 0;
    uint32_t *known;

    if (pickle_kind(dict) != PICKLE_DICT)
        return snapshot_fail(reading, "a frame of a stack is %s, expected a dict",
                             pickle_kind_name(pickle_kind(dict)));
    known = &reading->id_of_sequence[pickle_sequence_id(dict)];
    if (*known) {
        *id = *known - 1;
        return true;
    }
    snapshot_members_of(&members, reading, dict);
    if (!snapshot_integer(reading, members.values[FIELD_LINE], "line", &line))
        return false;
    frame = (struct snapshot_frame){
        .name = pickle_text_id(members.values[FIELD_NAME]),
        .file = pickle_text_id(members.values[FIELD_FILENAME]),
        .line = line > 0 && line < UINT32_MAX ? (uint32_t)line : 0,
    };
    *id = add_frame(reading, frame);
    *known = *id + 1;
    return true;
}

/* The frames just put behind stack_frames become a stack, or are the one that is there already.
 * By hash, then compared: two stacks of one hash stay two. */
static uint32_t close_stack(struct snapshot_reading *reading, uint32_t count)
{
    struct memory_snapshot *snapshot = reading->snapshot;
    const uint32_t *frames = snapshot->stack_frames + snapshot->stack_frame_count;
    uint64_t hash = cuda_memory_fields_mix(0, count);
    uint32_t known;

    for (uint32_t i = 0; i < count; i++)
        hash = cuda_memory_fields_mix(hash, frames[i]);
    known = hash_map_add(&reading->stack_ids, hash, snapshot->stack_count);
    if (known < snapshot->stack_count && snapshot->stacks[known].count == count &&
        memcmp(snapshot->stack_frames + snapshot->stacks[known].first, frames,
               count * sizeof *frames) == 0)
        return known;
    ARRAY_ROOM(snapshot->stacks, snapshot->stack_count);
    snapshot->stacks[snapshot->stack_count] =
        (struct snapshot_stack){.first = snapshot->stack_frame_count, .count = count};
    snapshot->stack_frame_count += count;
    return snapshot->stack_count++;
}

static struct known_stack *known_stack_of(const struct snapshot_reading *reading,
                                          const struct pickle_items *items)
{
    return &reading->known[((uintptr_t)items->cells / sizeof *items->cells) % STACKS_KNOWN];
}

/* The stack of frames that are not known to be one. */
static bool read_stack(struct snapshot_reading *reading, const struct pickle_items *items,
                       uint32_t *stack)
{
    struct memory_snapshot *snapshot = reading->snapshot;

    for (uint32_t i = 0; i < items->count; i++) {
        size_t at = snapshot->stack_frame_count + i;

        ARRAY_ROOM(snapshot->stack_frames, at);
        if (!frame_id(reading, items->cells[i], &snapshot->stack_frames[at]))
            return false;
    }
    *stack = close_stack(reading, items->count);
    *known_stack_of(reading, items) =
        (struct known_stack){.frames = items->cells, .count = items->count, .stack = *stack};
    return true;
}

/* Known by the list itself, or by where its frames lie: pickles share lists among events. */
bool snapshot_stack_id(struct snapshot_reading *reading, struct pickle_value frames,
                       uint32_t *stack)
{
    struct pickle_items items = pickle_items(reading->tree, frames);
    const struct known_stack *shared;
    uint32_t *known;

    *stack = SNAPSHOT_NONE;
    if (pickle_kind(frames) != PICKLE_LIST && pickle_kind(frames) != PICKLE_TUPLE)
        return !is_known(frames) || snapshot_fail(reading, "'frames' is %s, expected a list",
                                                  pickle_kind_name(pickle_kind(frames)));
    if (items.count == 0)
        return true;
    known = &reading->id_of_sequence[pickle_sequence_id(frames)];
    shared = known_stack_of(reading, &items);
    if (!*known && shared->frames == items.cells && shared->count == items.count)
        *known = shared->stack + 1;
    if (*known) {
        *stack = *known - 1;
        return true;
    }
    if (!read_stack(reading, &items, stack))
        return false;
    *known = *stack + 1;
    return true;
}

uint32_t snapshot_tag(const struct snapshot_reading *reading, struct pickle_value value)
{
    (void)reading;
    return pickle_kind(value) == PICKLE_TEXT ? pickle_text_id(value) : 0;
}
