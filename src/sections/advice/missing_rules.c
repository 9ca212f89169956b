/* Advice on what the recording lacks, so that idle time is not what it seems; and on a device that
 * is not used. */
#include "base/text/format.h"
#include "base/text/prefix.h"
#include "sections/advice/advice_rule.h"
#include "sections/advice/call_site.h"
#include "sections/advice/claim.h"
#include "sections/advice/waiting_claims.h"
#include "trace/recorder_words.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

/* How what is not there shows in what is.
 *
 * The device: a call that launches work, or an op that only a program with a device makes (a
 * collective of NCCL, memory pinned for it, a tensor bound to a stream), in a trace without any
 * work of a device.
 *
 * Events: a profiler numbers the operators and ranges it records one by one. In whole traces nearly
 * all numbers between the least and the largest are there (88 to 100 % in those that were looked
 * at; other threads take the rest); where four fifths are not, somebody has thinned the trace, and
 * the kernels with them.
 *
 * Collectives: NCCL's kernels carry their kind in their name, and so do the ranges around its
 * calls. A kind that is called and never seen on the device, while another kind is seen, was not
 * recorded.
 *
 * Earlier work: a stream runs its work in order. Its first recorded work cannot have waited for
 * anything recorded there; if it was launched while the device was idle by all that is recorded,
 * and still started late, with all that was launched behind it, what it waited for was launched
 * before the recording began. */

/* Recorders leave some numbers out by themselves: only where most of many are missing was a
 * trace thinned. */
enum { WHOLE_PERCENT_MIN = 20, MISSING_IDS_MIN = 1000 };

static bool launches_work(const char *call)
{
    return strstr(call, "Launch") || strstr(call, "Memcpy") || strstr(call, "Memset");
}

/* Ops and ranges that need a device to do anything. */
static bool needs_device(const char *name)
{
    static const char *const starts[] = {"nccl:", "aten::record_stream", "aten::_pin_memory",
                                         "c10d::nccl", "aten::cuda"};

    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
        if (has_prefix(name, starts[i]))
            return true;
    return false;
}

/* Runtime calls without a launch prove that a device stood still, which is no gap in the
 * recording. */
static bool lacks_device(const struct trace *trace, struct missing_work *missing)
{
    bool needs = false, has_calls = false;

    for (uint32_t i = 0; i < trace->host_count; i++) {
        const struct event *event = &trace->host[i];
        const char *name;

        if (event->kind != EVENT_RUNTIME_CALL && event->kind != EVENT_OPERATOR &&
            event->kind != EVENT_ANNOTATION)
            continue;
        name = trace_text(trace, event->name);
        if (event->kind == EVENT_RUNTIME_CALL) {
            has_calls = true;
            missing->launches += launches_work(name);
        } else {
            needs = needs || needs_device(name);
        }
    }
    return missing->launches > 0 || (needs && !has_calls);
}

/* Numbers beyond 32 bits are of another kind (hashes, addresses), and no count. */
static bool lacks_events(const struct trace *trace, struct missing_work *missing)
{
    int64_t least = INT64_MAX, largest = INT64_MIN;

    for (uint32_t i = 0; i < trace->host_count; i++) {
        const struct event *event = &trace->host[i];
        int64_t id = event_id_number(&trace->wide_ids, event->external_id);

        if ((event->kind != EVENT_OPERATOR && event->kind != EVENT_ANNOTATION) || id < 0)
            continue;
        missing->kept++;
        least = id < least ? id : least;
        largest = id > largest ? id : largest;
    }
    if (missing->kept < 2 || largest > INT32_MAX)
        return false;
    missing->ids = largest - least + 1;
    return missing->ids - missing->kept >= MISSING_IDS_MIN &&
           100 * missing->kept < WHOLE_PERCENT_MIN * missing->ids;
}

/* A kind of collective, as ranges around its calls begin, and as kernels of it have in their
 * names. */
static const struct {
    const char *range;
    const char *kernel;
} collective_kinds[] = {
    {"nccl:all_reduce", "AllReduce"},         {"nccl:_reduce_scatter", "ReduceScatter"},
    {"nccl:reduce_scatter", "ReduceScatter"}, {"nccl:_all_gather", "AllGather"},
    {"nccl:all_gather", "AllGather"},         {"nccl:broadcast", "Broadcast"},
    {"nccl:all_to_all", "SendRecv"},
};
enum { COLLECTIVE_KINDS = sizeof collective_kinds / sizeof *collective_kinds };

static bool names_kind(const char *kernel)
{
    for (size_t k = 0; k < COLLECTIVE_KINDS; k++)
        if (strstr(kernel, collective_kinds[k].kernel))
            return true;
    return false;
}

/* The kinds whose kernels ran; false where a kernel does not tell its kind, or none ran. A
 * kernel that does not tell its kind could be the one that seems missing: then nothing is said. */
