/* Which step holds a moment, and which device events the tables count: those that start inside a
 * step of the ledger. */
#ifndef FLOPLEDGER_LEDGER_STEP_FINDER_H
#define FLOPLEDGER_LEDGER_STEP_FINDER_H

#include "ledger/step_ledger.h"
#include "trace/trace.h"

#include <stdbool.h>
#include <stdint.h>

#define NO_STEP UINT32_MAX

/* Remembers the step of the last question: cheap for events in order of time. */
struct step_finder {
    const struct ledger *ledger;
    uint32_t last; /* index in ledger->steps */
};

static inline bool step_holds(const struct step_window *window, int64_t time_ns, bool is_host)
{
    return time_ns >= (is_host ? window->mark_start_ns : window->start_ns) &&
           time_ns < (is_host ? window->mark_end_ns : window->end_ns);
}

/* The step of a moment that is not in the one found last. `is_host`: by the marks, not by the
 * windows; both are in the same order. */
uint32_t step_finder_search(struct step_finder *finder, int64_t time_ns, bool is_host);

static inline uint32_t step_finder_find(struct step_finder *finder, int64_t time_ns, bool is_host)
{
    const struct ledger *ledger = finder->ledger;

    if (ledger->step_count > 0 && ledger->source != WINDOW_WHOLE &&
        step_holds(&ledger->steps[finder->last].window, time_ns, is_host))
        return finder->last;
    return step_finder_search(finder, time_ns, is_host);
}

/* Index of the step whose window holds `time_ns`, or NO_STEP. Without steps (WINDOW_WHOLE): always
 * 0. */
static inline uint32_t step_finder_at(struct step_finder *finder, int64_t time_ns)
{
    return step_finder_find(finder, time_ns, false);
}

/* Index of the step in whose mark the host does what it does at `time_ns`, or NO_STEP. By the
 * host's clock the same as step_finder_at. */
static inline uint32_t step_finder_of_host(struct step_finder *finder, int64_t time_ns)
{
    return step_finder_find(finder, time_ns, true);
}

/* Index of the first step that ends after `time_ns`; step_count where none does. */
uint32_t first_step_after(const struct ledger *ledger, int64_t time_ns);

/* trace->device[index] is on the ledger's device and starts inside a step. */
static inline bool is_chosen_device_event(struct step_finder *finder, const struct trace *trace,
                                          uint32_t index)
{
    const struct event *event = &trace->device[index];

    return trace->tracks[event->track].device == finder->ledger->device &&
           step_finder_at(finder, event->start_ns) != NO_STEP;
}

/* The sum of all windows, and of what lies in an account in all of them. */
int64_t ledger_total_ns(const struct ledger *ledger);
int64_t ledger_account_ns(const struct ledger *ledger, enum account account);

/* "step", or "window" where the trace has no steps. */
const char *step_word(const struct ledger *ledger);

#endif
