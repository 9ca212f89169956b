/* Advice on work that comes too late or in too small pieces: launches, small kernels, waits on the
 * device, gaps inside graphs. */
#include "base/core/invariant.h"
#include "base/core/search.h"
#include "base/text/format.h"
#include "ledger/step_finder.h"
#include "sections/advice/call_site.h"
#include "sections/advice/claim.h"
#include "sections/advice/fusable_chains.h"
#include "sections/advice/named_code.h"
#include "sections/advice/restraints.h"
#include "sections/advice/waiting_claims.h"

#include <stdlib.h>

static int64_t mean_ns(const struct work_sum *sum)
{
    return sum->count ? sum->duration_ns / sum->count : 0;
}

static double percent_of(int64_t part, int64_t whole)
{
    return whole ? 100.0 * (double)part / (double)whole : 0;
}

/* "1,421 launches a step of 11.166 µs, kernels of 70.182 µs, 60 % shorter than their launch" */
static const char *launch_evidence(const struct advice_case *advice)
{
    const struct kernel_figures *kernels = &advice->kernels;

    if (kernels->launches.count == 0)
        return "what launched the kernels is not in the trace";
    return results_format(
        advice->results, "%s launches%s of %s, kernels of %s, %.0f %% shorter than their launch",
        per_step_count(advice, kernels->launches.count), a_step(advice),
        format_time(mean_ns(&kernels->launches)).text, format_time(mean_ns(&kernels->kernels)).text,
        percent_of(kernels->shorter_than_launch, kernels->launched_singly));
}

/* The host waits for what it launches: a finding of its own. The list is in the order of events,
 * so a binary search finds it. */
static bool is_synchronising(const struct advice_case *advice, uint32_t call)
{
    const struct host_call_list *list = &advice->calls.lists[CALLS_SYNC];
    uint32_t low = LOWER_BOUND(i, 0, list->count, list->events[i] < call);

    return low < list->count && list->events[low] == call;
}

/* The part of a gap that a copy or memset leaves which the host waits for: from its call on. */
static int64_t synchronising_ns(const struct advice_case *advice, const struct idle_gap *gap)
{
    int64_t from_ns;

    if (gap->launch == NO_EVENT || !is_synchronising(advice, gap->launch))
        return 0;
    from_ns = advice->trace->host[gap->launch].start_ns;
    return gap->end_ns - (from_ns > gap->start_ns ? from_ns : gap->start_ns);
}

/* Slow calls and work held back on the device are findings of their own, with other remedies. */
static void leave_out_other_causes(struct advice_case *advice, struct advice_claim *claim)
{
    const struct event *longest = NULL;
    size_t steps = advice->ledger->step_count;
    struct advice_claim slow = {.step_ns = require_memory(calloc(steps, sizeof(int64_t)))};

    claim_slow_calls(advice, &slow, false, &longest);
    for (uint32_t i = 0; i < advice->ledger->worst_gap_count; i++)
        slow.step_ns[advice->ledger->worst_gaps[i].step] +=
            held_back_ns(advice, &advice->ledger->worst_gaps[i]) +
            synchronising_ns(advice, &advice->ledger->worst_gaps[i]);
    claim_less(advice, claim, &slow);
    free(slow.step_ns);
}

/* Idle time in operators, calls and launches is what the host spends preparing work; named
 * ranges and Python of the model's own code are the same cause in a trace with marks or
 * frames, and are added. */
bool check_launch_bound(struct advice_case *advice, struct advice_claim *claim)
{
    uint32_t accounts =
        ACCOUNT_BIT(IDLE_OPERATOR) | ACCOUNT_BIT(IDLE_RUNTIME) | ACCOUNT_BIT(IDLE_LAUNCH);
    const struct kernel_figures *kernels = &advice->kernels;
    const char *gap = longest_gap_text(advice, ACCOUNT_BIT(IDLE_OPERATOR), true);

    if (advice->ledger->is_cpu_only || kernels->kernels.count == 0 ||
        forbids_launch_bound(advice, &(struct restraint_subject){0}))
        return false;
    claim_accounts(advice, claim, accounts);
    claim->accounts = accounts;
    if (claim_named_code(advice, claim, NAMED_MODEL_CODE) > 0)
        claim->accounts |= ACCOUNT_BIT(IDLE_ANNOTATION);
    claim_short_pauses(advice, claim, true);
    if (advice->calls.python_frames > 0)
        claim->accounts |= ACCOUNT_BIT(IDLE_PYTHON);
    leave_out_other_causes(advice, claim);
    leave_out_own_work(advice, claim, CALLS_COMPUTATION);
    claim->evidence = launch_evidence(advice);
    if (gap)
        claim->evidence = results_format(advice->results, "%s; %s", claim->evidence, gap);
    claim->try_this =
        "CUDA graphs or torch.compile(mode=\"reduce-overhead\"), a larger batch, fewer "
        "and larger operators";
    if (forbids_python(advice, &(struct restraint_subject){0}))
        claim->try_this = "record launches into a CUDA graph, fewer and larger kernels";
    /* Who uses graphs already must not be told to use them. */
    if (kernels->graph_kernels * 2 > kernels->kernels.count)
        claim->try_this =
            "most kernels come from CUDA graphs already: take what is launched one by "
            "one between them into a graph, too";
    claim->confidence = CONFIDENCE_HIGH;
    claim->reason = "the device idles while the host prepares launches";
    if (advice->calls.python_frames > 0) {
        claim->confidence = CONFIDENCE_MEDIUM;
        claim->reason = "recording Python frames slows the host: the loss is less without";
    }
    return true;
}

