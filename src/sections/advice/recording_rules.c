/* Advice on the steps as recorded: slow ones among them, and too few. */
#include "base/text/format.h"
#include "ledger/step_finder.h"
#include "ledger/step_outliers.h"
#include "sections/advice/claim.h"
#include "sections/advice/recording_end.h"
#include "trace/recorder_words.h"

#include <inttypes.h>
#include <stdlib.h>

/* Deviation is from the median step, by median and MAD (measure_step_spread), so one slow step
 * does not hide itself in the mean. A last step that is long by the recording's end is none. */
bool check_step_outliers(struct advice_case *advice, struct advice_claim *claim)
{
    const struct ledger *ledger = advice->ledger;
    struct step_spread spread;
    uint32_t worst = NO_STEP;
    uint32_t slow = 0;

    if (ledger->source == WINDOW_WHOLE)
        return false;
    spread = measure_step_spread(ledger);
    for (uint32_t i = 0; i < ledger->step_count; i++) {
        /* Fast steps are outliers as well and cost nothing. Where more than half of the excess
         * is the recording's end, that is the reason. */
        if (!spread.steps[i].is_outlier || spread.steps[i].deviation_ns <= 0 ||
            2 * recording_end_ns(advice, i) > spread.steps[i].deviation_ns)
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
