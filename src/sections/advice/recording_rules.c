/* Advice on the steps as recorded: slow ones among them, and too few; and what the profiler's own
 * work takes at the end of the recording, and in calls. */
#include "sections/advice/recording_rules.h"

#include "base/text/format.h"
#include "base/text/prefix.h"
#include "ledger/step_finder.h"
#include "ledger/step_outliers.h"
#include "sections/advice/claim.h"
#include "trace/name_answers.h"
#include "trace/recorder_words.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static bool is_name_of_profiler(const char *name)
{
    return has_prefix(name, "ProfilerStep") || has_prefix(name, "PyTorch Profiler");
}

static bool is_name_of_synchronize(const char *name)
{
    return strstr(name, "DeviceSynchronize") || strstr(name, "aclrtSynchronizeDevice");
}

/* When the last of what the program did ended. The profiler synchronises once more, behind the
 * mark. */
static int64_t program_end_ns(const struct trace *trace, const struct step_window *last)
{
    struct name_answers profilers = {.ask = is_name_of_profiler};
    struct name_answers synchronize = {.ask = is_name_of_synchronize};
    int64_t end_ns = last->start_ns;

    for (uint32_t i = 0; i < trace->host_count; i++) {
        const struct event *event = &trace->host[i];

        if (event->kind == EVENT_OVERHEAD || name_answer(&profilers, trace, event->name))
            continue;
        if (event->start_ns >= last->mark_end_ns && name_answer(&synchronize, trace, event->name))
            continue;
        if (event_end_ns(event) > end_ns)
            end_ns = event_end_ns(event);
    }
    /* Work of the device that still runs is the program's own, however late it ends. */
    for (uint32_t i = 0; i < trace->device_count; i++) {
        if (event_end_ns(&trace->device[i]) > end_ns)
            end_ns = event_end_ns(&trace->device[i]);
    }
    free(profilers.answers);
    free(synchronize.answers);
    return end_ns;
}

/* The profiler stops within the last marked step. What follows the program's last event,
 * beyond the tail that other steps have, is the recording's. Needs other steps to know that
 * tail, and a window that ends with its mark. */
void find_recording_end(const struct advice_case *advice, int64_t range_ns[2])
{
    const struct ledger *ledger = advice->ledger;
    const struct step_window *last = &ledger->steps[ledger->step_count - 1].window;
    int64_t usual_ns = 0;

    range_ns[0] = range_ns[1] = last->end_ns;
    if (ledger->is_cpu_only || ledger->source != WINDOW_PROFILER_STEP || last->is_cut ||
        ledger->step_count < ADVICE_STEPS_MIN || last->end_ns != last->mark_end_ns)
        return;
    for (uint32_t i = 0; i + 1 < ledger->step_count; i++)
        if (ledger->steps[i].tail_ns > usual_ns)
            usual_ns = ledger->steps[i].tail_ns;
    range_ns[0] = program_end_ns(advice->trace, last);
    range_ns[0] = range_ns[0] < last->end_ns - usual_ns ? range_ns[0] + usual_ns : last->end_ns;
}

int64_t recording_end_ns(const struct advice_case *advice, uint32_t step)
{
    return step + 1 == advice->ledger->step_count
               ? advice->recording_end_ns[1] - advice->recording_end_ns[0]
               : 0;
}

/* Recording slows the host and leaves the device's work as it is: steps that are not recorded and
 * would not hold that work are steps of another kind, and tell nothing. */
int64_t plain_step_of(const struct advice_case *advice)
{
    const struct ledger *ledger = advice->ledger;
    struct plain_steps plain =
        advice->description ? advice->description->plain : (struct plain_steps){0};
    struct step_spread spread;
    int64_t busy_ns = ledger_total_ns(ledger);

    if (plain.count == 0 || ledger->is_cpu_only || ledger->source != WINDOW_PROFILER_STEP)
        return 0;
    spread = measure_step_spread(ledger);
    free(spread.steps);
    for (uint32_t i = 0; i < ledger->step_count; i++)
        busy_ns -= accounts_held_ns(&ledger->steps[i], ACCOUNT_BITS_IDLE);
    return 100 * spread.median_ns < PLAIN_LONGER_PER_CENT * plain.median_ns ||
                   busy_ns > plain.median_ns * ledger->step_count
               ? 0
               : plain.median_ns;
}

int64_t dilation_ns(const struct advice_case *advice, uint32_t step)
{
    const struct step_ledger *recorded = &advice->ledger->steps[step];
    int64_t longer_ns = recorded->window.end_ns - recorded->window.start_ns - advice->plain_step_ns;
    int64_t idle_ns = accounts_held_ns(recorded, ACCOUNT_BITS_IDLE);

    if (advice->plain_step_ns == 0 || longer_ns < 0)
        return 0;
    return longer_ns < idle_ns ? longer_ns : idle_ns;
}

bool is_module_loading(const char *name)
{
    return strstr(name, "oading") || strstr(name, "Driver Compiler");
}

