/* Reads what the recorder writes beside a trace about memory. */
#include "memory/memory_side_file.h"

#include "base/core/invariant.h"
#include "base/io/whole_file.h"
#include "base/json/json_tree.h"
#include "trace/memory_event.h"

#include <stdlib.h>
#include <string.h>

/* Numbers of one tensor in a list of live ones: id, address, bytes, device. */
enum { NUMBERS_PER_PLACE = 4 };

static const char ending[] = ".memory.json";

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

static bool memory_side_file_take_places(struct side_parse *parse, uint32_t index,
                                         const struct json_node *live)
{
    struct memory_mark *mark = &parse->side->marks[index];
    uint32_t numbers = count_items(live);

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
            .out_of_memory_errors = json_integer_of(devices, "out_of_memory_errors", -1),
            .used_bytes = json_integer_of(devices, "used_bytes", -1),
            .total_bytes = json_integer_of(devices, "total_bytes", -1),
        };
    }
}

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
    side->other_bytes_not_listed = json_integer_of(root, "other_bytes_not_listed", 0);
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
