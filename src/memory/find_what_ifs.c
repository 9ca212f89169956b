/* Other ways to train, and what they would do to the memory of a recorded step. */
#include "base/core/hash_map.h"
#include "base/core/invariant.h"
#include "base/text/prefix.h"
#include "memory/memory_what_if.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A loss that is computed piece by piece holds one of so many pieces at a time. */
enum { LOSS_PIECES = 8 };

/* How a way changes a block: its bytes become bytes * times / by. */
struct block_share {
    int64_t times;
    int64_t by;
};

/* NULL where the list is full: a way less is no mistake, and callers go on. */
static struct what_if *memory_what_if_add_way(struct what_ifs *ways,
                                              const struct memory_forecast *forecast,
                                              const char *name, const char *assumes)
{
    struct what_if *way;

    if (ways->count == WHAT_IF_MAX)
        return NULL;
    way = &ways->ways[ways->count++];
    (void)snprintf(way->name, sizeof way->name, "%s", name);
    way->assumes = assumes;
    memory_replay_init(&way->replay, forecast);
    return way;
}

/* ---- ways that give each block a share ------------------------------------------------------- */

static const struct block_share whole = {1, 1};

/* Temporaries of the optimizer's step are as large as its state, and are split with it. */
static bool is_of_optimizer(const struct memory_block *block)
{
    return block->kind == MEMORY_OPTIMIZER_STATE ||
           (block->kind == MEMORY_TEMPORARY && block->phase == MEMORY_OPTIMIZER);
}

/* Rajbhandari et al. 2020: stage 1 splits the optimizer's state, 2 gradients, 3 parameters
 * too. */
static struct block_share share_zero_1(const struct memory_block *block, int64_t ranks)
{
    return is_of_optimizer(block) ? (struct block_share){1, ranks} : whole;
}

static struct block_share share_zero_2(const struct memory_block *block, int64_t ranks)
{
    return block->kind == MEMORY_GRADIENT ? (struct block_share){1, ranks}
                                          : share_zero_1(block, ranks);
}

static struct block_share share_zero_3(const struct memory_block *block, int64_t ranks)
{
    return block->kind == MEMORY_PARAMETER ? (struct block_share){1, ranks}
                                           : share_zero_2(block, ranks);
}

static struct block_share share_offload(const struct memory_block *block, int64_t ranks)
{
    (void)ranks;
    return is_of_optimizer(block) ? (struct block_share){0, 1} : whole;
}

/* Parameters, gradients, activations and what is needed for a while; the optimizer keeps a copy of
 * the parameters in float32 beside its state (added apart). */
static struct block_share share_bf16(const struct memory_block *block, int64_t ranks)
{
    bool is_halved = block->kind == MEMORY_PARAMETER || block->kind == MEMORY_GRADIENT ||
                     block->kind == MEMORY_ACTIVATION ||
                     (block->kind == MEMORY_TEMPORARY && block->phase != MEMORY_OPTIMIZER);

    (void)ranks;
    return is_halved ? (struct block_share){1, 2} : whole;
}

/* A way to train is replayed as the recorded step with other sizes: each block keeps when it
 * lives and gets the share that the way leaves of it, so that the peak may move to another
 * moment, which a sum over kinds would miss. What the way needs besides (a gathered unit, a copy
 * in float32) is added for as long as it lives. */
static void fill_shares(struct memory_replay *replay, const struct memory_forecast *forecast,
                        struct block_share (*share_of)(const struct memory_block *block,
                                                       int64_t ranks),
                        int64_t ranks)
{
    const struct memory_blocks *blocks = &forecast->run->blocks;

    for (uint32_t i = 0; i < blocks->count; i++) {
        const struct memory_block *block = &blocks->blocks[i];
        struct block_share share = share_of(block, ranks);
        int64_t from;
        int64_t to;

        if (memory_forecast_life(forecast, block, &from, &to))
            memory_replay_add(replay, (enum memory_growth)forecast->growth[i],
                              block->bytes / share.by * share.times +
                                  block->bytes % share.by * share.times / share.by,
                              from, to);
    }
}

