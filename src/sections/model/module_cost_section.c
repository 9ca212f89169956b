/* What does the model compute, and which module does it belong to? The numbers of the whole model,
 * and what is wrong or missing. */
#include "base/core/apportion.h"
#include "base/text/format.h"
#include "output/results/metrics.h"
#include "sections/analysis.h"
#include "sections/model/module_cost_sections.h"
#include "trace/recorder_words.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

static struct value module_cost_sections_rate(const struct module_cost_view *view, int64_t flops,
                                              int64_t ns)
{
    if (!view->costs->has_shapes)
        return value_not_known(recorder_words_for(view->trace)->needs_shapes);
    if (ns <= 0)
        return value_none();
    return (struct value){.unit = UNIT_FLOPS_PER_SECOND,
                          .real = (double)flops / ((double)ns / 1e9)};
}

static void module_cost_sections_add_number(struct results *results, struct section *section,
                                            const char *key, const char *title, struct value value)
{
    if (value.unit != UNIT_NONE)
        section_add_value(results, section, key, title, value);
}

static void note_last(struct section *section, const char *note)
{
    section->numbers[section->number_count - 1].note = note;
}

/* Whatever sums FLOPs is a least where products may be missing. Each figure says so itself, as any
 * of them may be read alone; the first one says why. */
static void note_least(struct section *section, const struct module_cost_view *view)
{
    struct number *last = &section->numbers[section->number_count - 1];

    if (view->costs->lacks_products && !last->note && last->value.unit != UNIT_TEXT &&
        last->value.unit != UNIT_TIME_NS)
        last->note = strcmp(last->key, "forward_flops") == 0
                         ? "at least: ops that are not counted may hold products"
                         : "at least";
}

/* The first described module whose root is in the trace: what is described may be of several
 * models. */
static void add_parameter_numbers(struct results *results, struct section *section,
                                  const struct module_cost_view *view)
{
    const struct described_module *root = NULL;

    for (uint32_t i = 0; i < view->description->count && !root; i++)
        if (module_tree_find(&view->costs->tree, view->description->modules[i].root) != NO_MODULE)
            root = describe_module(view->description, view->description->modules[i].root);
    if (!root) {
        if (view->costs->tree.count > 0)
            module_cost_sections_add_number(
                results, section, METRIC_NAMES(MODEL_PARAMETERS),
                value_not_known(recorder_words_for(view->trace)->model));
        return;
    }
    module_cost_sections_add_number(results, section, METRIC_NAMES(MODEL_PARAMETERS),
                                    value_count(root->parameters));
    if (root->trainable != root->parameters)
        module_cost_sections_add_number(results, section, "trainable_parameters",
                                        "of those, trained", value_count(root->trainable));
}

