/* What `flopledger flops --model` says: parts, conventions, memory. */
#include "sections/model/model_sections.h"

#include "cost/architectures/architecture_cost.h"
#include "cost/architectures/model_memory.h"
#include "sections/model/convention_table.h"

#include <stdbool.h>

static const char needs_step_time[] = "needs --step-time";
static const char needs_peak[] = "needs --device NAME or --peak";

static void add_with_note(struct results *results, struct section *section, struct number number)
{
    section_add_number(results, section, number);
}

enum part_column {
    PART_NAME,
    PART_PARAMETERS,
    PART_ACTIVE,
    PART_FORWARD,
    PART_BOTH,
    PART_SHARE,
    PART_FULL,
    PART_COLUMNS
};

static const struct column part_columns[PART_COLUMNS] = {
    [PART_NAME] = {"part", "part", UNIT_TEXT, 0, BAR_NONE},
    [PART_PARAMETERS] = {"parameters", "parameters", UNIT_COUNT, 0, BAR_NONE},
    [PART_ACTIVE] = {"active_parameters", "active", UNIT_COUNT, 3, BAR_NONE},
    [PART_FORWARD] = {"forward_flops", "forward", UNIT_FLOPS, 2, BAR_NONE},
    [PART_BOTH] = {"flops", "forward and backward", UNIT_FLOPS, 0, BAR_NONE},
    [PART_SHARE] = {"share", "share", UNIT_FRACTION, 1, BAR},
    [PART_FULL] = {"unmasked_flops", "without the mask", UNIT_FLOPS, 4, BAR_NONE},
};

/* Backward is twice the forward: one product for the inputs' gradients, one for the weights'.
 * Hence 3 for both. */
static void fill_part(struct value *cells, const char *name, const struct part_cost *part,
                      double all_flops)
{
    cells[PART_NAME] = value_text(name);
    cells[PART_PARAMETERS] = value_count(part->parameters);
    cells[PART_ACTIVE] = value_count(part->active_parameters);
    cells[PART_FORWARD] = value_flops(part->forward_flops);
    cells[PART_BOTH] = value_flops(3.0 * part->forward_flops);
    cells[PART_SHARE] = value_fraction(part->forward_flops / all_flops);
    cells[PART_FULL] = value_flops(3.0 * part->unmasked_flops);
}

/* Parts that a model does not have are left out, so that dense and routed models have tables
 * of their own. */
static void model_add_parts(struct results *results, struct section *section,
                            const struct architecture_cost *cost)
{
    struct table *table = section_add_table(
        results, section, "parts", "FLOPs of one token, by part", part_columns, PART_COLUMNS);

    for (int i = 0; i < PART_COUNT; i++) {
        const struct part_cost *part = &cost->parts[i];

        if (part->parameters > 0 || part->forward_flops > 0.0)
            fill_part(table_add_row(results, table, 0), model_part_name((enum model_part)i), part,
                      cost->total.forward_flops);
    }
    fill_part(table_add_row(results, table, 0), "total", &cost->total, cost->total.forward_flops);
}

/* Fields that the file left out and that came from defaults are said to be such: a wrong
 * default is the most likely reason for a wrong count. */
static void add_sizes(struct results *results, struct section *section,
                      const struct architecture *architecture)
{
    section_add_value(results, section, "model_type", "model type",
                      value_text(architecture->model_type));
    if (architecture->note)
        section_add_value(results, section, "note", "note", value_text(architecture->note));
    if (architecture->has_defaults)
        section_add_value(results, section, "defaults", "left out of the file",
                          value_text("taken from the defaults of its class in transformers"));
    section_add_value(results, section, "layers", "layers", value_count(architecture->layers));
    section_add_value(results, section, "hidden_size", "hidden size",
                      value_count(architecture->hidden_size));
}

/* A backward is two products for each one forward, hence the 3.0. Layers for predicting
 * further tokens stand apart: whether they run depends on the training, not on the file. */
struct section *describe_model_parts(struct results *results, const struct model_run *run)
{
    const struct architecture *architecture = &run->architecture;
    struct architecture_cost cost = architecture_cost(architecture, run->setting.sequence);
    struct section *section = section_new(results, "model", "Model", NULL);

