/* The memory of a recorded run by module, by block, and what of it grows from step to step. */
#include "base/core/hash_map.h"
#include "base/core/invariant.h"
#include "sections/memory/memory_sections.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- modules --------------------------------------------------------------------------------- */

/* Bytes of one module, and of those in it. */
struct module_bytes {
    int64_t kinds[MEMORY_KIND_COUNT]; /* at the peak */
    int64_t total;                    /* at the peak */
    int64_t activations;              /* at the end of the forward with the most of them */
};

/* The change counts of all ends of forwards; the one where most activations are alive. Of
 * several micro-batches the one at whose end most is kept: that is what the backward must have. */
static uint32_t fullest_forward_end(const struct memory_view *view)
{
    const struct memory_run *run = view->run;
    uint32_t best = NO_CHANGE;
    int64_t most = -1;

    for (uint32_t i = 0; i < run->blocks.moment_count; i++) {
        const struct memory_moment *moment = &run->blocks.moments[i];
        int64_t bytes;

        if (run->side->marks[moment->mark].point != POINT_FORWARD_END)
            continue;
        bytes = memory_alive(run, view->device, moment->change_count).bytes[MEMORY_ACTIVATION];
        if (bytes > most) {
            most = bytes;
            best = moment->change_count;
        }
    }
    return best;
}

static void memory_tables_add_up(struct module_bytes *to, const struct module_bytes *from)
{
    for (int kind = 0; kind < MEMORY_KIND_COUNT; kind++)
        to->kinds[kind] += from->kinds[kind];
    to->total += from->total;
    to->activations += from->activations;
}

/* [tree.count + 2]: behind the modules the loss, and what else is outside of modules; free() it.
 * Children before their parents, so each sum is whole when it goes up. */
static struct module_bytes *memory_tables_sum_modules(const struct memory_view *view,
                                                      uint32_t peak_changes,
                                                      uint32_t forward_changes)
{
    const struct memory_run *run = view->run;
    uint32_t count = run->tree.count;
    struct module_bytes *sums = require_memory(calloc(count + (size_t)2, sizeof *sums));

    for (uint32_t i = 0; i < run->blocks.count; i++) {
        const struct memory_block *block = &run->blocks.blocks[i];
        uint32_t place = memory_block_is_of_loss(block) ? count : count + 1;
        struct module_bytes *sum = &sums[block->module == NO_MODULE ? place : block->module];

        if (block->device != view->device)
            continue;
        if (memory_block_is_alive(block, peak_changes)) {
            sum->kinds[block->kind] += block->bytes;
            sum->total += block->bytes;
        }
        if (block->kind == MEMORY_ACTIVATION && forward_changes != NO_CHANGE &&
            memory_block_is_alive(block, forward_changes))
            sum->activations += block->bytes;
    }
    for (uint32_t i = count; i-- > 0;) { /* children before their parents */
        uint32_t module = run->tree.order[i];

        if (run->tree.modules[module].parent != NO_MODULE)
            memory_tables_add_up(&sums[run->tree.modules[module].parent], &sums[module]);
    }
    return sums;
}

#define MODULES_COLUMNS(COLUMN)                                                                 \
    COLUMN("module", "module", UNIT_TEXT, 0, BAR_NONE, value_text(results_text(results, name))) \
    COLUMN("peak", "at the peak", UNIT_BYTES, 0, BAR_NONE, value_bytes(sum->total))             \
    COLUMN("parameters", "parameters, buffers", UNIT_BYTES, 3, BAR_NONE,                        \
           value_bytes(sum->kinds[MEMORY_PARAMETER] + sum->kinds[MEMORY_BUFFER]))               \
    COLUMN("gradients", "gradients", UNIT_BYTES, 3, BAR_NONE,                                   \
           value_bytes(sum->kinds[MEMORY_GRADIENT]))                                            \
    COLUMN("optimizer_state", "optimizer state", UNIT_BYTES, 3, BAR_NONE,                       \
           value_bytes(sum->kinds[MEMORY_OPTIMIZER_STATE]))                                     \
    COLUMN("activations", "activations", UNIT_BYTES, 1, BAR_NONE,                               \
           value_bytes(sum->kinds[MEMORY_ACTIVATION]))                                          \
    COLUMN("temporaries", "temporaries", UNIT_BYTES, 2, BAR_NONE,                               \
           value_bytes(sum->kinds[MEMORY_TEMPORARY]))                                           \
    COLUMN("forward_end", "activations, forward end", UNIT_BYTES, 0, BAR_NONE,                  \
           value_bytes(sum->activations))

