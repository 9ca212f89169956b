/* Which step holds a moment, and which device events start inside one. */
#include "ledger/step_finder.h"

#include "base/core/search.h"

static int64_t step_finder_start_of(const struct step_ledger *step, bool is_host)
{
    return is_host ? step->window.mark_start_ns : step->window.start_ns;
}

/* What is asked for is most often near the last answer, which is tried before this search. */
uint32_t step_finder_search(struct step_finder *finder, int64_t time_ns, bool is_host)
{
    const struct ledger *ledger = finder->ledger;
    uint32_t low;

    if (ledger->step_count == 0)
        return NO_STEP;
    if (ledger->source == WINDOW_WHOLE)
        return 0;
    low = LOWER_BOUND(i, 0, ledger->step_count,
                      step_finder_start_of(&ledger->steps[i], is_host) <= time_ns);
    if (low == 0 || !step_holds(&ledger->steps[low - 1].window, time_ns, is_host))
        return NO_STEP;
    finder->last = low - 1;
    return low - 1;
}

uint32_t first_step_after(const struct ledger *ledger, int64_t time_ns)
{
    return LOWER_BOUND(i, 0, ledger->step_count, ledger->steps[i].window.end_ns <= time_ns);
}

int64_t ledger_total_ns(const struct ledger *ledger)
{
    int64_t total = 0;

    for (uint32_t i = 0; i < ledger->step_count; i++)
        total += ledger->steps[i].window.end_ns - ledger->steps[i].window.start_ns;
    return total;
}

int64_t ledger_account_ns(const struct ledger *ledger, enum account account)
{
    int64_t total = 0;

    for (uint32_t i = 0; i < ledger->step_count; i++)
        total += ledger->steps[i].account_ns[account];
    return total;
}

const char *step_word(const struct ledger *ledger)
{
    return ledger->source == WINDOW_WHOLE ? "window" : "step";
}
