/* How long would a step take if ...? */
#include "base/core/apportion.h"
#include "replay/loader_cost.h"
#include "replay/replay_model.h"
#include "sections/analysis.h"
#include "sections/chosen_events.h"
#include "sections/step/steps_replay.h"
#include "trace/recorder_words.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>

#define BIT(account) ((uint32_t)1 << ACCOUNT_##account)

/* The accounts that a change takes time out of. */
static const uint32_t accounts_of_target[SCENARIO_TARGET_COUNT] = {
    [TARGET_DATA] = BIT(IDLE_DATA),
    [TARGET_HOST] = BIT(IDLE_RUNTIME) | BIT(IDLE_OPERATOR) | BIT(IDLE_LAUNCH) |
                    BIT(IDLE_COMPILATION) | BIT(IDLE_ALLOCATOR) | BIT(IDLE_GARBAGE) |
                    BIT(IDLE_SYSTEM) | BIT(IDLE_ANNOTATION) | BIT(IDLE_PYTHON) | BIT(IDLE_NOTHING),
    [TARGET_LAUNCH] = BIT(IDLE_RUNTIME) | BIT(IDLE_LAUNCH),
    [TARGET_SYNC] = BIT(IDLE_SYNC),
    [TARGET_DEVICE] =
        BIT(MATRIX) | BIT(OTHER_COMPUTE) | BIT(COMMUNICATION) | BIT(COPY) | BIT(DATA_COPY),
    [TARGET_COMMUNICATION] = BIT(COMMUNICATION),
    [TARGET_COPIES] = BIT(COPY) | BIT(DATA_COPY),
    [TARGET_MATRIX] = BIT(MATRIX),
};

/* Duration of the kernels of the steps that the pattern finds. A pattern is matched against each
 * event of the steps, not against each name once: patterns come from the command line and are
 * few. */
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

/* Duration of the computing kernels of the steps that repeat a forward. Recomputing is a phase
 * of the operator that launched the kernel: the kernel itself is the same as in the forward. */
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

/* What a change can save at most without a replay: the time that its accounts hold. */
static int64_t what_if_held_ns(const struct analysis_input *input,
                               const struct scenario_change *change)
{
    int64_t sum_ns = 0;

    if (change->target == TARGET_KERNEL)
        return kernel_ns(input, change);
    if (change->target == TARGET_RECOMPUTE)
        return recompute_ns(input);
    for (unsigned account = 0; account < ACCOUNT_COUNT; account++)
        if (accounts_of_target[change->target] >> account & 1)
            sum_ns += ledger_account_ns(input->ledger, (enum account)account);
    return sum_ns;
}

/* What is left of all steps where the time is only taken out of its accounts. What anyone would
 * reckon by hand: the time of the accounts less what is taken away. It stands beside the replay
 * on purpose. Where the replay gains less, the time hides behind other work; where it gains
 * more, the time delayed what came after it. Changes that name another rank take nothing. A sum
 * beyond the whole (two changes that take the same time twice) leaves 0. */
static int64_t after_removal_ns(const struct analysis_input *input, const struct scenario *scenario)
{
    int64_t whole_ns = ledger_total_ns(input->ledger);
    double removed_ns = 0;

    for (size_t i = 0; i < scenario->change_count; i++) {
        const struct scenario_change *change = &scenario->changes[i];

        if (change->rank < 0 || change->rank == input->trace->facts.rank)
            removed_ns += (double)what_if_held_ns(input, change) *
                          (change->word == NO_SCENARIO_WORD ? 1 - change->factor : 1);
    }
    return removed_ns >= (double)whole_ns ? 0 : whole_ns - llround(removed_ns);
}

enum { CHANGE, STEP_TIME, SPEEDUP, REMOVAL_SPEEDUP, LEAST_SPEEDUP, MOST_SPEEDUP };

static struct value speedup_value(double speedup)
{
    return speedup > 0 ? value_number(speedup)
                       : value_not_known("nothing would be left of the step");
}

/* Two more columns only where a replay has a range: where the trace does not tell what other
 * processes do. */
