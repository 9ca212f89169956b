/* Why was the device idle, and where were the worst gaps? */
#include "analyses/analysis.h"
#include "analyses/chosen_events.h"
#include "analyses/tally.h"
#include "base/apportion.h"

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

static void add_causes(struct results *results, struct section *section,
                       const struct ledger *ledger, const enum account *causes, size_t count)
{
    bool is_single = ledger->step_count == 1;
    const struct column columns[] = {
        {"cause", "cause", UNIT_TEXT, 0, false},
        {"mean", is_single ? "time" : "mean per step", UNIT_TIME_NS, 0, false},
        {"share", ledger->source == WINDOW_WHOLE ? "of the window" : "of the step", UNIT_FRACTION,
         0, true},
        {"share_of_idle", "of idle time", UNIT_FRACTION, 1, false},
        {"total", "in all steps", UNIT_TIME_NS, is_single ? PRIORITY_FOR_PROGRAMS : 2, false},
        {"meaning", "meaning", UNIT_TEXT, PRIORITY_FOR_PROGRAMS, false},
        {"key", "key", UNIT_TEXT, PRIORITY_FOR_PROGRAMS, false},
        {"advice", "what to try", UNIT_TEXT, PRIORITY_FOR_PROGRAMS, false},
    };
    struct table *table = section_add_table(results, section, "causes", "Idle by cause", columns,
                                            sizeof columns / sizeof *columns);
    int64_t parts[ACCOUNT_COUNT], means[ACCOUNT_COUNT];
    int64_t whole_ns = ledger_total_ns(ledger), idle_ns = 0;

    for (size_t i = 0; i < count; i++) {
        parts[i] = ledger_account_ns(ledger, causes[i]);
        idle_ns += parts[i];
    }
    apportion(means, parts, count, ledger->step_count, rounded_mean(idle_ns, ledger->step_count));
    for (size_t i = 0; i < count; i++) {
        const struct account_description *account = &account_descriptions[causes[i]];
        struct value *cells = table_add_row(results, table, 0);

        cells[0] = value_text(account->title);
        cells[1] = value_time_ns(means[i]);
        cells[2] = value_fraction(fraction_of(parts[i], whole_ns));
        cells[3] = value_fraction(fraction_of(parts[i], idle_ns));
        cells[4] = value_time_ns(parts[i]);
        cells[5] = value_text(account->definition);
        cells[6] = value_text(account->key);
        cells[7] = value_text(account->advice);
    }
}

static const char *name_or(struct results *results, const struct trace *trace,
                           const struct event *events, uint32_t index, const char *otherwise)
{
    return index == NO_EVENT ? otherwise
                             : results_text(results, trace_text(trace, events[index].name));
}

static void add_worst_gaps(struct results *results, struct section *section,
                           const struct analysis_input *input)
{
    bool is_whole = input->ledger->source == WINDOW_WHOLE;
    const struct column columns[] = {
        {"step", "step", UNIT_COUNT, is_whole ? PRIORITY_FOR_PROGRAMS : 0, false},
        {"at", "at", UNIT_TIME_NS, 1, false},
        {"length", "length", UNIT_TIME_NS, 0, false},
        {"cause", "main cause", UNIT_TEXT, 0, false},
        {"host_event", "the host was in", UNIT_TEXT, 1, false},
        {"ended_by", "ended by", UNIT_TEXT, input->ledger->is_cpu_only ? PRIORITY_FOR_PROGRAMS : 2,
         false},
        {"cause_key", "cause", UNIT_TEXT, PRIORITY_FOR_PROGRAMS, false},
    };
    const struct ledger *ledger = input->ledger;
    const struct trace *trace = input->trace;
    size_t shown = rows_to_show(input->options, ledger->worst_gap_count);
    struct table *table;

    if (shown == 0)
        return;
    table = section_add_table(results, section, "worst_gaps", "Longest gaps", columns,
                              sizeof columns / sizeof *columns);
    table->note = is_whole ? "\"at\" counts from the start of the window."
                           : "\"at\" counts from the start of the step.";
    table->rows_in_all = (size_t)ledger->gap_count;
    for (size_t i = 0; i < shown; i++) {
        const struct idle_gap *gap = &ledger->worst_gaps[i];
        const struct step_window *window = &ledger->steps[gap->step].window;
        struct value *cells = table_add_row(results, table, 0);

        cells[0] = value_count(window->number);
        cells[1] = value_time_ns(gap->start_ns - window->start_ns);
        cells[2] = value_time_ns(gap->end_ns - gap->start_ns);
        cells[3] = value_text(account_descriptions[gap->main_account].title);
        cells[4] = value_text(name_or(results, trace, trace->host, gap->host_event, ""));
        cells[5] = value_text(
            ledger->is_cpu_only
                ? name_or(results, trace, trace->host, gap->next_event, "")
                : name_or(results, trace, trace->device, gap->next_event, "end of the recording"));
        cells[6] = value_text(account_descriptions[gap->main_account].key);
    }
}

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
    add_causes(results, section, ledger, causes, count);
    add_worst_gaps(results, section, input);
    return section;
}

const struct analysis gpu_idle_analysis = {
    .name = "gpu_idle",
    .summary = "Why is the device idle, and where are the longest gaps?",
    .run = explain_idle,
};
