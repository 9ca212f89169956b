/* Other ways to train, and what they would do to the memory of a recorded step. */
#ifndef FLOPLEDGER_MEMORY_MEMORY_WHAT_IF_H
#define FLOPLEDGER_MEMORY_MEMORY_WHAT_IF_H

#include "memory/memory_forecast.h"

#include <stdbool.h>
#include <stdint.h>

enum { WHAT_IF_NAME_MAX = 96, WHAT_IF_MAX = 24 };

/* One way, and the step as it would be. */
struct what_if {
    char name[WHAT_IF_NAME_MAX]; /* "checkpoint blocks.*" */
    const char *assumes;         /* NULL, or what the figure takes for granted; static */
    struct memory_replay replay;
};

/* Zeroed is empty. */
struct what_ifs {
    struct what_if ways[WHAT_IF_MAX]; /* [count]; the first is the step as it was */
    int count;
};

struct what_if_options {
    int64_t ranks;   /* that ZeRO divides by; at least 1 */
    bool is_float32; /* parameters are float32, so that bf16 would be something else */
};

/* `ways` must be zeroed. Ways that would change nothing (no repeated modules, no cross-entropy
 * seen) are left out. */
void find_what_ifs(struct what_ifs *ways, const struct memory_forecast *forecast,
                   const struct what_if_options *options);
void what_ifs_clear(struct what_ifs *ways);

/* Fills `replay` with the step under activation checkpointing of units: `unit_of` has for each
 * module of the tree its unit (any module index inside which all is computed again), or NO_MODULE.
 * In memory_checkpointing.c. */
void memory_replay_checkpointed(struct memory_replay *replay,
                                const struct memory_forecast *forecast, const uint32_t *unit_of);

#endif
