/* Pairs allocations with releases, and blocks with the tensors that the recorder's marks name. */
#include "base/core/array.h"
#include "base/core/hash_map.h"
#include "base/core/invariant.h"
#include "base/io/whole_file.h"
#include "base/json/json_tree.h"
#include "base/text/prefix.h"
#include "memory/memory_run.h"
#include "trace/memory_snapshot.h"

#include <stdlib.h>
#include <string.h>

/* ---- the file beside ------------------------------------------------------------------------- */

/* What the recorder writes beside a trace about memory: which tensors were alive at its marks, by
 * their purpose and name. docs/formats/capture.md describes the file. */

/* Numbers of one tensor in a list of live ones: id, address, bytes, device. */
enum { NUMBERS_PER_PLACE = 4 };

static const char ending[] = ".memory.json";

/* As the recorder writes them: the file beside the trace is a promised format. */
static const char *const kind_names[MEMORY_KIND_COUNT] = {
    [MEMORY_PARAMETER] = "parameter", [MEMORY_BUFFER] = "buffer",
    [MEMORY_GRADIENT] = "gradient",   [MEMORY_OPTIMIZER_STATE] = "optimizer state",
    [MEMORY_INPUT] = "input",         [MEMORY_ACTIVATION] = "activation",
    [MEMORY_TEMPORARY] = "temporary", [MEMORY_OTHER] = "other",
};

static const char *const point_names[MEMORY_POINT_COUNT] = {
    [POINT_START] = "start",
    [POINT_FORWARD_START] = "forward start",
    [POINT_FORWARD_END] = "forward end",
    [POINT_BACKWARD_END] = "backward end",
    [POINT_OPTIMIZER_END] = "optimizer end",
    [POINT_STEP_END] = "step end",
    [POINT_ASKED] = "asked",
};

/* The file that is read, for messages. */
struct side_parse {
    struct memory_side_file *side;
    const char *name;
    struct error *error;
};

static int find_name(const char *const *names, int count, const char *name)
{
    for (int i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0)
            return i;
    return -1;
}

static uint32_t count_items(const struct json_node *items)
{
    uint32_t count = 0;

    for (; items; items = items->next)
        count++;
    return count;
}

static const char *memory_side_file_keep(struct memory_side_file *side, const char *text)
{
    return arena_copy_text(&side->arena, text, strlen(text));
}

static void *room(struct memory_side_file *side, uint32_t count, size_t bytes)
{
    return arena_allocate(&side->arena, ((size_t)count + 1) * bytes);
}

/* ["parameter", "layers.0.mlp", "weight"]; kinds of later versions are "other". */
static bool collect_tensor(struct side_parse *parse, uint32_t index, const struct json_node *node)
{
    const struct json_node *kind = node->kind == JSON_ARRAY ? node->first : NULL;
    const struct json_node *module = kind ? kind->next : NULL;
    const struct json_node *name = module ? module->next : NULL;
    int known;

    if (!name || kind->kind != JSON_STRING || module->kind != JSON_STRING ||
        name->kind != JSON_STRING)
        return error_set(parse->error, ERROR_INPUT,
                         "cannot read '%s': tensor %u: expected [kind, module, name] (was the file "
                         "changed by hand? record again with 'flopledger run --memory')",
                         parse->name, index);
    known = find_name(kind_names, MEMORY_KIND_COUNT, kind->text);
    parse->side->tensors[index] =
        (struct marked_tensor){.kind = known < 0 ? MEMORY_OTHER : (enum memory_kind)known,
                               .module = memory_side_file_keep(parse->side, module->text),
                               .name = memory_side_file_keep(parse->side, name->text)};
    return true;
}

static bool memory_side_file_is_tensor(const struct memory_side_file *side,
                                       const struct json_node *node)
{
    return node->is_integer && node->integer >= 0 && node->integer < side->tensor_count;
}

static bool bad_mark(struct side_parse *parse, uint32_t index, const char *what)
{
    return error_set(parse->error, ERROR_INPUT,
                     "cannot read '%s': mark %u: %s (was the file changed by hand? record again "
                     "with 'flopledger run --memory')",
                     parse->name, index, what);
}

/* Numbers are checked one by one, as the file may have been edited: addresses and sizes index
 * nothing, but sums of sizes must not overflow. */
