/* From A's step to B's, account by account: the parts add up to the nanosecond. */
#include "base/core/apportion.h"
#include "base/core/invariant.h"
#include "base/text/format.h"
#include "ledger/account.h"
#include "sections/comparison/comparison_sections.h"
#include "sections/comparison/run_comparison.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

/* ---- what changed alike ---------------------------------------------------------------------- */

/* Did nearly everything get slower, or faster, at once? Then the cause is rarely in the program. */

/* Of kernels, or on a CPU of operators, that both runs have. */
struct changed_alike {
    bool is_alike; /* factor is 5 % or more from 1, and share 80 % or more */
    double factor; /* their time in B / in A */
    double share;  /* of their time in A: those that went the same way, a third as far or further */
};

static const double least_change = 0.05;
static const double least_share = 0.8;

static bool is_in_both(const struct change *change)
{
    return change->mean_a > 0 && change->mean_b > 0;
}

/* At least a third of the way that all of them go together. */
static bool goes_along(const struct change *change, double factor)
{
    double way = change->mean_b / change->mean_a - 1;

    return way * (factor - 1) > 0 && fabs(way) >= fabs(factor - 1) / 3;
}

/* By their time in A, so that many short kernels do not outvote the long ones. */
static struct changed_alike measure_changed_alike(const struct run_comparison *comparison)
{
    bool on_host = comparison->a->is_cpu_only || comparison->b->is_cpu_only;
    enum measure_kind kind = on_host ? MEASURE_HOST_OPERATOR : MEASURE_KERNEL;
    uint32_t first = comparison->first[kind], end = comparison->first[kind + 1];
    struct changed_alike alike = {.factor = 1};
    double a = 0, b = 0, along = 0;

    for (uint32_t i = first; i < end; i++) {
        /* What only one run has cannot have changed alike. */
        if (is_in_both(&comparison->changes[i])) {
            a += comparison->changes[i].mean_a;
            b += comparison->changes[i].mean_b;
        }
    }
    if (a <= 0)
        return alike;
    alike.factor = b / a;
    for (uint32_t i = first; i < end; i++)
        if (is_in_both(&comparison->changes[i]) &&
            goes_along(&comparison->changes[i], alike.factor))
            along += comparison->changes[i].mean_a;
    alike.share = along / a;
    alike.is_alike = fabs(alike.factor - 1) >= least_change && alike.share >= least_share;
    return alike;
}

/* ---- difference waterfall -------------------------------------------------------------------- */

/* An account in both runs, in nanoseconds per step and rank. */
struct account_change {
    enum account account;
    int64_t a_ns;
    int64_t b_ns;
};

/* Means of all accounts that add up to the mean of the step, which is returned. Each mean
 * rounded by itself would miss the step's mean by some nanoseconds: apportion gives the rest to
 * the largest remainders, so the parts sum exactly. */
static int64_t collect_means(int64_t *means, const struct run_profile *profile)
{
    int64_t sums[ACCOUNT_COUNT] = {0};
    int64_t divisor = (int64_t)profile->rank_count * profile->step_count;
    int64_t total = 0, mean;

    for (int a = 0; a < ACCOUNT_COUNT; a++) {
        const struct measure *measure =
            profile_find(profile, MEASURE_ACCOUNT, account_descriptions[a].key, "");

        sums[a] = measure ? measure_sum(measure->values, profile->step_count) : 0;
        total += sums[a];
    }
    mean = rounded_mean(total, divisor);
    apportion(means, sums, ACCOUNT_COUNT, divisor, mean);
    return mean;
}

static int64_t difference_waterfall_difference_of(const struct account_change *change)
{
    return change->b_ns - change->a_ns;
}

/* The largest first, whatever the direction; of equal ones in the order of the ledger. */
static int compare_account_changes(const void *a, const void *b)
{
    const struct account_change *left = a;
    const struct account_change *right = b;
    int64_t first = llabs(difference_waterfall_difference_of(left)),
            second = llabs(difference_waterfall_difference_of(right));

    if (first != second)
        return first > second ? -1 : 1;
    return left->account < right->account ? -1 : 1;
}

enum { LABEL, TIME_A, TIME_B, CHANGE, SHARE, VERDICT, FROM, TO, CHANCE, RATE, KEY, COLUMNS };

/* "from" and "step so far" are the ends of a bar that floats: each account begins where the
 * one before ended, so that a chart needs no sums of its own. */
