/* The report for people. */
#include "base/io/output_file.h"
#include "base/text/display_text.h"
#include "output/reports/report.h"
#include "support_output.h"
#include "support_results.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

extern const struct report text_report;

/* The page of `results`, which are cleared; captured_output_clear it. */
static struct captured_output print(const struct report *report, struct results *results,
                                    struct report_options options)
{
    struct captured_output output = {0};
    struct error error = {0};

    capture_begin(&output);
    assert_true(report->write(output.stream, results, &options, &error));
    capture_end(&output);
    results_clear(results);
    return output;
}

static const char expected_page[] = "rank 0: r0.json\n"
                                    "! the file is cut\n"
                                    "\n"
                                    "                     largest\n"
                                    "  of each step (us)  losses\n"
                                    "  -----------------------------\n"
                                    "              2,500  it is slow\n"
                                    "\n"
                                    "-- Kernels -------------------------------------------------\n"
                                    "What ran.\n"
                                    "\n"
                                    "  mean   1.500 ms  per step\n"
                                    "  MFU   not known  needs the model\n"
                                    "\n"
                                    "  By name\n"
                                    "                                            of the\n"
                                    "                                      time    step\n"
                                    "  kernel                              (ms)     (%)\n"
                                    "  ----------------------------------------------------------\n"
                                    "  gemm                              12.346    50.0  ####\n"
                                    "    \\x1b[31mred?                     6.173    25.0  ##\n"
                                    "    a very long na..t does nothing   4.115    16.7  #\n"
                                    "  ... and 42 more (--top 0 shows all)\n"
                                    "  ranks not known: needs metadata\n"
                                    "\n"
                                    "! the file is cut\n"
                                    "* it is slow (2.500 ms per step)\n"
                                    "    see above\n"
                                    "  > make it fast\n";

static void one_rank_in_ascii(void **state)
{
    struct results results = {0};
    struct captured_output output;

    make_results(&results, 1);
    output = print(&text_report, &results, (struct report_options){.width = 60});
    assert_string_equal(output.text, expected_page);
    captured_output_clear(&output);
}

static void several_ranks_and_one_in_full(void **state)
{
    struct results results = {0};
    struct captured_output output;

    make_results(&results, 3);
    results.detailed_rank = 1;
    output = print(&text_report, &results, (struct report_options){.width = 80});
    assert_non_null(strstr(output.text, "-- All ranks"));
    assert_non_null(strstr(output.text, "rank 1: r1.json\nThis one in full"));
    assert_null(strstr(output.text, "r0.json"));
    captured_output_clear(&output);
}

static void all_ranks_in_full(void **state)
{
    struct results results = {0};
    struct captured_output output;

    make_results(&results, 2);
    results.detailed_rank = ALL_RANKS;
    output = print(&text_report, &results, (struct report_options){.width = 80});
    assert_non_null(strstr(output.text, "rank 0: r0.json"));
    assert_non_null(strstr(output.text, "rank 1: r1.json"));
    captured_output_clear(&output);
}

static void nothing_moves_the_cursor_but_color(void **state)
{
    struct results results = {0};
    struct captured_output plain;
    struct captured_output colored;
    size_t kept = 0;

    make_results(&results, 1);
    plain =
        print(&text_report, &results, (struct report_options){.width = 100, .use_unicode = true});
    assert_null(strchr(plain.text, '\033'));
    make_results(&results, 1);
    colored = print(&text_report, &results,
                    (struct report_options){.width = 100, .use_unicode = true, .use_color = true});
    assert_non_null(strstr(colored.text, "\033[33m"));
    for (const char *in = colored.text; *in; in++) { /* without its colours it is the same page */
        if (*in == '\033')
            in = strchr(in, 'm');
        else
            colored.text[kept++] = *in;
    }
    colored.text[kept] = '\0';
    assert_string_equal(colored.text, plain.text);
    captured_output_clear(&plain);
    captured_output_clear(&colored);
}

static void no_line_is_wider_than_the_page(void **state)
{
    for (int width = 40; width <= 200; width += 7) {
        struct results results = {0};
        struct captured_output output;

        make_results(&results, 2);
        output = print(&text_report, &results,
                       (struct report_options){.width = width, .use_unicode = true});
        for (char *line = strtok(output.text, "\n"); line; line = strtok(NULL, "\n"))
            assert_true(display_columns(line) <= width);
        captured_output_clear(&output);
    }
}

static void a_full_disk_is_told(void **state)
{
    struct results results = {0};
    struct error error = {0};
    struct report_options options = {.width = 80};
    FILE *full = fopen("/dev/full", "w");

    if (!full)
        skip();
    setbuf(full, NULL);
    make_results(&results, 1);
    assert_true(text_report.write(full, &results, &options, &error));
    assert_false(stream_has_arrived(full, "a page", &error));
    assert_int_equal(error.class, ERROR_FAILURE);
    assert_string_equal(error.message, "cannot write 'a page': No space left on device");
    fclose(full);
    results_clear(&results);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_rank_in_ascii),
        cmocka_unit_test(several_ranks_and_one_in_full),
        cmocka_unit_test(all_ranks_in_full),
        cmocka_unit_test(nothing_moves_the_cursor_but_color),
        cmocka_unit_test(no_line_is_wider_than_the_page),
        cmocka_unit_test(a_full_disk_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
