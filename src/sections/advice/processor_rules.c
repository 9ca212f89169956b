/* Advice on time that the launching thread spent without a core: asleep, or waiting for one. By
 * what the recorder notes of each step; a trace of another recorder tells nothing of it. */
#include "base/core/apportion.h"
#include "base/text/format.h"
#include "sections/advice/claim.h"

/* NULL wherever the recorder noted nothing of this very step: a window that is the whole
 * recording has no step's number to ask for, and a time of no length or without the thread's
 * own clock would make a share of nothing. */
static const struct processor_time *time_of_step(const struct advice_case *advice, uint32_t index)
{
    const struct ledger *ledger = advice->ledger;
    const struct described_step *step =
        advice->description && ledger->source != WINDOW_WHOLE
            ? describe_step(advice->description, ledger->steps[index].window.number)
            : NULL;

    return step && step->processor.wall_ns > 0 && step->processor.thread_cpu_ns >= 0
               ? &step->processor
               : NULL;
}

static int64_t waited_ns(const struct processor_time *time)
{
    return time->thread_waited_ns > 0 ? time->thread_waited_ns : 0;
}

/* What of the step has no operator and no call in it. */
static int64_t unexplained_ns(const struct step_ledger *step)
{
    return step->account_ns[ACCOUNT_IDLE_NOTHING] + step->account_ns[ACCOUNT_IDLE_PYTHON] +
           step->account_ns[ACCOUNT_IDLE_ANNOTATION];
}

/* On a processor the thread waits for nothing but data, other ranks and calls that are told. */
static int64_t recorded_waits_ns(const struct step_ledger *step)
{
    return step->account_ns[ACCOUNT_IDLE_DATA] + step->account_ns[ACCOUNT_IDLE_SYSTEM] +
           step->account_ns[ACCOUNT_COMMUNICATION];
}

/* What other threads of the process worked or waited for a core: the launching thread may have
 * waited for them, in an operator. */
static int64_t of_other_threads_ns(const struct processor_time *time)
{
    int64_t waited = time->process_waited_ns - waited_ns(time);
    int64_t worked = time->process_cpu_ns - time->thread_cpu_ns;

    return (waited > 0 ? waited : 0) + (worked > 0 ? worked : 0);
}

/* Time in which no thread of the process had anything to do, in stretches of 1 ms and more: it lies
 * where nothing is recorded, as far as that reaches. What is left of the wall clock after the
 * thread's own CPU time, its waiting for a core, waits that are told elsewhere, and what other
 * threads did: each is taken off whole, so this is a lower bound. Its mean per voluntary switch
 * tells long sleeps from short waits. */
static int64_t long_sleep_ns(const struct advice_case *advice, const struct step_ledger *step,
                             const struct processor_time *time)
{
    int64_t blocked_ns = time->wall_ns - time->thread_cpu_ns - waited_ns(time) -
                         recorded_waits_ns(step) - of_other_threads_ns(time);

    if (!advice->ledger->is_cpu_only || time->voluntary_switches <= 0 ||
        time->process_waited_ns < 0 || time->process_cpu_ns < 0 ||
        blocked_ns / time->voluntary_switches < ADVICE_LONG_PAUSE_NS)
        return 0;
    return blocked_ns;
}

/* Even if all CPU time of the thread went there, the rest of what is unexplained had none. */
static int64_t sure_sleep_ns(const struct step_ledger *step, const struct processor_time *time)
{
    return unexplained_ns(step) - time->thread_cpu_ns - waited_ns(time);
}

/* The larger of two lower bounds is a lower bound, too. */
static int64_t slept_ns(const struct advice_case *advice, uint32_t index)
{
    const struct step_ledger *step = &advice->ledger->steps[index];
    const struct processor_time *time = time_of_step(advice, index);
    int64_t slept, limit_ns = unexplained_ns(step);

    if (!time)
        return 0;
    slept = long_sleep_ns(advice, step, time);
    if (slept < sure_sleep_ns(step, time))
        slept = sure_sleep_ns(step, time);
    if (slept > limit_ns)
        slept = limit_ns;
    return slept > 0 ? slept : 0;
}

