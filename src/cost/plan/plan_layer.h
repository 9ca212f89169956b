/* What the layers and the ends of a model take for one micro-batch. */
#ifndef FLOPLEDGER_COST_PLAN_PLAN_LAYER_H
#define FLOPLEDGER_COST_PLAN_PLAN_LAYER_H

#include "cost/plan/plan_parts.h"

/* Of one micro-batch on one device: forward, and backward with what is computed again. */
struct plan_passes {
    struct plan_pass forward;
    struct plan_pass backward;
};

/* All layers of the model, as one device of each stage works on them. */
struct plan_passes plan_layers(const struct plan_context *context);
/* Embedding, logits and loss. */
struct plan_passes plan_ends(const struct plan_context *context);

/* Parameters of all layers, and of those the routed experts. */
double plan_layer_parameters(const struct layer_kind *kind);
double plan_expert_parameters(const struct layer_kind *kind);
/* The devices that hold the same experts: experts are spread over `expert` neighbors, whole. */
struct plan_group plan_expert_replicas(const struct plan_layout *layout);
/* Of `replicas`, which hold the same: those that share what ZeRO shards; and the devices that hold
 * the same shard. */
struct plan_group plan_shards(const struct plan_context *context, struct plan_group replicas);
struct plan_group plan_shard_copies(const struct plan_context *context, struct plan_group replicas);
/* The devices that hold the same but for routed experts. */
struct plan_group plan_replicas(const struct plan_layout *layout);
/* Parameters of a layer that one device works on. */
double plan_local_layer(const struct plan_context *context, const struct layer_kind *kind);
/* Layers of the first stage, of those between and of the last. */
struct plan_cut {
    double first;
    double middle;
    double last;
};
struct plan_cut plan_cut(const struct plan_context *context);

/* Parameters that a device of the fullest stage works on. */
struct plan_parameters {
    double dense; /* all but routed experts */
    double experts;
};
struct plan_parameters plan_local_parameters(const struct plan_context *context);

#endif
