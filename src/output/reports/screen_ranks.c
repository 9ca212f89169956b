/* The first screens of several traces. Of ranks of one run: where the time of all of them goes, and
 * who holds them up. Of other traces: each with its own step, none before the others. */
#include "output/reports/screen_steps.h"
#include "output/reports/screen_text.h"
#include "output/results/find_results.h"
#include "output/results/metrics.h"

#include <inttypes.h>
#include <string.h>

static bool is_all_ranks(const struct screen_builder *builder)
{
    return builder->results->overview && !builder->results->is_rank_chosen &&
           find_table(builder->results->overview, "job_ledger") != NULL;
}

/* The ranks with the shortest and the longest steps, and the mean. */
static void screen_ranks_add_step_time(struct screen_builder *builder)
{
    const struct section *overview = builder->results->overview;
    const struct table *unequal = find_table(overview, "imbalance");
    struct value low = find_cell(unequal, "key", "step_time", "least");
    struct value high = find_cell(unequal, "key", "step_time", "most");
    struct value low_rank = find_cell(unequal, "key", "step_time", "least_rank");
    struct value high_rank = find_cell(unequal, "key", "step_time", "most_rank");
    struct value mean = find_cell_at(find_table(overview, "job_ledger"), 0, "step_mean");
    const char *what = screen_has_steps(builder) ? "step " : "window ";
    struct value low_ns = value_time_ns((int64_t)low.real);
    struct value high_ns = value_time_ns((int64_t)high.real);

    if (low.unit == UNIT_NUMBER && high.unit == UNIT_NUMBER && low_rank.unit == UNIT_TEXT &&
        high_rank.unit == UNIT_TEXT && high.real > low.real)
        screen_add_figure(builder, what, mean,
                          screen_format(builder, " mean (%s %s to %s %s)",
                                        screen_value(builder, &low_ns), low_rank.text,
                                        screen_value(builder, &high_ns), high_rank.text));
    else
        screen_add_figure(builder, what, mean, " mean");
}

/* The mean of the ranks' busy time, from the ledger: what is not idle. MFU is of the one rank
 * that is shown, and says so. */
static void screen_ranks_add_figures(struct screen_builder *builder)
{
    const struct table *ledger = find_table(builder->results->overview, "job_ledger");
    struct value idle = find_cell(ledger, "key", "idle", "share");
    const char *label = builder->rank ? builder->rank->label : "";

    screen_ranks_add_step_time(builder);
    screen_add_figure(builder, screen_mfu_title(builder), metric_number(builder->rank, METRIC_MFU),
                      screen_format(builder, " (%s)", label));
    screen_add_figure(builder, "", metric_number(builder->rank, METRIC_MODEL_FLOPS_PER_SECOND),
                      screen_format(builder, " (%s)", label));
    if (idle.unit == UNIT_FRACTION)
        screen_add_figure(builder, "busy ", value_fraction(1 - idle.real), "");
}

/* The chart is of a step of a mean rank; who is worst in each row stands beside it, since a
 * mean hides a straggler. */
static void fill_all_ranks(struct screen_builder *builder)
{
    static const struct screen_group groups[] = {
        {"idle", "idle"},       {"copies", "copies"}, {"communication", "communication"},
        {"compute", "compute"}, {NULL, NULL},
    };
    const struct section *overview = builder->results->overview;
    struct value ranks = find_number(overview, "ranks");
    struct value steps = find_number(find_section(builder->rank, "run"), "step_numbers");
    const char *device = screen_device(builder);

    screen_tell_trigger(builder);
    screen_answer_what_if(builder, find_table(overview, "what_if"));
    builder->screen->subject =
        screen_format(builder, "%" PRId64 " ranks %s %s%s", ranks.integer, builder->dot,
                      device ? device : "CPU", screen_steps(builder, steps));
    screen_ranks_add_figures(builder);
    builder->screen->chart.title =
        screen_has_steps(builder) ? "Where a step of a rank goes" : "Where the time of a rank goes";
    builder->screen->chart.remark_title = "most on";
    screen_fill_ledger(builder, &(struct screen_ledger){.table = find_table(overview, "job_ledger"),
                                                        .groups = groups,
                                                        .amounts = "step_mean",
                                                        .remarks = "max_rank"});
}

static const char *const sections[] = {"overview", "collectives", "step_ledger", "gpu_idle",
                                       "kernels",  "operators",   "module_cost", NULL};

const struct screen_kind all_ranks_screen = {
    .recognizes = is_all_ranks,
    .fill = fill_all_ranks,
    .costs_only = true,
    .is_of_all_ranks = true,
    .sections = sections,
};

/* ---- traces of different runs --------------------------------------------------------------- */

/* The overview of runs that do not belong together counts traces and not ranks. */
static bool is_several_traces(const struct screen_builder *builder)
{
    return !builder->results->is_rank_chosen &&
           find_number(builder->results->overview, "traces").unit == UNIT_COUNT;
}

/* "b.json.gz: 18.8 ms a step, AMD Instinct MI300X" */
static void add_trace(struct screen_builder *builder, const struct table *traces, size_t row)
{
    struct value file = find_cell_at(traces, row, "file");
    struct value step = find_cell_at(traces, row, "step_time_mean");
    struct value device = find_cell_at(traces, row, "device");

    if (file.unit == UNIT_TEXT && step.unit == UNIT_TIME_NS)
        screen_add_answer(builder,
                          screen_format(builder, "%s: %s a step or window%s%s",
                                        screen_file_name(file.text), screen_value(builder, &step),
                                        device.unit == UNIT_TEXT ? ", " : "",
                                        device.unit == UNIT_TEXT ? device.text : ""));
}

/* One line each; the last place says how many more there are. */
static void fill_several_traces(struct screen_builder *builder)
{
    const struct section *overview = builder->results->overview;
    const struct table *traces = find_table(overview, "ranks");
    size_t count = traces ? traces->row_count : 0;
    size_t shown = count <= SCREEN_ANSWERS_MAX ? count : SCREEN_ANSWERS_MAX - 1;

    builder->screen->subject =
        screen_format(builder, "%" PRId64 " traces", find_number(overview, "traces").integer);
    for (size_t row = 0; row < shown; row++)
        add_trace(builder, traces, row);
    if (shown < count)
        screen_add_answer(builder, screen_format(builder, "and %zu more: --all", count - shown));
}

static const char *const sections_of_traces[] = {"ranks", NULL};

const struct screen_kind several_traces_screen = {
    .recognizes = is_several_traces,
    .fill = fill_several_traces,
    .warnings_are_findings = true,
    .is_of_no_rank = true,
    .sections = sections_of_traces,
};
