/* JSON that is valid whatever the strings hold. */
#include "base/json/json_writer.h"
#include "support_output.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static void values_of_all_kinds(void **state)
{
    struct captured_output output = {0};
    struct json_writer json = {0};

    capture_begin(&output);
    json.output = output.stream;
    json_begin_object(&json, NULL, JSON_ONE_PER_LINE);
    json_text(&json, "text", "a");
    json_text(&json, "none", NULL);
    json_integer(&json, "least", INT64_MIN);
    json_real(&json, "third", 1.0 / 3);
    json_real(&json, "half", 0.5);
    json_real(&json, "nan", (double)NAN);
    json_boolean(&json, "yes", true);
    json_begin_array(&json, "empty", JSON_ONE_PER_LINE);
    json_end_array(&json);
    json_begin_array(&json, "line", JSON_ON_ONE_LINE);
    json_integer(&json, NULL, 1);
    json_begin_object(&json, NULL, JSON_ONE_PER_LINE);
    json_null(&json, "x");
    json_end_object(&json);
    json_end_array(&json);
    json_boolean(&json, "no", false);
    json_end_object(&json);
    assert_string_equal(capture_end(&output), "{\n"
                                              "  \"text\": \"a\",\n"
                                              "  \"none\": null,\n"
                                              "  \"least\": -9223372036854775808,\n"
                                              "  \"third\": 0.3333333333333333,\n"
                                              "  \"half\": 0.5,\n"
                                              "  \"nan\": null,\n"
                                              "  \"yes\": true,\n"
                                              "  \"empty\": [],\n"
                                              "  \"line\": [1, {\"x\": null}],\n"
                                              "  \"no\": false\n"
                                              "}\n");
    captured_output_clear(&output);
}

static void assert_written(const char *text, const char *expected)
{
    struct captured_output output = {0};
    struct json_writer json = {0};

    capture_begin(&output);
    json.output = output.stream;
    json_begin_array(&json, NULL, JSON_ON_ONE_LINE);
    json_text(&json, NULL, text);
    json_end_array(&json);
    assert_string_equal(capture_end(&output), expected);
    captured_output_clear(&output);
}

static void hostile_text_stays_valid(void **state)
{
    assert_written("\"\\/", "[\"\\\"\\\\/\"]\n");
    assert_written("\n\t\r\x01\x7f", "[\"\\n\\t\\u000d\\u0001\\u007f\"]\n");
    assert_written("\xFFz\xC3", "[\"\xEF\xBF\xBDz\xEF\xBF\xBD\"]\n");
    assert_written("caf\xC3\xA9", "[\"caf\xC3\xA9\"]\n");
    assert_written("\xED\xA0\x80", "[\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\"]\n");
}

static void reals_read_back_the_same(void **state)
{
    static const double numbers[] = {0.1, 1e300, -2.5e-10, 123456789.125, 1.0, 0.84, 5e-324};

    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        struct captured_output output = {0};
        struct json_writer json = {0};
        char *end;

        capture_begin(&output);
        json.output = output.stream;
        json_real(&json, NULL, numbers[i]);
        assert_true(strtod(capture_end(&output), &end) == numbers[i]);
        assert_int_equal(*end, '\0');
        captured_output_clear(&output);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_of_all_kinds),
        cmocka_unit_test(hostile_text_stays_valid),
        cmocka_unit_test(reals_read_back_the_same),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
