/* Advice on what should be done once: the first use of a device and of what runs on it, and the
 * compiling of code. */
#include "base/text/format.h"
#include "ledger/step_finder.h"
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

/* Ranges that compile, the outermost of each thread. */
struct compilation_sum {
    int64_t count;
    uint32_t steps;      /* with idle time in which code is compiled */
    bool is_first_alone; /* ... of which the first is the only one */
    const struct event *longest;
};

/* Events of a thread stand in the order of their starts, so what lies in another follows it. */
static struct compilation_sum sum_compilations(const struct advice_case *advice)
{
    const struct host_call_list *list = &advice->calls.lists[CALLS_COMPILATION];
    const struct ledger *ledger = advice->ledger;
    struct compilation_sum sum = {.count = 0};
    const struct event *outer = NULL;

    for (uint32_t i = 0; i < list->count; i++) {
        const struct event *event = &advice->trace->host[list->events[i]];

        if (outer && outer->track == event->track && event->start_ns < event_end_ns(outer))
            continue;
        outer = event;
        sum.count++;
        if (!sum.longest || event->duration_ns > sum.longest->duration_ns)
            sum.longest = event;
    }
    for (uint32_t i = 0; i < ledger->step_count; i++)
        sum.steps += ledger->steps[i].account_ns[ACCOUNT_IDLE_COMPILATION] > 0;
    sum.is_first_alone =
        sum.steps == 1 && ledger->steps[0].account_ns[ACCOUNT_IDLE_COMPILATION] > 0;
    return sum;
}

/* A step that compiles takes seconds where others take milliseconds. Whether the next ones will do
 * so again is known where several of them did. */
bool check_compilation(struct advice_case *advice, struct advice_claim *claim)
{
    struct compilation_sum sum = sum_compilations(advice);

    if (!sum.longest)
        return false;
    claim_accounts(advice, claim, ACCOUNT_BIT(IDLE_COMPILATION));
    claim->evidence = results_format(
        advice->results, "code is compiled %s times, in %u of %u %ss, the longest %s in %s",
        format_count(sum.count).text, sum.steps, advice->ledger->step_count,
        step_word(advice->ledger), format_time(sum.longest->duration_ns).text,
        brief_name(trace_text(advice->trace, sum.longest->name), advice->results));
    claim->try_this = "TORCH_LOGS=recompiles tells why: keep shapes the same (pad, bucket), or let "
                      "them vary (mark_dynamic, dynamic=True)";
    if (advice->trace->facts.platform == PLATFORM_JAX)
        claim->try_this = "jax_log_compiles and jax_explain_cache_misses tell what and why: keep "
                          "shapes, types and static arguments the same; jax_compilation_cache_dir "
                          "keeps what was compiled for the next run";
    claim->confidence = CONFIDENCE_HIGH;
    claim->reason = results_format(advice->results, "%s while code is compiled", idles(advice));
    if (sum.is_first_alone) {
        claim->confidence = CONFIDENCE_MEDIUM;
        claim->reason = "in the first recorded step alone: where that is the start, record later "
                        "steps; a longer run pays it once";
    }
    return true;
}
