/* What a communication kernel does: which collective, among how many ranks, of how many bytes. */
#ifndef FLOPLEDGER_LEDGER_COLLECTIVE_CALL_H
#define FLOPLEDGER_LEDGER_COLLECTIVE_CALL_H

#include "trace/trace.h"

#include <stdint.h>

enum collective_kind {
    COLLECTIVE_ALL_REDUCE,
    COLLECTIVE_REDUCE_SCATTER,
    COLLECTIVE_ALL_GATHER,
    COLLECTIVE_ALL_TO_ALL,
    COLLECTIVE_BROADCAST,
    COLLECTIVE_SEND_RECEIVE,
    COLLECTIVE_GATHER,
    COLLECTIVE_SCATTER,
    COLLECTIVE_BARRIER,
    COLLECTIVE_REDUCE,
    COLLECTIVE_OTHER,
};
enum { COLLECTIVE_KIND_COUNT = COLLECTIVE_OTHER + 1 };

struct collective_call {
    enum collective_kind kind;
    int64_t group_size; /* ranks; -1 = not known */
    int64_t elements;   /* of the whole message, as nccl-tests count it: the larger of input and
                           output; -1 = not known */
    int64_t bytes;      /* likewise, where the trace tells bytes instead; -1 = not told */
    int element_type;   /* index for element_type_title; -1 = not known */
    uint32_t detail;    /* index in trace->details of the NCCL metadata; 0 = none */
};

const char *collective_kind_key(enum collective_kind kind);   /* "all_reduce" */
const char *collective_kind_title(enum collective_kind kind); /* "all-reduce" */

/* "_allgather_base", "nccl:all_reduce", "ncclDevKernel_SendRecv(...)"; COLLECTIVE_OTHER where the
 * name tells nothing. */
enum collective_kind collective_kind_of_name(const char *name);

/* From the NCCL metadata of the kernel; else from that of the operator or range around its launch;
 * else from NCCL's own ranges around it;
 * else from the shapes of that operator's inputs; the kind at last from the kernel's name. */
struct collective_call describe_collective(const struct trace *trace, uint32_t device_event);

int element_type_count(void);                     /* types are below it */
const char *element_type_title(int element_type); /* "bfloat16" */
int64_t element_type_bytes(int element_type);

/* Sizes of one power of two are of one class: 0 not known, else 1 + the position of the highest
 * bit, below 128. */
uint32_t message_size_class(int64_t bytes);

/* -1 where the call tells neither bytes nor elements and type. */
int64_t collective_bytes(const struct collective_call *call);

/* Bytes that a link carries per byte of the message (nccl-tests' "bus bandwidth" factor); 0 where
 * the kind has none. */
double collective_bus_factor(enum collective_kind kind, int64_t group_size);

/* The largest of the tensors (lists of tensors: summed) in a list of shapes as the trace writes it,
 * "[[8, 64], [64]]". Its number of elements, -1 where the text has none; `index`: which entry it
 * is. */
int64_t largest_tensor(const char *shapes, uint32_t *index);

#endif