    add_sizes(results, section, architecture);
    section_add_value(results, section, "sequence", "tokens of a sample",
                      value_count(run->setting.sequence));
    section_add_value(results, section, "parameters", "parameters",
                      value_count(cost.total.parameters));
    section_add_value(results, section, "active_parameters", "that a token meets",
                      value_count(cost.total.active_parameters));
    add_with_note(results, section,
                  (struct number){.key = "embedding_parameters",
                                  .title = "in the table of tokens",
                                  /* Told apart, since conventions differ in whether they count
                                   * it. */
                                  .value = value_count(cost.token_embedding),
                                  .note = architecture->is_tied ? "the logits use it too" : NULL});
    add_with_note(results, section,
                  (struct number){.key = "flops",
                                  .title = "FLOPs of a token",
                                  .value = value_flops(3.0 * cost.total.forward_flops),
                                  .note = "forward and backward, behind the mask"});
    section_add_value(results, section, "forward_flops", "of those, forward",
                      value_flops(cost.total.forward_flops));
    add_with_note(results, section,
                  (struct number){.key = "hardware_flops",
                                  .title = "computed by the device",
                                  .value = value_flops(hardware_flops(architecture, run->setting)),
                                  .note = "an estimate, with recomputation"});
    if (cost.prediction.parameters > 0) {
        add_with_note(results, section,
                      (struct number){.key = "prediction_parameters",
                                      .title = "MTP layers, parameters",
                                      .value = value_count(cost.prediction.parameters),
                                      .note = "in none of the other figures"});
        section_add_value(results, section, "prediction_flops", "MTP layers, FLOPs of a token",
                          value_flops(3.0 * cost.prediction.forward_flops));
    }
    model_add_parts(results, section, &cost);
    return section;
}

/* Times of 0 mean that none was given; the reasons travel with the run, so that each figure
 * that needs a time or a peak can say so itself. */
static struct convention_run convention_run_of(const struct model_run *run)
{
    return (struct convention_run){
        .architecture = &run->architecture,
        .setting = run->setting,
        .tokens = (double)run->batch * (double)run->setting.sequence,
        .seconds = (double)run->step_time_ns / 1e9,
        .devices = (double)run->devices,
        .peak = run->peak,
        .needs_seconds = needs_step_time,
        .needs_peak = needs_peak,
    };
}

/* FLOPs of the step need no time and come first. MFU is counted behind the causal mask and
 * without recomputation; HFU has recomputation in it, and what a fused backward of attention
 * does again: an estimate. */
static void model_add_rates(struct results *results, struct section *section,
                            const struct model_run *run, double exact)
{
    struct convention_run as_counted = convention_run_of(run);
    double hardware = hardware_flops(&run->architecture, run->setting);
    bool has_time = run->step_time_ns > 0;

    section_add_value(results, section, "step_flops", "FLOPs of a step",
                      value_flops(exact * as_counted.tokens));
    section_add_value(results, section, "devices", "devices", value_count(run->devices));
    section_add_value(results, section, "step_time", "step time",
                      has_time ? value_time_ns(run->step_time_ns)
                               : value_not_known(needs_step_time));
    add_with_note(results, section,
                  (struct number){.key = "peak",
                                  .title = "peak of a device",
                                  .value = run->peak > 0.0 ? value_flops_per_second(run->peak)
                                                           : value_not_known(needs_peak),
                                  .note = run->peak > 0.0 ? run->peak_source : NULL});
    if (!has_time)
        return;
    section_add_value(results, section, "tokens_per_second", "tokens a second",
                      value_number(as_counted.tokens / as_counted.seconds));
    section_add_value(results, section, "samples_per_second", "samples a second",
                      value_number((double)run->batch / as_counted.seconds));
    section_add_value(results, section, "flops_per_second", "achieved by a device",
                      value_flops_per_second(convention_rate(&as_counted, exact)));
    section_add_value(results, section, "mfu", "MFU, exact behind the mask",
                      convention_utilisation(&as_counted, exact));
    section_add_value(results, section, "hfu", "HFU, estimated",
                      convention_utilisation(&as_counted, hardware));
}

static void model_warn_of_impossible(struct results *results, struct section *section,
                                     const struct convention_run *run, double exact)
{
    if (run->peak <= 0.0 || convention_rate(run, exact) <= run->peak)
        return;
    section_add_warning(results, section,
                        "this is more than the peak: the step time, the number of "
                        "devices, the batch or the peak is not what was said",
                        NULL, NULL);
}

