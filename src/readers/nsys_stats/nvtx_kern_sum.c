/* Which kernels were launched inside which NVTX ranges. */
#include "base/core/array.h"
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
#include <string.h>

/* A kernel, and a range around the call that launched it. */
struct kernel_in_range {
    int64_t duration_ns;
    int64_t global_tid;   /* of the call; -1: no call is known */
    uint32_t range;       /* UINT32_MAX: none */
    uint32_t range_name;  /* UINT32_MAX: none */
    uint32_t kernel;      /* number of its row */
    uint32_t kernel_name; /* id in StringIds' pool; UINT32_MAX: none */
    bool is_push_pop;
};

struct pairing {
    struct stats_ranges ranges;
    struct stats_launches launches;
    const struct nsys_database *database;
    struct kernel_in_range *pairs;
    size_t count;
    /* kernels by launch: the first of each launch, and for each kernel the next */
    uint32_t *first_kernel;
    uint32_t *next_kernel;
    struct kernel_in_range *kernels; /* what is known of them without a range */
    uint32_t kernel_count;
    bool *has_range; /* by launch */
};

static void add_pair(struct pairing *pairing, const struct kernel_in_range *pair)
{
    LARGE_ARRAY_ADD(pairing->pairs, pairing->count, *pair);
}

/* A launch outside of all ranges still has its kernels listed, under no range. */
static void add_kernels_of(struct pairing *pairing, uint32_t launch, uint32_t range)
{
    for (uint32_t k = pairing->first_kernel[launch]; k != UINT32_MAX; k = pairing->next_kernel[k]) {
        struct kernel_in_range pair = pairing->kernels[k];

        if (range != UINT32_MAX) {
            pair.range = range;
            pair.range_name = pairing->ranges.ranges[range].name;
            pair.is_push_pop = pairing->ranges.ranges[range].is_push_pop;
        }
        add_pair(pairing, &pair);
    }
}

static void nvtx_kern_sum_pair_up(void *context, uint32_t launch, uint32_t range)
{
    struct pairing *pairing = context;

    pairing->has_range[launch] = true;
    add_kernels_of(pairing, launch, range);
}

/* One kernel under one launch (a kernel with several calls stands under each). Kernels of a
 * launch are a list through an array (first_kernel, next_kernel): 4 bytes each instead of an
 * allocation. */
static void nvtx_kern_sum_add_kernel(struct pairing *pairing, const struct kernel_in_range *kernel,
                                     uint32_t launch)
{
    LARGE_ARRAY_RESERVE(pairing->kernels, pairing->kernel_count + (size_t)1);
    LARGE_ARRAY_RESERVE(pairing->next_kernel, pairing->kernel_count + (size_t)1);
    pairing->kernels[pairing->kernel_count] = *kernel;
    pairing->kernels[pairing->kernel_count].global_tid =
        pairing->launches.launches[launch].global_tid;
    pairing->next_kernel[pairing->kernel_count] = pairing->first_kernel[launch];
    pairing->first_kernel[launch] = pairing->kernel_count++;
}

/* A kernel without a launch is kept without a thread and a range, as nsys lists it. */
static void nvtx_kern_sum_read_kernels(struct pairing *pairing, struct nsys_database *database,
                                       enum kernel_name_form form)
{
    const char *const columns[] = {
        "start", "end", "correlationId", "globalPid", kernel_name_column(database, form), NULL};
    struct sqlite_rows rows = {0};

    sqlite_rows_open(&rows, &database->file, "CUPTI_ACTIVITY_KIND_KERNEL", columns);
    for (uint32_t number = 0; sqlite_rows_next(&rows); number++) {
        struct kernel_in_range kernel = {
            .duration_ns =
                saturated_difference(sqlite_integer(&rows, 1, 0), sqlite_integer(&rows, 0, 0)),
            .global_tid = -1,
            .range = UINT32_MAX,
            .range_name = UINT32_MAX,
            .kernel = number,
            .kernel_name =
                hash_map_find(&database->string_ids, (uint64_t)sqlite_integer(&rows, 4, -1)),
        };
        uint32_t launch = stats_launch_find(&pairing->launches, sqlite_integer(&rows, 3, 0),
                                            sqlite_integer(&rows, 2, 0));

        if (launch == UINT32_MAX)
            add_pair(pairing, &kernel);
        for (; launch != UINT32_MAX; launch = pairing->launches.launches[launch].next)
            nvtx_kern_sum_add_kernel(pairing, &kernel, launch);
    }
    sqlite_rows_clear(&rows);
}

