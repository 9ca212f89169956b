/* Replays a recorded step with another batch or length. */
#include "base/core/hash_map.h"
#include "base/core/invariant.h"
#include "base/core/search.h"
#include "base/text/prefix.h"
#include "memory/memory_what_if.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* No batch and no length is searched for beyond this. */
enum { LARGEST_ANSWER = 1 << 30 };

/* Blocks up to this size are counters and single numbers, whatever the batch. */
enum { SCALAR_BYTES = 16 };

/* ---- what grows ------------------------------------------------------------------------------ */

/* Sizes of the parameters of each module: what is as large in its backward is a gradient on its
 * way. */
static struct hash_map parameter_sizes(const struct memory_run *run)
{
    struct hash_map sizes = {0};

    for (uint32_t i = 0; i < run->blocks.count; i++) {
        const struct memory_block *block = &run->blocks.blocks[i];

        if (block->kind == MEMORY_PARAMETER && block->bytes < UINT32_MAX)
            (void)hash_map_add(&sizes, pair_key(block->module, (uint32_t)block->bytes), 1);
    }
    return sizes;
}

static bool is_size_of_parameter(const struct hash_map *sizes, const struct memory_block *block,
                                 int64_t bytes)
{
    return bytes > 0 && bytes < UINT32_MAX &&
           hash_map_find(sizes, pair_key(block->module, (uint32_t)bytes)) != NO_VALUE;
}

/* The last two sizes of a first input that are both the length: [8, 4, 128, 128]. The operator
 * that allocated, or one of the three around it: the innermost is often a view or an empty(). */
static bool has_square_input(const struct memory_forecast *forecast,
                             const struct memory_block *block)
{
    const struct trace *trace = forecast->run->trace;
    char ending[64];
    uint32_t event = block->event;
    const char *shapes;
    const char *end;
    size_t length;

    for (int i = 0; i < 4 && event != NO_EVENT; i++) {
        if (trace->host[event].kind != EVENT_OPERATOR)
            return false;
        shapes = trace_text(trace, trace->details[trace->host[event].detail].input_shapes);
        end = strchr(shapes, ']');
        length = (size_t)snprintf(ending, sizeof ending, ", %lld, %lld",
                                  (long long)forecast->length, (long long)forecast->length);
        if (end && (size_t)(end - shapes) > length && memcmp(end - length, ending, length) == 0)
            return true;
        event = forecast->run->contexts.parents[event];
    }
    return false;
}

/* How a block grows is told by what it is, not by fitting: one recording has one batch.
 * Activations, temporaries and inputs have the batch in their shape, so their bytes are
 * divisible by it; what is not, or is as large as a parameter of its module (a gradient on its
 * way, a weight in half precision), stays. Attention scores have the length twice. Wrongly grown
 * blocks show: tests hold forecasts to a second recording with another batch. */
static enum memory_growth growth_of(const struct memory_forecast *forecast,
                                    const struct hash_map *sizes, const struct memory_block *block)
{
    bool is_cast = has_prefix(memory_block_op(forecast->run, block), "aten::copy_");

    if (block->kind != MEMORY_ACTIVATION && block->kind != MEMORY_TEMPORARY &&
        block->kind != MEMORY_INPUT)
        return GROWTH_FIXED;
    if (block->phase == MEMORY_OPTIMIZER || block->bytes <= SCALAR_BYTES ||
        block->bytes % forecast->samples != 0)
        return GROWTH_FIXED;
    if (block->kind == MEMORY_TEMPORARY && block->phase == MEMORY_BACKWARD &&
        is_size_of_parameter(sizes, block, block->bytes))
        return GROWTH_FIXED;
    if (is_cast && is_size_of_parameter(sizes, block, 2 * block->bytes))
        return GROWTH_FIXED; /* a parameter in half precision, by autocast */
    if (forecast->length > 1 && has_square_input(forecast, block))
        return GROWTH_SQUARE;
    return GROWTH_LINEAR;
}

/* Of the last step: first steps allocate optimizer state and caches. */
void memory_forecast_init(struct memory_forecast *forecast, const struct memory_run *run,
                          int32_t device, int64_t samples, int64_t length)
{
    struct hash_map sizes = parameter_sizes(run);

    *forecast = (struct memory_forecast){
        .run = run,
        .device = device,
        .last = run->blocks.change_count,
        .samples = samples,
        .length = length,
    };
    if (run->step_count > 0) {
        forecast->first = run->steps[run->step_count - 1].first_change;
        forecast->last = run->steps[run->step_count - 1].last_change;
    }
    forecast->growth = require_memory(calloc(run->blocks.count + (size_t)1, 1));
    for (uint32_t i = 0; i < run->blocks.count; i++)
        forecast->growth[i] = (uint8_t)growth_of(forecast, &sizes, &run->blocks.blocks[i]);
    hash_map_clear(&sizes);
}

void memory_forecast_clear(struct memory_forecast *forecast)
{
    if (!forecast)
        return;
    free(forecast->growth);
    *forecast = (struct memory_forecast){0};
}

/* ---- the replay ------------------------------------------------------------------------------ */

/* Moment n is behind the n-th change, so that 0 is before the first. Bytes are kept by how
 * they grow, so that another size of batch is one sum per moment. */
