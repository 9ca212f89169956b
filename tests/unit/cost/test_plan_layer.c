/* What a planned layer's attention takes, what stands between its matmuls, how layers are shared
 * by stages, and what their gradients take. */
#include "cost/devices/find_device_peak.h"
#include "cost/plan/plan_layer.h"
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

/* sglang, pull request 2904, its own kernel on H100: constants were chosen on these. */
static void own_kernels_reduce_as_measured(void **state)
{
    static const double bytes[] = {512.0, 32768.0, 262144.0, 1048576.0};
    static const struct {
        int64_t devices;
        double us[4];
    } measured[] = {
        {2, {3.7, 4.5, 7.9, 19.9}}, {4, {4.8, 4.8, 13.9, 31.1}}, {8, {5.9, 7.8, 16.7, 33.8}}};
    struct device_match match;
    struct architecture model = {0};
    struct plan_setting setting = plan_for(&model, "llama-3-8b");
    struct plan_layout layout = one_device;

    (void)state;
    setting.device = find_device_peak("H100 SXM", NULL, &match);
    for (size_t i = 0; i < sizeof measured / sizeof *measured; i++) {
        struct plan_context context;

        layout.tensor = measured[i].devices;
        context = plan_context_of(&setting, &layout);
        for (size_t k = 0; k < sizeof bytes / sizeof *bytes; k++) {
            double planned = plan_one_shot_seconds(&context, bytes[k]) * 1e6;

            assert_true(fabs(planned / measured[i].us[k] - 1.0) < 0.3);
        }
    }
}

/* Never slower than NCCL, which large messages take, and no other than it beyond a domain, or eight
 * devices. */
static void servers_reduce_by_the_faster_kernel(void **state)
{
    struct architecture model = {0};
    struct plan_setting setting = plan_for(&model, "llama-3-8b");
    struct plan_setting by_nccl = setting;

    (void)state;
    by_nccl.reduces_by_nccl = true;
    for (int64_t tensor = 1; tensor <= 16; tensor *= 2)
        for (int64_t requests = 1; requests <= 65536; requests *= 16) {
            struct plan_requests decode = {requests, 1, 128, true};
            double own = plan_serving_step(&setting, tensor, decode).seconds;
            double nccl = plan_serving_step(&by_nccl, tensor, decode).seconds;

            assert_true(own <= nccl);
            if (tensor == 1 || tensor > setting.node || requests > 4096)
                assert_true(own >= nccl);
            else if (requests == 1)
                assert_true(own < 0.95 * nccl);
        }
}

/* Between micro-batches a stage has its weights and gradients whole, and gathers them once. */
static void fsdp_keeps_a_stage_whole(void **state)
{
    struct architecture model = {0};
    struct plan_setting setting = plan_for(&model, "llama-3-8b");
    struct plan_layout layout = one_device;
    struct plan_outcome whole;
    struct plan_outcome sharded;

    (void)state;
    layout.pipeline = 4;
    layout.data = 8;
    layout.zero = 3;
    whole = plan_step(&setting, &layout);
    setting.gathers_each_pass = true;
    sharded = plan_step(&setting, &layout);
    assert_true(fabs(whole.memory.weights / sharded.memory.weights - 8.0) < 1e-9);
    assert_true(fabs(whole.memory.gradients / sharded.memory.gradients - 8.0) < 1e-9);
    assert_true(fabs(whole.memory.optimizer / sharded.memory.optimizer - 1.0) < 1e-9);
    assert_true(whole.accounts[PLAN_SHARDS] < sharded.accounts[PLAN_SHARDS]);
    layout.pipeline = 1;
    sharded = plan_step(&setting, &layout);
    setting.gathers_each_pass = false;
    whole = plan_step(&setting, &layout);
    assert_true(fabs(whole.step / sharded.step - 1.0) < 1e-12);
    assert_true(fabs(whole.memory.total / sharded.memory.total - 1.0) < 1e-12);
}

/* DeepSpeed's optimizer of bf16 shards its states alone: twice the bytes of a scatter. */
static void gradients_are_reduced_whole_where_asked(void **state)
{
    struct architecture model = {0};
    struct plan_setting setting = plan_for(&model, "llama-3-8b");
    struct plan_layout layout = {1, 1, 1, 1, 1, 64, 1, 1, RECOMPUTE_NONE};
    struct plan_outcome scattered;
    struct plan_outcome whole;

    (void)state;
    setting.hides_gradients = false;
    scattered = plan_step(&setting, &layout);
    setting.reduces_whole = true;
    whole = plan_step(&setting, &layout);
    assert_true(whole.accounts[PLAN_GRADIENTS] > 1.9 * scattered.accounts[PLAN_GRADIENTS]);
    assert_true(whole.accounts[PLAN_SHARDS] == scattered.accounts[PLAN_SHARDS]);
    assert_true(whole.memory.total == scattered.memory.total);
    layout.zero = 0;
    whole = plan_step(&setting, &layout);
    setting.reduces_whole = false;
    assert_true(whole.step == plan_step(&setting, &layout).step);
}

