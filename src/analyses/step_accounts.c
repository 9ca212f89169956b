/* Where did the steps go? The accounts of Level B, per step and on average; they add up exactly. */
#include "analyses/analysis.h"
#include "analyses/chosen_events.h"
#include "analyses/tally.h"
#include "base/apportion.h"
#include "base/format.h"
#include "ledger/step_outliers.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

/* One line of the ledger: some accounts together, or one kernel class. */
struct ledger_line {
    const char *key;
    const char *title;
    int depth;
    uint32_t accounts;  /* bit a: account a belongs to it; 0 for a kernel class */
    int class;          /* enum kernel_class, or -1 */
    struct tally tally; /* over the steps */
    int64_t mean_ns;
};

enum { LINES_MAX = 1 + (int)ACCOUNT_GROUP_COUNT + (int)ACCOUNT_COUNT + KERNEL_CLASS_COUNT };

struct ledger_lines {
    struct ledger_line lines[LINES_MAX];
    size_t count;
    const struct ledger *ledger;
};

static const struct {
    const char *key;
    const char *title;
} groups[ACCOUNT_GROUP_COUNT] = {
    [ACCOUNT_GROUP_COMPUTE] = {"compute", "compute"},
    [ACCOUNT_GROUP_COMMUNICATION] = {"communication", "exposed communication"},
    [ACCOUNT_GROUP_COPY] = {"copies", "copies"},
    [ACCOUNT_GROUP_IDLE] = {"idle", "idle"},
};

static int64_t line_ns(const struct ledger_line *line, const struct step_ledger *step)
{
    int64_t sum = 0;

    if (line->class >= 0)
        return step->class_ns[line->class];
    for (int a = 0; a < ACCOUNT_COUNT; a++)
        if (line->accounts & (1u << a))
            sum += step->account_ns[a];
    return sum;
}

static struct ledger_line *add_line(struct ledger_lines *lines, struct ledger_line line)
{
    assert(lines->count < LINES_MAX);
    for (uint32_t i = 0; i < lines->ledger->step_count; i++)
        tally_add(&line.tally, line_ns(&line, &lines->ledger->steps[i]));
    lines->lines[lines->count] = line;
    return &lines->lines[lines->count++];
}

static uint32_t accounts_of_group(enum account_group group)
{
    uint32_t accounts = 0;

    for (int a = 0; a < ACCOUNT_COUNT; a++)
        if (account_descriptions[a].group == group)
            accounts |= 1u << a;
    return accounts;
}

/* Gives the lines from `first` on, all of one depth, means that add up to `mean_ns`. */
static void set_means(struct ledger_lines *lines, size_t first, int depth, int64_t mean_ns)
{
    int64_t parts[LINES_MAX] = {0}, means[LINES_MAX];
    size_t indexes[LINES_MAX] = {0};
    size_t count = 0;

    for (size_t i = first; i < lines->count && lines->lines[i].depth >= depth; i++)
        if (lines->lines[i].depth == depth) {
            parts[count] = lines->lines[i].tally.total_ns;
            indexes[count++] = i;
        }
    apportion(means, parts, count, lines->ledger->step_count, mean_ns);
    for (size_t i = 0; i < count; i++)
        lines->lines[indexes[i]].mean_ns = means[i];
}

/* The kernel classes below an account; none where they are not the whole of it. */
static void add_classes(struct ledger_lines *lines, enum account account, bool of_matrix)
{
    size_t first = lines->count;
    int64_t total = ledger_account_ns(lines->ledger, account);

    for (int c = 0; c < KERNEL_CLASS_COUNT; c++) {
        enum kernel_class class = (enum kernel_class)c;
        struct ledger_line *line;

        if (!kernel_class_is_compute(class) || kernel_class_is_matrix(class) != of_matrix)
            continue;
        line = add_line(lines, (struct ledger_line){.key = kernel_class_key(class),
                                                    .title = kernel_class_title(class),
                                                    .depth = 2,
                                                    .class = c});
        total -= line->tally.total_ns;
        if (line->tally.total_ns == 0)
            lines->count--;
    }
    assert(total == 0);
    if (lines->count - first == 1)
        lines->count = first; /* a single class says no more than its account */
}

