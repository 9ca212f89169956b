/* The name of an NVTX or roctx range as PyTorch writes it: "aten::mm, seq = 12, op_id = 345, sizes
 * = [[8, 64], [64, 64]]". */
#ifndef FLOPLEDGER_READERS_NVTX_NAME_H
#define FLOPLEDGER_READERS_NVTX_NAME_H

#include "trace/trace_builder.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Not given: -1 and NULL. Texts point into the name that was parsed. */
struct nvtx_name {
    const char *text; /* the op's own name, the same for all its calls */
    size_t length;
    int64_t sequence_number; /* seq: an op of the backward has that of the forward op it belongs to
                              */
    int64_t op_id;
    const char *sizes; /* "[[8, 64], [64, 64]]": the shapes of the inputs */
    size_t sizes_length;
    bool is_operator; /* torch.autograd.profiler.emit_nvtx or nsys --pytorch wrote it for an op */
};

/* Any text; what is not of PyTorch's form is a name as a whole. */
struct nvtx_name nvtx_name_parse(const char *text);

/* Gives a range its name, and makes an operator of one that PyTorch wrote for an op: kind, sequence
 * number, id and shapes. `event` is of this builder. */
void nvtx_name_apply(struct trace_builder *builder, struct found_event *event, const char *text);

#endif
