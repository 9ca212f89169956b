/* Rows of a table "by name", and their order. */
#include "sections/tally.h"

#include "base/core/out_of_memory.h"

#include <stdlib.h>
#include <string.h>

int64_t tally_mean_ns(const struct tally *tally)
{
    /* Rounded to the nearest nanosecond. Quotient and remainder are taken apart, so that half a
     * count added to the total can't overflow. */
    int64_t half = tally->count / 2;

    return tally->count ? tally->total_ns / tally->count +
                              (tally->total_ns % tally->count + half) / tally->count
                        : 0;
}

double fraction_of(int64_t part, int64_t whole)
{
    return whole ? (double)part / (double)whole : 0.0;
}

static int larger_first(int64_t a, int64_t b)
{
    return (a < b) - (a > b);
}

/* All orders end here, and names with their details are different: so rows that are equal by the
 * number asked for always stand in the same order, whatever qsort does with equals. */
static int by_name(const void *left, const void *right)
{
    const struct sorted_row *a = left, *b = right;
    int order = strcmp(a->name, b->name);

    if (order == 0 && a->detail && b->detail)
        order = strcmp(a->detail, b->detail);
    return order ? order : (a->group > b->group) - (a->group < b->group);
}

static int tally_by_time(const void *left, const void *right)
{
    const struct sorted_row *a = left, *b = right;
    int order = larger_first(a->tally.total_ns, b->tally.total_ns);

    return order ? order : by_name(left, right);
}

static int by_count(const void *left, const void *right)
{
    const struct sorted_row *a = left, *b = right;
    int order = larger_first(a->tally.count, b->tally.count);

    return order ? order : tally_by_time(left, right);
}

static int by_mean(const void *left, const void *right)
{
    const struct sorted_row *a = left, *b = right;
    int order = larger_first(tally_mean_ns(&a->tally), tally_mean_ns(&b->tally));

    return order ? order : tally_by_time(left, right);
}

static int by_max(const void *left, const void *right)
{
    const struct sorted_row *a = left, *b = right;
    int order = larger_first(a->tally.max_ns, b->tally.max_ns);

    return order ? order : tally_by_time(left, right);
}

void sort_rows(struct sorted_row *rows, size_t count, enum sort_order order)
{
    static int (*const comparisons[])(const void *, const void *) = {
        [SORT_TIME] = tally_by_time, [SORT_COUNT] = by_count, [SORT_MEAN] = by_mean,
        [SORT_MAX] = by_max,         [SORT_NAME] = by_name,   [SORT_TOTAL] = tally_by_time,
    };

    if (count > 1)
        qsort(rows, count, sizeof *rows, comparisons[order]);
}

size_t rows_to_show(const struct analysis_options *options, size_t count)
{
    return count < options->top ? count : options->top;
}

void *zeroed_array(size_t count, size_t element_bytes)
{
    void *array = calloc(count ? count : 1, element_bytes);

    if (!array)
        end_out_of_memory();
    return array;
}
