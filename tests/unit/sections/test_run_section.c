/* What run it is, what the trace lacks, and what is damaged. */
#include "support_trace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

extern const struct analysis run_description_analysis;

static void facts_are_told_where_they_are_known(void **state)
{
    const struct device device = {.number = 2,
                                  .memory_bytes = 42,
                                  .compute_major = 8,
                                  .compute_minor = 0,
                                  .multiprocessors = 108,
                                  .entry = DEVICE_ENTRY_OWN};
    struct made_trace made;
    struct device named = device;
    const struct section *section;

    made_trace_init(&made);
    named.name = string_pool_add(&made.builder.strings, "A100", 4);
    trace_builder_add_device(&made.builder, &named);
    made.builder.facts.rank = 3;
    made.builder.facts.world_size = 8;
    made.builder.facts.base_time_ns = INT64_C(1700000000000000000);
    made_host_event(&made, made_thread(&made, "1"), EVENT_ANNOTATION,
                    (struct made_event){"ProfilerStep#7", 0, 900});
    made_host_event(&made, made_thread(&made, "1"), EVENT_ANNOTATION,
                    (struct made_event){"ProfilerStep#8", 900, 2000});
    made_work(&made, made_stream(&made, 2, 7), EVENT_KERNEL,
              (struct made_event){"sgemm", 100, 5100}, NO_ID, NULL);
    made_trace_finish(&made, WINDOW_CHOICE_AUTO);
    section = made_section(&made, &run_description_analysis);
    assert_int_equal(section_value(section, "rank").integer, 3);
    assert_int_equal(section_value(section, "world_size").integer, 8);
    assert_int_equal(section_value(section, "length").integer, 5100);
    assert_string_equal(section_value(section, "start").text, "2023-11-14 22:13:20 UTC");
    assert_string_equal(section_value(section, "step_numbers").text, "7 to 8");
    assert_int_equal(table_cell_at(section_table(section, "devices"), 0, "device").integer, 2);
    assert_string_equal(table_cell_at(section_table(section, "devices"), 0, "name").text, "A100");
    assert_string_equal(table_cell_at(section_table(section, "devices"), 0, "is_reported").text,
                        "yes");
    assert_int_equal(count_findings(section, "no operators"), 1);
    made_trace_clear(&made);
}

static void damage_is_a_warning_with_its_count(void **state)
{
    struct made_trace made;
    const struct section *section;

    made_trace_init(&made);
    made_host_event(&made, made_thread(&made, "1"), EVENT_OPERATOR,
                    (struct made_event){"aten::mm", 0, 900});
    made.builder.read.is_truncated = true;
    strcpy(made.builder.read.truncation, "the gzip stream ends in the middle");
    made.builder.read.negative_durations = 17;
    made.builder.read.unmatched_begins = 2;
    made_trace_finish(&made, WINDOW_CHOICE_AUTO);
    made.trace.read.damaged_events = 4;
    section = made_section(&made, &run_description_analysis);
    assert_int_equal(count_findings(section, "the file is cut off"), 1);
    assert_int_equal(count_findings(section, "17 events with a negative duration"), 1);
    assert_int_equal(count_findings(section, "2 begin events"), 1);
    assert_int_equal(count_findings(section, "4 pieces of the file"), 1);
    for (size_t i = 0; i < 4; i++)
        assert_true(section->findings[i].is_warning);
    made_trace_clear(&made);
}

