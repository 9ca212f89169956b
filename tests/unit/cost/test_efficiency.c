/* Level C: matrix time splits into what it computed, to the nanosecond. */
#include "support_trace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const char shapes[] = "[[128, 256], [256, 64]]";
static const char bf16[] = "[\"c10::BFloat16\", \"c10::BFloat16\"]";
static const char fp32[] = "[\"float\", \"float\"]";
static const double product_flops = 2.0 * 128 * 256 * 64;

enum { STEP_NS = 10000 };

struct scene {
    struct made_trace made;
    uint32_t thread;
    uint32_t stream;
};

static void begin(struct scene *scene, int steps)
{
    static const char *const names[] = {"ProfilerStep#0", "ProfilerStep#1"};

    made_trace_init(&scene->made);
    scene->thread = made_thread(&scene->made, "1");
    scene->stream = made_stream(&scene->made, 0, 7);
    for (int i = 0; i < steps; i++)
        made_host_event(
            &scene->made, scene->thread, EVENT_ANNOTATION,
            (struct made_event){names[i], (int64_t)i * STEP_NS, (int64_t)(i + 1) * STEP_NS});
}

/* aten::mm at `at_ns`, and its kernel. */
static void add_product(struct scene *scene, int64_t at_ns, const char *types,
                        struct made_event kernel)
{
    if (types)
        made_operator(&scene->made, scene->thread,
                      (struct made_event){"aten::mm", at_ns, at_ns + 100}, shapes, types);
    else
        made_host_event(&scene->made, scene->thread, EVENT_OPERATOR,
                        (struct made_event){"aten::mm", at_ns, at_ns + 100});
    made_kernel(&scene->made, scene->thread, scene->stream,
                (struct made_event){"cudaLaunchKernel", at_ns + 10, at_ns + 20}, kernel);
}

static const struct efficiency *measured(struct scene *scene)
{
    static const struct analysis_options options = {.top = UINT32_MAX};
    const struct efficiency *efficiency;

    made_trace_finish(&scene->made, WINDOW_CHOICE_AUTO);
    efficiency = made_input(&scene->made, &options).efficiency;
    for (uint32_t i = 0; i < scene->made.ledger.step_count; i++) {
        const struct matrix_time *time = &efficiency->steps[i].time;

        assert_int_equal(time->uncosted_ns + time->below_peak_ns + time->recomputed_ns +
                             time->extra_ns + time->model_ns,
                         scene->made.ledger.steps[i].account_ns[ACCOUNT_MATRIX]);
    }
    return efficiency;
}

static void matrix_time_is_flops_at_peak_and_a_rest(void **state)
{
    struct scene scene;
    const struct efficiency *efficiency;

    begin(&scene, 1);
    add_product(&scene, 100, bf16, (struct made_event){"nvjet_a", 1000, 5000});
    scene.made.peaks.peak_of_all = product_flops / 1000e-9; /* the product takes 1000 ns at best */
    efficiency = measured(&scene);
    assert_int_equal(efficiency->total.time.model_ns, 1000);
    assert_int_equal(efficiency->total.time.below_peak_ns, 3000);
    assert_int_equal(efficiency->total.time.uncosted_ns, 0);
    assert_true(is_close(efficiency->total.flops.executed, product_flops));
    assert_true(is_close(efficiency->total.flops.model, product_flops));
    assert_null(efficiency_needs(efficiency));
    assert_int_equal(efficiency->total.unit_ns, 4000);
    made_trace_clear(&scene.made);
}

static void faster_than_the_peak_is_a_negative_rest(void **state)
{
    struct scene scene;

    begin(&scene, 1);
    add_product(&scene, 100, bf16, (struct made_event){"nvjet_a", 1000, 1500});
    scene.made.peaks.peak_of_all = product_flops / 1000e-9;
    assert_int_equal(measured(&scene)->total.time.below_peak_ns, -500);
    made_trace_clear(&scene.made);
}

static void flops_belong_to_the_step_that_launched_them(void **state)
{
    struct scene scene;
    const struct efficiency *efficiency;

    begin(&scene, 2);
    add_product(&scene, 100, bf16, (struct made_event){"nvjet_a", 9000, 13000});
    scene.made.peaks.peak_of_all = product_flops / 2000e-9;
    efficiency = measured(&scene);
    assert_int_equal(efficiency->steps[0].time.model_ns, 2000);
    assert_int_equal(efficiency->steps[0].time.below_peak_ns, -1000);
    assert_int_equal(efficiency->steps[1].time.model_ns, 0);
    assert_true(is_close(efficiency->steps[0].flops.model, product_flops));
    assert_true(is_close(efficiency->steps[1].flops.model, 0));
    /* what ran in the windows was not faster than the peak */
    assert_true(is_close(efficiency->steps[0].window_flops, product_flops / 4));
    assert_int_equal(efficiency->steps[0].window_rest_ns, 500);
    assert_int_equal(efficiency->steps[1].window_rest_ns, 1500);
    made_trace_clear(&scene.made);
}

