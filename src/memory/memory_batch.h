/* What a recorded step trained on, as the recorder's capture.json says: samples, tokens, types. */
#ifndef FLOPLEDGER_MEMORY_MEMORY_BATCH_H
#define FLOPLEDGER_MEMORY_MEMORY_BATCH_H

#include "base/core/attributes.h"
#include "base/core/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