/* At the end of the step: gradients may be gone by then, parameters are not. */
static int64_t bytes_of_kind(const struct memory_forecast *forecast, enum memory_kind kind)
{
    const struct memory_blocks *blocks = &forecast->run->blocks;
    int64_t bytes = 0;

    for (uint32_t i = 0; i < blocks->count; i++)
        if (blocks->blocks[i].kind == kind && blocks->blocks[i].device == forecast->device &&
            memory_block_is_alive(&blocks->blocks[i], forecast->last))
            bytes += blocks->blocks[i].bytes;
    return bytes;
}

/* ---- units: modules that repeat -------------------------------------------------------------- */

static bool memory_what_if_is_number(const char *text)
{
    for (; *text; text++)
        if (!isdigit((unsigned char)*text))
            return false;
    return true;
}

static uint32_t count_numbered_children(const struct module_tree *tree, uint32_t module)
{
    uint32_t count = 0;

    for (uint32_t child = tree->modules[module].first_child; child != NO_MODULE;
         child = tree->modules[child].next_sibling)
        count += memory_what_if_is_number(tree->modules[child].own_name);
    return count;
}

/* The module with most numbered modules directly in it ("blocks"); of equal ones the outermost.
 *
 * Checkpointing and gathering work on units that repeat. No list of names of models is kept:
 * layers that repeat are in a ModuleList or Sequential, whose children are called by numbers,
 * and of these the longest is the stack. */
static uint32_t find_stack(const struct module_tree *tree)
{
    uint32_t best = NO_MODULE;
    uint32_t most = 1;

    for (uint32_t i = 0; i < tree->count; i++) {
        uint32_t count = count_numbered_children(tree, tree->order[i]);

        if (count > most) {
            most = count;
            best = tree->order[i];
        }
    }
    return best;
}

/* For each module the unit that it is in; units are the numbered modules in `stack`, or in each of
 * these the one called `part`. free() it. */
static uint32_t *find_units(const struct module_tree *tree, uint32_t stack, const char *part)
{
    uint32_t *units = require_memory(malloc((tree->count + (size_t)1) * sizeof *units));

    for (uint32_t i = 0; i < tree->count; i++) {
        uint32_t module = tree->order[i];
        uint32_t parent = tree->modules[module].parent;
        uint32_t above = parent == NO_MODULE ? NO_MODULE : tree->modules[parent].parent;
        bool is_unit =
            part ? above == stack && strcmp(tree->modules[module].own_name, part) == 0
                 : parent == stack && memory_what_if_is_number(tree->modules[module].own_name);

        units[module] = is_unit ? module : parent == NO_MODULE ? NO_MODULE : units[parent];
    }
    return units;
}

/* The price is told with the saving: memory is bought with a second forward. */
static void add_checkpointing(struct what_ifs *ways, const struct memory_forecast *forecast,
                              uint32_t stack, const char *part)
{
    const struct module_tree *tree = &forecast->run->tree;
    uint32_t *units = find_units(tree, stack, part);
    char name[WHAT_IF_NAME_MAX];
    struct what_if *way;

    (void)snprintf(name, sizeof name, "checkpoint %s.*%s%s", tree->modules[stack].name,
                   part ? "." : "", part ? part : "");
    way = memory_what_if_add_way(ways, forecast, name,
                                 "their forward runs once more in the backward");
    if (way)
        memory_replay_checkpointed(&way->replay, forecast, units);
    free(units);
}

/* All of each module of the stack, and each part of the first one. Half of the places at most,
 * so that other ways have room behind a model with many parts. */
