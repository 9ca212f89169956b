/* The lines of the ledger, and means of them that still add up. */
#include "sections/step/ledger_table.h"

#include "base/core/apportion.h"
#include "output/results/metrics.h"
#include "sections/chosen_events.h"
#include "sections/tally.h"

#include <assert.h>

/* What matrix time is made of; MATRIX_PART_NONE: the line is none of these. */
enum matrix_part {
    MATRIX_PART_NONE,
    MATRIX_PART_UNPRICED,
    MATRIX_PART_BELOW_PEAK,
    MATRIX_PART_RECOMPUTED,
    MATRIX_PART_EXTRA,
    MATRIX_PART_MODEL,
    MATRIX_PART_COUNT,
};

static const struct {
    const char *key;
    const char *title;
} matrix_parts[MATRIX_PART_COUNT] = {
    [MATRIX_PART_UNPRICED] = {"unpriced_matrix", "FLOPs or peak not known"},
    [MATRIX_PART_BELOW_PEAK] = {"below_peak", "below the peak"},
    [MATRIX_PART_RECOMPUTED] = {"recomputed", "recomputed FLOPs"},
    [MATRIX_PART_EXTRA] = {"extra", "FLOPs not needed"},
    [MATRIX_PART_MODEL] = {"model", "model FLOPs (MFU)"},
};

/* One line of the ledger: some accounts together, one kernel class, or a part of matrix time. */
struct ledger_line {
    const char *key;
    const char *title;
    int depth;
    uint32_t accounts; /* bit a: account a belongs to it; 0 for a kernel class */
    int class;         /* enum kernel_class, or -1 */
    enum matrix_part part;
    const char *needs;  /* not NULL: its time is not known */
    struct tally tally; /* over the steps */
    int64_t mean_ns;
};

enum {
    LINES_MAX = 1 + (int)ACCOUNT_GROUP_COUNT + (int)ACCOUNT_COUNT + KERNEL_CLASS_COUNT +
                (int)MATRIX_PART_COUNT
};

struct ledger_lines {
    struct ledger_line lines[LINES_MAX];
    size_t count;
    const struct ledger *ledger;
    const struct step_efficiency *steps;
    bool has_model;          /* FLOPs are known, at least of a part */
    const char *model_needs; /* where they are not: what that needs */
};

int64_t accounts_ns(const struct step_ledger *step, uint32_t accounts)
{
    int64_t sum = 0;

    for (int a = 0; a < ACCOUNT_COUNT; a++)
        if (accounts & (1u << a))
            sum += step->account_ns[a];
    return sum;
}

uint32_t accounts_of_group(enum account_group group)
{
    uint32_t accounts = 0;

    for (int a = 0; a < ACCOUNT_COUNT; a++)
        if (account_descriptions[a].group == group)
            accounts |= 1u << a;
    return accounts;
}

/* The five parts divide the time of matrix work without a rest, which is why a switch names
 * them all and no default hides a new one. */
static int64_t part_ns(const struct matrix_time *time, enum matrix_part part)
{
    switch (part) {
    case MATRIX_PART_UNPRICED:
        return time->uncosted_ns;
    case MATRIX_PART_BELOW_PEAK:
        return time->below_peak_ns;
    case MATRIX_PART_RECOMPUTED:
        return time->recomputed_ns;
    case MATRIX_PART_EXTRA:
        return time->extra_ns;
    case MATRIX_PART_MODEL:
        return time->model_ns;
    case MATRIX_PART_NONE:
    case MATRIX_PART_COUNT:
        break;
    }
    return 0;
}

static int64_t line_ns(const struct ledger_lines *lines, const struct ledger_line *line,
                       uint32_t step)
{
    if (line->part != MATRIX_PART_NONE)
        return part_ns(&lines->steps[step].time, line->part);
    if (line->class >= 0)
        return lines->ledger->steps[step].class_ns[line->class];
    return accounts_ns(&lines->ledger->steps[step], line->accounts);
}