static void fill_estimate(struct value *cells, const struct replay_estimate *estimate,
                          bool has_ranges)
{
    cells[STEP_TIME] = value_time_ns(estimate->step_ns);
    cells[SPEEDUP] = speedup_value(estimate->speedup);
    if (!has_ranges)
        return;
    cells[LEAST_SPEEDUP] = speedup_value(estimate->least_speedup);
    cells[MOST_SPEEDUP] = speedup_value(estimate->most_speedup);
}

/* All cells of the estimate say what would tell them; the removal alone is known without any
 * replay. */
static void fill_unknown(struct value *cells, const char *what_would_tell, bool has_ranges)
{
    cells[STEP_TIME] = cells[SPEEDUP] = value_not_known(what_would_tell);
    if (has_ranges)
        cells[LEAST_SPEEDUP] = cells[MOST_SPEEDUP] = cells[SPEEDUP];
}

/* Removal is always told, the replay only where it is exact enough: the first is arithmetic,
 * the second a claim. */
static void what_if_add_change(struct results *results, struct table *table,
                               const struct analysis_input *input,
                               const struct replay_model *simulation,
                               const struct scenario *scenario)
{
    struct value *cells = table_add_row(results, table, 0);
    int64_t whole_ns = ledger_total_ns(input->ledger), left_ns = after_removal_ns(input, scenario);
    bool has_ranges = table->column_count > LEAST_SPEEDUP;
    struct replay_estimate estimate;

    cells[CHANGE] = value_text(results_text(results, scenario->text));
    cells[REMOVAL_SPEEDUP] = speedup_value(left_ns > 0 ? (double)whole_ns / (double)left_ns : 0);
    if (replay_model_try(simulation, scenario, &estimate))
        fill_estimate(cells, &estimate, has_ranges);
    else
        fill_unknown(cells, "a trace whose replay is within 2 % of the recording", has_ranges);
}

/* Columns of least and most are for changes of data loading only, where the answer depends on
 * which cores the loaders run on, which no trace tells. */
static bool has_ranges(const struct analysis_input *input, const struct replay_model *simulation)
{
    for (size_t i = 0; i < input->options->scenario_count; i++)
        if (loader_moves(&simulation->graph, &input->options->scenarios[i]))
            return true;
    return false;
}

/* Changes of waiting are about other ranks, of which one trace knows nothing: they are
 * answered on the page of all. */
static void what_if_add_changes(struct results *results, struct section *section,
                                const struct analysis_input *input,
                                const struct replay_model *simulation)
{
    const struct column columns[] = {
        [CHANGE] = {"change", "change", UNIT_TEXT, 0, BAR_NONE},
        [STEP_TIME] = {"step_time", input->ledger->source == WINDOW_WHOLE ? "window" : "step",
                       UNIT_TIME_NS, 0, BAR_NONE},
        [SPEEDUP] = {"speedup", "times as fast", UNIT_NUMBER, 0, BAR_NONE},
        [REMOVAL_SPEEDUP] = {"removal_speedup", "by removal alone", UNIT_NUMBER, 0, BAR_NONE},
        [LEAST_SPEEDUP] = {"least_speedup", "at least", UNIT_NUMBER, 0, BAR_NONE},
        [MOST_SPEEDUP] = {"most_speedup", "at most", UNIT_NUMBER, 0, BAR_NONE},
    };
    bool with_ranges = has_ranges(input, simulation);
    struct table *table =
        section_add_table(results, section, "changes", "Replayed with a change", columns,
                          with_ranges ? sizeof columns / sizeof *columns : (size_t)LEAST_SPEEDUP);

    table->note = with_ranges
                      ? "\"By removal alone\": the time is only taken out of its accounts, and "
                        "nothing else moves. Where other processes load the data: at least, if "
                        "they share the core of the thread that launches; at most, if they have "
                        "cores of their own; the trace does not tell, and the step is what is had "
                        "at least."
                      : "\"By removal alone\": the time is only taken out of its accounts, and "
                        "nothing else moves.";
    for (size_t i = 0; i < input->options->scenario_count; i++)
        if (!scenario_has_target(&input->options->scenarios[i], TARGET_WAITING))
            what_if_add_change(results, table, input, simulation, &input->options->scenarios[i]);
}

