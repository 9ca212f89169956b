/* The memory of a recorded step under activation checkpointing.
 *
 * The activations of a unit are freed where its forward ends, and are there again from where its
 * backward begins: for that its forward runs once more, with what it needs for a while. Its output
 * stays, as the input of the next unit. */
#include "base/core/array.h"
#include "base/core/invariant.h"
#include "memory/memory_what_if.h"

#include <stdlib.h>
#include <string.h>

/* A call of a unit in the step. */
struct unit_call {
    uint32_t unit;
    int64_t forward_to;                 /* moment of its last allocation in the forward */
    int64_t backward_from;              /* of the first allocation in its backward; -1: none yet */
    uint32_t output;                    /* the block allocated last */
    int64_t alive[MEMORY_GROWTH_COUNT]; /* while the forward is walked through: its blocks */
    int64_t most[MEMORY_GROWTH_COUNT];  /* where their sum is highest */
};

struct unit_calls {
    const struct memory_forecast *forecast;
    const uint32_t *unit_of;
    struct unit_call *calls; /* [count] */
    uint32_t count;
    uint32_t *latest;  /* [tree.count]: the unit's latest call, or NO_EVENT */
    uint32_t *call_of; /* [blocks.count]: the call that allocated the block, or NO_EVENT */
};

static uint32_t unit_of_block(const struct unit_calls *calls, const struct memory_block *block)
{
    return block->module == NO_MODULE ? NO_MODULE : calls->unit_of[block->module];
}

static uint32_t new_call(struct unit_calls *calls, uint32_t unit)
{
    ARRAY_ROOM(calls->calls, calls->count);
    calls->calls[calls->count] = (struct unit_call){.unit = unit, .backward_from = -1};
    calls->latest[unit] = calls->count;
    return calls->count++;
}

/* A unit that allocates in a forward after its backward began is called anew: the next
 * micro-batch. */
static void note_forward(struct unit_calls *calls, uint32_t index, int64_t moment)
{
    const struct memory_block *block = &calls->forecast->run->blocks.blocks[index];
    uint32_t unit = unit_of_block(calls, block);
    uint32_t latest = calls->latest[unit];
    uint8_t growth = calls->forecast->growth[index];
    struct unit_call *call;

    if (latest >= calls->count || calls->calls[latest].backward_from >= 0)
        latest = new_call(calls, unit);
    call = &calls->calls[latest];
    call->forward_to = moment;
    call->output = index;
    calls->call_of[index] = latest;
    call->alive[growth] += block->bytes;
    if (call->alive[0] + call->alive[1] + call->alive[2] >
        call->most[0] + call->most[1] + call->most[2])
        memcpy(call->most, call->alive, sizeof call->most);
}

/* Walks over the step: allocations tell calls and their phases, releases what a call needs for a
 * while. */
static void memory_checkpointing_find_calls(struct unit_calls *calls)
{
    const struct memory_forecast *forecast = calls->forecast;
    const struct memory_blocks *blocks = &forecast->run->blocks;

    for (uint32_t i = forecast->first; i < forecast->last; i++) {
        uint32_t index = blocks->changes[i].block;
        const struct memory_block *block = &blocks->blocks[index];
        uint32_t unit = unit_of_block(calls, block);
        int64_t moment = (int64_t)i + 1 - forecast->first;

        if (block->device != forecast->device)
            continue;
        if (blocks->changes[i].is_free) {
            if (calls->call_of[index] != NO_EVENT)
                calls->calls[calls->call_of[index]].alive[forecast->growth[index]] -= block->bytes;
        } else if (unit != NO_MODULE && block->phase == MEMORY_FORWARD) {
            note_forward(calls, index, moment);
        } else if (unit != NO_MODULE && block->phase == MEMORY_BACKWARD &&
                   calls->latest[unit] != NO_EVENT &&
                   calls->calls[calls->latest[unit]].backward_from < 0) {
            /* The first allocation of its backward is where the forward would have to run
             * again. */
            calls->calls[calls->latest[unit]].backward_from = moment;
        }
    }
}

/* What the second forward needs beyond the activations that it leaves. The second forward needs
 * at its highest what the first did, less what it leaves as activations, which are counted by
 * themselves. */
static void add_working_sets(struct memory_replay *replay, const struct unit_calls *calls,
                             const int64_t (*kept)[MEMORY_GROWTH_COUNT])
{
    for (uint32_t i = 0; i < calls->count; i++) {
        const struct unit_call *call = &calls->calls[i];

        for (int growth = 0; growth < MEMORY_GROWTH_COUNT && call->backward_from >= 0; growth++)
            if (call->most[growth] > kept[i][growth])
                memory_replay_add(replay, (enum memory_growth)growth,
                                  call->most[growth] - kept[i][growth], call->backward_from,
                                  call->backward_from + 1);
    }
}

/* An activation lives until its forward ends and again from its backward on; a block that is
 * freed before is as it was. Calls without a backward keep theirs, since nothing would bring
 * them back. */
static void add_blocks(struct memory_replay *replay, const struct unit_calls *calls)
{
    const struct memory_forecast *forecast = calls->forecast;
    const struct memory_blocks *blocks = &forecast->run->blocks;
    int64_t(*kept)[MEMORY_GROWTH_COUNT] =
        require_memory(calloc(calls->count + (size_t)1, sizeof *kept));

    for (uint32_t i = 0; i < blocks->count; i++) {
        const struct memory_block *block = &blocks->blocks[i];
        enum memory_growth growth = (enum memory_growth)forecast->growth[i];
        uint32_t index = calls->call_of[i];
        const struct unit_call *call = index == NO_EVENT ? NULL : &calls->calls[index];
        int64_t from;
        int64_t to;

        if (!memory_forecast_life(forecast, block, &from, &to))
            continue;
        /* The output stays: it is the input of the unit behind, which checkpointing keeps. */
        if (call && block->kind == MEMORY_ACTIVATION && call->output != i &&
            call->backward_from > call->forward_to && to > call->backward_from) {
            memory_replay_add(replay, growth, block->bytes, from, call->forward_to + 1);
            memory_replay_add(replay, growth, block->bytes, call->backward_from, to);
            kept[index][growth] += block->bytes;
        } else {
            memory_replay_add(replay, growth, block->bytes, from, to);
        }
    }
    add_working_sets(replay, calls, (const int64_t(*)[MEMORY_GROWTH_COUNT])kept);
    free(kept);
}

/* 0xff makes "no call yet" of every module and block. A block belongs to the call of a unit
 * that it was made in, not to the module alone, which may be called several times. */
void memory_replay_checkpointed(struct memory_replay *replay,
                                const struct memory_forecast *forecast, const uint32_t *unit_of)
{
    size_t modules = forecast->run->tree.count + (size_t)1;
    size_t blocks = forecast->run->blocks.count + (size_t)1;
    struct unit_calls calls = {.forecast = forecast, .unit_of = unit_of};

    calls.latest = require_memory(malloc(modules * sizeof *calls.latest));
    calls.call_of = require_memory(malloc(blocks * sizeof *calls.call_of));
    memset(calls.latest, 0xff, modules * sizeof *calls.latest);
    memset(calls.call_of, 0xff, blocks * sizeof *calls.call_of);
    memory_checkpointing_find_calls(&calls);
    add_blocks(replay, &calls);
    free(calls.calls);
    free(calls.latest);
    free(calls.call_of);
}
