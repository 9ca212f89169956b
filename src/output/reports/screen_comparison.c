/* The first screen of two runs: what changed, and whether it is more than noise. */
#include "output/reports/screen_text.h"
#include "output/results/results.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { AMOUNTS_MAX = 64 };

static bool is_comparison(const struct screen_builder *builder)
{
    return find_table(find_section(builder->rank, "difference"), "waterfall") != NULL;
}

/* "723 us -> 72.4 us, less" */
static const char *screen_comparison_remark_on(struct screen_builder *builder,
                                               const struct table *table, size_t row)
{
    struct value a = find_cell_at(table, row, "a");
    struct value b = find_cell_at(table, row, "b");
    struct value verdict = find_cell_at(table, row, "verdict");

    if (a.unit != UNIT_TIME_NS || b.unit != UNIT_TIME_NS || verdict.unit != UNIT_TEXT)
        return NULL;
    return screen_format(builder, "%s to %s, %s", screen_value(builder, &a),
                         screen_value(builder, &b), verdict.text);
}

/* By the size of the change, in either direction. */
static int by_size(const void *first, const void *second)
{
    const struct screen_amount *a = first, *b = second;
    int64_t left = llabs(a->amount), right = llabs(b->amount);

    return left < right ? 1 : left > right ? -1 : 0;
}

/* The accounts that changed most, in either direction. A change below a thousandth of the step
 * is left out, as one digit would show. Shares are of A's step, and do not add up to it: changes
 * are of both signs. */
static void screen_comparison_fill_chart(struct screen_builder *builder, const struct table *table)
{
    struct screen_amount amounts[AMOUNTS_MAX];
    struct value step = find_cell_at(table, 0, "a");
    size_t count = 0;

    for (size_t row = 0; row < table->row_count && count < AMOUNTS_MAX; row++) {
        struct value change = find_cell_at(table, row, "change");

        if (table->depths[row] == 0 || change.unit != UNIT_TIME_NS || change.integer == 0 ||
            llabs(change.integer) < step.integer / 1000)
            continue;
        amounts[count++] =
            (struct screen_amount){.group = "",
                                   .title = find_cell_at(table, row, "account").text,
                                   .key = find_cell_at(table, row, "key").text,
                                   .amount = change.integer,
                                   .remark = screen_comparison_remark_on(builder, table, row)};
    }
    qsort(amounts, count, sizeof *amounts, by_size);
    if (count > SCREEN_ROWS_MAX - 2)
        count = SCREEN_ROWS_MAX - 2;
    /* Without A's step there is no whole to draw the changes against. */
    if (step.unit != UNIT_TIME_NS)
        return;
    builder->screen->chart.title = "What changed, of A's step";
    builder->screen->chart.remark_title = "A to B";
    screen_fill_chart(
        builder, &(struct screen_amounts){
                     .list = amounts, .count = count, .whole = step.integer, .unit = UNIT_TIME_NS});
}

/* The interval stands beside the change, so that noise is seen as such. */
static void screen_comparison_add_figures(struct screen_builder *builder,
                                          const struct section *difference)
{
    struct value low = find_number(difference, "change_low");
    struct value high = find_number(difference, "change_high");
    struct value speedup = find_number(difference, "speedup");

    screen_add_figure(builder, "step of A ", find_number(difference, "step_time_a"), "");
    screen_add_figure(builder, "step of B ", find_number(difference, "step_time_b"), "");
    if (speedup.unit == UNIT_NUMBER)
        screen_add_figure_text(builder, screen_format(builder, "%.2fx as fast", speedup.real));
    screen_add_figure(builder, "change ", find_number(difference, "change"), "");
    if (low.unit == UNIT_TIME_NS && high.unit == UNIT_TIME_NS)
        screen_add_figure_text(builder, screen_format(builder, "95 %% confidence %s to %s",
                                                      screen_value(builder, &low),
                                                      screen_value(builder, &high)));
}

/* "B is 1.12x as fast as A: 3.88 ms a step instead of 4.36 ms.", "B takes 1.12x as long as A:
 * ..." Two times that print alike are called the same, whatever their last digits. Above 1 the
 * factor is of speed, below it of time: "0.89x as fast" is read wrong. */
