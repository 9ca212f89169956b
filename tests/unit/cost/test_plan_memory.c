/* Memory of planned runs: by hand, stage by stage. */
#include "cost/architectures/architecture_cost.h"
#include "cost/plan/plan_layer.h"
#include "support_plan.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static bool is_near(double one, double other)
{
    return fabs(one - other) <= 1e-9 * fmax(fabs(one), fabs(other));
}

static void recomputation_and_sharding_save_memory(void **state)
{
    struct architecture model = {0};
    struct plan_setting setting = plan_for(&model, "llama-3-8b");
    struct plan_layout layout = one_device;
    struct plan_memory all;
    struct plan_memory recomputed;
    struct plan_memory sharded;

    (void)state;
    layout.data = 8;
    all = plan_memory(&setting, &layout);
    layout.recompute = RECOMPUTE_FULL;
    recomputed = plan_memory(&setting, &layout);
    layout.zero = 3;
    sharded = plan_memory(&setting, &layout);
    assert_true(recomputed.activations < all.activations / 4.0);
    assert_true(all.weights == recomputed.weights);
    assert_true(fabs(sharded.weights * 8.0 / all.weights - 1.0) < 1e-9);
    assert_true(fabs(sharded.optimizer * 8.0 / all.optimizer - 1.0) < 1e-9);
    assert_true(sharded.least < sharded.total);
}

/* Of one micro-batch, so that each stage holds the activations of its own layers. */
static struct plan_memory memory_of_one(struct plan_setting *setting, struct plan_layout *layout,
                                        int64_t stages)
{
    setting->batch = 1;
    layout->pipeline = stages;
    layout->recompute = RECOMPUTE_FULL;
    return plan_memory(setting, layout);
}

/* 126 layers on 16 stages: 7 with the embedding, 14 times 8, 7 with the logits. 61 on 16: 4 each,
 * and one behind. */
static void the_fullest_stage_is_told(void **state)
{
    struct architecture model = {0};
    struct plan_setting setting = plan_for(&model, "llama-3-405b");
    struct plan_layout layout = one_device;
    struct plan_context context;
    double layer = plan_layer_parameters(&model.kinds[0]);
    double weights;

    (void)state;
    weights = memory_of_one(&setting, &layout, 16).weights;
    assert_true(layer > (double)model.token_embedding);
    assert_true(is_near(weights, 2.0 * 8.0 * layer));
    /* On two stages 63 each: the last one with the logits, as large as the embedding. */
    weights = memory_of_one(&setting, &layout, 2).weights;
    assert_true(
        is_near(weights, 2.0 * (63.0 * layer + (double)(model.output_matrix + model.final_norm))));
    context = plan_context_of(&setting, &layout);
    assert_true(is_near(plan_local_parameters(&context).dense * 2.0, weights));

    setting = plan_for(&model, "deepseek-v3");
    setting.is_uneven = true;
    weights = memory_of_one(&setting, &layout, 16).weights;
    /* Three of 61 layers have no experts, so that some stage has four with. */
    layer = plan_layer_parameters(&model.kinds[1]) + plan_expert_parameters(&model.kinds[1]);
    assert_int_equal(model.kinds[1].count, 58);
    assert_true(is_near(weights, 2.0 * 4.0 * layer));
}

/* On one device, each parameter has two bytes: of any kind of model. */
static void all_parameters_are_held(void **state)
{
    static const char *const models[] = {"llama-3-8b",  "gpt2",         "bert-base",   "vit-base",
                                         "t5-small",    "bart-base",    "gemma-2b",    "mamba-130m",
                                         "deepseek-v3", "mixtral-8x7b", "gpt-neox-20b"};

    (void)state;
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        struct architecture model = {0};
        struct plan_setting setting = plan_for(&model, models[i]);
        double parameters = (double)architecture_cost(&model, 512).total.parameters;

        assert_true(is_near(plan_memory(&setting, &one_device).weights, 2.0 * parameters));
    }
}

