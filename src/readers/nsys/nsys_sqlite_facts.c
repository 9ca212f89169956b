/* What an Nsight Systems database says of the run: devices, names, host, rank. */
#include "base/text/prefix.h"
#include "readers/nsys/nsys_database.h"
#include "readers/nsys/nsys_ids.h"
#include "readers/nsys/nsys_sqlite_ranks.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint32_t nsys_sqlite_facts_builder_text(struct nsys_reading *reading, const char *text)
{
    return text ? string_pool_add(&reading->builder.strings, text, strlen(text)) : 0;
}

static uint32_t nsys_sqlite_facts_number_text(struct nsys_reading *reading, int64_t number)
{
    char text[24];

    (void)snprintf(text, sizeof text, "%" PRId64, number);
    return nsys_sqlite_facts_builder_text(reading, text);
}

static int32_t nsys_sqlite_facts_small(int64_t number)
{
    return number >= 0 && number <= INT32_MAX ? (int32_t)number : -1;
}

/* Numbers of the table are of the machine; a process sees its own (CUDA_VISIBLE_DEVICES). */
static void nsys_sqlite_facts_read_devices(struct nsys_reading *reading)
{
    static const char *const columns[] = {"id",           "name",         "totalMemory", "smCount",
                                          "computeMajor", "computeMinor", NULL};
    struct sqlite_rows rows = {0};

    sqlite_rows_open(&rows, &reading->database->file, "TARGET_INFO_GPU", columns);
    while (sqlite_rows_next(&rows)) {
        struct device device = {
            .number = nsys_device_of_gpu(reading->database, reading->process,
                                         sqlite_integer(&rows, 0, -1)),
            .name = nsys_sqlite_facts_builder_text(reading, sqlite_text(&rows, 1)),
            .memory_bytes = sqlite_integer(&rows, 2, -1),
            .multiprocessors = nsys_sqlite_facts_small(sqlite_integer(&rows, 3, -1)),
            .compute_major = nsys_sqlite_facts_small(sqlite_integer(&rows, 4, -1)),
            .compute_minor = nsys_sqlite_facts_small(sqlite_integer(&rows, 5, -1)),
            .entry = DEVICE_ENTRY_OWN,
        };

        if (device.number >= 0)
            trace_builder_add_device(&reading->builder, &device);
    }
    sqlite_rows_clear(&rows);
}

static bool nsys_sqlite_facts_is_of_process(const struct nsys_reading *reading, int64_t global_id)
{
    return reading->process < 0 || nsys_process(global_id) == reading->process;
}

/* A database may hold the threads of several processes; only those of the one that is this
 * rank become tracks, so only they get names. */
static void read_thread_names(struct nsys_reading *reading)
{
    static const char *const columns[] = {"nameId", "globalTid", NULL};
    struct sqlite_rows rows = {0};

    sqlite_rows_open(&rows, &reading->database->file, "ThreadNames", columns);
    while (sqlite_rows_next(&rows)) {
        int64_t id = sqlite_integer(&rows, 1, -1);
        struct given_name name = {.is_thread = true};

        if (id < 0 || !nsys_sqlite_facts_is_of_process(reading, id))
            continue;
        name.process = nsys_sqlite_facts_number_text(reading, nsys_pid(id));
        name.thread = nsys_sqlite_facts_number_text(reading, nsys_tid(id));
        name.name = nsys_reading_string(reading, sqlite_integer(&rows, 0, -1));
        trace_builder_name(&reading->builder, &name);
    }
    sqlite_rows_clear(&rows);
}

