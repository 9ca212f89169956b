/* What is said of the memory of a recorded run. */
#include "base/core/attributes.h"
#include "sections/memory/memory_sections.h"
#include "support_memory.h"
#include "support_trace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* One block of 512 bytes on device 0, beside 3,072 from before, of which a mark explains 1,024. */
static const char device_text[] =
    "{\"traceEvents\": [{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"flopledger:mark#0\", "
    "\"pid\": 1, \"tid\": 2, \"ts\": 0, \"dur\": 1}, {\"ph\": \"i\", \"name\": \"[memory]\", "
    "\"pid\": 1, \"tid\": 2, \"ts\": 5, \"args\": {\"Bytes\": 512, \"Addr\": 9, \"Device Type\": "
    "1, \"Device Id\": 0, \"Total Allocated\": 3584, \"Total Reserved\": 8192}}, {\"ph\": \"i\", "
    "\"name\": \"[memory]\", \"pid\": 1, \"tid\": 2, \"ts\": 6, \"args\": {\"Bytes\": 7}}]}";
static const char device_side[] =
    "{\"schema\": \"flopledger.memory\", \"tensors\": [[\"parameter\", \"lin\", \"weight\"]],"
    "\"marks\": [{\"point\": \"start\", \"step\": 3, \"live\": [0, 8, 1000, 0], \"devices\": "
    "[{\"device\": 0, \"used_bytes\": 20000, \"reserved_bytes\": 8192, \"inactive_split_bytes\": "
    "256, \"allocation_retries\": 2}]}]}";

static void memory_of_a_device_is_told(void **state)
{
    struct made_memory made;
    SCOPED(results) results = {0};
    struct memory_view view = {.run = &made.run, .top = 5, .depth = 5};
    struct section *section;

    results_init(&results);
    made_memory_init(&made, device_text, device_side);
    section = describe_memory_peak(&results, &view);
    assert_int_equal(section_value(section, "peak").integer, 3584);
    assert_int_equal(section_value(section, "reserved_peak").integer, 8192);
    assert_int_equal(section_value(section, "reserved_unused").integer, 8192 - 3584);
    assert_int_equal(section_value(section, "outside_torch").integer, 20000 - 8192);
    assert_int_equal(section_value(section, "inactive_split").integer, 256);
    assert_int_equal(section_value(section, "allocation_retries").integer, 2);
    assert_int_equal(count_findings(section, "no possible size"), 1);
    made_memory_clear(&made);
}

/* What is outside of torch is not for tensors, and the allocator's reserve is needed again. */
static void what_fits_on_a_device_leaves_room(void **state)
{
    struct made_memory made;
    SCOPED(results) results = {0};
    struct memory_fit_view view = {.memory = {.run = &made.run, .top = 5, .depth = 5},
                                   .budget_bytes = 11808 + 16384,
                                   .samples = 4,
                                   .length = -1,
                                   .options = {.ranks = 8}};
    struct section *section;

    results_init(&results);
    made_memory_init(&made, device_text, device_side);
    section = describe_memory_fit(&results, &view);
    assert_int_equal(section_value(section, "usable").integer, 2 * 3584);
    assert_int_equal(section_value(section, "most_length").unit, UNIT_NOT_KNOWN);
    made_memory_clear(&made);
}

static void host_has_no_reserve(void **state)
{
    struct made_memory made;
    SCOPED(results) results = {0};
    struct memory_view view = {
        .run = &made.run, .device = HOST_MEMORY, .top = UINT32_MAX, .depth = 5};
    struct section *section;
    const struct table *table;

    results_init(&results);
    made_memory_init(&made, memory_trace_text, memory_side_text);
    section = describe_memory_peak(&results, &view);
    assert_int_equal(section_value(section, "reserved_peak").unit, UNIT_NOT_KNOWN);
    assert_int_equal(section_value(section, "peak_step").integer, 3);
    assert_string_equal(section_value(section, "peak_op").text, "aten::mm");
    assert_int_equal(section_value(section, "peak_time").integer, 41000);
    table = section_table(section, "kinds");
    assert_int_equal(table_cell(table, "activations", "forward_end").integer, 508);
    assert_int_equal(table_cell(table, "gradients", "backward_end").integer, 1000);
    assert_int_equal(table_cell(table, "total", "peak").integer, 2572);
    table = section_table(section, "steps");
    assert_int_equal(table_cell_at(table, 0, "peak").integer, 2572);
    assert_int_equal(table_cell_at(table, 0, "peak_gradients").integer,
                     table_cell(section_table(section, "kinds"), "gradients", "peak").integer);
    assert_int_equal(table_cell_at(table, 0, "peak_activations").integer,
                     table_cell(section_table(section, "kinds"), "activations", "peak").integer);
    table = section_table(describe_memory_modules(&results, &view), "modules");
    assert_int_equal(table_cell(table, "lin", "peak").integer, 2500);
    assert_int_equal(table_cell(table, "lin", "forward_end").integer, 500);
    assert_int_equal(table_cell(table, "(loss)", "peak").integer, 8);
    assert_int_equal(table_cell(table, "(outside of modules)", "peak").integer, 64);
    table = section_table(describe_memory_modules(&results, &view), "composition");
    assert_int_equal(table->rows_in_all, 5);
    assert_string_equal(table_cell_at(table, 0, "kind").text, "parameters");
    assert_string_equal(table_cell_at(table, 0, "phase").text, "before");
    assert_string_equal(table_cell_at(table, 1, "kind").text, "gradients");
    assert_string_equal(table_cell_at(table, 1, "phase").text, "backward");
    assert_int_equal(table_cell_at(table, 2, "bytes").integer, 500);
    made_memory_clear(&made);
}

static void missing_marks_are_told(void **state)
{
    struct made_memory made;
    SCOPED(results) results = {0};
    struct memory_view view = {
        .run = &made.run, .device = HOST_MEMORY, .top = UINT32_MAX, .depth = 5};
    struct memory_fit_view fit = {.memory = view, .budget_bytes = 1, .samples = 4, .length = -1};
    struct section *section;

    results_init(&results);
    made_memory_init(&made, memory_trace_text, NULL);
    section = describe_memory_peak(&results, &view);
    assert_int_equal(count_findings(section, "no marks of tensors"), 1);
    section = describe_memory_fit(&results, &fit);
    assert_int_equal(section_value(section, "most_samples").unit, UNIT_NOT_KNOWN);
    section = describe_memory_growth(&results, &view);
    assert_int_equal(section_value(section, "growth_per_step").unit, UNIT_NOT_KNOWN);
    made_memory_clear(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_of_a_device_is_told),
        cmocka_unit_test(what_fits_on_a_device_leaves_room),
        cmocka_unit_test(host_has_no_reserve),
        cmocka_unit_test(missing_marks_are_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
