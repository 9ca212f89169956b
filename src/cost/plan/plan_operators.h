/* What operators and collectives take on a device, booked by account. */
#ifndef FLOPLEDGER_COST_PLAN_PLAN_OPERATORS_H
#define FLOPLEDGER_COST_PLAN_PLAN_OPERATORS_H

#include "cost/plan/plan.h"

/* What a generation of devices reaches of what it could: a few constants, in plan_rate_list.def
 * with their sources. */
struct plan_rates {
    const char *architecture; /* or the name of struct device_peak; NULL: all others */
    double matrix;            /* share of the peak that a large matrix product reaches */
    double matrix_8;          /* the same in 8 or 4 bits */
    double memory;            /* share of the memory's bandwidth that streaming reaches */
    double flash;             /* share of the 16-bit peak of fused attention, forward */
    double flash_1;           /* of kernels of before the device */
    double flash_2;           /* of FlashAttention-2 */
    double backward;          /* of either, what the backward reaches by the forward */
    double link;              /* share of the links' bandwidth that a large collective reaches */
    double exchange;          /* the same of an exchange of tokens */
    double latency;           /* seconds of a collective of no bytes within a node of eight */
    double network;           /* bytes a second of a device into the network, by default */
    double network_latency;   /* seconds that each further node adds to it */
};

const struct plan_rates *plan_rates_of(const struct device_peak *device);

/* From one kernel's end to the next one's first work, queued. 1024 cubed of Azure's guide. */
#define KERNEL_SECONDS 3e-6

/* What the same setting asks for again and again. */
struct plan_context {
    const struct plan_setting *setting;
    const struct plan_layout *layout;
    const struct plan_rates *rates;
    double peak;     /* FLOP/s of the setting's precision: what "useful" is measured by */
    double peak_16;  /* of 16 bits, or of the precision where that is wider */
    double matrix;   /* share of `peak_16` that a large matmul reaches, as measured or by `rates` */
    double matrix_8; /* share of `peak`, where that is of fewer bits */
    double memory_rate;
    double link_rate; /* bytes a second of a device over its links; 0: it has none */
    double latency;   /* of a collective of no bytes of two devices of a node */
    double tokens;    /* of a micro-batch on one device */
    double element;   /* bytes of an activation, and of a weight as it is multiplied */
    double streamed;  /* bytes of an activation as norms and the like read and write it */
};

struct plan_context plan_context_of(const struct plan_setting *setting,
                                    const struct plan_layout *layout);

/* Seconds by account, while a pass is put together. */
struct plan_pass {
    double accounts[PLAN_ACCOUNT_COUNT];
    double in_16_bits;     /* by how much more useful FLOPs take at their own, wider peak */
    double again_useful;   /* of recomputation, what it takes at the peak */
    double again_streamed; /* ... and in operators that are bound by memory */
    double device;         /* what kernels take */
    double weights;        /* ... and of that, products for gradients of weights */
    double kernels;
};

/* `batch` products of m x k by k x n. `is_low`: in the setting's precision rather than in 16 bits.
 * Where a fused kernel hands on its result already cast, the input is ready, or backward the
 * gradient of the output; all of the batch is one kernel then. */
struct plan_product {
    double m;
    double n;
    double k;
    double batch;
    int64_t columns; /* of its rows in 16 bits, where they may be no multiple of 16 bytes; 0: are */
    bool is_low;
    bool is_input_ready;
    bool is_output_ready;
};

/* One product with 2 m n k FLOPs, all of use. */
void plan_add_product(const struct plan_context *context, struct plan_pass *pass,
                      struct plan_product product);
/* The two products of its backward. */
void plan_add_backward(const struct plan_context *context, struct plan_pass *pass,
                       struct plan_product product);
/* Seconds of a product, and of those what tiles and waves cost; for tests. */
double plan_product_seconds(const struct plan_context *context, struct plan_product product,
                            double *tile_seconds);
/* An operator that streams bytes. Those of activations are `element` or `streamed` each. */
void plan_add_stream(const struct plan_context *context, struct plan_pass *pass, double bytes,
                     double kernels);
/* Attention as one kernel: `flops` of use at `share` of the 16-bit peak, with at least `bytes`. */
void plan_add_attention(const struct plan_context *context, struct plan_pass *pass, double flops,
                        double seconds);

/* A layer's scores, softmax and values, forward or backward, and where no kernel is fused for it
 * the rotation of queries and keys. */
void plan_add_scores(const struct plan_context *context, const struct layer_kind *kind,
                     struct plan_pass *pass, bool is_backward);
/* ... and what it multiplies beside: scans, convolutions, an indexer's scores. */
void plan_add_scan(const struct plan_context *context, const struct layer_kind *kind,
                   struct plan_pass *pass, bool is_backward);
void plan_add_rotation(const struct plan_context *context, const struct layer_kind *kind,
                       struct plan_pass *pass, bool is_backward);

enum plan_collective {
    PLAN_ALL_REDUCE,
    PLAN_ALL_GATHER, /* and reduce-scatter: of the whole's bytes */
    PLAN_ALL_TO_ALL, /* of the bytes that one device sends, those for itself with them */
    PLAN_SEND,
};

/* A group of `size` devices, of which each `stride`-th device is one: 1 for neighbors. */
struct plan_group {
    int64_t size;
    int64_t stride;
};

double plan_collective_seconds(const struct plan_context *context, enum plan_collective kind,
                               double bytes, struct plan_group group);

/* An all-reduce of a server's own kernel, among the layout's tensor parallel devices. */
double plan_one_shot_seconds(const struct plan_context *context, double bytes);

/* Of an exchange of tokens: `bytes` that one device sends, those for itself with them, of which
 * `copies` are the same. What goes to another domain is bound by a device's own card; of copies it
 * goes there once and on over the links, as DeepEP does, whose rates these are. */
double plan_exchange_seconds(const struct plan_context *context, double bytes, double copies,
                             struct plan_group group);

/* Adds `from` `times` over. */
void plan_pass_add(struct plan_pass *pass, const struct plan_pass *from, double times);
void plan_pass_charge(struct plan_pass *pass, enum plan_account account, double seconds);
/* All that kernels take counts as recomputation; exposed communication stays what it is. */
void plan_pass_recompute(struct plan_pass *pass);
double plan_pass_seconds(const struct plan_pass *pass);

#endif