bool is_profilers_work(const char *name)
{
    return !is_module_loading(name) && !strstr(name, "Command Buffer Full");
}

/* Half of the call is enough: overhead events are shorter than the call that they hold up. */
bool is_held_by_profiler(const struct advice_case *advice, const struct event *call)
{
    const struct host_call_list *list = &advice->calls.lists[CALLS_OVERHEAD];
    const struct trace *trace = advice->trace;

    for (uint32_t i = 0; i < list->count; i++) {
        const struct event *work = &trace->host[list->events[i]];
        int64_t start_ns = work->start_ns > call->start_ns ? work->start_ns : call->start_ns;
        int64_t end_ns =
            event_end_ns(work) < event_end_ns(call) ? event_end_ns(work) : event_end_ns(call);

        if (trace->tracks[work->track].process == trace->tracks[call->track].process &&
            is_profilers_work(trace_text(trace, work->name)) &&
            2 * (end_ns - start_ns) > call->duration_ns)
            return true;
    }
    return false;
}

/* Deviation is from the median step, by median and MAD (measure_step_spread), so one slow step
 * does not hide itself in the mean. A last step that is long by the recording's end is none. */
bool check_step_outliers(struct advice_case *advice, struct advice_claim *claim)
{
    const struct ledger *ledger = advice->ledger;
    struct step_spread spread;
    uint32_t worst = NO_STEP;
    uint32_t slow = 0;
    int64_t least_wait_ns = INT64_MAX; /* what this machine always takes */

    if (ledger->source == WINDOW_WHOLE)
        return false;
    spread = measure_step_spread(ledger);
    for (uint32_t i = 0; i < ledger->step_count; i++)
        if (core_wait_ns(advice, i) < least_wait_ns)
            least_wait_ns = core_wait_ns(advice, i);
    for (uint32_t i = 0; i < ledger->step_count; i++) {
        /* Fast steps are outliers as well and cost nothing. Where more than half of the excess
         * is the recording's end or a wait for a core, which has advice of its own, that is the
         * reason. */
        if (!spread.steps[i].is_outlier || spread.steps[i].deviation_ns <= 0 ||
            2 * (recording_end_ns(advice, i) + core_wait_ns(advice, i) - least_wait_ns) >
                spread.steps[i].deviation_ns)
            continue;
        claim->step_ns[i] = spread.steps[i].deviation_ns;
        slow++;
        if (worst == NO_STEP || spread.steps[i].deviation_ns > spread.steps[worst].deviation_ns)
            worst = i;
    }
    if (worst != NO_STEP) {
        const struct step_deviation *step = &spread.steps[worst];

        claim->evidence = results_format(
            advice->results,
            "%" PRIu32 " of %" PRIu32 " steps; step %" PRId64
            " takes %s more than the median's %s, most of it %s (%+.3f ms)",
            slow, ledger->step_count, ledger->steps[worst].window.number,
            format_time(step->deviation_ns).text, format_time(spread.median_ns).text,
            account_descriptions[step->account].title, (double)step->account_deviation_ns / 1e6);
        /* The account that grew most in the worst step names the cost; the rule itself has
         * none. */
        claim->accounts = (uint32_t)1 << step->account;
        claim->try_this =
            account_descriptions[step->account].group == ACCOUNT_GROUP_COMPUTE
                ? "look for shapes that change from step to step, lower clocks (heat, power limit) "
                  "or another process on the device"
            : step->account == ACCOUNT_IDLE_NOTHING ? recorder_words_for(advice->trace)->stacks
                                                    : account_descriptions[step->account].advice;
    }
    claim->confidence = ledger->step_count >= 10 ? CONFIDENCE_MEDIUM : CONFIDENCE_LOW;
    claim->reason = ledger->step_count >= 10
                        ? "how often such a step comes in a long run is not in the trace"
                        : "few steps are recorded: how often such a step comes is not known";
    free(spread.steps);
    return worst != NO_STEP;
}

/* No cost is told: a short recording loses no time, it only makes all other figures less sure.
 * Without marks that is the finding; how many steps there were cannot be asked then. */
bool check_short_recording(struct advice_case *advice, struct advice_claim *claim)
{
    const struct ledger *ledger = advice->ledger;

    if (ledger->source == WINDOW_WHOLE) {
        claim->evidence = "no step marks: the whole recording is one window, start-up and all";
        claim->try_this = recorder_words_for(advice->trace)->marks;
    } else if (ledger->step_count < ADVICE_STEPS_MIN) {
        claim->evidence = results_format(advice->results,
                                         "only %" PRIu32 " step%s: whether that is a usual step "
                                         "cannot be told",
                                         ledger->step_count, ledger->step_count == 1 ? "" : "s");
        claim->try_this = recorder_words_for(advice->trace)->few_steps;
    } else {
        return false;
    }
    claim->confidence = CONFIDENCE_HIGH;
    claim->reason = "it is counted, not estimated";
    return true;
}
