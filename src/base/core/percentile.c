/* The n-th smallest of many numbers: quickselect, each time with another pivot. */
#include "base/core/percentile.h"

static void swap(int64_t *a, int64_t *b)
{
    int64_t held = *a;

    *a = *b;
    *b = held;
}

/* Puts smaller values before, larger ones behind those that equal the pivot; `low` and `high`
 * become the bounds of the equal ones. Three parts in one pass (Dijkstra's Dutch national flag):
 * with many equal values, as durations in microseconds are, two parts would take quadratic time. */
static void partition(int64_t *values, size_t *low, size_t *high, int64_t pivot)
{
    size_t i = *low;

    while (i < *high) {
        if (values[i] < pivot)
            swap(&values[i++], &values[(*low)++]);
        else if (values[i] > pivot)
            swap(&values[i], &values[--*high]);
        else
            i++;
    }
}

/* The nearest-rank definition: the smallest value that at least per_cent of all do not exceed,
 * so that the result is one of the values. Rank is worked out from quotient and remainder,
 * against overflow. O(n) expected, as the pivot does not depend on the order; the seed is
 * fixed, and the same list takes the same time. */
int64_t percentile_of(int64_t *values, size_t count, unsigned per_cent)
{
    size_t begin = 0, end = count;
    size_t rank = (count / 100) * per_cent + ((count % 100) * per_cent + 99) / 100;
    uint64_t state = 88172645463325252u; /* xorshift: the pivots must not follow any order of the
                                            values */

    if (count == 0)
        return 0;
    rank = rank ? rank - 1 : 0;
    while (end - begin > 1) {
        size_t low = begin, high = end;

        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        partition(values, &low, &high, values[begin + (size_t)(state % (end - begin))]);
        if (rank < low)
            end = low;
        else if (rank >= high)
            begin = high;
        else
            return values[rank];
    }
    return values[rank];
}
