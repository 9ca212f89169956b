/* Puts the memory of a run together, and asks it for peaks and sums. */
#include "base/core/hash_map.h"
#include "base/core/invariant.h"
#include "base/core/search.h"
#include "base/text/prefix.h"
#include "cost/modules/host_nesting.h"
#include "memory/memory_attribution.h"
#include "memory/memory_run.h"

#include <stdlib.h>
#include <string.h>

static const char *const kind_titles[MEMORY_KIND_COUNT] = {
    "parameters", "buffers",     "gradients",   "optimizer state",
    "inputs",     "activations", "temporaries", "other",
};
static const char *const kind_keys[MEMORY_KIND_COUNT] = {
    "parameters", "buffers",     "gradients",   "optimizer_state",
    "inputs",     "activations", "temporaries", "other",
};
static const char *const phase_titles[MEMORY_PHASE_COUNT] = {"outside", "forward", "backward",
                                                             "recompute", "optimizer"};

const char *memory_kind_title(enum memory_kind kind)
{
    return kind_titles[kind];
}

const char *memory_kind_key(enum memory_kind kind)
{
    return kind_keys[kind];
}

const char *memory_phase_title(enum memory_phase phase)
{
    return phase_titles[phase];
}

/* ---- building -------------------------------------------------------------------------------- */

/* Number of changes before `time_ns`. */
static uint32_t changes_before(const struct memory_run *run, int64_t time_ns)
{
    return LOWER_BOUND(i, 0, run->blocks.change_count, run->blocks.changes[i].time_ns < time_ns);
}

static void copy_steps(struct memory_run *run, const struct memory_step *steps, uint32_t count)
{
    run->steps = require_memory(calloc(count + (size_t)1, sizeof *run->steps));
    run->step_count = count;
    for (uint32_t i = 0; i < count; i++) {
        run->steps[i] = steps[i];
        run->steps[i].first_change = changes_before(run, steps[i].start_ns);
        run->steps[i].last_change = changes_before(run, steps[i].end_ns);
    }
}

void memory_run_build(struct memory_run *run, const struct memory_sources *sources)
{
    uint32_t *parents = find_host_parents(sources->trace);

    run->trace = sources->trace;
    run->side = sources->side;
    module_tree_build(&run->tree, run->trace, parents, sources->description);
    find_host_contexts(&run->contexts, run->trace, &run->tree, parents);
    memory_blocks_find(&run->blocks, run->trace, run->side);
    copy_steps(run, sources->steps, sources->step_count);
    memory_attribute(run);
}

void memory_run_clear(struct memory_run *run)
{
    if (!run)
        return;
    memory_blocks_clear(&run->blocks);
    module_tree_clear(&run->tree);
    host_contexts_clear(&run->contexts);
    free(run->steps);
    *run = (struct memory_run){0};
}

/* ---- asking ---------------------------------------------------------------------------------- */

struct memory_peak memory_peak_between(const struct memory_run *run, int32_t device, uint32_t first,
                                       uint32_t last)
{
    struct memory_peak peak = {.bytes = -1, .block = NO_VALUE};
    int64_t bytes = 0;

    for (uint32_t i = 0; i < last; i++) {
        const struct memory_change *change = &run->blocks.changes[i];
        const struct memory_block *block = &run->blocks.blocks[change->block];

        if (i == first) /* what was alive before counts, too */
            peak = (struct memory_peak){bytes, i, NO_VALUE};
        if (block->device != device)
            continue;
        bytes += change->is_free ? -block->bytes : block->bytes;
        if (i >= first && bytes > peak.bytes)
            peak = (struct memory_peak){bytes, i + 1, change->block};
    }
    if (first >= last)
        peak = (struct memory_peak){bytes, last, NO_VALUE};
    return peak;
}

struct memory_sums memory_alive(const struct memory_run *run, int32_t device, uint32_t change_count)
{
    struct memory_sums sums = {.total = 0};

    for (uint32_t i = 0; i < run->blocks.count; i++) {
        const struct memory_block *block = &run->blocks.blocks[i];

        if (block->device != device || !memory_block_is_alive(block, change_count))
            continue;
        sums.bytes[block->kind] += block->bytes;
        sums.total += block->bytes;
    }
    return sums;
}

int32_t memory_main_device(const struct memory_run *run)
{
    int32_t best = HOST_MEMORY;
    int64_t most = -1;
    struct hash_map seen = {0};

    for (uint32_t i = 0; i < run->blocks.count; i++) {
        int32_t device = run->blocks.blocks[i].device;
        size_t known = seen.count;
        int64_t bytes;

        if (device == HOST_MEMORY)
            continue;
        (void)hash_map_add(&seen, (uint64_t)device, 1);
        if (seen.count == known)
            continue;
        bytes = memory_peak_between(run, device, 0, run->blocks.change_count).bytes;
        if (bytes > most) {
            most = bytes;
            best = device;
        }
    }
    hash_map_clear(&seen);
    return best;
}

/* Ops that only hand out memory: who called them is of interest. */
static bool is_allocating_op(const char *name)
{
    static const char *const names[] = {"aten::empty", "aten::new_empty", "aten::resize_",
                                        "aten::_to_copy", "aten::set_"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (has_prefix(name, names[i]))
            return true;
    return false;
}

const char *memory_block_op(const struct memory_run *run, const struct memory_block *block)
{
    uint32_t event = block->event;

    while (event != NO_EVENT) {
        const char *name = trace_text(run->trace, run->trace->host[event].name);
        uint32_t parent = run->contexts.parents[event];

        if (run->trace->host[event].kind != EVENT_OPERATOR ||
            is_module_mark(run->trace, &run->trace->host[event]))
            return "";
        if (!is_allocating_op(name) || parent == NO_EVENT ||
            run->trace->host[parent].kind != EVENT_OPERATOR ||
            is_module_mark(run->trace, &run->trace->host[parent]))
            return name;
        event = parent;
    }
    return "";
}

bool memory_block_is_of_loss(const struct memory_block *block)
{
    return block->module == NO_MODULE && block->tensor == NO_TENSOR &&
           block->phase == MEMORY_FORWARD;
}

const char *memory_block_module(const struct memory_run *run, const struct memory_block *block)
{
    if (block->module != NO_MODULE)
        return run->tree.modules[block->module].name;
    if (memory_block_is_of_loss(block))
        return "(loss)";
    return block->tensor == NO_TENSOR ? "" : run->side->tensors[block->tensor].module;
}
