/* Planned steps: their arithmetic, the accounts' sum, and layouts that cannot be. */
#include "cost/devices/find_device_peak.h"
#include "cost/plan/plan_layer.h"
#include "support_plan.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static bool plan_is_near(double one, double other)
{
    return fabs(one - other) <= 1e-9 * fmax(fmax(fabs(one), fabs(other)), 1e-3);
}

static double sum_of(const struct plan_outcome *outcome)
{
    double sum = 0.0;

    for (int i = 0; i < PLAN_ACCOUNT_COUNT; i++)
        sum += outcome->accounts[i];
    return sum;
}

/* The account of useful FLOPs is the model's FLOPs over all devices' peaks, whatever the layout,
 * but for a vocabulary that is padded for --tp. */
static void useful_time_is_flops_by_peak(void **state)
{
    static const char *const models[] = {"llama-3-8b", "vit-base",     "bert-base",
                                         "qwen3-8b",   "mixtral-8x7b", "olmoe-1b-7b"};
    static const struct plan_layout layouts[] = {
        {1, 1, 1, 1, 1, 1, 1, 0, RECOMPUTE_NONE}, {2, 1, 1, 1, 1, 4, 2, 1, RECOMPUTE_FULL},
        {4, 2, 1, 1, 1, 2, 1, 0, RECOMPUTE_NONE}, {1, 4, 1, 2, 1, 1, 1, 2, RECOMPUTE_SELECTIVE},
        {2, 2, 2, 1, 1, 1, 4, 0, RECOMPUTE_NONE}, {1, 1, 1, 1, 1, 8, 1, 3, RECOMPUTE_NONE},
    };

    (void)state;
    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++) {
        struct architecture model = {0};
        struct plan_setting setting = plan_for(&model, models[i]);

        setting.sequence = model.fixed_sequence > 0 ? model.fixed_sequence : 2048;
        for (size_t j = 0; j < sizeof layouts / sizeof layouts[0]; j++) {
            struct plan_outcome outcome = plan_step(&setting, &layouts[j]);
            double expected = outcome.useful_flops / outcome.peak / outcome.devices;

            assert_true(fabs(outcome.accounts[PLAN_USEFUL] / expected - 1.0) < 1e-4);
            assert_true(fabs(sum_of(&outcome) / outcome.step - 1.0) < 1e-12);
            assert_true(outcome.low < outcome.step && outcome.step < outcome.high);
            for (int k = 0; k < PLAN_ACCOUNT_COUNT; k++)
                assert_true(outcome.accounts[k] >= -1e-12);
        }
    }
}

/* A run that took 1.2 times its plan makes another plan as much longer, by all but its FLOPs at the
 * peak; one that beats them is not believed further than that. */
static void a_measured_run_scales_all_but_the_flops(void **state)
{
    struct architecture model = {0};
    struct plan_setting setting = plan_for(&model, "llama-3-8b");
    struct plan_outcome plain = plan_step(&setting, &one_device);
    double useful = plain.accounts[PLAN_USEFUL];
    struct plan_outcome scaled;

    (void)state;
    setting.calibration = 1.2;
    scaled = plan_step(&setting, &one_device);
    assert_true(fabs(scaled.step / plain.step - 1.2) < 1e-12);
    assert_true(fabs(scaled.accounts[PLAN_USEFUL] / useful - 1.0) < 1e-12);
    assert_true(fabs(sum_of(&scaled) / scaled.step - 1.0) < 1e-12);
    setting.calibration = 0.01;
    assert_true(fabs(plan_step(&setting, &one_device).step / useful - 1.0) < 1e-12);
}

/* Sorted behind NCCL's exchange: 8 bytes a column of each routed token, forward and backward, and
 * four kernels in all. Experts without biases in 16 bits have nothing else. */
