/* Results as bytes: what is read again prints the same, and what was cut is not read. */
#include "base/core/bytes.h"
#include "output/reports/write_report.h"
#include "output/results/metrics.h"
#include "output/results/results.h"
#include "support_output.h"
#include "support_results.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* Everything that a page may lead to. */
static void fill(struct results *results)
{
    static const char *const accounts[] = {"idle", "copies"};
    static const int64_t steps[] = {3, 9};
    static const struct advice_estimate estimate = {.id = "data_loading",
                                                    .accounts = accounts,
                                                    .account_count = 2,
                                                    .share = 0.25,
                                                    .span = "step",
                                                    .steps = steps,
                                                    .step_count = 2,
                                                    .confidence = "high",
                                                    .reason = "it was seen"};
    struct section *section;

    make_results(results, 2);
    section = section_new(results, "advice", "Advice", "What to do");
    section_add_number(results, section,
                       (struct number){METRIC_NAMES(STEP_TIME_MAX), value_time_ns(12345), "n"});
    section_add_finding(results, section,
                        (struct finding){.what = "w", .cost_ns = 7, .estimate = &estimate});
    rank_add_section(results, &results->ranks[1], section);
    results->overview = section;
    results->awaited_rank = "rank 1";
    results->detailed_rank = 1;
    results_add_problem(results, (struct finding){.what = "a file is gone", .cost_ns = -1});
}

/* As all formats but the page print them. */
static void check_same_print(const struct results *a, const struct results *b)
{
    for (int i = 0; all_reports()[i]; i++) {
        const struct report_options options = {.extent = REPORT_WHOLE, .width = 100};
        SCOPED(captured_output) first = {0};
        SCOPED(captured_output) second = {0};
        struct error error = {0};

        if (strcmp(all_reports()[i]->name, "html") == 0)
            continue;
        capture_begin(&first);
        capture_begin(&second);
        assert_int_equal(all_reports()[i]->write(first.stream, a, &options, &error),
                         all_reports()[i]->write(second.stream, b, &options, &error));
        assert_string_equal(capture_end(&first), capture_end(&second));
    }
}

static void what_is_read_again_prints_the_same(void **state)
{
    SCOPED(results) results = {0};
    SCOPED(results) again = {0};
    struct bytes bytes = {0};
    const struct advice_estimate *estimate;

    fill(&results);
    results_to_bytes(&bytes, &results);
    results_init(&again);
    assert_true(results_from_bytes(&again, bytes.bytes, bytes.length));
    check_same_print(&results, &again);
    assert_int_equal(metric_number(&again.ranks[1], METRIC_STEP_TIME_MAX).integer, 12345);
    assert_string_equal(again.awaited_rank, "rank 1");
    assert_int_equal(again.detailed_rank, 1);
    estimate = again.overview->findings[0].estimate;
    assert_string_equal(estimate->accounts[1], "copies");
    assert_int_equal(estimate->steps[1], 9);
    assert_null(estimate->change);
    bytes_clear(&bytes);
}

static void what_was_cut_is_not_read(void **state)
{
    SCOPED(results) results = {0};
    struct bytes bytes = {0};

    fill(&results);
    results_to_bytes(&bytes, &results);
    for (size_t length = 0; length < bytes.length; length += 7) {
        SCOPED(results) again = {0};

        results_init(&again);
        assert_false(results_from_bytes(&again, bytes.bytes, length));
    }
    bytes_clear(&bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_read_again_prints_the_same),
        cmocka_unit_test(what_was_cut_is_not_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
