/* What a planned layer's attention takes, and what stands between its matmuls. */
#include "cost/devices/find_device_peak.h"
#include "cost/plan/plan_operators.h"
#include "support_plan.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* DeepEP leaves the tokens' weights in 32 bits, and biases with them: 28 bytes a column of each
 * routed token in place of 12, and 40 of 16 backward, but NCCL's exchange sorts by 8 and 8. */
static void biases_are_added_in_32_bits_behind_deepep(void **state)
{
    struct architecture model = {0};
    struct plan_setting setting = plan_for(&model, "mixtral-8x7b");
    struct plan_layout layout = one_device;
    struct plan_context context = plan_context_of(&setting, &layout);
    double column = (double)(setting.batch * setting.sequence * model.kinds[0].experts_per_token) /
                    4.0 * (double)(model.hidden_size * model.layers) / context.memory_rate;
    double kernels = (double)(setting.batch * model.layers) * KERNEL_SECONDS;
    double copied;

    (void)state;
    model.kinds[0].expert_other = 1;
    layout.data = layout.expert = 4;
    setting.sends_copies = true;
    copied = plan_step(&setting, &layout).accounts[PLAN_MEMORY];
    setting.sends_copies = false;
    assert_true(
        fabs((plan_step(&setting, &layout).accounts[PLAN_MEMORY] - copied + kernels) / column -
             (16.0 + 24.0 - 8.0 - 8.0)) < 1e-6);
}

/* 20 and 22 bytes a column of queries and keys beyond those of a fused kernel. */
static void unfused_rotation_streams_more(void **state)
{
    struct architecture model = {0};
    struct plan_setting setting = plan_for(&model, "llama-3-8b");
    struct plan_context context = plan_context_of(&setting, &one_device);
    double tokens = (double)(setting.batch * setting.sequence);
    double least = plan_step(&setting, &one_device).accounts[PLAN_MEMORY];
    double bytes = tokens * 42.0 * (32 + 8) * 128.0;
    double kernels = 22.0 * (double)setting.batch;

    (void)state;
    setting.rotates_apart = true;
    assert_true(fabs((plan_step(&setting, &one_device).accounts[PLAN_MEMORY] - least) /
                         (32.0 * (bytes / context.memory_rate + kernels * KERNEL_SECONDS)) -
                     1.0) < 1e-6);
}

static double attention_of(struct plan_setting setting)
{
    struct plan_outcome outcome = plan_step(&setting, &one_device);

    return outcome.accounts[PLAN_ATTENTION];
}

/* As many FLOPs in heads of 64 have twice as many exponentials: on Hopper, where products overlap
 * them, as much longer as they took before, forward and backward; larger heads and Ampere are as
 * before. */
static void smaller_heads_have_more_exponentials(void **state)
{
    struct device_match match;
    struct architecture model = {0};
    struct plan_setting setting = plan_for(&model, "llama-3-8b");
    struct layer_kind *kind = &model.kinds[0];
    const struct plan_rates *rates;
    double of_ampere = attention_of(setting);
    double of_128;
    double forward;

    (void)state;
    setting.device = find_device_peak("H100 SXM", NULL, &match);
    rates = plan_rates_of(setting.device);
    of_128 = attention_of(setting);
    forward = (of_128 + 3.0 * 4.0 * 4096.0 * 4096.0 / 2.0 * 4096.0 * 64.0 * 32.0 /
                            setting.device->peaks[PEAK_BF16]) /
              (1.0 + 2.0 / rates->backward);
    kind->heads *= 2;
    kind->key_size /= 2;
    kind->value_size /= 2;
    assert_true(fabs((attention_of(setting) - of_128) / (2.0 * (1.0 - rates->flash) * forward) -
                     1.0) < 0.02);
    setting.attention = PLAN_FLASH_2;
    assert_true(attention_of(setting) > of_128);
    setting.attention = PLAN_FLASH;
    setting.device = find_device_peak("A100-SXM4-80GB", NULL, &match);
    assert_true(fabs(attention_of(setting) / of_ampere - 1.0) < 1e-9);
    setting.device = find_device_peak("H100 SXM", NULL, &match);
    kind->heads /= 4;
    kind->key_size *= 4;
    kind->value_size *= 4;
    assert_true(fabs(attention_of(setting) / of_128 - 1.0) < 1e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(biases_are_added_in_32_bits_behind_deepep),
        cmocka_unit_test(unfused_rotation_streams_more),
        cmocka_unit_test(smaller_heads_have_more_exponentials),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
