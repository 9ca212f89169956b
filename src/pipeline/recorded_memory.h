/* The memory of one recorded trace, put together from it and from what stands beside it. */
#ifndef FLOPLEDGER_PIPELINE_RECORDED_MEMORY_H
#define FLOPLEDGER_PIPELINE_RECORDED_MEMORY_H

#include "base/core/attributes.h"
#include "base/core/error.h"
#include "memory/memory_run.h"

#include <stdbool.h>

/* Zeroed is empty. */
struct recorded_memory {
    struct memory_side_file side;
    struct model_description description;
    struct memory_batch batch;
    struct memory_run run;
};

/* `memory` must be zeroed; `trace`, read with keeps_memory, must live as long as it. Errors: a
 * trace without [memory] events (ERROR_NO_DATA), a damaged file beside it (ERROR_INPUT). */
MUST_USE bool recorded_memory_read(struct recorded_memory *memory, const struct trace *trace,
                                   struct error *error);

/* Fills *device: the one that was asked for, or where that is negative the one that holds most, or
 * the host. False with `error` set (ERROR_NO_DATA) where nothing was allocated on it. */
MUST_USE bool recorded_memory_device(const struct recorded_memory *memory, int64_t asked,
                                     int32_t *device, struct error *error);

void recorded_memory_clear(struct recorded_memory *memory);

#endif
