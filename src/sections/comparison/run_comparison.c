/* What changed between two runs: each measure of both, with how sure the change is. */
#include "sections/comparison/run_comparison.h"

#include "base/core/invariant.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- noise of steps -------------------------------------------------------------------------- */

/* Is a difference between two runs more than what their steps differ among themselves? */

enum { TRIMMED_OF = 5, ORDER_COUNTS_FROM = 10, TERMS_MAX = 500 };

static int step_noise_compare_numbers(const void *a, const void *b)
{
    const double *left = a;
    const double *right = b;

    return (*left > *right) - (*left < *right);
}

static double step_noise_mean_of(const double *values, size_t count)
{
    double sum = 0;

    for (size_t i = 0; i < count; i++)
        sum += values[i];
    return sum / (double)count;
}

static double squares_around(const double *values, size_t count, double mean)
{
    double sum = 0;

    for (size_t i = 0; i < count; i++)
        sum += (values[i] - mean) * (values[i] - mean);
    return sum;
}

/* How much a step resembles the one before, 0...0.9. What so few steps show by chance, -1/count on
 * average, is made up for (Marriott and Pope, Biometrika 41, 1954). */
static double resemblance(const double *values, size_t count, double mean, double squares)
{
    double sum = 0;
    double found;

    if (count < ORDER_COUNTS_FROM || squares <= 0)
        return 0;
    for (size_t i = 1; i < count; i++)
        sum += (values[i] - mean) * (values[i - 1] - mean);
    found = sum / squares;
    found += (1 + 3 * found) / (double)count;
    return fmin(fmax(found, 0), 0.9);
}

/* Yuen (1974): the mean without a fifth at either end, and its error by winsorized squares, in
 * which what is cut off counts as the nearest kept. Steps that resemble the one before hold
 * less than their number says: n(1-r)/(1+r) is the effective number for a first-order
 * autoregression. */
struct step_sample measure_step_sample(const double *values, size_t count)
{
    double *work = require_memory(calloc(2 * count + 1, sizeof *work));
    double *sorted = work;
    double *winsorized = work + count;
    size_t cut = count / TRIMMED_OF;
    size_t kept = count - 2 * cut;
    struct step_sample sample = {.count = count, .mean = step_noise_mean_of(values, count)};
    double mean, squares, alike, steps;

    memcpy(sorted, values, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, step_noise_compare_numbers);
    sample.trimmed_mean = step_noise_mean_of(sorted + cut, kept);
    for (size_t i = 0; i < count; i++)
        winsorized[i] = fmin(fmax(values[i], sorted[cut]), sorted[count - 1 - cut]);
    mean = step_noise_mean_of(winsorized, count);
    squares = squares_around(winsorized, count, mean);
    /* One step that is kept has a mean, and no error. */
    if (kept > 1) {
        alike = resemblance(winsorized, count, mean, squares);
        steps = (double)kept * (1 - alike) / (1 + alike);
        sample.freedom = (double)kept - 1;
        sample.standard_error = sqrt(squares / (steps * ((double)kept - 1)));
    }
    free(work);
    return sample;
}

/* The distribution function of Student's t needs the incomplete beta function, which the C library
 * lacks. Its continued fraction converges fast where x < (a + 1) / (a + b + 2);
 * beyond, the symmetry I_x(a, b) = 1 - I_(1 - x)(b, a) brings it there. Lentz's method goes from
 * the first term on, so that it can stop when nothing changes; `tiny` keeps it from dividing by 0.
 */
/* Continued fraction of the incomplete beta function (Lentz's method). */
static double beta_fraction(double a, double b, double x)
{
    const double tiny = 1e-300;
    double c = 1;
    double d = 1 - (a + b) * x / (a + 1);
    double result;

    d = 1 / (fabs(d) < tiny ? tiny : d);
    result = d;
    for (int m = 1; m < TERMS_MAX; m++) {
        double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        double factor;

        d = 1 + even * d;
        c = 1 + even / c;
        d = 1 / (fabs(d) < tiny ? tiny : d);
        c = fabs(c) < tiny ? tiny : c;
        result *= d * c;
        d = 1 + odd * d;
        c = 1 + odd / c;
        d = 1 / (fabs(d) < tiny ? tiny : d);
        c = fabs(c) < tiny ? tiny : c;
        factor = d * c;
        result *= factor;
        if (fabs(factor - 1) < 1e-15)
            break;
    }
    return result;
}

