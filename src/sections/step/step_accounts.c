/* Where did the steps go? The accounts of Level B, per step and on average; they add up exactly. */
#include "base/core/apportion.h"
#include "base/text/format.h"
#include "ledger/step_outliers.h"
#include "output/results/metrics.h"
#include "sections/analysis.h"
#include "sections/chosen_events.h"
#include "sections/model/trained_batch.h"
#include "sections/step/clock_numbers.h"
#include "sections/step/ledger_table.h"
#include "sections/tally.h"

#include <inttypes.h>
#include <stdlib.h>

static struct value batch_cell(int64_t count, const char *needs)
{
    return count < 0 ? value_not_known(needs) : value_count(count);
}

#define STEPS_COLUMNS(COLUMN)                                                                   \
    COLUMN(METRIC_KEY(STEP), METRIC_TITLE(STEP), METRIC_UNIT(STEP), PRIORITY_FOR_PROGRAMS,      \
           BAR_NONE, value_count(step->window.number))                                          \
    COLUMN(METRIC_KEY(STEP_START), METRIC_TITLE(STEP_START), METRIC_UNIT(STEP_START),           \
           PRIORITY_FOR_PROGRAMS, BAR_NONE, value_time_ns(step->window.start_ns))               \
    COLUMN(METRIC_KEY(STEP_DURATION), METRIC_TITLE(STEP_DURATION), METRIC_UNIT(STEP_DURATION),  \
           PRIORITY_FOR_PROGRAMS, BAR_NONE,                                                     \
           value_time_ns(step->window.end_ns - step->window.start_ns))                          \
    COLUMN(METRIC_KEY(STEP_BUSY), METRIC_TITLE(STEP_BUSY), METRIC_UNIT(STEP_BUSY),              \
           PRIORITY_FOR_PROGRAMS, BAR_NONE, value_time_ns(step->busy_ns))                       \
    COLUMN(METRIC_KEY(STEP_TAIL), METRIC_TITLE(STEP_TAIL), METRIC_UNIT(STEP_TAIL),              \
           PRIORITY_FOR_PROGRAMS, BAR_NONE, value_time_ns(step->tail_ns))                       \
    COLUMN("opened_by_sync", "idle opened by a synchronization", UNIT_TIME_NS,                  \
           PRIORITY_FOR_PROGRAMS, BAR_NONE, value_time_ns(step->sync_opened_ns))                \
    COLUMN("is_cut", "cut by the end of the file", UNIT_COUNT, PRIORITY_FOR_PROGRAMS, BAR_NONE, \
           value_count(step->window.is_cut))                                                    \
    COLUMN(METRIC_KEY(STEP_START_UNIX), METRIC_TITLE(STEP_START_UNIX),                          \
           METRIC_UNIT(STEP_START_UNIX), PRIORITY_FOR_PROGRAMS, BAR_NONE,                       \
           unix_ns < 0 ? value_not_known("needs a trace that tells when it was recorded")       \
                       : value_time_ns(unix_ns))                                                \
    COLUMN(METRIC_KEY(STEP_SAMPLES), METRIC_TITLE(STEP_SAMPLES), METRIC_UNIT(STEP_SAMPLES),     \
           PRIORITY_FOR_PROGRAMS, BAR_NONE, batch_cell(batch.samples, samples_need(input)))     \
    COLUMN(METRIC_KEY(STEP_TOKENS), METRIC_TITLE(STEP_TOKENS), METRIC_UNIT(STEP_TOKENS),        \
           PRIORITY_FOR_PROGRAMS, BAR_NONE, batch_cell(batch.tokens, tokens_need(input)))

/* Every step with every account in exact nanoseconds: for programs, no screen shows it. In
 * nanoseconds and without rounding: from this table a program can check that the accounts of
 * each step add up to its duration. */
static void step_accounts_add_exact_steps(struct results *results, struct section *section,
                                          const struct analysis_input *input)
{
    const struct ledger *ledger = input->ledger;
    enum { FIXED = COLUMN_COUNT_OF(STEPS_COLUMNS) };
    struct column columns[FIXED + (int)ACCOUNT_COUNT] = {STEPS_COLUMNS(COLUMN_DECLARED)};
    struct table *table;

    for (int a = 0; a < ACCOUNT_COUNT; a++)
        columns[FIXED + a] =
            (struct column){account_descriptions[a].key, account_descriptions[a].title,
                            UNIT_TIME_NS, PRIORITY_FOR_PROGRAMS, BAR_NONE};
    table = section_add_table(results, section, "steps", "Every step, exactly", columns,
                              sizeof columns / sizeof *columns);
    for (uint32_t i = 0; i < ledger->step_count; i++) {
        const struct step_ledger *step = &ledger->steps[i];
        struct trained_batch batch = trained_batch_of_step(input, i);
        int64_t unix_ns = trace_unix_ns(input->trace, step->window.start_ns);
        struct value *cells = table_add_row(results, table, 0);

        FILL_ROW(cells, STEPS_COLUMNS);
        for (int a = 0; a < ACCOUNT_COUNT; a++)
            cells[FIXED + a] = value_time_ns(step->account_ns[a]);
    }
}

