/* Reads the SQLite databases of RocmProfileData (RPD, .rpd), one process at a time: a process with
 * work on a device is a rank. Views of the file, which are programs, are not run. */
#include "readers/rocprof/rpd_reading.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- calls and ranges of the host ----------------------------------------------------------- */

enum {
    CALL_ID,
    CALL_PID,
    CALL_THREAD,
    CALL_START,
    CALL_END,
    CALL_NAME,
    CALL_DOMAIN,
    CALL_CATEGORY,
    CALL_ARGUMENTS
};
enum { OPERATOR_CALL, OPERATOR_NAME, OPERATOR_SEQUENCE, OPERATOR_ID, OPERATOR_SIZES };

/* What stands behind the name of an operator. */
enum { RPD_OPERATOR_TEXT_MAX = 8192 };

static const char *const call_columns[] = {
    "id", "pid", "tid", "start", "end", "apiName_id", "domain_id", "category_id", "args_id", NULL};
static const char *const text_columns[] = {"id", "string", NULL};
static const char *const operator_columns[] = {"api_ptr_id", "autogradName_id", "seq",
                                               "op_id",      "sizes",           NULL};

/* What tells of ranges, beside their rows. */
struct rpd_ranges {
    struct rpd_table texts;     /* arguments */
    struct rpd_table operators; /* of ext_autogradapi */
};

/* What emit_nvtx wrote before 'python -m rocpd.autograd' took it apart. */
static uint32_t rpd_autograd_text(struct rpd_reading *reading, const struct sqlite_rows *rows)
{
    char text[RPD_OPERATOR_TEXT_MAX];
    const char *name = rpd_string_text(reading, sqlite_integer(rows, OPERATOR_NAME, -1));
    const char *sizes = sqlite_text(rows, OPERATOR_SIZES);
    int64_t sequence = -1, id = -1;
    int length;

    (void)sqlite_is_integer(rows, OPERATOR_SEQUENCE, &sequence);
    (void)sqlite_is_integer(rows, OPERATOR_ID, &id);
    length = snprintf(text, sizeof text, "%s, seq = %" PRId64 ", op_id = %" PRId64 "%s%s", name,
                      sequence, id, sizes && *sizes ? ", sizes = " : "", sizes ? sizes : "");
    return rocprof_text(&reading->run, length > 0 && (size_t)length < sizeof text ? text : name);
}

/* An operator as libraries log it through rlog: {"sizes": [[8, 64]], "seq": 12, "op_id": 3}. */
static uint32_t rpd_logged_operator(struct rpd_reading *reading, const char *name,
                                    const char *arguments)
{
    char text[RPD_OPERATOR_TEXT_MAX];
    struct json_slice json = rocprof_json_copy(arguments);
    struct json_slice sizes = {.text = "", .length = 0};
    const bool has_sizes = rocprof_json_member(&json, "sizes", &sizes);
    const int length =
        snprintf(text, sizeof text, "%s, seq = %" PRId64 ", op_id = %" PRId64 "%s%.*s", name,
                 rocprof_json_integer(&json, "seq", -1), rocprof_json_integer(&json, "op_id", -1),
                 has_sizes ? ", sizes = " : "", (int)sizes.length, sizes.text);

    free((char *)(uintptr_t)json.text);
    return rocprof_text(&reading->run, length > 0 && (size_t)length < sizeof text ? text : name);
}

/* A range's own text, from which its name is made (nvtx_name_apply). */
static uint32_t rpd_range_text(struct rpd_reading *reading, struct rpd_ranges *ranges,
                               const struct sqlite_rows *rows, const char *name)
{
    const char *category = rpd_string_text(reading, sqlite_integer(rows, CALL_CATEGORY, -1));
    const char *domain = rpd_string_text(reading, sqlite_integer(rows, CALL_DOMAIN, -1));
    const struct sqlite_rows *row =
        rpd_table_find(&ranges->operators, sqlite_integer(rows, CALL_ID, -1));
    const char *arguments;

    if (row && !sqlite_is_null(row, OPERATOR_NAME))
        return rpd_autograd_text(reading, row);
    row = rpd_table_find(&ranges->texts, sqlite_integer(rows, CALL_ARGUMENTS, -1));
    arguments = row ? sqlite_text(row, 1) : NULL;
    if (strcmp(name, "UserMarker") == 0)
        return rocprof_text(&reading->run, arguments && *arguments ? arguments : name);
    if (strcmp(domain, "torch") == 0 && strstr(category, "function"))
        return rpd_logged_operator(reading, name, arguments);
    return rocprof_text(&reading->run, name);
}

/* The call's id is its correlation: ops are linked to it. A range has one, too, by which its text
 * is found again at the end. */
static void rpd_read_call(struct rpd_reading *reading, struct rpd_ranges *ranges,
                          const struct sqlite_rows *rows)
{
    const struct rpd_words *words = rpd_words_of_call(reading, sqlite_integer(rows, CALL_NAME, -1),
                                                      sqlite_integer(rows, CALL_DOMAIN, -1));
    const char *name = string_pool_text(&reading->run.builder.strings, words->name);
    struct rocprof_record record = {.has = 0};

    rocprof_take(&record, rows, CALL_THREAD, ROCPROF_THREAD);
    rocprof_take(&record, rows, CALL_START, ROCPROF_START);
    rocprof_take(&record, rows, CALL_END, ROCPROF_END);
    rocprof_take(&record, rows, CALL_ID, ROCPROF_CORRELATION);
    if (words->content == ROCPROF_MARKERS && !reading->run.builder.sums_events)
        rocprof_run_name_marker(&reading->run, sqlite_integer(rows, CALL_ID, -1),
                                rpd_range_text(reading, ranges, rows, name));
    rocprof_take_name(&reading->run, &record, words->name);
    rpd_add_call(&reading->run, words->content, &record);
}

