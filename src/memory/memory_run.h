/* The memory of a recorded run: every block with what it was for, the module it belongs to, and the
 * phase of training in which it was allocated. */
#ifndef FLOPLEDGER_MEMORY_MEMORY_RUN_H
#define FLOPLEDGER_MEMORY_MEMORY_RUN_H

#include "cost/modules/host_context.h"
#include "cost/modules/model_description.h"
#include "cost/modules/module_tree.h"
#include "memory/memory_blocks.h"
#include "trace/trace.h"

#include <stdbool.h>
#include <stdint.h>

/* A step of the trace. */
struct memory_step {
    int64_t number;
    int64_t start_ns;
    int64_t end_ns;
    uint32_t first_change; /* changes[first_change .. last_change) happen in it; set by */
    uint32_t last_change;  /* memory_run_build */
};

/* Zeroed is empty. */
struct memory_run {
    const struct trace *trace;
    const struct memory_side_file *side;
    struct memory_blocks blocks;
    struct module_tree tree;
    struct host_contexts contexts;
    struct memory_step *steps; /* [step_count] */
    uint32_t step_count;
};

/* The most of a stretch of changes, on one device. */
struct memory_peak {
    int64_t bytes;
    uint32_t change_count; /* of changes made when it is reached; 0: before the recording */
    uint32_t block;        /* the one whose allocation reached it, or NO_VALUE */
};

/* What a run is put together from. */
struct memory_sources {
    const struct trace *trace;                   /* read with keeps_memory */
    const struct memory_side_file *side;         /* may be empty */
    const struct model_description *description; /* may be empty */
    const struct memory_step *steps;             /* [step_count]: number, start and end */
    uint32_t step_count;
};

/* `run` must be zeroed. Trace and side file must live as long as the run; steps are copied. */
void memory_run_build(struct memory_run *run, const struct memory_sources *sources);

void memory_run_clear(struct memory_run *run);

/* The first time that most is alive on `device`, of changes [first, last). */
struct memory_peak memory_peak_between(const struct memory_run *run, int32_t device, uint32_t first,
                                       uint32_t last);

/* Bytes alive on `device` of each kind when so many changes are made. */
struct memory_sums {
    int64_t bytes[MEMORY_KIND_COUNT];
    int64_t total;
};
struct memory_sums memory_alive(const struct memory_run *run, int32_t device,
                                uint32_t change_count);

/* The device whose peak is highest, devices before the host; HOST_MEMORY where there is none. */
int32_t memory_main_device(const struct memory_run *run);

const char *memory_kind_title(enum memory_kind kind);    /* "optimizer state" */
const char *memory_kind_key(enum memory_kind kind);      /* "optimizer_state" */
const char *memory_phase_title(enum memory_phase phase); /* "forward" */

/* The op that allocated the block, as the trace names it ("aten::mm"); "" where none did. */
const char *memory_block_op(const struct memory_run *run, const struct memory_block *block);

/* What the forward allocates outside of the model: the loss that a script computes itself. */
bool memory_block_is_of_loss(const struct memory_block *block);

/* Dotted name of the module; "(loss)" of what memory_block_is_of_loss, "" where the block belongs
 * to none. */
const char *memory_block_module(const struct memory_run *run, const struct memory_block *block);

/* Phase of the step at a change. */
enum memory_phase memory_phase_at(const struct memory_run *run, uint32_t change);

#endif
