/* Finds the largest loss, and puts it into words. */
#include "sections/step/headline.h"

#include "base/core/apportion.h"
#include "base/text/format.h"
#include "sections/chosen_events.h"
#include "sections/step/clock_numbers.h"
#include "sections/tally.h"

#include <stddef.h>

struct loss {
    const char *title;
    int64_t total_ns;
};

static void headline_consider(struct loss *worst, const char *title, int64_t total_ns)
{
    if (total_ns > worst->total_ns)
        *worst = (struct loss){title, total_ns};
}

/* The largest of what is not useful, for a trace on which no advice is given. Everything but matrix
 * work is a loss, and of matrix work what is not the model's. The first of equals stays. Time
 * below the peak is asked for only where there is a model of FLOPs: without it, all matrix time
 * would be "below". */
static struct loss headline_largest_loss(const struct analysis_input *input)
{
    const struct matrix_time *matrix = &input->efficiency->total.time;
    struct loss worst = {0};

    for (int a = 0; a < ACCOUNT_COUNT; a++)
        if (a != ACCOUNT_MATRIX)
            headline_consider(&worst, account_descriptions[a].title,
                              ledger_account_ns(input->ledger, (enum account)a));
    headline_consider(&worst, "matmul time below the peak",
                      efficiency_has_model(input->efficiency) ? matrix->below_peak_ns : 0);
    headline_consider(&worst, "FLOPs that are recomputed", matrix->recomputed_ns);
    headline_consider(&worst, "FLOPs that the model does not need", matrix->extra_ns);
    return worst;
}

/* "31.2 %", or "at least 31.2 %" where part of the matrix time has no price; NULL where it is not
 * known at all. "At least" where FLOPs of some operators are not known: their time is in the
 * whole and their work is not in the part. "About" where the peak is that of a similar device. */
static const char *useful_share_text(struct results *results, const struct efficiency *efficiency)
{
    int64_t total_ns = ledger_total_ns(efficiency->ledger);
    const struct matrix_time *matrix = &efficiency->total.time;

    if (!efficiency_has_model(efficiency))
        return NULL;
    return results_format(results, "%s%s",
                          efficiency_is_least(efficiency)               ? "at least "
                          : efficiency->peaks.match.kind == DEVICE_NEAR ? "about "
                                                                        : "",
                          format_fraction(fraction_of(matrix->model_ns, total_ns)).text);
}

/* Of kernels that are of no known kind: matmuls may be among them. */
static int64_t unclassified_ns(const struct ledger *ledger)
{
    int64_t sum_ns = 0;

    for (uint32_t i = 0; i < ledger->step_count; i++)
        sum_ns += ledger->steps[i].class_ns[KERNEL_COMPUTE_OTHER];
    return sum_ns;
}

/* "How much of the peak does useful work is not known (needs ...); 37.4 % of the step is matrix
 * work" Where no matmul is recognized, but at least half of the compute time is of kernels whose
 * names say nothing, the claim "no matmul runs" would be wrong: it is said that they are not
 * told apart. */
static const char *unknown_share(struct results *results, const struct analysis_input *input)
{
    const char *needs = efficiency_needs(input->efficiency);
    int64_t matrix_ns = ledger_account_ns(input->ledger, ACCOUNT_MATRIX);
    const char *where = input->ledger->is_cpu_only ? "the processor's" : "the device's";

    if (matrix_ns == 0 &&
        2 * unclassified_ns(input->ledger) >=
            ledger_account_ns(input->ledger, ACCOUNT_OTHER_COMPUTE) &&
        unclassified_ns(input->ledger) > 0)
        return results_format(results,
                              "%s of the %s is kernels whose names do not tell what they compute",
                              format_fraction(fraction_of(unclassified_ns(input->ledger),
                                                          ledger_total_ns(input->ledger)))
                                  .text,
                              step_word(input->ledger));
    if (matrix_ns == 0)
        return "No matmul runs";
    return results_format(
        results, "%s of the %s is matmul time; how much of %s peak that is, is not known (%s)",
        format_fraction(fraction_of(matrix_ns, ledger_total_ns(input->ledger))).text,
        step_word(input->ledger), where, needs ? needs : "needs FLOPs and the peak");
}

/* Below the least share nothing is named: a well-run step has a largest loss, too. */
const char *largest_part_text(struct results *results, const struct analysis_input *input,
                              double least)
{
    struct loss worst = headline_largest_loss(input);
    int64_t total_ns = ledger_total_ns(input->ledger);

    if (worst.total_ns <= 0 || fraction_of(worst.total_ns, total_ns) < least)
        return NULL;
    return results_format(results, "%s: %s (%s per %s)", worst.title,
                          format_fraction(fraction_of(worst.total_ns, total_ns)).text,
                          format_time(rounded_mean(worst.total_ns, input->ledger->step_count)).text,
                          step_word(input->ledger));
}

/* "the biggest recoverable loss is waiting for data: 33.6 % (58.734 ms per step)"; NULL where
 * nothing is lost. A finding first, since it can be acted on; the largest part only where advice
 * found nothing that costs. */
static const char *loss_text(struct results *results, const struct analysis_input *input,
                             const struct finding *most_expensive)
{
    const char *part;

    if (most_expensive)
        return results_format(
            results, "the biggest recoverable loss is %s: %s (%s per %s)", most_expensive->what,
            format_fraction(most_expensive->estimate->share).text,
            format_time(most_expensive->cost_ns).text, most_expensive->estimate->span);
    part = largest_part_text(results, input, 0);
    return part ? results_format(results, "the largest part beside it is %s", part) : NULL;
}

/* "54.2 % of the peak does useful work". More than all of it is no share: it is said what that
 * means. */
static const char *share_sentence(struct results *results, const struct analysis_input *input)
{
    const char *useful = useful_share_text(results, input->efficiency);
    int64_t model_ns = input->efficiency->total.time.model_ns;

    if (!useful)
        return unknown_share(results, input);
    return results_format(results, "%c%s of the peak %s", useful[0] == 'a' ? 'A' : useful[0],
                          useful + 1,
                          model_ns > ledger_total_ns(input->ledger)
                              ? "cannot be useful work: the peak or the FLOPs are wrong"
                              : "does useful work");
}

/* From what makes all other numbers void, to what has to be repaired first, to the share of
 * useful work and the largest loss: one sentence, of which the first thing known to be true
 * wins. */
const char *headline_of(struct results *results, const struct analysis_input *input,
                        const struct finding *most_expensive)
{
    const char *first, *loss;

    const char *why;

    if (input->ledger->step_count == 0)
        return NULL;
    why = why_windows_mislead(results, input->ledger);
    if (why)
        return results_format(results, "No loss can be named: %s.", why);
    if (most_expensive && most_expensive->estimate->comes_first)
        return results_format(results, "What comes first: %s (%s).", most_expensive->what,
                              most_expensive->evidence);
    first = share_sentence(results, input);
    loss = loss_text(results, input, most_expensive);
    if (!loss)
        return results_format(results, "%s.", first);
    return results_format(results, "%s; %s.", first, loss);
}
