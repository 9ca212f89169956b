/* Reads the SQLite databases of rocprofv3 (rocpd), one process at a time: a process is a rank.
 *
 * Each process has tables of its own, rocpd_NAME_GUID, or stands in common ones with its guid; the
 * views of the file, which are programs, are not run. Ids count within a guid. */
#include "base/core/array.h"
#include "base/json/json_walk.h"
#include "readers/reader.h"
#include "readers/rocprof/rocpd_reading.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what names rows ------------------------------------------------------------------------ */

static void rocpd_read_strings(struct rocpd_reading *reading)
{
    const struct rocpd_query query = {"string", rocprof_string_columns, NULL};
    struct sqlite_rows rows;

    rocpd_rows_open(&rows, reading, &query);
    rocprof_read_strings(&reading->run, &reading->strings, &rows);
}

/* A number in the environment, where it is text: -1: none. */
static int64_t rocpd_variable_of(const struct json_slice *environment, const char *name)
{
    struct json_slice value;
    int64_t number;

    return rocprof_json_member(environment, name, &value) && slice_integer(&value, &number) &&
                   number >= 0 && number < INT32_MAX
               ? number
               : -1;
}

/* The rank is nowhere but in the environment that the recorder kept of the process. */
static void rocpd_read_process(struct rocpd_reading *reading)
{
    static const char *const columns[] = {"id", "pid", "environment", NULL};
    const struct rocpd_query query = {"info_process", columns, NULL};
    struct run_facts *facts = &reading->run.builder.facts;
    struct sqlite_rows rows;

    rocpd_rows_open(&rows, reading, &query);
    while (sqlite_rows_next(&rows)) {
        struct json_slice environment;
        const int64_t row = sqlite_integer(&rows, 0, -1);

        if (reading->part->process >= 0 && row != reading->part->process)
            continue;
        reading->run.pid = sqlite_integer(&rows, 1, -1);
        environment = rocprof_json_copy(sqlite_text(&rows, 2));
        facts->rank = rocpd_variable_of(&environment, "RANK");
        facts->world_size = rocpd_variable_of(&environment, "WORLD_SIZE");
        free((char *)(uintptr_t)environment.text);
    }
    sqlite_rows_clear(&rows);
}

static void rocpd_read_node(struct rocpd_reading *reading)
{
    static const char *const columns[] = {"hostname", NULL};
    const struct rocpd_query query = {"info_node", columns, NULL};
    struct sqlite_rows rows;

    rocpd_rows_open(&rows, reading, &query);
    if (sqlite_rows_next(&rows))
        reading->run.builder.facts.hostname = rocprof_text(&reading->run, sqlite_text(&rows, 0));
    sqlite_rows_clear(&rows);
}

static void rocpd_read_threads(struct rocpd_reading *reading)
{
    static const char *const columns[] = {"id", "tid", NULL};
    const struct rocpd_query query = {"info_thread", columns, NULL};
    struct sqlite_rows rows;

    rocpd_rows_open(&rows, reading, &query);
    while (sqlite_rows_next(&rows)) {
        const int64_t row = sqlite_integer(&rows, 0, -1);

        if (hash_map_add(&reading->threads, (uint64_t)row, reading->thread_count) ==
            reading->thread_count)
            ARRAY_ADD(reading->thread_ids, reading->thread_count, sqlite_integer(&rows, 1, row));
    }
    sqlite_rows_clear(&rows);
}

enum { AGENT_ID, AGENT_TYPE, AGENT_INDEX, AGENT_NAME, AGENT_PRODUCT, AGENT_JSON };

/* extdata is the JSON that rocprofv3 also writes to its JSON output, so both are read by one
 * function; columns count before it. */
static void rocpd_read_agents(struct rocpd_reading *reading)
{
    static const char *const columns[] = {"id",           "type",    "type_index", "name",
                                          "product_name", "extdata", NULL};
    const struct rocpd_query query = {"info_agent", columns, NULL};
    struct sqlite_rows rows;
    uint32_t index = 0;

    rocpd_rows_open(&rows, reading, &query);
    for (; sqlite_rows_next(&rows); index++) {
        struct json_slice agent = rocprof_json_copy(sqlite_text(&rows, AGENT_JSON));
        const char *type = sqlite_text(&rows, AGENT_TYPE);
        const bool is_gpu = type && strcmp(type, "GPU") == 0;
        struct device device;
        uint32_t name;

        rocprof_run_read_device(&reading->run, &agent, index, &device);
        if (type)
            device.number =
                is_gpu ? rocprof_run_small(sqlite_integer(&rows, AGENT_INDEX, index)) : -1;
        name = rocprof_text(&reading->run, sqlite_text(&rows, AGENT_PRODUCT));
        name = name ? name : rocprof_text(&reading->run, sqlite_text(&rows, AGENT_NAME));
        device.name = name ? name : device.name;
        rocprof_run_add_agent(&reading->run, sqlite_integer(&rows, AGENT_ID, -1), &device);
        free((char *)(uintptr_t)agent.text);
    }
    sqlite_rows_clear(&rows);
}

/* Accumulation registers are of the same file of registers from CDNA 2 on: both together limit
 * how many waves fit. */
