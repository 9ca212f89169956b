/* Reads one dump of a flight recorder: the file, its groups and what it says of them. */
#include "readers/flight_recorder/read_flight_dump.h"

#include "base/core/array.h"
#include "base/core/hash_map.h"
#include "base/core/invariant.h"
#include "base/io/input_stream.h"
#include "base/io/whole_file.h"
#include "base/pickle/pickle_tree.h"
#include "base/text/owned_text.h"
#include "readers/flight_recorder/flight_entry_reader.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char what_it_is[] =
    "name the files that PyTorch's flight recorder wrote (TORCH_NCCL_DEBUG_INFO_TEMP_FILE, by "
    "default /tmp/nccl_trace_rank_N)";

static bool looks_like_json(const char *head, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (!isspace((unsigned char)head[i]))
            return head[i] == '{';
    return false;
}

/* By the first bytes: the recorder writes pickles, its HTTP endpoint JSON. */
bool looks_like_flight_dump(const char *head, size_t length)
{
    return looks_like_pickle(head, length) || looks_like_json(head, length);
}

/* Behind "rank" and a separator: a time may follow, "nccl_trace_rank_3_1767225600". */
static const char *behind_rank(const char *name)
{
    const char *number = NULL;

    for (const char *at = strcasestr(name, "rank"); at; at = strcasestr(at + 4, "rank")) {
        const char *behind = at + 4;

        behind += *behind && strchr("_-.=[", *behind) != NULL;
        if (isdigit((unsigned char)*behind))
            number = behind;
    }
    return number;
}

/* The number behind the last "rank"; else the last number of the name, as in "nccl_trace_3". */
bool flight_rank_of_name(const char *path, uint32_t *rank)
{
    const char *name = path_name(path);
    const char *end = name + strlen(name);
    const char *begin = behind_rank(name);
    unsigned long number;

    if (strncmp(path, "/dev/", 5) == 0) /* the number of a pipe of the shell's is no rank */
        return false;
    if (begin) {
        errno = 0;
        number = strtoul(begin, NULL, 10);
        *rank = (uint32_t)number;
        return errno == 0 && number < UINT32_MAX;
    }
    while (end > name && !isdigit((unsigned char)end[-1]))
        end--;
    begin = end;
    while (begin > name && isdigit((unsigned char)begin[-1]))
        begin--;
    if (begin == end)
        return false;
    errno = 0;
    number = strtoul(begin, NULL, 10);
    *rank = (uint32_t)number;
    return errno == 0 && number < UINT32_MAX;
}

/* ---- the file ---- */

/* A stream that broke is told as such only where the text could not be read: a whole dump may
 * stand before the break. */
static bool read_json(struct pickle_tree *tree, struct input_stream *input, struct error *error)
{
    size_t length = 0;
    char *text = read_whole_stream(input, &length, error);
    bool is_read = text && pickle_tree_from_json(tree, text, length, error);

    if (!text)
        return false;
    free(text);
    tree->rest = input_read_rest(input, (struct input_left){"", 0, (int64_t)length});
    return is_read || !input->is_broken || error_set(error, ERROR_INPUT, "%s", input->breakage);
}

/* Pickle or JSON is told by the content: dumps of both forms have the same kind of name. */
bool read_flight_tree(struct pickle_tree *tree, const char *path, struct error *error)
{
    SCOPED(input_stream) input = {0};
    struct input_window head;
    bool is_read;

    if (!input_stream_open(&input, path, false, error))
        return false;
    head = input_stream_peek(&input);
    if (head.length == 0)
        return error_set(error, ERROR_INPUT,
                         "'%s': empty: was the process killed before it had written its dump?",
                         path);
    if (!looks_like_flight_dump(head.text, head.length))
        return error_set(error, ERROR_INPUT, "'%s': neither a pickle nor JSON: %s", path,
                         what_it_is);
    if (looks_like_pickle(head.text, head.length))
        is_read = pickle_tree_read(tree, &input, error);
    else
        is_read = read_json(tree, &input, error);
    return is_read || error_in(error, "'%s'", path);
}

/* ---- what the dump says of each group ---- */

/* An integer, or a text of one: JSON dumps have them as texts. */
static int64_t number_of(const struct pickle_tree *tree, struct pickle_value value)
{
    const char *text = string_pool_text(&tree->strings, pickle_text_id(value));
    int64_t number;

    if (pickle_integer(tree, value, &number))
        return number;
    return *text ? strtoll(text, NULL, 10) : -1;
}

/* -1 is a group of which no state was told; 0 would say that nothing was ever enqueued in it. */
static void grow_statuses(struct flight_dump *dump, size_t count)
{
    if (count <= dump->status_count)
        return;
    dump->statuses = array_resize(dump->statuses, count, sizeof *dump->statuses);
    for (size_t i = dump->status_count; i < count; i++)
        dump->statuses[i] = (struct flight_status){.enqueued = -1, .completed = -1};
    dump->status_count = count;
}

