/* Reads the snapshot of PyTorch's CUDA allocator that torch.cuda.memory._dump_snapshot writes. */
#ifndef FLOPLEDGER_READERS_MEMORY_SNAPSHOT_CUDA_MEMORY_SNAPSHOT_H
#define FLOPLEDGER_READERS_MEMORY_SNAPSHOT_CUDA_MEMORY_SNAPSHOT_H

#include "base/core/attributes.h"
#include "base/core/error.h"
#include "trace/memory_snapshot.h"

#include <stdbool.h>

struct input_stream; /* base/io/input_stream.h */

/* True where these first bytes of the unpacked input may begin a snapshot (and not, say, JSON). */
bool looks_like_memory_snapshot(const char *head, size_t length);

/* `snapshot` must be zeroed; it is left so on failure. Errors (ERROR_INPUT): a pickle that is
 * damaged or asks for code (by its byte), and what is no snapshot (by its place in the tree).
 * Nothing in the file is run. */
MUST_USE bool read_memory_snapshot(struct memory_snapshot *snapshot, struct input_stream *input,
                                   struct error *error);

#endif