static void work_behind_the_last_mark_counts(void **state)
{
    struct scene scene;
    const struct efficiency *efficiency;

    begin(&scene, 1);
    add_product(&scene, 100, bf16, (struct made_event){"nvjet_a", 1000, 2000});
    add_product(&scene, 300, bf16, (struct made_event){"nvjet_a", 11000, 12000});
    scene.made.peaks.peak_of_all = product_flops / 500e-9;
    scene.made.clock = CLOCK_CHOICE_HOST;
    efficiency = measured(&scene);
    assert_int_equal(efficiency->steps[0].time.model_ns, 1000);
    assert_true(is_close(efficiency->total.flops.model, 2 * product_flops));
    assert_true(is_close(efficiency->total.window_flops, product_flops));
    made_trace_clear(&scene.made);
}

static void each_format_has_its_own_peak(void **state)
{
    struct scene scene;
    const struct efficiency *efficiency;

    begin(&scene, 1);
    add_product(&scene, 100, bf16, (struct made_event){"nvjet_a", 1000, 2000});
    add_product(&scene, 300, fp32, (struct made_event){"ampere_sgemm_128x64_nn", 2000, 6000});
    add_product(&scene, 500, fp32,
                (struct made_event){"cutlass_80_tensorop_s1688gemm_128x64_nn_align4", 6000, 8000});
    scene.made.peaks.peaks[PEAK_BF16] = product_flops / 100e-9;
    scene.made.peaks.peaks[PEAK_FP32] = product_flops / 2000e-9;
    scene.made.peaks.peaks[PEAK_TF32] = product_flops / 400e-9;
    efficiency = measured(&scene);
    assert_int_equal(efficiency->total.time.model_ns, 2500);
    assert_true(is_close(efficiency->precisions[PEAK_TF32].executed, product_flops));
    assert_int_equal(efficiency->precisions[PEAK_FP32].kernel_ns, 4000);
    assert_int_equal(efficiency->total.unit_ns, 3000);
    made_trace_clear(&scene.made);
}

/* TF32 is not of every device: where there is none, float32 is float32 on matrix units, too. */
static void only_units_that_have_tf32_take_it(void **state)
{
    static const struct {
        enum platform platform;
        bool is_rocm;
        const char *device;
        enum peak_type type;
    } cases[] = {
        {PLATFORM_CUDA, false, NULL, PEAK_TF32},
        {PLATFORM_CUDA, true, NULL, PEAK_FP32},
        {PLATFORM_NPU, false, NULL, PEAK_FP32},
        {PLATFORM_MTIA, false, NULL, PEAK_FP32},
        {PLATFORM_CUDA, false, "V100 SXM2 16GB", PEAK_FP32},
        {PLATFORM_JAX, false, "TPU v4", PEAK_FP32},
        {PLATFORM_CUDA, false, "NVIDIA A100", PEAK_TF32},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct scene scene;

        begin(&scene, 1);
        add_product(&scene, 500, fp32,
                    (struct made_event){"cutlass_80_tensorop_s1688gemm_128x64", 6000, 8000});
        scene.made.peaks.device_name = cases[i].device;
        scene.made.builder.facts.platform = (uint8_t)cases[i].platform;
        scene.made.builder.facts.is_rocm = cases[i].is_rocm;
        assert_true(measured(&scene)->precisions[cases[i].type].executed > 0);
        made_trace_clear(&scene.made);
    }
}

static void what_is_not_known_stays_matrix_work(void **state)
{
    struct scene scene;
    const struct efficiency *efficiency;

    begin(&scene, 1);
    add_product(&scene, 100, NULL, (struct made_event){"nvjet_a", 1000, 2000});
    efficiency = measured(&scene);
    assert_int_equal(efficiency->total.time.uncosted_ns, 1000);
    assert_false(efficiency_has_model(efficiency));
    assert_string_equal(efficiency_needs(efficiency), "needs record_shapes=True");
    made_trace_clear(&scene.made);

    begin(&scene, 1);
    add_product(&scene, 100, bf16, (struct made_event){"nvjet_a", 1000, 2000});
    efficiency = measured(&scene);
    assert_int_equal(efficiency->total.time.uncosted_ns, 1000);
    assert_int_equal(efficiency->total.known_flops_ns, 1000);
    assert_true(is_close(efficiency->total.flops.executed, product_flops));
    assert_non_null(strstr(efficiency_needs(efficiency), "--peak"));
    made_trace_clear(&scene.made);

    begin(&scene, 1); /* no operator at all */
    made_work(&scene.made, scene.stream, EVENT_KERNEL, (struct made_event){"nvjet_a", 1000, 2000},
              NO_ID, NULL);
    efficiency = measured(&scene);
    assert_int_equal(efficiency->uncosted[PRICE_NO_OPERATOR].kernel_ns, 1000);
    made_trace_clear(&scene.made);
}