static bool is_small(const struct advice_case *advice, uint32_t index)
{
    enum kernel_class class = advice->ledger->classes[index];

    return kernel_class_is_compute(class) && !kernel_class_is_matrix(class) &&
           advice->trace->device[index].duration_ns < ADVICE_SMALL_KERNEL_NS;
}

/* The class with the most of `counts`. */
static enum kernel_class most_frequent(const int64_t counts[KERNEL_CLASS_COUNT])
{
    int best = 0;

    for (int class = 1; class < KERNEL_CLASS_COUNT; class ++) {
        if (counts[class] > counts[best])
            best = class;
    }
    return (enum kernel_class)best;
}

/* A kernel below 10 µs is mostly start-up and tail; hence the queue gaps between them are part
 * of the price. */
bool check_small_kernels(struct advice_case *advice, struct advice_claim *claim)
{
    struct step_finder finder = {.ledger = advice->ledger};
    int64_t counts[KERNEL_CLASS_COUNT] = {0};
    struct work_sum small = {0};
    enum kernel_class class;

    for (uint32_t i = 0; i < advice->trace->device_count; i++) {
        const struct event *event = &advice->trace->device[i];

        if (!is_small(advice, i) || !is_chosen_device_event(&finder, advice->trace, i))
            continue;
        counts[advice->ledger->classes[i]]++;
        small.count++;
        small.duration_ns += event->duration_ns;
    }
    /* The limit is per step: fewer such kernels take less than a millisecond of it. */
    if (small.count < (int64_t)ADVICE_SMALL_KERNELS_MIN * advice->ledger->step_count)
        return false;
    claim_fused(advice, claim, is_small);
    claim_accounts(advice, claim, ACCOUNT_BIT(IDLE_QUEUE_GAP));
    class = most_frequent(counts);
    claim->evidence = results_format(
        advice->results,
        "%s of %s kernels%s are shorter than 10 µs (%s on average), most of them "
        "%s; estimated: all but the longest of each chain of them, and the gaps between queued "
        "kernels",
        per_step_count(advice, small.count), per_step_count(advice, advice->kernels.kernels.count),
        a_step(advice), format_time(mean_ns(&small)).text, kernel_class_title(class));
    claim->try_this = "torch.compile, fused norms, activations and optimizers, larger tensors";
    claim->confidence = CONFIDENCE_MEDIUM;
    claim->reason = "that the chains can be fused is told by their order alone";
    return true;
}

/* The longest gap before work that was launched in time; NULL where there is none. Gaps are
 * sorted by length. */
static const struct idle_gap *longest_held_back(const struct advice_case *advice)
{
    const struct ledger *ledger = advice->ledger;

    for (uint32_t i = 0; i < ledger->worst_gap_count; i++) {
        const struct idle_gap *gap = &ledger->worst_gaps[i];

        if (gap->main_account == ACCOUNT_IDLE_QUEUED_WAIT || held_back_ns(advice, gap) > 0)
            return gap;
    }
    return NULL;
}

/* Where something is known to be missing in the recording, a wait says nothing. */
bool check_queued_wait(struct advice_case *advice, struct advice_claim *claim)
{
    const struct trace *trace = advice->trace;
    const struct idle_gap *longest = longest_held_back(advice);

    if (!longest || advice->missing.kind == MISSING_EVENTS ||
        advice->missing.kind == MISSING_COLLECTIVE)
        return false;
    claim_held_back(advice, claim);
    leave_out_earlier_work(advice, claim);
    claim->evidence = results_format(advice->results,
                                     "launched, but not started: the longest wait "
                                     "%s",
                                     format_time(longest->end_ns - longest->start_ns).text);
    /* What ran then names the stream, and often what it had waited for. */
    if (longest->next_event != NO_EVENT)
        claim->evidence =
            results_format(advice->results, "%s, before %s", claim->evidence,
                           brief_name(trace_text(trace, trace->device[longest->next_event].name),
                                      advice->results));
    claim->try_this = "look at what the stream waits for: events of other streams, host callbacks, "
                      "another process on the device";
    claim->confidence = CONFIDENCE_LOW;
    claim->reason = "what held the work back is not in the trace";
    return true;
}

/* The call that launched a graph may lie before the steps: its kernels are then there without
 * a launch to count, and the evidence says so instead of a zero. */
bool check_graph_gaps(struct advice_case *advice, struct advice_claim *claim)
{
    const char *gap = longest_gap_text(advice, ACCOUNT_BIT(IDLE_GRAPH), false);
    const struct kernel_figures *kernels = &advice->kernels;

    claim_accounts(advice, claim, ACCOUNT_BIT(IDLE_GRAPH));
    claim->evidence = "the graph was launched before the steps";
    if (kernels->graph_launches > 0)
        claim->evidence = results_format(advice->results, "%s graph launches with %s kernels%s%s",
                                         per_step_count(advice, kernels->graph_launches),
                                         per_step_count(advice, kernels->graph_kernels),
                                         gap ? "; " : "", gap ? gap : "");
    claim->try_this = "fuse small nodes (torch.compile), look at the graph's dependencies and at "
                      "waits for other streams in it";
    claim->confidence = CONFIDENCE_MEDIUM;
    claim->reason = "what each node waits for is not in the trace";
    return true;
}