static void experts_stream_what_is_not_fused(void **state)
{
    struct architecture model = {0};
    struct plan_setting setting = plan_for(&model, "mixtral-8x7b");
    struct plan_layout layout = one_device;
    struct plan_context context = plan_context_of(&setting, &layout);
    double routed = (double)(setting.batch * setting.sequence * model.kinds[0].experts_per_token);
    double batches = (double)setting.batch / 4.0;
    double sorted = 2.0 * 8.0 * (double)model.hidden_size * routed / 4.0 / context.memory_rate;
    double least;

    (void)state;
    layout.data = layout.expert = 4;
    least = plan_step(&setting, &layout).accounts[PLAN_MEMORY];
    setting.sends_copies = true;
    sorted = (double)model.layers * (sorted + batches * 4.0 * KERNEL_SECONDS);
    assert_true(fabs((plan_step(&setting, &layout).accounts[PLAN_MEMORY] - least) / sorted - 1.0) <
                1e-6);
    model.kinds[0].expert_other = 1;
    assert_true(plan_step(&setting, &layout).accounts[PLAN_MEMORY] > least + 1.5 * sorted);
}

static double memory_saved_by_fusion(struct plan_setting setting, const struct plan_layout *layout)
{
    double apart = plan_step(&setting, layout).accounts[PLAN_MEMORY];

    setting.fuses_experts = true;
    return apart - plan_step(&setting, layout).accounts[PLAN_MEMORY];
}

/* Fused, what stands between an expert's matmuls is not streamed: three columns of 16 bits a column
 * of its middle, and half more backward. In 8 bits four columns are not cast, of 4 bytes each. */
static void fused_experts_stream_no_middle(void **state)
{
    struct device_match match;
    struct architecture model = {0};
    struct plan_setting setting = plan_for(&model, "mixtral-8x7b");
    struct plan_layout layout = one_device;
    struct plan_context context;
    double middle = (double)(setting.batch * setting.sequence * model.kinds[0].experts_per_token) *
                    (double)model.kinds[0].expert_matrix / (double)model.hidden_size / 3.0 *
                    (double)model.layers;
    double of_16;

    (void)state;
    setting.device = find_device_peak("H100 SXM", NULL, &match);
    context = plan_context_of(&setting, &layout);
    of_16 = memory_saved_by_fusion(setting, &layout);
    assert_true(fabs(of_16 / (2.5 * 3.0 * 2.0 * middle / context.memory_rate) - 1.0) < 1e-6);
    setting.precision = PEAK_FP8;
    assert_true(memory_saved_by_fusion(setting, &layout) >
                of_16 + 4.0 * 4.0 * middle / context.memory_rate);
}

/* Beside another micro-batch's work, 0.63 of an exchange is still seen. */
static void much_of_a_hidden_exchange_is_seen(void **state)
{
    struct architecture model = {0};
    struct plan_setting setting = plan_for(&model, "mixtral-8x7b");
    struct plan_layout layout = one_device;
    double all;

    (void)state;
    layout.data = layout.expert = 4;
    all = plan_step(&setting, &layout).accounts[PLAN_EXPERT];
    setting.hides_exchange = true;
    assert_true(fabs(plan_step(&setting, &layout).accounts[PLAN_EXPERT] / all - 0.63) < 1e-9);
}

/* A row of the rates may be of one device of an architecture. */
static void a_device_may_have_rates_of_its_own(void **state)
{
    struct device_match match;
    const struct plan_rates *of_b200 = plan_rates_of(find_device_peak("B200", NULL, &match));
    const struct plan_rates *of_gb200 = plan_rates_of(find_device_peak("GB200", NULL, &match));

    (void)state;
    assert_true(of_gb200->matrix < of_b200->matrix && of_gb200->matrix > 0.9 * of_b200->matrix);
    assert_ptr_equal(plan_rates_of(find_device_peak("GB300", NULL, &match)),
                     plan_rates_of(find_device_peak("B300", NULL, &match)));
}

/* Half of the layers recomputed lie between none and all, in time, FLOPs and memory. */
static void half_of_the_layers_lie_between(void **state)
{
    struct architecture model = {0};
    struct plan_setting setting = plan_for(&model, "llama-3-8b");
    struct plan_layout layout = one_device;
    struct plan_outcome none = plan_step(&setting, &layout);
    struct plan_outcome all;
    struct plan_outcome half;

    (void)state;
    layout.recompute = RECOMPUTE_FULL;
    all = plan_step(&setting, &layout);
    setting.recomputed_share = 0.5;
    half = plan_step(&setting, &layout);
    assert_true(fabs(2.0 * half.accounts[PLAN_RECOMPUTE] / all.accounts[PLAN_RECOMPUTE] - 1.0) <
                1e-9);
    assert_true(fabs(2.0 * half.hardware_flops / (none.hardware_flops + all.hardware_flops) - 1.0) <
                1e-9);
    assert_true(half.memory.activations > all.memory.activations &&
                half.memory.activations < none.memory.activations);
}

