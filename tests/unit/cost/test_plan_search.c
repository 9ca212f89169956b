/* A search over layouts: what it keeps, and that nothing that it might have tried is faster. */
#include "cost/plan/plan_search.h"
#include "support_plan.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Each that is kept fits, is what plan_step says of it, and none is out of order, or cut as another
 * is. */
static void search_keeps_the_fastest(void **state)
{
    struct architecture model = {0};
    struct plan_setting setting = plan_for(&model, "llama-3-8b");
    struct plan_given given = {.has_zero = false};
    struct plan_search search;
    struct plan_search with_tensor;

    (void)state;
    plan_search(&search, &setting, &given, 64);
    assert_int_equal(search.best.count, PLAN_KEPT);
    assert_true(search.fitting <= search.planned);
    for (size_t i = 0; i < search.best.count; i++) {
        const struct plan_candidate *at = &search.best.candidates[i];

        assert_true(plan_check(&setting, &at->layout, NULL));
        assert_int_equal(plan_devices(&at->layout), 64);
        assert_true(plan_step(&setting, &at->layout).step == at->outcome.step);
        assert_true(at->outcome.memory.total <= (double)setting.device->memory_bytes);
        assert_true(i == 0 || at->outcome.step >= at[-1].outcome.step * (1.0 - 1e-9));
        for (size_t j = 0; j < i; j++) {
            const struct plan_layout *other = &search.best.candidates[j].layout;

            assert_false(at->layout.tensor == other->tensor &&
                         at->layout.pipeline == other->pipeline &&
                         at->layout.recompute == other->recompute &&
                         at->layout.micro * other->context == other->micro * at->layout.context);
        }
    }
    for (size_t i = 0; i < search.too_large.count; i++) {
        double lacks = search.too_large.candidates[i].outcome.memory.total /
                       (double)setting.device->memory_bytes;

        assert_true(lacks > 1.0 && lacks <= 1.5);
    }
    given.layout.tensor = 4;
    plan_search(&with_tensor, &setting, &given, 64);
    assert_true(with_tensor.planned > 0 && with_tensor.planned < search.planned);
    assert_true(with_tensor.best.candidates[0].outcome.step >=
                search.best.candidates[0].outcome.step * (1.0 - 1e-9));
    for (size_t i = 0; i < with_tensor.best.count; i++)
        assert_int_equal(with_tensor.best.candidates[i].layout.tensor, 4);
    setting.batch = 1;
    plan_search(&search, &setting, &given, 7);
    assert_int_equal(search.planned, 0);
}

/* 126 layers are eight chunks of each of 16 stages, where both ends stand for a layer; of 61 no
 * stages of 4 or 16 are equal, and 32 layers need no others. */
static void search_tries_the_stages_that_fit(void **state)
{
    struct architecture model = {0};
    struct plan_setting setting = plan_for(&model, "llama-3-405b");
    struct plan_given given = {.layout = {.tensor = 8, .pipeline = 16, .chunks = 8}};
    struct plan_search search;

    (void)state;
    plan_search(&search, &setting, &given, 512);
    assert_true(search.planned > 0);
    given = (struct plan_given){.layout = {.tensor = 8}};
    plan_search(&search, &setting, &given, 512);
    assert_int_equal(search.best.candidates[0].layout.pipeline, 16);
    assert_false(search.is_uneven);
    setting = plan_for(&model, "deepseek-v3");
    setting.batch = 2048;
    given = (struct plan_given){.layout = {.expert = 64}};
    plan_search(&search, &setting, &given, 1024);
    assert_true(search.is_uneven && search.stages > 4);
    setting = plan_for(&model, "llama-3-8b");
    given = (struct plan_given){.has_zero = false};
    plan_search(&search, &setting, &given, 64);
    assert_false(search.is_uneven);
}

/* The least time of all layouts of so many devices that fit, every number tried for every size. */
static double least_of_all(const struct plan_setting *setting, int64_t devices)
{
    double least = INFINITY;
    struct plan_layout at = one_device;

    for (at.tensor = 1; at.tensor <= setting->node; at.tensor++)
        for (at.pipeline = 1; at.tensor * at.pipeline <= devices; at.pipeline++)
            for (at.context = 1; at.tensor * at.pipeline * at.context <= devices; at.context++)
                for (at.expert = 1; at.expert <= devices; at.expert++)
                    for (at.micro = 1; at.micro <= setting->batch; at.micro++)
                        for (int i = 0; i < 8; i++) {
                            struct plan_outcome outcome;

                            at.zero = i / 2;
                            at.recompute = i % 2 ? RECOMPUTE_FULL : RECOMPUTE_NONE;
                            at.data = devices / (at.tensor * at.pipeline * at.context);
                            if (plan_devices(&at) != devices || !plan_check(setting, &at, NULL))
                                continue;
                            outcome = plan_step(setting, &at);
                            if (outcome.memory.total <= (double)setting->device->memory_bytes)
                                least = fmin(least, outcome.step);
                        }
    return least;
}

/* Devices and samples that are no power of two: passes of 3 samples, 5 of 40 experts on a device, a
 * sequence that two devices share, heads among three. */
static void no_layout_outside_is_faster(void **state)
{
    static const struct {
        const char *model;
        int64_t devices;
        int64_t batch;
        int64_t sequence;
    } cases[] = {{"llama-3.2-1b", 4, 12, 2048},
                 {"gpt2", 12, 36, 1024},
                 {"gpt2", 12, 2, 1024},
                 {"granite-3.1-3b-a800m", 10, 30, 1024}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct architecture model = {0};
        struct plan_setting setting = plan_for(&model, cases[i].model);
        struct plan_given given = {.has_zero = false};
        struct plan_search search;
        double least;

        setting.batch = cases[i].batch;
        setting.sequence = cases[i].sequence;
        plan_search(&search, &setting, &given, cases[i].devices);
        least = least_of_all(&setting, cases[i].devices);
        assert_true(search.best.count > 0);
        assert_true(search.best.candidates[0].outcome.step <= least * (1.0 + 1e-9));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(search_keeps_the_fastest),
        cmocka_unit_test(search_tries_the_stages_that_fit),
        cmocka_unit_test(no_layout_outside_is_faster),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