int64_t without_core_ns(const struct advice_case *advice, uint32_t index)
{
    const struct step_ledger *step = &advice->ledger->steps[index];
    const struct processor_time *time = time_of_step(advice, index);
    int64_t waited = time ? unexplained_ns(step) + waited_ns(time) - time->wall_ns : 0;

    return slept_ns(advice, index) + (waited > 0 ? waited : 0);
}

int64_t core_wait_ns(const struct advice_case *advice, uint32_t index)
{
    const struct processor_time *time = time_of_step(advice, index);

    return time ? waited_ns(time) : 0;
}

/* Sure is what is left of the unexplained time even if all of the thread's CPU time fell into
 * it. */
bool check_sleeping(struct advice_case *advice, struct advice_claim *claim)
{
    int64_t cpu_ns = 0, wall_ns = 0, sure_ns = 0;

    for (uint32_t i = 0; i < advice->ledger->step_count; i++) {
        const struct processor_time *time = time_of_step(advice, i);

        /* Steps of which the recorder noted nothing have no such time: they add nothing to the
         * claim. */
        claim->step_ns[i] = slept_ns(advice, i);
        cpu_ns += time ? time->thread_cpu_ns : 0;
        wall_ns += time ? time->wall_ns : 0;
        if (time && sure_sleep_ns(&advice->ledger->steps[i], time) > 0)
            sure_ns += sure_sleep_ns(&advice->ledger->steps[i], time);
    }
    if (claim_total_ns(advice, claim) == 0)
        return false;
    claim->evidence = results_format(
        advice->results,
        "the launching thread used the processor for %s of the step's %s, and nothing recorded "
        "tells what it waited for",
        per_step_time(advice, cpu_ns), per_step_time(advice, wall_ns));
    claim->try_this = "look for time.sleep, locks, files and network between the operators; "
                      "flopledger run --stacks names the code";
    claim->confidence =
        2 * sure_ns >= claim_total_ns(advice, claim) ? CONFIDENCE_HIGH : CONFIDENCE_MEDIUM;
    claim->reason = claim->confidence == CONFIDENCE_HIGH
                        ? "CPU time is measured by the kernel: this time had none"
                        : "the step has time without CPU time; where in it is not measured";
    return true;
}

/* Of the scheduler's run-queue delay (/proc/<pid>/schedstat), which counts time ready without
 * a core. */
bool check_shared_machine(struct advice_case *advice, struct advice_claim *claim)
{
    int64_t switches = 0, process_ns = 0;

    for (uint32_t i = 0; i < advice->ledger->step_count; i++) {
        const struct processor_time *time = time_of_step(advice, i);

        if (!time)
            continue;
        claim->step_ns[i] = waited_ns(time);
        /* Below zero where the recorder could not tell: left out of the sums, which are
         * evidence and no cost. */
        switches += time->involuntary_switches > 0 ? time->involuntary_switches : 0;
        process_ns += time->process_waited_ns > 0 ? time->process_waited_ns : 0;
    }
    if (claim_total_ns(advice, claim) == 0)
        return false;
    claim->evidence = results_format(
        advice->results,
        "the launching thread was ready to run for %s%s and no core was free for it; it was made "
        "way for others %s times; all threads waited %s",
        per_step_time(advice, claim_total_ns(advice, claim)), a_step(advice),
        per_step_count(advice, switches), per_step_time(advice, process_ns));
    claim->try_this = "leave cores to this process: fewer threads and loader workers "
                      "(OMP_NUM_THREADS, num_workers), other jobs elsewhere, a larger CPU limit";
    claim->confidence = CONFIDENCE_HIGH;
    claim->reason = "the kernel's scheduler counts it";
    return true;
}
