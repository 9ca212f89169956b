/* Reports that sum by name: calls of the CUDA API and of the operating system, NVTX ranges,
 * kernels, copies and memsets. */
#include "base/core/saturated.h"
#include "readers/nsys/nsys_ids.h"
#include "readers/nsys_stats/stats_groups.h"
#include "readers/nsys_stats/stats_ranges.h"
#include "readers/nsys_stats/stats_report.h"
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

/* Calls by nameId. `event_class`: only rows with this eventClass; -1: all. `is_versioned`: names
 * have a version at their end, which is left out. */
struct call_selection {
    const char *table;
    int64_t event_class;
    bool is_versioned;
};

/* By nameId while reading, which is a number per row; texts are looked up once per group. */
static void fill_call_summary(struct stats_table *table, struct nsys_database *database,
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

static const char *const call_columns[] = {SUMMARY_COLUMNS("Num Calls"), "Name", NULL};

/* The form of kernel names is of no use here: calls have one name only. */
static bool fill_api_calls(struct stats_table *table, struct nsys_database *database,
                           enum kernel_name_form form, struct error *error)
{
    (void)form;
    (void)error;
    fill_call_summary(table, database,
                      &(struct call_selection){"CUPTI_ACTIVITY_KIND_RUNTIME", -1, true});
    return true;
}

const struct stats_report cuda_api_sum_stats = {
    .name = "cuda_api_sum",
    .title = "CUDA API Summary",
    .columns = call_columns,
    .needs = {NEEDS_CALLS},
    .fill = fill_api_calls,
};

/* eventClass of a call that was traced, not sampled: the class keeps sampled calls out. */
enum { OS_RUNTIME_CLASS = 27 };

static bool fill_system_calls(struct stats_table *table, struct nsys_database *database,
                              enum kernel_name_form form, struct error *error)
{
    (void)form;
    (void)error;
    fill_call_summary(table, database,
                      &(struct call_selection){"OSRT_API", OS_RUNTIME_CLASS, false});
    return true;
}

const struct stats_report osrt_sum_stats = {
    .name = "osrt_sum",
    .title = "OS Runtime Summary",
    .columns = call_columns,
    .needs = {{"OSRT_API", "calls of the operating system"}},
    .fill = fill_system_calls,
};

/* Which ranges count, and what shares a row. */
enum range_sum_kind {
    RANGES_BY_STYLE,    /* all, by style and name */
    RANGES_PUSH_POPPED, /* those that were pushed and popped, by name */
};

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
static bool fill_range_sum(struct stats_table *table, struct nsys_database *database,
                           enum range_sum_kind kind)
{
    struct stats_ranges ranges = {0};
    struct stats_groups groups = {0};

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

static bool fill_ranges(struct stats_table *table, struct nsys_database *database,
                        enum kernel_name_form form, struct error *error)
{
    (void)form;
    (void)error;
    return fill_range_sum(table, database, RANGES_BY_STYLE);
}

const struct stats_report nvtx_sum_stats = {
    .name = "nvtx_sum",
    .title = "NVTX Range Summary",
    .columns = (const char *const[]){SUMMARY_COLUMNS("Instances"), "Style", "Range", NULL},
    .needs = {NEEDS_RANGES},
    .fill = fill_ranges,
};

static bool fill_pushed_ranges(struct stats_table *table, struct nsys_database *database,
                               enum kernel_name_form form, struct error *error)
{
    (void)form;
    (void)error;
    return fill_range_sum(table, database, RANGES_PUSH_POPPED);
}

const struct stats_report nvtx_pushpop_sum_stats = {
    .name = "nvtx_pushpop_sum",
    .title = "NVTX Push/Pop Range Summary",
    .columns = (const char *const[]){SUMMARY_COLUMNS("Instances"), "Range", NULL},
    .needs = {NEEDS_RANGES},
    .fill = fill_pushed_ranges,
};

static int64_t stats_copies_value_of(const struct sqlite_rows *rows, bool is_by_bytes)
{
    return is_by_bytes
               ? sqlite_integer(rows, 2, 0)
               : saturated_difference(sqlite_integer(rows, 1, 0), sqlite_integer(rows, 0, 0));
}

/* Groups copies by their direction, memsets as one; the values are durations or bytes. Copies of a
 * kind without a label are left out: they have no name to stand under. */
static bool group_copies(struct stats_groups *groups, struct nsys_database *database,
                         bool is_by_bytes, struct error *error)
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

static bool fill_copy_times(struct stats_table *table, struct nsys_database *database,
                            enum kernel_name_form form, struct error *error)
{
    struct stats_groups groups = {0};
    bool has_copies = group_copies(&groups, database, false, error);

    (void)form;
    if (has_copies)
        stats_groups_fill(&groups, table, false);
    stats_groups_clear(&groups);
    return has_copies;
}

const struct stats_report cuda_gpu_mem_time_sum_stats = {
    .name = "cuda_gpu_mem_time_sum",
    .title = "CUDA GPU MemOps Summary (by Time)",
    .columns = (const char *const[]){SUMMARY_COLUMNS("Count"), "Operation", NULL},
    .fill = fill_copy_times,
};

/* The largest total first, then by name. */
static int compare_totals_of_copies(const struct stats_cell *a, const struct stats_cell *b)
{
    if (a[0].real != b[0].real)
        return a[0].real > b[0].real ? -1 : 1;
    return compare_nullable(a[7].text, b[7].text);
}

/* Megabytes are 10^6 bytes, as in nsys. */
static bool fill_copy_sizes(struct stats_table *table, struct nsys_database *database,
                            enum kernel_name_form form, struct error *error)
{
    struct stats_groups groups = {0};
    bool has_copies = group_copies(&groups, database, true, error);

    (void)form;
    for (uint32_t i = 0; i < groups.count; i++) {
        struct stats_summary summary = stats_values_summary(&groups.groups[i].values);
        struct stats_cell *row = stats_table_add_row(table);

        row[0] = stats_megabytes((double)summary.total);
        row[1] = stats_integer((int64_t)summary.count);
        row[2] = stats_megabytes(summary.mean);
        row[3] = stats_megabytes(summary.median);
        row[4] = stats_megabytes((double)summary.least);
        row[5] = stats_megabytes((double)summary.largest);
        row[6] = stats_megabytes(summary.deviation);
        row[7] = stats_text(table, groups.groups[i].name);
    }
    stats_table_sort(table, compare_totals_of_copies);
    stats_groups_clear(&groups);
    return has_copies;
}

const struct stats_report cuda_gpu_mem_size_sum_stats = {
    .name = "cuda_gpu_mem_size_sum",
    .title = "CUDA GPU MemOps Summary (by Size)",
    .columns = (const char *const[]){"Total (MB)", "Count", "Avg (MB)", "Med (MB)", "Min (MB)",
                                     "Max (MB)", "StdDev (MB)", "Operation", NULL},
    .fill = fill_copy_sizes,
};

/* By the name's text: two ids of one text are one row. */
static bool fill_kernels(struct stats_table *table, struct nsys_database *database,
                         enum kernel_name_form form, struct error *error)
{
    const char *const columns[] = {"start", "end", kernel_name_column(database, form), NULL};
    struct stats_groups groups = {0};
    struct sqlite_rows rows = {0};

    (void)error;
    sqlite_rows_open(&rows, &database->file, "CUPTI_ACTIVITY_KIND_KERNEL", columns);
    while (sqlite_rows_next(&rows)) {
        const char *name = nsys_string(database, sqlite_integer(&rows, 2, -1));

        stats_values_add(
            &stats_groups_named(&groups, name)->values,
            saturated_difference(sqlite_integer(&rows, 1, 0), sqlite_integer(&rows, 0, 0)));
    }
    sqlite_rows_clear(&rows);
    stats_groups_fill(&groups, table, true);
    stats_groups_clear(&groups);
    return true;
}

const struct stats_report cuda_gpu_kern_sum_stats = {
    .name = "cuda_gpu_kern_sum",
    .title = "CUDA GPU Kernel Summary",
    .columns = (const char *const[]){SUMMARY_COLUMNS("Instances"), "Name", NULL},
    .needs = {NEEDS_KERNELS},
    .has_kernel_names = true,
    .fill = fill_kernels,
};
