/* How long NVTX ranges took that were pushed and popped. */
#include "readers/nsys_stats/stats_report.h"
#include "readers/nsys_stats/stats_sums.h"

static bool nvtx_pushpop_sum_fill(struct stats_table *table, struct nsys_database *database,
                                  enum kernel_name_form form, struct error *error)
{
    (void)form;
    return fill_range_sum(table, database, RANGES_PUSH_POPPED, error);
}

const struct stats_report nvtx_pushpop_sum_stats = {
    .name = "nvtx_pushpop_sum",
    .title = "NVTX Push/Pop Range Summary",
    .fill = nvtx_pushpop_sum_fill,
};
