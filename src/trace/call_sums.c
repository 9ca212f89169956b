/* Work of devices as a profiler sums it up. */
#include "trace/call_sums.h"

#include "base/core/large_array.h"

#include <stdlib.h>
#include <string.h>

/* Of all widths, of which most have one. */
double call_sum_flops(const struct call_sum *sum)
{
    double flops = 0;

    for (int width = 0; width < SUM_WIDTHS; width++)
        flops += sum->flops[width];
    return flops;
}

/* What has no device of its own (scopes, host work) says nothing of the scope around it. */
void call_sum_add_device(struct call_sum *scope, size_t device)
{
    if (device == SIZE_MAX || scope->is_parted)
        return;
    if (scope->device == SIZE_MAX)
        scope->device = device;
    else if (scope->device != device)
        scope->is_parted = true;
    if (scope->is_parted)
        scope->device = SIZE_MAX;
}

void call_sum_add(struct call_sum *scope, const struct call_sum *sum)
{
    scope->launches += sum->launches;
    scope->time_ns += sum->time_ns;
    scope->bytes += sum->bytes;
    for (int width = 0; width < SUM_WIDTHS; width++)
        scope->flops[width] += sum->flops[width];
    call_sum_add_device(scope, sum->device);
    if (sum->is_parted) {
        scope->is_parted = true;
        scope->device = SIZE_MAX;
    }
}

void call_sums_clear(struct call_sums *sums)
{
    large_array_free(sums->sums);
    free(sums->kernels);
    free(sums->devices);
    string_pool_clear(&sums->names);
    memset(sums, 0, sizeof *sums);
}
