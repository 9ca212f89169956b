/* The numbers of each step, by name. */
#include "output/exports/step_scalars.h"

#include "output/results/metrics.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Columns of tables with a row a step, as they stand there. */
static const struct plain_scalar {
    enum metric metric;
    enum metric needs; /* a number that must be known; NO_METRIC: none */
    const char *tag;
    double divisor;
    const char *description; /* NULL: the metric's help */
} plain_scalars[] = {
#define SCALAR(id, needs, tag, divisor, description) \
    {METRIC_##id, needs, tag, divisor, description},
#include "output/results/metric_list.def"
};
enum { PLAIN_COUNT = sizeof plain_scalars / sizeof *plain_scalars };

struct gathering {
    struct step_scalars *scalars;
    const struct rank_results *rank;
    const struct table *steps; /* step_ledger.steps */
    size_t capacity;           /* of series and of each step's values */
};

static size_t step_scalars_add_series(struct gathering *work, const char *tag,
                                      const char *description)
{
    work->scalars->series[work->scalars->series_count] = (struct scalar_series){tag, description};
    return work->scalars->series_count++;
}

static double number_or_nan(struct value value)
{
    return value_is_number(&value) ? value_as_real(&value) : NAN;
}

static bool is_of_step(const struct table *table, size_t row, int64_t number)
{
    struct value step = metric_cell(table, row, METRIC_STEP);

    return value_is_number(&step) && step.integer == number;
}

/* The row of `table` that is about step `number`; row_count where there is none. `hint`: where it
 * is, as a rule. Tables of steps have the same order as a rule, so that the hint is right and
 * all of it is linear. */
static size_t row_of_step(const struct table *table, int64_t number, size_t hint)
{
    size_t row;

    if (is_of_step(table, hint, number))
        return hint;
    for (row = 0; row < table->row_count; row++)
        if (is_of_step(table, row, number))
            break;
    return row;
}

/* ---- as they stand in a table ---------------------------------------------------------------- */

/* A column whose total is not known has numbers that mean nothing alone (tokens without a
 * model): then the series is left out. */
static void add_plain(struct gathering *work, const struct plain_scalar *plain)
{
    struct metric_column column = metric_column(work->rank, plain->metric);
    struct value needed =
        plain->needs == NO_METRIC ? value_count(0) : metric_number(work->rank, plain->needs);
    size_t series;

    if (!column.table || !value_is_number(&needed))
        return;
    series = step_scalars_add_series(work, plain->tag,
                                     plain->description ? plain->description
                                                        : metric_declarations[plain->metric].help);
    for (size_t i = 0; i < work->scalars->step_count; i++) {
        struct scalar_step *step = &work->scalars->steps[i];
        size_t row = row_of_step(column.table, step->number, i);

        if (row < column.table->row_count)
            step->values[series] = number_or_nan(metric_column_cell(column, row)) / plain->divisor;
    }
}

/* ---- accounts -------------------------------------------------------------------------------- */

static const char *step_scalars_joined(struct gathering *work, const char *first,
                                       const char *second)
{
    size_t size = strlen(first) + strlen(second) + 1;
    char *text = arena_allocate(&work->scalars->arena, size);

    (void)snprintf(text, size, "%s%s", first, second);
    return text;
}

/* A column of the table of steps whose key is that of a line of the ledger: whatever accounts
 * there are, none is named here. */
bool is_account_column(const struct rank_results *rank, const struct column *column)
{
    struct metric_column accounts = metric_column(rank, METRIC_LEDGER_ACCOUNT);

    if (!accounts.table || column->unit != UNIT_TIME_NS)
        return false;
    for (size_t row = 0; row < accounts.table->row_count; row++)
        if (strcmp(metric_column_cell(accounts, row).text, column->key) == 0)
            return true;
    return false;
}

/* An account that no step spends time in would be a flat line among those that say something. */
static bool has_time(const struct table *table, size_t column)
{
    for (size_t row = 0; row < table->row_count; row++)
        if (table->cells[row * table->column_count + column].integer != 0)
            return true;
    return false;
}

/* Two series: milliseconds tell what a step costs, shares compare steps of different length. */
static void step_scalars_add_account(struct gathering *work, size_t column)
{
    const struct column *account = &work->steps->columns[column];
    size_t time = step_scalars_add_series(
        work, step_scalars_joined(work, "accounts_ms/", account->key), account->title);
    size_t share =
        step_scalars_add_series(work, step_scalars_joined(work, "accounts_share/", account->key),
                                step_scalars_joined(work, account->title, ", of the step"));

    for (size_t i = 0; i < work->scalars->step_count; i++) {
        struct scalar_step *step = &work->scalars->steps[i];
        double ns = number_or_nan(work->steps->cells[i * work->steps->column_count + column]);

        step->values[time] = ns / 1e6;
        step->values[share] = ns / (double)(step->end_ns - step->start_ns);
    }
}

static void step_scalars_add_accounts(struct gathering *work)
{
    for (size_t column = 0; column < work->steps->column_count; column++)
        if (is_account_column(work->rank, &work->steps->columns[column]) &&
            has_time(work->steps, column))
            step_scalars_add_account(work, column);
}

/* ---- what is worked out from several columns ------------------------------------------------- */

/* The share of a step's time that some columns sum to. MFU counts the model's FLOPs, HFU those
 * that were executed, recomputed and unneeded ones included (PaLM, appendix B): each as its time
 * at the peak over the step's time. */
static void step_scalars_add_utilization(struct gathering *work, enum metric total, const char *tag,
                                         const enum metric metrics[])
{
    const struct table *table = metric_column(work->rank, metrics[0]).table;
    struct value known = metric_number(work->rank, total);
    size_t series;

    if (!table || !value_is_number(&known))
        return;
    series = step_scalars_add_series(work, tag, "of the step's time at the device's peak");
    for (size_t i = 0; i < work->scalars->step_count; i++) {
        struct scalar_step *step = &work->scalars->steps[i];
        size_t row = row_of_step(table, step->number, i);
        double ns = 0;

        for (size_t k = 0; metrics[k] != NO_METRIC && row < table->row_count; k++)
            ns += number_or_nan(metric_cell(table, row, metrics[k]));
        if (row < table->row_count)
            step->values[series] = ns / (double)(step->end_ns - step->start_ns);
    }
}

/* Left out where no step's count is known. */
static void add_rate(struct gathering *work, enum metric metric, const char *tag)
{
    size_t series;
    bool is_known = false;

    for (size_t row = 0; row < work->steps->row_count; row++) {
        struct value count = metric_cell(work->steps, row, metric);

        is_known = is_known || value_is_number(&count);
    }
    if (!is_known)
        return;
    series = step_scalars_add_series(work, tag, "of this rank, over the step's time");
    for (size_t i = 0; i < work->scalars->step_count; i++) {
        struct scalar_step *step = &work->scalars->steps[i];

        step->values[series] = number_or_nan(metric_cell(work->steps, i, metric)) * 1e9 /
                               (double)(step->end_ns - step->start_ns);
    }
}

/* ---- all of them ----------------------------------------------------------------------------- */

/* NAN is "not known" in every cell until something fills it. */
static void step_scalars_add_steps(struct gathering *work)
{
    struct step_scalars *scalars = work->scalars;

    scalars->step_count = work->steps->row_count;
    scalars->steps =
        arena_allocate(&scalars->arena, (scalars->step_count + 1) * sizeof *scalars->steps);
    for (size_t i = 0; i < scalars->step_count; i++) {
        struct scalar_step *step = &scalars->steps[i];
        struct value start_unix = metric_cell(work->steps, i, METRIC_STEP_START_UNIX);
        int64_t duration_ns = metric_cell(work->steps, i, METRIC_STEP_DURATION).integer;

        step->number = metric_cell(work->steps, i, METRIC_STEP).integer;
        step->start_ns = metric_cell(work->steps, i, METRIC_STEP_START).integer;
        step->end_ns = step->start_ns + duration_ns;
        step->end_unix_ns = value_is_number(&start_unix) ? start_unix.integer + duration_ns : -1;
        step->values = arena_allocate(&scalars->arena, work->capacity * sizeof *step->values);
        for (size_t k = 0; k < work->capacity; k++)
            step->values[k] = NAN;
    }
}

/* Capacity: each plain one, two for each account column, four that are worked out. */
void find_step_scalars(struct step_scalars *scalars, const struct rank_results *rank)
{
    static const enum metric model[] = {METRIC_STEP_MODEL_TIME, NO_METRIC};
    static const enum metric executed[] = {METRIC_STEP_MODEL_TIME, METRIC_STEP_RECOMPUTED_TIME,
                                           METRIC_STEP_EXTRA_TIME, NO_METRIC};
    struct gathering work = {
        .scalars = scalars,
        .rank = rank,
        .steps = metric_column(rank, METRIC_STEP_DURATION).table,
    };

    if (!work.steps)
        return;
    work.capacity = PLAIN_COUNT + 2 * work.steps->column_count + 4;
    scalars->series = arena_allocate(&scalars->arena, work.capacity * sizeof *scalars->series);
    step_scalars_add_steps(&work);
    step_scalars_add_utilization(&work, METRIC_MFU, "mfu", model);
    step_scalars_add_utilization(&work, METRIC_HFU, "hfu", executed);
    add_rate(&work, METRIC_STEP_TOKENS, "tokens_per_second");
    add_rate(&work, METRIC_STEP_SAMPLES, "samples_per_second");
    for (size_t i = 0; i < PLAIN_COUNT; i++)
        add_plain(&work, &plain_scalars[i]);
    step_scalars_add_accounts(&work);
}

void step_scalars_clear(struct step_scalars *scalars)
{
    if (!scalars)
        return;
    arena_clear(&scalars->arena);
    *scalars = (struct step_scalars){0};
}
