/* Why was the device idle, and where were the worst gaps? */
#include "base/core/apportion.h"
#include "sections/analysis.h"
#include "sections/chosen_events.h"
#include "sections/tally.h"

#include <inttypes.h>
#include <stddef.h>

/* Idle accounts, largest first, of equal ones in their own order. Returns how many have any time.
 */
static size_t rank_causes(const struct ledger *ledger, enum account causes[ACCOUNT_COUNT])
{
    int64_t totals[ACCOUNT_COUNT];
    size_t count = 0;

    for (int a = 0; a < ACCOUNT_COUNT; a++) {
        size_t place = count;

        totals[a] = ledger_account_ns(ledger, (enum account)a);
        if (account_descriptions[a].group != ACCOUNT_GROUP_IDLE || totals[a] == 0)
            continue;
        for (; place > 0 && totals[causes[place - 1]] < totals[a]; place--)
            causes[place] = causes[place - 1];
        causes[place] = (enum account)a;
        count++;
    }
    return count;
}

#define CAUSES_COLUMNS(COLUMN)                                                                  \
    COLUMN("cause", "cause", UNIT_TEXT, 0, BAR_NONE, value_text(account->title))                \
    COLUMN("mean", is_single ? "time" : "mean per step", UNIT_TIME_NS, 0, BAR_NONE,             \
           value_time_ns(means[i]))                                                             \
    COLUMN("share", ledger->source == WINDOW_WHOLE ? "of the window" : "of the step",           \
           UNIT_FRACTION, 0, BAR, value_fraction(fraction_of(parts[i], whole_ns)))              \
    COLUMN("share_of_idle", "of idle time", UNIT_FRACTION, 1, BAR_NONE,                         \
           value_fraction(fraction_of(parts[i], idle_ns)))                                      \
    COLUMN("total", "all steps", UNIT_TIME_NS, is_single ? PRIORITY_FOR_PROGRAMS : 2, BAR_NONE, \
           value_time_ns(parts[i]))                                                             \
    COLUMN("meaning", "meaning", UNIT_TEXT, PRIORITY_FOR_PROGRAMS, BAR_NONE,                    \
           value_text(account->definition))                                                     \
    COLUMN("key", "key", UNIT_TEXT, PRIORITY_FOR_PROGRAMS, BAR_NONE, value_text(account->key))  \
    COLUMN("advice", "what to try", UNIT_TEXT, PRIORITY_FOR_PROGRAMS, BAR_NONE,                 \
           value_text(account->advice))

/* The mean of all idle time is split among the causes, so that they add up to the line "idle"
 * of the ledger, to the nanosecond. */
static void gpu_idle_add_causes(struct results *results, struct section *section,
                                const struct ledger *ledger, const enum account *causes,
                                size_t count)
{
    bool is_single = ledger->step_count == 1;
    struct table *table =
        section_add_table(results, section, "causes", "Idle by cause", COLUMNS_OF(CAUSES_COLUMNS));
    int64_t parts[ACCOUNT_COUNT], means[ACCOUNT_COUNT];
    int64_t whole_ns = ledger_total_ns(ledger), idle_ns = 0;

    for (size_t i = 0; i < count; i++) {
        parts[i] = ledger_account_ns(ledger, causes[i]);
        idle_ns += parts[i];
    }
    apportion(means, parts, count, ledger->step_count, rounded_mean(idle_ns, ledger->step_count));
    for (size_t i = 0; i < count; i++) {
        const struct account_description *account = &account_descriptions[causes[i]];

        FILL_ROW(table_add_row(results, table, 0), CAUSES_COLUMNS);
    }
}

static const char *name_or(struct results *results, const struct trace *trace,
                           const struct event *events, uint32_t index, const char *otherwise)
{
    return index == NO_EVENT ? otherwise
                             : results_text(results, trace_text(trace, events[index].name));
}

#define WORST_GAPS_COLUMNS(COLUMN)                                                                 \
    COLUMN("step", "step", UNIT_COUNT, is_whole ? PRIORITY_FOR_PROGRAMS : 0, BAR_NONE,             \
           value_count(window->number))                                                            \
    COLUMN("at", "at", UNIT_TIME_NS, 1, BAR_NONE, value_time_ns(gap->start_ns - window->start_ns)) \
    COLUMN("length", "length", UNIT_TIME_NS, 0, BAR_NONE,                                          \
           value_time_ns(gap->end_ns - gap->start_ns))                                             \
    COLUMN("cause", "main cause", UNIT_TEXT, 0, BAR_NONE,                                          \
           value_text(account_descriptions[gap->main_account].title))                              \
    COLUMN("host_event", "the host was in", UNIT_TEXT, 1, BAR_NONE,                                \
           value_text(name_or(results, trace, trace->host, gap->host_event, "")))                  \
    COLUMN("ended_by", "ended by", UNIT_TEXT,                                                      \
           input->ledger->is_cpu_only ? PRIORITY_FOR_PROGRAMS : 2, BAR_NONE,                       \
           value_text(ledger->is_cpu_only                                                          \
                          ? name_or(results, trace, trace->host, gap->next_event, "")              \
                          : name_or(results, trace, trace->device, gap->next_event,                \
                                    "end of the recording")))                                      \
    COLUMN("cause_key", "cause", UNIT_TEXT, PRIORITY_FOR_PROGRAMS, BAR_NONE,                       \
           value_text(account_descriptions[gap->main_account].key))

/* A gap may have several causes, one after the other; the table names the one with most of it.
 * The ledger keeps only the longest gaps while it goes through the trace, which is why there
 * are never more rows than it kept. */
static void add_worst_gaps(struct results *results, struct section *section,
                           const struct analysis_input *input)
{
    bool is_whole = input->ledger->source == WINDOW_WHOLE;
    const struct ledger *ledger = input->ledger;
    const struct trace *trace = input->trace;
    size_t shown = rows_to_show(input->options, ledger->worst_gap_count);
    struct table *table;

    if (shown == 0)
        return;
    table = section_add_table(results, section, "worst_gaps", "Longest gaps",
                              COLUMNS_OF(WORST_GAPS_COLUMNS));
    table->note = is_whole ? "\"at\" counts from the start of the window."
                           : "\"at\" counts from the start of the step.";
    table->rows_in_all = (size_t)ledger->gap_count;
    for (size_t i = 0; i < shown; i++) {
        const struct idle_gap *gap = &ledger->worst_gaps[i];
        const struct step_window *window = &ledger->steps[gap->step].window;

        FILL_ROW(table_add_row(results, table, 0), WORST_GAPS_COLUMNS);
    }
}

/* Without idle time there is no section: a device that never waits is the good case, and the
 * ledger says so. */
static struct section *explain_idle(struct results *results, const struct analysis_input *input)
{
    const struct ledger *ledger = input->ledger;
    enum account causes[ACCOUNT_COUNT];
    size_t count = rank_causes(ledger, causes);
    struct section *section;

    if (count == 0)
        return NULL;
    section = section_new(
        results, "gpu_idle",
        ledger->is_cpu_only ? "Time without operators" : "Idle time of the device",
        ledger->is_cpu_only
            ? "No thread executes an operator. Each moment is explained by what the step's "
              "thread is doing."
            : "No kernel, copy or memset runs. A gap is explained by what the host thread that "
              "launches "
              "the next kernel was doing until it launched it.");
    gpu_idle_add_causes(results, section, ledger, causes, count);
    add_worst_gaps(results, section, input);
    return section;
}

const struct analysis gpu_idle_analysis = {
    .name = "gpu_idle",
    .summary = "Why is the device idle, and where are the longest gaps?",
    .run = explain_idle,
};
