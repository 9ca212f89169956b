/* The reader of rocprofv3's JSON: records in any order, of several processes, unnamed, damaged and
 * cut. */
#include "base/io/input_stream.h"
#include "readers/reader.h"
#include "support_read.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

extern const struct reader rocprof_json_reader;

#define AGENTS                                                                                \
    "\"agents\":[{\"id\":{\"handle\":70},\"type\":1,\"name\":\"EPYC\",\"gpu_index\":-1},"     \
    "{\"id\":{\"handle\":71},\"type\":2,\"name\":\"gfx950\",\"product_name\":\"AMD Instinct " \
    "MI350X\",\"cu_count\":256,\"gfx_target_version\":90500,\"gpu_index\":3,\"mem_banks\":["  \
    "{\"heap_type\":0,\"size_in_bytes\":5},{\"heap_type\":1,\"size_in_bytes\":400}]}]"
#define NAMES                                                                              \
    "\"strings\":{\"buffer_records\":[{\"kind\":\"NONE\",\"operations\":[]},{\"kind\":"    \
    "\"HIP_RUNTIME_API\",\"operations\":[\"hipInit\",\"hipLaunchKernel\"]},{\"kind\":"     \
    "\"MEMORY_COPY\",\"operations\":[\"NONE\",\"MEMORY_COPY_HOST_TO_DEVICE\"]},{\"kind\":" \
    "\"MARKER_CORE_RANGE_API\",\"operations\":[\"roctxMarkA\",\"roctxThreadRangeA\"]}],"   \
    "\"marker_api\":[{\"key\":9,\"value\":\"iteration \\\"1\\\"\"}]}"
#define SYMBOLS                                                                                    \
    "\"kernel_symbols\":[{\"kernel_id\":4,\"formatted_kernel_name\":\"gemm\",\"arch_vgpr_count\":" \
    "24,\"accum_vgpr_count\":8}]"
#define DISPATCH                                                                 \
    "\"stream_id\":{\"handle\":0},\"dispatch_info\":{\"size\":72,\"agent_id\":{" \
    "\"handle\":71},\"queue_id\":{\"handle\":2},\"dispatch_id\":1,"              \
    "\"group_segment_size\":512,\"workgroup_size\":{\"x\":256,\"y\":1,\"z\":1}," \
    "\"grid_size\":{\"x\":1000,\"y\":2,\"z\":1},\"kernel_id\":"
#define TIMED(correlation, start, end)                                   \
    "\"correlation_id\":{\"internal\":" #correlation ",\"external\":0}," \
    "\"start_timestamp\":" #start ",\"end_timestamp\":" #end ","
#define KERNEL(correlation, id, start, end)                                                     \
    "{\"size\":184,\"kind\":5,\"operation\":2,\"thread_id\":12," TIMED(correlation, start, end) \
        DISPATCH #id "}}"
#define CALL(kind, operation, correlation, start, end)                                      \
    "{\"size\":80,\"kind\":" #kind ",\"operation\":" #operation ",\"correlation_id\":{"     \
    "\"internal\":" #correlation "},\"start_timestamp\":" #start ",\"end_timestamp\":" #end \
    ",\"thread_id\":12,\"args\":[{\"name\":\"a }\",\"value\":\"]\"}]}"
#define COPY                                                                                     \
    "{\"size\":90,\"kind\":2,\"operation\":1,\"thread_id\":12,\"correlation_id\":{\"internal\":" \
    "7},\"start_timestamp\":300,\"end_timestamp\":320,\"dst_agent_id\":{\"handle\":71},"         \
    "\"src_agent_id\":{\"handle\":70},\"bytes\":4096,\"stream_id\":{\"handle\":0}}"
#define PROCESS(inside)    "{\"metadata\":{\"pid\":12,\"node\":{\"hostname\":\"h\"}}," inside "}"
#define FILE_OF(processes) "{\"rocprofiler-sdk-tool\":[" processes "]}"
#define KERNELS(inside)    "\"kernel_dispatch\":[" inside "]"
#define CALLS(inside)      "\"hip_api\":[" inside "]"
#define RECORDS(inside)    "\"buffer_records\":{" inside "}"

