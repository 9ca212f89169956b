/* NVTX ranges as the device saw them: from the first to the last work that was launched inside. */
#include "base/core/invariant.h"
#include "base/core/large_array.h"
#include "base/core/saturated.h"
#include "readers/nsys/nsys_ids.h"
#include "readers/nsys_stats/stats_groups.h"
#include "readers/nsys_stats/stats_launches.h"
#include "readers/nsys_stats/stats_ranges.h"
#include "readers/nsys_stats/stats_report.h"
#include "readers/nsys_stats/stats_rows.h"

#include <stdlib.h>

/* What an API call launched, all of it. */
struct launched_work {
    int64_t start_ns;
    int64_t end_ns;
    bool is_there;
};

/* A range on the device. */
struct projection {
    int64_t start_ns;
    int64_t end_ns;
    int64_t operations; /* launches, however many kernels a graph's launch has */
    int64_t children;   /* ranges directly inside that launched something too */
};

struct projecting {
    struct stats_ranges ranges;
    struct stats_launches launches;
    struct launched_work *work;     /* by launch */
    struct projection *projections; /* by range */
};

/* An API call may launch several kernels (a graph does): its work is from the first start to
 * the last end. */
static void add_work(struct projecting *projecting, struct nsys_database *database,
                     const char *table)
{
    static const char *const columns[] = {"start", "end", "correlationId", "globalPid", NULL};
    struct sqlite_rows rows = {0};

    sqlite_rows_open(&rows, &database->file, table, columns);
    while (sqlite_rows_next(&rows)) {
        int64_t start_ns = sqlite_integer(&rows, 0, 0);
        int64_t end_ns = sqlite_integer(&rows, 1, 0);
        uint32_t launch = stats_launch_find(&projecting->launches, sqlite_integer(&rows, 3, 0),
                                            sqlite_integer(&rows, 2, 0));

        for (; launch != UINT32_MAX; launch = projecting->launches.launches[launch].next) {
            struct launched_work *work = &projecting->work[launch];

            if (!work->is_there || start_ns < work->start_ns)
                work->start_ns = start_ns;
            if (!work->is_there || end_ns > work->end_ns)
                work->end_ns = end_ns;
            work->is_there = true;
        }
    }
    sqlite_rows_clear(&rows);
}

/* A range's projection is from the first start to the last end of the work launched within it. */
static void project(void *context, uint32_t launch, uint32_t range)
{
    struct projecting *projecting = context;
    const struct launched_work *work = &projecting->work[launch];
    struct projection *projection = &projecting->projections[range];

    if (projection->operations == 0 || work->start_ns < projection->start_ns)
        projection->start_ns = work->start_ns;
    if (projection->operations == 0 || work->end_ns > projection->end_ns)
        projection->end_ns = work->end_ns;
    projection->operations++;
}

/* Each launch is given to all ranges around it, not the innermost alone: a range's projection
 * holds what ranges within it launched. */
static void project_all(struct projecting *projecting)
{
    uint32_t count = projecting->launches.count;
    struct stats_span *spans = large_array_new((count + (size_t)1) * sizeof *spans);
    size_t span_count = 0;

    for (uint32_t i = 0; i < count; i++) {
        const struct stats_launch *launch = &projecting->launches.launches[i];

        if (projecting->work[i].is_there)
            spans[span_count++] =
                (struct stats_span){launch->start_ns, launch->end_ns, launch->global_tid, i};
    }
    stats_ranges_around(&projecting->ranges, spans, span_count, project, projecting);
    large_array_free(spans);
}

/* How many ranges are around each; large_array_free() it. Bounded by the number of ranges, so a
 * circle of parents, which a damaged file could have, ends. */
static int64_t *levels_of(const struct projecting *projecting, const uint32_t *parents)
{
    uint32_t count = projecting->ranges.count;
    int64_t *levels = large_array_new((count + (size_t)1) * sizeof *levels);

    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t around = parents[i]; around != UINT32_MAX && levels[i] <= count;
             around = parents[around])
            levels[i]++;
        if (parents[i] != UINT32_MAX && projecting->projections[i].operations > 0)
            projecting->projections[parents[i]].children++;
    }
    return levels;
}

/* Ranges of one name and style. */
struct projection_group {
    struct stats_values lengths;
    int64_t range_ns;
    int64_t operations;
    int64_t levels;
    int64_t children;
};

/* A projection is from the first of its range's work on the device to the last: sums saturate,
 * since a damaged time must not wrap around. */
static void add_projection(struct projection_group *group, const struct stats_range *range,
                           const struct projection *projection, int64_t level)
{
    stats_values_add(&group->lengths,
                     saturated_difference(projection->end_ns, projection->start_ns));
    group->range_ns =
        saturated_sum(group->range_ns, saturated_difference(range->end_ns, range->start_ns));
    group->operations += projection->operations;
    group->levels += level;
    group->children += projection->children;
}

