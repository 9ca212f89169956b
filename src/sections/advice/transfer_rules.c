/* Advice on what is moved: communication between ranks, copies between host and device. */
#include "base/core/apportion.h"
#include "base/core/hash_map.h"
#include "base/core/invariant.h"
#include "base/text/format.h"
#include "ledger/collective_call.h"
#include "ledger/step_finder.h"
#include "sections/advice/call_site.h"
#include "sections/advice/claim.h"
#include "sections/advice/restraints.h"

#include <stdlib.h>
#include <string.h>

/* Collectives of one kind in the steps. */
struct message_sum {
    int64_t count;
    int64_t duration_ns;
    int64_t bytes; /* of those that tell their size */
    int64_t sized;
};

/* The mean size is over the calls whose size the trace tells (`sized`); their time counts
 * either way. */
static void sum_messages(const struct advice_case *advice,
                         struct message_sum sums[COLLECTIVE_KIND_COUNT])
{
    struct step_finder finder = {.ledger = advice->ledger};

    for (uint32_t i = 0; i < advice->trace->device_count; i++) {
        struct collective_call call;
        int64_t bytes;

        if (advice->ledger->classes[i] != KERNEL_COMMUNICATION ||
            !is_chosen_device_event(&finder, advice->trace, i))
            continue;
        call = describe_collective(advice->trace, i);
        bytes = collective_bytes(&call);
        sums[call.kind].count++;
        sums[call.kind].duration_ns += advice->trace->device[i].duration_ns;
        sums[call.kind].sized += bytes >= 0;
        sums[call.kind].bytes += bytes >= 0 ? bytes : 0;
    }
}

/* Per cent of the communication's time behind which compute runs. */
static int hidden_percent(const struct ledger *ledger)
{
    int64_t all_ns = 0, hidden_ns = 0;

    for (uint32_t i = 0; i < ledger->step_count; i++) {
        all_ns += ledger->steps[i].communication_ns;
        hidden_ns += ledger->steps[i].hidden_communication_ns;
    }
    return all_ns ? (int)(100.0 * (double)hidden_ns / (double)all_ns + 0.5) : 0;
}

/* The messages are far too small for the time they take. At a rate below any link's the time is
 * not the message's: someone was waited for. */
static bool is_waiting(const struct message_sum *sum)
{
    int64_t time_us = sum->duration_ns / 1000;

    return sum->count > 0 && sum->sized == sum->count &&
           time_us >= ADVICE_WAITING_US * sum->count &&
           sum->bytes / time_us < ADVICE_WAITING_BYTES_PER_US;
}

/* Who may be late, and where to see it; "" where nobody can be. */
static const char *late_rank_advice(const struct advice_case *advice)
{
    const struct restraint_subject none = {0};

    if (forbids_late_rank(advice, &none))
        return "";
    return forbids_lone_rank(advice, &none) ? "; \"All ranks\" says who is late"
                                            : "; look for a straggler: report on all ranks' traces";
}

/* The order matters: a rank that waits for another gains nothing from larger buckets or from
 * overlap, so waiting is asked for first; then latency, then overlap. Sending less is the last
 * resort, since it changes what is trained. */
static const char *communication_advice(const struct advice_case *advice,
                                        const struct message_sum *sum, enum collective_kind kind,
                                        int percent)
{
    bool is_small = sum->sized > 0 && sum->bytes / sum->sized < ADVICE_SMALL_MESSAGE_BYTES;
    const char *text;

    if (is_waiting(sum) && !forbids_late_rank(advice, &(struct restraint_subject){0}))
        text = "so little data does not take that long: most of it is waiting for a straggler";
    else if (is_small && kind == COLLECTIVE_ALL_REDUCE)
        text = "larger buckets (DDP bucket_cap_mb): small messages are mostly latency";
    else if (is_small)
        text = "fewer, larger messages (FSDP: wrap larger modules): small ones are mostly latency";
    else if (percent < ADVICE_HIDDEN_PERCENT)
        text = "overlap it with compute (DDP buckets, FSDP prefetch, async_op=True)";
    else
        text = "most is hidden already: send less (bf16 gradients)";
    return results_format(advice->results, "%s%s", text, late_rank_advice(advice));
}

