/* Amounts of memory on the command line. */
#include "base/text/byte_size.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void sizes_are_read(void **state)
{
    static const struct {
        const char *text;
        int64_t bytes;
    } cases[] = {{"80GiB", 85899345920},
                 {"24GB", 24000000000},
                 {"512 MiB", 536870912},
                 {"1.5kb", 1500},
                 {"7B", 7},
                 {"0.5TiB", 549755813888}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t bytes = 0;

        assert_true(parse_byte_size(cases[i].text, &bytes));
        assert_int_equal(bytes, cases[i].bytes);
    }
}

static void other_texts_are_refused(void **state)
{
    static const char *const texts[] = {"",      "80",     "GiB",     "-1GB",   "0GB", "nanGB",
                                        "inf B", "1e99TB", "80 GiB!", "80Gib8", "0.1B"};

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        int64_t bytes = -7;

        if (parse_byte_size(texts[i], &bytes))
            fail_msg("'%s' was taken", texts[i]);
        assert_int_equal(bytes, -7);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_are_read),
        cmocka_unit_test(other_texts_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
