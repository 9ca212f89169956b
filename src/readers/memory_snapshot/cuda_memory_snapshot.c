/* Reads the snapshot of PyTorch's CUDA allocator that torch.cuda.memory._dump_snapshot writes. */
#include "readers/memory_snapshot/cuda_memory_snapshot.h"

#include "base/core/array.h"
#include "base/core/hash_mix.h"
#include "base/core/invariant.h"
#include "base/io/input_stream.h"
#include "readers/memory_snapshot/cuda_memory_fields.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEVICE_MAX = 1023 };

static const char how_to_make[] = "name the file that torch.cuda.memory._dump_snapshot wrote";

bool looks_like_memory_snapshot(const char *head, size_t length)
{
    return looks_like_pickle(head, length);
}

/* ---- events ---- */

/* Actions of a newer PyTorch are counted, and the first is named. */
static uint8_t action_of(struct snapshot_reading *reading, uint32_t text)
{
    struct memory_snapshot *snapshot = reading->snapshot;
    const char *name = string_pool_text(&reading->tree->strings, text);

    for (int action = 0; action < SNAPSHOT_OTHER; action++)
        if (strcmp(name, snapshot_action_name((enum snapshot_action)action)) == 0)
            return (uint8_t)action;
    if (snapshot->unknown_actions++ == 0)
        snapshot->unknown_action = text;
    return SNAPSHOT_OTHER;
}

/* The action of a text is asked for by each event: remembered for the text asked for last. */
struct action_memory {
    uint32_t text[SNAPSHOT_ACTION_COUNT];
};

/* Texts of a pickle are shared, so that a few numbers stand for all actions of a file: no text
 * is compared for most events. */
static uint8_t remembered_action(struct snapshot_reading *reading, struct action_memory *memory,
                                 uint32_t text)
{
    uint8_t action;

    for (int i = 0; i < SNAPSHOT_OTHER; i++)
        if (memory->text[i] == text)
            return (uint8_t)i;
    action = action_of(reading, text);
    memory->text[action] = text;
    return action;
}

/* Microseconds in the file. A time that overflows as nanoseconds is damage: the largest one
 * would be taken for the last event. */
static bool read_time(const struct snapshot_reading *reading, struct pickle_value value,
                      int64_t *time_ns)
{
    int64_t time_us = 0;

    if (!snapshot_integer(reading, value, "time_us", &time_us))
        return false;
    if (time_us < 0 || __builtin_mul_overflow(time_us, 1000, time_ns))
        return snapshot_fail(reading, "'time_us' is %lld, which is no time in microseconds",
                             (long long)time_us);
    return true;
}

/* For out-of-memory events the address says how much the device had free. */
static bool cuda_memory_snapshot_read_event(struct snapshot_reading *reading,
                                            struct snapshot_event *event,
                                            struct action_memory *memory, struct pickle_value dict)
{
    struct snapshot_members members;
    const struct pickle_value *values = members.values;

    if (pickle_kind(dict) != PICKLE_DICT)
        return snapshot_fail(reading, "the event is %s, expected a dict; %s",
                             pickle_kind_name(pickle_kind(dict)), how_to_make);
    snapshot_members_of(&members, reading, dict);
    if (pickle_kind(values[FIELD_ACTION]) != PICKLE_TEXT)
        return snapshot_fail(reading, "'action' is %s, expected a text such as 'alloc'; %s",
                             pickle_kind_name(pickle_kind(values[FIELD_ACTION])), how_to_make);
    event->action = remembered_action(reading, memory, pickle_text_id(values[FIELD_ACTION]));
    event->tag = snapshot_tag(reading, values[FIELD_USER_METADATA]);
    if (event->action == SNAPSHOT_OOM) {
        event->address = UINT64_MAX;
        if (!snapshot_address(reading, values[FIELD_DEVICE_FREE], "device_free", &event->address))
            return false;
    } else if (!snapshot_address(reading, values[FIELD_ADDRESS], "addr", &event->address)) {
        return false;
    }
    return snapshot_size(reading, values[FIELD_SIZE], "size", &event->size_bytes) &&
           snapshot_integer(reading, values[FIELD_STREAM], "stream", &event->stream) &&
           read_time(reading, values[FIELD_TIME_US], &event->time_ns) &&
           snapshot_stack_id(reading, values[FIELD_FRAMES], &event->stack);
}

