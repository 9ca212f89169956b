/* Rows of several tables of RPD's databases, sets of their ids, and the processes in a file. */
#include "base/core/array.h"
#include "readers/rocprof/rpd_reading.h"
#include "readers/sqlite/sqlite_batch.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- rows of several tables ----------------------------------------------------------------- */

enum { RPD_SOURCES_MAX = 8 };

/* Joins are by ids that are the tables' own keys, so that each is one look-up, whatever its size.
 * Files are trimmed, and tables came and went with the schemas: a join is left out rather than
 * refused, and what hangs on it with it. */
static bool rpd_can_join(struct sqlite_input *database, const struct rpd_query *query, unsigned i,
                         const bool *is_there)
{
    const struct rpd_source *source = &query->sources[i];

    return is_there[source->from] && sqlite_has_column(database, source->table, source->key) &&
           sqlite_has_column(database, query->sources[source->from].table, source->from_column);
}

/* "FROM a AS A LEFT JOIN b AS B ON B.id = A.b_id ..."; CROSS keeps SQLite from another order of
 * the tables, for which there may be no index. */
static void rpd_append_sources(sqlite3_str *text, struct sqlite_input *database,
                               const struct rpd_query *query, const bool *is_there)
{
    const char *before = " FROM ";

    for (unsigned i = 0; i < query->count; i++) {
        const struct rpd_source *source = &query->sources[i];
        const bool is_first = strcmp(before, " FROM ") == 0;

        if (!is_there[i])
            continue;
        string_pool_add(&database->opened, source->table, strlen(source->table));
        sqlite3_str_appendf(text, "%s\"%w\" AS %s", before, source->table, source->alias);
        if (!is_first)
            sqlite3_str_appendf(text, " ON %s.\"%w\" = %s.\"%w\"", source->alias, source->key,
                                query->sources[source->from].alias, source->from_column);
        before = i + 1 < query->count && query->sources[i + 1].is_required ? " CROSS JOIN "
                                                                           : " LEFT JOIN ";
    }
}

/* The key of what is joined is asked for as well, behind all other columns: a row is kept where
 * nothing else of the query is left to be looked at. */
static void rpd_append_keys(sqlite3_str *text, struct sqlite_rows *rows,
                            const struct rpd_query *query, const bool *is_there)
{
    for (unsigned i = 0; i < query->count; i++) {
        const struct rpd_source *source = &query->sources[i];

        if (is_there[i] && source->key) {
            const char *const key[] = {source->key, NULL};

            sqlite_append_columns(text, rows, source->table, source->alias, key);
        }
    }
}

/* It is found first which tables are joined: a table that is not gives a row of NULL. */
void rpd_rows_open(struct sqlite_rows *rows, struct sqlite_input *database,
                   const struct rpd_query *query)
{
    sqlite3_str *text = sqlite3_str_new(database->connection);
    bool is_there[RPD_SOURCES_MAX] = {false};
    bool is_good;
    char *statement;

    *rows = (struct sqlite_rows){.input = database, .table = query->sources[0].table};
    is_good = is_there[0] = sqlite_has_table(database, query->sources[0].table);
    for (unsigned i = 1; i < query->count; i++) {
        is_there[i] = rpd_can_join(database, query, i, is_there);
        is_good = is_good && (!query->sources[i].is_required || is_there[i]);
    }
    sqlite3_str_appendall(text, "SELECT 1");
    rpd_append_sources(text, database, query, is_there);
    sqlite_append_rows_begin(text, rows, NULL);
    for (unsigned i = 0; i < query->count; i++)
        sqlite_append_columns(text, rows, is_there[i] ? query->sources[i].table : "",
                              query->sources[i].alias, query->sources[i].columns);
    rpd_append_keys(text, rows, query, is_there);
    sqlite_append_rows_end(text, NULL);
    statement = require_memory(sqlite3_str_finish(text));
    if (is_good && sqlite3_prepare_v2(database->connection, statement, -1, &rows->statement,
                                      NULL) != SQLITE_OK)
        sqlite_input_note_damage(database, rows->table);
    sqlite3_free(statement);
}

