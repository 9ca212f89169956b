/* Sorts many 64-bit keys by some of their bits, in time that grows with their number alone. */
#include "base/core/radix_sort.h"

#include <string.h>

/* Counters of a digit stay in the first cache, and six passes sort 64 bits. */
enum { DIGIT_BITS = 11, DIGITS = 1 << DIGIT_BITS };

/* One pass over one digit; false where all keys have the same digit and nothing was moved. 11
 * bits: 2,048 counters of 8 bytes fit into a first-level cache, and three passes sort 33 bits. A
 * counting sort is stable, which passes from the low digit to the high one rely on. */
static int sort_by_digit(const uint64_t *from, uint64_t *to, size_t count, unsigned shift,
                         uint64_t mask)
{
    size_t places[DIGITS];
    size_t place = 0;

    memset(places, 0, sizeof places);
    for (size_t i = 0; i < count; i++)
        places[from[i] >> shift & mask]++;
    if (places[from[0] >> shift & mask] == count)
        return 0;
    for (size_t digit = 0; digit <= mask; digit++) {
        size_t here = places[digit];

        places[digit] = place;
        place += here;
    }
    for (size_t i = 0; i < count; i++)
        to[places[from[i] >> shift & mask]++] = from[i];
    return 1;
}

/* Bits that all keys share cost one pass of counting and none of moving. The result is in
 * either array, whichever the last pass wrote: the caller takes what is returned. */
uint64_t *radix_sort(uint64_t *keys, uint64_t *scratch, size_t count, unsigned low_bit,
                     unsigned high_bit)
{
    if (count < 2)
        return keys;
    for (unsigned shift = low_bit; shift < high_bit; shift += DIGIT_BITS) {
        unsigned bits = high_bit - shift < DIGIT_BITS ? high_bit - shift : DIGIT_BITS;

        if (sort_by_digit(keys, scratch, count, shift, ((uint64_t)1 << bits) - 1)) {
            uint64_t *swap = keys;

            keys = scratch;
            scratch = swap;
        }
    }
    return keys;
}
