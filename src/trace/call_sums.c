/* Work of devices as a profiler sums it up. */
#include "trace/call_sums.h"

#include <stdlib.h>
#include <string.h>

double call_sum_flops(const struct call_sum *sum)
{
    double flops = 0;

    for (int width = 0; width < SUM_WIDTHS; width++)
        flops += sum->flops[width];
    return flops;
}

void call_sums_clear(struct call_sums *sums)
{
    free(sums->sums);
    free(sums->devices);
    arena_clear(&sums->arena);
    memset(sums, 0, sizeof *sums);
}