static bool memory_side_file_take_places(struct side_parse *parse, uint32_t index,
                                         const struct json_node *live)
{
    struct memory_mark *mark = &parse->side->marks[index];
    uint32_t numbers = count_items(live);

    /* Checked once, so that the walk in fours below cannot run out in the middle. */
    if (numbers % NUMBERS_PER_PLACE != 0)
        return bad_mark(parse, index, "expected four numbers a tensor in \"live\"");
    mark->places = room(parse->side, numbers / NUMBERS_PER_PLACE, sizeof *mark->places);
    for (; live; live = live->next->next->next->next) {
        const struct json_node *address = live->next;
        const struct json_node *bytes = address->next;
        const struct json_node *device = bytes->next;

        if (!memory_side_file_is_tensor(parse->side, live))
            return bad_mark(parse, index, "\"live\" names a tensor that is not in \"tensors\"");
        if (!address->is_integer || !bytes->is_integer || bytes->integer < 0 ||
            bytes->integer > MEMORY_BLOCK_BYTES_MAX || !device->is_integer ||
            device->integer < -1 || device->integer > INT32_MAX)
            return bad_mark(parse, index, "expected address, bytes and device in \"live\"");
        mark->places[mark->place_count++] =
            (struct marked_place){.tensor = (uint32_t)live->integer,
                                  .address = (uint64_t)address->integer,
                                  .bytes = bytes->integer,
                                  .device = (int32_t)device->integer};
    }
    return true;
}

/* A tensor that is not in the list is damage: its number would be read beyond the array. */
static bool collect_gone(struct side_parse *parse, uint32_t index, const struct json_node *gone)
{
    struct memory_mark *mark = &parse->side->marks[index];

    mark->gone = room(parse->side, count_items(gone), sizeof *mark->gone);
    for (; gone; gone = gone->next) {
        if (!memory_side_file_is_tensor(parse->side, gone))
            return bad_mark(parse, index, "\"gone\" names a tensor that is not in \"tensors\"");
        mark->gone[mark->gone_count++] = (uint32_t)gone->integer;
    }
    return true;
}

/* What a device's allocator did not tell is -1, and stays unknown. */
static void collect_devices(struct memory_side_file *side, struct memory_mark *mark,
                            const struct json_node *devices)
{
    mark->devices = room(side, count_items(devices), sizeof *mark->devices);
    for (; devices; devices = devices->next) {
        int64_t number = json_integer_of(devices, "device", -1);

        if (number < 0 || number > INT32_MAX)
            continue;
        mark->devices[mark->device_count++] = (struct marked_device){
            .device = (int32_t)number,
            .allocated_bytes = json_integer_of(devices, "allocated_bytes", -1),
            .requested_bytes = json_integer_of(devices, "requested_bytes", -1),
            .reserved_bytes = json_integer_of(devices, "reserved_bytes", -1),
            .inactive_split_bytes = json_integer_of(devices, "inactive_split_bytes", -1),
            .allocation_retries = json_integer_of(devices, "allocation_retries", -1),
            .used_bytes = json_integer_of(devices, "used_bytes", -1),
            .total_bytes = json_integer_of(devices, "total_bytes", -1),
        };
    }
}

/* A mark of a point that this version does not know is an error and not passed over: what lies
 * between marks would be put to the wrong phase. */
static bool memory_side_file_take_mark(struct side_parse *parse, uint32_t index,
                                       const struct json_node *node)
{
    struct memory_mark *mark = &parse->side->marks[index];
    int point = find_name(point_names, MEMORY_POINT_COUNT, json_text_of(node, "point", "(none)"));

    if (point < 0)
        return bad_mark(parse, index, "its \"point\" is none that this version knows");
    mark->point = (enum memory_point)point;
    mark->options = memory_side_file_keep(parse->side, json_text_of(node, "options", ""));
    mark->is_in_log = json_integer_of(node, "is_in_log", 1) != 0;
    mark->step = json_integer_of(node, "step", -1);
    collect_devices(parse->side, mark, json_items_of(node, "devices"));
    return memory_side_file_take_places(parse, index, json_items_of(node, "live")) &&
           collect_gone(parse, index, json_items_of(node, "gone"));
}