/* Every row takes a byte of the file at least: more of them come only of one list that stands at
 * many places, which no allocator writes. */
static bool expect_rows(struct snapshot_reading *reading, uint32_t count)
{
    int64_t bytes = reading->tree->rest.end_byte;

    reading->row_count += count;
    return bytes == 0 || reading->row_count <= bytes ||
           snapshot_fail(reading,
                         "%lld rows of %lld bytes: one list stands at many places, as in no "
                         "snapshot of PyTorch",
                         (long long)reading->row_count, (long long)bytes);
}

/* The number of rows is checked before memory is taken for them: a broken file may name any.
 * 0xff makes every remembered action one that no text has. */
static bool cuda_memory_snapshot_read_trace(struct snapshot_reading *reading,
                                            struct snapshot_trace *trace, uint32_t device,
                                            struct pickle_value list)
{
    struct pickle_items items = pickle_items(reading->tree, list);
    struct action_memory memory;

    memset(&memory, 0xff, sizeof memory);
    if (!expect_rows(reading, items.count))
        return false;
    trace->events = require_memory(calloc((size_t)items.count + 1, sizeof *trace->events));
    trace->count = items.count;
    for (uint32_t i = 0; i < items.count; i++)
        if (!cuda_memory_snapshot_read_event(reading, &trace->events[i], &memory, items.cells[i])) {
            char text[sizeof reading->place];

            (void)snprintf(text, sizeof text, "device_traces[%u][%u]", device, i);
            return error_in(reading->error, "%s", text);
        }
    return true;
}

/* The number of devices is checked before room is made for them: a damaged count must not take
 * all memory. */
static bool cuda_memory_snapshot_read_traces(struct snapshot_reading *reading,
                                             struct pickle_value traces)
{
    struct memory_snapshot *snapshot = reading->snapshot;
    struct pickle_items items = pickle_items(reading->tree, traces);
    uint32_t count = items.count;

    reading->place[0] = '\0';
    if (count > DEVICE_MAX)
        return snapshot_fail(reading,
                             "'device_traces' has %u devices, more than %d: the file is "
                             "damaged",
                             count, DEVICE_MAX);
    snapshot->traces = require_memory(calloc((size_t)count + 1, sizeof *snapshot->traces));
    for (uint32_t i = 0; i < count; i++) {
        snapshot->trace_count = i + 1;
        if (!cuda_memory_snapshot_read_trace(reading, &snapshot->traces[i], i, items.cells[i]))
            return false;
    }
    return true;
}

/* ---- segments and blocks ---- */

/* True of the state, and of nothing else. */
static bool read_state(const struct snapshot_reading *reading, struct pickle_value value,
                       uint8_t *state)
{
    static const struct {
        const char *name;
        enum snapshot_state state;
    } states[] = {
        {"active_allocated", SNAPSHOT_ACTIVE},
        {"active_awaiting_free", SNAPSHOT_PENDING},
        {"active_pending_free", SNAPSHOT_PENDING},
        {"inactive", SNAPSHOT_INACTIVE},
    };
    const char *text = string_pool_text(&reading->tree->strings, pickle_text_id(value));

    for (size_t i = 0; i < sizeof states / sizeof *states; i++)
        if (strcmp(text, states[i].name) == 0) {
            *state = (uint8_t)states[i].state;
            return true;
        }
    return snapshot_fail(reading,
                         "'state' of a block is '%.60s', expected 'active_allocated', "
                         "'active_awaiting_free' or 'inactive'",
                         text);
}

/* Frames of a block: its own, or those of the last thing in its history, as old versions have it.
 */
static bool read_block_stack(struct snapshot_reading *reading,
                             const struct snapshot_members *members, uint32_t *stack)
{
    struct pickle_items history = pickle_items(reading->tree, members->values[FIELD_HISTORY]);
    struct snapshot_members newest;

    if (!snapshot_stack_id(reading, members->values[FIELD_FRAMES], stack))
        return false;
    if (*stack != SNAPSHOT_NONE || history.count == 0)
        return true;
    snapshot_members_of(&newest, reading, history.cells[0]);
    return snapshot_stack_id(reading, newest.values[FIELD_FRAMES], stack);
}

