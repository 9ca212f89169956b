/* Sums that several reports show: of calls that have a nameId, of NVTX ranges, of copies and
 * memsets. */
#include "readers/nsys_stats/stats_sums.h"

#include "base/core/saturated.h"
#include "readers/nsys/nsys_ids.h"
#include "readers/nsys_stats/stats_groups.h"
#include "readers/nsys_stats/stats_ranges.h"
#include "readers/nsys_stats/stats_rows.h"

#include <string.h>

/* Names the groups, whose order is the nameId. */
static void name_groups(struct stats_groups *groups, const struct nsys_database *database,
                        bool is_versioned)
{
    char name[1024];

    for (uint32_t i = 0; i < groups->count; i++) {
        struct stats_group *group = &groups->groups[i];
        const char *text = is_versioned ? api_name(database, group->order, name, sizeof name)
                                        : nsys_string(database, group->order);

        if (text)
            group->name = string_pool_text(&groups->names,
                                           string_pool_add(&groups->names, text, strlen(text)));
    }
}

/* By nameId while reading, which is a number per row; texts are looked up once per group. */
void fill_call_summary(struct stats_table *table, struct nsys_database *database,
                       const struct call_selection *selection)
{
    static const char *const columns[] = {"start", "end", "nameId", "eventClass", NULL};
    struct stats_groups groups = {0};
    struct sqlite_rows rows = {0};

    sqlite_rows_open(&rows, &database->file, selection->table, columns);
    while (sqlite_rows_next(&rows)) {
        if (selection->event_class >= 0 && sqlite_rows_has(&rows, 3) &&
            sqlite_integer(&rows, 3, -1) != selection->event_class)
            continue;
        stats_values_add(
            &stats_groups_get(&groups, (uint64_t)sqlite_integer(&rows, 2, INT64_MIN))->values,
            saturated_difference(sqlite_integer(&rows, 1, 0), sqlite_integer(&rows, 0, 0)));
    }
    sqlite_rows_clear(&rows);
    name_groups(&groups, database, selection->is_versioned);
    stats_groups_fill(&groups, table, false);
    stats_groups_clear(&groups);
}

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

static int64_t stats_copies_value_of(const struct sqlite_rows *rows, bool is_by_bytes)
{
    return is_by_bytes
               ? sqlite_integer(rows, 2, 0)
               : saturated_difference(sqlite_integer(rows, 1, 0), sqlite_integer(rows, 0, 0));
}

/* Copies of a kind without a label are left out: they have no name to stand under. */
bool group_copies(struct stats_groups *groups, struct nsys_database *database, bool is_by_bytes,
                  struct error *error)
{
    static const char *const columns[] = {"start", "end", "bytes", "copyKind", NULL};
    struct kind_labels labels;
    struct sqlite_rows rows = {0};
    char name[96];

    if (!sqlite_has_table(&database->file, "CUPTI_ACTIVITY_KIND_MEMCPY") &&
        !sqlite_has_table(&database->file, "CUPTI_ACTIVITY_KIND_MEMSET"))
        return error_set(error, ERROR_NO_DATA,
                         "the file holds no copies and no memsets of a device (it has no table "
                         "CUPTI_ACTIVITY_KIND_MEMCPY or CUPTI_ACTIVITY_KIND_MEMSET)");
    read_copy_labels(&labels, database);
    sqlite_rows_open(&rows, &database->file, "CUPTI_ACTIVITY_KIND_MEMCPY", columns);
    while (sqlite_rows_next(&rows)) {
        if (copy_operation_name(&labels, sqlite_integer(&rows, 3, -1), name, sizeof name))
            stats_values_add(&stats_groups_named(groups, name)->values,
                             stats_copies_value_of(&rows, is_by_bytes));
    }
    sqlite_rows_clear(&rows);
    sqlite_rows_open(&rows, &database->file, "CUPTI_ACTIVITY_KIND_MEMSET", columns);
    while (sqlite_rows_next(&rows))
        stats_values_add(&stats_groups_named(groups, "[CUDA memset]")->values,
                         stats_copies_value_of(&rows, is_by_bytes));
    sqlite_rows_clear(&rows);
    return true;
}
