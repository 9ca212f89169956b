/* Which step holds a moment, and which device events start inside one. */
#include "ledger/step_finder.h"

#include "base/core/search.h"

static int64_t step_finder_start_of(const struct step_ledger *step, bool is_host)
{
    return is_host ? step->window.mark_start_ns : step->window.start_ns;
}

static bool step_finder_holds(const struct step_ledger *step, int64_t time_ns, bool is_host)
{
    return time_ns >= step_finder_start_of(step, is_host) &&
           time_ns < (is_host ? step->window.mark_end_ns : step->window.end_ns);
}

/* `is_host`: by the marks, not by the windows; both are in the same order. Callers go through
 * events in order, so the last answer is mostly the next one. With the whole trace as the one
 * window every moment is its: nothing of it may be lost by a nanosecond at the end. */
static uint32_t step_finder_find_step(struct step_finder *finder, int64_t time_ns, bool is_host)
{
    const struct ledger *ledger = finder->ledger;
    uint32_t low;

    if (ledger->step_count == 0)
        return NO_STEP;
    if (ledger->source == WINDOW_WHOLE)
        return 0;
    if (step_finder_holds(&ledger->steps[finder->last], time_ns, is_host))
        return finder->last;
    low = LOWER_BOUND(i, 0, ledger->step_count,
                      step_finder_start_of(&ledger->steps[i], is_host) <= time_ns);
    if (low == 0 || !step_finder_holds(&ledger->steps[low - 1], time_ns, is_host))
        return NO_STEP;
    finder->last = low - 1;
    return low - 1;
}

uint32_t step_finder_at(struct step_finder *finder, int64_t time_ns)
{
    return step_finder_find_step(finder, time_ns, false);
}

uint32_t step_finder_of_host(struct step_finder *finder, int64_t time_ns)
{
    return step_finder_find_step(finder, time_ns, true);
}

uint32_t first_step_after(const struct ledger *ledger, int64_t time_ns)
{
    return LOWER_BOUND(i, 0, ledger->step_count, ledger->steps[i].window.end_ns <= time_ns);
}

bool is_chosen_device_event(struct step_finder *finder, const struct trace *trace, uint32_t index)
{
    const struct event *event = &trace->device[index];

    return trace->tracks[event->track].device == finder->ledger->device &&
           step_finder_at(finder, event->start_ns) != NO_STEP;
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
