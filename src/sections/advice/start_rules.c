/* Advice on what is done once: the first use of a device and of what runs on it. */
#include "base/text/format.h"
#include "sections/advice/call_site.h"
#include "sections/advice/claim.h"
#include "sections/advice/recording_rules.h"

/* Idle time in first uses, by call. */
struct first_use_sum {
    int64_t count;
    int64_t longest_ns;
    const struct event *longest;
};

/* A call that the profiler itself held up says nothing of first uses. */
static struct first_use_sum claim_first_uses(struct advice_case *advice, struct advice_claim *claim)
{
    struct first_use_sum sum = {.count = 0};

    for (uint32_t i = 0; i < advice->first_uses.count; i++) {
        const struct event *event = &advice->trace->host[advice->first_uses.events[i]];
        int64_t range_ns[2] = {event->start_ns, event_end_ns(event)};
        int64_t idle_ns;

        if (is_held_by_profiler(advice, event))
            continue;
        idle_ns = claim_free_time(advice, claim, &advice->idle, range_ns);
        sum.count += idle_ns > 0;
        if (idle_ns > sum.longest_ns) {
            sum.longest_ns = idle_ns;
            sum.longest = event;
        }
    }
    return sum;
}

/* Known by the times alone: the same call is long once and short ever after. That is of the
 * recording, not of the run, so the finding costs a longer run nothing. */
bool check_start_up(struct advice_case *advice, struct advice_claim *claim)
{
    struct first_use_sum sum = claim_first_uses(advice, claim);

    if (!sum.longest)
        return false;
    claim->accounts =
        ACCOUNT_BIT(IDLE_ALLOCATOR) | ACCOUNT_BIT(IDLE_RUNTIME) | ACCOUNT_BIT(IDLE_LAUNCH);
    claim->is_of_recording = true;
    claim->evidence = results_format(
        advice->results,
        "%s runtime calls that take long the first time and not again, the longest %s of %s",
        format_count(sum.count).text,
        brief_name(trace_text(advice->trace, sum.longest->name), advice->results),
        format_time(sum.longest->duration_ns).text);
    claim->try_this =
        "warm up before recording: a step or two of the same shapes; what is built or "
        "loaded then (contexts, modules, algorithms) can be cached between runs";
    claim->confidence = CONFIDENCE_MEDIUM;
    claim->reason =
        "contexts, libraries' handles and kernels are loaded once; a longer run pays this "
        "once, not each step";
    return true;
}