static const char whole[] = FILE_OF(PROCESS(AGENTS "," NAMES "," SYMBOLS "," RECORDS(
    KERNELS(KERNEL(5, 4, 200, 260) "," KERNEL(5, 4, 260, 280)) "," CALLS(
        CALL(1, 1, 5, 100, 120)) ","
                                 "\"marker_api\":[" CALL(3, 1, 9, 90, 400) "],"
                                                                           "\"memory_copy\":[" COPY
                                                                           "]")));

static bool read_rocprof(struct trace *trace, const char *text, struct read_options options,
                         struct error *error)
{
    SCOPED(input_stream) input = {0};

    options.threads = 1;
    input_stream_open_memory(&input, text, strlen(text));
    return rocprof_json_reader.read(trace, &input, &options, error);
}

static void read_good_rocprof(struct trace *trace, const char *text)
{
    struct error error = {0};

    if (!read_rocprof(trace, text, (struct read_options){0}, &error))
        fail_msg("not read: %s", error.message);
}

static const char *name_of(const struct trace *trace, const struct event *event)
{
    return trace_text(trace, event->name);
}

static void a_recording_is_read(void **state)
{
    SCOPED(trace) trace = {0};
    const struct event_detail *detail;

    (void)state;
    assert_true(rocprof_json_reader.recognises(whole, strlen(whole)));
    read_good_rocprof(&trace, whole);
    assert_int_equal(trace.device_count, 3);
    assert_int_equal(trace.host_count, 2);
    assert_string_equal(name_of(&trace, &trace.device[0]), "gemm");
    assert_int_equal(trace.device[0].duration_ns, 60);
    detail = &trace.details[trace.device[0].detail];
    assert_int_equal(detail->grid[0], 4); /* of 1000 work-items in groups of 256 */
    assert_int_equal(detail->grid[1], 2);
    assert_int_equal(detail->block[0], 256);
    assert_int_equal(detail->shared_memory_bytes, 512);
    assert_int_equal(detail->registers_per_thread, 32);
    assert_string_equal(name_of(&trace, &trace.device[2]), "Memcpy HtoD (Host -> Device)");
    assert_int_equal(trace.details[trace.device[2].detail].bytes, 4096);
    assert_string_equal(name_of(&trace, &trace.host[0]), "iteration \"1\"");
    assert_int_equal(trace.host[0].kind, EVENT_ANNOTATION);
    assert_string_equal(name_of(&trace, &trace.host[1]), "hipLaunchKernel");
    assert_int_equal(trace.launch[0], 1); /* both kernels are of one call: a graph */
    assert_int_equal(trace.launch[1], 1);
    assert_int_equal(trace.launch[2], NO_EVENT);
}

static void a_device_is_what_its_agent_says(void **state)
{
    SCOPED(trace) trace = {0};

    (void)state;
    read_good_rocprof(&trace, whole);
    assert_int_equal(trace.device_list_count, 1);
    assert_int_equal(trace.devices[0].number, 3);
    assert_string_equal(trace_text(&trace, trace.devices[0].name), "AMD Instinct MI350X");
    assert_int_equal(trace.devices[0].memory_bytes, 400);
    assert_int_equal(trace.devices[0].multiprocessors, 256);
    assert_int_equal(trace.devices[0].compute_major, 9);
    assert_int_equal(trace.devices[0].compute_minor, 5);
    assert_int_equal(trace.devices[0].event_count, 3);
    assert_string_equal(trace_text(&trace, trace.facts.hostname), "h");
}

static void without_streams_queues_are_told_apart(void **state)
{
    SCOPED(trace) trace = {0};

    (void)state;
    read_good_rocprof(&trace, whole);
    assert_int_equal(trace.tracks[trace.device[0].track].stream, 2);
    assert_string_equal(trace_text(&trace, trace.tracks[trace.device[0].track].thread), "queue 2");
    assert_int_equal(trace.tracks[trace.device[2].track].stream, -1);
}

