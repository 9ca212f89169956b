/* One entry of a flight recorder's dump. */
#include "readers/flight_recorder/flight_entry_reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_MAX = 4096 }; /* of shapes and stacks: what is longer is cut */

/* A text that grows up to its end. */
struct built_text {
    char text[TEXT_MAX];
    size_t length;
};

/* What does not fit is cut: a stack of thousands of frames is still the stack at its
 * beginning. */
static void append(struct built_text *built, const char *text)
{
    size_t length = strlen(text);

    if (length > TEXT_MAX - 1 - built->length)
        length = TEXT_MAX - 1 - built->length;
    memcpy(built->text + built->length, text, length);
    built->length += length;
    built->text[built->length] = '\0';
}

static uint32_t add_built(struct flight_entry_reader *reader, const struct built_text *built)
{
    return string_pool_add(&reader->dumps->strings, built->text, built->length);
}

static struct pickle_value member(const struct flight_entry_reader *reader,
                                  struct pickle_value dict, const char *name)
{
    return pickle_named(reader->tree, dict, name);
}

static const char *text_of(const struct flight_entry_reader *reader, struct pickle_value value)
{
    return string_pool_text(&reader->tree->strings, pickle_text_id(value));
}

/* The text in the dumps' pool. Dumps of all ranks share one pool, so that names compare by id;
 * each text of a dump is put into it once. */
static uint32_t accept_text(struct flight_entry_reader *reader, struct pickle_value value)
{
    uint32_t id = pickle_text_id(value);
    uint32_t taken = hash_map_find(&reader->texts, id);
    const struct string_pool *strings = &reader->tree->strings;

    if (taken != NO_VALUE)
        return taken;
    taken = string_pool_add(&reader->dumps->strings, string_pool_text(strings, id),
                            string_pool_length(strings, id));
    return hash_map_add(&reader->texts, id, taken);
}

/* None, a missing member and 0 are all "not known". */
static int64_t time_of(const struct flight_entry_reader *reader, struct pickle_value dict,
                       const char *name)
{
    int64_t time;

    return pickle_integer(reader->tree, member(reader, dict, name), &time) && time > 0 ? time : 0;
}

/* ---- what was called ---- */

/* "nccl:send 0->1", "nccl:recv 0<-1": in both the first number is the rank's own. */
static void parse_peers(struct flight_entry *entry, const char *name)
{
    int own;
    int peer;
    char arrow[3];

    if (sscanf(name, "%*[a-z_] %d%2[-<>]%d", &own, arrow, &peer) != 3 || own < 0 || peer < 0)
        return;
    entry->source = strcmp(arrow, "<-") == 0 ? peer : own;
    entry->target = strcmp(arrow, "<-") == 0 ? own : peer;
    entry->is_p2p = true;
}

/* "nccl:all_reduce" is the operation behind its backend. Sends have peers behind the name
 * ("send 0->1"), which would make each pair an operation of its own. */
static void read_name(struct flight_entry_reader *reader, struct flight_entry *entry,
                      const char *full)
{
    const char *colon = strchr(full, ':');
    const char *name = colon ? colon + 1 : full;

    if (colon && reader->dumps->backend == 0)
        reader->dumps->backend =
            string_pool_add(&reader->dumps->strings, full, (size_t)(colon - full));
    entry->source = entry->target = -1;
    parse_peers(entry, name);
    entry->name = string_pool_add(&reader->dumps->strings, name,
                                  entry->source >= 0 ? strcspn(name, " ") : strlen(name));
}

/* A time of completion proves it, whatever the state says: the watchdog writes the state late. */
static uint8_t state_of(const struct flight_entry_reader *reader, const struct flight_entry *entry,
                        struct pickle_value dict)
{
    const char *state = text_of(reader, member(reader, dict, "state"));

    if (strcmp(state, "completed") == 0 || entry->completed_ns > 0)
        return FLIGHT_COMPLETED;
    return strcmp(state, "started") == 0 || entry->started_ns > 0 ? FLIGHT_STARTED
                                                                  : FLIGHT_SCHEDULED;
}

/* ---- tensors ---- */

/* "[4, 8]" of each tensor; adds up their elements, -1 where a size is not known. */
static int64_t append_sizes(struct flight_entry_reader *reader, struct built_text *text,
                            struct pickle_value sizes)
{
    struct pickle_items tensors = pickle_items(reader->tree, sizes);
    int64_t elements = pickle_kind(sizes) == PICKLE_NOTHING ? -1 : 0;

