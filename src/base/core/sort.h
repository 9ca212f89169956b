/* Orders for qsort, and the parts that orders are made of. */
#ifndef FLOPLEDGER_BASE_CORE_SORT_H
#define FLOPLEDGER_BASE_CORE_SORT_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* -1, 0 or 1: how `a` and `b`, two numbers of one type, stand to each other. */
#define ORDER_OF(a, b) (((a) > (b)) - ((a) < (b)))

static inline int order_int64(const void *a, const void *b)
{
    return ORDER_OF(*(const int64_t *)a, *(const int64_t *)b);
}

static inline void sort_int64(int64_t *numbers, size_t count)
{
    if (count > 1) /* there may be no array at all */
        qsort(numbers, count, sizeof *numbers, order_int64);
}

#endif