/* A line is filled step by step, so that its least and most are those of real steps; the sum
 * alone would not tell them. */
static struct ledger_line *ledger_add_line(struct ledger_lines *lines, struct ledger_line line)
{
    assert(lines->count < LINES_MAX);
    for (uint32_t i = 0; i < lines->ledger->step_count; i++)
        tally_add(&line.tally, line_ns(lines, &line, i));
    lines->lines[lines->count] = line;
    return &lines->lines[lines->count++];
}

/* Gives the lines from `first` on, all of one depth, means that add up to `mean_ns`. What is below
 * the peak takes the rest: it may be negative. Means of lines that add up to a line must add up
 * to its mean, but each rounded by itself may miss by some nanoseconds. Where no line can be
 * negative, the largest remainders get them (apportion). Below the peak may be negative, where a
 * peak is too low or FLOPs are counted too high, which apportion is not made for: then all
 * others are rounded and this one takes the rest. */
static void set_means(struct ledger_lines *lines, size_t first, int depth, int64_t mean_ns)
{
    int64_t parts[LINES_MAX] = {0}, means[LINES_MAX];
    size_t indexes[LINES_MAX] = {0};
    struct ledger_line *rest = NULL;
    size_t count = 0;

    for (size_t i = first; i < lines->count && lines->lines[i].depth >= depth; i++) {
        struct ledger_line *line = &lines->lines[i];

        if (line->depth != depth || line->needs)
            continue;
        if (line->part == MATRIX_PART_BELOW_PEAK)
            rest = line;
        parts[count] = line->tally.total_ns;
        indexes[count++] = i;
    }
    if (count > 0 && !rest) {
        apportion(means, parts, count, lines->ledger->step_count, mean_ns);
        for (size_t i = 0; i < count; i++)
            lines->lines[indexes[i]].mean_ns = means[i];
    }
    if (!rest)
        return;
    rest->mean_ns = mean_ns;
    for (size_t i = 0; i < count; i++) {
        if (&lines->lines[indexes[i]] == rest)
            continue;
        lines->lines[indexes[i]].mean_ns = rounded_mean(parts[i], lines->ledger->step_count);
        rest->mean_ns -= lines->lines[indexes[i]].mean_ns;
    }
}

/* The kernel classes below an account; none where they are not the whole of it. The assertion is
 * the invariant of the table: every nanosecond of the account is in exactly one class. A line
 * without time is taken off again after it was added, since only adding it tells its time. */
static void ledger_add_classes(struct ledger_lines *lines, enum account account, bool of_matrix)
{
    size_t first = lines->count;
    int64_t total = ledger_account_ns(lines->ledger, account);

    for (int c = 0; c < KERNEL_CLASS_COUNT; c++) {
        enum kernel_class class = (enum kernel_class)c;
        struct ledger_line *line;

        if (!kernel_class_is_compute(class) || kernel_class_is_matrix(class) != of_matrix)
            continue;
        line = ledger_add_line(lines, (struct ledger_line){.key = kernel_class_key(class),
                                                           .title = kernel_class_title(class),
                                                           .depth = 2,
                                                           .class = c});
        total -= line->tally.total_ns;
        if (line->tally.total_ns == 0)
            lines->count--;
    }
    assert(total == 0);
    if (lines->count - first == 1 && lines->lines[first].class != KERNEL_COMPUTE_OTHER)
        lines->count = first; /* a single class says no more than its account */
}

/* What matrix time is made of; where no part of it has a price, its kinds, and what is missing.
 * Below the peak and the model's part stay even with no time: they are what the table is for,
 * and 0 of them is a statement. The others are named only where there are any. */
