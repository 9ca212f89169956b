/* What an expert would not say of a trace: each restraint, with a trace where it holds and one
 * where it does not. */
#include "support_advice.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

extern const struct analysis advice_analysis;

static const char float_types[] = "[\"float\", \"float\"]";
static const char half_types[] = "[\"c10::BFloat16\", \"c10::BFloat16\"]";

static void add_device(struct scene *scene, int32_t compute_major)
{
    struct device device = {
        .number = 0, .memory_bytes = -1, .compute_major = compute_major, .multiprocessors = -1};

    trace_builder_add_device(&scene->made.builder, &device);
}

/* Steps whose last 400 µs lie in a named range; the device idles there. */
static const struct section *advice_on_range(struct scene *scene, bool has_operator)
{
    scene_begin(scene, STEPS);
    for (int64_t at = 0; at < STEPS * STEP_NS; at += STEP_NS) {
        scene_queued(scene, "gemm", at, at + 600 * US);
        made_host_event(&scene->made, scene->thread, EVENT_ANNOTATION,
                        (struct made_event){"## forward ##", at + 600 * US, at + STEP_NS});
        if (has_operator)
            made_host_event(&scene->made, scene->thread, EVENT_OPERATOR,
                            (struct made_event){"aten::add", at + 990 * US, at + 995 * US});
    }
    return scene_advice(scene);
}

static void model_code_in_a_range_is_launch_bound(void **state)
{
    struct scene scene;
    const struct section *section;

    section = advice_on_range(&scene, true);
    assert_null(find_advice(section, "annotated_code"));
    assert_non_null(find_advice(section, "launch_bound"));
    assert_int_equal(find_advice(section, "launch_bound")->cost_ns, 400 * US);
    made_trace_clear(&scene.made);
    section = advice_on_range(&scene, false);
    assert_non_null(find_advice(section, "annotated_code"));
    assert_int_equal(find_advice(section, "annotated_code")->cost_ns, 400 * US);
    assert_null(find_advice(section, "launch_bound"));
    made_trace_clear(&scene.made);
}

static const struct section *advice_on_product(struct scene *scene, int32_t compute_major,
                                               const char *shapes)
{
    scene_begin(scene, STEPS);
    add_device(scene, compute_major);
    scene->made.peaks.peaks[PEAK_FP32] = 10e12;
    scene->made.peaks.peaks[PEAK_TF32] = 50e12;
    for (int64_t at = 0; at < STEPS * STEP_NS; at += STEP_NS)
        scene_operator(scene, (const char *[3]){"aten::mm", shapes, float_types},
                       "volta_sgemm_64x64_nt", (int64_t[2]){at, at + STEP_NS});
    return scene_advice(scene);
}

static void no_tf32_before_ampere(void **state)
{
    struct scene scene;

    assert_null(
        find_advice(advice_on_product(&scene, 7, "[[128, 256], [256, 64]]"), "tf32_not_used"));
    made_trace_clear(&scene.made);
    assert_non_null(
        find_advice(advice_on_product(&scene, 8, "[[128, 256], [256, 64]]"), "tf32_not_used"));
    made_trace_clear(&scene.made);
}

static void formats_have_no_price_where_no_flops_are_known(void **state)
{
    struct scene scene;
    const struct finding *finding;

    finding = find_advice(advice_on_product(&scene, 8, ""), "tf32_not_used");
    assert_non_null(finding);
    assert_int_equal(finding->cost_ns, -1);
    assert_non_null(strstr(finding->evidence, "not known"));
    made_trace_clear(&scene.made);
}

static const char *pointwise_remedy(struct scene *scene, const char *types)
{
    const struct finding *finding;

    scene_begin(scene, STEPS);
    for (int64_t at = 0; at < STEPS * STEP_NS; at += STEP_NS / 2)
        scene_operator(scene, (const char *[3]){"aten::add", "[[64], [64]]", types},
                       "vectorized_elementwise_kernel", (int64_t[2]){at, at + STEP_NS / 2});
    finding = find_advice(scene_advice(scene), "unfused_pointwise");
    assert_non_null(finding);
    return finding->try_this;
}

