/* Rows of changes: before, after, the difference, and whether it is more than noise. */
#include "sections/comparison/comparison_sections.h"

#include <math.h>
#include <string.h>

enum change_column {
    COLUMN_NAME,
    COLUMN_DETAIL,
    COLUMN_A,
    COLUMN_B,
    COLUMN_CHANGE,
    COLUMN_RELATIVE,
    COLUMN_VERDICT,
    COLUMN_CALLS_A,
    COLUMN_CALLS_B,
    COLUMN_LOW,
    COLUMN_HIGH,
    COLUMN_CHANCE,
    COLUMN_RATE,
    COLUMN_KEY,
    COLUMN_COUNT,
};

/* All columns are always there, so that programs find them; only what people see differs:
 * calls and shapes have the priority of programs where a kind of measure has none of them. */
struct table *add_change_table(struct results *results, struct section *section, const char *key,
                               const char *title, const struct change_columns *columns)
{
    int for_calls = columns->extras >= CHANGES_WITH_CALLS ? 3 : PRIORITY_FOR_PROGRAMS;
    int for_detail = columns->extras >= CHANGES_WITH_CALLS_AND_SHAPES ? 1 : PRIORITY_FOR_PROGRAMS;
    const struct column all[COLUMN_COUNT] = {
        [COLUMN_NAME] = {columns->key, columns->title, UNIT_TEXT, 0, BAR_NONE},
        [COLUMN_DETAIL] = {"input_shapes", "input shapes", UNIT_TEXT, for_detail, BAR_NONE},
        [COLUMN_A] = {"a", "A, per step", columns->unit, 0, BAR_NONE},
        [COLUMN_B] = {"b", "B, per step", columns->unit, 0, BAR_NONE},
        [COLUMN_CHANGE] = {"change", "change", columns->unit, 0, BAR_NONE},
        [COLUMN_RELATIVE] = {"relative", "of A", UNIT_FRACTION, 2, BAR_NONE},
        [COLUMN_VERDICT] = {"verdict", "verdict", UNIT_TEXT, 0, BAR_NONE},
        [COLUMN_CALLS_A] = {"calls_a", "calls in A", UNIT_NUMBER, for_calls, BAR_NONE},
        [COLUMN_CALLS_B] = {"calls_b", "calls in B", UNIT_NUMBER, for_calls, BAR_NONE},
        [COLUMN_LOW] = {"change_low", "at least", columns->unit, PRIORITY_FOR_PROGRAMS, BAR_NONE},
        [COLUMN_HIGH] = {"change_high", "at most", columns->unit, PRIORITY_FOR_PROGRAMS, BAR_NONE},
        [COLUMN_CHANCE] = {"p", "p", UNIT_NUMBER, PRIORITY_FOR_PROGRAMS, BAR_NONE},
        [COLUMN_RATE] = {"q", "q", UNIT_NUMBER, PRIORITY_FOR_PROGRAMS, BAR_NONE},
        [COLUMN_KEY] = {"key", "key", UNIT_TEXT, PRIORITY_FOR_PROGRAMS, BAR_NONE},
    };

    return section_add_table(results, section, key, title, all, COLUMN_COUNT);
}

/* A mean of nanoseconds or bytes is rounded to whole ones, as a value of these units is an
 * integer; means of all other units keep their fraction, counts too (2.5 launches a step). */
struct value mean_as_value(const struct measure *measure, double mean)
{
    switch (measure->unit) {
    case UNIT_TIME_NS:
        return value_time_ns(llround(mean));
    case UNIT_BYTES:
        return value_bytes(llround(mean));
    case UNIT_FRACTION:
        return value_fraction(mean);
    case UNIT_FLOPS:
        return value_flops(mean);
    case UNIT_COUNT:
    case UNIT_NUMBER:
    case UNIT_NONE:
    case UNIT_TEXT:
    case UNIT_BYTES_PER_SECOND:
    case UNIT_FLOPS_PER_SECOND:
    case UNIT_NOT_KNOWN:
        break;
    }
    return value_number(mean);
}

static const char one_step[] = "needs two steps or more in both runs";

/* Of one step nothing tells how much steps differ. */
static void fill_noise(struct value *cells, const struct measure *measure,
                       const struct change *change)
{
    if (!change->noise.is_known) {
        for (int i = COLUMN_LOW; i <= COLUMN_RATE; i++)
            cells[i] = value_not_known(one_step);
        return;
    }
    cells[COLUMN_LOW] = mean_as_value(measure, change->noise.low);
    cells[COLUMN_HIGH] = mean_as_value(measure, change->noise.high);
    cells[COLUMN_CHANCE] = value_number(change->noise.chance);
    cells[COLUMN_RATE] = value_number(change->rate);
}

/* A relative change of a share would be a percentage of a percentage: points are told instead. */
void add_change_row(struct results *results, struct table *table,
                    const struct run_comparison *comparison, const struct change *change,
                    struct change_label label)
{
    const struct measure *measure = change_measure(change);
    struct value *cells = table_add_row(results, table, label.depth);