static double group_share(const struct step_ledger *step, uint32_t accounts)
{
    return fraction_of(accounts_ns(step, accounts), step->window.end_ns - step->window.start_ns);
}

/* Of equal causes the first of the accounts, so that the text does not depend on anything but
 * the step. */
static const char *largest_idle_cause(const struct step_ledger *step)
{
    int best = -1;

    for (int a = 0; a < ACCOUNT_COUNT; a++)
        if (account_descriptions[a].group == ACCOUNT_GROUP_IDLE && step->account_ns[a] > 0 &&
            (best < 0 || step->account_ns[a] > step->account_ns[best]))
            best = a;
    return best < 0 ? "" : account_descriptions[best].title;
}

/* Of a cut step nothing else is said: that it is short explains itself. Of an outlier, the
 * account that deviates most names the reason. */
static const char *step_accounts_remark_on(struct results *results,
                                           const struct step_spread *spread, uint32_t index,
                                           const struct step_ledger *step)
{
    const struct step_deviation *deviation = &spread->steps[index];

    if (step->window.is_cut)
        return "cut: the file ends in this step";
    if (!deviation->is_outlier)
        return "";
    return results_format(results, "%+.1f %%: %s %+.3f ms",
                          100.0 * fraction_of(deviation->deviation_ns, spread->median_ns),
                          account_descriptions[deviation->account].title,
                          (double)deviation->account_deviation_ns / 1e6);
}

/* Marks the steps to list: all, or where there are more than --top, those furthest from the
 * median. Marked and not moved: the list stays in the order of time, in which warm-up and drift
 * show. */
static bool *step_accounts_choose_steps(const struct step_spread *spread, uint32_t step_count,
                                        size_t shown)
{
    bool *is_listed = zeroed_array(step_count, sizeof *is_listed);
    struct sorted_row *rows = zeroed_array(step_count, sizeof *rows);

    for (uint32_t i = 0; i < step_count; i++)
        rows[i] = (struct sorted_row){
            .tally = {.total_ns = llabs(spread->steps[i].deviation_ns)}, .name = "", .group = i};
    sort_rows(rows, step_count, SORT_TIME);
    for (size_t i = 0; i < shown; i++)
        is_listed[rows[i].group] = true;
    free(rows);
    return is_listed;
}

#define STEP_LIST_COLUMNS(COLUMN)                                                             \
    COLUMN("step", "step", UNIT_COUNT, 0, BAR_NONE, value_count(step->window.number))         \
    COLUMN("duration", "duration", UNIT_TIME_NS, 0, BAR_NONE,                                 \
           value_time_ns(step->window.end_ns - step->window.start_ns))                        \
    COLUMN("matrix_share", "matrix", UNIT_FRACTION, 1, BAR_NONE,                              \
           value_fraction(group_share(step, 1u << ACCOUNT_MATRIX)))                           \
    COLUMN("other_compute_share", "other compute", UNIT_FRACTION, 2, BAR_NONE,                \
           value_fraction(group_share(step, 1u << ACCOUNT_OTHER_COMPUTE)))                    \
    COLUMN("communication_share", "exposed comm", UNIT_FRACTION, 1, BAR_NONE,                 \
           value_fraction(group_share(step, accounts_of_group(ACCOUNT_GROUP_COMMUNICATION)))) \
    COLUMN("copy_share", "copies", UNIT_FRACTION, 3, BAR_NONE,                                \
           value_fraction(group_share(step, accounts_of_group(ACCOUNT_GROUP_COPY))))          \
    COLUMN("idle_share", "idle", UNIT_FRACTION, 1, BAR_NONE,                                  \
           value_fraction(group_share(step, accounts_of_group(ACCOUNT_GROUP_IDLE))))          \
    COLUMN("largest_idle_cause", "largest idle cause", UNIT_TEXT, 4, BAR_NONE,                \
           value_text(largest_idle_cause(step)))                                              \
    COLUMN("remark", "outlier", UNIT_TEXT, 0, BAR_NONE,                                       \
           value_text(step_accounts_remark_on(results, spread, i, step)))

/* Of many steps those furthest from the median are shown, in their order in time: what is
 * usual needs no list. */
