/* Advice on what the recording lacks, so that idle time is not what it seems; and on a device that
 * is not used. */
#include "base/text/format.h"
#include "sections/advice/call_site.h"
#include "sections/advice/claim.h"
#include "sections/advice/waiting_claims.h"
#include "trace/recorder_words.h"

#include <inttypes.h>

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