static void what_was_not_recorded_is_said_with_how_to(void **state)
{
    struct made_trace made;
    uint32_t thread;
    const struct section *section;

    made_trace_init(&made);
    thread = made_thread(&made, "1");
    made_host_event(&made, thread, EVENT_OPERATOR, (struct made_event){"aten::mm", 0, 900});
    made_trace_finish(&made, WINDOW_CHOICE_AUTO);
    section = made_section(&made, &run_description_analysis);
    assert_int_equal(count_findings(section, "CPU only"), 1);
    assert_int_equal(count_findings(section, "no input shapes"), 1);
    assert_int_equal(count_findings(section, "no Python frames"), 1);
    for (size_t i = 0; i < section->finding_count; i++)
        assert_non_null(section->findings[i].try_this);
    made_trace_clear(&made);
    /* runtime calls, but nothing of the device; shapes and frames are there */
    made_trace_init(&made);
    thread = made_thread(&made, "1");
    made_operator(&made, thread, (struct made_event){"aten::mm", 0, 900}, "[[2]]", "[\"float\"]");
    made_host_event(&made, thread, EVENT_PYTHON_FUNCTION,
                    (struct made_event){"train.py(3): main", 0, 950});
    (void)made_call(&made, thread, (struct made_event){"cudaLaunchKernel", 10, 20});
    made_trace_finish(&made, WINDOW_CHOICE_AUTO);
    section = made_section(&made, &run_description_analysis);
    assert_int_equal(count_findings(section, "1 calls put work on the device, but no kernel"), 1);
    assert_int_equal(count_findings(section, "CPU only"), 0);
    assert_int_equal(count_findings(section, "no input shapes"), 0);
    assert_int_equal(count_findings(section, "no Python frames"), 0);
    made_trace_clear(&made);
}

/* PyTorch asks the runtime for devices in runs of the CPU, too. */
static void calls_that_launch_nothing_lack_no_device(void **state)
{
    struct made_trace made;
    const struct section *section;
    uint32_t thread;

    made_trace_init(&made);
    thread = made_thread(&made, "1");
    made_host_event(&made, thread, EVENT_OPERATOR, (struct made_event){"aten::mm", 0, 900});
    (void)made_call(&made, thread, (struct made_event){"cudaGetDeviceCount", 10, 20});
    (void)made_call(&made, thread, (struct made_event){"cudaStreamIsCapturing", 30, 40});
    (void)made_call(&made, thread, (struct made_event){"cudaDeviceSynchronize", 50, 60});
    made_trace_finish(&made, WINDOW_CHOICE_AUTO);
    section = made_section(&made, &run_description_analysis);
    assert_int_equal(count_findings(section, "no kernel"), 0);
    assert_int_equal(count_findings(section, "CPU only"), 1);
    assert_int_equal(count_findings(section, "no call that would launch any"), 1);
    made_trace_clear(&made);
}

static void a_file_cut_before_its_kernels_says_so(void **state)
{
    struct made_trace made;
    const struct section *section;

    made_trace_init(&made);
    (void)made_call(&made, made_thread(&made, "1"),
                    (struct made_event){"cudaLaunchKernel", 10, 20});
    made.builder.read.is_truncated = true;
    made_trace_finish(&made, WINDOW_CHOICE_AUTO);
    section = made_section(&made, &run_description_analysis);
    assert_int_equal(count_findings(section, "no kernel is in the part of the file"), 1);
    assert_int_equal(count_findings(section, "CPU only"), 0);
    made_trace_clear(&made);
    /* a run without a device has no kernels to lose */
    made_trace_init(&made);
    made_host_event(&made, made_thread(&made, "1"), EVENT_OPERATOR,
                    (struct made_event){"aten::mm", 0, 900});
    made.builder.read.is_truncated = true;
    made_trace_finish(&made, WINDOW_CHOICE_AUTO);
    section = made_section(&made, &run_description_analysis);
    assert_int_equal(count_findings(section, "no kernel is in the part of the file"), 0);
    assert_int_equal(count_findings(section, "CPU only"), 1);
    made_trace_clear(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(facts_are_told_where_they_are_known),
        cmocka_unit_test(damage_is_a_warning_with_its_count),
        cmocka_unit_test(what_was_not_recorded_is_said_with_how_to),
        cmocka_unit_test(calls_that_launch_nothing_lack_no_device),
        cmocka_unit_test(a_file_cut_before_its_kernels_says_so),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