/* The first convention is the exact count, by which the others are measured. */
struct section *describe_conventions(struct results *results, const struct model_run *run)
{
    size_t count;
    double exact = all_conventions(&count)[0].count(&run->architecture, run->setting);
    struct convention_run as_counted = convention_run_of(run);
    struct section *section = section_new(
        results, "conventions", "Conventions",
        "Why two teams print different numbers for the same run: FLOPs of one token, forward and "
        "backward, as each tool counts them.");

    model_add_rates(results, section, run, exact);
    model_warn_of_impossible(results, section, &as_counted, exact);
    add_convention_table(results, section, &as_counted);
    return section;
}

/* Mixed precision keeps weights in 32 bits and two moments of Adam with the optimizer. Of Adam:
 * a weight, its gradient, two moments, and in mixed precision a copy in 32 bits (Rajbhandari et
 * al. 2020, ZeRO: 2 + 2 + 12). */
static struct parameter_bytes model_bytes_of(enum peak_type precision)
{
    if (precision == PEAK_FP64 || precision == PEAK_FP64_MATRIX)
        return (struct parameter_bytes){.weight = 8, .gradient = 8, .optimizer = 16};
    if (precision == PEAK_FP32 || precision == PEAK_TF32)
        return (struct parameter_bytes){.weight = 4, .gradient = 4, .optimizer = 8};
    return (struct parameter_bytes){.weight = 2, .gradient = 2, .optimizer = 12};
}

static const char *rule_of(enum peak_type precision)
{
    if (precision == PEAK_FP64 || precision == PEAK_FP64_MATRIX)
        return "8 bytes for a weight, 8 for its gradient, 16 for Adam's moments";
    if (precision == PEAK_FP32 || precision == PEAK_TF32)
        return "4 bytes for a weight, 4 for its gradient, 8 for Adam's moments";
    return "2 bytes for a weight, 2 for its gradient, 12 for Adam: the weight in 32 bits and its "
           "moments";
}

#define ZERO_COLUMNS(COLUMN)                                                                       \
    COLUMN("zero", "ZeRO shards", UNIT_TEXT, 0, BAR_NONE,                                          \
           value_text(results_format(results, "%s%s", stages[zero],                                \
                                     zero == run->layout.zero ? ", as chosen" : "")))              \
    COLUMN("weights", "weights", UNIT_BYTES, 0, BAR_NONE, value_bytes(memory.weights_bytes))       \
    COLUMN("gradients", "gradients", UNIT_BYTES, 0, BAR_NONE, value_bytes(memory.gradients_bytes)) \
    COLUMN("optimizer", "optimizer", UNIT_BYTES, 0, BAR_NONE, value_bytes(memory.optimizer_bytes)) \
    COLUMN("total", "total", UNIT_BYTES, 0, BAR_NONE,                                              \
           value_bytes(memory.weights_bytes + memory.gradients_bytes + memory.optimizer_bytes))

/* What is sharded changes the bytes of a parameter only: how many a device works on is told
 * once. */
struct section *describe_model_memory(struct results *results, const struct model_run *run)
{
    static const char *const stages[] = {"nothing (0)", "optimizer (1)", "optimizer, gradients (2)",
                                         "optimizer, gradients, weights (3)"};
    struct section *section = section_new(
        results, "model_memory", "Memory of the fullest device",
        "Weights, gradients and optimizer; activations are not known without a recorded run.");
    struct table *table;

    section_add_value(
        results, section, "layout", "layout",
        value_text(results_format(results, "data %lld, tensor %lld, pipeline %lld, expert %lld",
                                  (long long)run->layout.data, (long long)run->layout.tensor,
                                  (long long)run->layout.pipeline, (long long)run->layout.expert)));
    section_add_value(results, section, "rule", "counted as", value_text(rule_of(run->precision)));
    for (int zero = 0; zero <= 3; zero++) {
        struct model_layout layout = run->layout;
        struct model_memory memory;
        struct value *cells;

        layout.zero = zero;
        memory = model_memory(&run->architecture, &layout, model_bytes_of(run->precision));
        if (zero == 0) {
            section_add_value(results, section, "parameters", "parameters it works on",
                              value_count(memory.parameters));
            table = section_add_table(results, section, "zero", "By what ZeRO or FSDP shards",
                                      COLUMNS_OF(ZERO_COLUMNS));
        }
        cells = table_add_row(results, table, 0);
        FILL_ROW(cells, ZERO_COLUMNS);
    }
    return section;
}
