/* Groups of rows, and their summaries. */
#include "readers/nsys_stats/stats_groups.h"

#include "base/core/array.h"
#include "base/core/invariant.h"
#include "base/core/saturated.h"
#include "readers/nsys/nsys_ids.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- values ---------------------------------------------------------------------------------- */

/* Mean, median and deviation of the numbers of a group. */

void stats_values_add(struct stats_values *values, int64_t value)
{
    ARRAY_ADD(values->values, values->count, value);
}

static int stats_values_compare_values(const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a;
    int64_t right = *(const int64_t *)b;

    return (left > right) - (left < right);
}

/* The deviation is that of a sample (n - 1), and of one value 0, as in nsys. Two passes, since
 * the sum of squares less the square of the sum loses all digits for times near 1e18; long
 * double keeps the squares exact enough. Sorting is for the median: O(n log n). */
struct stats_summary stats_values_summary(struct stats_values *values)
{
    struct stats_summary summary = {.count = values->count};
    size_t middle = values->count / 2;
    long double squares = 0;

    if (values->count == 0)
        return summary;
    qsort(values->values, values->count, sizeof *values->values, stats_values_compare_values);
    for (size_t i = 0; i < values->count; i++)
        summary.total = saturated_sum(summary.total, values->values[i]);
    summary.mean = (double)summary.total / (double)values->count;
    for (size_t i = 0; i < values->count; i++) {
        long double distance = (long double)values->values[i] - (long double)summary.mean;

        squares += distance * distance;
    }
    if (values->count > 1)
        summary.deviation = (double)sqrtl(squares / (long double)(values->count - 1));
    summary.least = values->values[0];
    summary.largest = values->values[values->count - 1];
    summary.median = (double)values->values[middle];
    if (values->count % 2 == 0)
        summary.median = ((double)values->values[middle - 1] + summary.median) / 2;
    return summary;
}

void stats_values_clear(struct stats_values *values)
{
    free(values->values);
    *values = (struct stats_values){0};
}

/* ---- stats groups ---------------------------------------------------------------------------- */

int compare_nullable(const char *a, const char *b)
{
    if (!a || !b)
        return (a != NULL) - (b != NULL);
    return strcmp(a, b);
}

/* A group is made with its first row; its key is kept as its order among groups of equal sums. */
struct stats_group *stats_groups_get(struct stats_groups *groups, uint64_t key)
{
    uint32_t index = hash_map_add(&groups->by_key, key, groups->count);

    if (index < groups->count)
        return &groups->groups[index];
    ARRAY_ROOM(groups->groups, groups->count);
    groups->groups[groups->count] = (struct stats_group){.order = (int64_t)key};
    return &groups->groups[groups->count++];
}

/* Two ranges of one name and different styles (push/pop, start/end) are two rows; the style's
 * first letter tells them apart. */
struct stats_group *stats_groups_styled(struct stats_groups *groups, const char *name,
                                        const char *style)
{
    uint32_t id = name ? string_pool_add(&groups->names, name, strlen(name)) : UINT32_MAX;
    uint64_t style_key = style ? (uint64_t)(unsigned char)*style << 32 : 0;
    struct stats_group *group = stats_groups_get(groups, id | style_key);

    group->order = 0;
    group->name = name ? string_pool_text(&groups->names, id) : NULL;
    group->style = style;
    return group;
}

struct stats_group *stats_groups_named(struct stats_groups *groups, const char *name)
{
    return stats_groups_styled(groups, name, NULL);
}

struct ranked_group {
    struct stats_summary summary;
    const struct stats_group *group;
    bool is_by_count;
};

/* A total order, so that ties stand alike in each run. */
static int stats_groups_compare_groups(const void *a, const void *b)
{
    const struct ranked_group *left = a;
    const struct ranked_group *right = b;
    int order;

    if (left->summary.total != right->summary.total)
        return left->summary.total > right->summary.total ? -1 : 1;
    if (left->is_by_count && left->summary.count != right->summary.count)
        return left->summary.count < right->summary.count ? -1 : 1;
    if (left->group->order != right->group->order)
        return left->group->order < right->group->order ? -1 : 1;
    order = compare_nullable(left->group->name, right->group->name);
    return order ? order : compare_nullable(left->group->style, right->group->style);
}

/* Without any time there is no share, and the cell stays empty. Whether there is a style
 * decides where the name stands: always in the last column. */
static void stats_groups_fill_row(struct stats_table *table, const struct ranked_group *ranked,
                                  double all)
{
    const struct stats_summary *summary = &ranked->summary;
    struct stats_cell *row = stats_table_add_row(table);

    if (all != 0)
        row[0] = stats_tenths((double)summary->total * 100.0 / all);
    row[1] = stats_integer(summary->total);
    row[2] = stats_integer((int64_t)summary->count);
    row[3] = stats_tenths(summary->mean);
    row[4] = stats_tenths(summary->median);
    row[5] = stats_integer(summary->least);
    row[6] = stats_integer(summary->largest);
    row[7] = stats_tenths(summary->deviation);
    if (ranked->group->style)
        row[8] = stats_text(table, ranked->group->style);
    row[table->column_count - 1] = stats_text(table, ranked->group->name);
}

/* The share is of the sum of all groups, not of the wall clock. */
void stats_groups_fill(struct stats_groups *groups, struct stats_table *table, bool is_by_count)
{
    struct ranked_group *ranked = require_memory(calloc(groups->count + 1, sizeof *ranked));
    int64_t all = 0;

    for (uint32_t i = 0; i < groups->count; i++) {
        ranked[i] = (struct ranked_group){stats_values_summary(&groups->groups[i].values),
                                          &groups->groups[i], is_by_count};
        all = saturated_sum(all, ranked[i].summary.total);
    }
    qsort(ranked, groups->count, sizeof *ranked, stats_groups_compare_groups);
    for (uint32_t i = 0; i < groups->count; i++)
        stats_groups_fill_row(table, &ranked[i], (double)all);
    free(ranked);
}

void stats_groups_clear(struct stats_groups *groups)
{
    if (!groups)
        return;
    for (uint32_t i = 0; i < groups->count; i++)
        stats_values_clear(&groups->groups[i].values);
    free(groups->groups);
    hash_map_clear(&groups->by_key);
    string_pool_clear(&groups->names);
    *groups = (struct stats_groups){0};
}