/* Why it is not known how much of it may go. */
static const char *communication_doubt(const struct advice_case *advice)
{
    const struct restraint_subject none = {0};

    if (forbids_late_rank(advice, &none))
        return "how much of it the compute could hide is not known";
    return forbids_lone_rank(advice, &none)
               ? "\"All ranks\" tells how much of it is waiting, and how much is sending"
               : "one rank alone does not tell waiting from sending";
}

static const char *kind_text(enum collective_kind kind)
{
    return kind == COLLECTIVE_OTHER ? "kernels of no known kind" : collective_kind_title(kind);
}

/* "most of it all-reduce, 7 a step, 3.111 ms and 87.8 MiB each; 46 % of communication is hidden" */
static const char *communication_evidence(const struct advice_case *advice,
                                          const struct message_sum *sum, enum collective_kind kind,
                                          int percent)
{
    const char *size = "";

    if (sum->sized > 0)
        size =
            results_format(advice->results, " and %s", format_bytes(sum->bytes / sum->sized).text);
    return results_format(advice->results,
                          "most of it %s, %s%s, %s%s each; %d %% of communication is hidden",
                          kind_text(kind), per_step_count(advice, sum->count), a_step(advice),
                          format_time(sum->duration_ns / sum->count).text, size, percent);
}

/* The kind with most time gives the remedy. */
bool check_exposed_communication(struct advice_case *advice, struct advice_claim *claim)
{
    struct message_sum sums[COLLECTIVE_KIND_COUNT] = {0};
    int percent = hidden_percent(advice->ledger);
    enum collective_kind most = COLLECTIVE_ALL_REDUCE;

    claim_accounts(advice, claim, ACCOUNT_BIT(COMMUNICATION));
    sum_messages(advice, sums);
    for (int kind = 0; kind < COLLECTIVE_KIND_COUNT; kind++) {
        if (sums[kind].duration_ns > sums[most].duration_ns)
            most = (enum collective_kind)kind;
    }
    claim->evidence = sums[most].count
                          ? communication_evidence(advice, &sums[most], most, percent)
                          : "nothing but communication runs, begun outside the steps or on the "
                            "processor";
    claim->try_this = communication_advice(advice, &sums[most], most, percent);
    claim->confidence = CONFIDENCE_MEDIUM;
    claim->reason = communication_doubt(advice);
    if (forbids_late_rank(advice, &(struct restraint_subject){0})) { /* nobody to wait for */
        claim->try_this = "leave collectives out where the run has one rank: nothing is sent";
        claim->reason = "the run has one rank: no other is late";
    }
    return true;
}

/* Copies of one kind: their time without kernels beside them. */
struct copy_sum {
    int64_t count;
    int64_t duration_ns;
    int64_t covered_ns; /* in which at least one of them runs */
    int64_t end_ns;     /* of that: they come by their starts */
    int64_t exposed_ns;
    int64_t bytes;
    int64_t sized_ns;
    int64_t largest_exposed_ns; /* of one name */
    uint32_t name;              /* that name's event in trace->device */
};

static bool is_pageable(const char *name)
{
    return strstr(name, "(Pageable ->") || strstr(name, "-> Pageable)");
}

/* Bytes and the time of copies whose bytes are known are summed together, so that a rate never
 * divides the bytes of some by the time of all. The example is the copy that delays most, not
 * the longest: what hides behind kernels is no one's trouble. */
static void transfer_add_copy(const struct advice_case *advice, struct copy_sum *sum,
                              uint32_t index, int64_t exposed_ns)
{
    const struct event *event = &advice->trace->device[index];
    const struct event_detail *detail = &advice->trace->details[event->detail];
    const int64_t from_ns =
        sum->count > 0 && sum->end_ns > event->start_ns ? sum->end_ns : event->start_ns;

    sum->count++;
    sum->duration_ns += event->duration_ns;
    if (event_end_ns(event) > from_ns) {
        sum->covered_ns += event_end_ns(event) - from_ns;
        sum->end_ns = event_end_ns(event);
    }
    sum->exposed_ns += exposed_ns;
    if (event->detail != 0 && detail->bytes >= 0) {
        sum->bytes += detail->bytes;
        sum->sized_ns += event->duration_ns;
    }
    if (exposed_ns > sum->largest_exposed_ns) {
        sum->largest_exposed_ns = exposed_ns;
        sum->name = index;
    }
}

