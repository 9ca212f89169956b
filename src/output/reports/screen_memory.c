/* The first screens of memory: of a snapshot of the allocator, and of recorded steps. */
#include "base/text/format.h"
#include "output/reports/screen_steps.h"
#include "output/reports/screen_text.h"
#include "output/results/metrics.h"
#include "output/results/results.h"

#include <math.h>
#include <string.h>

enum { AMOUNTS_MAX = 64 };

/* The last row may be the sum of the others. */
static bool screen_memory_is_whole(const struct table *table, size_t row, int64_t bytes,
                                   int64_t whole)
{
    return row > 0 && row + 1 == table->row_count && bytes == whole;
}

/* The rows of a table of what was allocated, and what else makes up the whole. Rows are cut at
 * --top; what they lack to the whole is a row of its own, so that parts add up to the peak. */
static void screen_memory_fill_chart(struct screen_builder *builder, const struct table *table,
                                     const char *what, const char *bytes, int64_t whole)
{
    struct screen_amount amounts[AMOUNTS_MAX];
    int64_t rest = whole;
    size_t count = 0;

    for (size_t row = 0; table && row < table->row_count && count + 1 < AMOUNTS_MAX; row++) {
        struct value title = find_cell_at(table, row, what);
        struct value size = find_cell_at(table, row, bytes);
        struct value blocks = find_cell_at(table, row, "blocks");

        if (table->depths[row] > 0 || title.unit != UNIT_TEXT || size.unit != UNIT_BYTES ||
            screen_memory_is_whole(table, row, size.integer, whole))
            continue;
        amounts[count++] = (struct screen_amount){
            .group = "",
            .title = title.text,
            .amount = size.integer,
            .remark = blocks.unit == UNIT_COUNT
                          ? screen_format(builder, "%s", format_count(blocks.integer).text)
                          : NULL,
        };
        rest -= size.integer;
    }
    /* Below 0 parts overlap, and are shown as such: not as a sum. */
    if (rest > 0)
        amounts[count++] = (struct screen_amount){
            .group = "", .title = "other", .amount = rest, .is_gathered = true, .is_several = true};
    screen_fill_chart(builder, &(struct screen_amounts){.list = amounts,
                                                        .count = count,
                                                        .whole = whole,
                                                        .unit = UNIT_BYTES,
                                                        .adds_up = rest >= 0});
    builder->screen->chart.title = "At the peak";
}

/* "The largest part of the peak is model.py:31 attention: 9.02 MiB (23.0 %)." Rows that stand
 * for several are no cause to name. */
static const char *screen_memory_verdict_of(struct screen_builder *builder, int64_t whole)
{
    const struct screen_chart *chart = &builder->screen->chart;
    const struct screen_row *largest = NULL;
    struct value bytes;

    for (size_t i = 0; i < chart->row_count; i++)
        if (chart->rows[i].is_single && (!largest || chart->rows[i].share > largest->share))
            largest = &chart->rows[i];
    if (!largest)
        return NULL;
    bytes = value_bytes(llround(largest->share * (double)whole));
    return screen_format(builder, "The largest part of the peak is %s: %s (%s %%).", largest->title,
                         screen_value(builder, &bytes), largest->percent);
}

static bool is_snapshot(const struct screen_builder *builder)
{
    return find_section(builder->rank, "snapshot_peak") != NULL;
}

/* The peak, not the end: memory runs out at the peak. What is reserved then tells how much of
 * it the allocator itself holds. */
static void fill_snapshot(struct screen_builder *builder)
{
    const struct section *peak = find_section(builder->rank, "snapshot_peak");
    const struct table *places = find_table(peak, "by_place");

    builder->screen->subject = screen_format(builder, "%s %s %s", screen_rank_file(builder),
                                             builder->dot, builder->rank->label);
    screen_add_figure(builder, "peak ", find_number(peak, "peak_bytes"), " allocated");
    screen_add_figure(builder, "", find_number(peak, "reserved_at_peak"), " reserved then");
    screen_add_figure(builder, "", find_number(peak, "peak_time"), " after the start");
    screen_add_figure(builder, "at the end ", find_number(peak, "end_bytes"), "");
    screen_memory_fill_chart(builder, places, "what", "bytes",
                             find_number(peak, "peak_bytes").integer);
    if (!builder->screen->verdict)
        builder->screen->verdict =
            screen_memory_verdict_of(builder, find_number(peak, "peak_bytes").integer);
    builder->screen->chart.remark_title = "blocks";
}

static const char *const snapshot_sections[] = {"snapshot_oom",      "snapshot_peak",
                                                "snapshot_timeline", "snapshot_allocator",
                                                "snapshot_growth",   NULL};

const struct screen_kind snapshot_screen = {
    .recognizes = is_snapshot,
    .fill = fill_snapshot,
    .sections = snapshot_sections,
};

/* What --fit asks: "Of 80 GiB: a micro-batch of 28 samples fits, a sequence of 229 tokens." */
static void answer_fit(struct screen_builder *builder, const struct section *fit)
{
    struct value budget = find_number(fit, "budget");
    struct value samples = find_number(fit, "most_samples");
    struct value length = find_number(fit, "most_length");

    if (budget.unit != UNIT_BYTES || samples.unit != UNIT_COUNT)
        return;
    screen_add_answer(
        builder,
        screen_format(builder, "The largest micro-batch that fits %s is %s%s%s.",
                      screen_value(builder, &budget), format_count(samples.integer).text,
                      length.unit == UNIT_COUNT ? "; the longest sequence is " : "",
                      length.unit == UNIT_COUNT
                          ? screen_format(builder, "%s tokens", format_count(length.integer).text)
                          : ""));
}

static bool is_step_memory(const struct screen_builder *builder)
{
    return metric_number(builder->rank, METRIC_MEMORY_PEAK).unit == UNIT_BYTES;
}

/* The largest batch that fits is told only where a budget was given. In which step and phase
 * the peak lies is one figure: either alone does not find the place. */
static void fill_step_memory(struct screen_builder *builder)
{
    const struct section *memory = find_section(builder->rank, "memory");
    const struct table *of_kinds = find_table(memory, "kinds");
    struct value phase = find_number(memory, "peak_phase");
    struct value step = find_number(memory, "peak_step");

    builder->screen->subject = screen_format(builder, "%s %s memory of the steps",
                                             screen_rank_file(builder), builder->dot);
    screen_add_figure(builder, "peak ", metric_number(builder->rank, METRIC_MEMORY_PEAK),
                      " allocated");
    screen_add_figure(builder, "", metric_number(builder->rank, METRIC_MEMORY_RESERVED_PEAK),
                      " reserved");
    if (step.unit == UNIT_COUNT && phase.unit == UNIT_TEXT)
        screen_add_figure(builder, "in step ", step, screen_format(builder, ", %s", phase.text));
    screen_add_figure(builder, "at the end ", find_number(memory, "at_end"), "");
    answer_fit(builder, find_section(builder->rank, "memory_fit"));
    screen_memory_fill_chart(builder, of_kinds, "kind", "peak",
                             metric_number(builder->rank, METRIC_MEMORY_PEAK).integer);
    if (!builder->screen->verdict)
        builder->screen->verdict = screen_memory_verdict_of(
            builder, metric_number(builder->rank, METRIC_MEMORY_PEAK).integer);
}

static const char *const memory_sections[] = {"memory_fit",    "memory",        "memory_modules",
                                              "memory_blocks", "memory_growth", NULL};

const struct screen_kind step_memory_screen = {
    .recognizes = is_step_memory,
    .fill = fill_step_memory,
    .sections = memory_sections,
};
