/* How long copies and memsets took. */
#include "readers/nsys_stats/stats_report.h"
#include "readers/nsys_stats/stats_rows.h"
#include "readers/nsys_stats/stats_sums.h"

/* The table's titles are set first: also an empty table has its head. */
static bool cuda_gpu_mem_time_sum_fill(struct stats_table *table, struct nsys_database *database,
                                       enum kernel_name_form form, struct error *error)
{
    static const char *const titles[] = {SUMMARY_COLUMNS("Count"), "Operation", NULL};
    struct stats_groups groups = {0};
    bool has_copies;

    (void)form;
    stats_table_init(table, titles);
    has_copies = group_copies(&groups, database, false, error);
    if (has_copies)
        stats_groups_fill(&groups, table, false);
    stats_groups_clear(&groups);
    return has_copies;
}

const struct stats_report cuda_gpu_mem_time_sum_stats = {
    .name = "cuda_gpu_mem_time_sum",
    .title = "CUDA GPU MemOps Summary (by Time)",
    .fill = cuda_gpu_mem_time_sum_fill,
};
