/* The section module_cost: numbers of the whole model, and what is wrong or missing. */
#include "analyses/module_cost_sections.h"

#include "advice/recorder_words.h"
#include "base/apportion.h"
#include "base/format.h"

#include <inttypes.h>
#include <stddef.h>

const char needs_shapes[] = "needs shapes (record_shapes=True)";
const char needs_description[] = "needs capture.json beside the trace (flopledger run writes it)";

struct value flops_per_step(const struct module_cost_view *view, int64_t flops)
{
    if (!view->costs->has_shapes)
        return value_not_known(needs_shapes);
    return (struct value){.unit = UNIT_FLOPS, .real = (double)flops / (double)view->steps};
}

struct value time_per_step(const struct module_cost_view *view, int64_t ns)
{
    return value_time_ns(rounded_mean(ns, view->steps));
}

struct value count_per_step(const struct module_cost_view *view, int64_t count)
{
    if (!view->costs->has_shapes)
        return value_not_known(needs_shapes);
    return value_count(rounded_mean(count, view->steps));
}

static struct value rate(const struct module_cost_view *view, int64_t flops, int64_t ns)
{
    if (!view->costs->has_shapes)
        return value_not_known(needs_shapes);
    if (ns <= 0)
        return value_none();
    return (struct value){.unit = UNIT_FLOPS_PER_SECOND,
                          .real = (double)flops / ((double)ns / 1e9)};
}

static void add_number(struct results *results, struct section *section, const char *key,
                       const char *title, struct value value)
{
    if (value.unit != UNIT_NONE)
        section_add_number(results, section,
                           (struct number){.key = key, .title = title, .value = value});
}

static void note_last(struct section *section, const char *note)
{
    section->numbers[section->number_count - 1].note = note;
}

/* Sum of the roots' forward calls: the time that one sees as "the forward". */
static int64_t forward_ns(const struct module_costs *costs)
{
    int64_t sum_ns = 0;

    for (uint32_t i = 0; i < costs->tree.count; i++)
        if (costs->tree.modules[i].parent == NO_MODULE)
            sum_ns += costs->modules[i].forward_ns;
    return sum_ns;
}

static void add_parameter_numbers(struct results *results, struct section *section,
                                  const struct module_cost_view *view)
{
    const struct described_module *root = NULL;

    for (uint32_t i = 0; i < view->description->count && !root; i++)
        if (module_tree_find(&view->costs->tree, view->description->modules[i].root) != NO_MODULE)
            root = describe_module(view->description, view->description->modules[i].root);
    if (!root) {
        if (view->costs->tree.count > 0)
            add_number(results, section, "parameters", "parameters",
                       value_not_known(needs_description));
        return;
    }
    add_number(results, section, "parameters", "parameters", value_count(root->parameters));
    if (root->trainable != root->parameters)
        add_number(results, section, "trainable_parameters", "of those, trained",
                   value_count(root->trainable));
}

static void add_flop_numbers(struct results *results, struct section *section,
                             const struct module_cost_view *view)
{
    const struct phase_cost *phases = view->costs->total;
    struct phase_cost sum = sum_of_phases(phases);

    add_number(results, section, "forward_flops", "forward FLOPs",
               flops_per_step(view, phases[PHASE_FORWARD].flops));
    add_number(results, section, "forward_macs", "forward multiply-adds (MACs)",
               count_per_step(view, phases[PHASE_FORWARD].macs));
    add_number(results, section, "backward_flops", "backward FLOPs",
               flops_per_step(view, phases[PHASE_BACKWARD].flops));
    if (phases[PHASE_RECOMPUTE].flops > 0) {
        add_number(results, section, "recomputed_flops", "computed again in the backward",
                   flops_per_step(view, phases[PHASE_RECOMPUTE].flops));
    }
    add_number(results, section, "total_flops", "FLOPs in all", flops_per_step(view, sum.flops));
    if (sum.model_flops != sum.flops || phases[PHASE_RECOMPUTE].flops > 0) {
        add_number(results, section, "model_flops", "FLOPs in all, none computed again",
                   flops_per_step(view, phases[PHASE_FORWARD].model_flops +
                                            phases[PHASE_BACKWARD].model_flops));
        note_last(section, "with what masks hide");
    }
    if (sum.masked_flops != sum.flops) {
        add_number(results, section, "masked_flops", "FLOPs in all, without what masks hide",
                   flops_per_step(view, sum.masked_flops));
        note_last(section,
                  "causal masks and sliding windows of attention; with what is computed again");
    }
    add_number(results, section, "pointwise_flops", "FLOPs of all other ops",
               flops_per_step(view, sum.pointwise_flops));
    note_last(section, "elementwise, norms, softmax, reductions; not in the FLOPs above");
    if (phases[PHASE_OPTIMIZER].pointwise_flops > 0)
        add_number(results, section, "optimizer_flops", "FLOPs of the optimizer",
                   flops_per_step(view, phases[PHASE_OPTIMIZER].pointwise_flops));
}

