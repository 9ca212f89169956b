/* What a training step will take, before it runs: its time by account, and the memory of the
 * fullest device, of a model laid out over devices.
 *
 * Each operator takes the larger of what its FLOPs and its bytes take at the rates of
 * plan_rate_list.def; collectives take latency and volume by bandwidth; a step is put together as
 * its schedule allows (1F1B or interleaved). docs/plan.md says all of it, and how far off it is. */
#ifndef FLOPLEDGER_COST_PLAN_PLAN_H
#define FLOPLEDGER_COST_PLAN_PLAN_H

#include "base/core/attributes.h"
#include "base/core/error.h"
#include "cost/architectures/architecture.h"
#include "cost/architectures/convention.h"
#include "cost/devices/device_peak.h"
#include "cost/devices/measured_rates.h"

#include <stdbool.h>
#include <stdint.h>

enum plan_account {
#define PLAN_ACCOUNT(id, key, title, limit) PLAN_##id,
#include "cost/plan/plan_account_list.def"
#undef PLAN_ACCOUNT
    PLAN_ACCOUNT_COUNT
};

/* How the work is shared among the devices; all at least 1 but `zero`. Tensor parallel ranks are
 * neighbors, then context, then data, then stages. */
struct plan_layout {
    int64_t tensor;
    int64_t pipeline; /* stages */
    int64_t chunks;   /* virtual stages of a device; 1: 1F1B, more: interleaved */
    int64_t context;
    int64_t expert; /* devices of data and context that share the experts */
    int64_t data;
    int64_t micro; /* samples of a micro-batch */
    int zero;      /* 0: nothing sharded; 1: the optimizer; 2: gradients too; 3: weights too */
    enum recompute recompute;
};

enum plan_module_place {
#define PLAN_MODULE(id, name, needs) PLAN_##id##_PLACE,
#include "cost/plan/plan_module_list.def"
#undef PLAN_MODULE
    PLAN_MODULE_COUNT
};

enum plan_module {
#define PLAN_MODULE(id, name, needs) PLAN_##id = 1 << PLAN_##id##_PLACE,
#include "cost/plan/plan_module_list.def"
#undef PLAN_MODULE
};

enum plan_attention {
    PLAN_FLASH,   /* the fastest fused kernel of the device */
    PLAN_FLASH_1, /* Triton's, and what else was there before the device */
    PLAN_FLASH_2, /* FlashAttention-2, PyTorch's own */
    PLAN_UNFUSED, /* scores go to memory and back */
    PLAN_FLASH_8, /* the fastest, with its products in 8 bits */
};

struct plan_setting {
    const struct architecture *model;
    const struct device_peak *device;
    const struct measured_rates *measured; /* what such a device reached; NULL: not measured */
    enum peak_type precision; /* of the matrix products of layers; 8 and 4 bits leave attention and
                                 logits in 16 */
    int64_t sequence;
    int64_t batch;  /* samples of a step, of all devices together */
    int64_t node;   /* devices that one NVLink domain joins */
    double network; /* bytes a second of one device into the network */
    enum plan_attention attention;
    bool is_eager;        /* norms, activations and the like are kernels of their own, in 32 bits */
    bool splits_sequence; /* norms and dropout of tensor parallelism work on parts of the sequence
                           */
    bool hides_gradients; /* gradients are reduced while the backward runs */
    bool hides_weights;   /* what ZeRO 1 or 2 shards is gathered while the next forward runs */
    bool hides_tensor;    /* collectives of tensor parallelism run beside the matmuls, in pieces */
    bool hides_exchange;  /* tokens are exchanged while another micro-batch is worked on */
    bool sends_copies;    /* a token goes to each of its experts by itself: NCCL's all-to-all */
    bool rotates_apart;   /* queries and keys are turned by several kernels, not by a fused one */
    bool fuses_experts;   /* what stands between the experts' matmuls is part of their kernels */
    bool reduces_by_nccl; /* of a server, in one NVLink domain, too */
    bool gathers_each_pass; /* of a pipeline, what ZeRO 3 shards is so between micro-batches, too */
    bool predicts_further;  /* the model's layers that predict further tokens are trained, too */
    bool reduces_whole;     /* gradients are all-reduced, also where ZeRO 1 or 2 shards */
    bool broadcasts_weights;   /* each device sends its shard of them to the others in turn */
    bool crosses_by_one_card;  /* of cards that devices share, groups use one; NCCL before 2.12 */
    bool is_blocking;          /* each kernel is waited for before the next is launched */
    bool is_uneven;            /* stages may differ by a layer */
    bool delays_weights;       /* gradients of weights are left for the bubble: ZB-H1 */
    double launch_seconds;     /* what the host takes to launch a kernel */
    double recomputed_share;   /* of the layers that full recomputation is of; 0: of all */
    unsigned recomputed;       /* what selective recomputation is of: bits of enum plan_module */
    int64_t shard_devices;     /* ranks of data and context that share what ZeRO shards; 0: all */
    int64_t offloaded_layers;  /* whose activations the host keeps, sent beside the work */
    int64_t gradient_bytes;    /* of a gradient, as it is kept and reduced */
    int64_t accumulated_bytes; /* read and written to add a gradient of a micro-batch to it */
    double calibration;        /* what a run like this took, by its plan; 0: no run is known */
};

/* Bytes on the fullest device. */
struct plan_memory {
    double weights;
    double gradients;
    double optimizer;
    double activations;
    double other; /* buffers of collectives, logits, the runtime's own */
    double total;
    double least; /* what cannot be done without: more than the device has means out of memory */
};

