/* What each tool would print for known models. */
#include "cost/architectures/architecture_cost.h"
#include "cost/architectures/convention.h"
#include "cost/architectures/read_architecture.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static struct architecture read_model(const char *name)
{
    struct architecture architecture;
    struct error error = {0};
    char path[128];

    snprintf(path, sizeof path, "tests/models/%s.json", name);
    if (!architecture_read(&architecture, path, &error))
        fail_msg("%s", error.message);
    return architecture;
}

static double count(const char *model, const char *convention, int64_t sequence,
                    enum recompute recompute)
{
    struct architecture architecture = read_model(model);
    struct convention_setting setting = {.sequence = sequence, .recompute = recompute};
    const struct convention *found = convention_named(convention);

    assert_non_null(found);
    return found->count(&architecture, setting);
}

/* Worked out by hand from each tool's source. */
static void worked_numbers_come_out(void **state)
{
    static const struct {
        const char *model;
        int64_t sequence;
        double gflops; /* of a token, exact */
    } exact[] = {
        {"llama-3-8b", 2048, 46.64},   {"llama-3-8b", 8192, 51.47},  {"llama-3-8b", 32768, 70.80},
        {"llama-3-8b", 131072, 148.1}, {"llama-3-405b", 8192, 2524}, {"mixtral-8x7b", 4096, 79.7},
        {"deepseek-v3", 4096, 250.6},
    };

    for (size_t i = 0; i < sizeof exact / sizeof exact[0]; i++) {
        double gflops = count(exact[i].model, "exact", exact[i].sequence, RECOMPUTE_NONE) / 1e9;

        if (fabs(gflops / exact[i].gflops - 1.0) > 1e-3)
            fail_msg("%s at %lld: %.3f GFLOP", exact[i].model, (long long)exact[i].sequence,
                     gflops);
    }
}

struct ratio {
    const char *model;
    int64_t sequence;
    const char *convention;
    enum recompute recompute;
    double ratio; /* to exact */
};

static const struct ratio ratios[] = {
    {"llama-3-8b", 2048, "megatron", RECOMPUTE_NONE, 1.000},
    {"llama-3-8b", 8192, "maxtext", RECOMPUTE_NONE, 1.000},
    {"llama-3-8b", 8192, "nemo", RECOMPUTE_NONE, 1.000},
    {"llama-3-8b", 2048, "torchtitan", RECOMPUTE_NONE, 1.035},
    {"llama-3-8b", 8192, "torchtitan", RECOMPUTE_NONE, 1.125},
    {"llama-3-8b", 32768, "torchtitan", RECOMPUTE_NONE, 1.364},
    {"llama-3-8b", 131072, "torchtitan", RECOMPUTE_NONE, 1.696},
    {"llama-3-405b", 8192, "torchtitan", RECOMPUTE_NONE, 1.040},
    {"llama-3-8b", 8192, "olmo-core", RECOMPUTE_NONE, 1.125},
    {"llama-3-8b", 8192, "nanotron", RECOMPUTE_NONE, 1.125},
    {"llama-3-8b", 8192, "deepspeed", RECOMPUTE_NONE, 1.125},
    {"llama-3-8b", 2048, "palm", RECOMPUTE_NONE, 1.102},
    {"llama-3-8b", 8192, "palm", RECOMPUTE_NONE, 1.186},
    {"llama-3-8b", 8192, "nanogpt", RECOMPUTE_NONE, 1.186},
    {"llama-3-8b", 8192, "llm-foundry", RECOMPUTE_NONE, 1.186},
    {"llama-3-8b", 32768, "palm", RECOMPUTE_NONE, 1.409},
    {"llama-3-8b", 131072, "palm", RECOMPUTE_NONE, 1.717},
    {"llama-3-405b", 8192, "palm", RECOMPUTE_NONE, 1.045},
    {"llama-3-8b", 2048, "internevo", RECOMPUTE_NONE, 1.138},
    {"llama-3-8b", 8192, "internevo", RECOMPUTE_NONE, 1.219},
    {"llama-3-8b", 32768, "internevo", RECOMPUTE_NONE, 1.432},
    {"llama-3-8b", 131072, "internevo", RECOMPUTE_NONE, 1.729},
    {"llama-3-405b", 8192, "internevo", RECOMPUTE_NONE, 1.191},
    {"llama-3-8b", 2048, "internevo", RECOMPUTE_FULL, 1.495},
    {"llama-3-8b", 8192, "internevo", RECOMPUTE_FULL, 1.605},
    {"llama-3-8b", 32768, "internevo", RECOMPUTE_FULL, 1.895},
    {"llama-3-8b", 131072, "internevo", RECOMPUTE_FULL, 2.298},
    {"llama-3-405b", 8192, "internevo", RECOMPUTE_FULL, 1.586},
    {"llama-3-8b", 2048, "megatron-sc21", RECOMPUTE_NONE, 1.265},
    {"llama-3-8b", 8192, "megatron-sc21", RECOMPUTE_NONE, 1.396},
    {"llama-3-8b", 32768, "megatron-sc21", RECOMPUTE_NONE, 1.743},
    {"llama-3-8b", 131072, "megatron-sc21", RECOMPUTE_NONE, 2.225},
    {"llama-3-405b", 8192, "megatron-sc21", RECOMPUTE_NONE, 1.399},
    {"llama-3-8b", 8192, "nemo-default", RECOMPUTE_NONE, 0.906},
    {"llama-3-8b", 8192, "megatron-deepspeed", RECOMPUTE_NONE, 1.094},
    {"llama-3-8b", 8192, "megatron-deepspeed", RECOMPUTE_FULL, 1.459},
    {"mixtral-8x7b", 4096, "torchtitan", RECOMPUTE_NONE, 1.04},
    {"mixtral-8x7b", 4096, "6n", RECOMPUTE_NONE, 3.5},
    {"mixtral-8x7b", 4096, "internevo", RECOMPUTE_NONE, 0.68},
    {"deepseek-v3", 4096, "torchtitan", RECOMPUTE_NONE, 1.123},
    {"deepseek-v3", 4096, "6n-active", RECOMPUTE_NONE, 0.90},
    {"deepseek-v3", 4096, "6n", RECOMPUTE_NONE, 16.0},
};

