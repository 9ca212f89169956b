/* The step ledger's tables: everything adds up, to the nanosecond. */
#include "base/core/hash_map.h"
#include "ledger/step_outliers.h"
#include "support_trace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

extern const struct analysis step_accounts_analysis;

/* Step `number`: 1000 ns of matrix work, 400 of an elementwise kernel, and idle time for the rest.
 */
static void add_step(struct made_trace *made, uint32_t thread, uint32_t stream, int64_t number,
                     int64_t length_ns)
{
    static const char *const names[] = {"ProfilerStep#0", "ProfilerStep#1", "ProfilerStep#2",
                                        "ProfilerStep#3"};
    int64_t at = 100000 * number;

    made_host_event(made, thread, EVENT_ANNOTATION,
                    (struct made_event){names[number], at, at + length_ns});
    made_host_event(made, thread, EVENT_OPERATOR,
                    (struct made_event){"aten::mm", at + 100, at + 500});
    made_kernel(made, thread, stream, (struct made_event){"cudaLaunchKernel", at + 200, at + 300},
                (struct made_event){"sgemm", at + 1000, at + 2000});
    made_host_event(made, thread, EVENT_OPERATOR,
                    (struct made_event){"aten::add", at + 2500, at + 2900});
    made_kernel(made, thread, stream, (struct made_event){"cudaLaunchKernel", at + 2600, at + 2700},
                (struct made_event){"elementwise_kernel", at + 3000, at + 3400});
}

static void make_steps(struct made_trace *made, const int64_t *lengths, unsigned count)
{
    uint32_t thread, stream;

    made_trace_init(made);
    thread = made_thread(made, "7");
    stream = made_stream(made, 0, 7);
    for (unsigned i = 0; i < count; i++)
        add_step(made, thread, stream, i, lengths[i]);
    made_trace_finish(made, WINDOW_CHOICE_AUTO);
}

/* Sum of `column` over the rows of `depth` that follow row `parent` (all of them for SIZE_MAX). */
static int64_t sum_of(const struct table *table, size_t parent, int depth, const char *column)
{
    int64_t sum = 0;

    for (size_t row = parent == SIZE_MAX ? 0 : parent + 1; row < table->row_count; row++) {
        if (parent != SIZE_MAX && table->depths[row] < depth)
            break;
        if (table->depths[row] == depth &&
            strcmp(table_cell_at(table, row, "key").text, "step") != 0)
            sum += table_cell_at(table, row, column).integer;
    }
    return sum;
}

static void every_column_of_the_ledger_adds_up(void **state)
{
    const int64_t lengths[] = {5000, 5001, 5001}; /* the mean, 5000 2/3, has to be rounded */
    struct made_trace made;
    const struct table *table;

    make_steps(&made, lengths, 3);
    table = section_table(made_section(&made, &step_accounts_analysis), "ledger");
    assert_non_null(table);
    assert_int_equal(table_cell(table, "whole step", "mean").integer, 5001);
    assert_int_equal(table_cell(table, "whole step", "total").integer, 15002);
    assert_int_equal(table_cell(table, "whole step", "min").integer, 5000);
    assert_int_equal(table_cell(table, "matmul time", "mean").integer, 1000);
    assert_int_equal(table_cell(table, "other compute", "total").integer, 1200);
    assert_int_equal(sum_of(table, SIZE_MAX, 0, "mean"), 5001);
    assert_int_equal(sum_of(table, SIZE_MAX, 0, "total"), 15002);
    for (size_t row = 0; row + 1 < table->row_count; row++)
        if (table->depths[row + 1] > table->depths[row] &&
            table_cell_at(table, row + 1, "mean").unit == UNIT_TIME_NS) {
            assert_int_equal(sum_of(table, row, table->depths[row] + 1, "mean"),
                             table_cell_at(table, row, "mean").integer);
            assert_int_equal(sum_of(table, row, table->depths[row] + 1, "total"),
                             table_cell_at(table, row, "total").integer);
        }
    made_trace_clear(&made);
}

/* A product whose FLOPs take 300 ns of its 1000 at the peak. */
static void matrix_work_splits_down_to_the_model(void **state)
{
    struct made_trace made;
    const struct table *table;
    uint32_t thread;

    made_trace_init(&made);
    thread = made_thread(&made, "7");
    for (int64_t step = 0; step < 2; step++) {
        int64_t at = 10000 * step;

        made_host_event(
            &made, thread, EVENT_ANNOTATION,
            (struct made_event){step ? "ProfilerStep#1" : "ProfilerStep#0", at, at + 5000 + step});
        made_operator(&made, thread, (struct made_event){"aten::mm", at + 100, at + 500},
                      "[[10, 20], [20, 30]]", "[\"float\", \"float\"]");
        made_kernel(&made, thread, made_stream(&made, 0, 7),
                    (struct made_event){"cudaLaunchKernel", at + 200, at + 300},
                    (struct made_event){"sgemm", at + 1000, at + 2000 + step});
    }
    made.peaks.peaks[PEAK_FP32] = 2.0 * 10 * 20 * 30 / 300e-9;
    made_trace_finish(&made, WINDOW_CHOICE_AUTO);
    table = section_table(made_section(&made, &step_accounts_analysis), "ledger");
    assert_int_equal(table_cell(table, "model FLOPs (MFU)", "mean").integer, 300);
    assert_int_equal(table_cell(table, "below the peak", "total").integer, 1401);
    assert_int_equal(table_cell(table, "below the peak", "mean").integer, 701);
    assert_int_equal(table_cell(table, "matmul time", "mean").integer, 1001);
    made_trace_clear(&made);
}