/* Tensors go first: marks name them by number. */
static bool collect_content(struct side_parse *parse, const struct json_node *root)
{
    struct memory_side_file *side = parse->side;
    const struct json_node *tensors = json_items_of(root, "tensors");
    const struct json_node *marks = json_items_of(root, "marks");
    uint32_t index = 0;

    if (strcmp(json_text_of(root, "schema", ""), "flopledger.memory") != 0 ||
        json_integer_of(root, "schema_version", 1) != 1)
        return error_set(
            parse->error, ERROR_INPUT,
            "cannot read '%s': expected \"schema\": \"flopledger.memory\" of version 1",
            parse->name);
    side->tensor_count = count_items(tensors);
    side->tensors = room(side, side->tensor_count, sizeof *side->tensors);
    for (; tensors; tensors = tensors->next)
        if (!collect_tensor(parse, index++, tensors))
            return false;
    side->mark_count = count_items(marks);
    side->marks = room(side, side->mark_count, sizeof *side->marks);
    for (index = 0; marks; marks = marks->next)
        if (!memory_side_file_take_mark(parse, index++, marks))
            return false;
    return true;
}

/* Half a side file is worse than none: what was read of it is cleared. */
bool memory_side_file_parse(struct memory_side_file *side, const char *name, const char *text,
                            size_t length, struct error *error)
{
    SCOPED(arena) arena = {0};
    struct side_parse parse = {.side = side, .name = name, .error = error};
    const struct json_node *root = json_tree_parse(&arena, text, length, error);

    if (!root)
        return error_in(error, "cannot read '%s'", name);
    if (collect_content(&parse, root))
        return true;
    memory_side_file_clear(side);
    return false;
}

/* "steps4-6.memory.json" of ".../steps4-6.pt.trace.json.gz"; free() it. */
static char *path_beside(const char *trace_path)
{
    static const char *const endings[] = {".zst", ".gz", ".json", ".trace", ".pt"};
    size_t length = strlen(trace_path);
    char *path = require_memory(malloc(length + sizeof ending));

    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        size_t end = strlen(endings[i]);

        if (length > end && memcmp(trace_path + length - end, endings[i], end) == 0)
            length -= end;
    }
    memcpy(path, trace_path, length);
    path[length] = '\0';
    strcat(path, ending);
    return path;
}

/* That there is no such file is no error: a trace without marks has memory events all the
 * same. */
bool memory_side_file_find(struct memory_side_file *side, const char *trace_path,
                           struct error *error)
{
    char *path = path_beside(trace_path);
    bool is_missing = strcmp(trace_path, "-") == 0;
    size_t length = 0;
    char *text = is_missing ? NULL : read_whole_file(path, &length, &is_missing, error);
    bool is_read = text ? memory_side_file_parse(side, path, text, length, error) : is_missing;

    free(text);
    free(path);
    return is_read;
}

void memory_side_file_clear(struct memory_side_file *side)
{
    if (!side)
        return;
    arena_clear(&side->arena);
    *side = (struct memory_side_file){0};
}

/* ---- memory blocks --------------------------------------------------------------------------- */

static const char mark_prefix[] = "flopledger:mark#";
static const char freed_prefix[] = "flopledger:freed#";

/* What CUDA's allocator rounds sizes up to. */
enum { DEVICE_ROUNDING = 512 };

/* A mark in the trace, or the end of a tensor that was alive at the start. */
struct signal {
    int64_t time_ns;
    uint32_t number; /* of the mark, or of the tensor */
    bool is_mark;
};

/* The walk over a trace. */
struct sweep {
    struct memory_blocks *blocks;
    const struct memory_side_file *side;
    struct signal *signals;
    uint32_t signal_count;
    struct hash_map slots; /* address -> index in current */
    uint32_t *current;     /* [slot_count]: the block alive at the address, or NO_VALUE */
    size_t current_capacity;
    uint32_t *block_of; /* [tensor_count]: the tensor's block, or NO_VALUE */
};

/* ---- lists that grow ------------------------------------------------------------------------- */

/* The number of changes is the clock of everything behind: moments are between changes, so two
 * changes of one nanosecond still have an order. */
static uint32_t memory_blocks_add_change(struct sweep *sweep, int64_t time_ns, uint32_t block,
                                         bool is_free)
{
    struct memory_blocks *blocks = sweep->blocks;

    ARRAY_ROOM(blocks->changes, blocks->change_count);
    blocks->changes[blocks->change_count] =
        (struct memory_change){.time_ns = time_ns, .block = block, .is_free = is_free};
    return blocks->change_count++;
}

