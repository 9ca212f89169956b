/* All layouts of a model over a number of devices: which fit, and which take the least time. */
#ifndef FLOPLEDGER_COST_PLAN_PLAN_SEARCH_H
#define FLOPLEDGER_COST_PLAN_PLAN_SEARCH_H

#include "cost/plan/plan.h"

#include <stddef.h>

enum { PLAN_KEPT = 10 };

struct plan_candidate {
    struct plan_layout layout;
    struct plan_outcome outcome;
};

/* Ten of a kind, in the order of their time; of equal ones that of less memory first. Of those that
 * have the same tensor, pipeline and expert ranks, tokens of a device and recomputation, the first
 * only. */
struct plan_kept {
    struct plan_candidate candidates[PLAN_KEPT];
    size_t count;
};

struct plan_search {
    int64_t planned; /* layouts that model and batch allow */
    int64_t fitting; /* of those, that fit in the device's memory */
    int64_t stages;  /* the most of a layout */
    bool is_uneven;  /* some have stages that differ by a layer, though the setting has none */
    struct plan_kept best;
    struct plan_kept too_large; /* the fastest of those that nearly fit: in half as much again */
    struct plan_kept smallest;  /* of those, the ones that lack the least, the least first */
};

/* What of a layout is given; what is 0 is free. */
struct plan_given {
    struct plan_layout layout;
    bool has_zero;
    bool has_recompute;
};

/* `devices` is at least 1. */
void plan_search(struct plan_search *search, const struct plan_setting *setting,
                 const struct plan_given *given, int64_t devices);

/* What is nearest to what was asked for and has a layout, where that has none; 0: none is near. */
struct plan_nearest {
    int64_t devices; /* with the batch as it was asked for */
    int64_t batch;   /* with the devices as they were */
};
struct plan_nearest plan_search_nearest(const struct plan_setting *setting,
                                        const struct plan_given *given, int64_t devices);

/* The account that costs most beside the model's own FLOPs. */
enum plan_account plan_limit(const struct plan_outcome *outcome);

#endif
