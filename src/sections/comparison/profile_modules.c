/* Time of each module in each step: on the device, or where there is none on the host. */
#include "base/core/invariant.h"
#include "base/core/large_array.h"
#include "cost/flops/saturating.h"
#include "cost/modules/host_nesting.h"
#include "ledger/step_finder.h"
#include "sections/comparison/profile_trace.h"

#include <stdlib.h>

struct module_walk {
    struct run_profile *profile;
    const struct profile_source *source;
    const uint32_t *rows;
    struct step_finder finder;
    uint32_t *measure_of; /* [tree.count]: index in profile->measures + 1 */
};

static struct measure *measure_of_module(struct module_walk *walk, uint32_t module)
{
    return &walk->profile->measures[walk->measure_of[module] - 1];
}

/* To the module alone; it and those that it is in get a measure. `step`: where the time lies, or
 * NO_STEP. Measures move when one is added, so their places are kept, not pointers. */
static void profile_modules_add_time(struct module_walk *walk, uint32_t module, uint32_t step,
                                     int64_t time_ns)
{
    const struct module_tree *tree = &walk->source->costs->tree;
    int64_t *value;

    if (module == NO_MODULE || step == NO_STEP || walk->rows[step] == NO_STEP)
        return;
    for (uint32_t above = module; above != NO_MODULE && walk->measure_of[above] == 0;
         above = tree->modules[above].parent)
        walk->measure_of[above] = 1 + (uint32_t)(profile_measure(walk->profile, MEASURE_MODULE,
                                                                 tree->modules[above].name, "") -
                                                 walk->profile->measures);
    value = &measure_of_module(walk, module)->values[walk->rows[step]];
    *value = plus(*value, time_ns);
}

/* Each module's time to the one that it is in: the innermost first. Innermost first, so each
 * module's sum is whole when it goes to the one around it: one pass. */
static void add_time_of_children(struct module_walk *walk)
{
    const struct module_tree *tree = &walk->source->costs->tree;

    for (uint32_t i = tree->count; i-- > 0;) {
        uint32_t module = tree->order[i], parent = tree->modules[module].parent;
        const int64_t *from;
        int64_t *to;

        if (walk->measure_of[module] == 0 || parent == NO_MODULE)
            continue;
        from = measure_of_module(walk, module)->values;
        to = measure_of_module(walk, parent)->values;
        for (uint32_t row = 0; row < walk->profile->step_count; row++)
            to[row] = plus(to[row], from[row]);
    }
}

/* Device time goes to the module of the host event that launched it, and to the step in which
 * it ran. */
static void profile_modules_add_device_time(struct module_walk *walk)
{
    const struct trace *trace = walk->source->trace;

    for (uint32_t i = 0; i < trace->device_count; i++) {
        const struct event *event = &trace->device[i];
        uint32_t from = trace_origin_of(trace, i);

        if (from != NO_EVENT && trace->tracks[event->track].device == walk->source->ledger->device)
            profile_modules_add_time(walk, walk->source->costs->contexts.modules[from],
                                     step_finder_at(&walk->finder, event->start_ns),
                                     event->duration_ns);
    }
}

static void add_host_time(struct module_walk *walk)
{
    const struct trace *trace = walk->source->trace;
    int64_t *own_ns = measure_own_times(trace, walk->source->costs->contexts.parents);

    for (uint32_t i = 0; i < trace->host_count; i++)
        profile_modules_add_time(walk, walk->source->costs->contexts.modules[i],
                                 step_finder_of_host(&walk->finder, trace->host[i].start_ns),
                                 own_ns[i]);
    large_array_free(own_ns);
}

/* Own times first, then children are added to parents: each moment is added once per level
 * however deep the tree is. A CPU alone has no device time; there a module's time is that of
 * the host. */
void profile_modules(struct run_profile *profile, const struct profile_source *source,
                     const uint32_t *row_of_step)
{
    struct module_walk walk = {.profile = profile,
                               .source = source,
                               .rows = row_of_step,
                               .finder = {.ledger = source->ledger}};
    uint32_t count = source->costs->tree.count;

    if (count == 0)
        return;
    walk.measure_of = require_memory(calloc(count, sizeof *walk.measure_of));
    if (source->ledger->is_cpu_only)
        add_host_time(&walk);
    else
        profile_modules_add_device_time(&walk);
    add_time_of_children(&walk);
    free(walk.measure_of);
}
