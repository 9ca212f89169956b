/* Claims of idle time that several rules share. */
#include "sections/advice/waiting_claims.h"

#include "base/core/invariant.h"
#include "sections/advice/claim.h"
#include "sections/advice/recording_rules.h"

#include <stdlib.h>

int64_t held_back_ns(const struct advice_case *advice, const struct idle_gap *gap)
{
    int64_t from_ns;

    /* Of work that was launched before the gap began the wait has an account of its own:
     * IDLE_QUEUED_WAIT, which claim_held_back adds. */
    if (gap->launch == NO_EVENT || advice->trace->host[gap->launch].start_ns < gap->start_ns)
        return 0;
    from_ns = event_end_ns(&advice->trace->host[gap->launch]);
    return gap->end_ns - from_ns >= ADVICE_LATE_START_NS ? gap->end_ns - from_ns : 0;
}

void claim_held_back(const struct advice_case *advice, struct advice_claim *claim)
{
    const struct ledger *ledger = advice->ledger;

    claim_accounts(advice, claim, ACCOUNT_BIT(IDLE_QUEUED_WAIT));
    /* Gaps after which work began late stand under other accounts, though it was queued for that
     * time: of those only the largest are kept by the ledger, so the claim is a lower bound. */
    for (uint32_t i = 0; i < ledger->worst_gap_count; i++)
        claim->step_ns[ledger->worst_gaps[i].step] += held_back_ns(advice, &ledger->worst_gaps[i]);
}

void leave_out_earlier_work(struct advice_case *advice, struct advice_claim *claim)
{
    size_t steps = advice->ledger->step_count;
    struct advice_claim earlier = {.step_ns = require_memory(calloc(steps, sizeof(int64_t)))};

    if (advice->missing.kind == MISSING_EARLIER)
        claim_free_time(advice, &earlier, &advice->idle, advice->missing.earlier_range_ns);
    /* Taken off step by step: a nanosecond is claimed by one piece of advice. */
    claim_less(advice, claim, &earlier);
    free(earlier.step_ns);
}

/* A claim of its own, taken from this one step by step: idle time that another rule names must
 * not be named twice. */
void leave_out_own_work(struct advice_case *advice, struct advice_claim *claim,
                        enum host_call_kind kind)
{
    size_t steps = advice->ledger->step_count;
    struct advice_claim own = {.step_ns = require_memory(calloc(steps, sizeof(int64_t)))};

    claim_idle_in(advice, &own, &advice->calls.lists[kind]);
    claim_less(advice, claim, &own);
    free(own.step_ns);
}

/* Only the idle time inside a call is claimed: a slow call beside a busy device costs nothing. */
int64_t claim_slow_calls(struct advice_case *advice, struct advice_claim *claim, bool own_only,
                         const struct event **longest)
{
    const struct host_call_list *list = &advice->calls.lists[CALLS_SLOW];
    int64_t count = 0, longest_ns = 0;

    for (uint32_t i = 0; i < list->count; i++) {
        const struct event *event = &advice->trace->host[list->events[i]];
        int64_t range_ns[2] = {event->start_ns, event_end_ns(event)};
        int64_t idle_ns;

        if (own_only && (is_held_by_profiler(advice, event) ||
                         is_first_use(&advice->first_uses, list->events[i])))
            continue;
        idle_ns = claim_free_time(advice, claim, &advice->idle, range_ns);
        count += idle_ns > 0;
        if (idle_ns > longest_ns) {
            longest_ns = idle_ns;
            *longest = event;
        }
    }
    return count;
}