    cells[COLUMN_NAME] =
        value_text(results_text(results, label.text ? label.text : measure->title));
    if (measure->detail[0])
        cells[COLUMN_DETAIL] = value_text(results_text(results, measure->detail));
    cells[COLUMN_A] = mean_as_value(measure, change->mean_a);
    cells[COLUMN_B] = mean_as_value(measure, change->mean_b);
    cells[COLUMN_CHANGE] = mean_as_value(measure, change->mean_b - change->mean_a);
    if (change->mean_a != 0 && measure->unit != UNIT_FRACTION)
        cells[COLUMN_RELATIVE] = value_fraction((change->mean_b - change->mean_a) / change->mean_a);
    cells[COLUMN_VERDICT] = value_text(change_verdict_text(change->verdict));
    if (measure->calls) {
        cells[COLUMN_CALLS_A] =
            value_number(change->a ? measure_mean_calls(comparison->a, change->a) : 0);
        cells[COLUMN_CALLS_B] =
            value_number(change->b ? measure_mean_calls(comparison->b, change->b) : 0);
    }
    fill_noise(cells, measure, change);
    cells[COLUMN_KEY] = value_text(results_text(results, measure->name));
}

bool change_is_shown(const struct change *change, const struct comparison_view *view)
{
    return !view->only_significant || change_is_significant(change);
}

/* A table of all changes of a kind; UNIT_NONE: of whatever unit. */
struct kind_table {
    enum measure_kind kind;
    enum unit unit;
    const char *key;
    const char *title;
    struct change_columns columns;
};

static const struct kind_table kind_tables[] = {
    {MEASURE_GROUP,
     UNIT_NONE,
     "groups",
     "Accounts together",
     {"group", "accounts", UNIT_TIME_NS, CHANGES_ALONE}},
    {MEASURE_WORK,
     UNIT_FRACTION,
     "shares",
     "Shares of a step",
     {"what", "what", UNIT_FRACTION, CHANGES_ALONE}},
    {MEASURE_WORK, UNIT_FLOPS, "flops", "FLOPs", {"what", "what", UNIT_FLOPS, CHANGES_ALONE}},
    {MEASURE_WORK,
     UNIT_TIME_NS,
     "times",
     "Times beside the accounts",
     {"what", "what", UNIT_TIME_NS, CHANGES_ALONE}},
    {MEASURE_WORK, UNIT_COUNT, "counts", "Counts", {"what", "what", UNIT_NUMBER, CHANGES_ALONE}},
    {MEASURE_WORK, UNIT_BYTES, "bytes", "Bytes", {"what", "what", UNIT_BYTES, CHANGES_ALONE}},
    {MEASURE_CLASS,
     UNIT_NONE,
     "classes",
     "Kernels by the kind of work",
     {"class", "kernels of", UNIT_TIME_NS, CHANGES_WITH_CALLS}},
    {MEASURE_OPERATOR,
     UNIT_NONE,
     "device_time",
     "Operators, by the device time they launched",
     {"operator", "operator", UNIT_TIME_NS, CHANGES_WITH_CALLS_AND_SHAPES}},
    {MEASURE_HOST_OPERATOR,
     UNIT_NONE,
     "host_time",
     "Operators, by their own time on the host",
     {"operator", "operator", UNIT_TIME_NS, CHANGES_WITH_CALLS_AND_SHAPES}},
    {MEASURE_MATMUL,
     UNIT_NONE,
     "matmuls",
     "Matmuls by their sizes, whichever operator computes them",
     {"product", "matmul", UNIT_TIME_NS, CHANGES_WITH_CALLS}},
    {MEASURE_MODULE,
     UNIT_NONE,
     "modules",
     "Modules, with those in them",
     {"module", "module", UNIT_TIME_NS, CHANGES_ALONE}},
    {MEASURE_MEMORY,
     UNIT_NONE,
     "memory",
     "Memory when the step holds most",
     {"what", "held for", UNIT_BYTES, CHANGES_ALONE}},
};
enum { KIND_TABLE_COUNT = sizeof kind_tables / sizeof *kind_tables };

static bool is_in_table(const struct kind_table *of, const struct change *change,
                        const struct comparison_view *view)
{
    return change_is_shown(change, view) &&
           (of->unit == UNIT_NONE || of->unit == change_measure(change)->unit);
}

/* Counted before the table is made: an empty table would stand in the report with its title
 * alone. The changes of a kind lie together and are sorted, hence the first rows are those to
 * show. */
static void add_kind_table(struct results *results, struct section *section,
                           const struct run_comparison *comparison,
                           const struct comparison_view *view, const struct kind_table *of)
{
    uint32_t first = comparison->first[of->kind], end = comparison->first[of->kind + 1];
    struct table *table;
    size_t count = 0;

    for (uint32_t i = first; i < end; i++)
        count += is_in_table(of, &comparison->changes[i], view);
    if (count == 0)
        return;
    table = add_change_table(results, section, of->key, of->title, &of->columns);
    table->rows_in_all = count;
    for (uint32_t i = first; i < end && table->row_count < view->top; i++)
        if (is_in_table(of, &comparison->changes[i], view))
            add_change_row(results, table, comparison, &comparison->changes[i],
                           (struct change_label){NULL, 0});
}

void add_changes_of_kind(struct results *results, struct section *section,
                         const struct run_comparison *comparison,
                         const struct comparison_view *view, enum measure_kind kind)
{
    for (int i = 0; i < KIND_TABLE_COUNT; i++)
        if (kind_tables[i].kind == kind)
            add_kind_table(results, section, comparison, view, &kind_tables[i]);
}