static void bytes_are_halved_only_once(void **state)
{
    struct scene scene;

    assert_non_null(strstr(pointwise_remedy(&scene, float_types), "16-bit numbers halve"));
    made_trace_clear(&scene.made);
    assert_null(strstr(pointwise_remedy(&scene, half_types), "16-bit numbers halve"));
    made_trace_clear(&scene.made);
    assert_null(strstr(pointwise_remedy(&scene, ""), "16-bit numbers halve"));
    made_trace_clear(&scene.made);
}

static const struct finding *on_communication(struct scene *scene, int64_t world_size,
                                              bool has_other_ranks)
{
    struct analysis_options options = {.top = UINT32_MAX, .has_other_ranks = has_other_ranks};
    const struct finding *finding;

    scene_begin(scene, STEPS);
    scene->made.builder.facts.world_size = world_size;
    for (int64_t at = 0; at < STEPS * STEP_NS; at += STEP_NS)
        scene_queued(scene, "ncclDevKernel_AllReduce_Sum_f32_RING_LL", at, at + STEP_NS);
    made_trace_finish(&scene->made, WINDOW_CHOICE_AUTO);
    finding = find_advice(made_section_with(&scene->made, &advice_analysis, &options),
                          "exposed_communication");
    assert_non_null(finding);
    return finding;
}

static void a_late_rank_needs_ranks(void **state)
{
    struct scene scene;
    const struct finding *finding;

    finding = on_communication(&scene, 8, false);
    assert_non_null(strstr(finding->estimate->reason, "one rank alone"));
    assert_non_null(strstr(finding->try_this, "report on all ranks"));
    made_trace_clear(&scene.made);
    finding = on_communication(&scene, 8, true);
    assert_null(strstr(finding->estimate->reason, "one rank alone"));
    assert_null(strstr(finding->try_this, "report on all ranks"));
    made_trace_clear(&scene.made);
    finding = on_communication(&scene, 1, false);
    assert_null(strstr(finding->estimate->reason, "one rank alone"));
    assert_null(strstr(finding->try_this, "straggler"));
    made_trace_clear(&scene.made);
}

static const char *name_of_host_code(struct scene *scene, const char *format, bool has_operator)
{
    const struct finding *finding;

    scene_begin(scene, STEPS);
    (void)snprintf(scene->made.builder.read.format, sizeof scene->made.builder.read.format, "%s",
                   format);
    for (int64_t at = 0; at < STEPS * STEP_NS; at += STEP_NS)
        scene_queued(scene, "saxpy", at, at + 500 * US);
    if (has_operator)
        made_host_event(&scene->made, scene->thread, EVENT_OPERATOR,
                        (struct made_event){"aten::add", 10 * US, 20 * US});
    finding = find_advice(scene_advice(scene), "python_code");
    assert_non_null(finding);
    return finding->what;
}

static void programs_without_python_have_none(void **state)
{
    struct scene scene;

    assert_string_equal(name_of_host_code(&scene, "nsight-systems", false),
                        "host code between calls");
    made_trace_clear(&scene.made);
    assert_string_equal(name_of_host_code(&scene, "nsight-systems", true),
                        "Python between operators");
    made_trace_clear(&scene.made);
    assert_string_equal(name_of_host_code(&scene, "torch-profiler-json", false),
                        "Python between operators");
    made_trace_clear(&scene.made);
}

static const char *intro_with_norm(struct scene *scene, int64_t norm_ns)
{
    scene_begin(scene, STEPS);
    for (int64_t at = 0; at < STEPS * STEP_NS; at += STEP_NS) {
        scene_queued(scene, "gemm", at, at + STEP_NS - norm_ns);
        scene_queued(scene, "layer_norm_kernel", at + STEP_NS - norm_ns, at + STEP_NS);
    }
    return scene_advice(scene)->intro;
}

static void nothing_is_said_only_of_nothing(void **state)
{
    struct scene scene;

    assert_non_null(strstr(intro_with_norm(&scene, 10 * US), "Nothing above 2 %"));
    made_trace_clear(&scene.made);
    assert_non_null(strstr(intro_with_norm(&scene, 70 * US), "other compute: 7.0 %"));
    made_trace_clear(&scene.made);
}

