/* Shapes, types and values as traces write them. */
#include "cost/flops/op_call.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void shapes_are_read(void **state)
{
    struct op_call call = {0};
    struct op_call_text text = {.name = "aten::lstm",
                                .shapes = "[[8, 64], [], [[4, 4], [7], []], []]",
                                .types = "[\"c10::BFloat16\", \"Scalar\", \"TensorList\", "
                                         "\"TensorList\"]",
                                .values = "[\"\", \"-12\", \"\", \"\"]"};
    int64_t value;

    assert_true(op_call_parse(&call, &text));
    assert_int_equal(call.argument_count, 4);
    assert_int_equal(rank_of(&call, 0), 2);
    assert_int_equal(size_of(&call, 0, -1), 64);
    assert_int_equal(size_of(&call, 0, 2), -1);
    assert_int_equal(elements_of(&call, 0), 512);
    assert_int_equal(bytes_of(&call, 0), 1024);
    assert_false(is_tensor(&call, 1));
    assert_int_equal(rank_of(&call, 1), -1);
    assert_int_equal(elements_of(&call, 2), 16 + 7 + 1); /* [] in a list is a scalar tensor */
    assert_int_equal(bytes_of(&call, 2), 2 * 24);
    assert_int_equal(call.arguments[3].kind, ARGUMENT_TENSOR_LIST);
    assert_int_equal(elements_of(&call, 3), -1); /* left out, or empty: not 0 */
    assert_int_equal(rank_of(&call, 99), -1);
    assert_true(integer_value(&call, 1, &value));
    assert_int_equal(value, -12);
    assert_false(integer_value(&call, 0, &value));
    op_call_clear(&call);
}

static void a_scalar_tensor_is_told_from_a_number(void **state)
{
    struct op_call call = {0};
    struct op_call_text text = {
        .name = "aten::mul", .shapes = "[[2, 3], []]", .types = "[\"float\",\"double\"]"};

    assert_true(op_call_parse(&call, &text));
    assert_true(is_tensor(&call, 1));
    assert_int_equal(elements_of(&call, 1), 1);
    text.types = "[\"float\",\"Scalar\"]";
    assert_true(op_call_parse(&call, &text));
    assert_false(is_tensor(&call, 1));
    op_call_clear(&call);
}

static void values_are_read(void **state)
{
    struct op_call call = {0};
    struct op_call_text text = {.name = "aten::convolution",
                                .shapes = "[[], [], [], [], []]",
                                .types = "",
                                .values = "[\"[2, -3]\", \"1\", \"True\", \"[True, False]\", "
                                          "\"a \\\" quote\"]"};
    struct value_list list;
    bool truth = false;

    assert_true(op_call_parse(&call, &text));
    assert_true(list_value(&call, 0, &list));
    assert_int_equal(list.count, 2);
    assert_int_equal(list.values[1], -3);
    assert_true(list_value(&call, 1, &list));
    assert_int_equal(list.count, 1);
    assert_true(boolean_value(&call, 2, &truth));
    assert_true(truth);
    assert_true(list_value(&call, 3, &list));
    assert_int_equal(list.values[0], 1);
    assert_int_equal(list.values[1], 0);
    assert_false(list_value(&call, 4, &list));
    assert_false(boolean_value(&call, 0, &truth));
    op_call_clear(&call);
}

static void the_result_may_be_told_by_another_op(void **state)
{
    struct op_call call = {0};
    struct op_call_text text = {.name = "aten::cudnn_convolution",
                                .shapes = "[[2, 3, 8, 8], [4, 3, 3, 3]]",
                                .result = "[[1], [2, 4, 6, 6]]",
                                .result_argument = 1};

    assert_true(op_call_parse(&call, &text));
    assert_true(call.has_output);
    assert_int_equal(call.argument_count, 2);
    assert_int_equal(shape_elements(&call, &call.output), 2 * 4 * 6 * 6);
    assert_int_equal(size_of(&call, 1, 0), 4);
    text.result_argument = 2; /* there is none */
    assert_true(op_call_parse(&call, &text));
    assert_false(call.has_output);
    text.result = "[[2, 4";
    text.result_argument = 0;
    assert_true(op_call_parse(&call, &text));
    assert_false(call.has_output);
    assert_int_equal(call.argument_count, 2);
    op_call_clear(&call);
}

static void what_is_no_list_of_shapes_is_refused(void **state)
{
    static const char *const bad[] = {
        "",           "[",          "[[8, 64]", "8",       "[8]",
        "[[8], x]",   "[[-8]]",     "]",        "[[8]] x", "[[[[1]]]]",
        "[[1, [2]]]", "[[[1], 2]]", "N/A",      "[[8.5]]", "[[99999999999999999999999999]]",
        NULL};
    struct op_call call = {0};
    struct op_call_text text = {.name = "aten::mm"};

    for (size_t i = 0; bad[i]; i++) {
        text.shapes = bad[i];
        assert_false(op_call_parse(&call, &text));
        assert_int_equal(call.argument_count, 0);
    }
    text.shapes = NULL;
    assert_false(op_call_parse(&call, &text));
    op_call_clear(&call);
}

static void a_call_is_used_again(void **state)
{
    struct op_call call = {0};
    struct op_call_text text = {.name = "a", .shapes = "[[1, 2, 3], [4]]"};

    for (int i = 0; i < 100; i++)
        assert_true(op_call_parse(&call, &text));
    assert_int_equal(call.argument_count, 2);
    assert_int_equal(call.dim_count, 4);
    assert_int_equal(size_of(&call, 1, 0), 4);
    op_call_clear(&call);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes_are_read),
        cmocka_unit_test(a_scalar_tensor_is_told_from_a_number),
        cmocka_unit_test(values_are_read),
        cmocka_unit_test(the_result_may_be_told_by_another_op),
        cmocka_unit_test(what_is_no_list_of_shapes_is_refused),
        cmocka_unit_test(a_call_is_used_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