/* Old versions have no addresses: blocks then follow each other from the segment's. */
static bool read_block(struct snapshot_reading *reading, struct snapshot_block *block,
                       uint64_t default_address, struct pickle_value dict)
{
    struct snapshot_members members;
    const struct pickle_value *values = members.values;

    snapshot_members_of(&members, reading, dict);
    *block = (struct snapshot_block){.address = default_address, .requested_bytes = -1};
    if (!read_state(reading, values[FIELD_STATE], &block->state) ||
        !snapshot_address(reading, values[FIELD_ADDRESS], "address", &block->address) ||
        !snapshot_size(reading, values[FIELD_SIZE], "size", &block->size_bytes) ||
        !snapshot_size(reading, values[FIELD_REQUESTED_SIZE], "requested_size",
                       &block->requested_bytes) ||
        !read_block_stack(reading, &members, &block->stack))
        return false;
    if (block->requested_bytes >= 0)
        reading->snapshot->has_requested_sizes = true;
    else
        block->requested_bytes = block->size_bytes;
    block->tag = snapshot_tag(reading, values[FIELD_USER_METADATA]);
    return true;
}

static uint32_t hash_of_pool(struct snapshot_pool id, uint64_t multiplier)
{
    return (uint32_t)(hash_mix(hash_mix((uint64_t)id.a, multiplier) ^ (uint64_t)id.b, multiplier) >>
                      16);
}

/* Pools are few or many by the file's will, so they are found by a keyed hash. */
static bool read_pool(struct snapshot_reading *reading, struct pickle_value value, uint32_t *pool)
{
    struct memory_snapshot *snapshot = reading->snapshot;
    struct pickle_items pair = pickle_items(reading->tree, value);
    struct snapshot_pool id = {0};
    uint32_t hash;

    if (pair.count == 2 && pickle_kind(value) != PICKLE_DICT &&
        (!snapshot_integer(reading, pair.cells[0], "segment_pool_id", &id.a) ||
         !snapshot_integer(reading, pair.cells[1], "segment_pool_id", &id.b)))
        return false;
    hash = hash_of_pool(id, HASH_MULTIPLIER ^ reading->hash_secret);
    *pool = INDEX_TABLE_FIND(&reading->pool_ids, hash, i,
                             snapshot->pools[i].a == id.a && snapshot->pools[i].b == id.b);
    if (*pool != NO_INDEX)
        return true;
    *pool = snapshot->pool_count;
    index_table_add(&reading->pool_ids, hash, snapshot->pool_count);
    ARRAY_ADD(snapshot->pools, snapshot->pool_count, id);
    return true;
}

/* Blocks lie one behind the other in their segment, so that an address that is not written
 * (older PyTorch) follows from the sizes before it. */
static bool read_blocks(struct snapshot_reading *reading, struct snapshot_segment *segment,
                        struct pickle_value list)
{
    struct memory_snapshot *snapshot = reading->snapshot;
    struct pickle_items items = pickle_items(reading->tree, list);
    uint64_t address = segment->address;

    segment->first_block = snapshot->block_count;
    segment->block_count = items.count;
    if (items.count == 0)
        return true;
    if (items.count > UINT32_MAX - snapshot->block_count)
        return snapshot_fail(reading, "too many blocks: the file is damaged");
    if (!expect_rows(reading, items.count))
        return false;
    snapshot->blocks = array_resize(snapshot->blocks, (size_t)snapshot->block_count + items.count,
                                    sizeof *snapshot->blocks);
    for (uint32_t i = 0; i < items.count; i++) {
        struct snapshot_block *block = &snapshot->blocks[snapshot->block_count];

        if (pickle_kind(items.cells[i]) != PICKLE_DICT)
            return snapshot_fail(reading, "block %u is %s, expected a dict", i,
                                 pickle_kind_name(pickle_kind(items.cells[i])));
        if (!read_block(reading, block, address, items.cells[i]))
            return false;
        address = block->address + (uint64_t)block->size_bytes;
        snapshot->block_count++;
    }
    return true;
}

/* Without its total size a segment cannot be placed, all else has a meaning when it lacks:
 * older versions of PyTorch do not write it. */
static bool read_segment(struct snapshot_reading *reading, struct snapshot_segment *segment,
                         struct pickle_value dict)
{
    struct snapshot_members members;
    const struct pickle_value *values = members.values;
    uint32_t small = string_pool_find(&reading->tree->strings, "small", 5);