/* The first stage holds as many micro-batches as there are stages, and no logits, which the last
 * has beside one micro-batch: where these are large, that one is the fullest. */
static void a_stage_holds_its_own(void **state)
{
    struct architecture model = {0};
    struct plan_setting setting = plan_for(&model, "llama-3-8b");
    struct plan_layout layout = one_device;
    struct plan_memory many;
    struct plan_memory few;
    struct plan_memory chunked;

    (void)state;
    layout.pipeline = 4;
    many = plan_memory(&setting, &layout);
    setting.batch = 2;
    few = plan_memory(&setting, &layout);
    assert_true(many.activations > 1.9 * few.activations);
    setting.batch = 64;
    layout.chunks = 4;
    chunked = plan_memory(&setting, &layout);
    assert_true(chunked.activations > many.activations); /* by 3 of 16 chunks */
    assert_true(chunked.activations < 1.19 * many.activations);
    /* The runtime, and no logits. */
    assert_true(is_near(many.other, 2.0e9));
    layout.chunks = 1;
    layout.recompute = RECOMPUTE_FULL;
    few = plan_memory(&setting, &layout);
    assert_true(is_near(few.other, 2.0e9 + 6.0 * 4096.0 * 128256.0));
    /* Allocators keep a fifth more than tensors take. */
    assert_true(is_near(plan_reserved_bytes(&few), 2.0e9 + 1.2 * (few.total - 2.0e9)));
}

/* 4 + 4 + 8 bytes a parameter, and twice the bytes of what is kept and of logits. One device alone
 * gathers nothing, whatever it shards. */
static void numbers_of_32_bits_take_twice_as_many_bytes(void **state)
{
    struct architecture model = {0};
    struct plan_setting setting = plan_for(&model, "llama-3-8b");
    struct plan_layout layout = one_device;
    struct plan_memory half = plan_memory(&setting, &layout);
    struct plan_memory full;

    (void)state;
    setting.precision = PEAK_FP32;
    full = plan_memory(&setting, &layout);
    assert_true(is_near(half.weights, 2.0 * 8030261248.0));
    assert_true(is_near(full.weights, 4.0 * 8030261248.0));
    assert_true(is_near(full.gradients, 4.0 * 8030261248.0));
    assert_true(is_near(full.optimizer, 8.0 * 8030261248.0));
    assert_true(is_near(full.activations, 2.0 * half.activations));
    assert_true(is_near(full.other, 2.0e9 + 8.0 * 4096.0 * 128256.0));
    layout.zero = 3;
    assert_true(is_near(plan_memory(&setting, &layout).total, full.total));
}

/* Llama 3 8B: 4,096 columns in, 4,096 of queries, 1,024 of values, 4,096 of attention, 14,336 of
 * the first matrix are kept; keys, the result's product and the gate are computed again. */
static void operators_are_kept_and_computed_again(void **state)
{
    struct architecture model = {0};
    struct plan_setting setting = plan_for(&model, "llama-3-8b");
    struct plan_layout layout = one_device;
    struct plan_layout whole = one_device;
    const double kept = 2.0 * 4096.0 * (4096 + 4096 + 1024 + 4096 + 14336);
    const double all = 2.0 * 4096.0 * (5 * 4096 + 3 * 14336 + 4096 + 2048 + 4096);
    const double gradients = 2.0 * 4096.0 * (2 * 4096 + 3 * 14336);
    double computed;

    (void)state;
    layout.recompute = RECOMPUTE_SELECTIVE;
    setting.recomputed = PLAN_OPERATORS;
    assert_true(is_near(plan_memory(&setting, &layout).activations,
                        32.0 * kept + gradients + (all - kept)));
    computed =
        plan_step(&setting, &layout).hardware_flops - plan_step(&setting, &whole).hardware_flops;
    assert_true(fabs(computed / (64.0 * 4096 * 2.0 * 32 * 4096 * (1024 + 4096 + 14336)) - 1.0) <
                1e-6);
    /* Of half of the layers' width, on two devices. */
    layout.tensor = 2;
    assert_true(is_near(plan_kept_by_operators(&(struct plan_context){.setting = &setting,
                                                                      .layout = &layout,
                                                                      .tokens = 4096.0,
                                                                      .element = 2.0},
                                               &model.kinds[0]),
                        kept / 2.0));
}

