/* Reads what `nsys export --type sqlite` writes, one process at a time: a process is a rank. */
#include "base/core/invariant.h"
#include "base/io/progress.h"
#include "readers/nsys/nsys_database.h"
#include "readers/nsys/nsys_ids.h"
#include "readers/nsys/nsys_sqlite_ranks.h"
#include "readers/reader.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what the pieces of the reader share ---------------------------------------------------- */

/* ---- opening -------------------------------------------------------------------------------- */

static bool recognises(const char *head, size_t length)
{
    return is_sqlite_head(head, length);
}

/* SQLite reads pages anywhere in the file, which neither a pipe nor a packed file can give. */
static bool open_input(struct nsys_database *database, const struct input_stream *input,
                       struct error *error)
{
    if (!input_stream_can_seek(input) || input->compression != COMPRESSION_NONE)
        return error_set(error, ERROR_INPUT,
                         "an SQLite database that is packed or comes through a pipe cannot be "
                         "read: unpack it into a file and name that");
    return nsys_database_open(
        database, input->name,
        ", rocprofv3 ('rocpd_kernel_dispatch'), RPD ('rocpd_op') or torch_npu ('STRING_IDS')",
        error);
}

/* A file of several processes is several ranks, each read by itself. */
static bool count_parts(uint32_t *count, const struct input_stream *input, struct error *error)
{
    SCOPED(nsys_database) database = {0};
    SCOPED(nsys_ranks) ranks = {0};

    if (!open_input(&database, input, error))
        return false;
    if (!nsys_ranks_find(&ranks, &database, error))
        return false;
    *count = ranks.count ? ranks.count : 1;
    return true;
}

/* ---- reading -------------------------------------------------------------------------------- */

/* Names the ranks of a file with several: where no MPI says which is which, they are numbered in
 * the order of their devices. */
static void number_rank(struct nsys_reading *reading, const struct nsys_ranks *ranks, uint32_t part)
{
    char name[160];

    reading->process = ranks->ranks[part].process;
    reading->builder.facts.rank = ranks->are_named ? ranks->ranks[part].mpi_rank : part;
    reading->builder.facts.is_rank_by_order = !ranks->are_named;
    (void)snprintf(name, sizeof name,
                   "process %" PRId64 " (of %" PRIu32 " that used a device; ranks are %s)",
                   nsys_pid(reading->process), ranks->count,
                   ranks->are_named ? "those of MPI" : "numbered in the order of their devices");
    reading->builder.facts.process = string_pool_add(&reading->builder.strings, name, strlen(name));
}

/* Text of the warnings that nsys itself left in the file; empty where there is none. */
static void find_diagnostics(struct nsys_database *database, char *to, size_t size)
{
    static const char *const columns[] = {"severity", "text", NULL};
    struct sqlite_rows rows = {0};

    to[0] = '\0';
    sqlite_rows_open(&rows, &database->file, "DIAGNOSTIC_EVENT", columns);
    while (sqlite_rows_next(&rows) && !to[0]) {
        const char *text = sqlite_text(&rows, 1);

        if (text && sqlite_integer(&rows, 0, 0) >= 2)
            (void)snprintf(to, size, "; nsys says: \"%.300s\"", text);
    }
    sqlite_rows_clear(&rows);
}

/* A table with kernels, copies, memsets or ranges. */
static bool reports_steps(const char *table)
{
    static const char *const tables[] = {"CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_MEMCPY",
                                         "CUPTI_ACTIVITY_KIND_MEMSET",
                                         "CUPTI_ACTIVITY_KIND_GRAPH_TRACE", "NVTX_EVENTS"};

    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        if (strcmp(table, tables[i]) == 0)
            return true;
    }
    return false;
}

/* Damage goes before "nothing recorded": a cut file may have lost just these tables. */
static bool is_without_work(const struct nsys_reading *reading, struct error *error)
{
    const struct trace_builder *builder = &reading->builder;
    char diagnostics[400];

    for (uint32_t i = 0; i < builder->read.category_count; i++) {
        const char *table =
            string_pool_text(&builder->strings, builder->read.categories[i].category);

        if (builder->read.categories[i].phase == 'X' && reports_steps(table))
            return false;
    }
    find_diagnostics(reading->database, diagnostics, sizeof diagnostics);
    if (reading->database->file.missing_bytes > 0 || reading->database->file.damage[0]) {
        error_set(error, ERROR_INPUT,
                  "cut or damaged: no kernel and no range in it can be read (%s); export the "
                  ".nsys-rep again with 'nsys export --type sqlite'",
                  reading->database->file.damage);
        return true;
    }
    error_set(error, ERROR_NO_DATA,
              "no CUDA kernel, copy or memset and no NVTX range in it (%" PRId64
              " other events): profile with 'nsys profile --trace=cuda,nvtx', and let the "
              "recorded window hold work of the GPU%s",
              builder->read.events, diagnostics);
    return true;
}

/* Names are looked up once per string of the database and kept by its number: a kernel's name
 * is met thousands of times. */
static void read_all(struct nsys_reading *reading)
{
    size_t strings = string_pool_count(&reading->database->strings) + 1;

    reading->names = require_memory(calloc(strings, sizeof *reading->names));
    reading->call_names = require_memory(calloc(strings, sizeof *reading->call_names));
    string_pool_add(&reading->builder.strings, "", 0);
    nsys_read_facts(reading);
    nsys_read_device_events(reading);
    nsys_read_gpu_metrics(reading);
    nsys_read_page_faults(reading);
    nsys_read_host_events(reading);
    free(reading->names);
    free(reading->call_names);
}

/* The database is opened once per rank: strings are most of that, and ranks are few. */
static bool read_trace(struct trace *trace, struct input_stream *input,
                       const struct read_options *options, struct error *error)
{
    SCOPED(nsys_database) database = {0};
    struct nsys_reading reading = {
        .database = &database, .process = -1, .last_thread = -1, .last_device = -2};
    SCOPED(nsys_ranks) ranks = {0};

    if (!open_input(&database, input, error))
        return false;
    if (!nsys_ranks_find(&ranks, &database, error))
        return false;
    trace_builder_init(&reading.builder);
    reading.is_only_rank = ranks.count <= 1;
    if (ranks.count > 1 && options->part < ranks.count)
        number_rank(&reading, &ranks, options->part);
    else if (ranks.count == 1) {
        reading.process = ranks.ranks[0].process;
        reading.builder.facts.rank = ranks.ranks[0].mpi_rank;
    }
    read_all(&reading);
    sqlite_input_tell_damage(&reading.builder.read, &database.file);
    sqlite_input_tell_unused(&reading.builder.read, &database.file, "ENUM_");
    reading.builder.read.text_bytes = database.file.file_bytes;
    progress_advance(options->progress, database.file.file_bytes);
    if (is_without_work(&reading, error)) {
        trace_builder_clear(&reading.builder);
        return false;
    }
    trace_finish(trace, &reading.builder, 1, options->threads);
    return true;
}

const struct reader nsys_sqlite_reader = {
    .name = "nsight-systems",
    .summary = "an SQLite database that nsys export wrote (Nsight Systems 2022 to 2026)",
    .recognises = recognises,
    .count_parts = count_parts,
    .read = read_trace,
};