/* A block lives until an end is seen, which many never have in a recording. */
static uint32_t memory_blocks_add_block(struct sweep *sweep, struct memory_block block)
{
    struct memory_blocks *blocks = sweep->blocks;

    ARRAY_ROOM(blocks->blocks, blocks->count);
    block.end_ns = INT64_MAX;
    block.end = NO_CHANGE;
    block.start = memory_blocks_add_change(sweep, block.start_ns, blocks->count, false);
    blocks->blocks[blocks->count] = block;
    return blocks->count++;
}

static void end_block(struct sweep *sweep, uint32_t index, int64_t time_ns)
{
    struct memory_block *block = &sweep->blocks->blocks[index];

    block->end_ns = time_ns;
    block->end = memory_blocks_add_change(sweep, time_ns, index, true);
}

/* The place where the block at an address is remembered. */
static uint32_t *current_at(struct sweep *sweep, uint64_t address)
{
    uint32_t count = (uint32_t)sweep->slots.count;
    uint32_t slot = hash_map_add(&sweep->slots, address, count);

    if (slot == count) {
        ARRAY_RESERVE(sweep->current, sweep->current_capacity, slot + 1);
        sweep->current[slot] = NO_VALUE;
    }
    return &sweep->current[slot];
}

/* ---- signals --------------------------------------------------------------------------------- */

static int compare_signals(const void *a, const void *b)
{
    const struct signal *left = a;
    const struct signal *right = b;

    if (left->time_ns != right->time_ns)
        return left->time_ns < right->time_ns ? -1 : 1;
    return left->number < right->number ? -1 : left->number > right->number;
}

/* 1 + index of the mark or tensor that each of the trace's strings tells of, marks with the highest
 * bit; 0: none. */
static uint32_t *find_signal_names(const struct trace *trace, const struct memory_side_file *side)
{
    const uint32_t is_mark = (uint32_t)1 << 31;
    size_t count = string_pool_count(&trace->strings);
    uint32_t *names = require_memory(calloc(count, sizeof *names));

    for (size_t i = 0; i < count; i++) {
        const char *text = trace_text(trace, (uint32_t)i);
        bool is_freed = has_prefix(text, freed_prefix);
        uint32_t limit = is_freed ? side->tensor_count : side->mark_count;
        unsigned long number;

        if (!is_freed && !has_prefix(text, mark_prefix))
            continue;
        number = strtoul(strchr(text, '#') + 1, NULL, 10);
        if (number < limit)
            names[i] = ((uint32_t)number + 1) | (is_freed ? 0 : is_mark);
    }
    return names;
}

/* Times beyond MEMORY_TIME_NS_MAX are damage, and would overflow differences. */
static void find_signals(struct sweep *sweep, const struct trace *trace)
{
    uint32_t *names = find_signal_names(trace, sweep->side);

    for (uint32_t i = 0; i < trace->host_count; i++) {
        const struct event *event = &trace->host[i];
        uint32_t name = names[event->name];

        if (event->start_ns > MEMORY_TIME_NS_MAX || event->start_ns < -MEMORY_TIME_NS_MAX)
            continue;
        if (name == 0 || (event->kind != EVENT_OPERATOR && event->kind != EVENT_ANNOTATION))
            continue;
        ARRAY_ADD(sweep->signals, sweep->signal_count,
                  (struct signal){.time_ns = event->start_ns,
                                  .number = (name & 0x7fffffff) - 1,
                                  .is_mark = name >> 31 != 0});
    }
    if (sweep->signal_count)
        qsort(sweep->signals, sweep->signal_count, sizeof *sweep->signals, compare_signals);
    free(names);
}

/* ---- marks ----------------------------------------------------------------------------------- */

/* A block that only marks tell the end of. */
static void end_unseen(struct sweep *sweep, uint32_t index, int64_t time_ns)
{
    struct memory_block *block = &sweep->blocks->blocks[index];

    if (block->end != NO_CHANGE)
        return;
    *current_at(sweep, block->address) = NO_VALUE;
    end_block(sweep, index, time_ns);
    sweep->blocks->unseen_frees++;
    sweep->blocks->unseen_bytes += block->bytes;
}