static void add_byte_numbers(struct results *results, struct section *section,
                             const struct module_cost_view *view)
{
    struct phase_cost sum = sum_of_phases(view->costs->total);

    if (!view->costs->has_shapes)
        return;
    add_number(results, section, "bytes", "bytes read and written",
               value_bytes(rounded_mean(sum.bytes, view->steps)));
    if (sum.unsized_ops > 0)
        note_last(section, results_format(results,
                                          "without %" PRId64 " of %" PRId64
                                          " ops, whose bytes are not known",
                                          sum.unsized_ops, sum.ops));
    if (sum.matrix_bytes > 0) {
        add_number(results, section, "arithmetic_intensity", "arithmetic intensity",
                   value_number((double)sum.flops / (double)sum.matrix_bytes));
        note_last(section, "FLOPs for each byte of the same ops");
    }
}

static void add_time_numbers(struct results *results, struct section *section,
                             const struct module_cost_view *view)
{
    const struct module_costs *costs = view->costs;
    const struct phase_cost *phases = costs->total;
    struct phase_cost sum = sum_of_phases(phases);
    int64_t first_ns = forward_ns(costs);

    if (costs->tree.count > 0) {
        add_number(results, section, "forward_latency", "forward latency",
                   time_per_step(view, first_ns));
        add_number(results, section, "forward_flops_per_second", "forward FLOP/s",
                   rate(view, phases[PHASE_FORWARD].flops, first_ns));
    }
    if (phases[PHASE_BACKWARD].host_ns > 0)
        add_number(results, section, "backward_latency", "backward latency",
                   time_per_step(view, phases[PHASE_BACKWARD].host_ns));
    if (phases[PHASE_RECOMPUTE].host_ns > 0)
        add_number(results, section, "recompute_latency", "latency of what is computed again",
                   time_per_step(view, phases[PHASE_RECOMPUTE].host_ns));
    if (phases[PHASE_OPTIMIZER].host_ns > 0)
        add_number(results, section, "optimizer_latency", "optimizer latency",
                   time_per_step(view, phases[PHASE_OPTIMIZER].host_ns));
    if (costs->has_device) {
        add_number(results, section, "device_time", "device time",
                   time_per_step(view, costs->device_ns));
        note_last(section, "kernels, copies and memsets, summed");
        add_number(results, section, "device_flops_per_second", "FLOP/s of the device at work",
                   rate(view, sum.flops, sum.device_ns));
    }
}

void add_cost_numbers(struct results *results, struct section *section,
                      const struct module_cost_view *view)
{
    add_number(results, section, "steps", "steps", value_count(view->steps));
    note_last(section, view->step_note);
    add_parameter_numbers(results, section, view);
    add_flop_numbers(results, section, view);
    add_byte_numbers(results, section, view);
    add_time_numbers(results, section, view);
}

static void add_doubt(struct results *results, struct section *section,
                      const struct module_costs *costs)
{
    int64_t flops = 0;
    int64_t calls = 0;

    for (uint32_t i = 0; i < costs->doubtful_count; i++) {
        flops += costs->doubtful[i].flops;
        calls += costs->doubtful[i].calls;
    }
    if (calls > 0)
        section_add_warning(
            results, section,
            results_format(results, "%" PRId64 " recomputed ops of %s FLOPs are not counted", calls,
                           format_count(flops).text),
            "each is the last of its recomputation and nothing but the saving of its inputs is "
            "inside: checkpointing without reentry breaks off there, before the op does its work",
            NULL);
}

/* They count as backward. */
static void add_undecided(struct results *results, struct section *section,
                          const struct module_costs *costs)
{
    if (costs->undecided_calls > 0)
        section_add_warning(
            results, section,
            results_format(results,
                           "whether %" PRId64 " products of %s FLOPs in compiled code are computed "
                           "again is not known",
                           costs->undecided_calls, format_count(costs->undecided_flops).text),
            "they count as backward: some gradients are not there (frozen weights), or the forward "
            "was not recorded, so that sizes do not tell gradients from products of the forward",
            NULL);
}

static void add_cost_findings(struct results *results, struct section *section,
                              const struct module_cost_view *view)
{
    const struct module_costs *costs = view->costs;
    const struct recorder_words *words = recorder_words_for(view->trace);

    if (!costs->has_shapes)
        section_add_warning(results, section, "the trace has no shapes: FLOPs are not known", NULL,
                            words->flops);
    if (costs->tree.count == 0 && !view->is_brief)
        section_add_warning(results, section,
                            "the trace has no marks of modules: ops are listed, but not by module",
                            NULL, words->modules);
    add_undecided(results, section, view->costs);
    add_doubt(results, section, costs);
}

struct section *describe_module_costs(struct results *results, const struct module_cost_view *view)
{
    struct section *section =
        section_new(results, "module_cost", "FLOPs and time by module",
                    "What the model computes, and which module it belongs to. FLOPs are those of "
                    "matrix products, convolutions, attention and recurrent layers; a multiply-add "
                    "is two. All figures are per step.");

    add_cost_numbers(results, section, view);
    if (!view->is_brief)
        add_depth_table(results, section, view);
    add_module_table(results, section, view);
    add_op_tables(results, section, view);
    add_cost_findings(results, section, view);
    return section;
}
