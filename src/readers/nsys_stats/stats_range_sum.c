/* Summaries of NVTX ranges by name. */
#include "readers/nsys_stats/stats_range_sum.h"

#include "base/core/saturated.h"
#include "readers/nsys/nsys_ids.h"
#include "readers/nsys_stats/stats_groups.h"
#include "readers/nsys_stats/stats_ranges.h"
#include "readers/nsys_stats/stats_rows.h"

/* The row of a range; NULL where it does not count. */
static struct stats_group *stats_range_sum_group_of(struct stats_groups *groups,
                                                    const struct stats_ranges *ranges,
                                                    uint32_t index, enum range_sum_kind kind)
{
    const struct stats_range *range = &ranges->ranges[index];

    if (kind == RANGES_BY_STYLE)
        return stats_groups_styled(groups, stats_range_name(ranges, index),
                                   stats_range_style(range));
    return range->is_push_pop ? stats_groups_named(groups, stats_range_name(ranges, index)) : NULL;
}

/* Ranges that are still open end with the recording, as in nsys. */
bool fill_range_sum(struct stats_table *table, struct nsys_database *database,
                    enum range_sum_kind kind, struct error *error)
{
    static const char *const with_style[] = {SUMMARY_COLUMNS("Instances"), "Style", "Range", NULL};
    static const char *const by_name[] = {SUMMARY_COLUMNS("Instances"), "Range", NULL};
    struct stats_ranges ranges = {0};
    struct stats_groups groups = {0};

    stats_table_init(table, kind == RANGES_BY_STYLE ? with_style : by_name);
    if (!require_table(database, "NVTX_EVENTS", "NVTX ranges", error))
        return false;
    stats_ranges_read(&ranges, database, false);
    for (uint32_t i = 0; i < ranges.count; i++) {
        struct stats_group *group = stats_range_sum_group_of(&groups, &ranges, i, kind);

        if (group)
            stats_values_add(&group->values, saturated_difference(ranges.ranges[i].end_ns,
                                                                  ranges.ranges[i].start_ns));
    }
    stats_groups_fill(&groups, table, false);
    stats_groups_clear(&groups);
    stats_ranges_clear(&ranges);
    return true;
}
