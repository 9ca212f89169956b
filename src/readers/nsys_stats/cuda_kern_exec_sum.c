/* How long kernels took from the call that launched them: in the call, in the queue, in the device.
 */
#include "base/core/array.h"
#include "base/core/saturated.h"
#include "base/text/owned_text.h"
#include "readers/nsys/nsys_ids.h"
#include "readers/nsys_stats/stats_groups.h"
#include "readers/nsys_stats/stats_launches.h"
#include "readers/nsys_stats/stats_report.h"
#include "readers/nsys_stats/stats_rows.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum phase { PHASE_TOTAL, PHASE_CALL, PHASE_QUEUE, PHASE_KERNEL, PHASE_COUNT };

/* Kernels of one name launched by one call of one thread for one device. */
struct launch_group {
    int64_t pid;
    int64_t tid;
    int64_t device;
    const char *call;   /* in names */
    const char *kernel; /* in names; NULL: none */
    struct stats_values phases[PHASE_COUNT];
};

struct launch_groups {
    struct launch_group *groups;
    uint32_t count;
    struct hash_map by_key; /* id of the key's text in keys: index */
    struct string_pool keys;
    struct string_pool names;
};

static const char *kept(struct launch_groups *groups, const char *text)
{
    return text ? string_pool_text(&groups->names,
                                   string_pool_add(&groups->names, text, strlen(text)))
                : NULL;
}

/* A text as the key, since call and kernel are compared by text; a missing name is a line
 * break, which no name is. */
static struct launch_group *cuda_kern_exec_sum_find_group(struct launch_groups *groups,
                                                          struct launch_group like)
{
    uint32_t index;
    char *key =
        text_format("%" PRId64 " %" PRId64 " %" PRId64 " %s\n%s", like.pid, like.tid, like.device,
                    like.call ? like.call : "\n", like.kernel ? like.kernel : "\n");

    index = hash_map_add(&groups->by_key, string_pool_add(&groups->keys, key, strlen(key)),
                         groups->count);
    free(key);
    if (index < groups->count)
        return &groups->groups[index];
    ARRAY_ROOM(groups->groups, groups->count);
    like.call = kept(groups, like.call);
    like.kernel = kept(groups, like.kernel);
    groups->groups[groups->count] = like;
    return &groups->groups[groups->count++];
}

/* A kernel that began before its call returned did not wait: it has no value in the queue,
 * rather than 0, as nsys counts it (QCount). */
static void cuda_kern_exec_sum_add_launch(struct launch_groups *groups,
                                          const struct nsys_database *database,
                                          const struct sqlite_rows *rows,
                                          const struct stats_launch *launch)
{
    char call[1024];
    int64_t start_ns = sqlite_integer(rows, 0, 0);
    int64_t end_ns = sqlite_integer(rows, 1, 0);
    struct launch_group *group = cuda_kern_exec_sum_find_group(
        groups, (struct launch_group){
                    .pid = nsys_pid(launch->global_tid),
                    .tid = nsys_tid(launch->global_tid),
                    .device = sqlite_integer(rows, 4, 0),
                    .call = api_name(database, launch->name_id, call, sizeof call),
                    .kernel = nsys_string(database, sqlite_integer(rows, 5, -1)),
                });
    int64_t last_ns = launch->end_ns > end_ns ? launch->end_ns : end_ns;

    stats_values_add(&group->phases[PHASE_TOTAL], saturated_difference(last_ns, launch->start_ns));
    stats_values_add(&group->phases[PHASE_CALL],
                     saturated_difference(launch->end_ns, launch->start_ns));
    if (start_ns >= launch->end_ns)
        stats_values_add(&group->phases[PHASE_QUEUE],
                         saturated_difference(start_ns, launch->end_ns));
    stats_values_add(&group->phases[PHASE_KERNEL], saturated_difference(end_ns, start_ns));
}

