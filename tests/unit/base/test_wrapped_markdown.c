/* Pages in Markdown, as wide as a terminal. */
#include "base/text/text_wrap.h"
#include "support_output.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void assert_written(const char *text, int width, const char *expected)
{
    struct captured_output output = {0};

    capture_begin(&output);
    write_wrapped_markdown(output.stream, text, width);
    assert_string_equal(capture_end(&output), expected);
    captured_output_clear(&output);
}

static void paragraphs_are_broken_anew(void **state)
{
    assert_written("# A title\n\none two\nthree four\nfive\n", 14,
                   "# A title\n\none two three\nfour five\n");
    assert_written("one\n# Two\nthree", 40, "one\n# Two\nthree\n");
    assert_written("", 40, "");
    assert_written("\n\n", 40, "\n\n");
}

static void items_keep_their_marks(void **state)
{
    assert_written("- one two\n  three\n- four\n\n10. five six\n", 11,
                   "- one two\n  three\n- four\n\n10. five\n    six\n");
    assert_written("- one\n  - two three\n", 9, "- one\n  - two\n    three\n");
    assert_written("-1 is\nno item\n", 40, "-1 is no item\n");
}

static void code_stays(void **state)
{
    static const char code[] = "```sh\nflopledger  report a.json\n\n| no table\n```\n";

    assert_written(code, 10, code);
    assert_written("one\n```\na b\n```\ntwo\n", 40, "one\n```\na b\n```\ntwo\n");
    assert_written("```\nnever closed", 40, "```\nnever closed");
}

static void a_table_that_fits_stays(void **state)
{
    static const char table[] = "| a | b |\n|---|---|\n| 1 | 2 |\n";

    assert_written(table, 9, table);
    assert_written("|a| less\n|b| is\n", 40, "|a| less |b| is\n");
    assert_written("| a |\n|---|", 40, "| a |\n|---|");
}

static void a_wide_table_becomes_paragraphs(void **state)
{
    assert_written("| what | means |\n|---|---|\n| `a|b` | one two three |\n| c | |\n", 15,
                   "`a|b`\n    one two\n        three\nc\n");
    assert_written("| x | one | two |\n|---|--:|---|\n| y | 1 | 2\\|3 |\n| z | |\n", 12,
                   "y\n    one: 1\n    two:\n        2\\|3\nz\n");
    assert_written("| x | y |\n|---|---|\n| without an end\n", 10, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paragraphs_are_broken_anew),
        cmocka_unit_test(items_keep_their_marks),
        cmocka_unit_test(code_stays),
        cmocka_unit_test(a_table_that_fits_stays),
        cmocka_unit_test(a_wide_table_becomes_paragraphs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
