/* Which products run on matrix units, how well, and why others do not. */
#include "sections/shape_text.h"
#include "support_trace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

extern const struct analysis tensor_core_use_analysis;
extern const struct analysis roofline_analysis;

static const char bf16[] = "[\"c10::BFloat16\", \"c10::BFloat16\"]";
static const char fp32[] = "[\"float\", \"float\"]";

struct scene {
    struct made_trace made;
    uint32_t thread;
    uint32_t stream;
    int64_t now;
};

/* One step of 100 µs on an H100. */
static void begin(struct scene *scene)
{
    struct device device = {.number = 0,
                            .memory_bytes = 85014478848,
                            .compute_major = 9,
                            .multiprocessors = 132,
                            .entry = DEVICE_ENTRY_OWN};
    static const char name[] = "NVIDIA H100 80GB HBM3";

    made_trace_init(&scene->made);
    scene->thread = made_thread(&scene->made, "1");
    scene->stream = made_stream(&scene->made, 0, 7);
    scene->now = 1000;
    device.name = string_pool_add(&scene->made.builder.strings, name, sizeof name - 1);
    trace_builder_add_device(&scene->made.builder, &device);
    made_host_event(&scene->made, scene->thread, EVENT_ANNOTATION,
                    (struct made_event){"ProfilerStep#0", 0, 100000});
}

static void add_product(struct scene *scene, const char *shapes, const char *types,
                        const char *kernel, int64_t length_ns)
{
    int64_t at = scene->now;

    made_operator(&scene->made, scene->thread, (struct made_event){"aten::mm", at, at + 500},
                  shapes, types);
    made_kernel(&scene->made, scene->thread, scene->stream,
                (struct made_event){"cudaLaunchKernel", at + 100, at + 200},
                (struct made_event){kernel, at + 1000, at + 1000 + length_ns});
    scene->now += 1000 + length_ns;
}

static const struct section *measured(struct scene *scene)
{
    made_trace_finish(&scene->made, WINDOW_CHOICE_AUTO);
    return made_section(&scene->made, &tensor_core_use_analysis);
}

static const char *reason_of(const struct section *section)
{
    const struct table *table = section_table(section, "slow_products");

    return table ? table_cell_at(table, 0, "reason").text : "";
}

static void shares_are_of_the_time_kernels_run(void **state)
{
    struct scene scene;
    const struct section *section;
    const struct table *operators;

    begin(&scene);
    add_product(&scene, "[[1024, 1024], [1024, 1024]]", bf16, "nvjet_tst_128x64", 6000);
    add_product(&scene, "[[64, 64], [64, 64]]", fp32, "ampere_sgemm_32x32_nn", 2000);
    section = measured(&scene);
    operators = section_table(section, "operators");
    assert_true(is_close(section_value(section, "share_of_busy").real, 0.75));
    assert_true(is_close(section_value(section, "of_peak_inside").real,
                         2.0 * 1024 * 1024 * 1024 / 6000e-9 / 989.5e12));
    /* 358 TFLOP/s: more than four times the vector units' 67 */
    assert_true(is_close(section_value(section, "proven").real, 1.0));
    assert_int_equal(operators->row_count, 2);
    assert_string_equal(table_cell_at(operators, 0, "on_units").text, "yes");
    assert_string_equal(table_cell_at(operators, 1, "on_units").text, "no");
    assert_string_equal(table_cell_at(operators, 1, "format").text, "fp32");
    made_trace_clear(&scene.made);
}

static void reasons_are_named(void **state)
{
    static const struct {
        const char *shapes;
        const char *types;
        const char *kernel;
        const char *reason;
    } cases[] = {
        {"[[64, 64], [64, 64]]", fp32, "ampere_sgemm_32x32_nn", "fp32 without TF32"},
        {"[[64, 64], [64, 50257]]", bf16, "gemmSN_NN_kernel",
         "on vector units: size 50257 is no multiple of 8"},
        {"[[64, 64], [64, 64]]", bf16, "gemmSN_NN_kernel", "on vector units"},
        {"[[64, 64], [64, 50258]]", bf16, "cutlass_80_tensorop_bf16_s16816gemm_nn_align2",
         "loads 2 elements at once, not 8, size 50258 is no multiple of 8"},
        {"[[64, 64], [64, 64]]", bf16, "ampere_bf16_s16816gemm_bf16_128x64",
         "Ampere kernel on Hopper"},
        {"[[64, 64], [64, 64]]", bf16, "nvjet_tst_128x64", ""},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct scene scene;

        begin(&scene);
        add_product(&scene, cases[i].shapes, cases[i].types, cases[i].kernel, 2000);
        assert_string_equal(reason_of(measured(&scene)), cases[i].reason);
        made_trace_clear(&scene.made);
    }
}

static void one_that_is_far_below_its_peers_is_named(void **state)
{
    struct scene scene;
    const struct section *section;

    begin(&scene);
    add_product(&scene, "[[512, 512], [512, 512]]", bf16, "nvjet_tst_128x64", 9000);
    add_product(&scene, "[[512, 512], [512, 520]]", bf16, "nvjet_tst_128x64", 3000);
    add_product(&scene, "[[512, 512], [512, 528]]", bf16, "nvjet_tst_128x64", 3000);
    section = measured(&scene);
    assert_int_equal(section_table(section, "slow_products")->row_count, 1);
    assert_non_null(strstr(reason_of(section), "% of the rate of 2 others of its size"));
    made_trace_clear(&scene.made);
}

static void the_roof_is_the_slower_of_both(void **state)
{
    struct scene scene;
    const struct section *section;
    const struct table *classes;
    double bytes = 2.0 * (1024 * 64 + 64 * 64 + 1024 * 64);
    double flops = 2.0 * 1024 * 64 * 64;

    begin(&scene);
    add_product(&scene, "[[1024, 64], [64, 64]]", bf16, "nvjet_tst_128x64", 2000);
    made_trace_finish(&scene.made, WINDOW_CHOICE_AUTO);
    section = made_section(&scene.made, &roofline_analysis);
    classes = section_table(section, "classes");
    assert_true(is_close(table_cell(classes, "matmuls", "intensity").real, flops / bytes));
    assert_string_equal(table_cell(classes, "matmuls", "bound").text, "memory");
    assert_true(
        is_close(table_cell(classes, "matmuls", "of_roof").real, bytes / 3.35e12 / 2000e-9));
    assert_true(
        is_close(table_cell(section_table(section, "operators"), "aten::mm", "of_roof").real,
                 bytes / 3.35e12 / 2000e-9));
    made_trace_clear(&scene.made);
}

static void shapes_are_shown_without_what_is_no_tensor(void **state)
{
    static const char *const cases[][2] = {
        {"[[512], [8, 512], [512, 512], [], []]", "[512] [8,512] [512,512]"},
        {"[[], [], [4]]", "[4]"},
        {"[[[8, 64], [64]], []]", "[[8,64],[64]]"},
        {"[]", ""},
        {"]]][", "]]]["},
    };
    struct results results = {0};

    results_init(&results);
    for (size_t i = 0; i < 4; i++)
        assert_string_equal(short_shapes(&results, cases[i][0]), cases[i][1]);
    assert_true(strlen(short_shapes(&results, cases[4][0])) <= 4); /* damaged: no more than given */
    results_clear(&results);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares_are_of_the_time_kernels_run),
        cmocka_unit_test(reasons_are_named),
        cmocka_unit_test(one_that_is_far_below_its_peers_is_named),
        cmocka_unit_test(the_roof_is_the_slower_of_both),
        cmocka_unit_test(shapes_are_shown_without_what_is_no_tensor),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