static void add_accounts(struct ledger_lines *lines, enum account_group group)
{
    for (int a = 0; a < ACCOUNT_COUNT; a++) {
        struct ledger_line *line;

        if (account_descriptions[a].group != group)
            continue;
        line = add_line(lines, (struct ledger_line){.key = account_descriptions[a].key,
                                                    .title = account_descriptions[a].title,
                                                    .depth = 1,
                                                    .accounts = 1u << a,
                                                    .class = -1});
        if (line->tally.total_ns == 0)
            lines->count--;
        else if (a == ACCOUNT_MATRIX || a == ACCOUNT_OTHER_COMPUTE)
            add_classes(lines, (enum account)a, a == ACCOUNT_MATRIX);
    }
}

/* An account that is alone in its group, or that has all of its time, stands for the group; -1:
 * none. */
static int sole_account(const struct ledger *ledger, enum account_group group, uint32_t accounts)
{
    if (!(accounts & (accounts - 1)))
        return __builtin_ctz(accounts);
    if (group == ACCOUNT_GROUP_COPY && ledger_account_ns(ledger, ACCOUNT_DATA_COPY) == 0)
        return ACCOUNT_COPY;
    return -1;
}

static void add_group(struct ledger_lines *lines, enum account_group group)
{
    uint32_t accounts = accounts_of_group(group);
    int sole = sole_account(lines->ledger, group, accounts);
    struct ledger_line line = {
        .key = groups[group].key, .title = groups[group].title, .accounts = accounts, .class = -1};

    if (sole >= 0) {
        line.key = account_descriptions[sole].key;
        line.title = account_descriptions[sole].title;
    }
    add_line(lines, line);
    if (sole < 0)
        add_accounts(lines, group);
}

static void set_all_means(struct ledger_lines *lines)
{
    struct ledger_line *whole = &lines->lines[lines->count - 1];

    whole->mean_ns = rounded_mean(whole->tally.total_ns, lines->ledger->step_count);
    lines->count--; /* the whole is no part of itself */
    set_means(lines, 0, 0, whole->mean_ns);
    for (size_t i = 0; i + 1 < lines->count; i++)
        if (lines->lines[i + 1].depth > lines->lines[i].depth)
            set_means(lines, i + 1, lines->lines[i].depth + 1, lines->lines[i].mean_ns);
    lines->count++;
}

static void add_ledger_table(struct results *results, struct section *section,
                             const struct ledger *ledger)
{
    bool is_single = ledger->step_count == 1; /* then all of these are the same number */
    const struct column columns[] = {
        {"account", "account", UNIT_TEXT, 0, false},
        {"mean", is_single ? "time" : "mean per step", UNIT_TIME_NS, 0, false},
        {"share", ledger->source == WINDOW_WHOLE ? "of the window" : "of the step", UNIT_FRACTION,
         0, true},
        {"min", "min", UNIT_TIME_NS, is_single ? PRIORITY_FOR_PROGRAMS : 1, false},
        {"max", "max", UNIT_TIME_NS, is_single ? PRIORITY_FOR_PROGRAMS : 1, false},
        {"total", "in all steps", UNIT_TIME_NS, is_single ? PRIORITY_FOR_PROGRAMS : 2, false},
        {"key", "key", UNIT_TEXT, PRIORITY_FOR_PROGRAMS, false},
    };
    struct ledger_lines lines = {.ledger = ledger};
    struct table *table = section_add_table(results, section, "ledger", "Step ledger", columns,
                                            sizeof columns / sizeof *columns);
    int64_t whole_ns = ledger_total_ns(ledger);

    for (int g = 0; g < (int)ACCOUNT_GROUP_COUNT; g++)
        add_group(&lines, (enum account_group)g);
    add_line(&lines, (struct ledger_line){.key = "step",
                                          .title = ledger->source == WINDOW_WHOLE ? "whole window"
                                                                                  : "whole step",
                                          .accounts = (1u << ACCOUNT_COUNT) - 1,
                                          .class = -1});
    set_all_means(&lines);
    for (size_t i = 0; i < lines.count; i++) {
        const struct ledger_line *line = &lines.lines[i];
        struct value *cells = table_add_row(results, table, line->depth);

        cells[0] = value_text(line->title);
        cells[1] = value_time_ns(line->mean_ns);
        cells[2] = value_fraction(fraction_of(line->tally.total_ns, whole_ns));
        cells[3] = value_time_ns(line->tally.min_ns);
        cells[4] = value_time_ns(line->tally.max_ns);
        cells[5] = value_time_ns(line->tally.total_ns);
        cells[6] = value_text(line->key);
    }
    table->note =
        "Every nanosecond of a step is in exactly one line; lines without any time are left out.";
}

