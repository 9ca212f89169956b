/* Divides sums so that the rounded parts still add up: the method of largest remainders. */
#include "base/apportion.h"

#include <assert.h>
#include <stdbool.h>

int64_t rounded_mean(int64_t total, int64_t divisor)
{
    return total / divisor + (total % divisor + divisor / 2) / divisor;
}

void apportion(int64_t *shares, const int64_t *parts, size_t count, int64_t divisor, int64_t sum)
{
    bool is_rounded_up[APPORTION_PARTS_MAX] = {false};
    int64_t left = sum;

    assert(count <= APPORTION_PARTS_MAX && divisor > 0);
    for (size_t i = 0; i < count; i++) {
        shares[i] = parts[i] / divisor;
        left -= shares[i];
    }
    assert(left >= 0 && left <= (int64_t)count);
    for (; left > 0; left--) {
        size_t best = count;

        for (size_t i = 0; i < count; i++)
            if (!is_rounded_up[i] && (best == count || parts[i] % divisor > parts[best] % divisor))
                best = i;
        is_rounded_up[best] = true;
        shares[best]++;
    }
}