static void operators_of_a_cpu_without_shapes_have_no_price(void **state)
{
    struct scene scene;
    const struct efficiency *efficiency;

    begin(&scene, 1);
    made_host_event(&scene.made, scene.thread, EVENT_OPERATOR,
                    (struct made_event){"aten::mm", 300, 900});
    efficiency = measured(&scene);
    assert_int_equal(efficiency->total.time.uncosted_ns, 600);
    assert_string_equal(efficiency_needs(efficiency), "needs record_shapes=True");
    made_trace_clear(&scene.made);
}

static void part_of_it_may_be_unknown(void **state)
{
    struct scene scene;
    const struct efficiency *efficiency;

    begin(&scene, 1);
    add_product(&scene, 100, bf16, (struct made_event){"nvjet_a", 1000, 2000});
    made_host_event(&scene.made, scene.thread, EVENT_OPERATOR,
                    (struct made_event){"mine::gemm", 300, 400});
    made_kernel(&scene.made, scene.thread, scene.stream,
                (struct made_event){"cudaLaunchKernel", 310, 320},
                (struct made_event){"my_gemm", 2000, 2600});
    scene.made.peaks.peak_of_all = product_flops / 500e-9;
    efficiency = measured(&scene);
    assert_int_equal(efficiency->total.time.uncosted_ns, 600);
    assert_int_equal(efficiency->total.time.model_ns, 500);
    assert_int_equal(efficiency->total.time.below_peak_ns, 500);
    assert_non_null(strstr(efficiency_needs(efficiency), "formula"));
    made_trace_clear(&scene.made);
}

static void a_forward_inside_the_backward_is_recomputed(void **state)
{
    static const char node[] = "autograd::engine::evaluate_function: ReluBackward0";
    struct scene scene;

    begin(&scene, 1);
    add_product(&scene, 100, bf16, (struct made_event){"nvjet_a", 1000, 2000});
    made_host_event(&scene.made, scene.thread, EVENT_OPERATOR, (struct made_event){node, 300, 900});
    made_numbered_operator(&scene.made, scene.thread, (struct made_event){"aten::linear", 400, 800},
                           17);
    add_product(&scene, 500, bf16, (struct made_event){"nvjet_a", 2000, 3000});
    scene.made.peaks.peak_of_all = product_flops / 500e-9;
    assert_int_equal(measured(&scene)->total.time.recomputed_ns, 500);
    assert_int_equal(scene.made.costs.doubtful_count, 0); /* its kernel shows that it ran */
    made_trace_clear(&scene.made);
}

static void the_precision_asked_for_holds_for_all(void **state)
{
    struct scene scene;

    begin(&scene, 1);
    add_product(&scene, 100, fp32, (struct made_event){"ampere_sgemm_nn", 1000, 2000});
    scene.made.peaks.has_precision = true;
    scene.made.peaks.precision = PEAK_BF16;
    scene.made.peaks.peaks[PEAK_BF16] = product_flops / 100e-9;
    assert_int_equal(measured(&scene)->total.time.model_ns, 100);
    made_trace_clear(&scene.made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(matrix_time_is_flops_at_peak_and_a_rest),
        cmocka_unit_test(faster_than_the_peak_is_a_negative_rest),
        cmocka_unit_test(flops_belong_to_the_step_that_launched_them),
        cmocka_unit_test(work_behind_the_last_mark_counts),
        cmocka_unit_test(each_format_has_its_own_peak),
        cmocka_unit_test(only_units_that_have_tf32_take_it),
        cmocka_unit_test(what_is_not_known_stays_matrix_work),
        cmocka_unit_test(operators_of_a_cpu_without_shapes_have_no_price),
        cmocka_unit_test(part_of_it_may_be_unknown),
        cmocka_unit_test(a_forward_inside_the_backward_is_recomputed),
        cmocka_unit_test(the_precision_asked_for_holds_for_all),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
