/* What chance explains: against tables of Student's t and known tests, and over many equal runs. */
#include "sections/comparison/run_comparison.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

/* Relative. */
static bool is_near(double a, double b, double tolerance)
{
    return fabs(a - b) <= tolerance * fmax(fabs(a), fabs(b));
}

static struct noise_verdict compare(const double *a, size_t a_count, const double *b,
                                    size_t b_count)
{
    struct step_sample first = measure_step_sample(a, a_count);
    struct step_sample second = measure_step_sample(b, b_count);

    return compare_step_samples(&first, &second);
}

/* Values of scipy.stats.t. */
static void tails_of_student(void **state)
{
    assert_true(is_near(student_tail(2, 10), 0.07338803477074037, 1e-10));
    assert_true(is_near(student_tail(-2, 10), 0.07338803477074037, 1e-10));
    assert_true(is_near(student_tail(30, 3), 8.135280427163958e-05, 1e-8));
    assert_true(is_near(student_tail(1.5, 2.37), 0.2533585855947327, 1e-9));
    assert_true(is_near(student_tail(0, 4), 1, 1e-12));
    assert_true(student_tail(INFINITY, 4) == 0);
    assert_true(is_near(student_quantile(0.05, 4), 2.7764451051977934, 1e-9));
    assert_true(is_near(student_quantile(0.05, 1e6), 1.959966, 1e-5));
}

/* scipy.stats.ttest_ind(trim=0.2) gives p = 0.0493085 and 3.0292 degrees of freedom. */
static void six_steps_are_trimmed(void **state)
{
    static const double a[] = {176.078, 173.992, 176.918, 181.259, 176.468, 164.261};
    static const double b[] = {181.565, 123.884, 126.824, 126.272, 163.461, 116.146};
    struct noise_verdict verdict = compare(a, 6, b, 6);

    assert_true(verdict.is_known);
    assert_true(is_near(verdict.chance, 0.04930851777910071, 1e-9));
    assert_true(verdict.high < 0);
    assert_true(verdict.low < verdict.difference && verdict.difference < verdict.high);
    assert_true(is_near(measure_step_sample(a, 6).mean, 174.82933333333, 1e-9));
}

/* Welch: (1, 2, 3) and (2, 4, 6): t = 2 / sqrt(1/3 + 4/3), freedom 50/17. */
static void few_steps_are_not_trimmed(void **state)
{
    static const double a[] = {1, 2, 3}, b[] = {2, 4, 6};

    assert_true(
        is_near(compare(a, 3, b, 3).chance, student_tail(2 / sqrt(5.0 / 3), 50.0 / 17), 1e-12));
}

static void one_step_tells_no_noise(void **state)
{
    static const double a[] = {1}, b[] = {2, 3, 4};

    assert_false(compare(a, 1, b, 3).is_known);
    assert_false(compare(b, 3, a, 1).is_known);
    assert_true(compare(a, 1, b, 3).chance == 1);
}

static void values_that_never_vary(void **state)
{
    static const double a[] = {7, 7, 7}, b[] = {8, 8};

    assert_true(compare(a, 3, b, 2).chance == 0);
    assert_true(compare(a, 3, a, 3).chance == 1);
    assert_true(compare(a, 3, b, 2).low == 1 && compare(a, 3, b, 2).high == 1);
}

static void one_odd_step_hides_no_change(void **state)
{
    static const double a[] = {100, 101, 99, 100, 500, 101, 99, 100};
    static const double b[] = {110, 111, 109, 110, 110, 111, 109, 110};

    assert_true(compare(a, 8, b, 8).chance < 1e-4);
}

static void many_questions_are_corrected(void **state)
{
    double chances[] = {0.01, 0.04, 0.03, 0.005};

    correct_for_many(chances, 4);
    assert_true(is_near(chances[0], 0.02, 1e-12));
    assert_true(is_near(chances[1], 0.04, 1e-12));
    assert_true(is_near(chances[2], 0.04, 1e-12));
    assert_true(is_near(chances[3], 0.02, 1e-12));
    correct_for_many(NULL, 0);
}

/* ---- many pairs of equal runs ---- */

static double uniform(void)
{
    return ((double)rand() + 0.5) / ((double)RAND_MAX + 1);
}

static double gauss(void)
{
    return sqrt(-2 * log(uniform())) * cos(2 * 3.14159265358979 * uniform());
}

/* Steps that vary by 2 %; some are odd, and each may resemble the one before. */
static void make_steps(double *steps, size_t count, double odd_share, double resemblance)
{
    double last = gauss();

    for (size_t i = 0; i < count; i++) {
        last = resemblance * last + sqrt(1 - resemblance * resemblance) * gauss();
        steps[i] = 100 + 2 * last;
        if (uniform() < odd_share)
            steps[i] *= 1.5;
    }
}

/* How many of 4,000 pairs of equal runs are called different at 5 %. */
static double rate_of_mistakes(size_t count, double odd_share, double resemblance)
{
    enum { PAIRS = 4000, STEPS_MAX = 64 };
    double a[STEPS_MAX], b[STEPS_MAX];
    int mistakes = 0;

    for (int i = 0; i < PAIRS; i++) {
        make_steps(a, count, odd_share, resemblance);
        make_steps(b, count, odd_share, resemblance);
        mistakes += compare(a, count, b, count).chance <= 0.05;
    }
    return (double)mistakes / PAIRS;
}

/* 5 % promised; 0.7 % are two standard errors of 4,000 pairs. */
static void equal_runs_are_called_equal(void **state)
{
    srand(5);
    assert_true(rate_of_mistakes(2, 0, 0) <= 0.057);
    assert_true(rate_of_mistakes(3, 0, 0) <= 0.057);
    assert_true(rate_of_mistakes(4, 0, 0) <= 0.057);
    assert_true(rate_of_mistakes(5, 0, 0) <= 0.057);
    assert_true(rate_of_mistakes(10, 0, 0) <= 0.057);
    assert_true(rate_of_mistakes(30, 0, 0) <= 0.057);
    assert_true(rate_of_mistakes(6, 0.15, 0) <= 0.057);
    assert_true(rate_of_mistakes(20, 0.1, 0) <= 0.057);
}

static void steps_that_resemble_each_other_count_less(void **state)
{
    srand(6);
    assert_true(rate_of_mistakes(20, 0, 0.4) <= 0.08);
    assert_true(rate_of_mistakes(60, 0, 0.4) <= 0.07);
}

static void changes_of_the_stated_size_are_found(void **state)
{
    enum { PAIRS = 1000, STEPS = 10 };
    double a[STEPS], b[STEPS];
    int found = 0;

    srand(7);
    for (int i = 0; i < PAIRS; i++) { /* 6 %, where steps vary by 2 % */
        make_steps(a, STEPS, 0, 0);
        make_steps(b, STEPS, 0, 0);
        for (int step = 0; step < STEPS; step++)
            b[step] *= 1.06;
        found += compare(a, STEPS, b, STEPS).chance <= 0.05;
    }

    assert_true(found > 0.9 * PAIRS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tails_of_student),
        cmocka_unit_test(six_steps_are_trimmed),
        cmocka_unit_test(few_steps_are_not_trimmed),
        cmocka_unit_test(one_step_tells_no_noise),
        cmocka_unit_test(values_that_never_vary),
        cmocka_unit_test(one_odd_step_hides_no_change),
        cmocka_unit_test(many_questions_are_corrected),
        cmocka_unit_test(equal_runs_are_called_equal),
        cmocka_unit_test(steps_that_resemble_each_other_count_less),
        cmocka_unit_test(changes_of_the_stated_size_are_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
