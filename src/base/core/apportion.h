/* Divides sums so that the rounded parts still add up. */
#ifndef FLOPLEDGER_BASE_CORE_APPORTION_H
#define FLOPLEDGER_BASE_CORE_APPORTION_H

#include <stddef.h>
#include <stdint.h>

enum { APPORTION_PARTS_MAX = 64 };

/* shares[i] = parts[i] / divisor, rounded down or up so that all shares add up to exactly `sum`:
 * the largest remainders are rounded up, of equal ones the first. `parts` are not negative, `count`
 * <= APPORTION_PARTS_MAX, `divisor` > 0, and `sum` is the sum of the parts divided by `divisor`,
 * rounded in either direction. */
void apportion(int64_t *shares, const int64_t *parts, size_t count, int64_t divisor, int64_t sum);

/* shares[i] = total * weights[i] / the sum of the weights, rounded so that all shares add up to
 * exactly `total`: the largest remainders are rounded up, of equal ones the first. `total` and the
 * weights are not negative, the weights not all 0, `count` <= APPORTION_PARTS_MAX. */
void apportion_by_weight(int64_t *shares, const int64_t *weights, size_t count, int64_t total);

/* parts added up / divisor, rounded half up. */
int64_t rounded_mean(int64_t total, int64_t divisor);

#endif
