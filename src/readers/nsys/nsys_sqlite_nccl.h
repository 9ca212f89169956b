/* Calls of NCCL as its own NVTX ranges tell of them: what kernels that they launch carry. Private
 * to the reader of Nsight Systems' databases. */
#ifndef FLOPLEDGER_READERS_NSYS_NSYS_SQLITE_NCCL_H
#define FLOPLEDGER_READERS_NSYS_NSYS_SQLITE_NCCL_H

#include "base/core/hash_map.h"
#include "readers/nsys/nsys_database.h"
#include "trace/trace_builder.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
    struct event event;
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
void nccl_ranges_add(struct nccl_ranges *ranges, const struct event *event,
                     const struct nvtx_payload *payload);

/* Adds all ranges to the builder: a call with a payload has the message and its communicator as
 * details, and so has the ncclGroupEnd that launches what calls between it and its ncclGroupStart
 * asked for, where they go together: a single call, calls of one kind, or sends and receives, on
 * one communicator. */
void nccl_ranges_finish(struct nccl_ranges *ranges, struct trace_builder *builder);

void nccl_ranges_clear(struct nccl_ranges *ranges);

#endif