static void add_matrix_parts(struct ledger_lines *lines)
{
    if (!lines->has_model) {
        ledger_add_classes(lines, ACCOUNT_MATRIX, true);
        lines->lines[lines->count++] =
            (struct ledger_line){.key = matrix_parts[MATRIX_PART_MODEL].key,
                                 .title = matrix_parts[MATRIX_PART_MODEL].title,
                                 .depth = 2,
                                 .class = -1,
                                 .needs = lines->model_needs};
        return;
    }
    for (int part = MATRIX_PART_NONE + 1; part < MATRIX_PART_COUNT; part++) {
        struct ledger_line *line =
            ledger_add_line(lines, (struct ledger_line){.key = matrix_parts[part].key,
                                                        .title = matrix_parts[part].title,
                                                        .depth = 2,
                                                        .class = -1,
                                                        .part = (enum matrix_part)part});

        if (line->tally.total_ns == 0 && part != MATRIX_PART_BELOW_PEAK &&
            part != MATRIX_PART_MODEL)
            lines->count--;
    }
}

/* Deeper lines of an account exist only where it has time itself. */
static void ledger_add_account(struct ledger_lines *lines, enum account account)
{
    struct ledger_line *line =
        ledger_add_line(lines, (struct ledger_line){.key = account_descriptions[account].key,
                                                    .title = account_descriptions[account].title,
                                                    .depth = 1,
                                                    .accounts = 1u << account,
                                                    .class = -1});

    if (line->tally.total_ns == 0)
        lines->count--;
    else if (account == ACCOUNT_OTHER_COMPUTE)
        ledger_add_classes(lines, account, false);
    else if (account == ACCOUNT_MATRIX)
        add_matrix_parts(lines);
}

