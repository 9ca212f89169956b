#include "readers/ascend/ascend_words.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Asked twice, since the second time it is looked up. */
static enum event_kind kind_of(const char *type, const char *name)
{
    struct string_pool strings = {0};
    struct ascend_words words = {0};
    const uint32_t type_id = string_pool_add(&strings, type, strlen(type));
    const uint32_t name_id = string_pool_add(&strings, name, strlen(name));
    const enum event_kind kind = ascend_task_kind(&words, &strings, type_id, name_id);

    assert_int_equal(ascend_task_kind(&words, &strings, type_id, name_id), kind);
    ascend_words_clear(&words);
    string_pool_clear(&strings);
    return kind;
}

static uint32_t detail_of(struct ascend_words *words, struct trace_builder *builder,
                          const char *type, int64_t bytes)
{
    return ascend_task_detail(words, builder,
                              string_pool_add(&builder->strings, type, strlen(type)), bytes);
}

struct told_kind {
    const char *type;
    const char *name;
    enum event_kind kind;
};

static void check_kinds(const struct told_kind *told, size_t count)
{
    for (size_t i = 0; i < count; i++)
        assert_int_equal(kind_of(told[i].type, told[i].name), told[i].kind);
}

static void waits_are_no_work(void **state)
{
    static const struct told_kind told[] = {
        {"AI_CORE", "MatMul", EVENT_KERNEL},
        {"KERNEL_MIX_AIV", "MatMul", EVENT_KERNEL},
        {"HCCL_AI_CPU", "MatMul", EVENT_KERNEL},
        {"SDMA_SQE", "MatMul", EVENT_MEMCPY},
        {"MEMCPY_ASYNC", "MatMul", EVENT_MEMCPY},
        {"EVENT_WAIT_SQE", "MatMul", EVENT_DEVICE_SYNC},
        {"NOTIFY_RECORD", "MatMul", EVENT_DEVICE_SYNC},
        {"MODEL_EXECUTE", "MatMul", EVENT_DEVICE_SYNC},
        {"QUANTUM", "MatMul", EVENT_DEVICE_OTHER},
    };

    (void)state;
    check_kinds(told, sizeof told / sizeof told[0]);
}

static void tasks_without_a_type_are_told_by_their_names(void **state)
{
    static const struct told_kind told[] = {
        {"Other", "aclnnMm_MatMulCommon_MatMulV2", EVENT_KERNEL},
        {"N/A", "EventNetwork", EVENT_KERNEL},
        {"Other", "MEMCPY_ASYNC", EVENT_MEMCPY},
        {"other", "MemcopyAsync", EVENT_MEMCPY},
        {"AI_CORE", "MemcopyAsync", EVENT_KERNEL},
        {"Other", "MemcopyAsyncNet", EVENT_KERNEL},
        {"Other", "EVENT_RECORD", EVENT_DEVICE_SYNC},
        {"Other", "PLACE_HOLDER_SQE", EVENT_DEVICE_SYNC},
        {"Other", "QUANTUM", EVENT_DEVICE_OTHER},
        {"Other", "Other", EVENT_DEVICE_OTHER},
        {"N/A", "N/A", EVENT_DEVICE_OTHER},
        {"Other", "", EVENT_DEVICE_OTHER},
    };

    (void)state;
    check_kinds(told, sizeof told / sizeof told[0]);
}

static void collectives_lose_their_numbers(void **state)
{
    struct string_pool strings = {0};

    (void)state;
    string_pool_add(&strings, "", 0);
    assert_string_equal(
        string_pool_text(&strings, ascend_collective_name(&strings, "hcom_allReduce__428_0_1")),
        "allReduce");
    assert_string_equal(string_pool_text(&strings, ascend_collective_name(&strings, "hcom_send_")),
                        "send_");
    assert_string_equal(string_pool_text(&strings, ascend_collective_name(&strings, "__x")), "");
    assert_string_equal(
        string_pool_text(&strings, ascend_kernel_name(&strings, "hcom_allGather__1_0_1")),
        "hcom_allGather");
    string_pool_clear(&strings);
}

static void lists_are_written_as_torch_writes_them(void **state)
{
    struct string_pool strings = {0};

    (void)state;
    string_pool_add(&strings, "", 0);
    assert_string_equal(string_pool_text(&strings, ascend_shapes(&strings, "8,64;\r\n64;\r\n;1")),
                        "[[8, 64], [64], [], [1]]");
    assert_string_equal(string_pool_text(&strings, ascend_shapes(&strings, "[[8, 64]]")),
                        "[[8, 64]]");
    assert_int_equal(ascend_shapes(&strings, "8,a;64"), 0);
    assert_int_equal(ascend_shapes(&strings, "8,,64"), 0);
    assert_int_equal(ascend_shapes(&strings, ""), 0);
    assert_string_equal(
        string_pool_text(&strings, ascend_types(&strings, "c10::BFloat16;\r\nScalar;")),
        "[\"c10::BFloat16\", \"Scalar\", \"\"]");
    assert_string_equal(string_pool_text(&strings, ascend_types(&strings, "a\"\\b")), "[\"ab\"]");
    string_pool_clear(&strings);
}

static void vector_cores_do_no_matrix_work(void **state)
{
    struct ascend_words words = {0};
    struct trace_builder builder;
    uint32_t detail;

    (void)state;
    trace_builder_init(&builder);
    string_pool_add(&builder.strings, "", 0);
    assert_int_equal(detail_of(&words, &builder, "AI_CORE", -1), 0);
    detail = detail_of(&words, &builder, "AI_VECTOR_CORE", -1);
    assert_string_equal(string_pool_text(&builder.strings, builder.details[detail].work), "other");
    assert_int_equal(detail_of(&words, &builder, "AI_CPU", -1), detail);
    detail = detail_of(&words, &builder, "SDMA", 4096);
    assert_int_equal(builder.details[detail].bytes, 4096);
    assert_int_equal(builder.details[detail].work, 0);
    ascend_words_clear(&words);
    trace_builder_clear(&builder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waits_are_no_work),
        cmocka_unit_test(tasks_without_a_type_are_told_by_their_names),
        cmocka_unit_test(collectives_lose_their_numbers),
        cmocka_unit_test(lists_are_written_as_torch_writes_them),
        cmocka_unit_test(vector_cores_do_no_matrix_work),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
