/* A model by its config.json, and what its run is: what `flops --model` and `plan` are asked for.
 */
#ifndef FLOPLEDGER_PIPELINE_MODEL_SETTINGS_H
#define FLOPLEDGER_PIPELINE_MODEL_SETTINGS_H

#include "cost/efficiency/peak_choice.h"

#include <stdint.h>

/* 0 and NULL: not given. */
struct model_settings {
    const char *config; /* path of the config.json */
    int64_t batch;      /* samples of one step of all devices together */
    int64_t sequence;
    int64_t step_time_ns;
    int64_t devices;
    const char *device;
    struct peak_settings peaks; /* --peak, --dtype */
    int recompute;              /* an enum recompute */
    int64_t data;
    int64_t tensor;
    int64_t pipeline;
    int64_t expert;
    int64_t zero;
    int phase;       /* index in phase_names */
    int64_t context; /* tokens that the new ones of a request see */
    int cache_type;  /* index in cache_type_names */
};

/* NULL-terminated, in the order of enum recompute. */
extern const char *const recompute_names[];

/* NULL-terminated; the first of each stands for what was not given. */
extern const char *const phase_names[];
extern const char *const cache_type_names[];

/* The name of an option that is of use with a model only, and was given; NULL: none was. */
const char *option_of_model(const struct model_settings *settings);

#endif
