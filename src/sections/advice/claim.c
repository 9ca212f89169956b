/* Prices by step, and the words for them. */
#include "sections/advice/claim.h"

#include "base/core/apportion.h"
#include "base/text/format.h"
#include "base/text/prefix.h"
#include "ledger/step_finder.h"
#include "sections/advice/call_site.h"

#include <inttypes.h>

/* Step by step, as findings overlap in some steps and not in others. */
void claim_accounts(const struct advice_case *advice, struct advice_claim *claim, uint32_t accounts)
{
    for (uint32_t i = 0; i < advice->ledger->step_count; i++) {
        for (unsigned account = 0; account < ACCOUNT_COUNT; account++) {
            if (accounts >> account & 1)
                claim->step_ns[i] += advice->ledger->steps[i].account_ns[account];
        }
    }
}

/* Split at the windows' edges, so each nanosecond is in one step; steps are in order and do
 * not overlap, so the walk stops at the first behind the range. */
int64_t claim_free_time(const struct advice_case *advice, struct advice_claim *claim,
                        struct free_time *time, const int64_t range_ns[2])
{
    const struct ledger *ledger = advice->ledger;
    int64_t total_ns = 0;

    for (uint32_t i = first_step_after(ledger, range_ns[0]); i < ledger->step_count; i++) {
        const struct step_window *window = &ledger->steps[i].window;
        int64_t start_ns = window->start_ns > range_ns[0] ? window->start_ns : range_ns[0];
        int64_t end_ns = window->end_ns < range_ns[1] ? window->end_ns : range_ns[1];
        int64_t free_ns;

        if (start_ns >= end_ns)
            break;
        free_ns = free_time_between(time, start_ns, end_ns);
        claim->step_ns[i] += free_ns;
        total_ns += free_ns;
    }
    return total_ns;
}

/* Never below 0: two causes may be about the same time. */
void claim_less(const struct advice_case *advice, struct advice_claim *claim,
                const struct advice_claim *other)
{
    for (uint32_t i = 0; i < advice->ledger->step_count; i++)
        claim->step_ns[i] -=
            other->step_ns[i] < claim->step_ns[i] ? other->step_ns[i] : claim->step_ns[i];
}

/* Only idle time is claimed that no other finding has: calls that ran beside the device's work
 * cost the step nothing. */
int64_t claim_idle_in(struct advice_case *advice, struct advice_claim *claim,
                      const struct host_call_list *list)
{
    int64_t total_ns = 0;

    for (uint32_t i = 0; i < list->count; i++) {
        const struct event *event = &advice->trace->host[list->events[i]];
        int64_t range_ns[2] = {event->start_ns, event_end_ns(event)};

        total_ns += claim_free_time(advice, claim, &advice->idle, range_ns);
    }
    return total_ns;
}

int64_t accounts_held_ns(const struct step_ledger *step, uint32_t accounts)
{
    int64_t held = 0;

    for (unsigned account = 0; account < ACCOUNT_COUNT; account++) {
        if (accounts >> account & 1)
            held += step->account_ns[account];
    }
    return held;
}

int64_t claim_total_ns(const struct advice_case *advice, const struct advice_claim *claim)
{
    int64_t total_ns = 0;

    for (uint32_t i = 0; i < advice->ledger->step_count; i++)
        total_ns += claim->step_ns[i];
    return total_ns;
}

const char *per_step_time(const struct advice_case *advice, int64_t total_ns)
{
    return results_text(advice->results,
                        format_time(rounded_mean(total_ns, advice->ledger->step_count)).text);
}

/* A decimal only where it tells something: for few that are not the same in each step. */
const char *per_step_count(const struct advice_case *advice, int64_t count)
{
    int64_t steps = advice->ledger->step_count;

    if (count % steps == 0 || count / steps >= 10)
        return results_text(advice->results, format_count(rounded_mean(count, steps)).text);
    return results_format(advice->results, "%.1f", (double)count / (double)steps);
}

const char *idles(const struct advice_case *advice)
{
    return advice->ledger->is_cpu_only ? "no operator runs" : "the device idles";
}

const char *a_step(const struct advice_case *advice)
{
    return advice->ledger->source == WINDOW_WHOLE ? " in the window" : " a step";
}

static bool is_recording_end(const struct advice_case *advice, const struct idle_gap *gap)
{
    return gap->end_ns == advice->recording_end_ns[1] &&
           advice->recording_end_ns[0] < advice->recording_end_ns[1];
}

/* Gaps are sorted by length, so the first that fits is the longest. The recording's end is no
 * wait of the program's. */
const char *longest_gap_text(const struct advice_case *advice, uint32_t accounts, bool names_host)
{
    const struct ledger *ledger = advice->ledger;
    const struct idle_gap *gap = ledger->worst_gaps;
    const struct idle_gap *end = gap + ledger->worst_gap_count;
    struct call_site site;
    const char *text;

    while (gap < end && (!(accounts >> gap->main_account & 1) || is_recording_end(advice, gap)))
        gap++;
    if (gap == end)
        return NULL;
    text = results_format(advice->results, "the longest wait %s",
                          format_time(gap->end_ns - gap->start_ns).text);
    if (ledger->source != WINDOW_WHOLE)
        text = results_format(advice->results, "%s in step %" PRId64, text,
                              ledger->steps[gap->step].window.number);
    if (!names_host || gap->host_event == NO_EVENT)
        return text;
    site = find_call_site(advice, gap->host_event);
    return results_format(advice->results, "%s, the host in %s", text,
                          call_site_text(advice, &site));
}

/* Idle time by the name of the event that explains it: few names, for the worst gaps are few. */
struct named_time {
    uint32_t name;
    int64_t total_ns;
};

/* By name, since one cause has many events. O(gaps * names), both bounded by WORST_GAPS_MAX. */
const char *busiest_host_event(const struct advice_case *advice, uint32_t accounts)
{
    const struct ledger *ledger = advice->ledger;
    struct named_time names[WORST_GAPS_MAX];
    uint32_t count = 0;
    uint32_t best = 0;

    for (uint32_t i = 0; i < ledger->worst_gap_count; i++) {
        const struct idle_gap *gap = &ledger->worst_gaps[i];
        uint32_t at = 0;

        if (!(accounts >> gap->main_account & 1) || gap->host_event == NO_EVENT)
            continue;
        while (at < count && names[at].name != advice->trace->host[gap->host_event].name)
            at++;
        if (at == count)
            names[count++] = (struct named_time){.name = advice->trace->host[gap->host_event].name};
        names[at].total_ns += gap->end_ns - gap->start_ns;
        /* The first of two as busy stays. */
        if (names[at].total_ns > names[best].total_ns)
            best = at;
    }
    return count ? trace_text(advice->trace, names[best].name) : NULL;
}

/* The last prefix is empty, so the search ends. */
const char *text_by_prefix(const char *name, const struct prefixed_text *texts)
{
    while (!has_prefix(name, texts->prefix))
        texts++;
    return texts->text;
}