static void memory_tables_add_module_row(struct results *results, struct table *table,
                                         const char *name, int depth,
                                         const struct module_bytes *sum)
{
    FILL_ROW(table_add_row(results, table, depth), MODULES_COLUMNS);
}

/* Activations are taken where a forward ends, the moment at which all that the backward needs
 * is alive; the peak may come before or after. Two sums stand behind those of the modules: of
 * the loss, and of what is in no module. */
struct section *describe_memory_modules(struct results *results, const struct memory_view *view)
{
    const struct memory_run *run = view->run;
    struct module_bytes *sums = memory_tables_sum_modules(view, memory_view_peak(view).change_count,
                                                          fullest_forward_end(view));
    struct section *section = section_new(
        results, "memory_modules", "Memory by module",
        "Of each module with those in it: what is alive at the peak, and the activations that its "
        "forward keeps for the backward.");
    struct table *table =
        section_add_table(results, section, "modules", "Modules", COLUMNS_OF(MODULES_COLUMNS));
    uint32_t rows = 0;
    uint32_t deep = 0;

    for (uint32_t i = 0; i < run->tree.count; i++) {
        const struct module *module = &run->tree.modules[run->tree.order[i]];
        const struct module_bytes *sum = &sums[run->tree.order[i]];

        /* Containers without tensors of their own or below would only lengthen the table. */
        if (sum->total == 0 && sum->activations == 0)
            continue;
        if (module->depth > view->depth) {
            deep++;
            continue;
        }
        rows++;
        memory_tables_add_module_row(results, table, module->name, (int)module->depth, sum);
    }
    /* Not cut by depth: they are the rest, without which the column does not add up. */
    for (uint32_t i = run->tree.count; i < run->tree.count + 2; i++)
        if (sums[i].total || sums[i].activations)
            memory_tables_add_module_row(results, table,
                                         i == run->tree.count ? "(loss)" : memory_module_label(""),
                                         0, &sums[i]);
    if (deep > 0)
        table->note =
            results_format(results, "%u deeper ones are left out: --depth shows them.", deep);
    free(sums);
    add_memory_composition(results, section, view);
    return section;
}

/* ---- blocks ---------------------------------------------------------------------------------- */

/* Equal ones in the order of allocation. */
static int compare_blocks(const void *a, const void *b)
{
    const struct memory_block *const *left = a;
    const struct memory_block *const *right = b;

    if ((*left)->bytes != (*right)->bytes)
        return (*left)->bytes > (*right)->bytes ? -1 : 1;
    return (*left)->start < (*right)->start ? -1 : (*left)->start > (*right)->start;
}

/* A tensor's own name says most; the operator that allocated is next; a block from before the
 * recording has neither. */
static const char *what_is(struct results *results, const struct memory_run *run,
                           const struct memory_block *block)
{
    const char *op;

    if (block->tensor != NO_TENSOR)
        return results_text(results, run->side->tensors[block->tensor].name);
    op = memory_block_op(run, block);
    return *op                            ? results_text(results, op)
           : block->start_ns == INT64_MIN ? "(not told)"
                                          : "(no op)";
}

