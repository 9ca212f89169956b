/* Which calls of the operating system took the time of the host. */
#include "readers/nsys_stats/stats_report.h"
#include "readers/nsys_stats/stats_rows.h"
#include "readers/nsys_stats/stats_sums.h"

/* eventClass of a call that was traced, not sampled */
enum { OS_RUNTIME_CLASS = 27 };

/* The class keeps sampled calls out: only those that were traced are counted. */
static bool osrt_sum_fill(struct stats_table *table, struct nsys_database *database,
                          enum kernel_name_form form, struct error *error)
{
    static const char *const titles[] = {SUMMARY_COLUMNS("Num Calls"), "Name", NULL};
    const struct call_selection selection = {"OSRT_API", OS_RUNTIME_CLASS, false};

    (void)form;
    stats_table_init(table, titles);
    if (!require_table(database, selection.table, "calls of the operating system", error))
        return false;
    fill_call_summary(table, database, &selection);
    return true;
}

const struct stats_report osrt_sum_stats = {
    .name = "osrt_sum",
    .title = "OS Runtime Summary",
    .fill = osrt_sum_fill,
};