static bool find_kinds_that_ran(const struct trace *trace, const struct ledger *ledger,
                                bool has_run[COLLECTIVE_KINDS])
{
    bool is_any = false;
    uint32_t last = UINT32_MAX; /* names come in runs */

    for (uint32_t i = 0; i < trace->device_count; i++) {
        const char *name;

        if (ledger->classes[i] != KERNEL_COMMUNICATION || trace->device[i].name == last)
            continue;
        last = trace->device[i].name;
        name = trace_text(trace, trace->device[i].name);
        if (!names_kind(name))
            return false;
        is_any = true;
        for (size_t k = 0; k < COLLECTIVE_KINDS; k++)
            has_run[k] = has_run[k] || strstr(name, collective_kinds[k].kernel);
    }
    return is_any;
}

/* One kind that ran shows that the profiler records collectives' kernels at all; only then is
 * a kind without any a gap of the recording. */
static bool lacks_collective(const struct trace *trace, const struct ledger *ledger,
                             struct missing_work *missing)
{
    bool has_run[COLLECTIVE_KINDS] = {false};

    if (!find_kinds_that_ran(trace, ledger, has_run))
        return false;
    for (uint32_t i = 0; i < trace->host_count; i++) {
        const char *name = trace_text(trace, trace->host[i].name);

        if (trace->host[i].kind != EVENT_ANNOTATION || !has_prefix(name, "nccl:"))
            continue;
        for (size_t k = 0; k < COLLECTIVE_KINDS; k++) {
            if (has_run[k] || !has_prefix(name, collective_kinds[k].range))
                continue;
            missing->collective = name;
            return true;
        }
    }
    return false;
}

/* Events are in order of start: an earlier one of the same stream stands before. */
static bool is_first_of_stream(const struct trace *trace, uint32_t event)
{
    for (uint32_t i = 0; i < event; i++)
        if (trace->device[i].track == trace->device[event].track)
            return false;
    return true;
}

/* How long the work that ends a gap was ready and did not start; 0: it is not known. */
static int64_t late_by(const struct trace *trace, const struct idle_gap *gap)
{
    const struct event *launch;
    int64_t from_ns;

    if (gap->next_event == NO_EVENT || gap->launch == NO_EVENT)
        return 0;
    launch = &trace->host[gap->launch];
    if (strstr(trace_text(trace, launch->name), "GraphLaunch")) /* its first launch uploads it */
        return 0;
    from_ns = event_end_ns(launch) > gap->start_ns ? event_end_ns(launch) : gap->start_ns;
    return gap->end_ns > from_ns ? gap->end_ns - from_ns : 0;
}

/* Work that waits half as long elsewhere waits for something that comes again. Something that
 * happens in several gaps has a cause within the recording. */
static bool is_usual(const struct trace *trace, const struct ledger *ledger, uint32_t which)
{
    int64_t late_ns = late_by(trace, &ledger->worst_gaps[which]);

    for (uint32_t i = 0; i < ledger->worst_gap_count; i++)
        if (i != which && 2 * late_by(trace, &ledger->worst_gaps[i]) >= late_ns)
            return true;
    return false;
}

/* Looks at the longest gaps only: what is short explains little. */
static bool lacks_earlier(const struct trace *trace, const struct ledger *ledger, int64_t late_ns,
                          struct missing_work *missing)
{
    for (uint32_t i = 0; i < ledger->worst_gap_count; i++) {
        const struct idle_gap *gap = &ledger->worst_gaps[i];
        int64_t waited_ns = late_by(trace, gap);

        if (gap->step != 0 || waited_ns < late_ns || is_usual(trace, ledger, i) ||
            !is_first_of_stream(trace, gap->next_event))
            continue;
        missing->earlier_range_ns[0] = gap->end_ns - waited_ns;
        missing->earlier_range_ns[1] = gap->end_ns;
        return true;
    }
    return false;
}

/* From the most to the least that it explains, and one only: each would make the ones behind
 * it guesses. */
struct missing_work find_missing_work(const struct trace *trace, const struct ledger *ledger,
                                      int64_t late_ns)
{
    struct missing_work missing = {.kind = MISSING_NOTHING};

    if (lacks_events(trace, &missing))
        missing.kind = MISSING_EVENTS;
    else if (trace->device_count == 0)
        missing.kind = lacks_device(trace, &missing) ? MISSING_DEVICE : MISSING_NOTHING;
    else if (lacks_collective(trace, ledger, &missing))
        missing.kind = MISSING_COLLECTIVE;
    else if (lacks_earlier(trace, ledger, late_ns, &missing))
        missing.kind = MISSING_EARLIER;
    return missing;
}

/* First of all findings, and without a cost: whatever else is said of such a step is of the
 * host alone, and a reader must know that before reading on. */
static bool tell_missing_device(struct advice_case *advice, struct advice_claim *claim)
{
    const struct missing_work *missing = &advice->missing;

    claim->comes_first = true;
    claim->is_uncosted = true;
    claim->title = "the device's work is not recorded";
    claim->evidence = "operators and ranges that need a device, no runtime call and no kernel";
    if (missing->launches > 0)
        claim->evidence = results_format(advice->results,
                                         "%s calls put work on the device, no kernel is recorded",
                                         format_count(missing->launches).text);
    claim->try_this = recorder_words_for(advice->trace)->device;
    claim->reason = "what the host does meanwhile tells nothing of the device's time";
    return true;
}

