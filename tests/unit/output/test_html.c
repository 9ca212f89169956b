/* The report for a browser: the data stands in the page, and stays data. */
#include "output/reports/html_page.h"
#include "output/reports/report.h"
#include "support_output.h"
#include "support_results.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

extern const struct report html_report;

static const char block_start[] = "<script type=\"application/json\" id=\"report\">\n";

static void data_in_markup_holds_no_markup(void **state)
{
    struct results results = {0};
    struct captured_output output = {0};
    struct json_writer json = {.is_in_markup = true};

    make_results(&results, 2);
    section_add_finding(&results, results.ranks[0].sections[0],
                        (struct finding){.what = "</script><!--&amp;", .cost_ns = -1});
    capture_begin(&output);
    json.output = output.stream;
    write_results_as_json(&json, &results);
    assert_null(strpbrk(capture_end(&output), "<>&"));
    assert_non_null(strstr(output.text, "\\u003c/script\\u003e\\u003c!--\\u0026amp;"));
    captured_output_clear(&output);
    results_clear(&results);
}

/* A page also wants to know which columns come first, a program does not. */
static void only_a_page_is_told_about_priorities(void **state)
{
    for (int is_in_markup = 0; is_in_markup < 2; is_in_markup++) {
        struct results results = {0};
        struct captured_output output = {0};
        struct json_writer json = {.is_in_markup = is_in_markup};
        static const struct column columns[] = {
            {"name", "name", UNIT_TEXT, 0, BAR_NONE},
            {"share", "share", UNIT_FRACTION, 7, BAR},
        };

        make_results(&results, 1);
        section_add_table(&results, results.ranks[0].sections[0], "other", "Other", columns, 2);
        capture_begin(&output);
        json.output = output.stream;
        write_results_as_json(&json, &results);
        capture_end(&output);
        assert_true((strstr(output.text, "\"priority\": 7, \"bar\": \"bar\"") != NULL) ==
                    is_in_markup);
        captured_output_clear(&output);
        results_clear(&results);
    }
}

static void the_page_holds_the_data_once(void **state)
{
    struct results results = {0};
    struct captured_output output = {0};
    struct report_options options = {.width = 80};
    struct error error = {0};
    const char *block;

    if (html_page_bytes == 0)
        skip();
    make_results(&results, 1);
    capture_begin(&output);
    assert_true(html_report.write(output.stream, &results, &options, &error));
    block = strstr(capture_end(&output), block_start);
    assert_non_null(block);
    assert_null(strstr(block + 1, block_start));
    assert_memory_equal(output.text, "<!doctype html>", strlen("<!doctype html>"));
    assert_true(output.length > html_page_bytes);
    captured_output_clear(&output);
    results_clear(&results);
}

static void a_page_is_for_a_file(void **state)
{
    struct error error = {0};

    if (html_page_bytes == 0) {
        assert_false(html_report.can_write(false, &error));
        assert_int_equal(error.class, ERROR_FAILURE);
        assert_non_null(strstr(error.message, "npm ci"));
        return;
    }
    assert_true(html_report.can_write(false, &error));
    assert_false(html_report.can_write(true, &error));
    assert_int_equal(error.class, ERROR_USAGE);
    assert_non_null(strstr(error.message, "--html report.html"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(data_in_markup_holds_no_markup),
        cmocka_unit_test(only_a_page_is_told_about_priorities),
        cmocka_unit_test(the_page_holds_the_data_once),
        cmocka_unit_test(a_page_is_for_a_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
