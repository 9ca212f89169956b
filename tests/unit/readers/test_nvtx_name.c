/* What PyTorch adds to the names of NVTX ranges. */
#include "readers/nvtx_name.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void assert_name(const struct nvtx_name *name, const char *expected)
{
    assert_int_equal(name->length, strlen(expected));
    assert_memory_equal(name->text, expected, strlen(expected));
}

static void an_op_has_numbers_and_shapes(void **state)
{
    struct nvtx_name name = nvtx_name_parse(
        "aten::addmm, seq = 42, op_id = 990, sizes = [[8], [4, 16], [16, 8], []], input_op_ids = "
        "[(1,0)]");

    (void)state;
    assert_name(&name, "aten::addmm");
    assert_int_equal(name.sequence_number, 42);
    assert_int_equal(name.op_id, 990);
    assert_int_equal(name.sizes_length, strlen("[[8], [4, 16], [16, 8], []]"));
    assert_memory_equal(name.sizes, "[[8], [4, 16], [16, 8], []]", name.sizes_length);
    assert_true(name.is_operator);
}

static void a_backward_node_is_an_op(void **state)
{
    struct nvtx_name name =
        nvtx_name_parse("autograd::engine::evaluate_function: MmBackward0, seq = 3, op_id = 5");

    (void)state;
    assert_name(&name, "autograd::engine::evaluate_function: MmBackward0");
    assert_int_equal(name.sequence_number, 3);
    assert_true(name.is_operator);
}

static void a_range_of_the_user_is_no_op(void **state)
{
    static const char *const texts[] = {"iteration 5",
                                        "Optimizer.step#AdamW.step, op_id = 7",
                                        "my own range, op_id = 8",
                                        "nn:encoder.0, op_id = 9",
                                        "nccl:all_reduce, op_id = 10",
                                        ""};

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_false(nvtx_name_parse(texts[i]).is_operator);
    assert_int_equal(nvtx_name_parse("my own range, op_id = 8").length, strlen("my own range"));
}

static void what_only_looks_like_a_field_stays(void **state)
{
    struct nvtx_name name = nvtx_name_parse("copy a, b, c");

    (void)state;
    assert_name(&name, "copy a, b, c");
    name = nvtx_name_parse("aten::mm, seq = x, op_id = 99999999999999999999, sizes = [[1, 2]");
    assert_name(&name, "aten::mm");
    assert_int_equal(name.sequence_number, -1);
    assert_int_equal(name.op_id, -1);
    assert_null(name.sizes);
    name = nvtx_name_parse(", op_id = 3");
    assert_name(&name, ", op_id = 3");
    assert_false(name.is_operator);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_op_has_numbers_and_shapes),
        cmocka_unit_test(a_backward_node_is_an_op),
        cmocka_unit_test(a_range_of_the_user_is_no_op),
        cmocka_unit_test(what_only_looks_like_a_field_stays),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