/* The regularized incomplete beta function I_x(a, b). */
static double incomplete_beta(double a, double b, double x)
{
    double front;

    if (x <= 0 || x >= 1)
        return x <= 0 ? 0 : 1;
    front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
    if (x < (a + 1) / (a + b + 2))
        return front * beta_fraction(a, b, x) / a;
    return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

/* P(|T| > t) = I_(v/(v+t^2))(v/2, 1/2), two-sided (Abramowitz and Stegun 26.7.1). */
double student_tail(double t, double freedom)
{
    if (isinf(t))
        return 0;
    return incomplete_beta(freedom / 2, 0.5, freedom / (freedom + t * t));
}

/* Bisection: the tail falls monotonously, and a comparison of two runs asks for one quantile, so
 * that a faster method would only be one more that can fail to converge. */
double student_quantile(double chance, double freedom)
{
    double low = 0;
    double high = 1;

    while (student_tail(high, freedom) > chance && high < 1e300)
        high *= 2;
    for (int i = 0; i < 200 && high - low > 1e-12 * high; i++) {
        double middle = (low + high) / 2;

        if (student_tail(middle, freedom) > chance)
            low = middle;
        else
            high = middle;
    }
    return high;
}

/* Welch and Satterthwaite's degrees of freedom of the difference. */
static double common_freedom(const struct step_sample *a, const struct step_sample *b)
{
    double first = a->standard_error * a->standard_error;
    double second = b->standard_error * b->standard_error;

    return (first + second) * (first + second) /
           (first * first / a->freedom + second * second / b->freedom);
}

/* Yuen's test: Welch's t-test, of trimmed means. Steps are not normal: a few (a checkpoint, a data
 * stall) are far longer, and one of them moves a mean more than what two runs differ by. What all
 * steps of both runs share exactly has no noise to compare with: then any difference is real. */
struct noise_verdict compare_step_samples(const struct step_sample *a, const struct step_sample *b)
{
    struct noise_verdict verdict = {.chance = 1, .difference = b->trimmed_mean - a->trimmed_mean};
    double error = hypot(a->standard_error, b->standard_error);
    double freedom, reach;

    if (a->freedom <= 0 || b->freedom <= 0)
        return verdict;
    verdict.is_known = true;
    verdict.low = verdict.high = verdict.difference;
    if (error <= 0) {
        verdict.chance = verdict.difference == 0 ? 1 : 0;
        return verdict;
    }
    freedom = common_freedom(a, b);
    verdict.chance = student_tail(verdict.difference / error, freedom);
    reach = error * student_quantile(0.05, freedom);
    verdict.low -= reach;
    verdict.high += reach;
    return verdict;
}

static size_t kept_of(size_t count)
{
    return count - 2 * (count / TRIMMED_OF);
}

/* The standard error falls with the root of the steps that count. */
static struct step_sample with_steps(const struct step_sample *sample, size_t count)
{
    struct step_sample longer = *sample;

    longer.count = count;
    longer.freedom = (double)kept_of(count) - 1;
    longer.standard_error *= sqrt((double)kept_of(sample->count) / (double)kept_of(count));
    return longer;
}

/* How many steps of each run would make a difference as large, with steps that differ as much,
 * sure: more than the larger run has, up to `most`; 0 where that is not enough, or nothing is known
 * of the noise. */
static size_t steps_to_be_sure(const struct step_sample *a, const struct step_sample *b,
                               size_t most)
{
    size_t count = a->count > b->count ? a->count : b->count;

    if (a->freedom <= 0 || b->freedom <= 0)
        return 0;
    while (++count <= most) {
        struct step_sample first = with_steps(a, count);
        struct step_sample second = with_steps(b, count);

        if (compare_step_samples(&first, &second).chance <= 0.05)
            return count;
    }
    return 0;
}

struct ranked_chance {
    double chance;
    size_t row;
};

static int compare_chances(const void *a, const void *b)
{
    const struct ranked_chance *left = a;
    const struct ranked_chance *right = b;

    return (left->chance > right->chance) - (left->chance < right->chance);
}

/* Benjamini and Hochberg (1995): p * n / rank, made monotone from the largest down. Of the
 * rows called changed at 5 %, 5 % at most are none, on average. */
void correct_for_many(double *chances, size_t count)
{
    struct ranked_chance *ranked = require_memory(calloc(count + 1, sizeof *ranked));
    double least = 1;

    for (size_t i = 0; i < count; i++)
        ranked[i] = (struct ranked_chance){chances[i], i};
    qsort(ranked, count, sizeof *ranked, compare_chances);
    for (size_t i = count; i-- > 0;) {
        least = fmin(least, ranked[i].chance * (double)count / (double)(i + 1));
        chances[ranked[i].row] = least;
    }
    free(ranked);
}

/* ---- run comparison -------------------------------------------------------------------------- */

const struct comparison_options default_comparison_options = {.least_change = 0.01,
                                                              .least_share = 0.001};

/* Rows that are corrected together, and the chance of a mistake that they may take. */
enum row_family { FAMILY_STEP, FAMILY_ACCOUNTS, FAMILY_NAMES, FAMILY_COUNT };

/* The step is one question and has its own 5 %; accounts and names share another 5 %, so that
 * none of these families hides what another finds. */
static const double family_chance[FAMILY_COUNT] = {
    [FAMILY_STEP] = 0.05, [FAMILY_ACCOUNTS] = 0.025, [FAMILY_NAMES] = 0.025};

static const enum row_family family_of[MEASURE_KIND_COUNT] = {
    [MEASURE_STEP] = FAMILY_STEP,           [MEASURE_ACCOUNT] = FAMILY_ACCOUNTS,
    [MEASURE_GROUP] = FAMILY_ACCOUNTS,      [MEASURE_WORK] = FAMILY_ACCOUNTS,
    [MEASURE_CLASS] = FAMILY_NAMES,         [MEASURE_KERNEL] = FAMILY_NAMES,
    [MEASURE_RENAMED] = FAMILY_NAMES,       [MEASURE_OPERATOR] = FAMILY_NAMES,
    [MEASURE_HOST_OPERATOR] = FAMILY_NAMES, [MEASURE_MATMUL] = FAMILY_NAMES,
    [MEASURE_MODULE] = FAMILY_NAMES,        [MEASURE_MEMORY] = FAMILY_ACCOUNTS};

enum { LIMIT_PER_CENT = 5 };

/* More steps are asked for where so many times as many, but no more than the second, would do. */
enum { STEPS_ASKED_FACTOR = 3, STEPS_ASKED_MAX = 30 };

/* ---- one row ---- */

struct noise_verdict compare_values(const double *a, size_t a_count, const double *b,
                                    size_t b_count)
{
    struct step_sample first = measure_step_sample(a, a_count);
    struct step_sample second = measure_step_sample(b, b_count);

    return compare_step_samples(&first, &second);
}

static struct step_sample sample_of(const struct run_profile *profile,
                                    const struct measure *measure, double *room)
{
    for (uint32_t i = 0; i < profile->step_count; i++)
        room[i] = measure ? measure_at(profile, measure, i) : 0;
    return measure_step_sample(room, profile->step_count);
}

/* The rate begins as the chance of this row alone; it is corrected for the number of rows once
 * all of a family are there. */
static struct change run_comparison_change_of(const struct run_comparison *comparison,
                                              const struct measure *a, const struct measure *b,
                                              double *room)
{
    struct step_sample first = sample_of(comparison->a, a, room);
    struct step_sample second = sample_of(comparison->b, b, room);
    struct change change = {.a = a, .b = b, .noise = compare_step_samples(&first, &second)};

    change.mean_a = a ? measure_mean(comparison->a, a) : 0;
    change.mean_b = b ? measure_mean(comparison->b, b) : 0;
    change.rate = change.noise.chance;
    return change;
}

/* ---- which rows ---- */

/* A run without a measure of this kind did not do it; of other kinds it does not say, or there is
 * nothing to set beside it. */
static bool absent_is_zero(enum measure_kind kind)
{
    return kind != MEASURE_WORK && kind != MEASURE_MEMORY && kind != MEASURE_RENAMED;
}

static bool run_comparison_has_kind(const struct run_profile *profile, enum measure_kind kind)
{
    return !(kind == MEASURE_MODULE && profile->needs_modules) &&
           !(kind == MEASURE_MEMORY && profile->needs_memory);
}

/* A measure that one run lacks counts as zero in all its steps. */
static bool is_zero(const struct run_profile *profile, const struct measure *measure)
{
    for (uint32_t i = 0; measure && i < profile->step_count; i++)
        if (measure->values[i] != 0)
            return false;
    return true;
}

const char *compiled_run(const struct run_comparison *comparison)
{
    if (comparison->a->is_compiled == comparison->b->is_compiled)
        return NULL;
    return comparison->a->is_compiled ? "A" : "B";
}

/* What stands inside of compiled code has no marks, and is not gone. */
static bool is_hidden_by_compiler(const struct run_comparison *comparison, const struct measure *a,
                                  const struct measure *b)
{
    return (!a && comparison->a->is_compiled && !comparison->b->is_compiled) ||
           (!b && comparison->b->is_compiled && !comparison->a->is_compiled);
}

static bool is_comparable(const struct run_comparison *comparison, const struct measure *a,
                          const struct measure *b)
{
    enum measure_kind kind = a ? a->kind : b->kind;

    if (!run_comparison_has_kind(comparison->a, kind) ||
        !run_comparison_has_kind(comparison->b, kind))
        return false;
    if ((!a || !b) && !absent_is_zero(kind))
        return false;
    if (kind == MEASURE_MODULE && is_hidden_by_compiler(comparison, a, b))
        return false;
    if (kind == MEASURE_MATMUL && !compiled_run(comparison))
        return false; /* operators by shape say more */
    return !is_zero(comparison->a, a) || !is_zero(comparison->b, b);
}

/* Each measure of A with its like in B, then those of B alone: every measure once. */
static uint32_t collect_changes(struct run_comparison *comparison)
{
    const struct run_profile *a = comparison->a, *b = comparison->b;
    uint32_t most = a->step_count > b->step_count ? a->step_count : b->step_count;
    double *room = require_memory(calloc(most + (size_t)1, sizeof *room));
    uint32_t count = 0;

    comparison->changes =
        require_memory(calloc((size_t)a->count + b->count + 1, sizeof *comparison->changes));
    for (uint32_t i = 0; i < a->count; i++) {
        const struct measure *one = &a->measures[i];
        const struct measure *other = profile_find(b, one->kind, one->name, one->detail);

        if (is_comparable(comparison, one, other))
            comparison->changes[count++] = run_comparison_change_of(comparison, one, other, room);
    }
    for (uint32_t i = 0; i < b->count; i++) {
        const struct measure *one = &b->measures[i];

        /* Those that both have came with A. */
        if (!profile_find(a, one->kind, one->name, one->detail) &&
            is_comparable(comparison, NULL, one))
            comparison->changes[count++] = run_comparison_change_of(comparison, NULL, one, room);
    }
    free(room);
    return count;
}

/* ---- verdicts ---- */

static bool is_the_same(const struct noise_verdict *noise)
{
    return noise->is_known && noise->difference == 0 && noise->low == noise->high;
}

/* A question of the family. A row that is the same in all steps of both runs asks none. */
static bool run_comparison_is_asked(const struct change *change, enum row_family family)
{
    return family_of[change_measure(change)->kind] == family && change->noise.is_known &&
           !is_the_same(&change->noise);
}

/* Families are corrected apart, so that hundreds of kernels do not drown the accounts; scaling
 * by the family's chance makes one limit hold for all. */
static void correct_family(struct change *changes, uint32_t count, enum row_family family)
{
    double *chances = require_memory(calloc(count + (size_t)1, sizeof *chances));
    size_t rows = 0;

    for (uint32_t i = 0; i < count; i++)
        if (run_comparison_is_asked(&changes[i], family))
            chances[rows++] = changes[i].noise.chance;
    correct_for_many(chances, rows);
    rows = 0;
    for (uint32_t i = 0; i < count; i++)
        if (run_comparison_is_asked(&changes[i], family))
            changes[i].rate =
                fmin(1, chances[rows++] * LIMIT_PER_CENT / (100 * family_chance[family]));
    free(chances);
}

/* Means and trimmed means must agree on the direction: a change of one odd step is none. Sure is
 * not the same as large: with many steps a change of 0.1 % is sure, and means nothing. */
static bool is_large_enough(const struct run_comparison *comparison, const struct change *change)
{
    double difference = change->mean_b - change->mean_a;
    double larger = fmax(fabs(change->mean_a), fabs(change->mean_b));
    enum unit unit = change_measure(change)->unit;

    if (difference * change->noise.difference <= 0)
        return false;
    if (unit == UNIT_FRACTION && fabs(difference) < comparison->options.least_share)
        return false;
    if (unit == UNIT_TIME_NS) {
        const struct measure *step = profile_find(comparison->a, MEASURE_STEP, "step_time", "");

        if (step &&
            fabs(difference) < comparison->options.least_share * measure_mean(comparison->a, step))
            return false;
    }
    return fabs(difference) >= comparison->options.least_change * larger;
}

/* In this order: what is not known, the same, noise, too small; what is left is a change. */
static enum change_verdict run_comparison_check(const struct run_comparison *comparison,
                                                const struct change *change)
{
    if (!change->noise.is_known)
        return CHANGE_NOT_KNOWN;
    if (is_the_same(&change->noise) && change->mean_a == change->mean_b)
        return CHANGE_SAME;
    if (change->rate * 100 > LIMIT_PER_CENT)
        return CHANGE_NOISE;
    if (!is_large_enough(comparison, change))
        return CHANGE_SMALL;
    if (is_zero(comparison->a, change->a))
        return CHANGE_NEW;
    if (is_zero(comparison->b, change->b))
        return CHANGE_GONE;
    return change->mean_b < change->mean_a ? CHANGE_LESS : CHANGE_MORE;
}

/* Asked only where the difference is large enough to matter: with enough steps any difference
 * becomes sure. Bounded, so that no one is sent to record for hours. */
size_t steps_that_would_tell(const struct run_comparison *comparison, const struct change *step)
{
    uint32_t most = comparison->a->step_count > comparison->b->step_count
                        ? comparison->a->step_count
                        : comparison->b->step_count;
    double *room;
    struct step_sample first, second;

    if (step->verdict != CHANGE_NOISE || !is_large_enough(comparison, step))
        return 0;
    room = require_memory(calloc(most + (size_t)1, sizeof *room));
    first = sample_of(comparison->a, step->a, room);
    second = sample_of(comparison->b, step->b, room);
    free(room);
    return steps_to_be_sure(&first, &second,
                            STEPS_ASKED_FACTOR * most < STEPS_ASKED_MAX ? STEPS_ASKED_FACTOR * most
                                                                        : STEPS_ASKED_MAX);
}

/* By kind, so that each kind is a range (first[kind]), then by size; names make the order the
 * same in each run. */
static int compare_changes(const void *left, const void *right)
{
    const struct change *a = left;
    const struct change *b = right;
    const struct measure *one = change_measure(a), *other = change_measure(b);
    double first = fabs(a->mean_b - a->mean_a), second = fabs(b->mean_b - b->mean_a);
    int order;

    if (one->kind != other->kind)
        return one->kind < other->kind ? -1 : 1;
    if (first != second)
        return first > second ? -1 : 1;
    order = strcmp(one->name, other->name);
    return order != 0 ? order : strcmp(one->detail, other->detail);
}

/* Verdicts come after all families are corrected: they compare the corrected rate. Sorted by
 * kind last, so that each kind is one range. */
void compare_runs(struct run_comparison *comparison, const struct run_profile *a,
                  const struct run_profile *b, const struct comparison_options *options)
{
    uint32_t count;

    comparison->a = a;
    comparison->b = b;
    comparison->options = *options;
    count = collect_changes(comparison);
    for (int family = 0; family < FAMILY_COUNT; family++)
        correct_family(comparison->changes, count, (enum row_family)family);
    for (uint32_t i = 0; i < count; i++)
        comparison->changes[i].verdict = run_comparison_check(comparison, &comparison->changes[i]);
    qsort(comparison->changes, count, sizeof *comparison->changes, compare_changes);
    for (uint32_t i = 0; i < count; i++)
        comparison->first[change_measure(&comparison->changes[i])->kind + 1]++;
    for (int kind = 0; kind < MEASURE_KIND_COUNT; kind++)
        comparison->first[kind + 1] += comparison->first[kind];
}

void run_comparison_clear(struct run_comparison *comparison)
{
    if (!comparison)
        return;
    free(comparison->changes);
    *comparison = (struct run_comparison){0};
}

const struct change *find_change(const struct run_comparison *comparison, enum measure_kind kind,
                                 const char *name)
{
    for (uint32_t i = comparison->first[kind]; i < comparison->first[kind + 1]; i++)
        if (strcmp(change_measure(&comparison->changes[i])->name, name) == 0)
            return &comparison->changes[i];
    return NULL;
}

/* Verdicts are listed from what is not known to what is sure. */
bool change_is_significant(const struct change *change)
{
    return change->verdict >= CHANGE_LESS;
}

/* "small" is a change that is surely there and too small to matter; "within noise" is one of
 * which not even its sign is sure. */
const char *change_verdict_text(enum change_verdict verdict)
{
    static const char *const texts[] = {
        [CHANGE_NOT_KNOWN] = "noise not known",
        [CHANGE_SAME] = "the same",
        [CHANGE_NOISE] = "within noise",
        [CHANGE_SMALL] = "small",
        [CHANGE_LESS] = "less",
        [CHANGE_MORE] = "more",
        [CHANGE_NEW] = "new",
        [CHANGE_GONE] = "gone",
    };

    return texts[verdict];
}
