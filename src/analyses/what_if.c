/* How long would a step take if ...? */
#include "analyses/analysis.h"
#include "analyses/chosen_events.h"
#include "analyses/steps_study.h"
#include "base/apportion.h"
#include "replay/replay_study.h"

#include <math.h>
#include <stddef.h>

#define BIT(account) ((uint32_t)1 << ACCOUNT_##account)

/* The accounts that a change takes time out of. */
static const uint32_t accounts_of_target[SCENARIO_TARGET_COUNT] = {
    [TARGET_DATA] = BIT(IDLE_DATA),
    [TARGET_HOST] = BIT(IDLE_RUNTIME) | BIT(IDLE_OPERATOR) | BIT(IDLE_LAUNCH) |
                    BIT(IDLE_ALLOCATOR) | BIT(IDLE_GARBAGE) | BIT(IDLE_SYSTEM) |
                    BIT(IDLE_ANNOTATION) | BIT(IDLE_PYTHON) | BIT(IDLE_NOTHING),
    [TARGET_LAUNCH] = BIT(IDLE_RUNTIME) | BIT(IDLE_LAUNCH),
    [TARGET_SYNC] = BIT(IDLE_SYNC),
    [TARGET_DEVICE] =
        BIT(MATRIX) | BIT(OTHER_COMPUTE) | BIT(COMMUNICATION) | BIT(COPY) | BIT(DATA_COPY),
    [TARGET_COMMUNICATION] = BIT(COMMUNICATION),
    [TARGET_COPIES] = BIT(COPY) | BIT(DATA_COPY),
    [TARGET_MATRIX] = BIT(MATRIX),
};

/* Duration of the kernels of the steps that the pattern finds. */
static int64_t kernel_ns(const struct analysis_input *input, const struct scenario_change *change)
{
    const struct trace *trace = input->trace;
    struct step_finder finder = {.ledger = input->ledger};
    int64_t total_ns = 0;

    for (uint32_t i = 0; i < trace->device_count; i++)
        if (is_chosen_device_event(&finder, trace, i) &&
            regexec(&change->pattern, trace_text(trace, trace->device[i].name), 0, NULL, 0) == 0)
            total_ns += trace->device[i].duration_ns;
    return total_ns;
}

/* Duration of the computing kernels of the steps that repeat a forward. */
static int64_t recompute_ns(const struct analysis_input *input)
{
    const struct trace *trace = input->trace;
    struct step_finder finder = {.ledger = input->ledger};
    int64_t total_ns = 0;

    for (uint32_t i = 0; i < trace->device_count; i++) {
        uint32_t op = trace_operator_of(trace, i);

        if (op != NO_EVENT && input->costs->contexts.phases[op] == PHASE_RECOMPUTE &&
            is_chosen_device_event(&finder, trace, i))
            total_ns += trace->device[i].duration_ns;
    }
    return total_ns;
}

/* What is left of all steps where the time is only taken out of its accounts. */
static int64_t after_removal_ns(const struct analysis_input *input, const struct scenario *scenario)
{
    int64_t whole_ns = ledger_total_ns(input->ledger);
    double removed_ns = 0;

    for (size_t i = 0; i < scenario->change_count; i++) {
        const struct scenario_change *change = &scenario->changes[i];
        int64_t held_ns = change->target == TARGET_KERNEL ? kernel_ns(input, change) : 0;

        if (change->target == TARGET_RECOMPUTE)
            held_ns = recompute_ns(input);
        for (unsigned account = 0; account < ACCOUNT_COUNT; account++)
            if (accounts_of_target[change->target] >> account & 1)
                held_ns += ledger_account_ns(input->ledger, (enum account)account);
        removed_ns += (double)held_ns * (1 - change->factor);
    }
    return removed_ns >= (double)whole_ns ? 0 : whole_ns - llround(removed_ns);
}

