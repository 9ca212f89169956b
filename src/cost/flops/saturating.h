/* Arithmetic that stops at the largest number instead of wrapping round: sizes from a trace may be
 * anything. */
#ifndef FLOPLEDGER_COST_FLOPS_SATURATING_H
#define FLOPLEDGER_COST_FLOPS_SATURATING_H

#include <stdint.h>

/* "Too large to be held exactly"; what is computed from it is this again (times 0 it is 0). */
#define TOO_LARGE INT64_MAX

/* Neither number is negative. */
static inline int64_t times(int64_t a, int64_t b)
{
    int64_t product;

    return __builtin_mul_overflow(a, b, &product) ? TOO_LARGE : product;
}

static inline int64_t plus(int64_t a, int64_t b)
{
    int64_t sum;

    return __builtin_add_overflow(a, b, &sum) ? TOO_LARGE : sum;
}

#endif
