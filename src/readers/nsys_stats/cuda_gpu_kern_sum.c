/* Which kernels took the time. */
#include "base/core/saturated.h"
#include "readers/nsys/nsys_ids.h"
#include "readers/nsys_stats/stats_groups.h"
#include "readers/nsys_stats/stats_report.h"
#include "readers/nsys_stats/stats_rows.h"

/* By the name's text: two ids of one text are one row. */
static bool cuda_gpu_kern_sum_fill(struct stats_table *table, struct nsys_database *database,
                                   enum kernel_name_form form, struct error *error)
{
    static const char *const titles[] = {SUMMARY_COLUMNS("Instances"), "Name", NULL};
    const char *const columns[] = {"start", "end", kernel_name_column(database, form), NULL};
    struct stats_groups groups = {0};
    struct sqlite_rows rows = {0};

    stats_table_init(table, titles);
    if (!require_table(database, "CUPTI_ACTIVITY_KIND_KERNEL", "CUDA kernels", error))
        return false;
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
    .has_kernel_names = true,
    .fill = cuda_gpu_kern_sum_fill,
};
