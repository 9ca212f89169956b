/* A job of data-parallel pipelines: what each worker did in each step, operation by operation.
 *
 * Read from timelines as ByteDance's StragglerAnalysis writes them: a Chrome trace with an event an
 * operation, whose process is the data-parallel rank, whose thread's name holds the stage, and
 * whose arguments hold the step. Communication stands there without its waiting: from when the last
 * rank had come. */
#ifndef FLOPLEDGER_REPLAY_PIPELINE_JOB_H
#define FLOPLEDGER_REPLAY_PIPELINE_JOB_H

#include "base/core/attributes.h"
#include "base/core/error.h"
#include "base/io/input_rest.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum pipeline_kind {
#define PIPELINE_OP(id, name, is_communication, label) PIPELINE_##id,
#include "replay/pipeline_op_list.def"
#undef PIPELINE_OP
    PIPELINE_KIND_COUNT,
};

struct pipeline_op {
    int64_t start_ns; /* from the first operation of the job */
    int64_t duration_ns;
    uint32_t step; /* index in pipeline_job.steps */
    uint32_t data_rank;
    uint32_t stage;
    int32_t chunk; /* of the model on this stage (virtual stage); 0 where there is one */
    uint8_t kind;  /* enum pipeline_kind */
};

/* A zeroed one is empty. */
struct pipeline_job {
    struct pipeline_op *ops; /* [op_count], by step, data rank, stage, kind and start */
    size_t op_count;
    int64_t *steps; /* [step_count], ascending: their numbers */
    size_t step_count;
    uint32_t data_rank_count;
    uint32_t stage_count;
    uint32_t chunk_count;
    size_t unknown_count;      /* events of other names, which are left out */
    char unknown_name[64];     /* one of them */
    size_t negative_count;     /* operations of less than no time, which count as of none */
    size_t other_tensor_ranks; /* events of tensor ranks but the first, which are left out */
    size_t gap_count;          /* steps in which operations of a rank are missing: */
    int64_t gap_step;          /* the number of the first of them, */
    uint32_t gap_rank;         /* and a data-parallel rank that lacks some */
    bool are_gaps_dropped;     /* they are not among `steps` */
    struct input_rest rest;    /* what stands behind it in the file */
};

/* The name in timelines, and the words for it; two kinds may share their words. */
const char *pipeline_kind_name(enum pipeline_kind kind);
const char *pipeline_kind_label(enum pipeline_kind kind);
bool pipeline_kind_communicates(enum pipeline_kind kind);

/* Whether these first bytes of a JSON file may begin such a timeline. */
bool looks_like_pipeline_timeline(const char *head, size_t length);

/* `job` must be zeroed. Errors (ERROR_INPUT) name the file: no JSON, damaged; (ERROR_NO_DATA): no
 * operation of a step in it. */
MUST_USE bool read_pipeline_timeline(struct pipeline_job *job, const char *path,
                                     struct error *error);

/* Drops all other steps; false where none would be left, and then all stay. */
MUST_USE bool pipeline_job_keep_steps(struct pipeline_job *job, int64_t first, int64_t last);

void pipeline_job_clear(struct pipeline_job *job);

#endif