static void add_step_list(struct results *results, struct section *section,
                          const struct analysis_input *input, const struct step_spread *spread)
{
    const struct ledger *ledger = input->ledger;
    size_t shown = rows_to_show(input->options, ledger->step_count);
    bool *is_listed = step_accounts_choose_steps(spread, ledger->step_count, shown);
    struct table *table =
        section_add_table(results, section, "step_list", "Steps", COLUMNS_OF(STEP_LIST_COLUMNS));

    table->rows_in_all = ledger->step_count;
    if (shown < ledger->step_count)
        table->note = "Of many steps, those furthest from the median.";
    for (uint32_t i = 0; i < ledger->step_count; i++) {
        const struct step_ledger *step = &ledger->steps[i];
        struct value *cells;

        if (!is_listed[i])
            continue;
        cells = table_add_row(results, table, 0);
        FILL_ROW(cells, STEP_LIST_COLUMNS);
    }
    free(is_listed);
}

/* With one step, mean, median, least and most are one number: it is printed once. */
static void step_accounts_add_numbers(struct results *results, struct section *section,
                                      const struct ledger *ledger, const struct step_spread *spread)
{
    int64_t total_ns = ledger_total_ns(ledger), busy_ns = 0;
    bool is_whole = ledger->source == WINDOW_WHOLE;
    struct number numbers[] = {
        {"steps", is_whole ? "windows" : "steps", value_count(ledger->step_count), NULL},
        {"step_time_mean", is_whole ? "whole window" : "step time, mean",
         value_time_ns(rounded_mean(total_ns, ledger->step_count)), NULL},
        {METRIC_NAMES(STEP_TIME_MEDIAN), value_time_ns(spread->median_ns), NULL},
        {METRIC_NAMES(STEP_TIME_MIN), value_time_ns(spread->min_ns), NULL},
        {METRIC_NAMES(STEP_TIME_MAX), value_time_ns(spread->max_ns), NULL},
    };

    for (size_t i = 0; i < (ledger->step_count > 1 ? sizeof numbers / sizeof *numbers : 2); i++)
        section_add_number(results, section, numbers[i]);
    for (uint32_t i = 0; i < ledger->step_count; i++)
        busy_ns += ledger->steps[i].busy_ns;
    section_add_number(
        results, section,
        (struct number){METRIC_KEY(DEVICE_BUSY),
                        ledger->is_cpu_only ? "threads in operators" : "device busy",
                        value_fraction(fraction_of(busy_ns, total_ns)),
                        ledger->source == WINDOW_WHOLE ? "of the window" : "of the steps' time"});
    add_clock_numbers(results, section, ledger);
    if (ledger->step_count > 1)
        section_add_number(
            results, section,
            (struct number){
                "between_steps", "between the steps", value_time_ns(ledger->between_steps_ns),
                results_format(results, "total; %s in %s of it",
                               ledger->is_cpu_only ? "operators ran" : "the device worked",
                               format_time(ledger->between_steps_busy_ns).text)});
}

/* What the run's own clock says of steps that no window holds: recording makes a step longer. By a
 * host that runs ahead a step may be shorter than the device's work for it, which tells nothing. */
static void add_plain_steps(struct results *results, struct section *section,
                            const struct analysis_input *input)
{
    const struct ledger *ledger = input->ledger;
    struct plain_steps plain =
        input->description ? input->description->plain : (struct plain_steps){0};
    int64_t busy_ns = 0;

    for (uint32_t i = 0; i < ledger->step_count && !ledger->is_cpu_only; i++)
        busy_ns += ledger->steps[i].busy_ns;
    if (plain.count > 0 && ledger->source == WINDOW_PROFILER_STEP &&
        busy_ns <= plain.median_ns * ledger->step_count)
        section_add_number(
            results, section,
            (struct number){"plain_step_time", "steps not recorded, median",
                            value_time_ns(plain.median_ns),
                            results_format(results, "of %s that are not beside recorded ones",
                                           format_count(plain.count).text)});
}

/* On a CPU alone the threads in operators stand for the device, so that the same accounts have
 * a meaning. */
static struct section *step_accounts_attribute_steps(struct results *results,
                                                     const struct analysis_input *input)
{
    const struct ledger *ledger = input->ledger;
    struct step_spread spread;
    struct section *section;

    if (ledger->step_count == 0)
        return NULL;
    section = section_new(
        results, "step_ledger", "Step ledger",
        ledger->is_cpu_only
            ? "Where the time of a step goes. There is no device work in this trace: the "
              "\"device\" here "
              "is the threads that execute operators."
            : "Where the time of a step goes, as seen by the device: it computes, or only "
              "communicates, or "
              "only copies, or is idle.");
    spread = measure_step_spread(ledger);
    step_accounts_add_numbers(results, section, ledger, &spread);
    add_plain_steps(results, section, input);
    add_ledger_table(results, section, input);
    if (ledger->source != WINDOW_WHOLE)
        add_step_list(results, section, input, &spread);
    step_accounts_add_exact_steps(results, section, input);
    free(spread.steps);
    return section;
}

const struct analysis step_accounts_analysis = {
    .name = "step_ledger",
    .summary = "Where does the time of a step go?",
    .run = step_accounts_attribute_steps,
};
