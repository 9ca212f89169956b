/* What the recorder writes beside a trace about memory: which tensors were alive at its marks, by
 * their purpose and name. docs/formats/capture.md describes the file. */
#ifndef FLOPLEDGER_MEMORY_MEMORY_SIDE_FILE_H
#define FLOPLEDGER_MEMORY_MEMORY_SIDE_FILE_H

#include "base/core/arena.h"
#include "base/core/attributes.h"
#include "base/core/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
    int64_t out_of_memory_errors;
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
    int64_t other_bytes_not_listed;
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

#endif