static struct table *add_waterfall_table(struct results *results, struct section *section)
{
    static const struct column columns[COLUMNS] = {
        [LABEL] = {"account", "account", UNIT_TEXT, 0, BAR_NONE},
        [TIME_A] = {"a", "A, per step", UNIT_TIME_NS, 0, BAR_NONE},
        [TIME_B] = {"b", "B, per step", UNIT_TIME_NS, 0, BAR_NONE},
        [CHANGE] = {"change", "change", UNIT_TIME_NS, 0, BAR_NONE},
        [SHARE] = {"share", "of A's step", UNIT_FRACTION, 1, BAR_NONE},
        [VERDICT] = {"verdict", "verdict", UNIT_TEXT, 0, BAR_NONE},
        [FROM] = {"from", "from", UNIT_TIME_NS, PRIORITY_FOR_PROGRAMS, BAR_NONE},
        [TO] = {"to", "step so far", UNIT_TIME_NS, 2, BAR_NONE},
        [CHANCE] = {"p", "p", UNIT_NUMBER, PRIORITY_FOR_PROGRAMS, BAR_NONE},
        [RATE] = {"q", "q", UNIT_NUMBER, PRIORITY_FOR_PROGRAMS, BAR_NONE},
        [KEY] = {"key", "key", UNIT_TEXT, PRIORITY_FOR_PROGRAMS, BAR_NONE},
    };

    return section_add_table(results, section, "waterfall", "From A's step to B's", columns,
                             COLUMNS);
}

/* What the table says of how sure a change is; `change` may be NULL. */
static void fill_verdict(struct value *cells, const struct change *change)
{
    if (!change)
        return;
    cells[VERDICT] = value_text(change_verdict_text(change->verdict));
    if (!change->noise.is_known)
        return;
    cells[CHANCE] = value_number(change->noise.chance);
    cells[RATE] = value_number(change->rate);
}

/* The table while it is filled. */
struct waterfall {
    struct results *results;
    struct table *table;
    const struct run_comparison *comparison;
    int64_t step_a_ns;
    int64_t so_far_ns; /* A's step with the changes of all rows above */
};

/* The first row, or the last. */
static struct value *add_step_row(const struct waterfall *fall, const char *title, const char *key)
{
    struct value *cells = table_add_row(fall->results, fall->table, 0);

    cells[LABEL] = value_text(title);
    cells[TO] = value_time_ns(fall->so_far_ns);
    cells[KEY] = value_text(key);
    return cells;
}

static struct value share_of_a(const struct waterfall *fall, int64_t change_ns)
{
    return fall->step_a_ns > 0 ? value_fraction((double)change_ns / (double)fall->step_a_ns)
                               : value_none();
}

static void add_step_of_b(const struct waterfall *fall)
{
    struct value *cells = add_step_row(fall, "step of B", "step_b");
    int64_t change_ns = fall->so_far_ns - fall->step_a_ns;

    cells[TIME_B] = value_time_ns(fall->so_far_ns);
    cells[CHANGE] = value_time_ns(change_ns);
    cells[SHARE] = share_of_a(fall, change_ns);
    fill_verdict(cells, find_change(fall->comparison, MEASURE_STEP, "step_time"));
}

/* Each row begins where the one before it ended, so that the last ends at B's step: accounts
 * add up to the step in both runs. */
static void add_account_row(struct waterfall *fall, const struct account_change *change)
{
    const struct account_description *account = &account_descriptions[change->account];
    struct value *cells = table_add_row(fall->results, fall->table, 1);
    int64_t difference = difference_waterfall_difference_of(change);

    cells[LABEL] = value_text(account->title);
    cells[TIME_A] = value_time_ns(change->a_ns);
    cells[TIME_B] = value_time_ns(change->b_ns);
    cells[CHANGE] = value_time_ns(difference);
    cells[SHARE] = share_of_a(fall, difference);
    cells[FROM] = value_time_ns(fall->so_far_ns);
    fall->so_far_ns += difference;
    cells[TO] = value_time_ns(fall->so_far_ns);
    cells[KEY] = value_text(account->key);
    fill_verdict(cells, find_change(fall->comparison, MEASURE_ACCOUNT, account->key));
}

