/* The memory of a recorded run: every block with what it was for, the module it belongs to, and the
 * phase of training in which it was allocated. */
#ifndef FLOPLEDGER_MEMORY_MEMORY_RUN_H
#define FLOPLEDGER_MEMORY_MEMORY_RUN_H

#include "base/core/arena.h"
#include "base/core/attributes.h"
#include "base/core/error.h"
#include "cost/modules/host_context.h"
#include "cost/modules/model_description.h"
#include "cost/modules/module_tree.h"
#include "trace/trace.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Each block of memory of a recorded run: when it was allocated and freed, and which tensor it was.
 *
 * Blocks that were alive before the recording come from the recorder's first mark. Sizes are those
 * that the allocator was asked for on the host, and those that it counts on a device. */

/* What memory is for. */
enum memory_kind {
    MEMORY_PARAMETER,
    MEMORY_BUFFER,
    MEMORY_GRADIENT,
    MEMORY_OPTIMIZER_STATE,
    MEMORY_INPUT,
    MEMORY_ACTIVATION, /* kept by the forward for the backward */
    MEMORY_TEMPORARY,
    MEMORY_OTHER, /* kept for no known purpose, as a rule since before the recording */
};

enum { MEMORY_KIND_COUNT = MEMORY_OTHER + 1 };

enum memory_point {
    POINT_START,
    POINT_FORWARD_START,
    POINT_FORWARD_END,
    POINT_BACKWARD_END,
    POINT_OPTIMIZER_END,
    POINT_STEP_END,
    POINT_ASKED, /* wherever the program wanted one */
};

enum { MEMORY_POINT_COUNT = POINT_ASKED + 1 };

struct marked_tensor {
    enum memory_kind kind;
    const char *module; /* dotted; "" where it is of none */
    const char *name;
};

/* A tensor whose memory is here from this mark on. */
struct marked_place {
    uint32_t tensor; /* index in side_file.tensors */
    int32_t device;  /* HOST_MEMORY, or a device's number */
    uint64_t address;
    int64_t bytes;
};

/* What a device's allocator said at a mark; -1: not told. */
struct marked_device {
    int32_t device;
    int64_t allocated_bytes;
    int64_t requested_bytes;
    int64_t reserved_bytes;
    int64_t inactive_split_bytes;
    int64_t allocation_retries;
    int64_t used_bytes; /* of the device, by whatever program */
    int64_t total_bytes;
};

struct memory_mark {
    enum memory_point point;
    const char *options; /* of POINT_ASKED: "params,grads"; else "" */
    bool is_in_log;      /* of records that the program began anew later, the ones before are not */
    int64_t step;
    struct marked_place *places; /* [place_count]: changes since the mark before */
    uint32_t place_count;
    uint32_t *gone; /* [gone_count]: indices in tensors */
    uint32_t gone_count;
    struct marked_device *devices; /* [device_count] */
    uint32_t device_count;
};

/* Zeroed is empty: no mark. */
struct memory_side_file {
    struct marked_tensor *tensors; /* [tensor_count] */
    uint32_t tensor_count;
    struct memory_mark *marks; /* [mark_count] */
    uint32_t mark_count;
    struct arena arena;
};

/* Reads the text of a side file; `name` is the file's, for messages. Errors (ERROR_INPUT): no JSON,
 * another format, a tensor that is not listed. */
MUST_USE bool memory_side_file_parse(struct memory_side_file *side, const char *name,
                                     const char *text, size_t length, struct error *error);

/* Reads the one of `trace_path` (steps4-6.memory.json of steps4-6.pt.trace.json.gz); leaves `side`
 * empty where there is none, and for standard input ("-"). */
MUST_USE bool memory_side_file_find(struct memory_side_file *side, const char *trace_path,
                                    struct error *error);

void memory_side_file_clear(struct memory_side_file *side);

#define NO_TENSOR UINT32_MAX
#define NO_CHANGE UINT32_MAX

