/* Which calls of the CUDA API took the time of the host. */
#include "readers/nsys_stats/stats_report.h"
#include "readers/nsys_stats/stats_rows.h"
#include "readers/nsys_stats/stats_sums.h"

/* The form of kernel names is of no use here: calls have one name only. */
static bool cuda_api_sum_fill(struct stats_table *table, struct nsys_database *database,
                              enum kernel_name_form form, struct error *error)
{
    static const char *const titles[] = {SUMMARY_COLUMNS("Num Calls"), "Name", NULL};
    const struct call_selection selection = {"CUPTI_ACTIVITY_KIND_RUNTIME", -1, true};

    (void)form;
    stats_table_init(table, titles);
    if (!require_table(database, selection.table, "CUDA API calls", error))
        return false;
    fill_call_summary(table, database, &selection);
    return true;
}

const struct stats_report cuda_api_sum_stats = {
    .name = "cuda_api_sum",
    .title = "CUDA API Summary",
    .fill = cuda_api_sum_fill,
};