/* Of each module the FLOPs that its weights take once more, to the digit, and less kept; norms and
 * activations have none. The core of attention is what selective recomputation is of otherwise. */
static void modules_are_computed_again(void **state)
{
    static const struct {
        const char *model;
        unsigned module;
        double weights; /* of a token, in all layers */
    } cases[] = {
        {"llama-3-8b", PLAN_DENSE_FEED, 32 * 3.0 * 4096 * 14336},
        {"llama-3-8b", PLAN_NORMS, 0},
        {"mixtral-8x7b", PLAN_MOE, 32 * (2 * 3.0 * 4096 * 14336 + 4096 * 8)},
        {"mixtral-8x7b", PLAN_MOE_ACTIVATION, 0},
        {"deepseek-v3", PLAN_LATENT_UP, 61 * (1536.0 * 128 * 192 + 512.0 * 128 * 256)},
        {"deepseek-v3", PLAN_SHARED_EXPERTS, 58 * 3.0 * 7168 * 2048},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct architecture model = {0};
        struct plan_setting setting = plan_for(&model, cases[i].model);
        struct plan_layout layout = one_device;
        struct plan_outcome none = plan_step(&setting, &layout);
        struct plan_outcome again;

        setting.recomputed = cases[i].module;
        layout.recompute = RECOMPUTE_SELECTIVE;
        again = plan_step(&setting, &layout);
        assert_true(fabs(again.hardware_flops - none.hardware_flops -
                         2.0 * cases[i].weights * none.tokens) < 1e-9 * none.hardware_flops);
        assert_true(again.accounts[PLAN_RECOMPUTE] * none.peak >=
                    2.0 * cases[i].weights * none.tokens);
        assert_true(again.accounts[PLAN_RECOMPUTE] > 0.0);
        assert_true(again.memory.activations < none.memory.activations);
        setting.recomputed = PLAN_CORE_ATTENTION;
        again = plan_step(&setting, &layout);
        setting.recomputed = 0;
        assert_true(again.step == plan_step(&setting, &layout).step && again.step > none.step);
    }
}

/* Parts that no layer has are refused, by name. */
static void modules_must_be_there(void **state)
{
    struct architecture model = {0};
    struct plan_setting setting = plan_for(&model, "llama-3-8b");
    struct plan_layout layout = one_device;
    struct error error = {0};

    (void)state;
    layout.recompute = RECOMPUTE_SELECTIVE;
    setting.recomputed = PLAN_DENSE_FEED | PLAN_NORMS;
    assert_true(plan_check(&setting, &layout, &error));
    setting.recomputed = PLAN_DENSE_FEED | PLAN_LATENT_UP;
    assert_false(plan_check(&setting, &layout, &error));
    assert_non_null(strstr(error.message, "mla_up_proj is of latent attention"));
}

/* Products in 8 bits leave the exponentials as they are: less than twice as fast. */
static void attention_in_8_bits_is_faster(void **state)
{
    struct architecture model = {0};
    struct plan_setting setting = plan_for(&model, "llama-3-8b");
    struct plan_outcome plain = plan_step(&setting, &one_device);
    struct plan_outcome narrow;

    (void)state;
    setting.attention = PLAN_FLASH_8;
    narrow = plan_step(&setting, &one_device);
    assert_true(narrow.accounts[PLAN_ATTENTION] < plain.accounts[PLAN_ATTENTION]);
    assert_true(plain.step - narrow.step <
                0.5 * (plain.accounts[PLAN_ATTENTION] + plain.accounts[PLAN_USEFUL]));
}

/* Shards of one node: gathered over its links, while what the nodes hold twice is reduced among
 * them; each device holds more. Broadcasts in turn cost more the more devices there are. */