enum memory_phase {
    MEMORY_OUTSIDE, /* before a forward: data, zeroing; after the last backward and optimizer */
    MEMORY_FORWARD, /* with the loss */
    MEMORY_BACKWARD,
    MEMORY_RECOMPUTE, /* a forward inside a backward: activation checkpointing */
    MEMORY_OPTIMIZER, /* with what stands between backward and optimizer: clipping */
};
enum { MEMORY_PHASE_COUNT = MEMORY_OPTIMIZER + 1 };

struct memory_block {
    int64_t bytes;
    int64_t start_ns; /* INT64_MIN: before the recording */
    int64_t end_ns;   /* INT64_MAX: alive at its end */
    uint64_t address;
    uint32_t start;  /* index in changes */
    uint32_t end;    /* index in changes; NO_CHANGE: alive at the end */
    uint32_t tensor; /* index in the side file's tensors, or NO_TENSOR */
    uint32_t track;  /* the thread that allocated it; NO_EVENT before the recording */
    int32_t device;
    /* filled by memory_attribute() */
    uint32_t event;  /* in trace->host: the innermost one around the allocation, or NO_EVENT */
    uint32_t module; /* in the module tree, or NO_MODULE */
    uint8_t kind;    /* enum memory_kind */
    uint8_t phase;   /* enum memory_phase: of the allocation */
};

struct memory_change {
    int64_t time_ns; /* INT64_MIN: before the recording */
    uint32_t block;
    bool is_free;
};

/* A mark of the recorder in the trace. */
struct memory_moment {
    int64_t time_ns;
    uint32_t mark;         /* index in side_file.marks */
    uint32_t change_count; /* of changes before it */
};

/* Zeroed is empty. */
struct memory_blocks {
    struct memory_block *blocks; /* [count], by start */
    uint32_t count;
    struct memory_change *changes; /* [change_count], in order of time */
    uint32_t change_count;
    struct memory_moment *moments; /* [moment_count], in order of time */
    uint32_t moment_count;
    int64_t unknown_frees; /* releases of blocks that nothing told of */
    int64_t unseen_frees;  /* blocks whose end is known by a later mark or use of their address */
    int64_t unseen_bytes;  /* of these */
    int64_t foreign_bytes; /* most of marked tensors, at a mark, that torch did not allocate */
    int64_t missing_marks; /* in the side file, and not in the trace */
};

/* `blocks` must be zeroed. An empty `side` gives blocks without tensors, from zero on. */
void memory_blocks_find(struct memory_blocks *blocks, const struct trace *trace,
                        const struct memory_side_file *side);

void memory_blocks_clear(struct memory_blocks *blocks);

/* Whether the block is alive when so many changes are made. */
static inline bool memory_block_is_alive(const struct memory_block *block, uint32_t change_count)
{
    return block->start < change_count && (block->end == NO_CHANGE || block->end >= change_count);
}

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

/* What a recorded step trained on, as the recorder's capture.json says: samples, tokens, types. */

struct memory_batch {
    int64_t samples;   /* of one micro-batch; -1: not known */
    int64_t length;    /* tokens of one sample; -1: not known, or samples are no sequences */
    bool is_float32;   /* all parameters are */
    int64_t data_size; /* ranks that train on other data; -1: not known */
    int64_t rank;      /* -1: not known */
    int64_t data_rank; /* likewise, of data and tensor parallelism */
    int64_t tensor_rank;
};

/* All is not known. */
struct memory_batch memory_batch_none(void);

/* Reads the text of a capture.json; the last step of the trace called `trace_name` counts. */
MUST_USE bool memory_batch_parse(struct memory_batch *batch, const char *trace_name,
                                 const char *text, size_t length, struct error *error);

/* Reads capture.json in the folder of the trace; leaves all not known where there is none. */
MUST_USE bool memory_batch_find(struct memory_batch *batch, const char *trace_path,
                                struct error *error);

#endif