/* A table without the key has no rows that could be asked for, and is not told as used. */
void rpd_table_open(struct rpd_table *table, struct sqlite_input *database, const char *name,
                    const char *const *columns, bool is_walked)
{
    char text[64];
    const struct sqlite_condition condition = {text, 0};

    *table = (struct rpd_table){.key = 0};
    if (!sqlite_has_column(database, name, columns[0]))
        return;
    (void)snprintf(text, sizeof text, "T.%s = ?1", columns[0]);
    sqlite_rows_open_where(&table->asked, database, name, columns, &condition);
    if (is_walked)
        sqlite_rows_open(&table->walked, database, name, columns);
}

/* Recorders write ops, calls, launches and links in nearly the same order, so that the next row
 * that is asked for is mostly the next one of its table. All ops of a graph ask for one call. */
const struct sqlite_rows *rpd_table_find(struct rpd_table *table, int64_t key)
{
    if (table->has_key && table->key == key)
        return table->found;
    table->has_key = true;
    table->key = key;
    table->found = &table->walked;
    if (sqlite_rows_seek(&table->walked, key))
        return table->found;
    sqlite_rows_restart(&table->asked, key);
    table->found = sqlite_rows_next(&table->asked) ? &table->asked : NULL;
    return table->found;
}

void rpd_table_clear(struct rpd_table *table)
{
    sqlite_rows_clear(&table->walked);
    sqlite_rows_clear(&table->asked);
    *table = (struct rpd_table){.key = 0};
}

/* Counting reads no row. */
int64_t rpd_first_number(struct sqlite_input *database, const char *query)
{
    sqlite3_stmt *statement = NULL;
    int64_t number = -1;

    if (sqlite3_prepare_v2(database->connection, query, -1, &statement, NULL) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW)
        number = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return number;
}

/* ---- words of the file ---------------------------------------------------------------------- */

/* Arguments differ in nearly each call: they were taken out of the strings, which are all read at
 * once. */
const char *rpd_text_table(struct sqlite_input *database)
{
    return sqlite_has_table(database, "rocpd_ustring") ? "rocpd_ustring" : "rocpd_string";
}

const char *rpd_string_text(const struct rpd_reading *reading, int64_t id)
{
    return string_pool_text(&reading->run.builder.strings, rocprof_string(&reading->strings, id));
}

/* Rows have few words: what follows from them is found once, unless others take their place. */
static struct rpd_words *rpd_known_words(struct rpd_words *known, int64_t word, int64_t domain)
{
    struct rpd_words *words = &known[((uint64_t)word * 31 + (uint64_t)domain) % RPD_WORDS];

    if (words->is_known && words->word == word && words->domain == domain)
        return words;
    *words = (struct rpd_words){.word = word, .domain = domain};
    return words;
}

const struct rpd_words *rpd_words_of_op(struct rpd_reading *reading, int64_t type)
{
    struct rpd_words *words = rpd_known_words(reading->op_words, type, 0);

    if (!words->is_known) {
        words->name = rocprof_string(&reading->strings, type);
        words->content = rpd_content_of(rpd_string_text(reading, type));
        words->category = words->name ? words->name : rocprof_text(&reading->run, "rocpd_op");
        words->is_known = true;
    }
    return words;
}

const struct rpd_words *rpd_words_of_call(struct rpd_reading *reading, int64_t name, int64_t domain)
{
    struct rpd_words *words = rpd_known_words(reading->call_words, name, domain);

    if (!words->is_known) {
        words->name = rocprof_string(&reading->strings, name);
        words->content =
            rpd_content_of_call(rpd_string_text(reading, domain), rpd_string_text(reading, name));
        words->is_known = true;
    }
    return words;
}

/* ---- sets of ids ---------------------------------------------------------------------------- */

/* A map of all ids would take as much memory as the events themselves. */
bool rpd_ids_add(struct rpd_ids *ids, int64_t id)
{
    const uint64_t bit = (uint64_t)1 << (id & 63), key = (uint64_t)id >> 6;
    uint32_t word = ids->last_word;

    if (ids->count == 0 || key != ids->last_key)
        word = hash_map_add(&ids->words, key, ids->count);
    if (word == ids->count)
        ARRAY_ADD(ids->bits, ids->count, 0);
    ids->last_key = key;
    ids->last_word = word;
    if (ids->bits[word] & bit)
        return false;
    ids->bits[word] |= bit;
    ids->id_count++;
    return true;
}