/* Steps that capture for so long, then launch a kernel from within an operator for the rest of 900
 * us. */
static const struct section *advice_on_capture(struct scene *scene, int64_t capture_ns)
{
    scene_begin(scene, STEPS);
    for (int64_t at = 0; at < STEPS * STEP_NS; at += STEP_NS) {
        int64_t end = at + capture_ns;

        made_host_event(&scene->made, scene->thread, EVENT_RUNTIME_CALL,
                        (struct made_event){"cudaStreamBeginCapture", at, at + US});
        made_host_event(&scene->made, scene->thread, EVENT_RUNTIME_CALL,
                        (struct made_event){"cudaStreamEndCapture", end - US, end});
        made_host_event(&scene->made, scene->thread, EVENT_OPERATOR,
                        (struct made_event){"aten::index", end, at + 910 * US});
        scene_live(scene, "gemm", at + 900 * US, at + STEP_NS);
    }
    return scene_advice(scene);
}

static void warm_up_of_captures_is_not_launch_bound(void **state)
{
    struct scene scene;
    const struct section *section = advice_on_capture(&scene, 600 * US);

    assert_non_null(find_advice(section, "graph_capture"));
    assert_null(find_advice(section, "launch_bound"));
    made_trace_clear(&scene.made);
    section = advice_on_capture(&scene, 300 * US);
    assert_non_null(find_advice(section, "graph_capture"));
    assert_non_null(find_advice(section, "launch_bound"));
    made_trace_clear(&scene.made);
}

/* Steps of which those from `first` to before `end` compile for 600 us, within operators. */
static const struct section *advice_on_compilation(struct scene *scene, int first, int end)
{
    scene_begin(scene, STEPS);
    for (int step = 0; step < STEPS; step++) {
        int64_t at = step * STEP_NS;

        if (step >= first && step < end) {
            made_host_event(&scene->made, scene->thread, EVENT_OPERATOR,
                            (struct made_event){"entire_frame_compile", at, at + 600 * US});
            made_host_event(
                &scene->made, scene->thread, EVENT_OPERATOR,
                (struct made_event){"compile_fx_inner (dynamo_timed)", at + US, at + 599 * US});
            made_host_event(&scene->made, scene->thread, EVENT_OPERATOR,
                            (struct made_event){"aten::mm", at + 2 * US, at + 598 * US});
            scene_live(scene, "gemm", at + 601 * US, at + STEP_NS);
        } else {
            scene_live(scene, "gemm", at + US, at + STEP_NS);
        }
    }
    return scene_advice(scene);
}

/* Operators that are called while code is compiled launch nothing, and graphs would not help. */
static void compilation_is_not_launch_bound(void **state)
{
    struct scene scene;
    const struct section *section = advice_on_compilation(&scene, 1, 3);
    const struct finding *finding = find_advice(section, "compilation");

    (void)state;
    assert_non_null(finding);
    assert_non_null(strstr(finding->evidence, "compiled 2 times, in 2 of"));
    assert_non_null(strstr(finding->evidence, "entire_frame_compile"));
    assert_string_equal(finding->estimate->confidence, "high");
    assert_null(find_advice(section, "launch_bound"));
    assert_null(find_advice(section, "host_operators"));
    made_trace_clear(&scene.made);
    finding = find_advice(advice_on_compilation(&scene, 0, 1), "compilation");
    assert_non_null(finding);
    assert_string_equal(finding->estimate->confidence, "medium");
    assert_non_null(strstr(finding->estimate->reason, "first recorded step"));
    made_trace_clear(&scene.made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(model_code_in_a_range_is_launch_bound),
        cmocka_unit_test(no_tf32_before_ampere),
        cmocka_unit_test(formats_have_no_price_where_no_flops_are_known),
        cmocka_unit_test(bytes_are_halved_only_once),
        cmocka_unit_test(a_late_rank_needs_ranks),
        cmocka_unit_test(programs_without_python_have_none),
        cmocka_unit_test(nothing_is_said_only_of_nothing),
        cmocka_unit_test(warm_up_of_captures_is_not_launch_bound),
        cmocka_unit_test(compilation_is_not_launch_bound),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