/* A variant is told only where it differs from the total, so that a plain run has few lines. */
static void add_flop_numbers(struct results *results, struct section *section,
                             const struct module_cost_view *view)
{
    const struct phase_cost *phases = view->costs->total;
    struct phase_cost sum = sum_of_phases(phases);

    module_cost_sections_add_number(results, section, "forward_flops", "forward FLOPs",
                                    flops_per_step(view, phases[PHASE_FORWARD].flops));
    note_least(section, view);
    module_cost_sections_add_number(results, section, "forward_macs",
                                    "forward multiply-adds (MACs)",
                                    count_per_step(view, phases[PHASE_FORWARD].macs));
    note_least(section, view);
    module_cost_sections_add_number(results, section, "backward_flops", "backward FLOPs",
                                    flops_per_step(view, phases[PHASE_BACKWARD].flops));
    if (phases[PHASE_BACKWARD].flops > 0)
        note_least(section, view);
    if (phases[PHASE_RECOMPUTE].flops > 0) {
        module_cost_sections_add_number(results, section, "recomputed_flops",
                                        "recomputed in the backward",
                                        flops_per_step(view, phases[PHASE_RECOMPUTE].flops));
    }
    module_cost_sections_add_number(results, section, "total_flops", "total FLOPs",
                                    flops_per_step(view, sum.flops));
    note_least(section, view);
    if (sum.model_flops != sum.flops || phases[PHASE_RECOMPUTE].flops > 0) {
        module_cost_sections_add_number(
            results, section, "model_flops", "total FLOPs, none recomputed",
            flops_per_step(view,
                           phases[PHASE_FORWARD].model_flops + phases[PHASE_BACKWARD].model_flops));
        note_last(section, "masked attention included");
    }
    /* Without masked attention the two are one figure. */
    if (sum.masked_flops != sum.flops) {
        module_cost_sections_add_number(results, section, "masked_flops",
                                        "total FLOPs, masked attention excluded",
                                        flops_per_step(view, sum.masked_flops));
        note_last(section, "causal masks and sliding windows of attention; with recomputation");
    }
    module_cost_sections_add_number(results, section, "pointwise_flops", "FLOPs of all other ops",
                                    flops_per_step(view, sum.pointwise_flops));
    note_last(section, "elementwise, norms, softmax, reductions; not in the FLOPs above");
    if (phases[PHASE_OPTIMIZER].pointwise_flops > 0)
        module_cost_sections_add_number(
            results, section, "optimizer_flops", "FLOPs of the optimizer",
            flops_per_step(view, phases[PHASE_OPTIMIZER].pointwise_flops));
}

/* Intensity is over the ops whose FLOPs are counted: bytes of all others would dilute it. */
static void add_byte_numbers(struct results *results, struct section *section,
                             const struct module_cost_view *view)
{
    struct phase_cost sum = sum_of_phases(view->costs->total);

    if (!view->costs->has_shapes)
        return;
    module_cost_sections_add_number(results, section, "bytes", "bytes read and written",
                                    value_bytes(rounded_mean(sum.bytes, view->steps)));
    if (sum.unsized_ops > 0)
        note_last(section, results_format(results,
                                          "without %" PRId64 " of %" PRId64
                                          " ops, whose bytes are not known",
                                          sum.unsized_ops, sum.ops));
    if (sum.matrix_bytes > 0) {
        module_cost_sections_add_number(results, section, "arithmetic_intensity",
                                        "arithmetic intensity",
                                        value_number((double)sum.flops / (double)sum.matrix_bytes));
        note_last(section, "FLOPs for each byte of the same ops");
    }
}

/* Phases that did not run have no line. Latency is of the host; the device's time is the sum
 * of its work and stands apart. */
static void add_time_numbers(struct results *results, struct section *section,
                             const struct module_cost_view *view)
{
    const struct module_costs *costs = view->costs;
    const struct phase_cost *phases = costs->total;
    struct phase_cost sum = sum_of_phases(phases);
    int64_t first_ns = costs->forward_ns;

    if (costs->tree.count > 0) {
        module_cost_sections_add_number(results, section, "forward_latency", "forward latency",
                                        time_per_step(view, first_ns));
        module_cost_sections_add_number(
            results, section, "forward_flops_per_second", "forward FLOP/s",
            module_cost_sections_rate(view, phases[PHASE_FORWARD].flops, first_ns));
        note_least(section, view);
    }
    if (phases[PHASE_BACKWARD].host_ns > 0)
        module_cost_sections_add_number(results, section, "backward_latency", "backward latency",
                                        time_per_step(view, phases[PHASE_BACKWARD].host_ns));
    if (phases[PHASE_RECOMPUTE].host_ns > 0)
        module_cost_sections_add_number(results, section, "recompute_latency",
                                        "latency of recomputation",
                                        time_per_step(view, phases[PHASE_RECOMPUTE].host_ns));
    if (phases[PHASE_OPTIMIZER].host_ns > 0)
        module_cost_sections_add_number(results, section, "optimizer_latency", "optimizer latency",
                                        time_per_step(view, phases[PHASE_OPTIMIZER].host_ns));
    if (costs->has_device) {
        module_cost_sections_add_number(results, section, "device_time", "device time",
                                        time_per_step(view, costs->device_ns));
        note_last(section, "kernels, copies and memsets, summed");
        module_cost_sections_add_number(results, section, "device_flops_per_second",
                                        "FLOP/s of the device at work",
                                        module_cost_sections_rate(view, sum.flops, sum.device_ns));
        note_least(section, view);
    }
}

