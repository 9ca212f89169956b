/* Whether a plan is of what was recorded: a comparison of two models, layouts or devices would look
 * like one of plan and run, and tell causes that there are not. */
#include "cost/flops/op_call.h"
#include "sections/model/plan_sections.h"
#include "sections/model/trained_batch.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* A table that an embedding looks up. */
struct looked_up {
    int64_t rows;
    int64_t columns;
};

/* Tables with fewer rows may be of positions. */
enum { WORDS_LEAST = 16384 };

/* Of the largest table of words: layers may have tables of their own, beside. False: none was
 * recorded, or one of them fits the plan's width, whole or cut by tensor parallelism. */
static bool find_strange_table(struct looked_up *table, const struct planned_step *plan,
                               const struct analysis_input *input)
{
    const struct trace *trace = input->trace;
    struct op_call call = {.name = NULL};
    bool is_strange = true;

    for (uint32_t i = 0; i < trace->host_count && is_strange; i++) {
        if (!embedding_call_parse(&call, trace, i) || rank_of(&call, 0) != 2)
            continue;
        is_strange = size_of(&call, 0, 1) != plan->hidden &&
                     size_of(&call, 0, 1) * plan->tensor != plan->hidden;
        if (size_of(&call, 0, 0) > table->rows)
            *table = (struct looked_up){size_of(&call, 0, 0), size_of(&call, 0, 1)};
    }
    op_call_clear(&call);
    return is_strange && table->rows >= WORDS_LEAST;
}

/* By depth and width: vocabularies are padded. Where the run does not tell its layers, they show in
 * its FLOPs. A stage of a pipeline without an embedding tells nothing. */
static bool plan_is_of_model(const struct planned_step *plan, const struct analysis_input *input,
                             struct error *error)
{
    struct looked_up table = {0, 0};

    const struct architecture *ran = input->description ? input->description->architecture : NULL;

    if (ran && plan->layers > 0 && ran->layers != plan->layers)
        return error_set(error, ERROR_USAGE,
                         "the plan is of another model: it has %lld layers, that of the run %lld: "
                         "plan with the config.json of what ran",
                         (long long)plan->layers, (long long)ran->layers);
    return plan->hidden == 0 || !find_strange_table(&table, plan, input) ||
           error_set(error, ERROR_USAGE,
                     "the plan is of another model: its embedding has %lld columns, that of the "
                     "run %lld (of %lld rows): plan with the config.json of what ran",
                     (long long)plan->hidden, (long long)table.columns, (long long)table.rows);
}

/* Names that PyTorch's device meshes and Megatron-Core give to groups of one axis. */
static bool group_is_of(const char *name, const char *axis, const char *title)
{
    char mesh[16];
    char megatron[48];

    (void)snprintf(mesh, sizeof mesh, "mesh_%s", axis);
    (void)snprintf(megatron, sizeof megatron, "%s_parallel_group", title);
    return strcasecmp(name, mesh) == 0 || strcasecmp(name, axis) == 0 ||
           strcasecmp(name, megatron) == 0;
}

/* By the sizes of groups whose names say what they are of. */
static bool groups_are_planned(const struct planned_step *plan, const struct trace *trace,
                               struct error *error)
{
    const struct {
        const char *axis;
        const char *title;
        int64_t size;
    } axes[] = {{"tp", "tensor_model", plan->tensor},
                {"pp", "pipeline_model", plan->stages},
                {"cp", "context", plan->context},
                {"dp", "data", plan->replicas}};

    for (uint32_t i = 1; i < trace->detail_count; i++) {
        const struct event_detail *detail = &trace->details[i];

        for (size_t k = 0; detail->group_size > 0 && k < sizeof axes / sizeof *axes; k++)
            if (group_is_of(trace_text(trace, detail->group_name), axes[k].axis, axes[k].title) &&
                detail->group_size != axes[k].size)
                return error_set(error, ERROR_USAGE,
                                 "the plan is of another layout: %.*s parallel size %lld, and %lld "
                                 "of the run, by its group '%s': plan with --%s %lld",
                                 (int)strcspn(axes[k].title, "_"), axes[k].title,
                                 (long long)axes[k].size, (long long)detail->group_size,
                                 trace_text(trace, detail->group_name), axes[k].axis,
                                 (long long)detail->group_size);
    }
    return true;
}

/* The number of ranks is in nearly all traces, that of an axis only where its group is named. A
 * plan from a recording tells neither. */
static bool plan_is_of_layout(const struct planned_step *plan, const struct trace *trace,
                              struct error *error)
{
    int64_t planned = plan->stages * plan->ranks_of_stage;
    int64_t ran = trace->facts.world_size;

    if (planned == 0)
        return true;
    if (ran > 0 && ran != planned)
        return error_set(error, ERROR_USAGE,
                         "the plan is of %lld device%s, the run of %lld: plan with --devices %lld, "
                         "and the layout of the run",
                         (long long)planned, planned == 1 ? "" : "s", (long long)ran,
                         (long long)ran);
    return groups_are_planned(plan, trace, error);
}

/* A name that may be several boards' refutes nothing; nor does a processor a plan from a
 * recording. */
static bool plan_is_of_device(const struct planned_step *plan, const struct analysis_input *input,
                              struct error *error)
{
    const struct device_peak *device = input->efficiency->peaks.device;

    if (device && device->memory_bytes_per_second > 0.0 && plan->device[0] != '\0' &&
        strcmp(device->name, plan->device) != 0)
        return error_set(error, ERROR_USAGE,
                         "the plan is of %s, the run of %s: plan with --device \"%s\"",
                         plan->device, device->name, device->name);
    if (!plan->is_from_run && input->trace->device_count == 0)
        return error_set(error, ERROR_USAGE,
                         "the plan is of %s, and the run has no work on a device: record one that "
                         "has, or plan with --from TRACE",
                         plan->device);
    return true;
}

/* The coarsest difference first: who named the wrong device does not care for the sizes of groups.
 */
bool plan_fits_run(const struct planned_step *plan, const struct analysis_input *input,
                   struct error *error)
{
    return plan_is_of_device(plan, input, error) && plan_is_of_layout(plan, input->trace, error) &&
           plan_is_of_model(plan, input, error);
}