static void add_all_checkpointing(struct what_ifs *ways, const struct memory_forecast *forecast)
{
    const struct module_tree *tree = &forecast->run->tree;
    uint32_t stack = find_stack(tree);
    uint32_t first;

    if (stack == NO_MODULE)
        return;
    add_checkpointing(ways, forecast, stack, NULL);
    first = tree->modules[stack].first_child;
    for (uint32_t part = tree->modules[first].first_child;
         part != NO_MODULE && ways->count < WHAT_IF_MAX / 2;
         part = tree->modules[part].next_sibling)
        if (tree->modules[part].first_child != NO_MODULE)
            add_checkpointing(ways, forecast, stack, tree->modules[part].own_name);
}

/* Bytes of the parameters of the largest unit, which ZeRO-3 gathers; of all, where none repeats.
 * Gathering one unit at a time is what FSDP and ZeRO-3 do; what lies in no unit is gathered by
 * itself. */
static int64_t largest_unit(const struct memory_forecast *forecast)
{
    const struct memory_run *run = forecast->run;
    uint32_t stack = find_stack(&run->tree);
    uint32_t *units;
    int64_t *sums;
    int64_t largest = 0;

    if (stack == NO_MODULE)
        return bytes_of_kind(forecast, MEMORY_PARAMETER);
    units = find_units(&run->tree, stack, NULL);
    sums = require_memory(calloc(run->tree.count + (size_t)1, sizeof *sums));
    for (uint32_t i = 0; i < run->blocks.count; i++) {
        const struct memory_block *block = &run->blocks.blocks[i];
        uint32_t unit = block->module == NO_MODULE ? NO_MODULE : units[block->module];

        if (block->kind != MEMORY_PARAMETER || block->device != forecast->device)
            continue;
        if (unit == NO_MODULE) /* embedding, last layer: each by itself */
            unit = block->module == NO_MODULE ? run->tree.count : block->module;
        sums[unit] += block->bytes;
    }
    for (uint32_t i = 0; i <= run->tree.count; i++)
        if (sums[i] > largest)
            largest = sums[i];
    free(sums);
    free(units);
    return largest;
}

/* ---- the loss -------------------------------------------------------------------------------- */