static void add_cost_numbers(struct results *results, struct section *section,
                             const struct module_cost_view *view)
{
    module_cost_sections_add_number(results, section, "steps", "steps", value_count(view->steps));
    note_last(section, view->step_note);
    add_parameter_numbers(results, section, view);
    add_flop_numbers(results, section, view);
    add_byte_numbers(results, section, view);
    add_time_numbers(results, section, view);
}

/* Checkpointing without reentry ends a recomputation by an exception as soon as all is there
 * that the backward needs: its last op was entered and did nothing. */
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
        section_add_note(
            results, section,
            results_format(results, "%" PRId64 " recomputed ops of %s FLOPs are not counted", calls,
                           format_count(flops).text),
            "each is the last of its recomputation and nothing but the saving of its inputs is "
            "inside: checkpointing without reentry breaks off there, before the op does its work",
            NULL);
}

/* They count as backward, those of JAX as forward. */
static void add_undecided(struct results *results, struct section *section,
                          const struct module_costs *costs)
{
    if (costs->undecided_calls > 0 && costs->contexts.has_recorded_phases)
        section_add_warning(
            results, section,
            results_format(results,
                           "whether %" PRId64
                           " matmuls of %s FLOPs are of the forward or the backward is not known",
                           costs->undecided_calls, format_count(costs->undecided_flops).text),
            "they count as forward: the compiler kept no scope of these ops", NULL);
    else if (costs->undecided_calls > 0)
        section_add_warning(
            results, section,
            results_format(results,
                           "whether %" PRId64 " matmuls of %s FLOPs in compiled code are "
                           "recomputed is not known",
                           costs->undecided_calls, format_count(costs->undecided_flops).text),
            "they count as backward: some gradients are not there (frozen weights), or the forward "
            "was not recorded, so that sizes do not tell gradients from matmuls of the forward",
            NULL);
}

/* What makes the figures incomplete is said with the recorder's own words for how to get it. */
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

/* What is missing or doubtful stands at the end of the same section, not in one of its own:
 * these findings say how far the tables above can be trusted. */
struct section *describe_module_costs(struct results *results, const struct module_cost_view *view)
{
    struct section *section =
        section_new(results, "module_cost", "FLOPs and time by module",
                    "What the model computes, and which module it belongs to. FLOPs are those of "
                    "matmuls, convolutions, attention and recurrent layers; a multiply-add "
                    "is two. All figures are per step.");

    add_cost_numbers(results, section, view);
    if (!view->is_brief)
        add_depth_table(results, section, view);
    add_module_table(results, section, view);
    add_op_tables(results, section, view);
    add_cost_findings(results, section, view);
    return section;
}

enum { BRIEF_DEPTH = 2 };

/* Without shapes, or without any op that was counted, 'report' says nothing of modules;
 * 'flops' then says what lacks. */
static struct section *run_module_cost(struct results *results, const struct analysis_input *input)
{
    bool has_steps = input->ledger->source != WINDOW_WHOLE;
    struct module_cost_view view = {.trace = input->trace,
                                    .costs = input->costs,
                                    .description = input->description,
                                    .steps = has_steps ? input->ledger->step_count : 1,
                                    .step_note = has_steps ? NULL : "the whole trace as one",
                                    .is_brief = true,
                                    .depth = input->options->all_modules ? UINT32_MAX : BRIEF_DEPTH,
                                    .top = input->options->top,
                                    .sort = input->options->module_sort};

    if (!input->costs->has_shapes || sum_of_phases(input->costs->total).ops == 0)
        return NULL;
    return describe_module_costs(results, &view);
}

const struct analysis module_cost_analysis = {
    .name = "module_cost",
    .summary = "what the model computes: FLOPs, bytes and time by module",
    .run = run_module_cost,
};
