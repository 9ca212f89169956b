/* What are the largest losses, and what to try? */
#include "base/core/apportion.h"
#include "base/core/invariant.h"
#include "cost/efficiency/efficiency.h"
#include "cost/modules/model_description.h"
#include "ledger/step_finder.h"
#include "output/results/results.h"
#include "replay/replay_model.h"
#include "sections/advice/advice_rule.h"
#include "sections/advice/claim.h"
#include "sections/advice/recording_rules.h"
#include "sections/advice/single_tensors.h"
#include "sections/analysis.h"
#include "sections/chosen_events.h"
#include "sections/step/clock_numbers.h"
#include "sections/step/headline.h"
#include "sections/step/steps_replay.h"
#include "trace/trace.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* ---- giving advice --------------------------------------------------------------------------- */

/* Findings sorted by what they cost, each with its price, what shows it and what to try. */

struct advice_findings {
    struct finding *findings; /* [count], dearest first, then those without a price; live as long
                                 as the results */
    size_t count;
    size_t costed; /* of those, with a price */
};

/* What the advice is asked about. */
struct advice_question {
    const struct analysis_input *input;
    const struct efficiency *efficiency;
    const struct model_description *description; /* of the recorder; NULL: none */
    bool has_other_ranks;                        /* of the same run are shown with this one */
};

/* ---- what replays cost ----------------------------------------------------------------------- */

/* What findings would bring, by replay: beside the ceiling of each. */

struct rule_scenario {
    const char *rule;
    const char *change;
};

static const struct rule_scenario scenarios[] = {
#define ADVICE_SCENARIO(rule_, change_) {.rule = #rule_, .change = (change_)},
#include "sections/advice/scenario_list.def"
#undef ADVICE_SCENARIO
};

static const char *replay_costs_change_of(const struct finding *finding)
{
    for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++)
        if (finding->cost_ns >= 0 && strcmp(finding->estimate->id, scenarios[i].rule) == 0)
            return scenarios[i].change;
    return NULL;
}

/* The replayed gain is one figure, the ceiling another: where the replay comes out above the
 * ceiling, which counts one cause only, the ceiling is raised, so that the page does not
 * contradict itself. A replay of one step that leaves little of it is not told. */
static void add_estimate(struct results *results, const struct replay_model *simulation,
                         struct finding *finding, const char *change)
{
    struct advice_estimate *estimate = results_allocate(results, sizeof *estimate);
    SCOPED(scenario) scenario = {.text = NULL};
    struct replay_estimate replayed;

    require_invariant(scenario_parse(&scenario, change, NULL), "scenario_list.def can be read");
    *estimate = *finding->estimate;
    estimate->change = change;
    estimate->replayed_step_ns = -1;
    if (replay_model_try(simulation, &scenario, &replayed) &&
        (simulation->ledger->step_count > 1 || replayed.speedup <= ADVICE_ONE_STEP_SPEEDUP_MAX)) {
        estimate->replayed_step_ns = replayed.step_ns;
        estimate->replayed_speedup = replayed.speedup;
        if (replayed.is_range) {
            estimate->least_speedup = replayed.least_speedup;
            estimate->most_speedup = replayed.most_speedup;
        }
        if (estimate->ceiling_speedup > 0 && replayed.most_speedup > estimate->ceiling_speedup)
            estimate->ceiling_speedup = replayed.most_speedup;
    }
    finding->estimate = estimate;
}

/* Fills in `replay` of the prices of those findings whose rule has a line in scenario_list.def.
 * None of steps that recording made longer: what is replayed would be the recorder's time, too. */
static void add_replay_costs(const struct advice_case *advice, struct finding *findings,
                             size_t count)
{
    const struct replay_model *simulation =
        advice->plain_step_ns > 0 ? NULL : replay_of(advice->input);

    for (size_t i = 0; i < count && simulation; i++) {
        const char *change = replay_costs_change_of(&findings[i]);

        if (change)
            add_estimate(advice->results, simulation, &findings[i], change);
    }
}

/* ---- give advice ----------------------------------------------------------------------------- */

struct advice_rule {
    const char *id;
    const char *title;
    uint32_t accounts;
    int64_t least_thousandths;
    bool (*check)(struct advice_case *advice, struct advice_claim *claim);
};