/* Only time without any kernel is a loss: copies beside kernels cost nothing. */
static struct copy_sum claim_copies(const struct advice_case *advice, struct advice_claim *claim,
                                    bool of_pageable)
{
    struct step_finder finder = {.ledger = advice->ledger};
    struct name_answers pageable = {.ask = is_pageable};
    struct copy_sum sum = {.name = NO_EVENT};
    struct free_time without_kernels;

    free_time_init(&without_kernels, &advice->ledger->timeline,
                   ledger_compute_mask() | (uint32_t)1 << KERNEL_COMMUNICATION);
    for (uint32_t i = 0; i < advice->trace->device_count; i++) {
        const struct event *event = &advice->trace->device[i];
        int64_t range_ns[2] = {event->start_ns, event_end_ns(event)};

        if (event->kind == EVENT_KERNEL || !is_chosen_device_event(&finder, advice->trace, i) ||
            name_answer(&pageable, advice->trace, event->name) != of_pageable)
            continue;
        transfer_add_copy(advice, &sum, i,
                          claim_free_time(advice, claim, &without_kernels, range_ns));
    }
    free_time_clear(&without_kernels);
    free(pageable.answers);
    return sum;
}

/* "12 copies and memsets a step, 2.100 ms in all, 10.1 GB/s" */
static const char *copy_evidence(const struct advice_case *advice, const struct copy_sum *sum)
{
    const char *text = results_format(advice->results, "%s copies and memsets%s take %s",
                                      per_step_count(advice, sum->count), a_step(advice),
                                      per_step_time(advice, sum->duration_ns));
    const char *name = trace_text(advice->trace, advice->trace->device[sum->name].name);
    uint32_t op = trace_operator_of(advice->trace, sum->name);

    if (sum->sized_ns > 0 && sum->bytes > 0)
        text = results_format(
            advice->results, "%s, %s at %s", text,
            format_bytes(rounded_mean(sum->bytes, advice->ledger->step_count)).text,
            format_bytes_per_second((double)sum->bytes * 1e9 / (double)sum->sized_ns).text);
    text = results_format(advice->results, "%s; the longest: %s", text,
                          brief_name(name, advice->results));
    if (op == NO_EVENT)
        return text;
    return results_format(
        advice->results, "%s of %s", text,
        brief_name(trace_text(advice->trace, advice->trace->host[op].name), advice->results));
}

static bool is_to_device(const struct advice_case *advice, const struct copy_sum *sum)
{
    return strstr(trace_text(advice->trace, advice->trace->device[sum->name].name), "HtoD") != NULL;
}

/* Where no Python is in the trace there is no DataLoader to tell pin_memory to: a C++ program
 * is told the runtime's own calls. */
bool check_pageable_copies(struct advice_case *advice, struct advice_claim *claim)
{
    struct copy_sum sum = claim_copies(advice, claim, true);

    if (sum.name == NO_EVENT)
        return false;
    claim->evidence = copy_evidence(advice, &sum);
    claim->try_this = is_to_device(advice, &sum)
                          ? "pin_memory=True in the DataLoader, then .to(device, "
                            "non_blocking=True): faster, and beside kernels"
                          : "read back less often (.item(), .cpu(), logging), or into pinned "
                            "memory";
    if (forbids_python(advice, &(struct restraint_subject){0}))
        claim->try_this = "allocate the host's memory with cudaMallocHost, then cudaMemcpyAsync: "
                          "faster, and beside kernels";
    claim->confidence = CONFIDENCE_HIGH;
    claim->reason = "the trace says pageable, and no kernel runs beside them";
    return true;
}

/* Copies make most of the time in which the device counts as busy. */
static bool is_busy_with_copies(const struct ledger *ledger)
{
    int64_t busy_ns = 0, copying_ns = 0;

    for (uint32_t i = 0; i < ledger->step_count; i++) {
        busy_ns += ledger->steps[i].busy_ns;
        copying_ns += ledger->steps[i].account_ns[ACCOUNT_COPY] +
                      ledger->steps[i].account_ns[ACCOUNT_DATA_COPY];
    }
    return 100.0 * (double)copying_ns >= (double)ADVICE_COPIES_OF_BUSY_PERCENT * (double)busy_ns;
}

/* A step that is made of copies (a benchmark of them, an export) is not told to leave them
 * out. */