    for (uint32_t i = 0; i < tensors.count; i++) {
        struct pickle_items sides = pickle_items(reader->tree, tensors.cells[i]);
        int64_t product = 1;

        append(text, i ? " [" : "[");
        for (uint32_t k = 0; k < sides.count; k++) {
            char number[32];
            int64_t side = -1;

            if (!pickle_integer(reader->tree, sides.cells[k], &side) || side < 0 ||
                __builtin_mul_overflow(product, side, &product))
                product = -1;
            (void)snprintf(number, sizeof number, "%s%lld", k ? ", " : "", (long long)side);
            append(text, number);
            if (product < 0)
                break;
        }
        append(text, "]");
        if (product < 0 || elements < 0 || __builtin_add_overflow(elements, product, &elements))
            elements = -1;
    }
    return elements;
}

static void append_types(struct flight_entry_reader *reader, struct built_text *text,
                         struct pickle_value types)
{
    struct pickle_items items = pickle_items(reader->tree, types);
    const char *before = "";

    for (uint32_t i = 0; i < items.count; i++) {
        const char *type = text_of(reader, items.cells[i]);

        if (strcmp(type, before) != 0) /* many tensors are of one type */
            append(text, i ? " " : "");
        if (strcmp(type, before) != 0)
            append(text, type);
        before = type;
    }
}

/* Four characters are the arrow alone: no shape at all was told. Types are told once where
 * input and output have the same. */
static void read_tensors(struct flight_entry_reader *reader, struct flight_entry *entry,
                         struct pickle_value dict)
{
    struct built_text shapes = {.length = 0};
    struct built_text input_types = {.length = 0};
    struct built_text output_types = {.length = 0};

    entry->input_elements = append_sizes(reader, &shapes, member(reader, dict, "input_sizes"));
    append(&shapes, " -> ");
    entry->output_elements = append_sizes(reader, &shapes, member(reader, dict, "output_sizes"));
    if (shapes.length > 4)
        entry->shapes = add_built(reader, &shapes);
    append_types(reader, &input_types, member(reader, dict, "input_dtypes"));
    append_types(reader, &output_types, member(reader, dict, "output_dtypes"));
    if (output_types.length > 0 && strcmp(input_types.text, output_types.text) != 0) {
        append(&input_types, " -> ");
        append(&input_types, output_types.text);
    }
    entry->dtypes = add_built(reader, &input_types);
}

/* ---- the code ---- */

/* "file:line name", as Python prints a traceback, one frame a line. What a frame lacks is left
 * out, not the frame. */
static void append_frame(struct flight_entry_reader *reader, struct built_text *text,
                         struct pickle_value frame)
{
    int64_t line = 0;
    char number[32];

    if (text->length > 0)
        append(text, "\n");
    append(text, text_of(reader, member(reader, frame, "filename")));
    if (pickle_integer(reader->tree, member(reader, frame, "line"), &line)) {
        (void)snprintf(number, sizeof number, ":%lld", (long long)line);
        append(text, number);
    }
    append(text, " ");
    append(text, text_of(reader, member(reader, frame, "name")));
}

/* Stacks repeat in a dump (pickle shares them): each is made a text once. */
static uint32_t read_frames(struct flight_entry_reader *reader, struct pickle_value list)
{
    struct pickle_items frames = pickle_items(reader->tree, list);
    struct built_text text = {.length = 0};
    uint32_t id;

    if (frames.count == 0)
        return 0;
    id = hash_map_find(&reader->stacks, pickle_sequence_id(list));
    if (id != NO_VALUE)
        return id;
    for (uint32_t i = 0; i < frames.count; i++)
        append_frame(reader, &text, frames.cells[i]);
    return hash_map_add(&reader->stacks, pickle_sequence_id(list), add_built(reader, &text));
}

/* ---- the entry ---- */

/* ("0", "default_pg"); older versions have one text, or only a number. */
static void read_group(struct flight_entry_reader *reader, struct flight_entry *entry,
                       struct pickle_value dict)
{
    struct pickle_value pair = member(reader, dict, "process_group");
    struct pickle_items parts = pickle_items(reader->tree, pair);
    uint32_t name = 0;
    uint32_t description = 0;
    int64_t number;
    char text[32];

    if (parts.count >= 1)
        name = accept_text(reader, parts.cells[0]);
    else if (pickle_kind(pair) == PICKLE_TEXT)
        name = accept_text(reader, pair);
    else if (pickle_kind(member(reader, dict, "pg_name")) == PICKLE_TEXT)
        name = accept_text(reader, member(reader, dict, "pg_name"));
    else if (pickle_integer(reader->tree, member(reader, dict, "pg_id"), &number))
        name = string_pool_add(&reader->dumps->strings, text,
                               (size_t)snprintf(text, sizeof text, "%lld", (long long)number));
    if (parts.count >= 2)
        description = accept_text(reader, parts.cells[1]);
    entry->group = flight_group_of(reader, name, description);
}

static bool read_sequence(const struct flight_entry_reader *reader, struct flight_entry *entry,
                          struct pickle_value dict, struct error *error)
{
    static const char *const names[] = {"collective_seq_id", "p2p_seq_id", "seq_id"};
    uint64_t number = 0;
    struct pickle_value value = member(reader, dict, names[entry->is_p2p]);

