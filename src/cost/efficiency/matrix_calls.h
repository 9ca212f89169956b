/* Each call of a counted op and the work it gave to the device: which kernels, how long, and for a
 * product how many FLOPs of which kind. */
#ifndef FLOPLEDGER_COST_EFFICIENCY_MATRIX_CALLS_H
#define FLOPLEDGER_COST_EFFICIENCY_MATRIX_CALLS_H

#include "cost/devices/device_peak.h"
#include "cost/efficiency/peak_choice.h"
#include "cost/modules/module_costs.h"
#include "ledger/step_ledger.h"
#include "trace/trace.h"

#include <stdbool.h>
#include <stdint.h>

#define NO_CALL UINT32_MAX

/* Why the FLOPs of matrix work, or their ideal time, are not known. */
enum cost_obstacle {
    PRICE_KNOWN,
    PRICE_NO_OPERATOR, /* the kernel's launch lies in no operator: a CUDA graph, a trace of the
                          device alone */
    PRICE_NO_SHAPES,
    PRICE_NO_FORMULA,
    PRICE_IN_BUFFER,    /* a kernel of a library in a CUDA graph that XLA made */
    PRICE_NO_ARGUMENTS, /* a formula, but not all it needs was recorded */
    PRICE_NO_TYPE,
    PRICE_NO_PEAK, /* FLOPs are known */
    PRICE_OBSTACLE_COUNT,
};

/* FLOPs of matrix work. executed = recomputed + extra + model. */
struct flop_parts {
    double executed;   /* by the device, as far as shapes tell */
    double model;      /* what the model's own arithmetic needs: masked pairs left out */
    double recomputed; /* forward again in the backward: checkpointing, fused attention's backward
                        */
    double extra;      /* computed and not needed: masked pairs; products inside the optimizer */
    double all_pairs;  /* as model, with masked pairs: the convention without causal halving */
};

/* What a product computes, and how fast its device could. */
struct product_cost {
    struct flop_parts flops; /* all 0 where not known */
    double peak;             /* FLOP/s; 0: not known */
};

/* One call of an op on the device (CPU only: of a product on its thread). There is one for nearly
 * each kernel of a trace, so it is kept small. */
struct matrix_call {
    int64_t kernel_ns;    /* its kernels, each as long as it ran; of a product its matrix kernels */
    int64_t unit_lead_ns; /* of those on matrix units, by their names, less those on vector units */
    const struct product_cost *matmul_cost; /* in matrix_calls; of what is no product all 0 */
    uint32_t op;                            /* index in trace->host */
    uint32_t longest;  /* the longest of the kernels: index in trace->device; NO_EVENT on a CPU */
    bool is_matrix;    /* a product: convolution, attention, recurrent layer included */
    uint8_t obstacle;  /* enum cost_obstacle */
    uint8_t precision; /* enum peak_type; PEAK_TYPE_COUNT: not known */
};

/* A stretch of work: a kernel of the ledger's device, or on a CPU a product. In order of start. */
struct work_piece {
    uint32_t event; /* index in matrix_calls.events */
    uint32_t call;  /* index in calls, or NO_CALL */
    uint8_t class;  /* enum kernel_class */
    uint8_t unit;   /* enum matrix_unit_use */
};

/* Zeroed is empty. */
struct matrix_calls {
    struct matrix_call *calls;
    uint32_t count;
    const struct event *events; /* not owned: trace->device; on a CPU trace->host */
    struct work_piece *pieces;  /* computing kernels: no communication, copies or memsets */
    uint32_t piece_count;
    struct product_cost *estimates; /* of the calls that are products */
};

static inline const struct event *event_of_piece(const struct matrix_calls *calls,
                                                 const struct work_piece *piece)
{
    return &calls->events[piece->event];
}

void find_matrix_calls(struct matrix_calls *calls, const struct trace *trace,
                       const struct ledger *ledger, const struct module_costs *costs,
                       const struct peak_choice *peaks);
void matrix_calls_clear(struct matrix_calls *calls);

/* Why the piece, matrix work without a call, has no FLOPs. */
enum cost_obstacle obstacle_of_piece(const struct trace *trace, const struct module_costs *costs,
                                     uint32_t device_event);

/* From the recorded types of an op's inputs, the JSON text: ["c10::BFloat16", "c10::BFloat16", ""].
 * The first that numbers are multiplied in decides, from argument `first` on; PEAK_TYPE_COUNT where
 * none is recorded, or it has no peak of its own (complex numbers). float gives PEAK_FP32: whether
 * TF32 was used is told by the kernels. */
enum peak_type precision_of_types(const char *types, int first);

enum matrix_unit_use {
    MATRIX_UNIT_NOT_TOLD, /* the name says nothing of it */
    MATRIX_UNIT_USED,
    MATRIX_UNIT_NOT_USED,
};

/* By the kernel's name alone: matrix_unit_list.def. */
enum matrix_unit_use matrix_unit_of_name(const char *kernel_name);

/* The compute capability (8.0 is 80) whose instructions the name says it uses: 80 for
 * "cutlass_80_tensorop_..." and "ampere_...", 90 for "sm90_..."; 0 where the name does not say. */
int instruction_generation(const char *kernel_name);

#endif