static bool memory_blocks_is_from_before(const struct sweep *sweep, uint32_t block)
{
    return sweep->blocks->blocks[block].start_ns == INT64_MIN;
}

/* Where a tensor from before the recording is no longer at its place, its block is free: torch does
 * not tell so for memory of the host. */
static void leave_place(struct sweep *sweep, const struct hash_map *places, uint32_t tensor,
                        int64_t time_ns)
{
    uint32_t block = sweep->block_of[tensor];

    sweep->block_of[tensor] = NO_VALUE;
    if (block != NO_VALUE && memory_blocks_is_from_before(sweep, block) &&
        sweep->blocks->blocks[block].device == HOST_MEMORY &&
        hash_map_find(places, sweep->blocks->blocks[block].address) == NO_VALUE)
        end_unseen(sweep, block, time_ns);
}

/* The first mark that names a block decides: a tensor's storage may be seen under several
 * names later. */
static void memory_blocks_take_place(struct sweep *sweep, const struct marked_place *place)
{
    uint32_t block = *current_at(sweep, place->address);

    if (block == NO_VALUE)
        return;
    sweep->block_of[place->tensor] = block;
    if (sweep->blocks->blocks[block].tensor == NO_TENSOR)
        sweep->blocks->blocks[block].tensor = place->tensor;
}

/* The tensors of the first mark are alive since before the recording. */
static void add_from_before(struct sweep *sweep, const struct memory_mark *mark)
{
    for (uint32_t i = 0; i < mark->place_count; i++) {
        const struct marked_place *place = &mark->places[i];
        int64_t bytes = place->bytes;

        if (place->device != HOST_MEMORY)
            bytes = (bytes + DEVICE_ROUNDING - 1) / DEVICE_ROUNDING * DEVICE_ROUNDING;
        if (*current_at(sweep, place->address) != NO_VALUE)
            continue;
        *current_at(sweep, place->address) = sweep->blocks->count;
        sweep->block_of[place->tensor] = sweep->blocks->count;
        (void)memory_blocks_add_block(sweep, (struct memory_block){.bytes = bytes,
                                                                   .start_ns = INT64_MIN,
                                                                   .address = place->address,
                                                                   .tensor = place->tensor,
                                                                   .track = NO_EVENT,
                                                                   .device = place->device});
    }
}

/* First who left, then who is there: an address may have passed from one tensor to another
 * since the last mark. */
static void memory_blocks_take_mark(struct sweep *sweep, const struct signal *signal)
{
    const struct memory_mark *mark = &sweep->side->marks[signal->number];
    struct hash_map places = {0};
    int64_t foreign_bytes = 0;

    for (uint32_t i = 0; i < mark->place_count; i++)
        (void)hash_map_add(&places, mark->places[i].address, 1);
    for (uint32_t i = 0; i < mark->gone_count; i++)
        leave_place(sweep, &places, mark->gone[i], signal->time_ns);
    for (uint32_t i = 0; i < mark->place_count; i++)
        leave_place(sweep, &places, mark->places[i].tensor, signal->time_ns);
    hash_map_clear(&places);
    for (uint32_t i = 0; i < mark->place_count; i++) {
        memory_blocks_take_place(sweep, &mark->places[i]);
        /* A tensor that lies in no block: its memory came from another allocator than the one
         * recorded. */
        if (sweep->block_of[mark->places[i].tensor] == NO_VALUE)
            foreign_bytes += mark->places[i].bytes;
    }
    if (foreign_bytes > sweep->blocks->foreign_bytes)
        sweep->blocks->foreign_bytes = foreign_bytes;
    sweep->blocks->moments[sweep->blocks->moment_count++] =
        (struct memory_moment){.time_ns = signal->time_ns,
                               .mark = signal->number,
                               .change_count = sweep->blocks->change_count};
}

/* That a tensor died ends its block only where no event can tell: on the host, of what was there
 * before the recording began. */
static void collect_signal(struct sweep *sweep, const struct signal *signal)
{
    uint32_t block;

    if (signal->is_mark) {
        if (sweep->blocks->moment_count < sweep->side->mark_count)
            memory_blocks_take_mark(sweep, signal);
        return;
    }
    block = sweep->block_of[signal->number];
    if (block == NO_VALUE || !memory_blocks_is_from_before(sweep, block) ||
        sweep->blocks->blocks[block].device != HOST_MEMORY ||
        sweep->blocks->blocks[block].end != NO_CHANGE)
        return;
    *current_at(sweep, sweep->blocks->blocks[block].address) = NO_VALUE;
    end_block(sweep, block, signal->time_ns);
}