static void shards_of_a_node_are_gathered_there(void **state)
{
    struct architecture model = {0};
    struct plan_setting setting = plan_for(&model, "llama-3-8b");
    struct plan_layout layout = {1, 1, 1, 1, 1, 64, 1, 1, RECOMPUTE_NONE};
    struct plan_outcome of_all = plan_step(&setting, &layout);
    struct plan_outcome of_node;

    (void)state;
    setting.shard_devices = 8;
    of_node = plan_step(&setting, &layout);
    assert_true(of_node.accounts[PLAN_SHARDS] < of_all.accounts[PLAN_SHARDS]);
    assert_true(fabs(of_node.memory.optimizer / of_all.memory.optimizer - 8.0) < 1e-9);
    setting.broadcasts_weights = true;
    assert_true(plan_step(&setting, &layout).step == of_node.step);
    setting.shard_devices = 0;
    assert_true(plan_step(&setting, &layout).step - of_all.step > 64 * 1e-3);
    setting.shard_devices = 5;
    assert_false(plan_check(&setting, &layout, NULL));
}

/* Launches that are waited for add up with the kernels; heads of no multiple of eight leave the
 * matrix units, where scores are products of their own. */
static void kernels_wait_and_odd_heads_are_slow(void **state)
{
    struct architecture model = {0};
    struct plan_setting setting = plan_for(&model, "gpt2");
    struct plan_outcome plain;

    (void)state;
    setting.sequence = 1024;
    setting.attention = PLAN_UNFUSED;
    plain = plan_step(&setting, &one_device);
    setting.is_blocking = true;
    assert_true(plan_step(&setting, &one_device).accounts[PLAN_LAUNCH] >
                plain.accounts[PLAN_LAUNCH]);
    setting.is_blocking = false;
    model.kinds[0].key_size = 65;
    assert_true(plan_step(&setting, &one_device).accounts[PLAN_ATTENTION] >
                2.0 * plain.accounts[PLAN_ATTENTION]);
    setting.attention = PLAN_FLASH;
    plain = plan_step(&setting, &one_device);
    model.kinds[0].window = 128;
    assert_true(plan_step(&setting, &one_device).accounts[PLAN_ATTENTION] <
                plain.accounts[PLAN_ATTENTION]);
}

/* Interleaved, sends hide behind the other chunks' work. */
static void interleaved_sends_hide(void **state)
{
    struct architecture model = {0};
    struct plan_setting setting = plan_for(&model, "llama-3-8b");
    struct plan_layout layout = {1, 4, 2, 1, 1, 1, 1, 0, RECOMPUTE_NONE};
    struct plan_outcome hidden = plan_step(&setting, &layout);

    (void)state;
    setting.hides_gradients = false;
    assert_true(plan_step(&setting, &layout).accounts[PLAN_STAGES] >
                3.0 * hidden.accounts[PLAN_STAGES]);
}

/* What eight devices of such a machine were measured to take goes before the table, in a node. */
static void measured_links_go_before(void **state)
{
    struct measured_rates measured = {
        .reduced_devices = 8, .reduced_bytes_per_second = 1e11, .reduced_seconds = 38e-6};
    struct architecture model = {0};
    struct plan_setting setting = plan_for(&model, "gpt2");
    struct plan_group ring = {8, 1};
    struct plan_context context;

    (void)state;
    setting.measured = &measured;
    context = plan_context_of(&setting, &one_device);
    assert_true(fabs(plan_collective_seconds(&context, PLAN_ALL_REDUCE, 1e9, ring) / 17.538e-3 -
                     1.0) < 1e-6);
    setting.node = 4;
    context = plan_context_of(&setting, &one_device);
    assert_true(plan_collective_seconds(&context, PLAN_ALL_REDUCE, 1e9, ring) < 17e-3 ||
                plan_collective_seconds(&context, PLAN_ALL_REDUCE, 1e9, ring) > 18e-3);
}

