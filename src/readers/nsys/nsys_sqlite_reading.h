/* What the pieces of the reader of Nsight Systems' databases share. Private to it. */
#ifndef FLOPLEDGER_READERS_NSYS_NSYS_SQLITE_READING_H
#define FLOPLEDGER_READERS_NSYS_NSYS_SQLITE_READING_H

#include "readers/nsys/nsys_database.h"
#include "trace/trace_builder.h"

#include <stdbool.h>
#include <stdint.h>

/* One process of the file on its way into a trace. */
struct nsys_reading {
    struct nsys_database *database; /* not owned */
    struct trace_builder builder;
    int64_t process;      /* host and process bits of its ids; -1: all of the file */
    bool is_only_rank;    /* no other process of the file used a device */
    uint32_t *names;      /* for each of database->strings: its id in the builder, 0 = not yet */
    uint32_t *call_names; /* likewise without the version of an API call */
    int64_t last_thread;  /* the globalTid of the row before, and its track; -1: none */
    uint32_t last_thread_track;
    int32_t last_device; /* the device and stream of the row before, and their track; -2: none */
    int64_t last_stream;
    uint32_t last_stream_track;
    const char *category;   /* the table that is read */
    uint32_t category_name; /* in the builder */
};

/* A timed row, as its table says it. */
struct nsys_row_time {
    int64_t start_ns;
    int64_t end_ns;
};

/* Opens `table`, of which the first two columns are start and end, for the rows of the process:
 * those whose `process_column` (a globalPid or globalTid) is of it. */
void nsys_reading_open(struct nsys_reading *reading, struct nsys_rows *rows, const char *table,
                       const char *const *columns, const char *process_column);

/* Counts the row. False where its times make no event. */
bool nsys_reading_time(struct nsys_reading *reading, const struct nsys_rows *rows,
                       struct nsys_row_time *time);

/* The builder's id of a text of StringIds; 0 where there is none. */
uint32_t nsys_reading_string(struct nsys_reading *reading, int64_t id);

/* The host track of a globalTid. */
uint32_t nsys_reading_thread(struct nsys_reading *reading, int64_t global_tid);

/* Kernels, copies, memsets, graph launches, synchronisations. */
void nsys_read_device_events(struct nsys_reading *reading);

/* Sampled counters of the devices that the process works on: after nsys_read_device_events. */
void nsys_read_gpu_metrics(struct nsys_reading *reading);

/* Page faults of unified memory. */
void nsys_read_page_faults(struct nsys_reading *reading);

/* API calls, NVTX ranges, and the other tables of what threads did. */
void nsys_read_host_events(struct nsys_reading *reading);

/* Calls of the operating system and of libraries, overheads: after the others. */
void nsys_read_other_host_tables(struct nsys_reading *reading);

/* Devices, names of processes and threads, what the file says of the run. */
void nsys_read_facts(struct nsys_reading *reading);

#endif
