/* How long NVTX ranges took that were pushed and popped. */
#include "nsys/nsys_ids.h"
#include "nsys_stats/stats_groups.h"
#include "nsys_stats/stats_ranges.h"
#include "nsys_stats/stats_report.h"
#include "nsys_stats/stats_rows.h"

static bool fill(struct stats_table *table, struct nsys_database *database,
                 enum kernel_name_form form, struct error *error)
{
    static const char *const titles[] = {SUMMARY_COLUMNS("Instances"), "Range", NULL};
    struct stats_ranges ranges = {0};
    struct stats_groups groups = {0};

    (void)form;
    stats_table_init(table, titles);
    if (!require_table(database, "NVTX_EVENTS", "NVTX ranges", error))
        return false;
    stats_ranges_read(&ranges, database, false);
    for (uint32_t i = 0; i < ranges.count; i++) {
        const struct stats_range *range = &ranges.ranges[i];

        if (range->is_push_pop)
            stats_values_add(&stats_groups_named(&groups, stats_range_name(&ranges, i))->values,
                             nsys_difference(range->end_ns, range->start_ns));
    }
    stats_groups_fill(&groups, table, false);
    stats_groups_clear(&groups);
    stats_ranges_clear(&ranges);
    return true;
}

const struct stats_report nvtx_pushpop_sum_stats = {
    .name = "nvtx_pushpop_sum",
    .title = "NVTX Push/Pop Range Summary",
    .fill = fill,
};