/* A ring of eight in a node: what it is short of the wire's time is the latency's. */
static void a_ring_moves_its_volume(void **state)
{
    struct architecture model = {0};
    struct plan_setting setting = plan_for(&model, "gpt2");
    struct plan_context context = plan_context_of(&setting, &one_device);
    struct plan_group node = {8, 1};
    double rate = 300e9 * context.rates->link;
    double none = plan_collective_seconds(&context, PLAN_ALL_REDUCE, 0.0, node);
    double reduced = plan_collective_seconds(&context, PLAN_ALL_REDUCE, 8e9, node) - none;
    double gathered = plan_collective_seconds(&context, PLAN_ALL_GATHER, 8e9, node) -
                      plan_collective_seconds(&context, PLAN_ALL_GATHER, 0.0, node);

    (void)state;
    assert_true(fabs(reduced - 2.0 * 7e9 / rate) < 1e-9);
    assert_true(fabs(gathered - 7e9 / rate) < 1e-9);
    assert_true(
        plan_collective_seconds(&context, PLAN_ALL_REDUCE, 8e9, (struct plan_group){1, 1}) == 0.0);
    /* Of 16 in two nodes eight network cards carry it; of two in two nodes, one. */
    assert_true(
        plan_collective_seconds(&context, PLAN_ALL_REDUCE, 8e9, (struct plan_group){2, 8}) >
        4.0 * plan_collective_seconds(&context, PLAN_ALL_REDUCE, 8e9, (struct plan_group){16, 1}));
}

/* Half a card a device, without PXN: groups of every second device have one card of four together,
 * and so have those of every fourth; neighbors share a card, and one device a node leaves by its
 * own. */
static void groups_of_a_node_share_one_card(void **state)
{
    static const struct {
        struct plan_group group;
        double slower;
    } cases[] = {{{64, 1}, 1.0}, {{32, 2}, 4.0}, {{16, 4}, 4.0}, {{16, 8}, 1.0}};
    struct architecture model = {0};
    struct plan_setting setting = plan_for(&model, "gpt2");
    struct plan_context context;

    (void)state;
    setting.network = 12.5e9;
    context = plan_context_of(&setting, &one_device);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        double none = plan_collective_seconds(&context, PLAN_ALL_REDUCE, 0.0, cases[i].group);
        double all = plan_collective_seconds(&context, PLAN_ALL_REDUCE, 8e9, cases[i].group);
        double by_one;

        setting.crosses_by_one_card = true;
        by_one = plan_collective_seconds(&context, PLAN_ALL_REDUCE, 8e9, cases[i].group);
        setting.crosses_by_one_card = false;
        assert_true(fabs((by_one - none) / (all - none) / cases[i].slower - 1.0) < 1e-9);
    }
    setting.crosses_by_one_card = true;
    setting.network = 25e9;
    context = plan_context_of(&setting, &one_device);
    assert_true(plan_collective_seconds(&context, PLAN_ALL_REDUCE, 8e9, cases[1].group) <
                plan_collective_seconds(&context, PLAN_ALL_REDUCE, 8e9, cases[3].group));
}

/* Eight copies of a token for two nodes go to the other one once; without that, or with one copy,
 * half of all bytes do. Another micro-batch's work hides most of it. */
static void an_exchange_sends_copies_once(void **state)
{
    struct architecture model = {0};
    struct plan_setting setting = plan_for(&model, "mixtral-8x7b");
    struct plan_layout layout = one_device;
    struct plan_context context = plan_context_of(&setting, &layout);
    struct plan_group nodes = {16, 1};
    double latency = plan_exchange_seconds(&context, 0.0, 8.0, nodes);
    double once = plan_exchange_seconds(&context, 8e9, 8.0, nodes) - latency;
    double each = plan_collective_seconds(&context, PLAN_ALL_TO_ALL, 8e9, nodes) - latency;
    double card = setting.network * 0.9;
    double seen[3];

    (void)state;
    assert_true(fabs(each - 8e9 / 2.0 / card) < 1e-9);
    assert_true(once < 0.5 * each);
    assert_true(plan_exchange_seconds(&context, 8e9, 8.0, (struct plan_group){1, 1}) == 0.0);
    layout.data = 16;
    layout.expert = 8;
    for (int i = 0; i < 3; i++) {
        setting.node = 2;
        setting.sends_copies = i == 1;
        setting.hides_exchange = i == 2;
        seen[i] = plan_step(&setting, &layout).accounts[PLAN_EXPERT];
    }
    assert_true(seen[1] > seen[0] && seen[2] < seen[0] && seen[2] >= 0.15 * seen[0] - 1e-9);
}

