/* Sampled GPU metrics: which samples count, and where. */
#include "support_trace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

extern const struct analysis gpu_metrics_analysis;

static void add_sample(struct made_trace *made, const char *name, int32_t device,
                       struct series_sample sample)
{
    struct series_list *list = &made->builder.series;
    struct series series = {.name = string_pool_add(&made->builder.strings, name, strlen(name)),
                            .device = device};
    uint32_t index = series_list_find(list, &series);

    series_add(&list->series[index], &sample);
}

/* Kernels at [1000, 2000) and [3000, 4000): the window is from 1000 to 4000. */
static void add_kernels(struct made_trace *made)
{
    uint32_t stream = made_stream(made, 0, 7);

    made_work(made, stream, EVENT_KERNEL, (struct made_event){"a", 1000, 2000}, NO_ID, NULL);
    made_work(made, stream, EVENT_KERNEL, (struct made_event){"b", 3000, 4000}, NO_ID, NULL);
}

static void samples_outside_the_steps_do_not_count(void **state)
{
    struct made_trace made;
    const struct table *table;

    made_trace_init(&made);
    add_kernels(&made);
    add_sample(&made, "SMs Active", 0, (struct series_sample){500, 99});
    add_sample(&made, "SMs Active", 0, (struct series_sample){1500, 80});
    add_sample(&made, "SMs Active", 0, (struct series_sample){2500, 10});
    add_sample(&made, "SMs Active", 0, (struct series_sample){3500, 60});
    add_sample(&made, "SMs Active", 0, (struct series_sample){4500, 99});
    add_sample(&made, "SMs Active", 1, (struct series_sample){1500, 7});
    made_trace_finish(&made, WINDOW_CHOICE_WHOLE);
    table = section_table(made_section(&made, &gpu_metrics_analysis), "by_metric");
    assert_int_equal(table->row_count, 1);
    assert_true(is_close(table_cell(table, "SMs Active", "mean").real, 50));
    assert_true(is_close(table_cell(table, "SMs Active", "mean_busy").real, 70));
    assert_true(is_close(table_cell(table, "SMs Active", "min").real, 10));
    assert_true(is_close(table_cell(table, "SMs Active", "max").real, 80));
    assert_int_equal(table_cell(table, "SMs Active", "samples").integer, 3);
    assert_true(is_close(table_cell(table, "SMs Active", "rate").real, 1e6));
    made_trace_clear(&made);
}

static void what_training_asks_for_comes_first(void **state)
{
    struct made_trace made;
    const struct table *table;

    made_trace_init(&made);
    add_kernels(&made);
    add_sample(&made, "Something else", 0, (struct series_sample){1500, 1});
    add_sample(&made, "DRAM Read Bandwidth", 0, (struct series_sample){1500, 2});
    add_sample(&made, "Tensor Active", 0, (struct series_sample){9000, 3});
    made_trace_finish(&made, WINDOW_CHOICE_WHOLE);
    table = section_table(made_section(&made, &gpu_metrics_analysis), "by_metric");
    assert_int_equal(table->row_count, 3);
    assert_string_equal(table_cell_at(table, 0, "metric").text, "Tensor Active");
    assert_string_equal(table_cell_at(table, 1, "metric").text, "DRAM Read Bandwidth");
    assert_string_equal(table_cell_at(table, 2, "metric").text, "Something else");
    assert_int_equal(table_cell(table, "Tensor Active", "samples").integer, 0);
    assert_int_equal(table_cell(table, "Tensor Active", "mean").unit, UNIT_NOT_KNOWN);
    assert_int_equal(table_cell(table, "Tensor Active", "rate").unit, UNIT_NOT_KNOWN);
    made_trace_clear(&made);
}

static struct value counted_per_step(const char *name)
{
    struct made_trace made;
    struct series_list *list = &made.builder.series;
    struct value value;

    made_trace_init(&made);
    add_kernels(&made);
    add_sample(&made, name, 0, (struct series_sample){1000, 30});
    add_sample(&made, name, 0, (struct series_sample){3000, 50});
    list->series[0].kind = SERIES_OF_KERNELS;
    made_trace_finish(&made, WINDOW_CHOICE_WHOLE);
    value = table_cell(section_table(made_section(&made, &gpu_metrics_analysis), "by_counter"),
                       name, "per_step");
    made_trace_clear(&made);
    return value;
}

static void counts_have_sums_in_a_step_and_ratios_none(void **state)
{
    static const char *const counts[] = {
        "SQ_WAVES",    "TCC_HIT_sum", "TCC_HIT[3]", "FetchSize", "SQ_INSTS_VALU_MFMA_MOPS_BF16",
        "GRBM_CP_BUSY"};
    static const char *const others[] = {
        "MfmaUtil",      "VALUBusy", "OccupancyPercent", "TCC_BUSY_avr", "L2CacheHit", "GPU_UTIL",
        "MAX_WAVE_SIZE", "CU_NUM",   "VALUInsts",        "COUNT",        "counter 7",  ""};

    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        assert_true(is_close(counted_per_step(counts[i]).real, 80));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_int_equal(counted_per_step(others[i]).unit, UNIT_NOT_KNOWN);
}

static void a_trace_without_counters_has_no_section(void **state)
{
    struct made_trace made;

    made_trace_init(&made);
    add_kernels(&made);
    add_sample(&made, "SMs Active", 3, (struct series_sample){1500, 80});
    made_trace_finish(&made, WINDOW_CHOICE_WHOLE);
    assert_null(made_section(&made, &gpu_metrics_analysis));
    made_trace_clear(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_outside_the_steps_do_not_count),
        cmocka_unit_test(what_training_asks_for_comes_first),
        cmocka_unit_test(counts_have_sums_in_a_step_and_ratios_none),
        cmocka_unit_test(a_trace_without_counters_has_no_section),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
