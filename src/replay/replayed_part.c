/* Which steps of a long recording are replayed. */
#include "replay/replayed_part.h"

#include "ledger/step_finder.h"
#include "ledger/step_outliers.h"

#include <stdlib.h>

static uint32_t work_in_steps(const struct trace *trace, const struct ledger *ledger)
{
    struct step_finder finder = {.ledger = ledger};
    uint32_t count = 0;

    for (uint32_t i = 0; i < trace->device_count; i++)
        count += is_chosen_device_event(&finder, trace, i);
    return count;
}

/* The first of `count` steps around the typical one. */
static uint32_t first_around_typical(const struct ledger *ledger, uint32_t count)
{
    struct step_spread spread = measure_step_spread(ledger);
    uint32_t typical = typical_step(&spread, ledger->step_count);
    uint32_t first = typical > count / 2 ? typical - count / 2 : 0;

    free(spread.steps);
    return first + count > ledger->step_count ? ledger->step_count - count : first;
}

struct replayed_part choose_replayed_part(const struct trace *trace, const struct ledger *ledger,
                                          uint32_t work_max)
{
    struct replayed_part part = {.ledger = *ledger, .is_all = true};
    uint64_t work = trace->device_count > work_max ? work_in_steps(trace, ledger) : 0;
    uint64_t count = ledger->step_count;

    if (work > work_max) {
        count = count * work_max / work;
        part.is_too_large = work / ledger->step_count > REPLAYED_STEP_MAX;
    }
    part.is_all = count == ledger->step_count || (ledger->step_count == 1 && !part.is_too_large);
    if (part.is_all)
        return part;
    part.ledger.step_count = count > 0 ? (uint32_t)count : 1;
    part.first = first_around_typical(ledger, part.ledger.step_count);
    part.ledger.steps += part.first;
    return part;
}