static void rocpd_read_symbols(struct rocpd_reading *reading)
{
    static const char *const columns[] = {
        "id", "display_name", "kernel_name", "arch_vgpr_count", "accum_vgpr_count", NULL};
    const struct rocpd_query query = {"info_kernel_symbol", columns, NULL};
    struct sqlite_rows rows;

    rocpd_rows_open(&rows, reading, &query);
    while (sqlite_rows_next(&rows)) {
        struct rocprof_kernel kernel = {.id = sqlite_integer(&rows, 0, -1), .registers = -1};
        const int64_t registers = (int64_t)((uint64_t)sqlite_integer(&rows, 3, 0) +
                                            (uint64_t)sqlite_integer(&rows, 4, 0));

        kernel.name = rocprof_text(&reading->run, sqlite_text(&rows, 1));
        kernel.name =
            kernel.name ? kernel.name : rocprof_text(&reading->run, sqlite_text(&rows, 2));
        kernel.registers = registers > 0 ? rocprof_run_small(registers) : -1;
        rocprof_run_name_kernel(&reading->run, &kernel);
    }
    sqlite_rows_clear(&rows);
}

/* What names rows comes before the rows, counters last, as they name the kernels' events. */
static void rocpd_read_all(struct rocpd_reading *reading)
{
    rocpd_read_strings(reading);
    rocpd_read_process(reading);
    rocpd_read_node(reading);
    rocpd_read_threads(reading);
    rocpd_read_agents(reading);
    rocpd_read_symbols(reading);
    rocpd_read_records(reading);
}

/* ---- the reader ----------------------------------------------------------------------------- */

/* By a table's name rather than the file's: rocprofv3 lets the user choose the name. */
static bool rocpd_recognises_file(const struct input_stream *input)
{
    return rocprof_has_table_like(input, "rocpd_", "rocpd_");
}

static bool rocpd_count_parts(uint32_t *count, const struct input_stream *input,
                              struct error *error)
{
    SCOPED(sqlite_input) database = {0};
    struct rocpd_parts *parts;
    bool is_good;

    if (!sqlite_input_open(&database, input->name, error))
        return false;
    parts = require_memory(calloc(1, sizeof *parts));
    rocpd_find_parts(parts, &database, UINT32_MAX);
    *count = parts->count > 0 ? parts->count : 1;
    is_good = reader_can_split(parts->count + parts->are_too_many, error);
    free(parts);
    return is_good;
}

/* RANK of the environment is the program's own word; the order of the file is a guess, and is
 * told as one. */
static void rocpd_name_run(struct rocpd_reading *reading, uint32_t part, uint32_t count)
{
    static const char *const columns[] = {"tag", "value", NULL};
    const struct rocpd_query query = {"metadata", columns, NULL};
    char text[128] = "rocprofv3, rocpd";
    struct sqlite_rows rows;

    rocpd_rows_open(&rows, reading, &query);
    while (sqlite_rows_next(&rows)) {
        const char *tag = sqlite_text(&rows, 0);
        const char *value = sqlite_text(&rows, 1);

        if (tag && value && strcmp(tag, "schema_version") == 0)
            (void)snprintf(text, sizeof text, "rocprofv3, rocpd, schema %.32s", value);
    }
    sqlite_rows_clear(&rows);
    memcpy(reading->run.builder.read.recorder, text, sizeof text);
    rocprof_name_process(&reading->run, part, count, "numbered in the order of the file");
}

static void rocpd_reading_clear(struct rocpd_reading *reading)
{
    rocprof_run_clear(&reading->run);
    hash_map_clear(&reading->strings);
    hash_map_clear(&reading->threads);
    free(reading->thread_ids);
    hash_map_clear(&reading->dispatches);
    free(reading->dispatched);
}

static bool rocpd_read(struct trace *trace, struct input_stream *input,
                       const struct read_options *options, struct error *error)
{
    static const struct rocpd_part nothing = {.process = -1};
    SCOPED(sqlite_input) database = {0};
    struct rocpd_reading reading = {.database = &database, .part = &nothing, .last_thread_row = -1};
    struct rocpd_parts *parts;
    bool is_good;

    if (!sqlite_input_open(&database, input->name, error))
        return false;
    parts = require_memory(calloc(1, sizeof *parts));
    rocpd_find_parts(parts, &database, options->part_count ? options->part_count : UINT32_MAX);
    if (options->part < parts->count)
        reading.part = &parts->parts[options->part];
    rocprof_run_init(&reading.run, options->skips_details);
    rocpd_read_all(&reading);
    rocpd_name_run(&reading, options->part, parts->count);
    /* Of several ranks tables are those of others. */
    is_good = rocprof_finish_rows(
        &reading.run,
        &(struct rocprof_rows_end){.database = &database,
                                   .own_tables = parts->count <= 1 ? "rocpd_info_" : NULL,
                                   .remedy = "record with rocprofv3 --kernel-trace "
                                             "--memory-copy-trace --hip-trace --marker-trace"},
        trace, options, error);
    rocpd_reading_clear(&reading);
    free(parts);
    return is_good;
}

const struct reader rocpd_sqlite_reader = {
    .name = "rocprofv3-rocpd",
    .summary = "an SQLite database that rocprofv3 wrote (rocpd, ROCm 7)",
    .recognises = is_sqlite_head,
    .recognises_file = rocpd_recognises_file,
    .count_parts = rocpd_count_parts,
    .read = rocpd_read,
};
