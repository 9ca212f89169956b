/* The first screen of one rank's profile: where a step goes. */
#include "cost/modules/model_description.h"
#include "output/reports/screen_steps.h"
#include "output/reports/screen_text.h"
#include "output/results/metrics.h"
#include "output/results/results.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static bool is_trace(const struct screen_builder *builder)
{
    return find_table(find_section(builder->rank, "step_ledger"), "ledger") != NULL;
}

/* "step 175 ms (164-181)   118 ms where not recorded": the latter only where recording made the
 * steps clearly longer. */
static void add_step_time(struct screen_builder *builder, const struct section *ledger)
{
    struct value plain = find_number(ledger, "plain_step_time");
    struct value mean = find_number(ledger, "step_time_mean");
    struct value low = metric_number(builder->rank, METRIC_STEP_TIME_MIN);
    struct value high = metric_number(builder->rank, METRIC_STEP_TIME_MAX);

    screen_add_time_range(builder, screen_span(builder), mean, low, high);
    if (plain.unit == UNIT_TIME_NS && 100 * mean.integer > PLAIN_LONGER_PER_CENT * plain.integer)
        screen_add_figure_text(builder, screen_format(builder, "%s where not recorded",
                                                      screen_value(builder, &plain)));
}

/* "MFU 27.9 % of 15.7 TFLOP/s (fp32)", and HFU where it is another number. HFU is left out where
 * it says the same as MFU: nothing was recomputed. */
static void add_utilization(struct screen_builder *builder, const struct section *section)
{
    struct value mfu = metric_number(builder->rank, METRIC_MFU);
    struct value hfu = metric_number(builder->rank, METRIC_HFU);
    struct value peak = metric_number(builder->rank, METRIC_PEAK_FLOPS_PER_SECOND);
    const struct number *number = find_whole_number(section, "peak");
    const char *approximate =
        number && number->note && strncmp(number->note, "approximate", 11) == 0 ? "about " : "";
    const char *type = number && strchr(number->title, ',') ? strchr(number->title, ',') + 1 : "";
    const char *derived = !number || !number->note                    ? ""
                          : strncmp(number->note, "derived", 7) == 0  ? ", derived"
                          : strncmp(number->note, "measured", 8) == 0 ? ", measured"
                                                                      : "";
    const char *of = value_is_number(&peak)
                         ? screen_format(builder, " of %s%s%s%s", approximate,
                                         screen_value(builder, &peak), type, derived)
                         : "";

    screen_add_figure(builder, screen_mfu_title(builder), mfu, of);
    if (value_is_number(&mfu) && value_is_number(&hfu) && hfu.real > 1.005 * mfu.real)
        screen_add_figure(builder, "HFU ", hfu, "");
}

/* "decode 2,980 tokens/s, MFU 1.73 %, MBU 24.4 %", of each phase of an inference server. */
static void add_phases(struct screen_builder *builder)
{
    const struct table *phases =
        find_table(find_section(builder->rank, "serving_phases"), "phases");

    for (size_t row = 0; phases && row < phases->row_count; row++) {
        struct value phase = find_cell_at(phases, row, "phase");
        struct value rate = find_cell_at(phases, row, "tokens_per_second");
        struct value mfu = find_cell_at(phases, row, "mfu");
        struct value mbu = find_cell_at(phases, row, "mbu");

        if (!value_is_number(&rate))
            continue;
        screen_add_figure_text(
            builder,
            screen_format(builder, "%s %s tokens/s%s%s%s%s", phase.text,
                          screen_value(builder, &rate), value_is_number(&mfu) ? ", MFU " : "",
                          value_is_number(&mfu) ? screen_value(builder, &mfu) : "",
                          value_is_number(&mbu) ? ", MBU " : "",
                          value_is_number(&mbu) ? screen_value(builder, &mbu) : ""));
    }
}

/* What the trace does not have is left out by screen_add_figure, so that the line holds known
 * figures alone. */