/* Their order is known of layers with four projections and a dense feed-forward alone. */
static void operators_of_other_layers_are_refused(void **state)
{
    static const struct {
        const char *model;
        enum plan_attention attention;
        bool can;
    } cases[] = {
        {"llama-3-8b", PLAN_FLASH, true},   {"llama-3-8b", PLAN_UNFUSED, false},
        {"gpt2", PLAN_FLASH_2, true},       {"mixtral-8x7b", PLAN_FLASH, false},
        {"deepseek-v3", PLAN_FLASH, false}, {"mamba2-130m", PLAN_FLASH, false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct architecture model = {0};
        struct plan_setting setting = plan_for(&model, cases[i].model);
        struct plan_layout layout = one_device;

        layout.recompute = RECOMPUTE_SELECTIVE;
        setting.recomputed = PLAN_OPERATORS;
        setting.attention = cases[i].attention;
        assert_true(plan_check(&setting, &layout, NULL) == cases[i].can);
    }
}

/* Norms keep their input and what they normalize in 32 bits, a gate its activation, the loss three
 * times its logits in 32 bits; gradients come when those have gone, but where buckets or further
 * micro-batches hold them. */
static void eager_code_keeps_more_and_makes_gradients_late(void **state)
{
    struct architecture model = {0};
    struct plan_setting setting = plan_for(&model, "llama-3-8b");
    struct plan_layout layout = one_device;
    const double layer =
        4096.0 * (2.0 * (5 * 4096 + 4 * 14336 + 4096 + 2048 + 4096) + 2.0 * 6.0 * 4096);
    const double logits = 12.0 * 4096.0 * 128256.0;
    struct plan_memory memory;

    (void)state;
    setting.is_eager = true;
    setting.batch = 1;
    memory = plan_memory(&setting, &layout);
    assert_true(is_near(memory.activations, 32.0 * layer));
    assert_true(is_near(memory.other, 2.0e9 + logits));
    assert_true(is_near(memory.gradients, fmax(4.0 * 8030261248.0 - 32.0 * layer - logits, 0.0)));
    assert_true(memory.gradients < 4.0 * 8030261248.0);
    layout.recompute = RECOMPUTE_FULL;
    memory = plan_memory(&setting, &layout);
    assert_true(is_near(memory.gradients, 4.0 * 8030261248.0 - memory.activations - logits));
    assert_true(is_near(memory.activations, 32.0 * 4.0 * 4096.0 * 4096.0));
    setting.batch = 2;
    assert_true(is_near(plan_memory(&setting, &layout).gradients, 4.0 * 8030261248.0));
    layout.data = 2;
    assert_true(is_near(plan_memory(&setting, &layout).gradients, 4.0 * 8030261248.0));
    layout.zero = 3;
    assert_true(plan_memory(&setting, &layout).gradients < 2.0 * 8030261248.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(eager_code_keeps_more_and_makes_gradients_late),
        cmocka_unit_test(operators_are_kept_and_computed_again),
        cmocka_unit_test(operators_of_other_layers_are_refused),
        cmocka_unit_test(numbers_of_32_bits_take_twice_as_many_bytes),
        cmocka_unit_test(recomputation_and_sharding_save_memory),
        cmocka_unit_test(the_fullest_stage_is_told),
        cmocka_unit_test(all_parameters_are_held),
        cmocka_unit_test(a_stage_holds_its_own),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