    if (pickle_kind(value) == PICKLE_NOTHING)
        value = member(reader, dict, names[2]); /* before version 2.2 */
    if (!pickle_unsigned(reader->tree, value, &number) || number >= UINT32_MAX)
        return error_set(error, ERROR_INPUT, "'%s' is %s, expected the number of the operation",
                         names[entry->is_p2p], pickle_kind_name(pickle_kind(value)));
    entry->sequence = (uint32_t)number;
    return true;
}

/* Whether any call was seen to start is kept for all entries together: a dump in which none
 * was has no starts to go by, and its retired calls are then judged without. */
bool read_flight_entry(struct flight_entry_reader *reader, struct flight_entry *entry,
                       struct pickle_value dict, struct error *error)
{
    struct pickle_value name = member(reader, dict, "profiling_name");
    int64_t is_p2p = 0;
    int64_t is_retired = 0;

    if (pickle_kind(dict) != PICKLE_DICT)
        return error_set(error, ERROR_INPUT, "the entry is %s, expected a dict",
                         pickle_kind_name(pickle_kind(dict)));
    if (pickle_kind(name) != PICKLE_TEXT)
        return error_set(error, ERROR_INPUT,
                         "'profiling_name' is %s, expected a text such as 'nccl:all_reduce'",
                         pickle_kind_name(pickle_kind(name)));
    *entry = (struct flight_entry){0};
    read_name(reader, entry, text_of(reader, name));
    if (pickle_integer(reader->tree, member(reader, dict, "is_p2p"), &is_p2p))
        entry->is_p2p = is_p2p != 0;
    if (!read_sequence(reader, entry, dict, error))
        return false;
    read_group(reader, entry, dict);
    read_tensors(reader, entry, dict);
    entry->frames = read_frames(reader, member(reader, dict, "frames"));
    entry->created_ns = time_of(reader, dict, "time_created_ns");
    entry->started_ns = time_of(reader, dict, "time_discovered_started_ns");
    entry->completed_ns = time_of(reader, dict, "time_discovered_completed_ns");
    entry->state = state_of(reader, entry, dict);
    if (pickle_integer(reader->tree, member(reader, dict, "retired"), &is_retired))
        entry->is_retired = is_retired != 0;
    reader->has_starts |= entry->state != FLIGHT_SCHEDULED;
    return true;
}

/* ---- entries of one call ---- */

/* A number in a group; operations and point-to-point operations are counted apart. */
static uint64_t sequence_key(const struct flight_entry *entry)
{
    return pair_key((entry->group << 1) | entry->is_p2p, entry->sequence);
}

/* A backend may notice completions late, or not at all (gloo): then the group's own count tells,
 * and that the entry was retired where nothing is ever seen to start. */
static void use_other_evidence(const struct flight_entry_reader *reader,
                               const struct flight_dump *dump, struct flight_entry *entry)
{
    bool is_counted = !entry->is_p2p && entry->group < dump->status_count &&
                      dump->statuses[entry->group].completed >= (int64_t)entry->sequence;

    if (is_counted || (entry->is_retired && !reader->has_starts))
        entry->state = FLIGHT_COMPLETED;
}

/* Entries of one number are told apart by their order; the entry "coalesced" stands for all of
 * its group, so what it reached they reached. */
void finish_flight_entries(struct flight_entry_reader *reader, struct flight_dump *dump)
{
    uint32_t coalesced = string_pool_find(&reader->dumps->strings, "coalesced", 9);
    struct hash_map counts = {0};

    for (size_t i = 0; i < dump->entry_count; i++) {
        struct flight_entry *entry = &dump->entries[i];
        uint64_t key = sequence_key(entry);
        uint32_t before = hash_map_add(&counts, key, 0);

        entry->ordinal = before;
        hash_map_set(&counts, key, before + 1);
        if (entry->name == coalesced)
            hash_map_set(&reader->sequences, key, (uint32_t)i);
        use_other_evidence(reader, dump, entry);
    }
    for (size_t i = 0; i < dump->entry_count; i++) {
        struct flight_entry *entry = &dump->entries[i];
        uint32_t whole = hash_map_find(&reader->sequences, sequence_key(entry));

        if (whole != NO_VALUE && dump->entries[whole].state > entry->state)
            entry->state = dump->entries[whole].state;
    }
    hash_map_clear(&counts);
}

void flight_entry_reader_clear(struct flight_entry_reader *reader)
{
    hash_map_clear(&reader->groups);
    hash_map_clear(&reader->texts);
    hash_map_clear(&reader->stacks);
    hash_map_clear(&reader->configs);
    hash_map_clear(&reader->statuses);
    hash_map_clear(&reader->sequences);
}
