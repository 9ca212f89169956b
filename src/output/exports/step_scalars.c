/* The numbers of each step, by name. */
#include "output/exports/step_scalars.h"

#include "output/results/find_results.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Columns of tables with a row a step, as they stand there. */
static const struct plain_scalar {
    const char *section;
    const char *table;
    const char *column;
    const char *needs; /* key of a number of the section that must be known; NULL: none */
    const char *tag;
    double divisor;
    const char *description;
} plain_scalars[] = {
#define SCALAR(section, table, column, needs, tag, divisor, description) \
    {section, table, column, needs, tag, divisor, description},
#include "output/exports/step_scalar_list.def"
#undef SCALAR
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

/* The row of `table` that is about step `number`; row_count where there is none. `hint`: where it
 * is, as a rule. */
static size_t row_of_step(const struct table *table, int64_t number, size_t hint)
{
    size_t column = find_column(table, "step");
    size_t row;

    if (column == table->column_count)
        return table->row_count;
    if (hint < table->row_count &&
        table->cells[hint * table->column_count + column].integer == number)
        return hint;
    for (row = 0; row < table->row_count; row++)
        if (table->cells[row * table->column_count + column].integer == number)
            break;
    return row;
}

/* ---- as they stand in a table ---------------------------------------------------------------- */

static void add_plain(struct gathering *work, const struct plain_scalar *plain)
{
    const struct section *section = find_section(work->rank, plain->section);
    const struct table *table = find_table(section, plain->table);
    size_t column = table ? find_column(table, plain->column) : 0;
    struct value needed = plain->needs ? find_number(section, plain->needs) : value_count(0);
    size_t series;

    if (!table || column == table->column_count || !value_is_number(&needed))
        return;
    series = step_scalars_add_series(work, plain->tag, plain->description);
    for (size_t i = 0; i < work->scalars->step_count; i++) {
        struct scalar_step *step = &work->scalars->steps[i];
        size_t row = row_of_step(table, step->number, i);

        if (row < table->row_count)
            step->values[series] =
                number_or_nan(table->cells[row * table->column_count + column]) / plain->divisor;
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

bool is_account_column(const struct rank_results *rank, const struct column *column)
{
    const struct table *ledger = find_table(find_section(rank, "step_ledger"), "ledger");
    struct value key = find_cell(ledger, "key", column->key, "key");

    return column->unit == UNIT_TIME_NS && key.unit == UNIT_TEXT;
}

static bool has_time(const struct table *table, size_t column)
{
    for (size_t row = 0; row < table->row_count; row++)
        if (table->cells[row * table->column_count + column].integer != 0)
            return true;
    return false;
}

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

/* `of` a step's time: the sum of some columns of the table of matrix work. */
static void step_scalars_add_utilization(struct gathering *work, const char *number,
                                         const char *tag, const char *const columns[])
{
    const struct section *section = find_section(work->rank, "model_flops_utilization");
    const struct table *table = find_table(section, "steps");
    struct value in_all = find_number(section, number);
    size_t series;

    if (!table || !value_is_number(&in_all))
        return;
    series = step_scalars_add_series(work, tag, "of the step's time at the device's peak");
    for (size_t i = 0; i < work->scalars->step_count; i++) {
        struct scalar_step *step = &work->scalars->steps[i];
        size_t row = row_of_step(table, step->number, i);
        double ns = 0;

        for (const char *const *column = columns; *column && row < table->row_count; column++)
            ns += number_or_nan(find_cell_at(table, row, *column));
        if (row < table->row_count)
            step->values[series] = ns / (double)(step->end_ns - step->start_ns);
    }
}

static void add_rate(struct gathering *work, const char *column, const char *tag)
{
    size_t series;
    bool is_known = false;

    for (size_t row = 0; row < work->steps->row_count; row++) {
        struct value count = find_cell_at(work->steps, row, column);

        is_known = is_known || value_is_number(&count);
    }
    if (!is_known)
        return;
    series = step_scalars_add_series(work, tag, "of this rank, over the step's time");
    for (size_t i = 0; i < work->scalars->step_count; i++) {
        struct scalar_step *step = &work->scalars->steps[i];

        step->values[series] = number_or_nan(find_cell_at(work->steps, i, column)) * 1e9 /
                               (double)(step->end_ns - step->start_ns);
    }
}

/* ---- all of them ----------------------------------------------------------------------------- */

static void step_scalars_add_steps(struct gathering *work)
{
    struct step_scalars *scalars = work->scalars;

    scalars->step_count = work->steps->row_count;
    scalars->steps =
        arena_allocate(&scalars->arena, (scalars->step_count + 1) * sizeof *scalars->steps);
    for (size_t i = 0; i < scalars->step_count; i++) {
        struct scalar_step *step = &scalars->steps[i];
        struct value start_unix = find_cell_at(work->steps, i, "start_unix");
        int64_t duration_ns = find_cell_at(work->steps, i, "duration").integer;

        step->number = find_cell_at(work->steps, i, "step").integer;
        step->start_ns = find_cell_at(work->steps, i, "start").integer;
        step->end_ns = step->start_ns + duration_ns;
        step->end_unix_ns = value_is_number(&start_unix) ? start_unix.integer + duration_ns : -1;
        step->values = arena_allocate(&scalars->arena, work->capacity * sizeof *step->values);
        for (size_t k = 0; k < work->capacity; k++)
            step->values[k] = NAN;
    }
}

void find_step_scalars(struct step_scalars *scalars, const struct rank_results *rank)
{
    static const char *const model[] = {"model", NULL};
    static const char *const executed[] = {"model", "recomputed", "extra", NULL};
    struct gathering work = {
        .scalars = scalars,
        .rank = rank,
        .steps = find_table(find_section(rank, "step_ledger"), "steps"),
    };

    if (!work.steps)
        return;
    work.capacity = PLAIN_COUNT + 2 * work.steps->column_count + 4;
    scalars->series = arena_allocate(&scalars->arena, work.capacity * sizeof *scalars->series);
    step_scalars_add_steps(&work);
    step_scalars_add_utilization(&work, "mfu", "mfu", model);
    step_scalars_add_utilization(&work, "hfu", "hfu", executed);
    add_rate(&work, "tokens", "tokens_per_second");
    add_rate(&work, "samples", "samples_per_second");
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
