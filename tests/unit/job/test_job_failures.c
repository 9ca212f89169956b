/* E[ETTR]: the published case, and an exact simulation of failures beside the formula. */
#include "job/job_rates.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const double day = 86400.0, minute = 60.0;

/* 16,384 GPUs are 2,048 nodes; 6.5 failures for 1,000 nodes and day; a restart takes 5 minutes.
 * arXiv 2410.21680 tells 0.93 for a checkpoint every 5 minutes that costs nothing. */
static void the_published_case_comes_out(void **state)
{
    struct ettr_model model = {.failures = 2048 * 6.5 / 1000 / day,
                               .restart = 5 * minute,
                               .checkpoint = 0.0,
                               .interval = 5 * minute};

    assert_true(fabs(expected_ettr(&model) - 0.93) < 0.005);
    model.interval = 60 * minute;
    assert_true(expected_ettr(&model) < 0.7);
}

static void the_best_interval_is_best(void **state)
{
    struct ettr_model model = {.failures = 1.0 / 3600, .restart = 60, .checkpoint = 10};
    double best = best_checkpoint_interval(&model), highest;

    assert_true(fabs(best - sqrt(72000.0)) < 1e-9);
    model.interval = best;
    highest = expected_ettr(&model);
    for (double factor = 0.25; factor < 4.0; factor *= 1.1) {
        model.interval = best * factor;
        /* first order: the optimum of the exact product lies close by */
        assert_true(expected_ettr(&model) <= highest + 0.002);
    }
    model.failures = 1.0;
    assert_true(expected_ettr(&model) == 0.0);
}

/* xorshift64*: the same numbers everywhere. */
static double random_fraction(uint64_t *seed)
{
    *seed ^= *seed >> 12;
    *seed ^= *seed << 25;
    *seed ^= *seed >> 27;
    return ((double)((*seed * UINT64_C(2685821657736338717)) >> 11) + 0.5) / 9007199254740992.0;
}

/* Useful share of a job that trains `length` seconds of wall-clock: it makes `interval` of work,
 * saves it in `checkpoint`, and so on; failures come at random while it runs; each costs the work
 * since the last save, and `restart`. */
static double simulated_ettr(const struct ettr_model *model, double length, uint64_t *seed)
{
    double now = 0.0, useful = 0.0;
    double failure = -log(random_fraction(seed)) / model->failures;

    while (now < length) {
        double saved = now + model->interval + model->checkpoint;

        if (failure < saved) {
            now = failure + model->restart;
            failure = now - log(random_fraction(seed)) / model->failures;
            continue;
        }
        useful += model->interval;
        now = saved;
    }
    return useful / now;
}

/* The formula is of first order: where failures * (restart + interval / 2) is x, it leaves out
 * terms of x squared. */
static void a_simulation_agrees_within_its_error(void **state)
{
    static const struct ettr_model models[] = {
        {.failures = 1.0 / 86400, .restart = 300, .checkpoint = 10, .interval = 900},
        {.failures = 1.0 / 40000, .restart = 120, .checkpoint = 5, .interval = 600},
        {.failures = 1.0 / 200000, .restart = 600, .checkpoint = 60, .interval = 3600},
    };
    enum { RUNS = 400 };
    uint64_t seed = 20250405;

    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        const struct ettr_model *model = &models[i];
        double first_order = model->failures * (model->restart + model->interval / 2);
        double sum = 0.0, squares = 0.0, mean, error;

        for (int run = 0; run < RUNS; run++) {
            double ettr = simulated_ettr(model, 100 / model->failures, &seed);

            sum += ettr;
            squares += ettr * ettr;
        }
        mean = sum / RUNS;
        error = sqrt((squares / RUNS - mean * mean) / RUNS);
        if (fabs(mean - expected_ettr(model)) > 3 * error + first_order * first_order)
            fail_msg("model %zu: simulated %.5f +- %.5f, expected %.5f", i, mean, error,
                     expected_ettr(model));
        assert_true(error < 0.001);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_published_case_comes_out),
        cmocka_unit_test(the_best_interval_is_best),
        cmocka_unit_test(a_simulation_agrees_within_its_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