    if (pickle_kind(dict) != PICKLE_DICT)
        return snapshot_fail(reading, "the segment is %s, expected a dict; %s",
                             pickle_kind_name(pickle_kind(dict)), how_to_make);
    snapshot_members_of(&members, reading, dict);
    if (pickle_kind(values[FIELD_TOTAL_SIZE]) == PICKLE_NOTHING)
        return snapshot_fail(reading, "the segment has no 'total_size'; %s", how_to_make);
    segment->is_small = pickle_kind(values[FIELD_SEGMENT_TYPE]) == PICKLE_TEXT &&
                        pickle_text_id(values[FIELD_SEGMENT_TYPE]) == small;
    segment->is_expandable = pickle_kind(values[FIELD_IS_EXPANDABLE]) == PICKLE_BOOLEAN &&
                             pickle_real(reading->tree, values[FIELD_IS_EXPANDABLE]) != 0;
    if (!snapshot_integer(reading, values[FIELD_DEVICE], "device", &segment->device) ||
        !snapshot_address(reading, values[FIELD_ADDRESS], "address", &segment->address) ||
        !snapshot_size(reading, values[FIELD_TOTAL_SIZE], "total_size", &segment->total_bytes) ||
        !snapshot_integer(reading, values[FIELD_STREAM], "stream", &segment->stream) ||
        !read_pool(reading, values[FIELD_SEGMENT_POOL_ID], &segment->pool))
        return false;
    if (segment->device < 0 || segment->device > DEVICE_MAX)
        return snapshot_fail(reading, "'device' is %lld, expected 0 to %d",
                             (long long)segment->device, DEVICE_MAX);
    return read_blocks(reading, segment, values[FIELD_BLOCKS]);
}

/* The count grows behind each segment that is whole, so that whoever clears the snapshot finds
 * only such. */
static bool read_segments(struct snapshot_reading *reading, struct pickle_value list)
{
    struct memory_snapshot *snapshot = reading->snapshot;
    struct pickle_items items = pickle_items(reading->tree, list);

    snapshot->segments =
        require_memory(calloc((size_t)items.count + 1, sizeof *snapshot->segments));
    for (uint32_t i = 0; i < items.count; i++) {
        (void)snprintf(reading->place, sizeof reading->place, "segments[%u]", i);
        if (!read_segment(reading, &snapshot->segments[i], items.cells[i]))
            return false;
        snapshot->segment_count = i + 1;
    }
    return true;
}

/* ---- the rest ---- */

/* Begin and end are two rows of one name; they are joined where they are used, as the file may
 * begin between them. */
static bool read_annotations(struct snapshot_reading *reading, struct pickle_value list)
{
    struct memory_snapshot *snapshot = reading->snapshot;
    struct pickle_items items = pickle_items(reading->tree, list);

    snapshot->annotations =
        require_memory(calloc((size_t)items.count + 1, sizeof *snapshot->annotations));
    for (uint32_t i = 0; i < items.count; i++) {
        struct snapshot_annotation *annotation = &snapshot->annotations[i];
        struct snapshot_members members;
        const char *stage;

        (void)snprintf(reading->place, sizeof reading->place, "external_annotations[%u]", i);
        snapshot_members_of(&members, reading, items.cells[i]);
        stage =
            string_pool_text(&reading->tree->strings, pickle_text_id(members.values[FIELD_STAGE]));
        annotation->is_end = strcmp(stage, "END") == 0;
        annotation->name = pickle_text_id(members.values[FIELD_NAME]);
        if (!snapshot_integer(reading, members.values[FIELD_DEVICE], "device",
                              &annotation->device) ||
            !read_time(reading, members.values[FIELD_TIME_US], &annotation->time_ns))
            return false;
        snapshot->annotation_count = i + 1;
    }
    return true;
}