static const char *screen_comparison_verdict_of(struct screen_builder *builder,
                                                const struct section *difference)
{
    struct value a = find_number(difference, "step_time_a");
    struct value b = find_number(difference, "step_time_b");
    const struct number *change = NULL;
    double factor;

    for (size_t i = 0; i < difference->number_count; i++)
        if (strcmp(difference->numbers[i].key, "change") == 0)
            change = &difference->numbers[i];
    if (a.unit != UNIT_TIME_NS || b.unit != UNIT_TIME_NS || a.integer <= 0 || b.integer <= 0)
        return NULL;
    factor = (double)a.integer / (double)b.integer;
    if (strcmp(screen_value(builder, &a), screen_value(builder, &b)) == 0)
        return screen_format(builder, "A and B take the same time: %s a step.",
                             screen_value(builder, &a));
    return screen_format(
        builder, "B %s %.2fx as %s as A: %s a step instead of %s%s.", factor >= 1 ? "is" : "takes",
        factor >= 1 ? factor : 1 / factor, factor >= 1 ? "fast" : "long", screen_value(builder, &b),
        screen_value(builder, &a),
        change && change->note && strstr(change->note, "noise") ? ", within noise" : "");
}

/* What --fail-if asks for: "step_time<-3%: met (...)" */
static void answer_conditions(struct screen_builder *builder, const struct section *section)
{
    const struct table *table = find_table(section, "conditions");

    for (size_t row = 0; table && row < table->row_count; row++)
        screen_add_answer(builder, screen_format(builder, "--fail-if %s is %s: %s",
                                                 find_cell_at(table, row, "condition").text,
                                                 find_cell_at(table, row, "state").text,
                                                 find_cell_at(table, row, "said").text));
}

/* Of two paths what tells them apart: the first folder, or else the file, in which they differ.
 * Paths of two runs mostly differ in one folder (workers_0, workers_4), and that is what a
 * reader calls them. Compared up to the last slash that both share. */
static const char *own_part(struct screen_builder *builder, const char *path, const char *other)
{
    const char *part = path;

    for (size_t i = 0; path[i] && path[i] == other[i]; i++)
        if (path[i] == '/')
            part = path + i + 1;
    if (strcmp(path, other) == 0 || strcspn(part, "/") == 0)
        return strrchr(path, '/') && strrchr(path, '/')[1] ? strrchr(path, '/') + 1 : path;
    return screen_format(builder, "%.*s", (int)strcspn(part, "/"), part);
}

/* "A: workers_0, B: workers_4": section "runs" has the whole paths. */
static const char *compared_files(struct screen_builder *builder)
{
    const struct table *facts = find_table(find_section(builder->rank, "runs"), "facts");
    struct value a = find_cell(facts, "key", "file", "a");
    struct value b = find_cell(facts, "key", "file", "b");

    if (a.unit != UNIT_TEXT || b.unit != UNIT_TEXT)
        return builder->rank->file;
    return screen_format(builder, "A: %s, B: %s", own_part(builder, a.text, b.text),
                         own_part(builder, b.text, a.text));
}

/* Conditions are answers and not the verdict: what changed stands above whether a gate holds.
 * Without a verdict of its own the builder's stays. */
static void fill_comparison(struct screen_builder *builder)
{
    const struct section *difference = find_section(builder->rank, "difference");
    const char *verdict = screen_comparison_verdict_of(builder, difference);

    builder->screen->subject =
        screen_format(builder, "Comparison %s %s", builder->dot, compared_files(builder));
    screen_comparison_add_figures(builder, difference);
    screen_comparison_fill_chart(builder, find_table(difference, "waterfall"));
    answer_conditions(builder, find_section(builder->rank, "conditions"));
    if (verdict)
        builder->screen->verdict = verdict;
}

static const char *const sections[] = {"difference",       "work_changes",   "kernel_changes",
                                       "operator_changes", "module_changes", "memory_changes",
                                       "conditions",       "runs",           NULL};

const struct screen_kind comparison_screen = {
    .recognizes = is_comparison,
    .fill = fill_comparison,
    .sections = sections,
};