static void add_figures(struct screen_builder *builder)
{
    const struct section *ledger = find_section(builder->rank, "step_ledger");
    const struct section *flops = find_section(builder->rank, "model_flops_utilization");
    bool is_cpu = screen_device(builder) == NULL;

    add_step_time(builder, ledger);
    add_utilization(builder, flops);
    screen_add_figure(builder, "", metric_number(builder->rank, METRIC_TOKENS_PER_SECOND),
                      " tokens/s");
    screen_add_figure(builder, "", metric_number(builder->rank, METRIC_SAMPLES_PER_SECOND),
                      " samples/s");
    screen_add_flops(builder, "");
    screen_add_figure(builder, is_cpu ? "operators run " : "GPU busy ",
                      metric_number(builder->rank, METRIC_DEVICE_BUSY),
                      is_cpu ? " of the time" : "");
    screen_add_figure(builder, "CUDA graphs ",
                      find_number(find_section(builder->rank, "graphs"), "attributed"),
                      " attributed");
    add_phases(builder);
}

/* Rows of the ledger: parts of idle time and of compute, each group without its parts a row. */
static void fill_chart(struct screen_builder *builder)
{
    static const struct screen_group groups[] = {
        {"idle", "idle"},
        {"data_copy", "copies"},
        {"exposed_copy", "copies"},
        {"copy", "copies"},
        {"exposed_communication", "communication"},
        {"communication", "communication"},
        {"compute", "compute"},
        {NULL, NULL},
    };
    const struct section *section = find_section(builder->rank, "step_ledger");

    builder->screen->chart.title =
        screen_has_steps(builder) ? "Where a step goes" : "Where the time goes";
    screen_fill_ledger(builder, &(struct screen_ledger){.table = find_table(section, "ledger"),
                                                        .groups = groups,
                                                        .amounts = "mean"});
}

/* Others that do next to nothing are told in the section alone. */
enum { EVENTS_PER_CENT_LEAST = 1 };

/* ", device 0 of 2 that work", where the page is of one of several. */
static const char *which_device(struct screen_builder *builder)
{
    struct metric_column reported = metric_column(builder->rank, METRIC_DEVICE_IS_REPORTED);
    size_t row_count = reported.table ? reported.table->row_count : 0, own = 0;
    unsigned working = 0;
    int64_t most;

    while (own < row_count && strcmp(metric_column_cell(reported, own).text, "yes") != 0)
        own++;
    if (own == row_count)
        return "";
    most = find_cell_at(reported.table, own, "events").integer;
    for (size_t row = 0; row < row_count; row++)
        working += 100 * find_cell_at(reported.table, row, "events").integer >=
                   EVENTS_PER_CENT_LEAST * most;
    return working < 2
               ? ""
               : screen_format(builder, ", device %" PRId64 " of %u that work",
                               find_cell_at(reported.table, own, "device").integer, working);
}

/* A question that was asked (--what-if) is answered before the verdict on the steps. */
static void fill_trace(struct screen_builder *builder)
{
    const struct section *run = find_section(builder->rank, "run");
    struct value numbers = find_number(run, "step_numbers");
    struct value script = find_number(run, "script");
    const char *device = screen_device(builder);
    const char *program = "";
    const char *verdict;

    if (script.unit == UNIT_TEXT)
        program = screen_format(builder, " %s %s", builder->dot, script.text);
    builder->screen->subject = screen_format(builder, "%s%s %s %s%s%s", screen_rank_file(builder),
                                             program, builder->dot, device ? device : "CPU",
                                             which_device(builder), screen_steps(builder, numbers));
    add_figures(builder);
    fill_chart(builder);
    screen_tell_trigger(builder);
    screen_answer_what_if(builder, find_table(find_section(builder->rank, "what_if"), "changes"));
    verdict = screen_verdict_of_steps(builder);
    if (verdict)
        builder->screen->verdict = verdict;
}

static const char *const sections[] = {
    "kernels",  "operators",      "gpu_idle",      "step_ledger", "module_cost", "tensor_core_use",
    "roofline", "serving_phases", "critical_path", "collectives", "launches",    "graphs",
    NULL};

const struct screen_kind trace_screen = {
    .recognizes = is_trace,
    .fill = fill_trace,
    .costs_only = true,
    .sections = sections,
};
