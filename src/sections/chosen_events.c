/* Which events the tables count: those that start inside a step of the ledger. */
#include "sections/chosen_events.h"

#include <inttypes.h>

/* A range where the numbers follow one another; a list of holes ends after a dozen. */
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

bool has_chosen_event(const struct trace *trace, const struct ledger *ledger, uint32_t kinds,
                      uint32_t classes)
{
    struct step_finder finder = {.ledger = ledger};

    for (uint32_t i = 0; i < trace->device_count; i++)
        if (kinds >> trace->device[i].kind & 1 && classes >> ledger->classes[i] & 1 &&
            is_chosen_device_event(&finder, trace, i))
            return true;
    return false;
}