static void shares_are_of_all_steps(void **state)
{
    const int64_t lengths[] = {4000, 6000};
    struct made_trace made;
    const struct section *section;

    make_steps(&made, lengths, 2);
    section = made_section(&made, &step_accounts_analysis);
    assert_true(
        is_close(table_cell(section_table(section, "ledger"), "matmul time", "share").real, 0.2));
    assert_true(
        is_close(table_cell(section_table(section, "ledger"), "whole step", "share").real, 1.0));
    assert_true(is_close(section_value(section, "device_busy").real, 0.28));
    assert_int_equal(section_value(section, "between_steps").integer, 96000);
    assert_int_equal(section_value(section, "step_time_mean").integer, 5000);
    made_trace_clear(&made);
}

static void the_exact_table_has_every_account_of_every_step(void **state)
{
    const int64_t lengths[] = {5000, 7000, 5000};
    struct made_trace made;
    const struct table *table;

    make_steps(&made, lengths, 3);
    table = section_table(made_section(&made, &step_accounts_analysis), "steps");
    assert_int_equal(table->row_count, 3);
    for (size_t row = 0; row < 3; row++) {
        int64_t sum = 0;

        for (int a = 0; a < ACCOUNT_COUNT; a++)
            sum += table_cell_at(table, row, account_descriptions[a].key).integer;
        assert_int_equal(sum, lengths[row]);
        assert_int_equal(table_cell_at(table, row, "step").integer, row);
        assert_int_equal(table_cell_at(table, row, "matrix").integer, 1000);
        assert_int_equal(table_cell_at(table, row, "busy").integer, 1400);
        assert_int_equal(table_cell_at(table, row, "tail").integer, lengths[row] - 3400);
    }
    made_trace_clear(&made);
}

static void a_step_says_when_it_was_and_what_it_trained_on(void **state)
{
    const int64_t lengths[] = {5000, 5000};
    struct described_step steps[] = {{.number = 1, .micro_batches = 2, .samples = 8, .tokens = 64}};
    struct made_trace made;
    const struct table *table;

    make_steps(&made, lengths, 2);
    made.trace.facts.base_time_ns = INT64_C(1750000000000000000);
    made.description.steps = steps;
    made.description.step_count = 1;
    hash_map_add(&made.description.step_places, 1, 0);
    table = section_table(made_section(&made, &step_accounts_analysis), "steps");
    assert_int_equal(table_cell_at(table, 1, "start_unix").integer, INT64_C(1750000000000100000));
    assert_int_equal(table_cell_at(table, 0, "tokens").unit, UNIT_NOT_KNOWN);
    assert_int_equal(table_cell_at(table, 1, "tokens").integer, 64);
    assert_int_equal(table_cell_at(table, 1, "samples").integer, 8);
    made.trace.facts.base_time_ns = 0;
    table = section_table(made_section(&made, &step_accounts_analysis), "steps");
    assert_int_equal(table_cell_at(table, 1, "start_unix").unit, UNIT_NOT_KNOWN);
    hash_map_clear(&made.description.step_places);
    made.description = (struct model_description){0};
    made_trace_clear(&made);
}

static void a_step_that_stands_out_is_marked_and_explained(void **state)
{
    const int64_t lengths[] = {5000, 5000, 9000, 5000};
    const struct analysis_options two_rows = {.top = 2};
    struct made_trace made;
    const struct section *section;
    const struct table *table;

    make_steps(&made, lengths, 4);
    section = made_section_with(&made, &step_accounts_analysis, &two_rows);
    table = section_table(section, "step_list");
    assert_int_equal(table->rows_in_all, 4);
    assert_int_equal(table->row_count, 2); /* the one furthest from the median is among them */
    assert_int_equal(table_cell_at(table, 0, "step").integer, 0);
    assert_string_equal(table_cell_at(table, 0, "remark").text, "");
    assert_int_equal(table_cell_at(table, 1, "step").integer, 2);
    assert_memory_equal(table_cell_at(table, 1, "remark").text, "+80.0 %", 7);
    made_trace_clear(&made);
}

static void a_trace_without_steps_is_one_window(void **state)
{
    const int64_t lengths[] = {5000};
    struct made_trace made;
    const struct section *section;

    make_steps(&made, lengths, 0);
    assert_null(made_section(&made, &step_accounts_analysis));
    made_trace_clear(&made);
    made_trace_init(&made);
    made_kernel(&made, made_thread(&made, "1"), made_stream(&made, 0, 7),
                (struct made_event){"cudaLaunchKernel", 0, 50},
                (struct made_event){"sgemm", 100, 1100});
    made_trace_finish(&made, WINDOW_CHOICE_AUTO);
    section = made_section(&made, &step_accounts_analysis);
    assert_int_equal(section_value(section, "step_time_mean").integer, 1000);
    assert_null(section_table(section, "step_list"));
    made_trace_clear(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_column_of_the_ledger_adds_up),
        cmocka_unit_test(matrix_work_splits_down_to_the_model),
        cmocka_unit_test(shares_are_of_all_steps),
        cmocka_unit_test(the_exact_table_has_every_account_of_every_step),
        cmocka_unit_test(a_step_says_when_it_was_and_what_it_trained_on),
        cmocka_unit_test(a_step_that_stands_out_is_marked_and_explained),
        cmocka_unit_test(a_trace_without_steps_is_one_window),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
