/* How long NVTX ranges took. */
#include "readers/nsys_stats/stats_report.h"
#include "readers/nsys_stats/stats_sums.h"

static bool nvtx_sum_fill(struct stats_table *table, struct nsys_database *database,
                          enum kernel_name_form form, struct error *error)
{
    (void)form;
    return fill_range_sum(table, database, RANGES_BY_STYLE, error);
}

const struct stats_report nvtx_sum_stats = {
    .name = "nvtx_sum",
    .title = "NVTX Range Summary",
    .fill = nvtx_sum_fill,
};
