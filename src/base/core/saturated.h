/* Sums, differences and products of numbers from files, which may be any: what is too far stays at
 * the end.
 */
#ifndef FLOPLEDGER_BASE_CORE_SATURATED_H
#define FLOPLEDGER_BASE_CORE_SATURATED_H

#include <stdint.h>

/* a + b; INT64_MAX or INT64_MIN where that is too far: only a file made to mislead gets there. */
static inline int64_t saturated_sum(int64_t a, int64_t b)
{
    int64_t sum;

    if (__builtin_add_overflow(a, b, &sum))
        return a < 0 ? INT64_MIN : INT64_MAX;
    return sum;
}

/* a - b, likewise. */
static inline int64_t saturated_difference(int64_t a, int64_t b)
{
    int64_t difference;

    if (__builtin_sub_overflow(a, b, &difference))
        return a < b ? INT64_MIN : INT64_MAX;
    return difference;
}

/* a * b, likewise. */
static inline int64_t saturated_product(int64_t a, int64_t b)
{
    int64_t product;

    if (__builtin_mul_overflow(a, b, &product))
        return (a < 0) == (b < 0) ? INT64_MAX : INT64_MIN;
    return product;
}

#endif
