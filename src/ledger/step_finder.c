/* Which step holds a moment, and which device events start inside one. */
#include "ledger/step_finder.h"

static bool holds(const struct step_ledger *step, int64_t time_ns)
{
    return time_ns >= step->window.start_ns && time_ns < step->window.end_ns;
}

uint32_t step_finder_at(struct step_finder *finder, int64_t time_ns)
{
    const struct ledger *ledger = finder->ledger;
    uint32_t low = 0, high = ledger->step_count;

    if (ledger->step_count == 0)
        return NO_STEP;
    if (ledger->source == WINDOW_WHOLE)
        return 0;
    if (holds(&ledger->steps[finder->last], time_ns))
        return finder->last;
    while (low < high) { /* the first step that starts after `time_ns` */
        uint32_t middle = low + (high - low) / 2;

        if (ledger->steps[middle].window.start_ns <= time_ns)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0 || !holds(&ledger->steps[low - 1], time_ns))
        return NO_STEP;
    finder->last = low - 1;
    return low - 1;
}

uint32_t first_step_after(const struct ledger *ledger, int64_t time_ns)
{
    uint32_t low = 0;
    uint32_t high = ledger->step_count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (ledger->steps[middle].window.end_ns <= time_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
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