bool rpd_ids_has(const struct rpd_ids *ids, int64_t id)
{
    const uint32_t word = hash_map_find(&ids->words, (uint64_t)id >> 6);

    return word != NO_VALUE && ids->bits[word] >> (id & 63) & 1;
}

void rpd_ids_clear(struct rpd_ids *ids)
{
    hash_map_clear(&ids->words);
    free(ids->bits);
    *ids = (struct rpd_ids){.count = 0};
}

/* ---- processes ------------------------------------------------------------------------------ */

/* The device of the first kernel of a process, for the order of ranks. Copies may be said to be of
 * a device that is not theirs (rpd_take_copy). */
static int64_t rpd_device_of(struct sqlite_input *database, int64_t pid)
{
    static const char *const none[] = {NULL};
    static const char *const device[] = {"gpuId", NULL};
    static const char *const pids[] = {"pid", NULL};
    static const char *const type[] = {"string", NULL};
    static const struct rpd_source sources[] = {
        {"rocpd_api_ops", "L", NULL, NULL, none, 0, true},
        {"rocpd_op", "O", "id", "op_id", device, 0, true},
        {"rocpd_api", "A", "id", "api_id", pids, 0, true},
        {"rocpd_string", "S", "id", "opType_id", type, 1, false},
    };
    const struct rpd_query query = {sources, sizeof sources / sizeof *sources};
    int64_t found = INT64_MAX;
    struct sqlite_rows rows;

    rpd_rows_open(&rows, database, &query);
    while (found == INT64_MAX && sqlite_rows_next(&rows)) {
        const char *text = sqlite_text(&rows, 2);

        if (sqlite_integer(&rows, 1, -1) == pid && text && rpd_content_of(text) == ROCPROF_KERNELS)
            found = sqlite_integer(&rows, 0, INT64_MAX);
    }
    sqlite_rows_clear(&rows);
    return found;
}

/* Most files are of one process. */
static bool rpd_has_one_process(struct sqlite_input *database)
{
    static const char *const pids[] = {"pid", NULL};
    struct sqlite_rows rows;
    int64_t first = -1;
    bool is_same = true;

    sqlite_rows_open(&rows, database, "rocpd_api", pids);
    if (sqlite_rows_next(&rows))
        first = sqlite_integer(&rows, 0, -1);
    while (is_same && sqlite_rows_next(&rows))
        is_same = sqlite_integer(&rows, 0, -1) == first;
    sqlite_rows_clear(&rows);
    return is_same;
}

/* Ops have no process of their own: it is that of the call which made them. */
void rpd_find_parts(struct rpd_parts *parts, struct sqlite_input *database, uint32_t most)
{
    static const char *const none[] = {NULL};
    static const char *const pids[] = {"pid", NULL};
    static const struct rpd_source sources[] = {
        {"rocpd_api_ops", "L", NULL, NULL, none, 0, true},
        {"rocpd_api", "A", "id", "api_id", pids, 0, true},
    };
    const struct rpd_query query = {sources, sizeof sources / sizeof *sources};
    struct sqlite_rows rows;
    int64_t last = -1;

    if (most > 1 && rpd_has_one_process(database))
        most = 1;
    *parts = (struct rpd_parts){.count = 0};
    rpd_rows_open(&rows, database, &query);
    while (parts->count < most && !parts->are_too_many && sqlite_rows_next(&rows)) {
        const struct rpd_part part = {.pid = sqlite_integer(&rows, 0, -1)};

        if (part.pid >= 0 && part.pid != last)
            rpd_parts_add(parts, &part);
        last = part.pid;
    }
    sqlite_rows_clear(&rows);
    if (most == 1 || parts->count <= 1)
        return;
    for (uint32_t i = 0; i < parts->count; i++)
        parts->parts[i].device = rpd_device_of(database, parts->parts[i].pid);
    rpd_parts_sort(parts);
}