void memory_replay_init(struct memory_replay *replay, const struct memory_forecast *forecast)
{
    uint32_t moments = forecast->last - forecast->first + 1;

    replay->moment_count = moments;
    for (int growth = 0; growth < MEMORY_GROWTH_COUNT; growth++)
        replay->bytes[growth] = require_memory(calloc(moments + (size_t)1, sizeof(int64_t)));
    replay->phases = require_memory(calloc(moments, 1));
    for (uint32_t moment = 1; moment < moments; moment++)
        replay->phases[moment] =
            (uint8_t)memory_phase_at(forecast->run, forecast->first + moment - 1);
}

void memory_replay_clear(struct memory_replay *replay)
{
    if (!replay)
        return;
    for (int growth = 0; growth < MEMORY_GROWTH_COUNT; growth++)
        free(replay->bytes[growth]);
    free(replay->phases);
    *replay = (struct memory_replay){0};
}

/* Lives are kept as changes at their two ends, by how they grow, so that the peak for any batch
 * or length is one walk over the moments, and searching for the largest batch that fits costs a
 * walk for each try. */
void memory_replay_add(struct memory_replay *replay, enum memory_growth growth, int64_t bytes,
                       int64_t from, int64_t to)
{
    if (from < 0)
        from = 0;
    if (to > replay->moment_count)
        to = replay->moment_count;
    if (from >= to)
        return;
    replay->bytes[growth][from] += bytes;
    replay->bytes[growth][to] -= bytes;
}

/* In moments of the step: 0 is before its first change. What was alive before has from <= 0. */
bool memory_forecast_life(const struct memory_forecast *forecast, const struct memory_block *block,
                          int64_t *from, int64_t *to)
{
    *from = (int64_t)block->start + 1 - forecast->first;
    *to = block->end == NO_CHANGE ? INT64_MAX : (int64_t)block->end + 1 - forecast->first;
    return block->device == forecast->device && *to > 0 &&
           *from <= (int64_t)forecast->last - forecast->first;
}

/* Blocks of other devices, and those that are not alive at any moment of the step, are not
 * added. */
void memory_replay_fill(struct memory_replay *replay, const struct memory_forecast *forecast)
{
    const struct memory_blocks *blocks = &forecast->run->blocks;

    for (uint32_t i = 0; i < blocks->count; i++) {
        int64_t from;
        int64_t to;

        if (memory_forecast_life(forecast, &blocks->blocks[i], &from, &to))
            memory_replay_add(replay, (enum memory_growth)forecast->growth[i],
                              blocks->blocks[i].bytes, from, to);
    }
}

/* ---- asking ---------------------------------------------------------------------------------- */

/* Bytes = fixed + linear * (samples * length) + square * (samples * length^2), each relative
 * to the recording, at every moment. In double, clamped: a batch of a billion is asked while
 * searching. */
struct forecast_peak memory_replay_peak(const struct memory_replay *replay,
                                        const struct memory_forecast *forecast, int64_t samples,
                                        int64_t length)
{
    double by_samples = (double)samples / (double)forecast->samples;
    double by_length =
        length < 0 || forecast->length <= 0 ? 1 : (double)length / (double)forecast->length;
    double factors[MEMORY_GROWTH_COUNT] = {1, by_samples * by_length,
                                           by_samples * by_length * by_length};
    int64_t sums[MEMORY_GROWTH_COUNT] = {0};
    struct forecast_peak peak = {.bytes = -1};

    for (uint32_t moment = 0; moment < replay->moment_count; moment++) {
        double bytes = 0;

        for (int growth = 0; growth < MEMORY_GROWTH_COUNT; growth++) {
            sums[growth] += replay->bytes[growth][moment];
            bytes += (double)sums[growth] * factors[growth];
        }
        /* Below what 63 bits hold, which a double cannot tell exactly at the limit itself. */
        if (bytes > 9e18)
            bytes = 9e18;
        if ((int64_t)bytes > peak.bytes)
            peak = (struct forecast_peak){(int64_t)bytes, (enum memory_phase)replay->phases[moment],
                                          sums[GROWTH_FIXED]};
    }
    return peak;
}

static bool memory_forecast_fits(const struct memory_replay *replay,
                                 const struct memory_forecast *forecast, int64_t bytes,
                                 int64_t value, bool is_length)
{
    int64_t samples = is_length ? forecast->samples : value;

    return memory_replay_peak(replay, forecast, samples, is_length ? value : -1).bytes <= bytes;
}

/* Doubling, then halving: the peak grows with batch and length, as all factors do, so the
 * search is right. O(log answer) walks. */
static int64_t find_most(const struct memory_replay *replay, const struct memory_forecast *forecast,
                         int64_t bytes, bool is_length)
{
    int64_t low = 0; /* fits, or is none */
    int64_t high = 1;

    while (high < LARGEST_ANSWER &&
           memory_forecast_fits(replay, forecast, bytes, high, is_length)) {
        low = high;
        high *= 2;
    }
    return LOWER_BOUND(i, low + 1, high,
                       memory_forecast_fits(replay, forecast, bytes, i, is_length)) -
           1;
}

int64_t memory_most_samples(const struct memory_replay *replay,
                            const struct memory_forecast *forecast, int64_t bytes)
{
    return find_most(replay, forecast, bytes, false);
}

int64_t memory_most_length(const struct memory_replay *replay,
                           const struct memory_forecast *forecast, int64_t bytes)
{
    return find_most(replay, forecast, bytes, true);
}