/* A rack's devices have the dies of the B200: their matmuls lose to tiles and waves as its do. */
static void devices_without_units_have_tiles(void **state)
{
    struct architecture model = {0};
    struct plan_setting setting = plan_for(&model, "gpt2");
    struct plan_context context;
    struct device_match match;
    double lost;

    (void)state;
    setting.device = find_device_peak("GB200", NULL, &match);
    assert_int_equal(setting.device->multiprocessors, 0);
    context = plan_context_of(&setting, &one_device);
    plan_product_seconds(
        &context,
        (struct plan_product){.m = 8192, .n = 768, .k = 2048, .batch = 16, .is_low = true}, &lost);
    assert_true(lost > 0.0);
    setting.device = find_device_peak("B100", NULL, &match);
    context = plan_context_of(&setting, &one_device);
    plan_product_seconds(
        &context,
        (struct plan_product){.m = 8192, .n = 768, .k = 2048, .batch = 16, .is_low = true}, &lost);
    assert_true(lost > 0.0);
}

/* Whole waves of whole tiles cost the fill of the pipeline only. */
static void whole_waves_lose_little(void **state)
{
    struct architecture model = {0};
    struct plan_setting setting = plan_for(&model, "gpt2");
    struct plan_context context = plan_context_of(&setting, &one_device);
    double lost;
    double whole = plan_product_seconds(
        &context,
        (struct plan_product){
            .m = 256.0 * 108.0, .n = 128.0 * 4.0, .k = 16384.0, .batch = 1.0, .is_low = true},
        &lost);
    double lost_of_one_more;
    double one_more = plan_product_seconds(
        &context,
        (struct plan_product){
            .m = 256.0 * 108.0 + 1.0, .n = 128.0 * 4.0, .k = 16384.0, .batch = 1.0, .is_low = true},
        &lost_of_one_more);

    (void)state;
    assert_true(lost / whole < 0.02);
    assert_true(one_more > whole && lost_of_one_more > lost);
    assert_true(fabs(whole - lost -
                     2.0 * 256 * 108 * 512 * 16384 / (312e12 * context.rates->matrix)) < 1e-9);
}

/* Only the next forward can hide the gather of weights that ZeRO shards, where it is said to. */
static void gather_hides_where_said(void **state)
{
    struct architecture model = {0};
    struct plan_setting setting = plan_for(&model, "llama-3-8b");
    struct plan_layout layout = one_device;
    struct plan_outcome outcomes[3];

    (void)state;
    layout.data = 64;
    for (int i = 0; i < 3; i++) {
        layout.zero = i < 1 ? 0 : 2;
        setting.hides_weights = i == 2;
        outcomes[i] = plan_step(&setting, &layout);
    }
    assert_true(outcomes[0].accounts[PLAN_SHARDS] == 0.0);
    assert_true(outcomes[1].accounts[PLAN_SHARDS] > 0.0);
    assert_true(outcomes[1].accounts[PLAN_GRADIENTS] < outcomes[0].accounts[PLAN_GRADIENTS]);
    assert_true(outcomes[2].accounts[PLAN_SHARDS] < 0.5 * outcomes[1].accounts[PLAN_SHARDS]);
}

/* (stages - 1) / micro-batches of the work is the bubble of equal stages; interleaved, a part. */
static void bubble_follows_its_schedule(void **state)
{
    struct architecture model = {0};
    struct plan_setting setting = plan_for(&model, "llama-3-8b");
    struct plan_layout layout = one_device;
    double bubbles[3];

    (void)state;
    layout.pipeline = 4;
    for (int i = 0; i < 3; i++) {
        setting.batch = i == 1 ? 128 : 64;
        layout.chunks = i == 2 ? 4 : 1;
        bubbles[i] = plan_step(&setting, &layout).accounts[PLAN_BUBBLE];
    }
    assert_true(bubbles[0] > 0.0);
    assert_true(bubbles[1] > bubbles[0]); /* the last stage's logits, once a micro-batch */
    assert_true(bubbles[2] < bubbles[0]);
}

/* A pod of TPUs is one domain: 256 v5e gather over four links of 45 GB/s each, and not over the
 * network of a node of eight; of 72 devices of GB200 likewise. */
