/* Memory of weights, gradients and optimizer under each kind of sharding, and of a planned step. */
#include "cost/architectures/architecture_cost.h"
#include "cost/architectures/model_memory.h"
#include "cost/architectures/read_architecture.h"
#include "cost/devices/find_device_peak.h"
#include "cost/plan/plan.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const struct parameter_bytes mixed = {.weight = 2, .gradient = 2, .optimizer = 12};

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

static void one_device_holds_all(void **state)
{
    static const char *const models[] = {"llama-3-8b", "llama-3.2-1b", "deepseek-v3", "bert-base",
                                         "vit-base",   "mamba2-130m",  "gpt2"};
    struct model_layout layout = {1, 1, 1, 1, 0};

    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++) {
        struct architecture architecture = read_model(models[i]);
        struct model_memory memory = model_memory(&architecture, &layout, mixed);
        struct architecture_cost cost = architecture_cost(&architecture, 128);

        assert_int_equal(memory.parameters, cost.total.parameters);
        assert_int_equal(memory.weights_bytes, 2 * cost.total.parameters);
        assert_int_equal(memory.optimizer_bytes, 12 * cost.total.parameters);
    }
}

/* The example of the ZeRO paper: 7.5 billion parameters on 64 devices are 120, 31.4, 16.6 and 1.9
 * gigabytes. Layers of 300 million make them here. */
static void zero_divides_what_it_shards(void **state)
{
    struct architecture model = {.layers = 25, .is_causal = true};
    struct layer_kind kind = {.feed_matrix = 300000000};
    static const double gigabytes[4] = {120.0, 31.4, 16.6, 1.9};

    architecture_add_layers(&model, kind, 25);
    for (int zero = 0; zero <= 3; zero++) {
        struct model_layout layout = {64, 1, 1, 1, zero};
        struct model_memory memory = model_memory(&model, &layout, mixed);
        double all =
            (double)(memory.weights_bytes + memory.gradients_bytes + memory.optimizer_bytes) / 1e9;

        assert_true(all > gigabytes[zero] - 0.06 && all < gigabytes[zero] + 0.06);
    }
}

static void matrices_and_layers_are_split(void **state)
{
    struct architecture llama = read_model("llama-3-8b");
    struct model_layout layout = {1, 8, 4, 1, 0};
    struct model_memory memory = model_memory(&llama, &layout, mixed);
    int64_t layer = 41943040 + 3 * INT64_C(4096) * 14336;

    /* 8 layers and the logits, the matrices by 8, two norms a layer and the last one whole */
    assert_int_equal(memory.parameters,
                     (8 * layer + 128256 * INT64_C(4096)) / 8 + 8 * 2 * 4096 + 4096);
}

static void experts_are_shared_among_replicas(void **state)
{
    struct architecture mixtral = read_model("mixtral-8x7b");
    struct model_layout apart = {8, 1, 1, 1, 0};
    struct model_layout shared = {8, 1, 1, 8, 0};
    int64_t experts = INT64_C(32) * 8 * 3 * 4096 * 14336;
    struct model_memory before = model_memory(&mixtral, &apart, mixed);
    struct model_memory after = model_memory(&mixtral, &shared, mixed);

    assert_int_equal(before.parameters - after.parameters, experts - experts / 8);
    /* one replica of each expert is left: the optimizer of experts is not sharded further */
    shared.zero = 1;
    after = model_memory(&mixtral, &shared, mixed);
    assert_int_equal(after.optimizer_bytes,
                     12 * (experts / 8 + (before.parameters - experts + 7) / 8));
}

static void layouts_that_cannot_be_are_told(void **state)
{
    static const struct {
        const char *model;
        struct model_layout layout;
        const char *says;
    } cases[] = {
        {"llama-3-8b", {1, 3, 1, 1, 0}, "--tp is 3"},
        {"llama-3-8b", {1, 1, 33, 1, 0}, "--pp is 33"},
        {"llama-3-8b", {8, 1, 1, 2, 0}, "no experts"},
        {"mixtral-8x7b", {9, 1, 1, 3, 0}, "does not divide the 8 experts"},
        {"mixtral-8x7b", {2, 1, 1, 4, 0}, "does not divide the 2 devices of --dp"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct architecture architecture = read_model(cases[i].model);
        struct error error = {0};

        assert_false(model_layout_check(&architecture, &cases[i].layout, &error));
        assert_int_equal(error.class, ERROR_USAGE);
        assert_non_null(strstr(error.message, cases[i].says));
    }
}

/* Gradients in 16 bits have a copy in 32 of what ZeRO leaves of them, once that is more than the
 * activations: 20 bytes a parameter on one device, as Megatron's logs show. By hand: the inputs of
 * 32 layers of Llama 3 8B, one of them whole, and in its backward gradients of its input and its
 * output, which all of a tensor group hold, and of three results in its feed-forward. */
static void plan_has_copies_and_gradients_at_work(void **state)
{
    struct architecture model = read_model("llama-3-8b");
    struct device_match match;
    struct plan_setting setting = {.model = &model,
                                   .device = find_device_peak("A100-SXM4-80GB", NULL, &match),
                                   .precision = PEAK_BF16,
                                   .sequence = 4096,
                                   .batch = 64,
                                   .gradient_bytes = 2,
                                   .splits_sequence = true};
    struct plan_layout layout = {.tensor = 8,
                                 .pipeline = 1,
                                 .chunks = 1,
                                 .context = 1,
                                 .expert = 1,
                                 .data = 1,
                                 .micro = 1,
                                 .recompute = RECOMPUTE_FULL};
    struct plan_memory memory = plan_memory(&setting, &layout);
    double layer = 2.0 * 4096 * (5.0 * 4096 + 3.0 * 14336 + 6144 + 4096) / 8;
    double working = 2.0 * 4096 * (2.0 * 4096 + 3.0 * 14336 / 8);

    assert_true(fabs(memory.activations - 32 * 2.0 * 4096 * 4096 / 8 - layer - working) < 1.0);
    assert_true(fabs(memory.total - 2e9 - 20.0 * memory.weights / 2.0) < 1.0);
    layout.zero = 1;
    layout.data = 64;
    memory = plan_memory(&setting, &layout);
    assert_true(fabs(memory.other - 2e9 - 6.0 * 4096 * 128256 / 8) < 1.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_device_holds_all),
        cmocka_unit_test(zero_divides_what_it_shards),
        cmocka_unit_test(matrices_and_layers_are_split),
        cmocka_unit_test(experts_are_shared_among_replicas),
        cmocka_unit_test(layouts_that_cannot_be_are_told),
        cmocka_unit_test(plan_has_copies_and_gradients_at_work),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
