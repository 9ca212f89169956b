/* What the peak would be with another batch, another length of sequence, or another way to train:
 * from one recorded step, replayed block by block.
 *
 * Each block of the step is fixed (parameters, gradients, optimizer state, what the optimizer
 * needs), or grows with the samples and the length of the sequence (activations and what forward
 * and backward need for a while), or with the square of the length (scores of attention). The peak
 * of another batch is the most that the replay reaches at any moment, so that it may move to
 * another phase. */
#ifndef FLOPLEDGER_MEMORY_MEMORY_FORECAST_H
#define FLOPLEDGER_MEMORY_MEMORY_FORECAST_H

#include "memory/memory_run.h"

#include <stdbool.h>
#include <stdint.h>

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

#endif