/* Half of the last digit given, or 0.1 %. */
static double tolerance_of(double ratio)
{
    double two_digits = fabs(ratio * 100.0 - round(ratio * 100.0)) < 1e-9 ? 0.005 : 0.0005;

    return ratio >= 3.0 ? 0.1 : fmax(two_digits, 0.001 * ratio);
}

static void other_tools_differ_as_known(void **state)
{
    for (size_t i = 0; i < sizeof ratios / sizeof ratios[0]; i++) {
        const struct ratio *known = &ratios[i];
        double exact = count(known->model, "exact", known->sequence, RECOMPUTE_NONE);
        double other = count(known->model, known->convention, known->sequence, known->recompute);

        if (fabs(other / exact - known->ratio) > tolerance_of(known->ratio))
            fail_msg("%s at %lld, %s: %.4f, not %.4f", known->model, (long long)known->sequence,
                     known->convention, other / exact, known->ratio);
    }
}

static void what_the_device_computes_is_more(void **state)
{
    static const struct {
        int64_t sequence;
        double ratio;
    } full[] = {{2048, 1.317}, {8192, 1.334}, {32768, 1.379}, {131072, 1.442}};
    struct architecture llama = read_model("llama-3-8b");
    struct convention_setting setting = {.recompute = RECOMPUTE_FULL};

    for (size_t i = 0; i < sizeof full / sizeof full[0]; i++) {
        double exact = count("llama-3-8b", "exact", full[i].sequence, RECOMPUTE_NONE);

        setting.sequence = full[i].sequence;
        assert_true(fabs(hardware_flops(&llama, setting) / exact - full[i].ratio) < 0.0015);
    }
    setting.recompute = RECOMPUTE_NONE;
    setting.sequence = 1;
    assert_true(hardware_flops(&llama, setting) > count("llama-3-8b", "exact", 1, RECOMPUTE_NONE));
}

static void formulas_that_do_not_fit_say_so(void **state)
{
    assert_true(count("bert-base", "palm", 512, RECOMPUTE_NONE) < 0.0);
    assert_true(count("mamba-130m", "internevo", 512, RECOMPUTE_NONE) < 0.0);
    assert_true(count("mamba-130m", "exact", 512, RECOMPUTE_NONE) > 0.0);
    assert_true(count("bert-base", "exact", 512, RECOMPUTE_NONE) > 0.0);
    assert_true(count("mixtral-8x7b", "nemo", 4096, RECOMPUTE_NONE) < 0.0);
    assert_null(convention_named("megatron-lm"));
}

/* No formula divides by zero or goes below zero on any model. */
static void every_convention_counts_every_model(void **state)
{
    static const char *const models[] = {
        "llama-3.2-1b", "mistral-7b", "qwen2-57b-a14b", "gemma-3-1b", "deepseek-v2-lite", "gpt2",
        "gpt-neox-20b", "bert-base",  "vit-base",       "mamba-130m", "mamba2-130m"};
    size_t convention_count;
    const struct convention *conventions = all_conventions(&convention_count);

    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++)
        for (size_t j = 0; j < convention_count; j++) {
            double flops = count(models[i], conventions[j].name, 1, RECOMPUTE_NONE);

            assert_true(flops == -1.0 || (flops > 0.0 && isfinite(flops)));
            assert_ptr_equal(convention_named(conventions[j].name), &conventions[j]);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(worked_numbers_come_out),
        cmocka_unit_test(other_tools_differ_as_known),
        cmocka_unit_test(what_the_device_computes_is_more),
        cmocka_unit_test(formulas_that_do_not_fit_say_so),
        cmocka_unit_test(every_convention_counts_every_model),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
