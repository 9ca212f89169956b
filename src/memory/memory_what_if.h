/* Other ways to train, and what they would do to the memory of a recorded step. */
#ifndef FLOPLEDGER_MEMORY_MEMORY_WHAT_IF_H
#define FLOPLEDGER_MEMORY_MEMORY_WHAT_IF_H

#include "memory/memory_run.h"

#include <stdbool.h>
#include <stdint.h>

/* What the peak would be with another batch, another length of sequence, or another way to train:
 * from one recorded step, replayed block by block.
 *
 * Each block of the step is fixed (parameters, gradients, optimizer state, what the optimizer
 * needs), or grows with the samples and the length of the sequence (activations and what forward
 * and backward need for a while), or with the square of the length (scores of attention). The peak
 * of another batch is the most that the replay reaches at any moment, so that it may move to
 * another phase. */

enum memory_growth {
    GROWTH_FIXED,
    GROWTH_LINEAR, /* with samples and length */
    GROWTH_SQUARE, /* with samples, and with the square of the length */
};
enum { MEMORY_GROWTH_COUNT = GROWTH_SQUARE + 1 };

/* The step that is replayed. */
struct memory_forecast {
    const struct memory_run *run;
    int32_t device;
    uint32_t first; /* changes [first, last) of the run are the step's */
    uint32_t last;
    int64_t samples; /* of one micro-batch */
    int64_t length;  /* tokens of a sample; -1: not known */
    uint8_t *growth; /* [blocks.count]: enum memory_growth */
};

/* Bytes alive at each moment of the step, in the three kinds of growth; moment m is after m of its
 * changes. Zeroed is empty. */
struct memory_replay {
    int64_t *bytes[MEMORY_GROWTH_COUNT]; /* [moment_count + 1]: differences to the moment before */
    uint8_t *phases;                     /* [moment_count]: enum memory_phase */
    uint32_t moment_count;
};

/* `forecast` must be zeroed; the last step of `run` is taken, the whole where it has none. */
void memory_forecast_init(struct memory_forecast *forecast, const struct memory_run *run,
                          int32_t device, int64_t samples, int64_t length);
void memory_forecast_clear(struct memory_forecast *forecast);

/* An empty replay of the step; fill it with memory_replay_add. */
void memory_replay_init(struct memory_replay *replay, const struct memory_forecast *forecast);
void memory_replay_clear(struct memory_replay *replay);

/* `bytes` more from moment `from` on and without `to`; both are cut to the step. */
void memory_replay_add(struct memory_replay *replay, enum memory_growth growth, int64_t bytes,
                       int64_t from, int64_t to);

/* The moments of the step in which a block is alive: [*from, *to); false where there is none. */
bool memory_forecast_life(const struct memory_forecast *forecast, const struct memory_block *block,
                          int64_t *from, int64_t *to);

/* The step as it was. */
void memory_replay_fill(struct memory_replay *replay, const struct memory_forecast *forecast);

struct forecast_peak {
    int64_t bytes;
    enum memory_phase phase;
    int64_t fixed_bytes; /* of them those that do not grow */
};

/* The peak with `samples` and sequences of `length` (-1: as recorded). */
struct forecast_peak memory_replay_peak(const struct memory_replay *replay,
                                        const struct memory_forecast *forecast, int64_t samples,
                                        int64_t length);

/* The most samples, or the greatest length, with a peak of at most `bytes`; 0: not even one. */
int64_t memory_most_samples(const struct memory_replay *replay,
                            const struct memory_forecast *forecast, int64_t bytes);
int64_t memory_most_length(const struct memory_replay *replay,
                           const struct memory_forecast *forecast, int64_t bytes);

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
