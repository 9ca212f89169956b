/* A change to try: "data=0", "communication/2", "host@7*0.9" (of rank 7 only), "data=workers",
 * "kernel:REGEX*0.7", several with commas. */
#ifndef FLOPLEDGER_REPLAY_SCENARIO_H
#define FLOPLEDGER_REPLAY_SCENARIO_H

#include "base/core/attributes.h"
#include "base/core/error.h"

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum scenario_target {
#define SCENARIO_TARGET(id, name, meaning) TARGET_##id,
#define SCENARIO_WORD(id, target, word, meaning)
#include "replay/scenario_target_list.def"
#undef SCENARIO_TARGET
#undef SCENARIO_WORD
    SCENARIO_TARGET_COUNT,
};

/* Changes that are more than another duration. */
enum scenario_word {
    NO_SCENARIO_WORD,
#define SCENARIO_TARGET(id, name, meaning)
#define SCENARIO_WORD(id, target, word, meaning) SCENARIO_WORD_##id,
#include "replay/scenario_target_list.def"
#undef SCENARIO_TARGET
#undef SCENARIO_WORD
};

struct scenario_change {
    enum scenario_target target;
    enum scenario_word word;
    double factor;   /* what becomes of its time: 0...; 1 leaves it */
    bool is_taken;   /* "=0", not "*0" */
    int64_t rank;    /* the only one that is changed; -1: all */
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

/* What follows is asked for a rank; -1: one that is not known, which changes of a single rank leave
 * as it is. No scenario (NULL) has no changes. */

/* The product of the factors of all changes of that target; 1 where there is none. */
double scenario_factor(const struct scenario *scenario, enum scenario_target target, int64_t rank);
/* Likewise of the changes of kernels whose pattern finds `name`. */
double scenario_kernel_factor(const struct scenario *scenario, const char *name, int64_t rank);
/* Whether "=0" takes the target's time away. */
bool scenario_takes(const struct scenario *scenario, enum scenario_target target, int64_t rank);
bool scenario_has_word(const struct scenario *scenario, enum scenario_word word, int64_t rank);

/* Whether any rank's time of that target is changed. */
bool scenario_has_target(const struct scenario *scenario, enum scenario_target target);

void scenario_clear(struct scenario *scenario);

#endif
