/* Sorts large arrays (base/core/large_array.h) while walking through them in order: fast where they
 * are sorted in a few runs, as the rows of a file's tables mostly are. */
#ifndef FLOPLEDGER_BASE_CORE_LARGE_SORT_H
#define FLOPLEDGER_BASE_CORE_LARGE_SORT_H

#include <stddef.h>

/* What is sorted, and how. */
struct large_order {
    size_t element_bytes;
    /* As of qsort_r; `argument` is the one below. */
    int (*compare)(const void *a, const void *b, void *argument);
    /* Sorts a block of at most LARGE_SORT_BLOCK elements by `compare`, faster; NULL: nothing
     * faster is known. */
    void (*sort_block)(void *elements, size_t count, void *argument);
    void *argument;
};

enum { LARGE_SORT_BLOCK = 1 << 18 };

/* In place; elements that compare equal may change places. */
void sort_large(void *elements, size_t count, const struct large_order *order);

#endif
