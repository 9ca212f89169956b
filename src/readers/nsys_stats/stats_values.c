/* Mean, median and deviation of the numbers of a group. */
#include "readers/nsys_stats/stats_values.h"

#include "base/core/array.h"
#include "base/core/saturated.h"
#include "readers/nsys/nsys_ids.h"

#include <math.h>
#include <stdlib.h>

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
