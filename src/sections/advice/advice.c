/* What are the largest losses, and what to try? */
#include "sections/advice/give_advice.h"
#include "sections/analysis.h"
#include "sections/chosen_events.h"
#include "sections/step/clock_numbers.h"
#include "sections/step/headline.h"

/* No rule has a price: true of the whole page only where no account is large. */
static const char *without_a_cost(struct results *results, const struct analysis_input *input,
                                  const struct advice_findings *advice)
{
    static const double worth_naming = 0.02;
    const char *part = largest_part_text(results, input, worth_naming);

    if (advice->count > 0 && advice->findings[0].estimate->comes_first)
        return "Not estimated: what comes first decides what the times are worth.";

    if (!part)
        return results_format(results, "Nothing above 2 %% of the %s was found.",
                              step_word(input->ledger));
    return results_format(results,
                          "No rule of the advice applies here. The largest part beside the model's "
                          "own work is %s.",
                          part);
}

static struct section *new_advice(struct results *results, const char *intro)
{
    struct section *section = section_new(results, "advice", "Advice", intro);

    section->role = SECTION_OF_ADVICE;
    return section;
}

static struct section *advise(struct results *results, const struct analysis_input *input)
{
    struct advice_findings advice;
    struct section *section;
    const char *why;

    if (input->ledger->step_count == 0)
        return NULL;
    why = why_windows_mislead(results, input->ledger);
    if (why)
        return new_advice(results, results_format(results, "No advice: %s.", why));
    advice = give_advice(
        results, &(struct advice_question){.efficiency = input->efficiency,
                                           .simulation = input->simulation,
                                           .description = input->description,
                                           .has_other_ranks = input->options->has_other_ranks});
    section = new_advice(
        results,
        advice.costed
            ? "What costs time, most expensive first. \"At most 1.20x\": a step is at most that "
              "many times as fast, whether that time alone goes or the change replayed with it is "
              "made. Findings may be about the same time: do not add them up."
            : without_a_cost(results, input, &advice));
    for (size_t i = 0; i < advice.count; i++)
        section_add_finding(results, section, advice.findings[i]);
    return section;
}

const struct analysis advice_analysis = {
    .name = "advice",
    .summary = "What are the largest losses, and what to try?",
    .run = advise,
};