static void add_change(struct results *results, struct table *table,
                       const struct analysis_input *input, const struct replay_study *study,
                       const struct scenario *scenario)
{
    struct value *cells = table_add_row(results, table, 0);
    int64_t whole_ns = ledger_total_ns(input->ledger), left_ns = after_removal_ns(input, scenario);
    struct replay_estimate estimate;

    cells[0] = value_text(results_text(results, scenario->text));
    cells[3] = left_ns > 0 ? value_number((double)whole_ns / (double)left_ns)
                           : value_not_known("nothing would be left of the step");
    if (replay_study_try(study, scenario, &estimate)) {
        cells[1] = value_time_ns(estimate.step_ns);
        cells[2] = estimate.speedup > 0 ? value_number(estimate.speedup)
                                        : value_not_known("nothing would be left of the step");
        return;
    }
    cells[1] = value_not_known("a trace whose replay is within 2 % of the recording");
    cells[2] = cells[1];
}

static void add_changes(struct results *results, struct section *section,
                        const struct analysis_input *input, const struct replay_study *study)
{
    const struct column columns[] = {
        {"change", "change", UNIT_TEXT, 0, false},
        {"step_time", input->ledger->source == WINDOW_WHOLE ? "window" : "step", UNIT_TIME_NS, 0,
         false},
        {"speedup", "times as fast", UNIT_NUMBER, 0, false},
        {"removal_speedup", "by removal alone", UNIT_NUMBER, 0, false},
    };
    struct table *table = section_add_table(results, section, "changes", "Replayed with a change",
                                            columns, sizeof columns / sizeof *columns);

    table->note = "\"By removal alone\": the time is only taken out of its accounts, and nothing "
                  "else moves.";
    for (size_t i = 0; i < input->options->scenario_count; i++)
        add_change(results, table, input, study, &input->options->scenarios[i]);
}

static void add_errors(struct results *results, struct section *section,
                       const struct replay_study *study)
{
    const struct number numbers[] = {
        {"recorded", "recorded", value_time_ns(study->graph.recorded_ns), NULL},
        {"replayed", "replayed without a change", value_time_ns(study->unchanged.length_ns), NULL},
        {"replay_error", "error of the replay", value_fraction(study->length_error), NULL},
        {"start_error", "mean error of the device's starts",
         value_time_ns(study->unchanged.start_error_ns),
         results_format(results, "%.2f %% of a step", 100 * study->start_error)},
    };

    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        section_add_number(results, section, numbers[i]);
}

/* A change of kernels that are not there is most often a pattern that was meant otherwise. */
static void warn_of_patterns(struct results *results, struct section *section,
                             const struct analysis_input *input)
{
    for (size_t i = 0; i < input->options->scenario_count; i++) {
        const struct scenario *scenario = &input->options->scenarios[i];

        for (size_t j = 0; j < scenario->change_count; j++)
            if (scenario->changes[j].target == TARGET_KERNEL &&
                kernel_ns(input, &scenario->changes[j]) == 0)
                section_add_finding(
                    results, section,
                    (struct finding){
                        .what = results_format(results, "'%s' finds no kernel", scenario->text),
                        .try_this = "see the section on kernels for their names; kernel:gemm|dgrad "
                                    "finds both",
                        .cost_ns = -1,
                        .is_warning = true});
    }
}

static struct section *replay_changes(struct results *results, const struct analysis_input *input)
{
    const struct replay_study *study = input->study;
    struct section *section;

    if (input->options->scenario_count == 0 || input->ledger->step_count == 0)
        return NULL;
    section = section_new(results, "what_if", "What if",
                          "The steps replayed: each thread, call and kernel starts when what it "
                          "waits for has ended.");
    if (!study) {
        section_add_finding(
            results, section,
            (struct finding){.what = "no change can be replayed: nothing ran on a device",
                             .try_this = "record with ProfilerActivity.CUDA",
                             .cost_ns = -1,
                             .is_warning = true});
        return section;
    }
    add_errors(results, section, study);
    if (study->is_refused)
        warn_of_refused_replay(results, section, study, "no estimate");
    warn_of_patterns(results, section, input);
    add_changes(results, section, input, study);
    return section;
}

const struct analysis what_if_analysis = {
    .name = "what_if",
    .summary = "How long would a step take with a change?",
    .run = replay_changes,
};
