/* Which events the tables count: those that start inside a step of the ledger. */
#include "analyses/chosen_events.h"

#include <inttypes.h>

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

bool is_chosen_device_event(struct step_finder *finder, const struct trace *trace, uint32_t index)
{
    const struct event *event = &trace->device[index];

    return trace->tracks[event->track].device == finder->ledger->device &&
           step_finder_at(finder, event->start_ns) != NO_STEP;
}

const char *step_numbers_text(struct results *results, const struct ledger *ledger)
{
    const struct step_ledger *steps = ledger->steps;
    const char *text;
    bool is_row = true;

    if (ledger->step_count == 0 || ledger->source == WINDOW_WHOLE)
        return "none";
    for (uint32_t i = 1; i < ledger->step_count; i++)
        is_row = is_row && steps[i].window.number == steps[i - 1].window.number + 1;
    if (ledger->step_count == 1)
        return results_format(results, "%" PRId64, steps[0].window.number);
    if (is_row)
        return results_format(results, "%" PRId64 " to %" PRId64, steps[0].window.number,
                              steps[ledger->step_count - 1].window.number);
    text = results_format(results, "%" PRId64, steps[0].window.number);
    for (uint32_t i = 1; i < ledger->step_count && i < 12; i++)
        text = results_format(results, "%s, %" PRId64, text, steps[i].window.number);
    return ledger->step_count > 12 ? results_format(results, "%s, ...", text) : text;
}

const char *chosen_events_text(struct results *results, const struct ledger *ledger)
{
    if (ledger->source == WINDOW_WHOLE)
        return "Counted: the whole trace, because it has no steps.";
    if (ledger->step_count == 1)
        return results_format(results, "Counted: what starts inside step %s.",
                              step_numbers_text(results, ledger));
    return results_format(results, "Counted: what starts inside the %" PRIu32 " steps %s.",
                          ledger->step_count, step_numbers_text(results, ledger));
}

const char *step_word(const struct ledger *ledger)
{
    return ledger->source == WINDOW_WHOLE ? "window" : "step";
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
