/* Tables on pages of all widths. */
#include "base/text/display_text.h"
#include "base/text/text_table.h"
#include "support_output.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const struct text_column columns[] = {
    {"kernel", TEXT_COLUMN_NAME, 0},
    {"calls", TEXT_COLUMN_NUMBER, 1},
    {"time in all (ms)", TEXT_COLUMN_NUMBER, 0},
    {"", TEXT_COLUMN_BAR, 2},
    {"class", TEXT_COLUMN_NAME, 3},
};

static const struct text_cell cells[] = {
    {.text = "gemm"},        {.text = "12"},     {.text = "1.500"},
    {.fraction = 1},         {.text = "matrix"}, {.text = "a long kernel name of many words"},
    {.text = "1,234"},       {.text = "20.250"}, {.fraction = 0.25},
    {.text = "elementwise"},
};

static const int depths[] = {0, 1};

static const struct text_table table = {columns, 5, cells, depths, 2};

static void assert_page(int width, bool use_unicode, const char *expected)
{
    struct captured_output output = {0};
    struct arena arena = {0};

    capture_begin(&output);
    text_table_write(&table, output.stream, 1,
                     (struct text_style){.width = width, .use_unicode = use_unicode}, &arena);
    assert_string_equal(capture_end(&output), expected);
    captured_output_clear(&output);
    arena_clear(&arena);
}

static const char wide_page[] = "                                              time\n"
                                "                                            in all\n"
                                " kernel                              calls    (ms)      "
                                "                            class\n"
                                " -------------------------------------------------------"
                                "---------------------------------------\n"
                                " gemm                                   12   1.500  ####"
                                "##########################  matrix\n"
                                "   a long kernel name of many words  1,234  20.250  ####"
                                "####                        elementwise\n";

static const char narrow_page[] = "                                        time\n"
                                  "                                      in all\n"
                                  " kernel                        calls    (ms)\n"
                                  " -------------------------------------------\n"
                                  " gemm                             12   1.500\n"
                                  "   a long kerne..f many words  1,234  20.250\n";

static void a_wide_page_shows_all(void **state)
{
    assert_page(100, false, wide_page);
}

static void a_narrow_page_leaves_out_and_shortens(void **state)
{
    assert_page(44, false, narrow_page);
}

static void no_line_is_longer_than_the_page(void **state)
{
    for (int width = 20; width < 120; width++) {
        struct captured_output output = {0};
        struct arena arena = {0};
        char *line;

        capture_begin(&output);
        text_table_write(&table, output.stream, 1,
                         (struct text_style){.width = width, .use_unicode = true}, &arena);
        capture_end(&output);
        for (line = strtok(output.text, "\n"); line; line = strtok(NULL, "\n")) {
            assert_true(display_columns(line) <= width);
            assert_int_not_equal(line[strlen(line) - 1], ' ');
        }
        captured_output_clear(&output);
        arena_clear(&arena);
    }
}

static void widths_tell_what_is_left_out(void **state)
{
    struct captured_output output = {0};
    struct arena arena = {0};
    const int *widths;

    capture_begin(&output);
    widths = text_table_write(&table, output.stream, 0, (struct text_style){.width = 44}, &arena);
    capture_end(&output);
    assert_true(widths[0] > 0 && widths[2] > 0);
    assert_int_equal(widths[4], 0);
    captured_output_clear(&output);
    arena_clear(&arena);
}

/* Bars that begin where others end are drawn from the column of their start. */
static void bars_may_begin_anywhere(void **state)
{
    static const struct text_column bar_columns[] = {{"a", TEXT_COLUMN_NAME, 0},
                                                     {"", TEXT_COLUMN_BAR, 0}};
    static const struct text_cell bars[] = {
        {.text = "all"},  {.fraction = 1},
        {.text = "lost"}, {.fraction = 0.5, .start = 0.5},
        {.text = "left"}, {.fraction = 0.1, .start = 0.4},
        {.text = "over"}, {.fraction = 0.5, .start = 0.9},
    };
    static const struct text_table bar_table = {bar_columns, 2, bars, NULL, 4};
    struct captured_output output = {0};
    struct arena arena = {0};

    capture_begin(&output);
    text_table_write(&bar_table, output.stream, 0, (struct text_style){.width = 16}, &arena);
    assert_string_equal(capture_end(&output), "a\n"
                                              "----------------\n"
                                              "all   ##########\n"
                                              "lost       #####\n"
                                              "left      #\n"
                                              "over       #####\n");
    captured_output_clear(&output);
    arena_clear(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wide_page_shows_all),
        cmocka_unit_test(a_narrow_page_leaves_out_and_shortens),
        cmocka_unit_test(no_line_is_longer_than_the_page),
        cmocka_unit_test(widths_tell_what_is_left_out),
        cmocka_unit_test(bars_may_begin_anywhere),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