/* Calls of processes without device work (launchers of workers) are told with the first. Sums need
 * no texts. */
static void rpd_read_calls(struct rpd_reading *reading)
{
    static const char *const summed[] = {"id",  "pid",        "tid",       "start",
                                         "end", "apiName_id", "domain_id", NULL};
    struct sqlite_input *database = reading->database;
    struct rpd_ranges ranges;
    struct sqlite_rows rows;

    rpd_table_open(&ranges.texts, database, rpd_text_table(database), text_columns, true);
    rpd_table_open(&ranges.operators, database, "ext_autogradapi", operator_columns, true);
    sqlite_rows_open(&rows, database, "rocpd_api",
                     reading->run.builder.sums_events ? summed : call_columns);
    while (sqlite_rows_next(&rows)) {
        const int64_t pid = sqlite_integer(&rows, CALL_PID, -1);

        if (reading->run.pid < 0 || pid == reading->run.pid)
            rpd_read_call(reading, &ranges, &rows);
        else if (reading->part == 0 && !rpd_is_part(reading->parts, pid))
            read_account_leave(&reading->run.builder.read, "calls of processes without device work",
                               1);
    }
    sqlite_rows_clear(&rows);
    rpd_table_clear(&ranges.texts);
    rpd_table_clear(&ranges.operators);
}

/* ---- the reader ----------------------------------------------------------------------------- */

/* Users choose the name; tables called so are no others', of rocprofv3's neither. */
static bool rpd_recognises_file(const struct input_stream *input)
{
    return rocprof_has_table_like(input, "rocpd_op", "rocpd_api");
}

/* A look at all links, since processes are told by the calls of ops alone. */
static bool rpd_count_parts(uint32_t *count, const struct input_stream *input, struct error *error)
{
    SCOPED(sqlite_input) database = {0};
    struct rpd_parts parts;

    if (!sqlite_input_open(&database, input->name, error))
        return false;
    rpd_find_parts(&parts, &database, UINT32_MAX);
    *count = parts.count > 0 ? parts.count : 1;
    return reader_can_split(parts.count + parts.are_too_many, error);
}

/* Session by session: a text may have several ids, and is one text to us. */
static void rpd_read_strings(struct rpd_reading *reading)
{
    struct sqlite_rows rows;

    sqlite_rows_open(&rows, reading->database, "rocpd_string", rocprof_string_columns);
    rocprof_read_strings(&reading->run, &reading->strings, &rows);
}

/* The recorder does not write down its version; the schema's tells most of what matters. */
static void rpd_name_recorder(struct rpd_reading *reading)
{
    static const char *const columns[] = {"tag", "value", NULL};
    struct read_account *read = &reading->run.builder.read;
    struct sqlite_rows rows;

    (void)snprintf(read->recorder, sizeof read->recorder, "RocmProfileData (rpd_tracer)");
    sqlite_rows_open(&rows, reading->database, "rocpd_metadata", columns);
    while (sqlite_rows_next(&rows)) {
        const char *tag = sqlite_text(&rows, 0);
        const char *value = sqlite_text(&rows, 1);

        if (tag && value && strcmp(tag, "schema_version") == 0)
            (void)snprintf(read->recorder, sizeof read->recorder,
                           "RocmProfileData (rpd_tracer), schema %.32s", value);
    }
    sqlite_rows_clear(&rows);
}

/* Whatever the reading came to. */
static void rpd_reading_clear(struct rpd_reading *reading)
{
    rocprof_run_clear(&reading->run);
    hash_map_clear(&reading->strings);
    rpd_ids_clear(&reading->linked);
    rpd_ids_clear(&reading->taken);
    rpd_ids_clear(&reading->sessions);
    hash_map_clear(&reading->copies);
}

/* Ops before calls: names of devices and streams come with them. Tables called ext_ are made of the
 * others by programs that come with the recorder. */
static bool rpd_read(struct trace *trace, struct input_stream *input,
                     const struct read_options *options, struct error *error)
{
    SCOPED(sqlite_input) database = {0};
    struct rpd_parts parts;
    struct rpd_reading reading = {.database = &database, .parts = &parts, .part = options->part};
    bool is_good;

    if (!sqlite_input_open(&database, input->name, error))
        return false;
    rpd_find_parts(&parts, &database, options->part_count == 1 ? 1 : UINT32_MAX);
    rocprof_run_init(&reading.run, options->skips_details);
    reading.run.agents_are_devices = true;
    if (reading.part < parts.count)
        reading.run.pid = parts.parts[reading.part].pid;
    rpd_read_strings(&reading);
    rpd_name_recorder(&reading);
    rpd_read_ops(&reading);
    rpd_read_calls(&reading);
    rocprof_name_process(&reading.run, reading.part, parts.count,
                         "numbered in the order of their devices");
    is_good = rocprof_finish_rows(
        &reading.run,
        &(struct rocprof_rows_end){.database = &database,
                                   .own_tables = reading.part == 0 ? "ext_" : NULL,
                                   .remedy = "record with runTracer.sh, or call "
                                             "rpdTracerControl().start() in a program that "
                                             "loadTracer.sh runs"},
        trace, options, error);
    rpd_reading_clear(&reading);
    return is_good;
}

const struct reader rpd_sqlite_reader = {
    .name = "rpd",
    .summary = "an SQLite database that RocmProfileData wrote (.rpd)",
    .recognises = is_sqlite_head,
    .recognises_file = rpd_recognises_file,
    .count_parts = rpd_count_parts,
    .read = rpd_read,
};
