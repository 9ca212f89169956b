/* How much copies and memsets moved. */
#include "readers/nsys_stats/stats_report.h"
#include "readers/nsys_stats/stats_sums.h"

/* The largest total first, then by name. */
static int cuda_gpu_mem_size_sum_compare_totals(const struct stats_cell *a,
                                                const struct stats_cell *b)
{
    if (a[0].real != b[0].real)
        return a[0].real > b[0].real ? -1 : 1;
    return compare_nullable(a[7].text, b[7].text);
}

/* Megabytes are 10^6 bytes, as in nsys. */
static bool cuda_gpu_mem_size_sum_fill(struct stats_table *table, struct nsys_database *database,
                                       enum kernel_name_form form, struct error *error)
{
    static const char *const titles[] = {"Total (MB)",  "Count",     "Avg (MB)",
                                         "Med (MB)",    "Min (MB)",  "Max (MB)",
                                         "StdDev (MB)", "Operation", NULL};
    struct stats_groups groups = {0};
    bool has_copies;

    (void)form;
    stats_table_init(table, titles);
    has_copies = group_copies(&groups, database, true, error);
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
    stats_table_sort(table, cuda_gpu_mem_size_sum_compare_totals);
    stats_groups_clear(&groups);
    return has_copies;
}

const struct stats_report cuda_gpu_mem_size_sum_stats = {
    .name = "cuda_gpu_mem_size_sum",
    .title = "CUDA GPU MemOps Summary (by Size)",
    .fill = cuda_gpu_mem_size_sum_fill,
};
