/* Finds the steps of inference servers by the names of their ranges. */
#include "cost/modules/op_surroundings.h"

#include "base/core/array.h"
#include "base/core/large_array.h"

#include <stdlib.h>

/* The experts of one device, where all layers with experts have the same. */
static bool find_experts(struct expert_sizes *sizes, const struct architecture *architecture)
{
    const struct layer_kind *found = NULL;

    for (int i = 0; architecture && i < architecture->kind_count; i++) {
        const struct layer_kind *kind = &architecture->kinds[i];

        if (kind->experts == 0)
            continue;
        if (found && (found->experts != kind->experts ||
                      found->experts_per_token != kind->experts_per_token ||
                      found->expert_matrix != kind->expert_matrix))
            return false;
        found = kind;
    }
    if (!found || !architecture->storage.is_known)
        return false;
    *sizes = (struct expert_sizes){
        .hidden = architecture->hidden_size,
        .experts = found->experts,
        .chosen = found->experts_per_token,
        .weights = found->expert_matrix,
        .bytes = (double)found->expert_matrix * architecture->storage.parts[STORED_EXPERTS].bytes +
                 (double)found->expert_other * architecture->storage.plain_bytes,
    };
    return true;
}

/* Where no layer has a window there is nothing to tell apart, and no windows are returned. */
static struct attention_windows windows_of_layers(const struct architecture *architecture)
{
    struct attention_windows windows = {0};
    bool has_window = false;

    for (int i = 0; architecture && i < architecture->kind_count && i < WINDOW_KINDS_MAX; i++) {
        const struct layer_kind *kind = &architecture->kinds[i];

        if (kind->heads == 0)
            continue;
        windows.layers[windows.count] = kind->count;
        windows.windows[windows.count++] = kind->window;
        has_window = has_window || kind->window > 0;
    }
    return has_window ? windows : (struct attention_windows){0};
}

static bool has_sums(struct serving_range *range, const struct trace *trace, uint32_t event)
{
    return trace->host[event].kind == EVENT_ANNOTATION &&
           serving_range_parse(range, trace_text(trace, trace->host[event].name)) &&
           range->has_sums;
}

/* Memory per host event only for traces of servers, which are few. Step 0 is "none", so a
 * zeroed array is right. */
static void add_serving_step(struct op_surroundings *around, const struct trace *trace,
                             uint32_t event, const struct serving_range *range)
{
    if (!around->step_of) {
        around->step_of = large_array_new(trace->host_count * sizeof *around->step_of);
        around->step_count = 1;
    }
    ARRAY_RESERVE(around->steps, around->step_capacity, around->step_count + 1);
    around->steps[around->step_count] = *range;
    around->step_of[event] = around->step_count++;
}

void find_op_surroundings(struct op_surroundings *around, const struct trace *trace,
                          const uint32_t *parents, const struct architecture *architecture)
{
    struct serving_range range;

    /* a device of several has a share of each expert, or some of them: which is not known */
    around->has_experts =
        trace->facts.world_size <= 1 && find_experts(&around->experts, architecture);
    around->windows = windows_of_layers(architecture);
    for (uint32_t i = 0; i < trace->host_count; i++) {
        if (has_sums(&range, trace, i))
            add_serving_step(around, trace, i, &range);
        else if (around->step_of && parents[i] != NO_EVENT)
            around->step_of[i] = around->step_of[parents[i]];
    }
}

uint32_t serving_step_of(const struct op_surroundings *around, uint32_t op)
{
    return around->step_of ? around->step_of[op] : NO_SERVING_STEP;
}

struct call_surroundings surroundings_in(const struct op_surroundings *around, uint32_t step)
{
    return (struct call_surroundings){
        .step = step == NO_SERVING_STEP ? NULL : &around->steps[step],
        .experts = around->has_experts ? &around->experts : NULL,
        .windows = around->windows.count ? &around->windows : NULL,
    };
}

void op_surroundings_clear(struct op_surroundings *around)
{
    free(around->steps);
    large_array_free(around->step_of);
    *around = (struct op_surroundings){0};
}