/* What the value of a setting is, as a text of the snapshot's strings. */
static uint32_t setting_text(struct snapshot_reading *reading, struct pickle_value value)
{
    char text[64];

    switch (pickle_kind(value)) {
    case PICKLE_TEXT:
    case PICKLE_BYTES:
        return pickle_text_id(value);
    case PICKLE_BOOLEAN:
        (void)snprintf(text, sizeof text, "%s",
                       pickle_real(reading->tree, value) != 0 ? "True" : "False");
        break;
    case PICKLE_INTEGER:
    case PICKLE_REAL:
        (void)snprintf(text, sizeof text, "%.15g", pickle_real(reading->tree, value));
        break;
    case PICKLE_NOTHING:
    case PICKLE_NONE:
    case PICKLE_LIST:
    case PICKLE_TUPLE:
    case PICKLE_SET:
    case PICKLE_DICT:
        return SNAPSHOT_NONE;
    }
    return string_pool_add(&reading->snapshot->strings, text, strlen(text));
}

/* After the strings have moved into the snapshot. */
static void cuda_memory_snapshot_read_settings(struct snapshot_reading *reading,
                                               struct pickle_value dict)
{
    struct memory_snapshot *snapshot = reading->snapshot;
    struct pickle_items items = pickle_items(reading->tree, dict);

    if (pickle_kind(dict) != PICKLE_DICT)
        return;
    snapshot->settings =
        require_memory(calloc((size_t)items.count + 1, sizeof *snapshot->settings));
    for (uint32_t i = 0; i < items.count; i++) {
        struct snapshot_setting setting = {
            .name = pickle_text_id(items.cells[2 * (size_t)i]),
            .value = setting_text(reading, items.cells[2 * (size_t)i + 1]),
        };

        if (setting.value != SNAPSHOT_NONE)
            snapshot->settings[snapshot->setting_count++] = setting;
    }
}

static bool is_list(struct pickle_value value)
{
    return pickle_kind(value) == PICKLE_LIST || pickle_kind(value) == PICKLE_TUPLE;
}

/* Which member is missing or of another kind, as said to the user. */
static bool check_root(struct snapshot_reading *reading, struct pickle_value segments,
                       struct pickle_value traces)
{
    struct pickle_value root = reading->tree->root;

    if (is_list(segments) && (is_list(traces) || pickle_kind(traces) == PICKLE_NOTHING))
        return true;
    if (pickle_kind(root) != PICKLE_DICT)
        return error_set(reading->error, ERROR_INPUT,
                         "a pickle, but no memory snapshot: it holds %s, expected a dict with "
                         "'segments' and 'device_traces'; %s",
                         pickle_kind_name(pickle_kind(root)), how_to_make);
    return error_set(reading->error, ERROR_INPUT,
                     "a pickle, but no memory snapshot: its dict has %s as '%s', expected a list; "
                     "%s",
                     pickle_kind_name(pickle_kind(is_list(segments) ? traces : segments)),
                     is_list(segments) ? "device_traces" : "segments", how_to_make);
}

/* Strings move into the snapshot at the end: ids stay what they were. */
static bool read_tree(struct snapshot_reading *reading, struct pickle_tree *tree)
{
    /* The oldest snapshots are the list of segments alone. */
    struct pickle_value segments =
        is_list(tree->root) ? tree->root : pickle_named(tree, tree->root, "segments");
    struct pickle_value traces = pickle_named(tree, tree->root, "device_traces");
    struct pickle_value annotations = pickle_named(tree, tree->root, "external_annotations");
    struct pickle_value settings = pickle_named(tree, tree->root, "allocator_settings");

    if (!check_root(reading, segments, traces) || !read_segments(reading, segments) ||
        !cuda_memory_snapshot_read_traces(reading, traces) ||
        !read_annotations(reading, annotations))
        return false;
    reading->snapshot->strings = tree->strings;
    tree->strings = (struct string_pool){0};
    cuda_memory_snapshot_read_settings(reading, settings);
    return true;
}

/* On failure nothing is left in the snapshot. */
bool read_memory_snapshot(struct memory_snapshot *snapshot, struct input_stream *input,
                          struct error *error)
{
    SCOPED(pickle_tree) tree = {0};
    struct snapshot_reading reading = {.tree = &tree, .snapshot = snapshot, .error = error};
    bool is_read;

    if (!pickle_tree_read(&tree, input, error))
        return false;
    snapshot->rest = tree.rest;
    snapshot_reading_begin(&reading);
    is_read = read_tree(&reading, &tree);
    snapshot_reading_end(&reading);
    if (!is_read)
        memory_snapshot_clear(snapshot);
    return is_read;
}
