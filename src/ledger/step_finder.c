/* Which step holds a moment, and which device events start inside one. */
#include "ledger/step_finder.h"

static int64_t start_of(const struct step_ledger *step, bool is_host)
{
    return is_host ? step->window.mark_start_ns : step->window.start_ns;
}

static bool holds(const struct step_ledger *step, int64_t time_ns, bool is_host)
{
    return time_ns >= start_of(step, is_host) &&
           time_ns < (is_host ? step->window.mark_end_ns : step->window.end_ns);
}

/* `is_host`: by the marks, not by the windows; both are in the same order. */
static uint32_t find_step(struct step_finder *finder, int64_t time_ns, bool is_host)
{
    const struct ledger *ledger = finder->ledger;
    uint32_t low = 0, high = ledger->step_count;

    if (ledger->step_count == 0)
        return NO_STEP;
    if (ledger->source == WINDOW_WHOLE)
        return 0;
    if (holds(&ledger->steps[finder->last], time_ns, is_host))
        return finder->last;
    while (low < high) { /* the first step that starts after `time_ns` */
        uint32_t middle = low + (high - low) / 2;

        if (start_of(&ledger->steps[middle], is_host) <= time_ns)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0 || !holds(&ledger->steps[low - 1], time_ns, is_host))
        return NO_STEP;
    finder->last = low - 1;
    return low - 1;
}

uint32_t step_finder_at(struct step_finder *finder, int64_t time_ns)
{
    return find_step(finder, time_ns, false);
}

uint32_t step_finder_of_host(struct step_finder *finder, int64_t time_ns)
{
    return find_step(finder, time_ns, true);
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