static void names_may_come_last_or_not_at_all(void **state)
{
    static const char last[] =
        FILE_OF(PROCESS(RECORDS(KERNELS(KERNEL(5, 4, 200, 260))) "," SYMBOLS "," AGENTS));
    static const char unnamed[] = FILE_OF(
        PROCESS(RECORDS(KERNELS(KERNEL(5, 4, 200, 260)) "," CALLS(CALL(1, 1, 5, 100, 120)))));
    SCOPED(trace) trace = {0};
    SCOPED(trace) other = {0};

    (void)state;
    read_good_rocprof(&trace, last);
    assert_string_equal(name_of(&trace, &trace.device[0]), "gemm");
    assert_int_equal(trace.tracks[trace.device[0].track].device, 3);
    read_good_rocprof(&other, unnamed);
    assert_string_equal(name_of(&other, &other.device[0]), "kernel 4 (the file does not name it)");
    assert_string_equal(name_of(&other, &other.host[0]),
                        "call 1 of kind 1 (the file does not name it)");
}

static void each_process_with_device_work_is_a_part(void **state)
{
    static const char text[] =
        FILE_OF(PROCESS(RECORDS(KERNELS(KERNEL(5, 4, 200, 260)))) "," PROCESS(RECORDS(
            KERNELS("") "," CALLS(""))) "," PROCESS(RECORDS(KERNELS(KERNEL(5, 4, 300, 370)))));
    char *path = new_file(text, strlen(text));
    struct error error = {0};
    uint32_t count = 0;

    (void)state;
    {
        SCOPED(input_stream) input = {0};

        assert_true(input_stream_open(&input, path, false, &error));
        assert_true(rocprof_json_reader.count_parts(&count, &input, &error));
    }
    assert_int_equal(count, 2);
    for (uint32_t part = 0; part < count; part++) {
        SCOPED(trace) trace = {0};
        const struct read_options options = {.part = part, .part_count = count};

        assert_true(read_rocprof(&trace, text, options, &error));
        assert_int_equal(trace.device_count, 1);
        assert_int_equal(trace.device[0].start_ns, part ? 300 : 200);
        assert_int_equal(trace.facts.rank, part);
    }
    remove(path);
    free(path);
}

static void damage_costs_the_record_it_is_in(void **state)
{
    static const char text[] = FILE_OF(PROCESS(NAMES "," SYMBOLS "," RECORDS(
        KERNELS(KERNEL(5, 4, 200, 260) ",{\"size\":184,\"kind\":x," KERNEL(
            6, 4, 300, 360)) "," CALLS(CALL(1, 1, 6, 280, 290)))));
    SCOPED(trace) trace = {0};

    (void)state;
    read_good_rocprof(&trace, text);
    assert_int_equal(trace.read.damaged_events, 1);
    assert_int_equal(trace.device_count, 2);
    assert_int_equal(trace.host_count, 1);
    assert_int_equal(trace.launch[1], 0);
}

/* A text cut anywhere gives the records before the cut, or a reason; never another record. */
static void a_text_cut_anywhere_is_told(void **state)
{
    char text[sizeof whole];

    (void)state;
    for (size_t length = 0; length < sizeof whole - 1; length++) {
        SCOPED(trace) trace = {0};
        struct error error = {0};

        memcpy(text, whole, length);
        text[length] = '\0';
        if (read_rocprof(&trace, text, (struct read_options){0}, &error)) {
            assert_true(trace.read.is_truncated);
            assert_true(trace.device_count <= 3);
        } else {
            assert_true(error.message[0] != '\0');
        }
    }
}

static void nothing_recorded_is_told(void **state)
{
    static const char *const texts[] = {
        "{\"rocprofiler-sdk-tool\":[]}", "{\"rocprofiler-sdk-tool\":[{}]}",
        "{\"rocprofiler-sdk-tool\":7}",
        FILE_OF(PROCESS(AGENTS "," RECORDS("\"kernel_dispatch\":[],\"memory_allocation\":[]")))};

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        SCOPED(trace) trace = {0};
        struct error error = {0};

        assert_false(read_rocprof(&trace, texts[i], (struct read_options){0}, &error));
        assert_true(error.message[0] != '\0');
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_recording_is_read),
        cmocka_unit_test(a_device_is_what_its_agent_says),
        cmocka_unit_test(without_streams_queues_are_told_apart),
        cmocka_unit_test(names_may_come_last_or_not_at_all),
        cmocka_unit_test(each_process_with_device_work_is_a_part),
        cmocka_unit_test(damage_costs_the_record_it_is_in),
        cmocka_unit_test(a_text_cut_anywhere_is_told),
        cmocka_unit_test(nothing_recorded_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