#define BLOCKS_COLUMNS(COLUMN)                                                            \
    COLUMN("what", "tensor, or op that made it", UNIT_TEXT, 0, BAR_NONE,                  \
           value_text(what_is(results, run, origin->example)))                            \
    COLUMN("bytes", "bytes", UNIT_BYTES, 0, BAR_NONE,                                     \
           value_text(results_text(                                                       \
               results, memory_module_label(memory_block_module(run, origin->example))))) \
    COLUMN("kind", "kind", UNIT_TEXT, 1, BAR_NONE,                                        \
           value_text(memory_kind_title((enum memory_kind)origin->example->kind)))        \
    COLUMN("module", "module", UNIT_TEXT, 0, BAR_NONE, value_bytes(origin->bytes))        \
    COLUMN("phase", "allocated in", UNIT_TEXT, 2, BAR_NONE, value_count(origin->blocks))  \
    COLUMN("age", "age at the peak", UNIT_TIME_NS, 3, BAR_NONE, value_count(origin->steps))

#define GROWTH_COLUMNS(COLUMN)                                                                   \
    COLUMN("what", "tensor, or op that made it", UNIT_TEXT, 0, BAR_NONE,                         \
           value_text(what_is(results, run, block)))                                             \
    COLUMN("module", "module", UNIT_TEXT, 0, BAR_NONE, value_bytes(block->bytes))                \
    COLUMN("kind", "kind", UNIT_TEXT, 2, BAR_NONE,                                               \
           value_text(memory_kind_title((enum memory_kind)block->kind)))                         \
    COLUMN(                                                                                      \
        "bytes", "left behind", UNIT_BYTES, 0, BAR_NONE,                                         \
        value_text(results_text(results, memory_module_label(memory_block_module(run, block))))) \
    COLUMN("blocks", "blocks", UNIT_COUNT, 1, BAR_NONE,                                          \
           value_text(is_old ? "before" : memory_phase_title((enum memory_phase)block->phase)))  \
    COLUMN("steps", "steps", UNIT_COUNT, 1, BAR_NONE,                                            \
           !is_old ? value_time_ns(peak_ns - block->start_ns) : value_none())

/* "At the peak" is a number of changes, not a time: two changes may have the same time stamp,
 * and only their order says which blocks were alive. A block from before the recording has no
 * age. */
struct section *describe_memory_blocks(struct results *results, const struct memory_view *view)
{
    const struct memory_run *run = view->run;
    struct memory_peak peak = memory_view_peak(view);
    const struct memory_block **alive =
        require_memory(calloc(run->blocks.count + (size_t)1, sizeof *alive));
    struct section *section =
        section_new(results, "memory_blocks", "Largest blocks at the peak", NULL);
    struct table *table =
        section_add_table(results, section, "blocks", "Blocks", COLUMNS_OF(BLOCKS_COLUMNS));
    int64_t peak_ns = peak.change_count ? run->blocks.changes[peak.change_count - 1].time_ns : 0;
    uint32_t count = 0;

    for (uint32_t i = 0; i < run->blocks.count; i++)
        if (run->blocks.blocks[i].device == view->device &&
            memory_block_is_alive(&run->blocks.blocks[i], peak.change_count))
            alive[count++] = &run->blocks.blocks[i];
    /* All are sorted, then cut: which are the largest is not known before. */
    qsort(alive, count, sizeof *alive, compare_blocks);
    table->rows_in_all = count;
    for (uint32_t i = 0; i < count && i < view->top; i++) {
        const struct memory_block *block = alive[i];
        bool is_old = block->start_ns == INT64_MIN;

        FILL_ROW(table_add_row(results, table, 0), GROWTH_COLUMNS);
    }
    free(alive);
    return section;
}

/* ---- growth ---------------------------------------------------------------------------------- */

/* Blocks of equal origin that a step leaves behind. */
struct origin {
    const struct memory_block *example;
    int64_t bytes;
    int64_t blocks;
    uint32_t last_step; /* the latest that left one behind */
    uint32_t steps;     /* how many did */
};

struct origins {
    struct origin *origins; /* [count] */
    uint32_t count;
    struct hash_map places;
};

/* A tensor by its name, else an op in a module. A name stays the same from step to step, an
 * address does not. */
static uint64_t origin_key(const struct memory_run *run, const struct memory_block *block)
{
    if (block->tensor != NO_TENSOR)
        return pair_key(0xffffffff, block->tensor);
    return pair_key(block->module,
                    block->event == NO_EVENT ? 0 : run->trace->host[block->event].name + 1);
}