static void a_pod_is_one_domain(void **state)
{
    static const struct {
        const char *device;
        int64_t node;
        double links;
    } domains[] = {{"TPU v5e", 256, 180e9}, {"GB200", 72, 900e9}, {"H100 SXM", 8, 450e9}};
    struct architecture model = {0};
    struct plan_setting setting = plan_for(&model, "llama-3-8b");

    (void)state;
    for (size_t i = 0; i < sizeof domains / sizeof domains[0]; i++) {
        struct plan_group group = {domains[i].node, 1};
        struct plan_context context;
        struct device_match match;
        double rate;

        setting.device = find_device_peak(domains[i].device, NULL, &match);
        setting.node = 0;
        plan_defaults(&setting);
        context = plan_context_of(&setting, &one_device);
        assert_int_equal(setting.node, domains[i].node);
        rate = 1e9 / (plan_collective_seconds(&context, PLAN_ALL_GATHER, 2e9, group) -
                      plan_collective_seconds(&context, PLAN_ALL_GATHER, 1e9, group));
        assert_true(rate > 0.8 * domains[i].links && rate < 1.0 * domains[i].links);
    }
}

/* A ring's latency grows with its nodes, a tree's with their logarithm. */
static void rings_pass_each_node(void **state)
{
    struct architecture model = {0};
    struct plan_setting setting = plan_for(&model, "llama-3-8b");
    struct plan_context context = plan_context_of(&setting, &one_device);
    const struct plan_group few = {16, 1};
    const struct plan_group many = {8192, 1};
    const double node = context.rates->network_latency;
    const double gathered = plan_collective_seconds(&context, PLAN_ALL_GATHER, 0.0, many) -
                            plan_collective_seconds(&context, PLAN_ALL_GATHER, 0.0, few);
    const double reduced = plan_collective_seconds(&context, PLAN_ALL_REDUCE, 0.0, many) -
                           plan_collective_seconds(&context, PLAN_ALL_REDUCE, 0.0, few);

    (void)state;
    assert_true(plan_is_near(gathered, 1022.0 * node));
    assert_true(plan_is_near(reduced, 2.0 * 9.0 * node));
}

/* (p - 1)(F + B - W) by the products for weights, a third and what attention, which has no weights,
 * adds; without stages there is nothing to fill. */
static void weights_fill_the_bubble(void **state)
{
    struct architecture model = {0};
    struct plan_setting setting = plan_for(&model, "llama-3-8b");
    struct plan_layout layout = one_device;
    struct plan_context context = plan_context_of(&setting, &layout);
    struct plan_passes layers = plan_layers(&context);
    struct plan_passes ends = plan_ends(&context);
    double weights = layers.backward.weights + ends.backward.weights;
    struct plan_outcome usual;
    struct plan_outcome filled;

    (void)state;
    /* Forward, inputs and weights have as many FLOPs in products; scores are beside these. */
    assert_true(weights > 0.26 * plan_pass_seconds(&layers.backward));
    assert_true(weights <
                0.5 * (plan_pass_seconds(&layers.backward) + plan_pass_seconds(&ends.backward)));
    assert_true(plan_is_near(layers.forward.weights, 0.0));
    layout.pipeline = 4;
    usual = plan_step(&setting, &layout);
    setting.delays_weights = true;
    filled = plan_step(&setting, &layout);
    assert_true(plan_is_near(usual.accounts[PLAN_BUBBLE] - filled.accounts[PLAN_BUBBLE],
                             2.0 * 3.0 / 4.0 * weights));
    assert_true(plan_is_near(usual.step - filled.step, 2.0 * 3.0 / 4.0 * weights));
    assert_true(plan_is_near(usual.memory.total, filled.memory.total));
    layout.pipeline = 1;
    filled = plan_step(&setting, &layout);
    setting.delays_weights = false;
    assert_true(plan_is_near(plan_step(&setting, &layout).step, filled.step));
}