static const struct advice_rule rules[] = {
#define ADVICE_RULE(id_, accounts_, thousandths_, title_) \
    {.id = #id_,                                          \
     .title = (title_),                                   \
     .accounts = (accounts_),                             \
     .least_thousandths = (thousandths_),                 \
     .check = check_##id_},
#define ADVICE_LIMIT(name, value, unit, meaning)
#include "sections/advice/rule_list.def"
#undef ADVICE_RULE
#undef ADVICE_LIMIT
};
enum { RULE_COUNT = sizeof rules / sizeof *rules };

static const char *const confidence_keys[] = {
    [CONFIDENCE_LOW] = "low", [CONFIDENCE_MEDIUM] = "medium", [CONFIDENCE_HIGH] = "high"};

/* Recording makes steps idle longer, and this is of idle time alone. */
static bool is_of_dilated_time(const struct advice_case *advice, const struct advice_claim *claim,
                               uint32_t accounts)
{
    return advice->plain_step_ns > 0 && !claim->is_of_recording &&
           (accounts & ~(uint32_t)ACCOUNT_BITS_IDLE) == 0;
}

/* No finding costs more than its accounts hold in that step: rules estimate by events, whose
 * sum may overlap. Slow steps are measured against the median, not by one account, so theirs
 * is the rule's own list. Of idle time no more can be won than a step has that is not recorded. */
static void cap_claim(const struct advice_case *advice, const struct advice_rule *rule,
                      struct advice_claim *claim)
{
    uint32_t accounts =
        claim->accounts && rule->check != check_step_outliers ? claim->accounts : rule->accounts;
    bool is_dilated = is_of_dilated_time(advice, claim, accounts);

    for (uint32_t i = 0; i < advice->ledger->step_count; i++) {
        const struct step_ledger *step = &advice->ledger->steps[i];
        int64_t held = accounts_held_ns(step, accounts);
        int64_t idle = accounts_held_ns(step, ACCOUNT_BITS_IDLE) - dilation_ns(advice, i);

        if (is_dilated && held > idle)
            held = idle;
        if (claim->step_ns[i] > held)
            claim->step_ns[i] = held;
    }
}

/* Those that hold any time, most first. Insertion into a short sorted list; equal times keep the
 * ledger's order. */
static void note_accounts(const struct advice_case *advice, struct advice_estimate *estimate,
                          uint32_t accounts)
{
    const char **keys = results_allocate(advice->results, ACCOUNT_COUNT * sizeof *keys);
    int64_t held[ACCOUNT_COUNT] = {0};

    for (unsigned account = 0; account < ACCOUNT_COUNT; account++) {
        int64_t ns = ledger_account_ns(advice->ledger, (enum account)account);
        size_t at = estimate->account_count;

        if (!(accounts >> account & 1) || ns == 0)
            continue;
        for (; at > 0 && held[at - 1] < ns; at--) {
            held[at] = held[at - 1];
            keys[at] = keys[at - 1];
        }
        held[at] = ns;
        keys[at] = account_descriptions[account].key;
        estimate->account_count++;
    }
    estimate->accounts = keys;
}

/* The steps that show it clearly; where none reaches the rule's share, all that show it. Two
 * passes: clear steps, and only where there are none the others, so that a small loss in each
 * step still has an example. The 1 keeps an empty window from dividing by 0. */
static void note_steps(struct results *results, struct advice_estimate *estimate,
                       const struct advice_rule *rule, const struct ledger *ledger,
                       const int64_t *step_ns)
{
    int64_t *numbers = results_allocate(results, (ledger->step_count + 1) * sizeof *numbers);

    for (int pass = 0; pass < 2 && estimate->step_count == 0; pass++) {
        for (uint32_t i = 0; i < ledger->step_count; i++) {
            const struct step_window *window = &ledger->steps[i].window;
            double share = (double)step_ns[i] / (double)(window->end_ns - window->start_ns + 1);

            if (step_ns[i] > 0 && (pass == 1 || 1000 * share >= (double)rule->least_thousandths))
                numbers[estimate->step_count++] = window->number;
        }
    }
    estimate->steps = numbers;
}

/* A recording of one step, or of no steps, shows the loss but not that it is usual. */
static void note_confidence(struct results *results, struct advice_estimate *estimate,
                            const struct advice_claim *claim, const struct ledger *ledger)
{
    enum confidence confidence = claim->confidence;

    estimate->reason = claim->reason;
    if (ledger->step_count < ADVICE_STEPS_MIN && confidence == CONFIDENCE_HIGH &&
        claim->step_ns[0] > 0) {
        confidence = CONFIDENCE_MEDIUM;
        estimate->reason =
            results_format(results, "%s; %s", claim->reason,
                           ledger->source == WINDOW_WHOLE ? "but start-up is part of the window"
                                                          : "but few steps are recorded");
    }
    estimate->confidence = confidence_keys[confidence];
}

/* How fast a step is without what one step or window lost says little where little is left of it.
 */
static bool is_known_by_one(const struct ledger *ledger, double speedup)
{
    return ledger->step_count == 1 && speedup > ADVICE_ONE_STEP_SPEEDUP_MAX;
}

/* Fills in the finding of a claim; false where it costs too little. The ceiling is Amdahl's:
 * whole / (whole - cost), if that time alone went and nothing else moved. What is a cost of
 * recording has none, as a run without recording does not have it. */
static bool estimate_claim(const struct advice_case *advice, const struct advice_rule *rule,
                           const struct advice_claim *claim, struct finding *finding)
{
    const struct ledger *ledger = advice->ledger;
    struct advice_estimate *estimate = results_allocate(advice->results, sizeof *estimate);
    int64_t cost_ns = claim_total_ns(advice, claim);
    int64_t whole_ns = ledger_total_ns(ledger);

    *estimate = (struct advice_estimate){.id = rule->id,
                                         .has_own_title = claim->title != NULL,
                                         .comes_first = claim->comes_first,
                                         .span = step_word(ledger)};
    if (rule->accounts && !claim->is_uncosted) {
        estimate->share = whole_ns > 0 ? (double)cost_ns / (double)whole_ns : 0;
        if (cost_ns == 0 || 1000 * estimate->share < (double)rule->least_thousandths)
            return false;
        /* A cost of the whole step has no ceiling: nothing would be left to divide by. */
        if (cost_ns < whole_ns && !claim->is_of_recording)
            estimate->ceiling_speedup = (double)whole_ns / (double)(whole_ns - cost_ns);
        if (is_known_by_one(ledger, estimate->ceiling_speedup))
            estimate->ceiling_speedup = 0;
    }
    require_invariant(claim->evidence && claim->try_this && claim->reason,
                      "advice comes with what shows it");
    note_accounts(advice, estimate, claim->accounts ? claim->accounts : rule->accounts);
    note_steps(advice->results, estimate, rule, ledger, claim->step_ns);
    note_confidence(advice->results, estimate, claim, ledger);
    *finding = (struct finding){
        .what = claim->title ? claim->title : rule->title,
        .evidence = claim->evidence,
        .try_this = claim->try_this,
        .cost_ns =
            rule->accounts && !claim->is_uncosted ? rounded_mean(cost_ns, ledger->step_count) : -1,
        .estimate = estimate,
    };
    return true;
}

/* Those without a price have -1, and so come last. */
static int compare_findings(const void *left, const void *right)
{
    const struct finding *a = left, *b = right;

    if (a->estimate->comes_first != b->estimate->comes_first)
        return a->estimate->comes_first ? -1 : 1;
    return (a->cost_ns < b->cost_ns) - (a->cost_ns > b->cost_ns);
}

/* Insertion keeps the order of the rules among equals. */
static void sort_findings(struct finding *findings, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        struct finding finding = findings[i];
        size_t at = i;

        for (; at > 0 && compare_findings(&findings[at - 1], &finding) > 0; at--)
            findings[at] = findings[at - 1];
        findings[at] = finding;
    }
}