/* `pg_status` names groups by the numbers that the entries carry, too. */
static void parse_status(struct flight_entry_reader *reader, struct flight_dump *dump,
                         uint32_t group, int64_t number)
{
    struct pickle_value all = pickle_named(reader->tree, reader->tree->root, "pg_status");
    struct pickle_value status;
    char name[32];

    if (dump->status_count > group && dump->statuses[group].enqueued >= 0)
        return;
    (void)snprintf(name, sizeof name, "%lld", (long long)number);
    status = flight_placed_name(&reader->statuses, reader->tree, all, name);
    if (pickle_kind(status) != PICKLE_DICT)
        return;
    grow_statuses(dump, (size_t)group + 1);
    dump->statuses[group] = (struct flight_status){
        .enqueued =
            number_of(reader->tree, pickle_named(reader->tree, status, "last_enqueued_collective")),
        .completed = number_of(reader->tree,
                               pickle_named(reader->tree, status, "last_completed_collective")),
    };
}

/* ---- the dump ---- */

/* The first entry's number tells whether the ring had overwritten older ones by then. */
static bool read_entries(struct flight_entry_reader *reader, struct flight_dump *dump,
                         struct pickle_items items, struct error *error)
{
    int64_t record = 0;

    dump->entries = require_memory(calloc((size_t)items.count + 1, sizeof *dump->entries));
    for (uint32_t i = 0; i < items.count; i++) {
        struct flight_entry *entry = &dump->entries[i];
        int64_t number = -1;

        if (!read_flight_entry(reader, entry, items.cells[i], error))
            return error_in(error, "entries[%u]", i);
        dump->entry_count++;
        if (pickle_integer(reader->tree, pickle_named(reader->tree, items.cells[i], "pg_id"),
                           &number))
            parse_status(reader, dump, entry->group, number);
        if (i == 0 &&
            pickle_integer(reader->tree, pickle_named(reader->tree, items.cells[i], "record_id"),
                           &record))
            dump->is_wrapped = record > 0;
    }
    finish_flight_entries(reader, dump);
    return true;
}

/* The first recorders wrote nothing but the list of entries. */
static bool is_list_of_entries(const struct pickle_tree *tree)
{
    struct pickle_items items = pickle_items(tree, tree->root);

    return pickle_kind(tree->root) == PICKLE_LIST && items.count > 0 &&
           pickle_kind(pickle_named(tree, items.cells[0], "profiling_name")) == PICKLE_TEXT;
}

/* A dump is taken whole or not: half of its entries would make a rank seem to lack
 * collectives. A bare list of entries has no field for its version, and is read as the first
 * one's. */
bool add_flight_dump(struct flight_dumps *dumps, const struct pickle_tree *tree, const char *path,
                     uint32_t rank, struct error *error)
{
    bool is_list = is_list_of_entries(tree);
    struct pickle_value entries = is_list ? tree->root : pickle_named(tree, tree->root, "entries");
    struct pickle_value version = pickle_named(tree, tree->root, "version");
    struct flight_entry_reader reader = {.dumps = dumps, .tree = tree};
    struct flight_dump *dump;
    const char *text = "1.0";
    bool is_read;

    if (!is_list &&
        (pickle_kind(tree->root) != PICKLE_DICT || pickle_kind(version) != PICKLE_TEXT ||
         (pickle_kind(entries) != PICKLE_LIST && pickle_kind(entries) != PICKLE_NOTHING)))
        return error_set(error, ERROR_INPUT,
                         "'%s': no dump of a flight recorder, which is a dict with 'version' and "
                         "'entries': %s",
                         path, what_it_is);
    if (!is_list)
        text = string_pool_text(&tree->strings, pickle_text_id(version));
    /* By the first number only: later minor versions added fields, which are looked up by
     * name. */
    if (strncmp(text, "1.", 2) != 0 && strncmp(text, "2.", 2) != 0)
        return error_set(error, ERROR_INPUT,
                         "'%s': a dump of version %.40s; versions 1.0 to 2.10 are known (PyTorch "
                         "2.2 and newer write them)",
                         path, text);
    dump = flight_dump_add(dumps, path, rank);
    dump->version = string_pool_add(&dumps->strings, text, strlen(text));
    /* Groups and their states are placed once, by name: each entry asks for its own. */
    flight_place_members(&reader.configs, tree, pickle_named(tree, tree->root, "pg_config"));
    flight_place_members(&reader.statuses, tree, pickle_named(tree, tree->root, "pg_status"));
    is_read = read_entries(&reader, dump, pickle_items(tree, entries), error);
    flight_entry_reader_clear(&reader);
    if (is_read)
        return true;
    flight_dump_drop(dumps);
    return error_in(error, "'%s'", path);
}