/* Every step with every account in exact nanoseconds: for programs, no screen shows it. */
static void add_exact_steps(struct results *results, struct section *section,
                            const struct ledger *ledger)
{
    enum { FIXED = 7 };
    struct column columns[FIXED + (int)ACCOUNT_COUNT] = {
        {"step", "step", UNIT_COUNT, PRIORITY_FOR_PROGRAMS, false},
        {"start", "start", UNIT_TIME_NS, PRIORITY_FOR_PROGRAMS, false},
        {"duration", "duration", UNIT_TIME_NS, PRIORITY_FOR_PROGRAMS, false},
        {"busy", "device busy", UNIT_TIME_NS, PRIORITY_FOR_PROGRAMS, false},
        {"tail", "idle at the end", UNIT_TIME_NS, PRIORITY_FOR_PROGRAMS, false},
        {"opened_by_sync", "idle opened by a synchronisation", UNIT_TIME_NS, PRIORITY_FOR_PROGRAMS,
         false},
        {"is_cut", "cut by the end of the file", UNIT_COUNT, PRIORITY_FOR_PROGRAMS, false},
    };
    struct table *table;

    for (int a = 0; a < ACCOUNT_COUNT; a++)
        columns[FIXED + a] =
            (struct column){account_descriptions[a].key, account_descriptions[a].title,
                            UNIT_TIME_NS, PRIORITY_FOR_PROGRAMS, false};
    table = section_add_table(results, section, "steps", "Every step, exactly", columns,
                              sizeof columns / sizeof *columns);
    for (uint32_t i = 0; i < ledger->step_count; i++) {
        const struct step_ledger *step = &ledger->steps[i];
        struct value *cells = table_add_row(results, table, 0);

        cells[0] = value_count(step->window.number);
        cells[1] = value_time_ns(step->window.start_ns);
        cells[2] = value_time_ns(step->window.end_ns - step->window.start_ns);
        cells[3] = value_time_ns(step->busy_ns);
        cells[4] = value_time_ns(step->tail_ns);
        cells[5] = value_time_ns(step->sync_opened_ns);
        cells[6] = value_count(step->window.is_cut);
        for (int a = 0; a < ACCOUNT_COUNT; a++)
            cells[FIXED + a] = value_time_ns(step->account_ns[a]);
    }
}

static double group_share(const struct step_ledger *step, uint32_t accounts)
{
    struct ledger_line line = {.accounts = accounts, .class = -1};

    return fraction_of(line_ns(&line, step), step->window.end_ns - step->window.start_ns);
}

static const char *largest_idle_cause(const struct step_ledger *step)
{
    int best = -1;

    for (int a = 0; a < ACCOUNT_COUNT; a++)
        if (account_descriptions[a].group == ACCOUNT_GROUP_IDLE && step->account_ns[a] > 0 &&
            (best < 0 || step->account_ns[a] > step->account_ns[best]))
            best = a;
    return best < 0 ? "" : account_descriptions[best].title;
}

static const char *remark_on(struct results *results, const struct step_spread *spread,
                             uint32_t index, const struct step_ledger *step)
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

/* Marks the steps to list: all, or where there are more than --top, those furthest from the median.
 */
