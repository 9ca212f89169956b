/* What the recorder writes beside a trace about memory. */
#include "base/core/attributes.h"
#include "memory/memory_run.h"
#include "support_memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static bool parse(struct memory_side_file *side, const char *text, struct error *error)
{
    return memory_side_file_parse(side, "a.memory.json", text, strlen(text), error);
}

static void marks_and_tensors_are_read(void **state)
{
    SCOPED(memory_side_file) side = {0};
    struct error error = {0};

    assert_true(parse(&side, memory_side_text, &error));
    assert_int_equal(side.tensor_count, 3);
    assert_int_equal(side.tensors[1].kind, MEMORY_GRADIENT);
    assert_string_equal(side.tensors[1].module, "lin");
    assert_int_equal(side.mark_count, 5);
    assert_int_equal(side.marks[0].place_count, 2);
    assert_int_equal(side.marks[0].places[1].address, 2);
    assert_int_equal(side.marks[0].places[1].bytes, 1000);
    assert_int_equal(side.marks[1].gone_count, 1);
    assert_int_equal(side.marks[4].point, POINT_STEP_END);
}

static void figures_of_devices_are_read(void **state)
{
    SCOPED(memory_side_file) side = {0};
    struct error error = {0};

    assert_true(parse(&side,
                      "{\"schema\": \"flopledger.memory\", \"marks\": [{\"point\": \"start\", "
                      "\"devices\": [{\"device\": 1, \"used_bytes\": 70, \"reserved_bytes\": "
                      "50}]}]}",
                      &error));
    assert_int_equal(side.marks[0].device_count, 1);
    assert_int_equal(side.marks[0].devices[0].used_bytes, 70);
    assert_int_equal(side.marks[0].devices[0].total_bytes, -1);
}

#define BEGINNING "{\"schema\": \"flopledger.memory\", \"tensors\": [[\"input\", \"\", \"0\"]],"

static void damage_is_told(void **state)
{
    static const char *const cases[][2] = {
        {"{\"schema\": \"flopledger.memory\"", "a.memory.json': byte"},
        {"{}", "expected \"schema\""},
        {"{\"schema\": \"flopledger.memory\", \"schema_version\": 2}", "version 1"},
        {"{\"schema\": \"flopledger.memory\", \"tensors\": [[\"input\"]]}", "tensor 0"},
        {"{\"schema\": \"flopledger.memory\", \"tensors\": [7]}", "tensor 0"},
        {BEGINNING "\"marks\": [{\"point\": \"noon\"}]}", "mark 0: its \"point\""},
        {BEGINNING "\"marks\": [{\"point\": \"start\", \"live\": [0, 1, 2]}]}", "four numbers"},
        {BEGINNING "\"marks\": [{\"point\": \"start\", \"live\": [1, 1, 2, -1]}]}",
         "not in \"tensors\""},
        {BEGINNING "\"marks\": [{\"point\": \"start\", \"live\": [0, 1, -2, -1]}]}",
         "address, bytes and device"},
        {BEGINNING "\"marks\": [{\"point\": \"start\", \"gone\": [5]}]}", "\"gone\""},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        SCOPED(memory_side_file) side = {0};
        struct error error = {0};

        assert_false(parse(&side, cases[i][0], &error));
        if (!strstr(error.message, cases[i][1]))
            fail_msg("'%s' lacks '%s'", error.message, cases[i][1]);
        assert_int_equal(side.mark_count, 0);
    }
}

static void no_file_is_no_error(void **state)
{
    SCOPED(memory_side_file) side = {0};
    struct error error = {0};

    assert_true(memory_side_file_find(&side, "no/such/steps4-6.pt.trace.json.gz", &error));
    assert_true(memory_side_file_find(&side, "-", &error));
    assert_int_equal(side.mark_count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(marks_and_tensors_are_read),
        cmocka_unit_test(figures_of_devices_are_read),
        cmocka_unit_test(damage_is_told),
        cmocka_unit_test(no_file_is_no_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