static int cuda_kern_exec_sum_compare_numbers(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

/* A full order first, so that the stable sort by the mean leaves ties in it. */
static int compare_launch_groups(const void *a, const void *b)
{
    const struct launch_group *left = a;
    const struct launch_group *right = b;
    int order = cuda_kern_exec_sum_compare_numbers(left->pid, right->pid);

    if (!order)
        order = cuda_kern_exec_sum_compare_numbers(left->tid, right->tid);
    if (!order)
        order = cuda_kern_exec_sum_compare_numbers(left->device, right->device);
    if (!order)
        order = compare_nullable(left->call, right->call);
    return order ? order : compare_nullable(left->kernel, right->kernel);
}

static void add_phase(struct stats_cell *cells, struct stats_values *values)
{
    struct stats_summary summary = stats_values_summary(values);
    struct stats_cell *next = cells;

    if (summary.count > 0) {
        *next++ = stats_tenths(summary.mean);
        *next++ = stats_tenths(summary.median);
        *next++ = stats_integer(summary.least);
        *next++ = stats_integer(summary.largest);
    } else {
        next += 4;
    }
    *next = stats_tenths(summary.deviation); /* nsys has 0.0 even where there is no value */
}

static int compare_means(const struct stats_cell *a, const struct stats_cell *b)
{
    return (a[5].real < b[5].real) - (a[5].real > b[5].real);
}

/* Sorted twice: by the key, so that equal means keep one order in every run, and then stably
 * by the mean. The count of queued ones is a column of its own, since not every kernel waits. */
static void cuda_kern_exec_sum_fill_rows(struct stats_table *table, struct launch_groups *groups)
{
    if (groups->count)
        qsort(groups->groups, groups->count, sizeof *groups->groups, compare_launch_groups);
    for (uint32_t i = 0; i < groups->count; i++) {
        struct launch_group *group = &groups->groups[i];
        struct stats_cell *row = stats_table_add_row(table);

        row[0] = stats_integer(group->pid);
        row[1] = stats_integer(group->tid);
        row[2] = stats_integer(group->device);
        row[3] = stats_integer((int64_t)group->phases[PHASE_TOTAL].count);
        row[4] = stats_integer((int64_t)group->phases[PHASE_QUEUE].count);
        for (int phase = 0; phase < PHASE_COUNT; phase++) {
            add_phase(&row[5 + 5 * phase], &group->phases[phase]);
            stats_values_clear(&group->phases[phase]);
        }
        row[25] = stats_text(table, group->call);
        row[26] = stats_text(table, group->kernel);
    }
    stats_table_sort(table, compare_means);
}

#define PHASE_COLUMNS(letter) \
    letter "Avg (ns)", letter "Med (ns)", letter "Min (ns)", letter "Max (ns)", letter "StdDev (ns)"

static const char *const columns_of_report[] = {"PID",
                                                "TID",
                                                "DevId",
                                                "Count",
                                                "QCount",
                                                PHASE_COLUMNS("T"),
                                                PHASE_COLUMNS("A"),
                                                PHASE_COLUMNS("Q"),
                                                PHASE_COLUMNS("K"),
                                                "API Name",
                                                "Kernel Name",
                                                NULL};

/* Several calls may have one correlation: nsys counts the kernel for each, so that this does. */
static bool cuda_kern_exec_sum_fill(struct stats_table *table, struct nsys_database *database,
                                    enum kernel_name_form form, struct error *error)
{
    const char *const columns[] = {"start",     "end",      "correlationId",
                                   "globalPid", "deviceId", kernel_name_column(database, form),
                                   NULL};
    struct launch_groups groups = {0};
    struct stats_launches launches = {0};
    struct sqlite_rows rows = {0};

    (void)error;
    /* Calls first, by process and correlation: one pass over the kernels then finds each
     * one's. */
    stats_launches_read(&launches, database);
    sqlite_rows_open(&rows, &database->file, "CUPTI_ACTIVITY_KIND_KERNEL", columns);
    while (sqlite_rows_next(&rows)) {
        for (uint32_t i = stats_launch_find(&launches, sqlite_integer(&rows, 3, 0),
                                            sqlite_integer(&rows, 2, 0));
             i != UINT32_MAX; i = launches.launches[i].next)
            cuda_kern_exec_sum_add_launch(&groups, database, &rows, &launches.launches[i]);
    }
    sqlite_rows_clear(&rows);
    stats_launches_clear(&launches);
    cuda_kern_exec_sum_fill_rows(table, &groups);
    free(groups.groups);
    hash_map_clear(&groups.by_key);
    string_pool_clear(&groups.keys);
    string_pool_clear(&groups.names);
    return true;
}

const struct stats_report cuda_kern_exec_sum_stats = {
    .name = "cuda_kern_exec_sum",
    .title = "CUDA Kernel Launch & Exec Time Summary",
    .columns = columns_of_report,
    .needs = {NEEDS_KERNELS, NEEDS_CALLS},
    .has_kernel_names = true,
    .fill = cuda_kern_exec_sum_fill,
};
