/* An SQLite database that `nsys export --type sqlite` wrote. */
#ifndef FLOPLEDGER_READERS_NSYS_NSYS_DATABASE_H
#define FLOPLEDGER_READERS_NSYS_NSYS_DATABASE_H

#include "base/core/attributes.h"
#include "base/core/error.h"
#include "base/core/hash_map.h"
#include "base/core/string_pool.h"
#include "readers/sqlite/sqlite_rows.h"
#include "trace/trace_builder.h"

#include <stdbool.h>
#include <stddef.h>
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
void nsys_reading_open(struct nsys_reading *reading, struct sqlite_rows *rows, const char *table,
                       const char *const *columns, const char *process_column);

/* Counts the row. False where its times make no event. */
bool nsys_reading_time(struct nsys_reading *reading, const struct sqlite_rows *rows,
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

/* Calls of NCCL as its own NVTX ranges tell of them: what kernels that they launch carry. Private
 * to the reader of Nsight Systems' databases. */

/* The fields that are looked for, by the names that NCCL gives them. */
enum nvtx_field {
    NVTX_COMMUNICATOR,  /* NCCL communicator ID: the same on all of its ranks */
    NVTX_MESSAGE_BYTES, /* Message size [bytes]: of one rank's part, as the call was given it */
    NVTX_RANKS,         /* No. of ranks of the communicator */
};

enum { NVTX_FIELD_COUNT = NVTX_RANKS + 1 };

struct nvtx_payload {
    uint64_t values[NVTX_FIELD_COUNT];
    bool has[NVTX_FIELD_COUNT];
};

/* Where a field stands in the payloads of a schema. */
struct nvtx_payload_entry {
    int64_t domain;
    int64_t schema;
    uint64_t offset;
    uint8_t bytes; /* 1, 2, 4 or 8: a whole number */
    uint8_t field; /* enum nvtx_field */
};

/* Zeroed is empty. */
struct nvtx_payload_schemas {
    struct nvtx_payload_entry *entries;
    size_t count;
};

/* Of NVTX_PAYLOAD_SCHEMA_ENTRIES; empty where the file has no such table. */
void nvtx_payload_schemas_read(struct nvtx_payload_schemas *schemas,
                               struct nsys_database *database);

void nvtx_payload_schemas_clear(struct nvtx_payload_schemas *schemas);

/* NVTX_EVENTS.binaryData: a header of four numbers of 64 bits (domain, schema, size of the payload,
 * and where it begins or ends), then the payload. False where it is not of that form, of no schema
 * that is known, or has none of the fields; `payload` is then untouched. */
bool nvtx_payload_decode(struct nvtx_payload *payload, const struct nvtx_payload_schemas *schemas,
                         const unsigned char *bytes, size_t length);

/* NVTX_EVENTS.jsonText: {"NCCL communicator ID": 12, "Message size [bytes]": 4096}. Likewise. */
bool nvtx_payload_parse(struct nvtx_payload *payload, const char *json);

struct nccl_range {
    struct found_event event;
    struct nvtx_payload payload;
};

/* Zeroed is empty. */
struct nccl_ranges {
    struct nccl_range *ranges;
    size_t count;
    struct hash_map ranks; /* by the id of a communicator: how many it has */
};

/* "ncclAllReduce", "ncclGroupEnd", "ncclCommInitRank". */
bool is_nccl_call(const char *name);

/* Keeps the range until nccl_ranges_finish; its name and track are those of the builder. */
void nccl_ranges_add(struct nccl_ranges *ranges, const struct found_event *event,
                     const struct nvtx_payload *payload);

/* Adds all ranges to the builder: a call with a payload has the message and its communicator as
 * details, and so has the ncclGroupEnd that launches what calls between it and its ncclGroupStart
 * asked for, where they go together: a single call, calls of one kind, or sends and receives, on
 * one communicator. */
void nccl_ranges_finish(struct nccl_ranges *ranges, struct trace_builder *builder);

void nccl_ranges_clear(struct nccl_ranges *ranges);

/* A zeroed one is closed. */
struct nsys_database {
    struct sqlite_input file;
    char schema[32];            /* EXPORT_SCHEMA_VERSION: "3.25.0"; empty where not said */
    char product[64];           /* "2026.2.1.210"; empty where not said */
    struct string_pool strings; /* the values of StringIds */
    struct hash_map string_ids; /* id in StringIds: id in `strings` */
};

bool is_of_nsight_systems(struct sqlite_input *database);

/* As sqlite_input_open; an error, too, where it is not one of Nsight Systems: then `others` tells
 * whose databases would be read, too (", rocprofv3 ('rocpd_...')"; NULL: none). */
MUST_USE bool nsys_database_open(struct nsys_database *database, const char *path,
                                 const char *others, struct error *error);
void nsys_database_clear(struct nsys_database *database);

/* The text of StringIds with this id; NULL where there is none. */
const char *nsys_string(const struct nsys_database *database, int64_t id);

#endif