/* Compute goes the other way: what is useful stands last. */
static void ledger_add_accounts(struct ledger_lines *lines, enum account_group group)
{
    for (int i = 0; i < ACCOUNT_COUNT; i++) {
        int a = group == ACCOUNT_GROUP_COMPUTE ? ACCOUNT_COUNT - 1 - i : i;

        if (account_descriptions[a].group == group)
            ledger_add_account(lines, (enum account)a);
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

/* A group with one account in this run is one line, under the account's name: the group's line
 * would say the same twice. */
static void ledger_add_group(struct ledger_lines *lines, enum account_group group)
{
    uint32_t accounts = accounts_of_group(group);
    int sole = sole_account(lines->ledger, group, accounts);
    struct ledger_line line = {.key = account_group_descriptions[group].key,
                               .title = account_group_descriptions[group].title,
                               .accounts = accounts,
                               .class = -1};

    if (sole >= 0) {
        line.key = account_descriptions[sole].key;
        line.title = account_descriptions[sole].title;
    }
    ledger_add_line(lines, line);
    if (sole < 0)
        ledger_add_accounts(lines, group);
}

/* The first line is the whole. From the top down, each depth from the line above, which has its
 * own mean by then: so at every depth the lines add up to what they are parts of. A line is
 * above those that follow it and lie deeper. */
static void set_all_means(struct ledger_lines *lines)
{
    struct ledger_line *whole = &lines->lines[0];

    whole->mean_ns = rounded_mean(whole->tally.total_ns, lines->ledger->step_count);
    set_means(lines, 1, 0, whole->mean_ns);
    for (size_t i = 1; i + 1 < lines->count; i++)
        if (lines->lines[i + 1].depth > lines->lines[i].depth)
            set_means(lines, i + 1, lines->lines[i].depth + 1, lines->lines[i].mean_ns);
}

/* In the order of losses: what is left in the end is what the model needs. Read downwards, the
 * table is a subtraction: from the whole, what is lost to idle time, copies, communication,
 * other compute, and then within matrix work to the peak and to FLOPs that the model does not
 * need. */
static void make_lines(struct ledger_lines *lines)
{
    bool is_whole = lines->ledger->source == WINDOW_WHOLE;

    ledger_add_line(lines, (struct ledger_line){.key = "step",
                                                .title = is_whole ? "whole window" : "whole step",
                                                .accounts = (1u << ACCOUNT_COUNT) - 1,
                                                .class = -1});
    for (int g = (int)ACCOUNT_GROUP_COUNT - 1; g >= 0; g--)
        ledger_add_group(lines, (enum account_group)g);
    set_all_means(lines);
}

static struct value unless_unknown(const struct ledger_line *line, struct value value)
{
    return line->needs ? value_none() : value;
}

#define LEDGER_COLUMNS(COLUMN)                                                                    \
    COLUMN("account", "account", UNIT_TEXT, 0, BAR_NONE, value_text(line->title))                 \
    COLUMN("mean", is_single ? "time" : "mean per step", UNIT_TIME_NS, 0, BAR_NONE,               \
           line->needs ? value_not_known(line->needs) : value_time_ns(line->mean_ns))             \
    COLUMN("share", ledger->source == WINDOW_WHOLE ? "of the window" : "of the step",             \
           UNIT_FRACTION, 0, BAR_WATERFALL,                                                       \
           unless_unknown(line, value_fraction(fraction_of(line->tally.total_ns, whole_ns))))     \
    COLUMN("min", "min", UNIT_TIME_NS, is_single ? PRIORITY_FOR_PROGRAMS : 2, BAR_NONE,           \
           unless_unknown(line, value_time_ns(line->tally.min_ns)))                               \
    COLUMN("max", "max", UNIT_TIME_NS, is_single ? PRIORITY_FOR_PROGRAMS : 2, BAR_NONE,           \
           unless_unknown(line, value_time_ns(line->tally.max_ns)))                               \
    COLUMN("total", "all steps", UNIT_TIME_NS, is_single ? PRIORITY_FOR_PROGRAMS : 3, BAR_NONE,   \
           unless_unknown(line, value_time_ns(line->tally.total_ns)))                             \
    COLUMN(METRIC_KEY(LEDGER_ACCOUNT), METRIC_TITLE(LEDGER_ACCOUNT), METRIC_UNIT(LEDGER_ACCOUNT), \
           PRIORITY_FOR_PROGRAMS, BAR_NONE, value_text(line->key))

static void fill_line(struct value *cells, const struct ledger_line *line, int64_t whole_ns)
{
    FILL_ROW(cells, LEDGER_COLUMNS);
}

void add_ledger_table(struct results *results, struct section *section,
                      const struct analysis_input *input)
{
    const struct ledger *ledger = input->ledger;
    bool is_single = ledger->step_count == 1; /* then all of these are the same number */
    struct ledger_lines lines = {.ledger = ledger,
                                 .steps = input->efficiency->steps,
                                 .has_model = efficiency_has_model(input->efficiency),
                                 .model_needs = efficiency_needs(input->efficiency)};
    struct table *table =
        section_add_table(results, section, "ledger", "Step ledger", COLUMNS_OF(LEDGER_COLUMNS));

    make_lines(&lines);
    for (size_t i = 0; i < lines.count; i++)
        fill_line(table_add_row(results, table, lines.lines[i].depth), &lines.lines[i],
                  ledger_total_ns(ledger));
    table->note = "From all of the time, which is 100 % of the peak, down to what the model needs. "
                  "Every nanosecond of a step is in exactly one line; parts of these lines without "
                  "any time are left out.";
}

/* The kept steps of a job are shown by the same lines as a trace's: there is one place that
 * decides which lines there are. */
size_t list_ledger_rows(struct ledger_row rows[LEDGER_ROWS_MAX], const struct ledger *ledger,
                        const struct step_efficiency *steps, const char *model_needs)
{
    struct ledger_lines lines = {
        .ledger = ledger, .steps = steps, .has_model = !model_needs, .model_needs = model_needs};

    static_assert((int)LEDGER_ROWS_MAX >= (int)LINES_MAX, "a row for each line");
    make_lines(&lines);
    for (size_t i = 0; i < lines.count; i++)
        rows[i] = (struct ledger_row){.key = lines.lines[i].key,
                                      .title = lines.lines[i].title,
                                      .depth = lines.lines[i].depth,
                                      .ns = lines.lines[i].tally.total_ns,
                                      .needs = lines.lines[i].needs};
    return lines.count;
}
