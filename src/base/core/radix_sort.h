/* Sorts many 64-bit keys by some of their bits, in time that grows with their number alone. */
#ifndef FLOPLEDGER_BASE_CORE_RADIX_SORT_H
#define FLOPLEDGER_BASE_CORE_RADIX_SORT_H

#include <stddef.h>
#include <stdint.h>

/* Sorts by the bits from `low_bit` up to and without `high_bit` (at most 64); equal ones keep their
 * order. Uses `scratch`
 * ([count] too); returns the one of the two arrays that holds the result. */
uint64_t *radix_sort(uint64_t *keys, uint64_t *scratch, size_t count, unsigned low_bit,
                     unsigned high_bit);

#endif