static void bad_layouts_name_what_fits(void **state)
{
    static const struct {
        struct plan_layout layout;
        const char *says;
    } cases[] = {
        {{5, 1, 1, 1, 1, 1, 1, 0, RECOMPUTE_NONE}, "the nearest that does is 4"},
        {{64, 1, 1, 1, 1, 1, 1, 0, RECOMPUTE_NONE}, "the nearest that does is 32"},
        {{1, 7, 1, 1, 1, 1, 1, 0, RECOMPUTE_NONE}, "the nearest that does is 8"},
        {{1, 64, 1, 1, 1, 1, 1, 0, RECOMPUTE_NONE}, "the nearest that does is 32"},
        {{1, 1, 1, 1, 1, 5, 1, 0, RECOMPUTE_NONE}, "the nearest that fits is 65"},
        {{1, 1, 1, 1, 1, 1, 48, 0, RECOMPUTE_NONE}, "the nearest that fits is 48"},
        {{1, 1, 1, 1, 2, 2, 1, 0, RECOMPUTE_NONE}, "the model has no experts"},
        {{1, 1, 2, 1, 1, 1, 1, 0, RECOMPUTE_NONE}, "there is one stage only"},
        {{1, 4, 2, 1, 1, 1, 32, 0, RECOMPUTE_NONE}, "the nearest --global-batch that fits is 128"},
    };
    const struct plan_layout stages = {1, 16, 1, 1, 1, 1, 1, 0, RECOMPUTE_NONE};
    struct architecture model = {0};
    struct plan_setting setting = plan_for(&model, "llama-3-8b");
    struct error error = {0};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_false(plan_check(&setting, &cases[i].layout, &error));
        assert_int_equal(error.class, ERROR_USAGE);
        assert_non_null(strstr(error.message, cases[i].says));
    }
    assert_true(plan_check(&setting, &one_device, NULL));
    setting = plan_for(&model, "deepseek-v3"); /* 61 layers, and 63 with both ends */
    assert_false(plan_check_model(&setting, &stages, &error));
    assert_non_null(strstr(error.message, "the nearest that does is 21, or --uneven-stages"));
}

/* The devices are asked for behind the model: a --tp that no head divides into is told first. */
static void devices_name_what_fits(void **state)
{
    struct plan_layout layout = {2, 2, 1, 1, 1, 8, 1, 0, RECOMPUTE_NONE};
    struct error error = {0};

    (void)state;
    assert_true(plan_check_devices(&layout, 32, true, &error));
    assert_true(plan_check_devices(&layout, 64, false, &error));
    assert_false(plan_check_devices(&layout, 64, true, &error));
    assert_non_null(strstr(error.message, "the --dp that fits is 16"));
    assert_false(plan_check_devices(&layout, 61, false, &error));
    assert_non_null(strstr(error.message, "the nearest number of devices that fits is 60"));
    assert_false(plan_check_devices(&layout, 1, false, &error));
    assert_non_null(strstr(error.message, "the nearest number of devices that fits is 4"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(useful_time_is_flops_by_peak),
        cmocka_unit_test(a_measured_run_scales_all_but_the_flops),
        cmocka_unit_test(experts_stream_what_is_not_fused),
        cmocka_unit_test(fused_experts_stream_no_middle),
        cmocka_unit_test(much_of_a_hidden_exchange_is_seen),
        cmocka_unit_test(a_device_may_have_rates_of_its_own),
        cmocka_unit_test(half_of_the_layers_lie_between),
        cmocka_unit_test(shards_of_a_node_are_gathered_there),
        cmocka_unit_test(kernels_wait_and_odd_heads_are_slow),
        cmocka_unit_test(interleaved_sends_hide),
        cmocka_unit_test(measured_links_go_before),
        cmocka_unit_test(a_ring_moves_its_volume),
        cmocka_unit_test(groups_of_a_node_share_one_card),
        cmocka_unit_test(modules_are_computed_again),
        cmocka_unit_test(modules_must_be_there),
        cmocka_unit_test(attention_in_8_bits_is_faster),
        cmocka_unit_test(an_exchange_sends_copies_once),
        cmocka_unit_test(devices_without_units_have_tiles),
        cmocka_unit_test(whole_waves_lose_little),
        cmocka_unit_test(gather_hides_where_said),
        cmocka_unit_test(bubble_follows_its_schedule),
        cmocka_unit_test(a_pod_is_one_domain),
        cmocka_unit_test(rings_pass_each_node),
        cmocka_unit_test(weights_fill_the_bubble),
        cmocka_unit_test(bad_layouts_name_what_fits),
        cmocka_unit_test(devices_name_what_fits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
