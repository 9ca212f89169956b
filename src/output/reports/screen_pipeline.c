/* The first screen of a timeline of a pipeline-parallel job: what stragglers cost, and which. */
#include "output/reports/screen_steps.h"
#include "output/reports/screen_text.h"
#include "output/results/find_results.h"

#include <inttypes.h>
#include <math.h>

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
        screen_file_name(builder->rank->file), builder->dot,
        find_number(pipeline, "data_ranks").integer, find_number(pipeline, "stages").integer,
        builder->dot, find_number(pipeline, "steps").integer);
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

static const char *const sections[] = {"pipeline", "stragglers", "pipeline_path", NULL};

const struct screen_kind pipeline_screen = {
    .recognizes = is_pipeline,
    .fill = fill_pipeline,
    .sections = sections,
};
