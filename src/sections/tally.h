/* Rows of a table "by name": how often, how long in all, the shortest and the longest; and their
 * order. */
#ifndef FLOPLEDGER_SECTIONS_TALLY_H
#define FLOPLEDGER_SECTIONS_TALLY_H

#include "base/core/saturated.h"
#include "sections/analysis.h"

#include <stddef.h>
#include <stdint.h>

struct tally {
    int64_t count;
    int64_t total_ns;
    int64_t min_ns; /* of no meaning while count is 0 */
    int64_t max_ns;
};

static inline void tally_add(struct tally *tally, int64_t duration_ns)
{
    if (tally->count == 0 || duration_ns < tally->min_ns)
        tally->min_ns = duration_ns;
    if (tally->count == 0 || duration_ns > tally->max_ns)
        tally->max_ns = duration_ns;
    tally->count++;
    tally->total_ns = saturated_sum(tally->total_ns, duration_ns);
}

/* Rounded half up; 0 for an empty tally. */
int64_t tally_mean_ns(const struct tally *tally);

/* `part` of `whole` as 0...1; 0 where the whole is 0. */
double fraction_of(int64_t part, int64_t whole);

struct sorted_row {
    struct tally tally;
    const char *name;   /* orders rows that are equal otherwise */
    const char *detail; /* then this; may be NULL */
    uint32_t group;     /* the caller's own index */
};

/* Largest first (names: A first). */
void sort_rows(struct sorted_row *rows, size_t count, enum sort_order order);

/* How many of `count` rows --top leaves. */
size_t rows_to_show(const struct analysis_options *options, size_t count);

/* calloc that ends the program when memory is out; for at least one element. free() it. */
void *zeroed_array(size_t count, size_t element_bytes);

#endif