static bool *choose_steps(const struct step_spread *spread, uint32_t step_count, size_t shown)
{
    bool *is_listed = zeroed_array(step_count, sizeof *is_listed);
    struct ranked_row *rows = zeroed_array(step_count, sizeof *rows);

    for (uint32_t i = 0; i < step_count; i++)
        rows[i] = (struct ranked_row){
            .tally = {.total_ns = llabs(spread->steps[i].deviation_ns)}, .name = "", .group = i};
    rank_rows(rows, step_count, SORT_TIME);
    for (size_t i = 0; i < shown; i++)
        is_listed[rows[i].group] = true;
    free(rows);
    return is_listed;
}

static void add_step_list(struct results *results, struct section *section,
                          const struct analysis_input *input, const struct step_spread *spread)
{
    static const struct column columns[] = {
        {"step", "step", UNIT_COUNT, 0, false},
        {"duration", "duration", UNIT_TIME_NS, 0, false},
        {"matrix_share", "matrix", UNIT_FRACTION, 1, false},
        {"other_compute_share", "other compute", UNIT_FRACTION, 2, false},
        {"communication_share", "exposed comm", UNIT_FRACTION, 1, false},
        {"copy_share", "copies", UNIT_FRACTION, 3, false},
        {"idle_share", "idle", UNIT_FRACTION, 1, false},
        {"largest_idle_cause", "largest idle cause", UNIT_TEXT, 4, false},
        {"remark", "stands out", UNIT_TEXT, 0, false},
    };
    const struct ledger *ledger = input->ledger;
    size_t shown = rows_to_show(input->options, ledger->step_count);
    bool *is_listed = choose_steps(spread, ledger->step_count, shown);
    struct table *table = section_add_table(results, section, "step_list", "Steps", columns,
                                            sizeof columns / sizeof *columns);

    table->rows_in_all = ledger->step_count;
    if (shown < ledger->step_count)
        table->note = "Of many steps, those furthest from the median.";
    for (uint32_t i = 0; i < ledger->step_count; i++) {
        const struct step_ledger *step = &ledger->steps[i];
        struct value *cells;

        if (!is_listed[i])
            continue;
        cells = table_add_row(results, table, 0);
        cells[0] = value_count(step->window.number);
        cells[1] = value_time_ns(step->window.end_ns - step->window.start_ns);
        cells[2] = value_fraction(group_share(step, 1u << ACCOUNT_MATRIX));
        cells[3] = value_fraction(group_share(step, 1u << ACCOUNT_OTHER_COMPUTE));
        cells[4] =
            value_fraction(group_share(step, accounts_of_group(ACCOUNT_GROUP_COMMUNICATION)));
        cells[5] = value_fraction(group_share(step, accounts_of_group(ACCOUNT_GROUP_COPY)));
        cells[6] = value_fraction(group_share(step, accounts_of_group(ACCOUNT_GROUP_IDLE)));
        cells[7] = value_text(largest_idle_cause(step));
        cells[8] = value_text(remark_on(results, spread, i, step));
    }
    free(is_listed);
}

static void add_numbers(struct results *results, struct section *section,
                        const struct ledger *ledger, const struct step_spread *spread)
{
    int64_t total_ns = ledger_total_ns(ledger), busy_ns = 0;
    bool is_whole = ledger->source == WINDOW_WHOLE;
    struct number numbers[] = {
        {"steps", is_whole ? "windows" : "steps", value_count(ledger->step_count), NULL},
        {"step_time_mean", is_whole ? "whole window" : "step time, mean",
         value_time_ns(rounded_mean(total_ns, ledger->step_count)), NULL},
        {"step_time_median", "step time, median", value_time_ns(spread->median_ns), NULL},
        {"step_time_min", "step time, shortest", value_time_ns(spread->min_ns), NULL},
        {"step_time_max", "step time, longest", value_time_ns(spread->max_ns), NULL},
    };

    for (size_t i = 0; i < (ledger->step_count > 1 ? sizeof numbers / sizeof *numbers : 2); i++)
        section_add_number(results, section, numbers[i]);
    for (uint32_t i = 0; i < ledger->step_count; i++)
        busy_ns += ledger->steps[i].busy_ns;
    section_add_number(
        results, section,
        (struct number){"device_busy", ledger->is_cpu_only ? "threads in operators" : "device busy",
                        value_fraction(fraction_of(busy_ns, total_ns)),
                        ledger->source == WINDOW_WHOLE ? "of the window" : "of the steps' time"});
    if (ledger->step_count > 1)
        section_add_number(
            results, section,
            (struct number){
                "between_steps", "between the steps", value_time_ns(ledger->between_steps_ns),
                results_format(results, "in all; %s in %s of it",
                               ledger->is_cpu_only ? "operators ran" : "the device worked",
                               format_time(ledger->between_steps_busy_ns).text)});
}