struct plan_outcome {
    double accounts[PLAN_ACCOUNT_COUNT]; /* seconds of a step, of the mean device */
    double in_16_bits;   /* by how much more useful FLOPs take at the peaks of their own formats */
    double again_useful; /* of recomputation, what it takes at the peak, with the scores that fused
                            attention computes again in its own backward */
    double again_streamed; /* ... and in operators that are bound by memory */
    double step;           /* their sum */
    double low;            /* eight of ten compared runs lie between these; see plan_step.c */
    double high;
    const char *interval_of; /* which runs, a text that lasts */
    double useful_flops;     /* of a step, all devices: behind the mask, no recomputation */
    double hardware_flops;   /* the same with recomputation */
    double peak;             /* FLOP/s of a device */
    double tokens;           /* of a step, all devices */
    double devices;
    double optimizer_bytes; /* that the optimizer reads and writes, of a device */
    double step_end;        /* of the optimizer's account, what a step does besides its kernels */
    struct plan_memory memory;
};

const char *plan_account_key(enum plan_account account);
const char *plan_account_title(enum plan_account account);
/* As the limit of a layout: short enough for a table of layouts in 80 columns. */
const char *plan_account_limit(enum plan_account account);
/* Megatron-Core's name of enum plan_module_place, less than PLAN_MODULE_COUNT. */
const char *plan_module_name(int place);

/* Of the layers that full recomputation is of: all, or as many as the setting says, as frameworks
 * choose each second, or the first of a stage. */
double plan_recomputed_share(const struct plan_setting *setting, const struct plan_layout *layout);

/* FSDP in a pipeline: weights are gathered once for a step, and gradients scattered behind it. */
bool plan_keeps_whole(const struct plan_setting *setting, const struct plan_layout *layout);

/* Devices of a layout. */
int64_t plan_devices(const struct plan_layout *layout);

/* The multiple of `of`, at least one of it, that is nearest to `wanted`. */
int64_t plan_nearest_multiple(int64_t of, int64_t wanted);

/* ERROR_USAGE, one sentence with the nearest that fits, where the model or the batch cannot be laid
 * out so. */
MUST_USE bool plan_check(const struct plan_setting *setting, const struct plan_layout *layout,
                         struct error *error);

/* Whether so many parts are equal, where the embedding and the logits may stand for a layer each;
 * any that has a layer, where stages may be uneven. */
bool plan_divides_layers(const struct plan_setting *setting, int64_t parts);

/* Parts of it, as far as they are asked for before the rest is known: the heads; heads, layers and
 * sequence; what is left of the devices for --dp, or that it is as many (`has_data`). */
MUST_USE bool plan_check_heads(const struct architecture *model, int64_t tensor,
                               struct error *error);
MUST_USE bool plan_check_model(const struct plan_setting *setting, const struct plan_layout *layout,
                               struct error *error);
MUST_USE bool plan_check_devices(const struct plan_layout *layout, int64_t devices, bool has_data,
                                 struct error *error);

/* Of a layout that plan_check accepts. */
struct plan_outcome plan_step(const struct plan_setting *setting, const struct plan_layout *layout);

struct plan_memory plan_memory(const struct plan_setting *setting,
                               const struct plan_layout *layout);
/* What nvidia-smi shows: an allocator keeps more than tensors take. */
double plan_reserved_bytes(const struct plan_memory *memory);
/* What tensors take fits in `has` bytes, but not with what allocators keep beside. */
bool plan_is_tight(const struct plan_memory *memory, double has);

/* ---- choices that change nothing ---- */

struct plan_idle_choice {
    const char *option; /* as it is typed */
    const char *needs;  /* what it would change, and this plan has not */
};

enum { PLAN_IDLE_MAX = 32 };

struct plan_idle_choices {
    struct plan_idle_choice choices[PLAN_IDLE_MAX];
    int count;
};

/* Each choice of `setting` that is not the usual one, without which the step and its memory are the
 * same. `outcome` is that of plan_step. */
struct plan_idle_choices plan_idle_choices_of(const struct plan_setting *setting,
                                              const struct plan_layout *layout,
                                              const struct plan_outcome *outcome);

/* Likewise of a server: its decode and prefill of `context` tokens on `tensor` devices. */
struct plan_idle_choices plan_idle_choices_of_server(const struct plan_setting *setting,
                                                     int64_t tensor, int64_t context);

/* ---- inference ---- */

struct plan_requests {
    int64_t count;
    int64_t queries; /* new tokens of each */
    int64_t keys;    /* tokens that they see, themselves included */
    bool is_decode;
};

struct plan_serving {
    double seconds; /* of one step */
    double tokens_per_second;
    double memory; /* bytes of weights and cache on a device */
    bool fits;
};

/* On `tensor` devices that share every matrix; why_no_serving_cost must have said nothing. */
struct plan_serving plan_serving_step(const struct plan_setting *setting, int64_t tensor,
                                      struct plan_requests requests);
/* The most requests of `keys` tokens whose decode fits in memory and takes at most `latency`
 * seconds (0: however long); 0 where not even one does. */
int64_t plan_best_requests(const struct plan_setting *setting, int64_t tensor, int64_t keys,
                           double latency);

/* What the table knows of the device around it: devices of an NVLink domain, bytes a second into
 * the network, seconds to launch a kernel. */
void plan_defaults(struct plan_setting *setting);

#endif