/* ---- events ---------------------------------------------------------------------------------- */

/* A release without an allocation is from before the recording, and was no tensor of the first
 * mark: counted, not guessed. An allocation at an address in use means that a release was not
 * recorded. */
static void memory_blocks_take_event(struct sweep *sweep, const struct memory_event *event)
{
    uint32_t *current = current_at(sweep, event->address);

    if (event->bytes < 0) {
        if (*current == NO_VALUE) {
            sweep->blocks->unknown_frees++;
            return;
        }
        end_block(sweep, *current, event->time_ns);
        *current = NO_VALUE;
        return;
    }
    if (*current != NO_VALUE)
        end_unseen(sweep, *current, event->time_ns);
    *current = sweep->blocks->count;
    (void)memory_blocks_add_block(sweep, (struct memory_block){.bytes = event->bytes,
                                                               .start_ns = event->time_ns,
                                                               .address = event->address,
                                                               .tensor = NO_TENSOR,
                                                               .track = event->track,
                                                               .device = event->device});
}

/* What a device's allocator held before the first event, and no tensor of the first mark explains.
 */
static void add_unexplained(struct sweep *sweep, const struct trace *trace)
{
    uint32_t known = sweep->blocks->count;
    struct hash_map seen = {0};

    for (size_t i = 0; i < trace->memory.count; i++) {
        const struct memory_event *event = &trace->memory.events[i];
        int64_t bytes = event->allocated_bytes - event->bytes;
        size_t devices = seen.count;

        if (event->device == HOST_MEMORY || event->allocated_bytes < 0)
            continue;
        (void)hash_map_add(&seen, (uint64_t)event->device, 1);
        /* Only the first event of a device tells what there was before it. */
        if (seen.count == devices)
            continue;
        for (uint32_t b = 0; b < known; b++)
            if (sweep->blocks->blocks[b].device == event->device)
                bytes -= sweep->blocks->blocks[b].bytes;
        if (bytes > 0)
            (void)memory_blocks_add_block(sweep, (struct memory_block){.bytes = bytes,
                                                                       .start_ns = INT64_MIN,
                                                                       .tensor = NO_TENSOR,
                                                                       .track = NO_EVENT,
                                                                       .device = event->device});
    }
    hash_map_clear(&seen);
}

/* One walk over allocator events with the signals between them, both by time: O(events +
 * places of marks). A mark counts before an event of the same time. */
void memory_blocks_find(struct memory_blocks *blocks, const struct trace *trace,
                        const struct memory_side_file *side)
{
    struct sweep sweep = {.blocks = blocks, .side = side};
    uint32_t next = 0;

    blocks->moments = require_memory(calloc(side->mark_count + (size_t)1, sizeof *blocks->moments));
    sweep.block_of = require_memory(malloc((side->tensor_count + (size_t)1) * sizeof(uint32_t)));
    memset(sweep.block_of, 0xff, (side->tensor_count + (size_t)1) * sizeof(uint32_t));
    find_signals(&sweep, trace);
    if (side->mark_count)
        add_from_before(&sweep, &side->marks[0]);
    add_unexplained(&sweep, trace);
    for (size_t i = 0; i < trace->memory.count; i++) {
        while (next < sweep.signal_count &&
               sweep.signals[next].time_ns <= trace->memory.events[i].time_ns)
            collect_signal(&sweep, &sweep.signals[next++]);
        memory_blocks_take_event(&sweep, &trace->memory.events[i]);
    }
    while (next < sweep.signal_count)
        collect_signal(&sweep, &sweep.signals[next++]);
    /* Marks of which the trace has no time: the recording ended before them, or their events
     * were lost. */
    blocks->missing_marks = (int64_t)side->mark_count - blocks->moment_count;
    hash_map_clear(&sweep.slots);
    free(sweep.current);
    free(sweep.block_of);
    free(sweep.signals);
}

void memory_blocks_clear(struct memory_blocks *blocks)
{
    if (!blocks)
        return;
    free(blocks->blocks);
    free(blocks->changes);
    free(blocks->moments);
    *blocks = (struct memory_blocks){0};
}
