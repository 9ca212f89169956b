/* Several ranks beside a plan: whom the others wait for. */
#include "base/text/format.h"
#include "sections/model/plan_sections.h"

#include <math.h>
#include <string.h>

enum { COLUMN_TITLE, COLUMN_KEY, COLUMN_PLANNED, COLUMN_MEASURED };

static const struct table *against_table(const struct rank_results *rank)
{
    return rank->section_count > 0 && rank->sections[0]->table_count > 0
               ? rank->sections[0]->tables[0]
               : NULL;
}

/* Measured, of the account; 0 where the rank has none. */
static double against_measured(const struct rank_results *rank, const char *key)
{
    const struct table *table = against_table(rank);

    for (size_t row = 0; table && row < table->row_count; row++) {
        const struct value *cells = table->cells + row * table->column_count;

        if (strcmp(cells[COLUMN_KEY].text, key) == 0)
            return (double)cells[COLUMN_MEASURED].integer;
    }
    return 0.0;
}

static double against_step(const struct rank_results *rank)
{
    const struct table *table = against_table(rank);
    double ns = 0.0;

    for (size_t row = 0; table && row < table->row_count; row++)
        ns += (double)table->cells[row * table->column_count + COLUMN_MEASURED].integer;
    return ns;
}

static const char exposed_key[] = "exposed_communication";

/* Of what is no communication, the row that this rank has most of beside the mean of all. */
static const struct value *straggler_excess(const struct results *results, size_t rank,
                                            double *excess_ns)
{
    const struct table *table = against_table(&results->ranks[rank]);
    const struct value *most = NULL;

    *excess_ns = 0.0;
    for (size_t row = 0; row < table->row_count; row++) {
        const struct value *cells = table->cells + row * table->column_count;
        double others = 0.0;
        double excess;

        if (strcmp(cells[COLUMN_KEY].text, exposed_key) == 0)
            continue;
        for (size_t i = 0; i < results->rank_count; i++)
            if (i != rank)
                others += against_measured(&results->ranks[i], cells[COLUMN_KEY].text);
        excess =
            (double)cells[COLUMN_MEASURED].integer - others / (double)(results->rank_count - 1);
        if (excess > *excess_ns) {
            *excess_ns = excess;
            most = cells;
        }
    }
    return most;
}

/* A smaller difference between ranks is no straggler. */
static const double STRAGGLING_SHARE = 0.02;

/* Ranks of one collective end it together, so that the last to come shows least of it, and the
 * others as much more as they wait. */
void find_plan_straggler(struct results *results)
{
    size_t last = 0;
    double waits = 0.0;
    double excess_ns;
    const struct value *most;

    if (results->rank_count < 2)
        return;
    for (size_t i = 0; i < results->rank_count; i++) {
        if (!against_table(&results->ranks[i]))
            return;
        if (against_measured(&results->ranks[i], exposed_key) <
            against_measured(&results->ranks[last], exposed_key))
            last = i;
    }
    for (size_t i = 0; i < results->rank_count; i++)
        waits += against_measured(&results->ranks[i], exposed_key) -
                 against_measured(&results->ranks[last], exposed_key);
    waits /= (double)(results->rank_count - 1);
    if (waits < STRAGGLING_SHARE * against_step(&results->ranks[last]))
        return;
    most = straggler_excess(results, last, &excess_ns);
    results->awaited_rank = results->ranks[last].label;
    results->detailed_rank = last;
    results->headline = results_format(
        results, "The others wait %s of each step for %s%s.",
        results_text(results, format_short_time(llround(waits)).text), results->ranks[last].label,
        most ? results_format(results, ", which has %s more of '%s' than they",
                              format_short_time(llround(excess_ns)).text, most[COLUMN_TITLE].text)
             : "");
}
