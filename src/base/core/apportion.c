/* Divides sums so that the rounded parts still add up: the method of largest remainders. */
#include "base/core/apportion.h"

#include <assert.h>
#include <stdbool.h>

/* Quotient and remainder apart, so that half a divisor added to the total cannot overflow. */
int64_t rounded_mean(int64_t total, int64_t divisor)
{
    return total / divisor + (total % divisor + divisor / 2) / divisor;
}

/* Of the shares that are not rounded up yet, the one with the largest remainder; the first of equal
 * ones. Linear for each unit that is left, of which there are at most as many as parts:
 * quadratic in APPORTION_PARTS_MAX at most. */
static size_t largest_remainder(const int64_t *remainders, const bool *is_rounded_up, size_t count)
{
    size_t best = count;

    for (size_t i = 0; i < count; i++)
        if (!is_rounded_up[i] && (best == count || remainders[i] > remainders[best]))
            best = i;
    return best;
}

/* What is left is less than the number of parts, as each remainder is less than one unit: each
 * is rounded up at most once, and all are within one unit of their exact share (Hamilton's
 * method). */
static void round_up(int64_t *shares, const int64_t *remainders, size_t count, int64_t left)
{
    bool is_rounded_up[APPORTION_PARTS_MAX] = {false};

    assert(left >= 0 && left <= (int64_t)count);
    for (; left > 0; left--) {
        size_t best = largest_remainder(remainders, is_rounded_up, count);

        is_rounded_up[best] = true;
        shares[best]++;
    }
}

/* The sum may be rounded itself: it is divided as given, and need not be the exact sum of the
 * parts. */
void apportion(int64_t *shares, const int64_t *parts, size_t count, int64_t divisor, int64_t sum)
{
    int64_t remainders[APPORTION_PARTS_MAX];
    int64_t left = sum;

    assert(count <= APPORTION_PARTS_MAX && divisor > 0);
    for (size_t i = 0; i < count; i++) {
        shares[i] = parts[i] / divisor;
        remainders[i] = parts[i] % divisor;
        left -= shares[i];
    }
    round_up(shares, remainders, count, left);
}

/* The product of two 64-bit numbers needs 128 bits. */
void apportion_by_weight(int64_t *shares, const int64_t *weights, size_t count, int64_t total)
{
    int64_t remainders[APPORTION_PARTS_MAX];
    int64_t whole = 0, left = total;

    assert(count <= APPORTION_PARTS_MAX && total >= 0);
    for (size_t i = 0; i < count; i++)
        whole += weights[i];
    assert(whole > 0);
    for (size_t i = 0; i < count; i++) {
        __extension__ __int128 product = (__int128)total * weights[i];

        shares[i] = (int64_t)(product / whole);
        remainders[i] = (int64_t)(product % whole);
        left -= shares[i];
    }
    round_up(shares, remainders, count, left);
}
