/* How other tools count the FLOPs of a token, forward and backward: the same run, other numbers.
 * Each is a pure function of the architecture, and says its rule in words. */
#ifndef FLOPLEDGER_COST_ARCHITECTURES_CONVENTION_H
#define FLOPLEDGER_COST_ARCHITECTURES_CONVENTION_H

#include "cost/architectures/architecture.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum recompute {
    RECOMPUTE_NONE,
    RECOMPUTE_SELECTIVE, /* the core of attention once more in the backward */
    RECOMPUTE_FULL,      /* the forward of every layer once more */
};

struct convention_setting {
    int64_t sequence; /* tokens of a sample, at least 1 */
    enum recompute recompute;
};

struct convention {
    const char *name;  /* "megatron-sc21" */
    const char *key;   /* "megatron_sc21": in JSON */
    const char *title; /* "Megatron-LM" */
    const char *rule;  /* in words */
    /* FLOPs of one token; negative where the rule does not fit the architecture. */
    double (*count)(const struct architecture *architecture, struct convention_setting setting);
};

/* The first is ours: exact matrix products behind the mask. */
const struct convention *all_conventions(size_t *count);

/* NULL where there is none of this name. */
const struct convention *convention_named(const char *name);

/* Why `count` gave a negative number. */
extern const char why_convention_does_not_fit[];

/* What the device computes for a token, recomputation and what a fused backward of attention does
 * again (5 products instead of 4) in it: for HFU. An estimate. */
double hardware_flops(const struct architecture *architecture, struct convention_setting setting);

#endif
