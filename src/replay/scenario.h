/* A change to try: "data=0", "communication/2", "kernel:REGEX*0.7", several with commas. */
#ifndef FLOPLEDGER_REPLAY_SCENARIO_H
#define FLOPLEDGER_REPLAY_SCENARIO_H

#include "base/attributes.h"
#include "base/error.h"

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum scenario_target {
#define SCENARIO_TARGET(id, name, meaning) TARGET_##id,
#include "replay/scenario_target_list.def"
#undef SCENARIO_TARGET
    SCENARIO_TARGET_COUNT,
};

struct scenario_change {
    enum scenario_target target;
    double factor;   /* what becomes of its time: 0...; 1 leaves it */
    regex_t pattern; /* KERNEL: of its name */
};

enum { SCENARIO_CHANGES_MAX = 16 };

struct scenario {
    const char *text; /* as the user wrote it; not owned */
    struct scenario_change changes[SCENARIO_CHANGES_MAX];
    size_t change_count;
};

struct scenario_target_description {
    const char *name;    /* "data" */
    const char *meaning; /* "time in the data loader" */
};
extern const struct scenario_target_description scenario_targets[SCENARIO_TARGET_COUNT];

/* `scenario` must be zeroed; `text` must outlive it. Errors (ERROR_USAGE) name the place and what
 * is accepted. */
MUST_USE bool scenario_parse(struct scenario *scenario, const char *text, struct error *error);

/* The product of the factors of all changes of that target; 1 where there is none. */
double scenario_factor(const struct scenario *scenario, enum scenario_target target);
/* Likewise of the changes of kernels whose pattern finds `name`. */
double scenario_kernel_factor(const struct scenario *scenario, const char *name);

void scenario_clear(struct scenario *scenario);

#endif
