/* Calls of NCCL as its own NVTX ranges tell of them: what kernels that they launch carry. Private
 * to the reader of Nsight Systems' databases. */
#ifndef FLOPLEDGER_READERS_NSYS_NSYS_SQLITE_NCCL_H
#define FLOPLEDGER_READERS_NSYS_NSYS_SQLITE_NCCL_H

#include "base/core/hash_map.h"
#include "readers/nsys/nvtx_payload.h"
#include "trace/trace_builder.h"

#include <stdbool.h>
#include <stddef.h>

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