/* One of the accounts of `mask` is among the keys. */
static bool holds_account(const char *const *keys, size_t count, uint32_t mask)
{
    for (unsigned account = 0; account < ACCOUNT_COUNT; account++)
        for (size_t i = 0; mask >> account & 1 && i < count; i++)
            if (strcmp(keys[i], account_descriptions[account].key) == 0)
                return true;
    return false;
}

/* Slow steps are what a finding of the account shows that makes most of them: no dearer than that,
 * so that the cause comes first, which they name. Where no finding is at least half of it, it is
 * no cause. All steps are scaled by one factor, so which of them show it stays as it was. */
static void cap_by_cause(const struct advice_case *advice, struct advice_claim *claim,
                         const struct advice_findings *all)
{
    int64_t total_ns = claim_total_ns(advice, claim);

    for (size_t i = 0; i < all->count; i++) {
        const struct finding *cause = &all->findings[i];
        int64_t cause_ns = cause->cost_ns * advice->ledger->step_count;

        if (cause->estimate->account_count == 0 || cause_ns >= total_ns ||
            2 * cause_ns < total_ns ||
            !holds_account(cause->estimate->accounts, cause->estimate->account_count,
                           claim->accounts))
            continue;
        for (uint32_t step = 0; step < advice->ledger->step_count; step++)
            claim->step_ns[step] =
                (int64_t)((double)claim->step_ns[step] * (double)cause_ns / (double)total_ns);
        claim->try_this =
            results_format(advice->results, "most of it is \"%s\", see there", cause->what);
        return;
    }
}