/* The projected time, of the device, and the range's own, of the host, stand side by side. */
static void nvtx_gpu_proj_sum_fill_row(struct stats_table *table, const struct stats_group *names,
                                       struct projection_group *group)
{
    struct stats_cell *row = stats_table_add_row(table);
    struct stats_summary summary = stats_values_summary(&group->lengths);
    double count = (double)summary.count;

    row[0] = stats_text(table, names->name);
    row[1] = stats_text(table, names->style);
    row[2] = stats_integer(summary.total);
    row[3] = stats_integer(group->range_ns);
    row[4] = stats_integer((int64_t)summary.count);
    row[5] = stats_tenths(summary.mean);
    row[6] = stats_tenths(summary.median);
    row[7] = stats_integer(summary.least);
    row[8] = stats_integer(summary.largest);
    row[9] = stats_tenths(summary.deviation);
    row[10] = stats_integer(group->operations);
    row[11] = stats_tenths((double)group->operations / count);
    row[12] = stats_tenths((double)group->levels / count);
    row[13] = stats_tenths((double)group->children / count);
}

static int nvtx_gpu_proj_sum_compare_totals(const struct stats_cell *a, const struct stats_cell *b)
{
    int order;

    if (a[2].integer != b[2].integer)
        return a[2].integer > b[2].integer ? -1 : 1;
    order = compare_nullable(a[0].text, b[0].text);
    return order ? order : compare_nullable(a[1].text, b[1].text);
}

/* Levels and children are means per range, as nsys has them; ranges that launched nothing have
 * no row. */
static void nvtx_gpu_proj_sum_fill_rows(struct stats_table *table, struct projecting *projecting)
{
    uint32_t *parents = stats_range_parents(&projecting->ranges);
    int64_t *levels = levels_of(projecting, parents);
    struct stats_groups names = {0};
    struct projection_group *groups =
        require_memory(calloc(projecting->ranges.count + (size_t)1, sizeof *groups));

    for (uint32_t i = 0; i < projecting->ranges.count; i++) {
        const struct stats_range *range = &projecting->ranges.ranges[i];
        const char *name = stats_range_name(&projecting->ranges, i);
        const struct stats_group *group;

        if (!name || projecting->projections[i].operations == 0)
            continue;
        group = stats_groups_styled(&names, name, stats_range_style(range));
        add_projection(&groups[group - names.groups], range, &projecting->projections[i],
                       levels[i]);
    }
    for (uint32_t i = 0; i < names.count; i++) {
        nvtx_gpu_proj_sum_fill_row(table, &names.groups[i], &groups[i]);
        stats_values_clear(&groups[i].lengths);
    }
    stats_table_sort(table, nvtx_gpu_proj_sum_compare_totals);
    free(groups);
    stats_groups_clear(&names);
    large_array_free(levels);
    large_array_free(parents);
}

static const char *const columns_of_report[] = {"Range",
                                                "Style",
                                                "Total Proj Time (ns)",
                                                "Total Range Time (ns)",
                                                "Range Instances",
                                                "Proj Avg (ns)",
                                                "Proj Med (ns)",
                                                "Proj Min (ns)",
                                                "Proj Max (ns)",
                                                "Proj StdDev (ns)",
                                                "Total GPU Ops",
                                                "Avg GPU Ops",
                                                "Avg Range Lvl",
                                                "Avg Num Child",
                                                NULL};

/* All three kinds of work: a range may have launched copies alone. */
static bool nvtx_gpu_proj_sum_fill(struct stats_table *table, struct nsys_database *database,
                                   enum kernel_name_form form, struct error *error)
{
    struct projecting projecting = {0};

    (void)form;
    (void)error;
    stats_ranges_read(&projecting.ranges, database, true);
    stats_launches_read(&projecting.launches, database);
    /* By launch and by range: work is put to its launch first, then ranges look at the
     * launches in them. */
    projecting.work =
        large_array_new((projecting.launches.count + (size_t)1) * sizeof *projecting.work);
    projecting.projections =
        large_array_new((projecting.ranges.count + (size_t)1) * sizeof *projecting.projections);
    add_work(&projecting, database, "CUPTI_ACTIVITY_KIND_KERNEL");
    add_work(&projecting, database, "CUPTI_ACTIVITY_KIND_MEMCPY");
    add_work(&projecting, database, "CUPTI_ACTIVITY_KIND_MEMSET");
    project_all(&projecting);
    nvtx_gpu_proj_sum_fill_rows(table, &projecting);
    large_array_free(projecting.work);
    large_array_free(projecting.projections);
    stats_launches_clear(&projecting.launches);
    stats_ranges_clear(&projecting.ranges);
    return true;
}

const struct stats_report nvtx_gpu_proj_sum_stats = {
    .name = "nvtx_gpu_proj_sum",
    .title = "NVTX GPU Projection Summary",
    .columns = columns_of_report,
    .needs = {NEEDS_RANGES, NEEDS_CALLS},
    .fill = nvtx_gpu_proj_sum_fill,
};