static void add_outlier_findings(struct results *results, struct section *section,
                                 const struct ledger *ledger, const struct step_spread *spread)
{
    uint32_t told = 0;

    for (uint32_t i = 0; i < ledger->step_count && told < 3; i++) {
        const struct step_deviation *step = &spread->steps[i];

        if (!step->is_outlier || step->deviation_ns < 0)
            continue; /* a short step is marked in the table, and nothing to mend */
        section_add_finding(
            results, section,
            (struct finding){
                .what = results_format(results,
                                       "step %" PRId64 " takes %.1f %% longer than the median step",
                                       ledger->steps[i].window.number,
                                       100.0 * fraction_of(step->deviation_ns, spread->median_ns)),
                .evidence = results_format(
                    results, "most of the difference: %s %+.3f ms of %+.3f ms",
                    account_descriptions[step->account].title,
                    (double)step->account_deviation_ns / 1e6, (double)step->deviation_ns / 1e6),
                .try_this = account_descriptions[step->account].advice,
                .cost_ns = -1});
        told++;
    }
}

/* What shows that the account costs time; its definition where there is nothing closer to say. */
static const char *evidence_of(struct results *results, const struct ledger *ledger,
                               enum account account)
{
    int64_t all_ns = 0;

    if (account != ACCOUNT_COMMUNICATION)
        return account_descriptions[account].definition;
    for (uint32_t i = 0; i < ledger->step_count; i++)
        all_ns += ledger->steps[i].communication_ns;
    return results_format(results,
                          "of %s communication per %s this much is not hidden behind compute; part "
                          "of it may be waiting for a late rank",
                          format_time(rounded_mean(all_ns, ledger->step_count)).text,
                          step_word(ledger));
}

/* What costs time and is not idle; gpu_idle tells of the rest. */
static void add_busy_findings(struct results *results, struct section *section,
                              const struct ledger *ledger)
{
    static const struct {
        enum account account;
        double from_share; /* below this it is not worth a line */
    } rules[] = {{ACCOUNT_COMMUNICATION, 0.02},
                 {ACCOUNT_COPY, 0.02},
                 {ACCOUNT_DATA_COPY, 0.02},
                 {ACCOUNT_OTHER_COMPUTE, 0.2}};
    int64_t whole_ns = ledger_total_ns(ledger);

    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        const struct account_description *account = &account_descriptions[rules[i].account];
        int64_t total_ns = ledger_account_ns(ledger, rules[i].account);
        double share = fraction_of(total_ns, whole_ns);

        if (share < rules[i].from_share)
            continue;
        section_add_finding(
            results, section,
            (struct finding){.what =
                                 results_format(results, "%s: %.1f %% of the %s", account->title,
                                                100.0 * share, step_word(ledger)),
                             .evidence = evidence_of(results, ledger, rules[i].account),
                             .try_this = account->advice,
                             .cost_ns = rounded_mean(total_ns, ledger->step_count)});
    }
}

static struct section *book_steps(struct results *results, const struct analysis_input *input)
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
    add_numbers(results, section, ledger, &spread);
    add_ledger_table(results, section, ledger);
    if (ledger->source != WINDOW_WHOLE)
        add_step_list(results, section, input, &spread);
    add_exact_steps(results, section, ledger);
    add_outlier_findings(results, section, ledger, &spread);
    add_busy_findings(results, section, ledger);
    free(spread.steps);
    return section;
}

const struct analysis step_accounts_analysis = {
    .name = "step_ledger",
    .summary = "Where does the time of a step go?",
    .run = book_steps,
};
