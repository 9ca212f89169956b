/* Is a difference between two runs more than what their steps differ among themselves? */
#include "sections/comparison/step_noise.h"

#include "base/core/invariant.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

struct step_sample measure_step_sample(const double *values, size_t count)
{
    double *work = require_memory(calloc(2 * count, sizeof *work));
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

static struct step_sample with_steps(const struct step_sample *sample, size_t count)
{
    struct step_sample longer = *sample;

    longer.count = count;
    longer.freedom = (double)kept_of(count) - 1;
    longer.standard_error *= sqrt((double)kept_of(sample->count) / (double)kept_of(count));
    return longer;
}

size_t steps_to_be_sure(const struct step_sample *a, const struct step_sample *b, size_t most)
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
