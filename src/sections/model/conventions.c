/* What would other tools print as the MFU of this run? */
#include "base/text/format.h"
#include "cost/efficiency/matrix_calls.h"
#include "ledger/step_finder.h"
#include "sections/analysis.h"
#include "sections/model/convention_table.h"
#include "sections/model/trained_batch.h"

#include <stddef.h>

static const char needs_sizes[] =
    "needs the model's sizes: --model config.json, or a capture of a model of transformers";
static const char needs_tokens[] =
    "needs the tokens and samples of the steps: capture.json beside the trace, by flopledger run";

/* Devices that work on the same tokens: those of one replica. */
static double devices_of_a_replica(const struct model_description *description)
{
    if (description->world_size <= 0 || description->data_size <= 0)
        return 1.0;
    return (double)description->world_size / (double)description->data_size;
}

/* That of the number format most FLOPs were computed in. */
static double conventions_peak_of(const struct efficiency *efficiency)
{
    double most_flops = 0.0;
    double peak = 0.0;

    for (int type = 0; type < PEAK_TYPE_COUNT; type++)
        if (efficiency->precisions[type].executed > most_flops) {
            most_flops = efficiency->precisions[type].executed;
            peak = efficiency->peaks.peaks[type];
        }
    return peak;
}

static struct section *conventions_not_known(struct results *results, const char *needs)
{
    struct section *section = section_new(results, "conventions", "Conventions", NULL);

    section_add_value(results, section, "mfu", "MFU", value_not_known(needs));
    return section;
}

/* Less than 0 FLOPs is a convention that does not fit the model (a formula for dense layers,
 * and a mixture of experts): the reason is shown in place of a figure that the tool would
 * print all the same. */
static void add_chosen(struct results *results, struct section *section,
                       const struct convention_run *run, const struct convention *convention)
{
    double flops = convention->count(run->architecture, run->setting);

    section_add_number(
        results, section,
        (struct number){.key = "mfu",
                        .title = results_format(results, "MFU by %s", convention->title),
                        .value = convention_utilisation(run, flops),
                        .note = convention->rule});
    section_add_value(results, section, "flops_per_token", "FLOPs of a token",
                      flops < 0.0 ? value_not_known(why_convention_does_not_fit)
                                  : value_flops(flops));
    section_add_value(results, section, "sequence", "tokens of a sample",
                      value_count(run->setting.sequence));
}

/* The sizes and the ops should tell of one model. A factor of two: conventions and ops that are
 * not counted differ by less. */
static void warn_of_other_model(struct results *results, struct section *section, double exact,
                                double measured)
{
    if (measured > exact / 2 && measured < exact * 2)
        return;
    section_add_warning(
        results, section,
        "the model's sizes and the ops that ran do not fit together: is the config.json "
        "of another model, or are many ops without FLOPs?",
        results_format(results, "%s a token by the sizes, %s by the ops", format_flops(exact).text,
                       format_flops(measured).text),
        NULL);
}

/* The same from what ran, to hold against the sizes. */
static void add_measured(struct results *results, struct section *section,
                         const struct analysis_input *input, const struct convention_run *run)
{
    const struct flop_parts *flops = &input->efficiency->total.flops;
    double tokens = run->tokens * (double)input->ledger->step_count;
    double measured = flops->model / tokens * run->devices;
    size_t count;

    if (input->efficiency->total.known_flops_ns == 0 || flops->model <= 0)
        return;
    section_add_number(results, section,
                       (struct number){.key = "flops_per_token_measured",
                                       .title = "by the ops that ran",
                                       .value = value_flops(measured),
                                       .note = "as exact counts, from the trace"});
    warn_of_other_model(results, section,
                        all_conventions(&count)[0].count(run->architecture, run->setting),
                        measured);
}

/* Devices of one replica share the model's FLOPs of its tokens; by the description, else one. */
static struct section *compare_conventions(struct results *results,
                                           const struct analysis_input *input)
{
    const struct analysis_options *options = input->options;
    const struct architecture *architecture =
        options->architecture ? options->architecture : input->description->architecture;
    struct trained_batch trained = trained_batch_of(input);
    int64_t steps = input->ledger->step_count;
    size_t count;
    struct convention_run run = {.architecture = architecture,
                                 .seconds = (double)ledger_total_ns(input->ledger) / 1e9,
                                 .devices = devices_of_a_replica(input->description),
                                 .peak = conventions_peak_of(input->efficiency),
                                 .needs_seconds = "needs steps",
                                 .needs_peak = "needs --peak or --device NAME"};
    struct section *section;

    /* Nobody asked, nothing is said; who chose a convention is told what it needs. */
    if (!architecture)
        return options->convention ? conventions_not_known(results, needs_sizes) : NULL;
    if (trained.samples <= 0 || trained.tokens <= 0 || steps == 0)
        return conventions_not_known(results, needs_tokens);
    run.setting.sequence = trained.tokens / trained.samples;
    /* More samples than tokens: a model whose inputs are no tokens. */
    if (run.setting.sequence == 0)
        return conventions_not_known(results, needs_tokens);
    /* By what was recorded, as the setting of a program is not in its trace. */
    run.setting.recompute =
        input->efficiency->total.flops.recomputed > 0 ? RECOMPUTE_FULL : RECOMPUTE_NONE;
    run.tokens = (double)trained.tokens / (double)steps;
    /* Per step on both sides, so that the sums fit the other figures of the page. */
    run.seconds /= (double)steps;
    section = section_new(results, "conventions", "Conventions",
                          "What other tools would print for these steps: FLOPs of one token by the "
                          "model's sizes, forward and backward, as each of them counts.");
    add_chosen(results, section, &run,
               options->convention ? options->convention : &all_conventions(&count)[0]);
    add_measured(results, section, input, &run);
    add_convention_table(results, section, &run);
    return section;
}

const struct analysis conventions_analysis = {
    .name = "conventions",
    .summary = "What would other tools print as the MFU of this run?",
    .run = compare_conventions,
};