/* Layers that four stages do not divide: of 14 the ends stand for two more, of 13 the last stage
 * has one, and no stage works longer than on four. Of 16 the one with the loss has four, too. */
static void the_last_stage_has_fewer_layers(void **state)
{
    struct architecture model = {0};
    struct plan_setting setting = plan_for(&model, "llama-3-8b");
    struct plan_layout layout = {1, 4, 1, 1, 1, 1, 1, 1, RECOMPUTE_NONE};
    double steps[4];

    (void)state;
    setting.batch = 256;
    setting.is_uneven = true;
    model.output_matrix /= 4;
    for (int i = 0; i < 4; i++) {
        model.layers = 13 + i;
        model.kinds[0].count = 13 + i;
        steps[i] = plan_step(&setting, &layout).step;
    }
    assert_true(steps[0] < steps[1] && steps[1] < steps[3] && steps[2] < steps[3]);
    assert_true(steps[1] - steps[0] < 0.03 * steps[0]);
    assert_true(steps[3] - steps[1] > 0.05 * steps[1]);
}

/* Half of the layers in the host's memory: half of what is kept, but not of the layer at work. */
static void the_host_keeps_activations(void **state)
{
    struct architecture model = {0};
    struct plan_setting setting = plan_for(&model, "llama-3-8b");
    struct plan_outcome plain = plan_step(&setting, &one_device);
    struct plan_outcome half;

    (void)state;
    setting.offloaded_layers = model.layers / 2;
    half = plan_step(&setting, &one_device);
    assert_true(half.memory.activations < 0.6 * plain.memory.activations);
    assert_true(half.memory.activations > 0.5 * plain.memory.activations);
    assert_true(half.step == plain.step);
    setting.offloaded_layers = model.layers + 1;
    assert_false(plan_check(&setting, &one_device, NULL));
}

/* DeepSeek V3's own layer for one token more: 4 % of the FLOPs, at the end of the last stage. */
static void further_tokens_take_a_layer_and_logits(void **state)
{
    struct architecture model = {0};
    struct plan_setting setting = plan_for(&model, "deepseek-v3");
    struct plan_layout layout = {1, 1, 1, 1, 64, 64, 1, 1, RECOMPUTE_NONE};
    struct plan_outcome plain = plan_step(&setting, &layout);
    struct plan_outcome further;

    (void)state;
    setting.predicts_further = true;
    further = plan_step(&setting, &layout);
    assert_true(fabs(further.useful_flops / plain.useful_flops - 1.042) < 0.004);
    assert_true(
        fabs(further.accounts[PLAN_USEFUL] * further.peak * further.devices / further.useful_flops -
             1.0) < 0.01);
    assert_true(further.memory.weights > plain.memory.weights);
    assert_true(plan_check(&setting, &layout, NULL));
    model.prediction_layers = 0;
    assert_false(plan_check(&setting, &layout, NULL));
}

/* What the logits' matmuls are slower by, of one column more or two, in the code that does not pad.
 */
static double slower_by_columns(struct plan_setting setting, struct architecture *model,
                                int64_t more)
{
    double before = plan_step(&setting, &one_device).accounts[PLAN_RATE];
    double after;

    model->output_matrix += more * model->hidden_size;
    after = plan_step(&setting, &one_device).accounts[PLAN_RATE];
    model->output_matrix -= more * model->hidden_size;
    return after - before;
}

/* 128 and 269 TFLOP/s on an H100's 132 multiprocessors; 8 columns more, and what pads, change as
 * little as they are. */
static void rows_of_no_16_bytes_are_slow(void **state)
{
    struct device_match match;
    struct architecture model = {0};
    struct plan_setting setting = plan_for(&model, "llama-3-8b");
    double flops = 6.0 * (double)(setting.batch * setting.sequence * model.output_matrix);
    double usual;

    (void)state;
    setting.device = find_device_peak("H100 SXM", NULL, &match);
    usual = flops / (setting.device->peaks[PEAK_BF16] * plan_rates_of(setting.device)->matrix);
    assert_true(fabs(slower_by_columns(setting, &model, 1)) < 0.001 * usual);
    setting.is_eager = true;
    assert_true(fabs(slower_by_columns(setting, &model, 8)) < 0.001 * usual);
    assert_true(fabs((slower_by_columns(setting, &model, 1) + usual) / (flops / (132.0 * 0.97e12)) -
                     1.0) < 0.01);
    assert_true(fabs((slower_by_columns(setting, &model, 2) + usual) / (flops / (132.0 * 2.04e12)) -
                     1.0) < 0.01);
}

/* What norms, the residual and the like stream is twice as much in 32 bits; in eager code they
 * compute in 32 bits either way. */