/* Steps come in order, so that a change of the step is enough to count them. */
static void add_origin(struct origins *origins, const struct memory_run *run,
                       const struct memory_block *block, uint32_t step)
{
    uint32_t place = hash_map_add(&origins->places, origin_key(run, block), origins->count);
    struct origin *origin = &origins->origins[place];

    if (place == origins->count)
        origins->origins[origins->count++] =
            (struct origin){.example = block, .last_step = NO_EVENT};
    origin->bytes += block->bytes;
    origin->blocks++;
    if (origin->last_step != step)
        origin->steps++;
    origin->last_step = step;
}

/* Blocks that are allocated in one of the steps but the last, and alive when the last one ends.
 * The last step is left out: what it allocated may still be freed by the next one. */
static void find_origins(struct origins *origins, const struct memory_view *view)
{
    const struct memory_run *run = view->run;
    const struct memory_step *last = &run->steps[run->step_count - 1];

    origins->origins =
        require_memory(calloc(run->blocks.count + (size_t)1, sizeof *origins->origins));
    for (uint32_t i = 0; i < run->blocks.count; i++) {
        const struct memory_block *block = &run->blocks.blocks[i];
        uint32_t step = memory_step_of(run, block->start);

        if (block->device != view->device || block->start_ns == INT64_MIN || step == NO_EVENT ||
            step + 1 >= run->step_count || !memory_block_is_alive(block, last->last_change))
            continue;
        add_origin(origins, run, block, step);
    }
}

static int compare_origins(const void *a, const void *b)
{
    const struct origin *left = a;
    const struct origin *right = b;

    if (left->bytes != right->bytes)
        return left->bytes > right->bytes ? -1 : 1;
    return left->example->start < right->example->start ? -1 : 1;
}

static void add_origin_row(struct results *results, const struct memory_run *run,
                           struct table *table, const struct origin *origin)
{
    FILL_ROW(table_add_row(results, table, 0), BLOCKS_COLUMNS);
}

/* The last step's own blocks are left out: whether they outlive it is not recorded. */
static void add_growth_table(struct results *results, struct section *section,
                             const struct memory_view *view)
{
    struct origins origins = {0};
    struct table *table;

    find_origins(&origins, view);
    if (origins.count > 0) {
        qsort(origins.origins, origins.count, sizeof *origins.origins, compare_origins);
        table =
            section_add_table(results, section, "growth", "Memory growth per step (possible leak)",
                              COLUMNS_OF(GROWTH_COLUMNS));
        table->note = "Allocated in a step but the last, and alive when the last one ends.";
        table->rows_in_all = origins.count;
        for (uint32_t i = 0; i < origins.count && i < view->top; i++)
            add_origin_row(results, view->run, table, &origins.origins[i]);
    }
    hash_map_clear(&origins.places);
    free(origins.origins);
}

/* From end to end, so that what lives within a step alone does not count. */
struct section *describe_memory_growth(struct results *results, const struct memory_view *view)
{
    const struct memory_run *run = view->run;
    struct section *section = section_new(results, "memory_growth", "Growth from step to step",
                                          "What is alive at the end of a step and was not at the "
                                          "end of the one before.");
    struct number number = {.key = "growth_per_step", .title = "growth per step"};

    if (run->step_count < 2) {
        number.value = value_not_known("needs two recorded steps: 'flopledger run --steps 4-8'");
    } else {
        const struct memory_step *first = &run->steps[0];
        const struct memory_step *last = &run->steps[run->step_count - 1];
        int64_t bytes = memory_alive(run, view->device, last->last_change).total -
                        memory_alive(run, view->device, first->last_change).total;

        number.value = value_bytes(bytes / (run->step_count - 1));
        number.note = "from the end of the first to the end of the last, on average";
    }
    section_add_number(results, section, number);
    if (run->step_count >= 2)
        add_growth_table(results, section, view);
    return section;
}