/* As with threads: other processes (a launcher, the shell) are named in the database too. */
static void read_process_names(struct nsys_reading *reading)
{
    static const char *const columns[] = {"globalPid", "name", NULL};
    struct sqlite_rows rows = {0};

    sqlite_rows_open(&rows, &reading->database->file, "PROCESSES", columns);
    while (sqlite_rows_next(&rows)) {
        int64_t id = sqlite_integer(&rows, 0, -1);
        struct given_name name = {.is_thread = false};

        if (id < 0 || !nsys_sqlite_facts_is_of_process(reading, id))
            continue;
        name.process = nsys_sqlite_facts_number_text(reading, nsys_pid(id));
        name.name = nsys_sqlite_facts_builder_text(reading, sqlite_text(&rows, 1));
        trace_builder_name(&reading->builder, &name);
    }
    sqlite_rows_clear(&rows);
}

/* The number in an environment variable as META_DATA_CAPTURE has it: RANK="3"; -1: another one. */
static int64_t variable_number(const char *text, const char *name)
{
    size_t length = strlen(name);
    char *end;
    long long number;

    if (!text || strncmp(text, name, length) != 0 || text[length] != '=')
        return -1;
    text += length + 1;
    text += *text == '"';
    number = strtoll(text, &end, 10);
    return end != text && (*end == '"' || !*end) && number >= 0 && number < INT32_MAX ? number : -1;
}

/* The environment of the program that nsys started: where that is one rank, it says which one. */
static void read_environment(struct nsys_reading *reading)
{
    static const char *const columns[] = {"name", "value", NULL};
    struct sqlite_rows rows = {0};

    sqlite_rows_open(&rows, &reading->database->file, "META_DATA_CAPTURE", columns);
    while (sqlite_rows_next(&rows)) {
        const char *name = sqlite_text(&rows, 0);
        const char *value = sqlite_text(&rows, 1);
        int64_t rank = variable_number(value, "RANK");
        int64_t world_size = variable_number(value, "WORLD_SIZE");

        if (!name || !strstr(name, "ENVIRONMENT_VARIABLE"))
            continue;
        if (rank >= 0)
            reading->builder.facts.rank = rank;
        if (world_size > 0)
            reading->builder.facts.world_size = world_size;
    }
    sqlite_rows_clear(&rows);
}

/* nsys counts time from the session's start; with the start's UTC, ranks of several nodes
 * share a clock. */
static void read_host(struct nsys_reading *reading)
{
    static const char *const columns[] = {"name", "value", NULL};
    static const char *const start[] = {"utcEpochNs", NULL};
    struct sqlite_rows rows = {0};

    sqlite_rows_open(&rows, &reading->database->file, "TARGET_INFO_SYSTEM_ENV", columns);
    while (sqlite_rows_next(&rows)) {
        const char *name = sqlite_text(&rows, 0);

        if (name && strcmp(name, "Hostname") == 0)
            reading->builder.facts.hostname =
                nsys_sqlite_facts_builder_text(reading, sqlite_text(&rows, 1));
    }
    sqlite_rows_clear(&rows);
    sqlite_rows_open(&rows, &reading->database->file, "TARGET_INFO_SESSION_START_TIME", start);
    if (sqlite_rows_next(&rows))
        reading->builder.facts.base_time_ns = sqlite_integer(&rows, 0, 0);
    sqlite_rows_clear(&rows);
}

/* The environment is of the program that nsys started: with several ranks it is the
 * launcher's. */
void nsys_read_facts(struct nsys_reading *reading)
{
    const struct nsys_database *database = reading->database;
    char program[160];

    nsys_sqlite_facts_read_devices(reading);
    read_thread_names(reading);
    read_process_names(reading);
    read_host(reading);
    if (reading->is_only_rank)
        read_environment(reading);
    (void)snprintf(program, sizeof program, "Nsight Systems%s%s%s%s%s",
                   *database->product ? " " : "", database->product,
                   *database->schema ? ", export schema " : "", database->schema, "");
    reading->builder.facts.trace_name = nsys_sqlite_facts_builder_text(reading, program);
    (void)snprintf(reading->builder.read.recorder, sizeof reading->builder.read.recorder, "%s",
                   program);
    if (reading->builder.facts.record_shapes < 0)
        reading->builder.facts.record_shapes = 0;
}