/* By the begin of the name, so that variants and the backward of each are found, too. */
static bool is_loss_op(const char *name)
{
    static const char *const names[] = {"aten::_log_softmax", "aten::nll_loss", "aten::log_softmax",
                                        "aten::cross_entropy_loss"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (has_prefix(name, names[i]))
            return true;
    return false;
}

/* The logits, and what the loss makes of them; logits are what was allocated before the loss, as
 * large as its own result or half as large, and is still alive then. 0: no such loss seen.
 *
 * A fused loss never holds the logits whole. Which blocks these are no mark tells, so they are
 * found from what the loss op allocates, backwards: the nearest living block of the forward that
 * is as large, or half as large (logits in half precision, loss in float32). Where no such op is
 * seen, the way is not offered. */
static uint32_t mark_loss(const struct memory_forecast *forecast, bool *is_loss)
{
    const struct memory_run *run = forecast->run;
    uint32_t marked = 0;

    for (uint32_t i = forecast->first; i < forecast->last; i++) {
        const struct memory_change *change = &run->blocks.changes[i];
        const struct memory_block *block = &run->blocks.blocks[change->block];

        if (change->is_free || block->device != forecast->device ||
            forecast->growth[change->block] == GROWTH_FIXED ||
            !is_loss_op(memory_block_op(run, block)))
            continue;
        is_loss[change->block] = true;
        marked++;
        for (uint32_t b = change->block; block->phase == MEMORY_FORWARD && b-- > 0;) {
            const struct memory_block *logits = &run->blocks.blocks[b];

            /* Before this forward there are no logits of its own. */
            if (logits->phase != MEMORY_FORWARD || logits->start_ns == INT64_MIN)
                break;
            if ((logits->bytes == block->bytes || 2 * logits->bytes == block->bytes) &&
                memory_block_is_alive(logits, i) && !is_loss[b]) {
                is_loss[b] = true;
                break;
            }
        }
    }
    return marked;
}

/* Divided blocks live as long as before: pieces follow each other, and one is there all the
 * time. */
static void add_fused_loss(struct what_ifs *ways, const struct memory_forecast *forecast)
{
    const struct memory_blocks *blocks = &forecast->run->blocks;
    bool *is_loss = require_memory(calloc(blocks->count + (size_t)1, sizeof *is_loss));
    struct what_if *way =
        mark_loss(forecast, is_loss)
            ? memory_what_if_add_way(ways, forecast, "fused cross-entropy",
                                     "logits, loss and their gradients in 8 pieces, one at a time")
            : NULL;

    for (uint32_t i = 0; way && i < blocks->count; i++) {
        int64_t from;
        int64_t to;

        if (memory_forecast_life(forecast, &blocks->blocks[i], &from, &to))
            memory_replay_add(&way->replay, (enum memory_growth)forecast->growth[i],
                              blocks->blocks[i].bytes / (is_loss[i] ? LOSS_PIECES : 1), from, to);
    }
    free(is_loss);
}

/* ---- all ------------------------------------------------------------------------------------- */

static void add_shared(struct what_ifs *ways, const struct memory_forecast *forecast,
                       const struct what_if_options *options)
{
    static const struct {
        const char *name;
        struct block_share (*share_of)(const struct memory_block *block, int64_t ranks);
        const char *assumes;
        bool gathers; /* the parameters of one unit, for its forward and backward */
    } shared[] = {
        {"ZeRO-1", share_zero_1, "optimizer state split evenly", false},
        {"ZeRO-2", share_zero_2, "optimizer state and gradients split evenly", false},
        {"ZeRO-3", share_zero_3, "all split evenly; the largest unit is gathered", true},
    };
    char name[WHAT_IF_NAME_MAX];
    struct what_if *way;

    for (size_t i = 0; i < sizeof shared / sizeof *shared; i++) {
        (void)snprintf(name, sizeof name, "%s over %lld ranks", shared[i].name,
                       (long long)options->ranks);
        way = memory_what_if_add_way(ways, forecast, name, shared[i].assumes);
        if (!way)
            return;
        fill_shares(&way->replay, forecast, shared[i].share_of, options->ranks);
        if (shared[i].gathers)
            memory_replay_add(&way->replay, GROWTH_FIXED, largest_unit(forecast), 0, INT64_MAX);
    }
    way = memory_what_if_add_way(ways, forecast, "optimizer offload",
                                 "its state and its work are on the host");
    if (way)
        fill_shares(&way->replay, forecast, share_offload, options->ranks);
}

/* "As recorded" is the first, so that the others have something to be compared with, made by
 * the same replay. */
void find_what_ifs(struct what_ifs *ways, const struct memory_forecast *forecast,
                   const struct what_if_options *options)
{
    struct what_if *way = memory_what_if_add_way(ways, forecast, "as recorded", NULL);

    memory_replay_fill(&way->replay, forecast);
    add_all_checkpointing(ways, forecast);
    add_shared(ways, forecast, options);
    if (options->is_float32)
        way = memory_what_if_add_way(
            ways, forecast, "bf16",
            "all but the optimizer's state, which keeps float32 parameters, too");
    if (options->is_float32 && way) {
        fill_shares(&way->replay, forecast, share_bf16, options->ranks);
        memory_replay_add(&way->replay, GROWTH_FIXED, bytes_of_kind(forecast, MEMORY_PARAMETER), 0,
                          INT64_MAX);
    }
    add_fused_loss(ways, forecast);
}

void what_ifs_clear(struct what_ifs *ways)
{
    if (!ways)
        return;
    for (int i = 0; i < ways->count; i++)
        memory_replay_clear(&ways->ways[i].replay);
    ways->count = 0;
}
