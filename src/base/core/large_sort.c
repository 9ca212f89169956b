/* Sorts large arrays while walking through them in order: blocks that nearly fit into the
 * processor's cache are sorted each, and the runs they form are merged. */
#include "base/core/large_sort.h"

#include "base/core/invariant.h"
#include "base/core/large_array.h"
#include "base/core/search.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static char *element(const struct large_order *order, void *elements, size_t index)
{
    return (char *)elements + index * order->element_bytes;
}

static bool is_in_order(const struct large_order *order, const void *a, const void *b)
{
    return order->compare(a, b, order->argument) <= 0;
}

/* How many of the sorted elements stand before `other`, or where it does. What stands before the
 * first of the right run is in place already: a binary search finds how much, and in nearly
 * sorted lists that is nearly all. */
static size_t count_before(const struct large_order *order, void *elements, size_t count,
                           const void *other)
{
    return LOWER_BOUND(i, 0, count, is_in_order(order, element(order, elements, i), other));
}

/* Merges two sorted runs, `left` elements and behind them `right`. What of the left run stays where
 * it is is not moved. Only the left run's part that moves is copied out: the right one's
 * elements move to the front, never over one that is still needed. Equal elements: left first,
 * so that it is stable. */
static void merge_two(const struct large_order *order, void *elements, size_t left, size_t right)
{
    const size_t bytes = order->element_bytes;
    const char *second = element(order, elements, left);
    const char *second_end = second + right * bytes;
    size_t in_place = count_before(order, elements, left, second);
    size_t moved_bytes = (left - in_place) * bytes;
    char *to = element(order, elements, in_place);
    char *copy;
    const char *first;
    const char *first_end;

    if (!moved_bytes)
        return;
    copy = large_array_new(moved_bytes);
    memcpy(copy, to, moved_bytes);
    first = copy;
    first_end = copy + moved_bytes;
    for (; first < first_end && second < second_end; to += bytes) {
        const char **next = is_in_order(order, first, second) ? &first : &second;

        memcpy(to, *next, bytes);
        *next += bytes;
    }
    memcpy(to, first, (size_t)(first_end - first));
    large_array_free(copy);
}

/* `ends` are those of the runs, in order. Neighbors by pairs, round after round: log2(runs)
 * passes over all. Runs stay next to each other, and stable. */
static void merge_runs(const struct large_order *order, void *elements, size_t *ends, size_t count)
{
    while (count > 1) {
        size_t kept = 0;

        for (size_t i = 0; i < count; i += 2) {
            size_t start = kept ? ends[kept - 1] : 0;

            if (i + 1 < count)
                merge_two(order, element(order, elements, start), ends[i] - start,
                          ends[i + 1] - ends[i]);
            ends[kept++] = ends[i + 1 < count ? i + 1 : i];
        }
        count = kept;
    }
}

/* So few sorted runs in a block are merged; more of them are sorted anew. */
enum { NATURAL_RUNS_MAX = 16 };

/* Profilers write most events in order, with some threads one behind the other: a few sorted
 * runs, which merging costs less than sorting. No C library promises an order of equal elements
 * in qsort_r, so that orders are total wherever it matters. */
static void large_sort_block(const struct large_order *order, void *block, size_t count)
{
    size_t ends[NATURAL_RUNS_MAX];
    size_t runs = 0;

    if (order->sort_block) {
        order->sort_block(block, count, order->argument);
        return;
    }
    for (size_t i = 1; i < count && runs < NATURAL_RUNS_MAX; i++)
        if (!is_in_order(order, element(order, block, i - 1), element(order, block, i)))
            ends[runs++] = i;
    if (runs == NATURAL_RUNS_MAX) {
        qsort_r(block, count, order->element_bytes, order->compare, order->argument);
        return;
    }
    ends[runs++] = count;
    merge_runs(order, block, ends, runs);
}

/* Two blocks of which the second goes on where the first ends are one run: a sorted list costs
 * one comparison for each element. */
void sort_large(void *elements, size_t count, const struct large_order *order)
{
    size_t *ends = require_memory(calloc(count / LARGE_SORT_BLOCK + 1, sizeof *ends));
    size_t runs = 0;

    for (size_t start = 0; start < count; start += LARGE_SORT_BLOCK) {
        size_t here = count - start < LARGE_SORT_BLOCK ? count - start : LARGE_SORT_BLOCK;
        char *block = element(order, elements, start);

        large_sort_block(order, block, here);
        if (start && is_in_order(order, block - order->element_bytes, block))
            runs--;
        ends[runs++] = start + here;
    }
    merge_runs(order, elements, ends, runs);
    free(ends);
}