/* What has no range around it gets a row without a range, so that all kernels are in the
 * table. */
static void pair_all(struct pairing *pairing)
{
    uint32_t count = pairing->launches.count;
    struct stats_span *spans = large_array_new((count + (size_t)1) * sizeof *spans);
    size_t span_count = 0;

    for (uint32_t i = 0; i < count; i++) {
        const struct stats_launch *launch = &pairing->launches.launches[i];

        if (pairing->first_kernel[i] != UINT32_MAX)
            spans[span_count++] =
                (struct stats_span){launch->start_ns, launch->end_ns, launch->global_tid, i};
    }
    stats_ranges_around(&pairing->ranges, spans, span_count, nvtx_kern_sum_pair_up, pairing);
    for (size_t i = 0; i < span_count; i++) {
        if (!pairing->has_range[spans[i].id])
            add_kernels_of(pairing, spans[i].id, UINT32_MAX);
    }
    large_array_free(spans);
}

/* ---- groups --------------------------------------------------------------------------------- */

static const char *range_name(const struct pairing *pairing, const struct kernel_in_range *pair)
{
    return pair->range_name == UINT32_MAX
               ? NULL
               : string_pool_text(&pairing->ranges.names, pair->range_name);
}

static const char *nvtx_kern_sum_kernel_name(const struct pairing *pairing,
                                             const struct kernel_in_range *pair)
{
    return pair->kernel_name == UINT32_MAX
               ? NULL
               : string_pool_text(&pairing->database->strings, pair->kernel_name);
}