static void activations_of_32_bits_stream_twice_as_much(void **state)
{
    struct architecture model = {0};
    struct plan_setting setting = plan_for(&model, "llama-3-8b");
    const double kernels = 3e-6 * 30.0 * 32.0;
    double of_16[2];
    double of_32[2];

    (void)state;
    setting.accumulated_bytes = 0;
    for (int i = 0; i < 2; i++) {
        struct plan_context context;

        setting.is_eager = i == 1;
        setting.precision = PEAK_BF16;
        context = plan_context_of(&setting, &one_device);
        of_16[i] = plan_layers(&context).forward.accounts[PLAN_MEMORY] +
                   plan_layers(&context).backward.accounts[PLAN_MEMORY] - kernels;
        setting.precision = PEAK_FP32;
        context = plan_context_of(&setting, &one_device);
        of_32[i] = plan_layers(&context).forward.accounts[PLAN_MEMORY] +
                   plan_layers(&context).backward.accounts[PLAN_MEMORY] - kernels;
    }
    assert_true(fabs(of_32[0] / of_16[0] - 2.0) < 0.01);
    assert_true(fabs(of_16[1] / of_16[0] - 2.5) < 0.01);
    assert_true(fabs(of_32[1] / of_16[1] - 1.0) < 0.01);
}

/* Heads of 64 on a device whose fastest kernel is little faster than FlashAttention-2. */
static void the_fastest_kernel_is_not_slower_than_another(void **state)
{
    static const char *const devices[] = {"L4", "L40S", "H100 SXM", "B200", "A100-SXM4-80GB"};
    struct architecture model = {0};
    struct plan_setting setting = plan_for(&model, "opt-125m");

    (void)state;
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
        struct device_match match;
        double seconds[2];

        setting.device = find_device_peak(devices[i], NULL, &match);
        assert_non_null(setting.device);
        for (int j = 0; j < 2; j++) {
            struct plan_context context;

            setting.attention = j == 0 ? PLAN_FLASH : PLAN_FLASH_2;
            context = plan_context_of(&setting, &one_device);
            seconds[j] = plan_layers(&context).forward.accounts[PLAN_ATTENTION];
        }
        assert_true(seconds[0] <= seconds[1]);
    }
}

/* 1,024 columns of keys and as many of values, of half of the sequence each. What attention takes
 * at the peak hides them as well as what it takes beyond. */
static void all_of_attention_hides_the_ring(void **state)
{
    struct architecture model = {0};
    struct plan_setting setting = plan_for(&model, "llama-3-8b");
    struct plan_layout layout = one_device;
    struct plan_context context;
    struct plan_pass attention = {.device = 0.0};
    struct plan_pass forward;
    double seconds;

    (void)state;
    layout.context = 2;
    setting.node = 1;
    setting.network = 30e9;
    context = plan_context_of(&setting, &layout);
    seconds = plan_collective_seconds(&context, PLAN_ALL_GATHER, 2.0 * 4096 * 2048,
                                      (struct plan_group){2, 1});
    plan_add_scores(&context, &model.kinds[0], &attention, false);
    forward = plan_layers(&context).forward;
    /* Longer than what is beyond the peak, shorter than all. */
    assert_true(seconds > 1.2 * attention.accounts[PLAN_ATTENTION]);
    assert_true(seconds < attention.device);
    assert_true(fabs(forward.accounts[PLAN_CONTEXT] / (32.0 * 0.1 * seconds) - 1.0) < 1e-9);
    setting.network = 1e9;
    context = plan_context_of(&setting, &layout);
    seconds = plan_collective_seconds(&context, PLAN_ALL_GATHER, 2.0 * 4096 * 2048,
                                      (struct plan_group){2, 1});
    forward = plan_layers(&context).forward;
    assert_true(fabs(forward.accounts[PLAN_CONTEXT] / (32.0 * (seconds - attention.device)) - 1.0) <
                1e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_of_attention_hides_the_ring),
        cmocka_unit_test(activations_of_32_bits_stream_twice_as_much),
        cmocka_unit_test(the_fastest_kernel_is_not_slower_than_another),
        cmocka_unit_test(biases_are_added_in_32_bits_behind_deepep),
        cmocka_unit_test(unfused_rotation_streams_more),
        cmocka_unit_test(smaller_heads_have_more_exponentials),
        cmocka_unit_test(own_kernels_reduce_as_measured),
        cmocka_unit_test(servers_reduce_by_the_faster_kernel),
        cmocka_unit_test(fsdp_keeps_a_stage_whole),
        cmocka_unit_test(gradients_are_reduced_whole_where_asked),
        cmocka_unit_test(the_last_stage_has_fewer_layers),
        cmocka_unit_test(the_host_keeps_activations),
        cmocka_unit_test(further_tokens_take_a_layer_and_logits),
        cmocka_unit_test(rows_of_no_16_bytes_are_slow),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