/* The replay without a change stands beside the recording: whoever believes a change should
 * see first how well the model explains the run as it was. It is scaled to the window, as the
 * graph spans a little more or less than the steps. */
static void what_if_add_errors(struct results *results, struct section *section,
                               const struct replay_model *simulation)
{
    int64_t window_ns = ledger_total_ns(&simulation->part.ledger);
    double recorded_ns = (double)simulation->graph.recorded_ns;
    int64_t replayed_ns =
        recorded_ns > 0
            ? llround((double)window_ns * (double)simulation->unchanged.length_ns / recorded_ns)
            : 0;
    const struct number numbers[] = {
        {"replayed_steps", "steps replayed", value_count(simulation->part.ledger.step_count),
         replayed_steps_text(results, simulation)},
        {"recorded", "recorded", value_time_ns(window_ns), NULL},
        {"replayed", "replayed without a change", value_time_ns(replayed_ns), NULL},
        {"replay_error", "error of the replay", value_fraction(simulation->length_error), NULL},
        {"start_error", "mean error of the device's starts",
         value_time_ns(simulation->unchanged.start_error_ns),
         results_format(results, "%.2f %% of a step", 100 * simulation->start_error)},
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
                section_add_warning(results, section,
                                    results_format(results, "'%s' finds no kernel", scenario->text),
                                    NULL,
                                    "see the section on kernels for their names; kernel:gemm|dgrad "
                                    "finds both");
    }
}

/* NULL, or what this rank alone does not tell of the change. A rank alone cannot tell what
 * waiting or another rank's change brings: pointing to the section on all ranks is better than a
 * row of "not known". */
static const char *what_is_elsewhere(struct results *results, const struct analysis_input *input,
                                     const struct scenario *scenario)
{
    int64_t rank = input->trace->facts.rank;

    if (scenario_has_target(scenario, TARGET_WAITING))
        return results_format(results, "'%s' is replayed for all ranks together only",
                              scenario->text);
    for (size_t i = 0; i < scenario->change_count; i++)
        if (scenario->changes[i].rank >= 0 && scenario->changes[i].rank != rank)
            return rank < 0
                       ? results_format(results,
                                        "'%s' names a rank, and the trace does not say "
                                        "which rank it is",
                                        scenario->text)
                       : results_format(results, "'%s' changes another rank: this is rank %" PRId64,
                                        scenario->text, rank);
    return NULL;
}

static void note_other_ranks(struct results *results, struct section *section,
                             const struct analysis_input *input)
{
    for (size_t i = 0; i < input->options->scenario_count; i++) {
        const char *what = what_is_elsewhere(results, input, &input->options->scenarios[i]);

        if (what)
            section_add_note(results, section, what, NULL,
                             "see \"All ranks\", from the traces of all ranks or "
                             "the folder they are in");
    }
}

/* The table comes even where the replay was refused: removal alone is still known. */
static struct section *replay_changes(struct results *results, const struct analysis_input *input)
{
    const struct replay_model *simulation;
    struct section *section;

    if (input->options->scenario_count == 0 || input->ledger->step_count == 0)
        return NULL;
    simulation = replay_of(input);
    section = section_new(results, "what_if", "What if",
                          "The steps replayed: each thread, call and kernel starts when what it "
                          "waits for has ended; communication is as long as recorded.");
    if (!simulation) {
        section_add_warning(results, section, "no change can be replayed: nothing ran on a device",
                            NULL, recorder_words_for(input->trace)->device);
        return section;
    }
    if (!simulation->part.is_too_large)
        what_if_add_errors(results, section, simulation);
    if (simulation->is_refused)
        tell_of_refused_replay(results, section, simulation,
                               &(struct refused_words){"no estimate", true});
    warn_of_patterns(results, section, input);
    note_other_ranks(results, section, input);
    what_if_add_changes(results, section, input, simulation);
    return section;
}

const struct analysis what_if_analysis = {
    .name = "what_if",
    .summary = "How long would a step take with a change?",
    .run = replay_changes,
};