static int nvtx_kern_sum_compare_numbers(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

/* Pairs of one row of the report are equal: the same thread, range and kernel names, style. */
static int nvtx_kern_sum_compare_rows(const struct pairing *pairing,
                                      const struct kernel_in_range *left,
                                      const struct kernel_in_range *right)
{
    int order = 0;

    if (left->range_name != right->range_name)
        order = compare_nullable(range_name(pairing, left), range_name(pairing, right));
    if (!order)
        order = nvtx_kern_sum_compare_numbers(
            left->global_tid >= 0 ? nsys_pid(left->global_tid) : -1,
            right->global_tid >= 0 ? nsys_pid(right->global_tid) : -1);
    if (!order)
        order = nvtx_kern_sum_compare_numbers(
            left->global_tid >= 0 ? nsys_tid(left->global_tid) : -1,
            right->global_tid >= 0 ? nsys_tid(right->global_tid) : -1);
    if (!order)
        order = nvtx_kern_sum_compare_numbers(right->is_push_pop, left->is_push_pop);
    if (!order && left->kernel_name != right->kernel_name)
        order = compare_nullable(nvtx_kern_sum_kernel_name(pairing, left),
                                 nvtx_kern_sum_kernel_name(pairing, right));
    return order;
}

/* Range and kernel decide last, so that pairs of one row stand in the same order in every run. */
static int compare_pairs(const void *a, const void *b, void *context)
{
    const struct kernel_in_range *left = a;
    const struct kernel_in_range *right = b;
    int order = nvtx_kern_sum_compare_rows(context, left, right);

    if (!order)
        order = nvtx_kern_sum_compare_numbers(left->range, right->range);
    return order ? order : nvtx_kern_sum_compare_numbers(left->kernel, right->kernel);
}

static int compare_kernel_numbers(const void *a, const void *b)
{
    const struct kernel_in_range *left = a;
    const struct kernel_in_range *right = b;

    return nvtx_kern_sum_compare_numbers(left->kernel, right->kernel);
}

/* Pairs of a row are sorted by range, so distinct ranges are counted in one pass; distinct
 * kernels need a second order, as a kernel lies in several ranges of one name. */
static void nvtx_kern_sum_fill_row(struct stats_table *table, const struct pairing *pairing,
                                   struct kernel_in_range *pairs, size_t count)
{
    struct stats_cell *row = stats_table_add_row(table);
    struct stats_values durations = {0};
    struct stats_summary summary;
    int64_t ranges = 0, kernels = 0;

    for (size_t i = 0; i < count; i++) {
        stats_values_add(&durations, pairs[i].duration_ns);
        ranges += pairs[i].range != UINT32_MAX && (i == 0 || pairs[i].range != pairs[i - 1].range);
    }
    qsort(pairs, count, sizeof *pairs, compare_kernel_numbers);
    for (size_t i = 0; i < count; i++)
        kernels += i == 0 || pairs[i].kernel != pairs[i - 1].kernel;
    row[0] = stats_text(table, range_name(pairing, pairs));
    if (pairs->range != UINT32_MAX)
        row[1] = stats_text(table, pairs->is_push_pop ? "PushPop" : "StartEnd");
    if (pairs->global_tid >= 0) {
        row[2] = stats_integer(nsys_pid(pairs->global_tid));
        row[3] = stats_integer(nsys_tid(pairs->global_tid));
    }
    summary = stats_values_summary(&durations);
    row[4] = stats_integer(ranges);
    row[5] = stats_integer(kernels);
    row[6] = stats_integer(summary.total);
    row[7] = stats_tenths(summary.mean);
    row[8] = stats_tenths(summary.median);
    row[9] = stats_integer(summary.least);
    row[10] = stats_integer(summary.largest);
    row[11] = stats_tenths(summary.deviation);
    row[12] = stats_text(table, nvtx_kern_sum_kernel_name(pairing, pairs));
    stats_values_clear(&durations);
}

/* By range, process and thread (where there is none of these, first), and within them the
 * longest first. */
static int compare_cells(const struct stats_cell *a, const struct stats_cell *b)
{
    int order = compare_nullable(a[0].text, b[0].text);

    for (int i = 2; i < 4 && !order; i++) {
        order = nvtx_kern_sum_compare_numbers(a[i].kind != STATS_NONE, b[i].kind != STATS_NONE);
        if (!order)
            order = nvtx_kern_sum_compare_numbers(a[i].integer, b[i].integer);
    }
    return order ? order : nvtx_kern_sum_compare_numbers(b[6].integer, a[6].integer);
}

/* Equal rows stand next to each other after one sort: no hash of five fields is needed. O(n
 * log n). */
static void nvtx_kern_sum_fill_rows(struct stats_table *table, struct pairing *pairing)
{
    size_t end;

    if (pairing->count)
        qsort_r(pairing->pairs, pairing->count, sizeof *pairing->pairs, compare_pairs, pairing);
    for (size_t start = 0; start < pairing->count; start = end) {
        end = start + 1;
        while (end < pairing->count && nvtx_kern_sum_compare_rows(pairing, &pairing->pairs[start],
                                                                  &pairing->pairs[end]) == 0)
            end++;
        nvtx_kern_sum_fill_row(table, pairing, &pairing->pairs[start], end - start);
    }
    stats_table_sort(table, compare_cells);
}

static void pairing_clear(struct pairing *pairing)
{
    large_array_free(pairing->pairs);
    free(pairing->first_kernel);
    large_array_free(pairing->next_kernel);
    large_array_free(pairing->kernels);
    free(pairing->has_range);
    stats_launches_clear(&pairing->launches);
    stats_ranges_clear(&pairing->ranges);
}

static const char *const columns_of_report[] = {
    "NVTX Range", "Style",           "PID",         "TID",      "NVTX Inst",
    "Kern Inst",  "Total Time (ns)", "Avg (ns)",    "Med (ns)", "Min (ns)",
    "Max (ns)",   "StdDev (ns)",     "Kernel Name", NULL};

/* All three tables are needed: ranges, kernels, and the calls that join them. Kernels hang in
 * a list on their launch (0xff: none), so that a pair is found without a search. */
static bool nvtx_kern_sum_fill(struct stats_table *table, struct nsys_database *database,
                               enum kernel_name_form form, struct error *error)
{
    struct pairing pairing = {.database = database};

    (void)error;
    stats_ranges_read(&pairing.ranges, database, true);
    stats_launches_read(&pairing.launches, database);
    pairing.first_kernel =
        require_memory(malloc((pairing.launches.count + (size_t)1) * sizeof *pairing.first_kernel));
    memset(pairing.first_kernel, 0xff,
           (pairing.launches.count + (size_t)1) * sizeof *pairing.first_kernel);
    pairing.has_range = require_memory(calloc(pairing.launches.count + (size_t)1, 1));
    nvtx_kern_sum_read_kernels(&pairing, database, form);
    pair_all(&pairing);
    nvtx_kern_sum_fill_rows(table, &pairing);
    pairing_clear(&pairing);
    return true;
}

const struct stats_report nvtx_kern_sum_stats = {
    .name = "nvtx_kern_sum",
    .title = "NVTX Range Kernel Summary",
    .columns = columns_of_report,
    .needs = {NEEDS_RANGES, NEEDS_KERNELS, NEEDS_CALLS},
    .has_kernel_names = true,
    .fill = nvtx_kern_sum_fill,
};
