/* Did nearly everything get slower, or faster, at once? */
#include "sections/comparison/changed_alike.h"

#include <math.h>

static const double least_change = 0.05;
static const double least_share = 0.8;

static bool is_in_both(const struct change *change)
{
    return change->mean_a > 0 && change->mean_b > 0;
}

/* At least a third of the way that all of them go together. */
static bool goes_along(const struct change *change, double factor)
{
    double way = change->mean_b / change->mean_a - 1;

    return way * (factor - 1) > 0 && fabs(way) >= fabs(factor - 1) / 3;
}

struct changed_alike measure_changed_alike(const struct run_comparison *comparison)
{
    bool on_host = comparison->a->is_cpu_only || comparison->b->is_cpu_only;
    enum measure_kind kind = on_host ? MEASURE_HOST_OPERATOR : MEASURE_KERNEL;
    uint32_t first = comparison->first[kind], end = comparison->first[kind + 1];
    struct changed_alike alike = {.factor = 1};
    double a = 0, b = 0, along = 0;

    for (uint32_t i = first; i < end; i++) {
        if (is_in_both(&comparison->changes[i])) {
            a += comparison->changes[i].mean_a;
            b += comparison->changes[i].mean_b;
        }
    }
    if (a <= 0)
        return alike;
    alike.factor = b / a;
    for (uint32_t i = first; i < end; i++)
        if (is_in_both(&comparison->changes[i]) &&
            goes_along(&comparison->changes[i], alike.factor))
            along += comparison->changes[i].mean_a;
    alike.share = along / a;
    alike.is_alike = fabs(alike.factor - 1) >= least_change && alike.share >= least_share;
    return alike;
}