/* The invariant holds by construction: both columns sum to their step. */
static void add_waterfall(struct results *results, struct section *section,
                          const struct run_comparison *comparison)
{
    struct account_change changes[ACCOUNT_COUNT];
    int64_t means_a[ACCOUNT_COUNT], means_b[ACCOUNT_COUNT];
    int64_t step_b = collect_means(means_b, comparison->b);
    struct waterfall fall = {.results = results,
                             .table = add_waterfall_table(results, section),
                             .comparison = comparison,
                             .step_a_ns = collect_means(means_a, comparison->a)};

    for (int a = 0; a < ACCOUNT_COUNT; a++)
        changes[a] = (struct account_change){(enum account)a, means_a[a], means_b[a]};
    qsort(changes, ACCOUNT_COUNT, sizeof *changes, compare_account_changes);
    fall.so_far_ns = fall.step_a_ns;
    add_step_row(&fall, "step of A", "step_a")[TIME_A] = value_time_ns(fall.step_a_ns);
    for (int a = 0; a < ACCOUNT_COUNT; a++)
        if (changes[a].a_ns != 0 || changes[a].b_ns != 0)
            add_account_row(&fall, &changes[a]);
    add_step_of_b(&fall);
    require_invariant(fall.so_far_ns == step_b,
                      "the changes of all accounts sum to that of the step");
    fall.table->note = "Every nanosecond of the difference is in exactly one account.";
}

/* The bounds are of the same test as the verdict. With one step in a run there is no spread to
 * measure noise by, and it says so instead of telling a chance. */
static void difference_waterfall_add_numbers(struct results *results, struct section *section,
                                             const struct run_comparison *comparison)
{
    const struct change *step = find_change(comparison, MEASURE_STEP, "step_time");
    const struct measure *measure;

    if (!step)
        return;
    measure = change_measure(step);
    section_add_value(results, section, "step_time_a", "step time of A",
                      mean_as_value(measure, step->mean_a));
    section_add_value(results, section, "step_time_b", "step time of B",
                      mean_as_value(measure, step->mean_b));
    section_add_number(results, section,
                       (struct number){"change", "change",
                                       mean_as_value(measure, step->mean_b - step->mean_a),
                                       change_verdict_text(step->verdict)});
    /* A step of no length would be infinitely fast: no figure is better. */
    if (step->mean_b > 0)
        section_add_value(results, section, "speedup", "times as fast",
                          value_number(step->mean_a / step->mean_b));
    if (!step->noise.is_known) {
        section_add_value(results, section, "p", "chance of noise alone",
                          value_not_known("needs two steps or more in both runs"));
        return;
    }
    section_add_value(results, section, "change_low", "95 % confidence: from",
                      mean_as_value(measure, step->noise.low));
    section_add_value(results, section, "change_high", "95 % confidence: to",
                      mean_as_value(measure, step->noise.high));
    section_add_number(results, section,
                       (struct number){"p", "chance of noise alone",
                                       value_fraction(step->noise.chance),
                                       "that steps of equal means differ as much"});
}

/* A clock, another job on the machine, or another batch: none of the accounts is its cause. */
static void add_alike(struct results *results, struct section *section,
                      const struct run_comparison *comparison)
{
    const struct change *step = find_change(comparison, MEASURE_STEP, "step_time");
    struct changed_alike alike = measure_changed_alike(comparison);

    if (!alike.is_alike || compiled_run(comparison) || !step || !change_is_significant(step))
        return;
    section_add_warning(
        results, section, "nearly everything changed alike",
        results_format(results,
                       "%s that both runs have take %.2fx as long; %s of their time went along",
                       comparison->a->is_cpu_only ? "operators" : "kernels", alike.factor,
                       format_fraction(alike.share).text),
        "look outside of the program first (clock and power limits, other jobs on "
        "the machine), unless the batch or the number format changed: record the "
        "two runs by turns");
}

/* The whole first, then whether the runs can be compared at all, then the accounts, and at
 * last the groups of accounts, which repeat the same sum more coarsely. */
struct section *describe_difference(struct results *results,
                                    const struct run_comparison *comparison,
                                    const struct comparison_view *view)
{
    struct section *section = section_new(
        results, "difference", "What the difference is made of",
        "Means of all steps. \"less\" and \"more\" are beyond what the steps of each run differ "
        "among themselves.");

    difference_waterfall_add_numbers(results, section, comparison);
    add_alike(results, section, comparison);
    add_waterfall(results, section, comparison);
    add_changes_of_kind(results, section, comparison, view, MEASURE_GROUP);
    return section;
}