/* Some tools thin traces to make them smaller. What is left looks like idle time between
 * sparse operators, and only the gaps in the operators' numbers show that it is not. */
static bool tell_missing_events(struct advice_case *advice, struct advice_claim *claim)
{
    const struct missing_work *missing = &advice->missing;

    claim_accounts(advice, claim, ACCOUNT_BITS_IDLE);
    claim->title = "most events are missing";
    claim->is_of_recording = true;
    claim->evidence = results_format(
        advice->results,
        "of the numbers that operators were given, %s, %s are in the file: idle time can't be "
        "told from work that was left out",
        format_count(missing->ids).text, format_count(missing->kept).text);
    claim->try_this = "look at the whole trace: this one was thinned";
    claim->reason = "a profiler numbers the operators it records one by one";
    return true;
}

/* Kernels of other collectives are there, so the recorder sees NCCL: a kind that is called and
 * has no kernel was not recorded, and its time shows up as idle. */
static bool tell_missing_collectives(struct advice_case *advice, struct advice_claim *claim)
{
    claim_held_back(advice, claim);
    claim->accounts = ACCOUNT_BIT(IDLE_QUEUED_WAIT) | ACCOUNT_BIT(IDLE_LAUNCH);
    claim->title = "collectives whose kernels are not recorded";
    claim->is_of_recording = true;
    claim->evidence = results_format(
        advice->results,
        "%s is called, but no kernel of that kind is there, of others they are; queued work waits "
        "with nothing on the device",
        brief_name(advice->missing.collective, advice->results));
    claim->try_this =
        "record with a newer PyTorch, whose profiler knows how this NCCL launches; the "
        "time is most likely communication";
    claim->reason = "what the device did then is not in the trace";
    return true;
}

/* A stream runs its work in order: before its first recorded kernel it can only have been busy
 * with what was launched before the recording began. */
static bool tell_earlier_work(struct advice_case *advice, struct advice_claim *claim)
{
    int64_t waited_ns =
        claim_free_time(advice, claim, &advice->idle, advice->missing.earlier_range_ns);

    claim->accounts = ACCOUNT_BIT(IDLE_QUEUED_WAIT) | ACCOUNT_BIT(IDLE_LAUNCH) |
                      ACCOUNT_BIT(IDLE_SYNC) | ACCOUNT_BIT(IDLE_RUNTIME);
    claim->title = "work from before the recording";
    claim->is_of_recording = true;
    claim->evidence = results_format(
        advice->results,
        "the first recorded work of its stream waits %s: what runs on the stream until then was "
        "launched before the recording began",
        format_time(waited_ns).text);
    claim->try_this = "synchronize before the recording begins, or leave the first step out "
                      "(--steps): the device was not idle";
    claim->reason = "a stream runs its work in order, and nothing else is recorded on it";
    return waited_ns > 0;
}

/* What is missing decides what all other findings are worth, so it is asked first. */
bool check_unrecorded_work(struct advice_case *advice, struct advice_claim *claim)
{
    claim->confidence = CONFIDENCE_MEDIUM;
    switch (advice->missing.kind) {
    case MISSING_DEVICE:
        claim->confidence = CONFIDENCE_HIGH;
        return tell_missing_device(advice, claim);
    case MISSING_EVENTS:
        claim->confidence = CONFIDENCE_HIGH;
        return tell_missing_events(advice, claim);
    case MISSING_COLLECTIVE:
        return tell_missing_collectives(advice, claim);
    case MISSING_EARLIER:
        return tell_earlier_work(advice, claim);
    case MISSING_NOTHING:
        break;
    }
    return false;
}

/* Runtime calls are recorded, and none of them launches anything: it is known that the device
 * stood still. */
bool check_device_unused(struct advice_case *advice, struct advice_claim *claim)
{
    const struct trace *trace = advice->trace;
    const char *name = NULL;
    int64_t calls = 0;

    if (trace->device_count > 0 || advice->missing.kind != MISSING_NOTHING ||
        advice->calls.operators == 0)
        return false;
    for (uint32_t i = 0; i < trace->device_list_count && !name; i++)
        if (trace->devices[i].name)
            name = trace_text(trace, trace->devices[i].name);
    for (uint32_t i = 0; i < trace->host_count; i++)
        calls += trace->host[i].kind == EVENT_RUNTIME_CALL;
    /* A recorder that lists no device, or no calls, may just not have looked. */
    if (!name || calls == 0)
        return false;
    claim->comes_first = true;
    claim->is_uncosted = true;
    claim->evidence = results_format(
        advice->results, "%s is there, %s runtime calls are recorded, and none launches anything",
        name, format_count(calls).text);
    claim->try_this =
        "move model and batches to the device: model.to(\"cuda\"), batch.to(\"cuda\")";
    claim->confidence = CONFIDENCE_HIGH;
    claim->reason = "all operators ran on the processor";
    return true;
}