bool check_exposed_copies(struct advice_case *advice, struct advice_claim *claim)
{
    struct copy_sum sum = claim_copies(advice, claim, false);

    if (sum.name == NO_EVENT || is_busy_with_copies(advice->ledger))
        return false;
    claim->evidence = copy_evidence(advice, &sum);
    claim->try_this = is_to_device(advice, &sum)
                          ? "copy the next batch on a stream of its own while this one computes; "
                            "send less (uint8 images, int32 indices)"
                          : "keep data on the device, avoid .contiguous(), .clone() and zeroing "
                            "that nobody reads, reuse buffers";
    claim->confidence = CONFIDENCE_MEDIUM;
    claim->reason = "no kernel runs beside them; which can be left out is not known";
    return true;
}

/* The copies of one name that take the longest in all; of no name where there are none. */
static struct copy_sum longest_copies(const struct advice_case *advice)
{
    struct step_finder finder = {.ledger = advice->ledger};
    struct copy_sum *sums =
        require_memory(calloc(string_pool_count(&advice->trace->strings) + 1, sizeof *sums));
    struct hash_map by_name = {0};
    struct copy_sum longest = {.name = NO_EVENT};

    for (uint32_t i = 0; i < advice->trace->device_count; i++) {
        uint32_t place;

        if (advice->trace->device[i].kind != EVENT_MEMCPY ||
            !is_chosen_device_event(&finder, advice->trace, i))
            continue;
        place = hash_map_add(&by_name, advice->trace->device[i].name, (uint32_t)by_name.count);
        sums[place].name = i;
        transfer_add_copy(advice, &sums[place], i, 0);
        /* Sums only grow, so that the largest is known as soon as it is made. */
        if (sums[place].duration_ns > longest.duration_ns)
            longest = sums[place];
    }
    hash_map_clear(&by_name);
    free(sums);
    return longest;
}

/* "most of it Memcpy HtoD (Pinned -> Device) of aten::copy_: 95.0 % of the window, 23.7 GiB at
 * 27.66 GB/s": copies of one kind, whose rate tells what they wait for. */
static const char *longest_copies_text(const struct advice_case *advice)
{
    struct copy_sum sum = longest_copies(advice);
    const struct trace *trace = advice->trace;
    uint32_t op = sum.name == NO_EVENT ? NO_EVENT : trace_operator_of(trace, sum.name);
    const char *text;

    if (sum.name == NO_EVENT || ledger_total_ns(advice->ledger) <= 0)
        return "all of it memsets";
    text = results_format(
        advice->results, "most of it %s%s%s: %.1f %% of the %s",
        trace_text(trace, trace->device[sum.name].name), op == NO_EVENT ? "" : " of ",
        op == NO_EVENT ? "" : brief_name(trace_text(trace, trace->host[op].name), advice->results),
        100.0 * (double)sum.covered_ns / (double)ledger_total_ns(advice->ledger),
        advice->ledger->source == WINDOW_WHOLE ? "window" : "steps' time");
    if (sum.sized_ns == 0 || sum.bytes == 0)
        return text;
    return results_format(
        advice->results, "%s, %s at %s", text, format_bytes(sum.bytes).text,
        format_bytes_per_second((double)sum.bytes * 1e9 / (double)sum.sized_ns).text);
}

/* Copies with the engine full are no gap that better overlap would fill: the two rules exclude
 * each other (check_exposed_copies). */
bool check_busy_with_copies(struct advice_case *advice, struct advice_claim *claim)
{
    const struct ledger *ledger = advice->ledger;
    struct copy_sum copies;
    int64_t busy_ns = 0;

    if (ledger->is_cpu_only || !is_busy_with_copies(ledger))
        return false;
    copies = claim_copies(advice, claim, false);
    if (copies.name == NO_EVENT) /* pageable ones alone are a finding of their own */
        return false;
    memset(claim->step_ns, 0, ledger->step_count * sizeof *claim->step_ns);
    claim_accounts(advice, claim, ACCOUNT_BIT(COPY) | ACCOUNT_BIT(DATA_COPY));
    for (uint32_t i = 0; i < ledger->step_count; i++)
        busy_ns += ledger->steps[i].busy_ns;
    if (busy_ns == 0)
        return false;
    claim->evidence =
        results_format(advice->results,
                       "\"GPU use\" says nothing here: in %.0f %% of the busy time only copies "
                       "run; %s",
                       100.0 * (double)claim_total_ns(advice, claim) / (double)busy_ns,
                       longest_copies_text(advice));
    claim->try_this =
        "keep data on the device (no offload), or move it while kernels run: prefetch "
        "on a stream of its own";
    claim->confidence = CONFIDENCE_HIGH;
    claim->reason = "no kernel runs in that time";
    return true;
}
