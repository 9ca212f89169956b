/* What products could win is never more than their own roof allows; attention that is spelled out.
 */
#include "support_advice.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const char half_types[] = "[\"c10::BFloat16\", \"c10::BFloat16\"]";
static const char float_types[] = "[\"float\", \"float\"]";
static const char bf16_kernel[] = "ampere_bf16_s16816gemm_bf16_128x64";

/* A step of two products on an A100: 312 TFLOP/s, 2.039 TB/s. */
static const struct finding *on_two_products(struct scene *scene, const char *aligned,
                                             const char *misaligned)
{
    scene_begin(scene, STEPS);
    scene->made.peaks.device_name = "NVIDIA A100-SXM4-80GB";
    for (int64_t at = 0; at < STEPS * STEP_NS; at += STEP_NS) {
        scene_operator(scene, (const char *[3]){"aten::bmm", aligned, half_types}, bf16_kernel,
                       (int64_t[2]){at, at + 200 * US});
        scene_operator(scene, (const char *[3]){"aten::bmm", misaligned, half_types}, bf16_kernel,
                       (int64_t[2]){at + 200 * US, at + STEP_NS});
    }
    return find_advice(scene_advice(scene), "misaligned_shapes");
}

/* 64 x 1,023 x 1,023 numbers are written: 134 MB, 66 µs, of 8.6 GFLOP. */
static const char bound_by_memory[] = "[[64, 1023, 64], [64, 64, 1023]]";

static void peers_are_bound_alike(void **state)
{
    struct scene scene;
    const struct finding *finding;

    /* 8.6 GFLOP too, bound by compute: it tells nothing of a product bound by memory */
    assert_null(on_two_products(&scene, "[[1, 2048, 1024], [1, 1024, 2048]]", bound_by_memory));
    made_trace_clear(&scene.made);
    finding = on_two_products(&scene, "[[64, 1024, 64], [64, 64, 1024]]", bound_by_memory);
    assert_non_null(finding);
    /* as near to its roof as its peer: 200 µs, but for two sizes of 1,023 */
    assert_in_range(finding->cost_ns, 600 * US, 601 * US);
    made_trace_clear(&scene.made);
}

/* 71 MB are read and written: 35 µs of the 100 are left at full bandwidth, where the ratio of the
 * peaks would leave 12.5. */
static void another_format_is_not_faster_than_memory(void **state)
{
    enum { LENGTH_NS = 100 * US };
    struct scene scene;
    const struct finding *finding;

    scene_begin(&scene, STEPS);
    scene.made.peaks.device_name = "NVIDIA A100-SXM4-80GB";
    for (int64_t at = 0; at < STEPS * STEP_NS; at += STEP_NS)
        scene_operator(
            &scene, (const char *[3]){"aten::bmm", "[[4, 2048, 64], [4, 64, 2048]]", float_types},
            "ampere_sgemm_128x64_tn", (int64_t[2]){at, at + LENGTH_NS});
    finding = find_advice(scene_advice(&scene), "tf32_not_used");
    assert_non_null(finding);
    assert_in_range(finding->cost_ns, 64 * US, 66 * US);
    made_trace_clear(&scene.made);
}

/* Scores of 4 x 128 x 128, used by a kernel of 100 µs and a softmax of 200; each product takes 200.
 */
static const struct section *advice_on_attention(struct scene *scene, const char *last_shapes)
{
    scene_begin(scene, STEPS);
    for (int64_t at = 0; at < STEPS * STEP_NS; at += STEP_NS) {
        scene_operator(scene,
                       (const char *[3]){"aten::bmm", "[[4, 128, 64], [4, 64, 128]]", half_types},
                       bf16_kernel, (int64_t[2]){at, at + 200 * US});
        scene_operator(scene, (const char *[3]){"aten::mul", "[[4, 128, 128], []]", half_types},
                       "vectorized_elementwise_kernel", (int64_t[2]){at + 200 * US, at + 300 * US});
        scene_operator(
            scene, (const char *[3]){"aten::_softmax", "[[2, 2, 128, 128], [], []]", half_types},
            "softmax_warp_forward", (int64_t[2]){at + 300 * US, at + 500 * US});
        scene_operator(scene, (const char *[3]){"aten::bmm", last_shapes, half_types}, bf16_kernel,
                       (int64_t[2]){at + 500 * US, at + 700 * US});
        scene_operator(scene, (const char *[3]){"aten::mm", "[[512, 64], [64, 512]]", half_types},
                       bf16_kernel, (int64_t[2]){at + 700 * US, at + STEP_NS});
    }
    return scene_advice(scene);
}

static void attention_is_priced_by_what_a_fused_kernel_leaves(void **state)
{
    struct scene scene;
    const struct section *section;
    const struct finding *finding;

    section = advice_on_attention(&scene, "[[4, 128, 128], [4, 128, 64]]");
    finding = find_advice(section, "unfused_attention");
    assert_non_null(finding);
    /* the other product makes 33.6 MFLOP in 300 µs, each of attention's 8.4: 75 µs of 200 are left
     */
    assert_int_equal(finding->cost_ns, (300 + 2 * 125) * US);
    assert_non_null(strstr(finding->try_this, "scaled_dot_product_attention"));
    made_trace_clear(&scene.made);
    /* nobody multiplies by what the softmax makes: no attention */
    section = advice_on_attention(&scene, "[[4, 64, 128], [4, 128, 64]]");
    assert_null(find_advice(section, "unfused_attention"));
    made_trace_clear(&scene.made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(peers_are_bound_alike),
        cmocka_unit_test(another_format_is_not_faster_than_memory),
        cmocka_unit_test(attention_is_priced_by_what_a_fused_kernel_leaves),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
