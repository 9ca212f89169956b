/* Formulas that a user gives. */
#include "base/core/attributes.h"
#include "cost/flops/count_flops.h"
#include "cost/flops/user_formula.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static struct op_cost cost_with(const char *lines, const char *op)
{
    SCOPED(user_formulas) formulas = {0};
    struct error error = {0};
    struct op_call call = {0};
    struct op_call_text text = {.name = op,
                                .shapes = "[[8, 64, 5], [64, 16], [], []]",
                                .types = "[\"float\", \"float\", \"Scalar\", \"Scalar\"]",
                                .values = "[\"\", \"\", \"7\", \"True\"]"};
    struct op_cost cost;

    assert_true(user_formulas_add(&formulas, "my.txt", lines, &error));
    cost = count_flops_of_text(&call, &text, &formulas);
    op_call_clear(&call);
    return cost;
}

static int64_t value_of(const char *expression)
{
    char line[256] = "my::op = ";

    (void)strncat(line, expression, sizeof line - strlen(line) - 1);
    return cost_with(line, "my::op").flops;
}

static void arithmetic(void **state)
{
    assert_int_equal(value_of("2 + 3 * 4"), 14);
    assert_int_equal(value_of("(2 + 3) * 4"), 20);
    assert_int_equal(value_of("20 - 5 - 3"), 12);
    assert_int_equal(value_of("100 / 7 / 2"), 7);
    assert_int_equal(value_of("2*in0[0]*in0[-2]*in1[1]"), 2 * 8 * 64 * 16);
    assert_int_equal(value_of("elements(in0) + rank( in1 )"), 8 * 64 * 5 + 2);
    assert_int_equal(value_of("value(2) * value(3)"), 7);
    assert_int_equal(value_of("min(3, max(1, 2)) * (1 + min(5, 4 * 2))"), 12);
    assert_int_equal(value_of("max(1, 2 - 3)"), 1);
}

static void a_line_replaces_what_is_built_in(void **state)
{
    struct op_cost cost;

    cost = cost_with("# ours\n\naten::mm = 42 # forty-two\naten::mm bytes = 2 * elements(in0)\n",
                     "aten::mm");
    assert_int_equal(cost.kind, COST_MATRIX);
    assert_int_equal(cost.flops, 42);
    assert_int_equal(cost.macs, 21);
    assert_int_equal(cost.bytes, 2 * 8 * 64 * 5);
    cost = cost_with("my::gate pointwise = elements(in0)\r\n", "my::gate");
    assert_int_equal(cost.kind, COST_POINTWISE);
    assert_int_equal(cost.macs, 0);
    assert_int_equal(cost.bytes, -1);
}

static void what_a_call_lacks_is_not_counted(void **state)
{
    assert_int_equal(cost_with("my::op = in5[0]", "my::op").kind, COST_NOT_COUNTED);
    assert_int_equal(cost_with("my::op = in0[3]", "my::op").kind, COST_NOT_COUNTED);
    assert_int_equal(cost_with("my::op = value(0)", "my::op").kind, COST_NOT_COUNTED);
    assert_int_equal(cost_with("my::op = 1 / (value(2) - 7)", "my::op").kind, COST_NOT_COUNTED);
    assert_int_equal(cost_with("my::op = 9000000000 * 9000000000", "my::op").kind,
                     COST_NOT_COUNTED);
}

static void mistakes_are_told_by_line_and_column(void **state)
{
    static const struct {
        const char *lines;
        const char *where;
    } mistakes[] = {
        {"my::op = 2 *", "line 1: column 13: expected a number"},
        {"\n# x\nmy::op = 2 * (3 + 4", "line 3: column 20: expected ')'"},
        {"my::op = 2 3", "line 1: column 12: expected +"},
        {"my::op = in0", "line 1: column 13: expected '['"},
        {"my::op = size(in0)", "line 1: column 10: expected a number"},
        {"my::op = min(1)", "line 1: column 15: expected ','"},
        {"my::op = 1, 2", "line 1: column 11: expected an operator"},
        {"my::op = 1)", "line 1: column 11: expected no ')'"},
        {"my::op =", "line 1: column 9: expected a number"},
        {"my::op 2", "line 1: expected a line like"},
        {"my::op macs = 2", "line 1: 'macs' stands between"},
        {"my::op = 99999999999999999999", "line 1: column 30: expected a number below"},
        {"my::op bytes = 4", "has a line for its bytes and none"},
    };

    for (size_t i = 0; i < sizeof mistakes / sizeof mistakes[0]; i++) {
        SCOPED(user_formulas) formulas = {0};
        struct error error = {0};

        assert_false(user_formulas_add(&formulas, "my.txt", mistakes[i].lines, &error));
        assert_non_null(strstr(error.message, "cannot read formulas 'my.txt'"));
        if (!strstr(error.message, mistakes[i].where))
            print_error("%s\n", error.message);
        assert_non_null(strstr(error.message, mistakes[i].where));
        assert_int_equal(error.class, ERROR_INPUT);
    }
}

static void a_missing_file_is_an_error(void **state)
{
    SCOPED(user_formulas) formulas = {0};
    struct error error = {0};

    assert_false(user_formulas_read(&formulas, "tests/no/such/file", &error));
    assert_non_null(strstr(error.message, "no/such/file"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arithmetic),
        cmocka_unit_test(a_line_replaces_what_is_built_in),
        cmocka_unit_test(what_a_call_lacks_is_not_counted),
        cmocka_unit_test(mistakes_are_told_by_line_and_column),
        cmocka_unit_test(a_missing_file_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