/* Without the device's work, what the host does tells nothing of where its time goes. */
static bool give_advice_is_asked(const struct advice_case *advice, const struct advice_rule *rule)
{
    return advice->missing.kind != MISSING_DEVICE || rule->check == check_unrecorded_work;
}

/* In the order of the list, in which slow steps come last: they are set against the findings
 * before them. */
static void ask_rules(struct advice_case *advice, struct advice_findings *all)
{
    size_t steps = advice->ledger->step_count;
    struct advice_claim claim = {.step_ns = require_memory(calloc(steps, sizeof(int64_t)))};

    for (size_t i = 0; i < RULE_COUNT; i++) {
        for (size_t step = 0; step < steps; step++)
            claim.step_ns[step] = 0;
        claim = (struct advice_claim){.step_ns = claim.step_ns};
        if (!give_advice_is_asked(advice, &rules[i]) || !rules[i].check(advice, &claim))
            continue;
        cap_claim(advice, &rules[i], &claim);
        if (rules[i].check == check_step_outliers)
            cap_by_cause(advice, &claim, all);
        if (estimate_claim(advice, &rules[i], &claim, &all->findings[all->count]))
            all->costed += all->findings[all->count++].cost_ns >= 0;
    }
    free(claim.step_ns);
}

/* Asks every rule of rule_list.def about the trace and the ledger of `efficiency`. No finding costs
 * more than its accounts hold, and none is there without something that shows it. What several
 * rules ask for is found once before: missing work, idle time, calls of the host, first uses,
 * kernels, scores, the recording's end. The single optimizer is asked before the rules, since
 * rules about ranges leave its range out. */
static struct advice_findings give_advice(struct results *results,
                                          const struct advice_question *question)
{
    const struct efficiency *efficiency = question->efficiency;
    const struct ledger *ledger = efficiency->ledger;
    struct name_answers wide = {.ask = is_name_of_wide_product};
    struct advice_case advice = {.trace = efficiency->trace,
                                 .wide = &wide,
                                 .ledger = ledger,
                                 .costs = efficiency->costs,
                                 .efficiency = efficiency,
                                 .input = question->input,
                                 .description = question->description,
                                 .has_other_ranks = question->has_other_ranks,
                                 .results = results};
    struct advice_findings all = {.findings =
                                      results_allocate(results, RULE_COUNT * sizeof *all.findings)};

    if (ledger->step_count == 0)
        return all;
    advice.missing = find_missing_work(advice.trace, ledger, ADVICE_LATE_START_NS);
    free_time_init(&advice.idle, &ledger->timeline, UINT32_MAX);
    find_host_calls(&advice.calls, advice.trace, ledger, ADVICE_SLOW_CALL_NS);
    find_first_uses(&advice.first_uses, advice.trace, ledger, &advice.calls, ADVICE_SLOW_CALL_NS);
    advice.kernels = sum_kernels(advice.trace, ledger);
    find_attention_scores(&advice.scores, efficiency, ADVICE_SCORES_SIZE_MIN);
    find_recording_end(&advice, advice.recording_end_ns);
    advice.plain_step_ns = plain_step_of(&advice);
    advice.has_single_optimizer = handles_single_tensors(&advice);
    ask_rules(&advice, &all);
    sort_findings(all.findings, all.count);
    /* Behind the sort: findings stand by what they cost, not by what a replay says that they
     * win. */
    add_replay_costs(&advice, all.findings, all.count);
    free_time_clear(&advice.idle);
    first_uses_clear(&advice.first_uses);
    host_calls_clear(&advice.calls);
    attention_scores_clear(&advice.scores);
    free(wide.answers);
    return all;
}

/* ---- advice ---------------------------------------------------------------------------------- */

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

/* Where windows mislead, a list of prices would be worse than none. */
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
    /* Only now: rules walk over all events, which a refused case need not pay for. */
    advice = give_advice(
        results, &(struct advice_question){.input = input,
                                           .efficiency = input->efficiency,
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
