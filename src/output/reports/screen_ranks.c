/* The first screens of several traces. Of ranks of one run: where the time of all of them goes, and
 * who holds them up. Of other traces: each with its own step, none before the others. Of dumps of
 * flight recorders: what hangs, and who is missing. Of a timeline of a pipeline-parallel job: what
 * stragglers cost, and which. */
#include "output/reports/screen_steps.h"
#include "output/reports/screen_text.h"
#include "output/results/metrics.h"
#include "output/results/results.h"

#include <inttypes.h>
#include <math.h>
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
    screen_add_flops(builder, screen_format(builder, " (%s)", label));
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

static const char *const ranks_sections[] = {"overview", "collectives", "step_ledger", "gpu_idle",
                                             "kernels",  "operators",   "module_cost", NULL};

const struct screen_kind all_ranks_screen = {
    .recognizes = is_all_ranks,
    .fill = fill_all_ranks,
    .costs_only = true,
    .is_of_all_ranks = true,
    .sections = ranks_sections,
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
    struct value window = find_cell_at(traces, row, "window");
    struct value more = window.unit == UNIT_TEXT ? window : find_cell_at(traces, row, "device");
    bool has_more = more.unit == UNIT_TEXT && *more.text;

    if (file.unit == UNIT_TEXT && step.unit == UNIT_TIME_NS)
        screen_add_answer(builder,
                          screen_format(builder, "%s: %s a step%s%s%s", screen_file_name(file.text),
                                        screen_value(builder, &step),
                                        window.unit == UNIT_TEXT ? "" : " or window",
                                        has_more ? ", " : "", has_more ? more.text : ""));
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

static bool is_hang(const struct screen_builder *builder)
{
    return find_section(builder->rank, "hang") != NULL;
}

/* A figure that is not known is left out by `screen_add_figure`, so that a dump without counts
 * still gives a screen. */
static void fill_hang(struct screen_builder *builder)
{
    const struct section *hang = find_section(builder->rank, "hang");
    struct value ranks = find_number(hang, "ranks");

    builder->screen->subject = ranks.unit == UNIT_COUNT
                                   ? screen_format(builder, "flight recorder %s %" PRId64 " ranks",
                                                   builder->dot, ranks.integer)
                                   : "flight recorder";
    screen_add_figure(builder, "", find_number(hang, "calls"), " collectives recorded");
    screen_add_figure(builder, "", find_number(hang, "unfinished"), " unfinished");
    screen_add_figure(builder, "", find_number(hang, "ranks_without_dump"),
                      " ranks without a dump");
}

static const char *const hang_sections[] = {"hang", "unfinished_operations", "rank_states", NULL};

const struct screen_kind hang_screen = {
    .recognizes = is_hang,
    .fill = fill_hang,
    .warnings_are_findings = true,
    .sections = hang_sections,
};

/* Rows of each table in the chart; less than this share of a step is not worth one. */
enum { ROWS_OF_TABLE = 3, AMOUNTS_MAX = 9 };
static const double least_gain = 0.001;

static bool is_pipeline(const struct screen_builder *builder)
{
    return find_section(builder->rank, "pipeline") != NULL &&
           find_section(builder->rank, "stragglers") != NULL;
}

/* Those of a table whose usual times would save most, which stand first in it. What repairing
 * them saves, not what they cost alone: these can be compared, and added to nothing. Tables are
 * sorted by what they cost alone, so that the first rows are the candidates. */
static void add_savings(struct screen_amount *amounts, size_t *count, const struct table *table,
                        const char *group, int64_t step_ns)
{
    for (size_t row = 0; table && row < table->row_count && row < ROWS_OF_TABLE; row++) {
        struct value gain = find_cell_at(table, row, "gain");
        struct value name = find_cell_at(table, row, "what");

        if (gain.unit != UNIT_FRACTION || name.unit != UNIT_TEXT || gain.real < least_gain)
            continue;
        amounts[(*count)++] = (struct screen_amount){
            .group = group, .title = name.text, .amount = llround(gain.real * (double)step_ns)};
    }
}

/* The three views are of the same delays, seen from operations, stages and workers: their
 * savings are not added up. */
static void fill_savings(struct screen_builder *builder, int64_t step_ns)
{
    const struct section *stragglers = find_section(builder->rank, "stragglers");
    struct screen_amount amounts[AMOUNTS_MAX];
    size_t count = 0;

    add_savings(amounts, &count, find_table(stragglers, "kinds"), "operations", step_ns);
    add_savings(amounts, &count, find_table(stragglers, "stages"), "stages", step_ns);
    add_savings(amounts, &count, find_table(stragglers, "workers"), "workers", step_ns);
    builder->screen->chart.title = "What a step saves with their usual times";
    screen_fill_chart(builder,
                      &(struct screen_amounts){
                          .list = amounts, .count = count, .whole = step_ns, .unit = UNIT_TIME_NS});
}

/* Beside the bubble that was seen stands the one that the schedule has by itself: only what
 * lies between the two can be won back. */
static void fill_pipeline(struct screen_builder *builder)
{
    const struct section *pipeline = find_section(builder->rank, "pipeline");
    struct value step = find_number(pipeline, "step_time");
    struct value usual = find_number(pipeline, "usual_step_time");
    struct value slowdown = find_number(pipeline, "slowdown");

    builder->screen->subject = screen_format(
        builder, "%s %s %" PRId64 " data-parallel ranks x %" PRId64 " stages %s %" PRId64 " steps",
        screen_rank_file(builder), builder->dot, find_number(pipeline, "data_ranks").integer,
        find_number(pipeline, "stages").integer, builder->dot,
        find_number(pipeline, "steps").integer);
    screen_add_figure(builder, "step ", step, " mean");
    screen_add_figure(builder, "bubble ", find_number(pipeline, "bubble"), "");
    screen_add_figure(builder, "", find_number(pipeline, "ideal_bubble"), " by the schedule");
    if (slowdown.unit == UNIT_NUMBER && value_is_number(&usual))
        builder->screen->verdict = screen_format(
            builder,
            "Stragglers make the job %.2fx as slow: at usual times a step takes %s instead of %s.",
            slowdown.real, screen_value(builder, &usual), screen_value(builder, &step));
    if (step.unit == UNIT_TIME_NS)
        fill_savings(builder, step.integer);
}

static const char *const pipeline_sections[] = {"pipeline", "stragglers", "pipeline_path", NULL};

const struct screen_kind pipeline_screen = {
    .recognizes = is_pipeline,
    .fill = fill_pipeline,
    .sections = pipeline_sections,
};
