/* What the pieces of the reader of Nsight Systems' databases share. */
#include "readers/nsys/nsys_sqlite_reading.h"

#include "readers/nsys/nsys_ids.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* globalTid and globalPid have the process in their upper bits and the thread in the lower 24,
 * so one condition in SQL leaves the rows of one rank. */
void nsys_reading_open(struct nsys_reading *reading, struct sqlite_rows *rows, const char *table,
                       const char *const *columns, const char *process_column)
{
    char text[64];
    const struct sqlite_condition is_of_process = {text, reading->process >> 24};
    bool is_filtered =
        reading->process >= 0 && sqlite_has_column(&reading->database->file, table, process_column);

    reading->category = table;
    reading->category_name = string_pool_add(&reading->builder.strings, table, strlen(table));
    (void)snprintf(text, sizeof text, "(%s >> 24) = ?1", process_column);
    sqlite_rows_open_where(rows, &reading->database->file, table, columns,
                           is_filtered ? &is_of_process : NULL);
}

/* Each bad row is counted under one reason, and under its table, so that the sums of what was
 * read agree. */
bool nsys_reading_time(struct nsys_reading *reading, const struct sqlite_rows *rows,
                       struct nsys_row_time *time)
{
    struct trace_builder *builder = &reading->builder;
    bool is_timed = !sqlite_is_null(rows, 0) && !sqlite_is_null(rows, 1);
    int64_t duration_ns;

    *time = (struct nsys_row_time){sqlite_integer(rows, 0, 1), sqlite_integer(rows, 1, 0)};
    builder->read.events++;
    if (!is_timed)
        builder->read.missing_times++;
    else if (__builtin_sub_overflow(time->end_ns, time->start_ns, &duration_ns))
        builder->read.overflowing_durations++;
    else if (duration_ns < 0)
        builder->read.negative_durations++;
    trace_builder_count(builder, reading->category_name, 'X', time->start_ns, time->end_ns);
    return is_timed && time->end_ns >= time->start_ns &&
           !__builtin_sub_overflow(time->end_ns, time->start_ns, &duration_ns);
}

/* Only strings that rows of this rank name are copied: the file's pool is that of all
 * processes. */
uint32_t nsys_reading_string(struct nsys_reading *reading, int64_t id)
{
    uint32_t string = hash_map_find(&reading->database->string_ids, (uint64_t)id);
    const char *text;

    if (string == NO_VALUE)
        return 0;
    if (!reading->names[string]) {
        text = string_pool_text(&reading->database->strings, string);
        reading->names[string] = string_pool_add(&reading->builder.strings, text, strlen(text));
    }
    return reading->names[string];
}

/* Rows of a thread follow each other: formatting numbers for each would take longer than
 * reading the row. */
uint32_t nsys_reading_thread(struct nsys_reading *reading, int64_t global_tid)
{
    struct track_key key = {.device = -1, .stream = -1};
    char text[24];
    int length;

    if (global_tid == reading->last_thread)
        return reading->last_thread_track;
    length = snprintf(text, sizeof text, "%" PRId64, nsys_pid(global_tid));
    key.process = string_pool_add(&reading->builder.strings, text, (size_t)length);
    length = snprintf(text, sizeof text, "%" PRId64, nsys_tid(global_tid));
    key.thread = string_pool_add(&reading->builder.strings, text, (size_t)length);
    reading->last_thread = global_tid;
    reading->last_thread_track = trace_builder_track(&reading->builder, &key);
    return reading->last_thread_track;
}
