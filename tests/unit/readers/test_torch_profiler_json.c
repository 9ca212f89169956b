/* The reader of torch-profiler traces: what profilers write, well or badly, and files cut anywhere.
 */
#include "support_read.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* `events` as the array of a trace. */
static void read_events(struct trace *trace, const char *events)
{
    char text[4096];

    assert_true(snprintf(text, sizeof text, "{\"traceEvents\": [%s]}", events) < (int)sizeof text);
    read_good_text(trace, text);
}

static const char *host_name(const struct trace *trace, uint32_t index)
{
    return trace_text(trace, trace->host[index].name);
}

static void an_operator_has_all_its_facts(void **state)
{
    SCOPED(trace) trace = {0};
    const struct event_detail *detail;

    (void)state;
    read_events(
        &trace,
        "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::mm\", \"pid\": 10, \"tid\": 11,"
        "\"ts\": 1669783687464181.123, \"dur\": 45.5, \"args\": {\"External id\": 3,"
        "\"Sequence number\": 12, \"Input Dims\": [[8,\n 64], [ ]], \"Input type\": [\"float\","
        " \"\"],"
        "\"Concrete Inputs\": [\"\", \"[1, 2]\"], \"Call stack\": \"a.py(1): f;b\"}}");
    assert_int_equal(trace.host_count, 1);
    assert_string_equal(host_name(&trace, 0), "aten::mm");
    assert_int_equal(trace.host[0].kind, EVENT_OPERATOR);
    assert_int_equal(trace.host[0].start_ns, 1669783687464181123);
    assert_int_equal(trace.host[0].duration_ns, 45500);
    assert_int_equal(trace.host[0].external_id, 3);
    assert_int_equal(trace.host[0].sequence_number, 12);
    detail = &trace.details[trace.host[0].detail];
    assert_string_equal(trace_text(&trace, detail->input_shapes), "[[8, 64], []]");
    assert_string_equal(trace_text(&trace, detail->input_types), "[\"float\", \"\"]");
    assert_string_equal(trace_text(&trace, detail->concrete_inputs), "[\"\", \"[1, 2]\"]");
    assert_string_equal(trace_text(&trace, detail->call_stack), "a.py(1): f;b");
    assert_int_equal(detail->grid[0], -1);
}

static void a_kernel_has_all_its_facts(void **state)
{
    SCOPED(trace) trace = {0};
    const struct event_detail *detail;
    const struct track *track;

    (void)state;
    read_events(
        &trace,
        "{\"args\": {\"stream\": 7, \"device\": 3, \"correlation\": 18446744073709551615,"
        "\"grid\": [24, 2, 1], \"block\": [128,1,1], \"registers per thread\": 16,"
        "\"shared memory\": 49152, \"blocks per SM\": 0.3, \"warps per SM\": 1.25,"
        "\"est. achieved occupancy %\": 2, \"Collective name\": \"allreduce\","
        "\"In msg nelems\": 5, \"Out msg nelems\": 6, \"Group size\": 8,"
        "\"Seq\": 7, \"Src Rank\": 2, \"Dst Rank\": 3, \"dtype\": \"Float\","
        "\"Process Group Name\": \"0\", \"Process Group Ranks\": [0, 1], \"bytes\": 9},"
        "\"dur\": 3, \"ts\": 5, \"tid\": 99, \"pid\": 98, \"name\": \"k\", \"cat\": \"Kernel\","
        " \"ph\": \"X\"}");
    assert_int_equal(trace.device_count, 1);
    assert_int_equal(trace.device[0].kind, EVENT_KERNEL);
    assert_int_equal(trace.device[0].correlation, -1); /* the same 64 bits */
    assert_int_equal(trace.launch[0], NO_EVENT);
    assert_int_equal(trace.read.unlinked_device_events, 1);
    track = &trace.tracks[trace.device[0].track];
    assert_int_equal(track->device, 3);
    assert_int_equal(track->stream, 7);
    assert_true(track->is_device);
    detail = &trace.details[trace.device[0].detail];
    assert_int_equal(detail->grid[0] * 100 + detail->grid[1] * 10 + detail->grid[2], 2421);
    assert_int_equal(detail->block[0], 128);
    assert_int_equal(detail->registers_per_thread, 16);
    assert_int_equal(detail->shared_memory_bytes, 49152);
    assert_true(detail->blocks_per_sm == 0.3F && detail->warps_per_sm == 1.25F);
    assert_true(detail->occupancy_percent == 2);
    assert_string_equal(trace_text(&trace, detail->collective_name), "allreduce");
    assert_string_equal(trace_text(&trace, detail->element_type), "Float");
    assert_string_equal(trace_text(&trace, detail->group_name), "0");
    assert_string_equal(trace_text(&trace, detail->group_ranks), "[0, 1]");
    assert_int_equal(detail->in_elements, 5);
    assert_int_equal(detail->out_elements, 6);
    assert_int_equal(detail->group_size, 8);
    assert_int_equal(detail->sequence, 7);
    assert_int_equal(detail->source_rank, 2);
    assert_int_equal(detail->destination_rank, 3);
    assert_int_equal(detail->bytes, 9);
}

static void streams_are_told_by_old_traces_in_words(void **state)
{
    SCOPED(trace) trace = {0};

    (void)state;
    read_events(
        &trace,
        "{\"ph\":\"X\",\"cat\":\"Memcpy\",\"pid\":2,\"tid\":\"stream 7\",\"ts\":1,\"dur\":1}");
    assert_int_equal(trace.tracks[0].device, 2);
    assert_int_equal(trace.tracks[0].stream, 7);
    assert_string_equal(trace_text(&trace, trace.tracks[0].thread), "stream 7");
}

/* The kind of a timed event of this category. */
static enum event_kind kind_of(const char *category)
{
    SCOPED(trace) trace = {0};
    char event[200];

    (void)snprintf(event, sizeof event,
                   "{\"ph\":\"X\",\"cat\":\"%s\",\"pid\":0,\"tid\":0,\"ts\":1,\"dur\":1}",
                   category);
    read_events(&trace, event);
    if (trace.host_count)
        return (enum event_kind)trace.host[0].kind;
    return (enum event_kind)(trace.device_count ? trace.device : trace.device_notes)[0].kind;
}

static void categories_of_all_generations_are_known(void **state)
{
    (void)state;
    assert_int_equal(kind_of("Operator"), EVENT_OPERATOR);
    assert_int_equal(kind_of("cpu_op"), EVENT_OPERATOR);
    assert_int_equal(kind_of("user_annotation"), EVENT_ANNOTATION);
    assert_int_equal(kind_of("python_function"), EVENT_PYTHON_FUNCTION);
    assert_int_equal(kind_of("Runtime"), EVENT_RUNTIME_CALL);
    assert_int_equal(kind_of("cuda_runtime"), EVENT_RUNTIME_CALL);
    assert_int_equal(kind_of("cuda_driver"), EVENT_RUNTIME_CALL);
    assert_int_equal(kind_of("xpu_runtime"), EVENT_RUNTIME_CALL);
    assert_int_equal(kind_of("mtia_runtime"), EVENT_RUNTIME_CALL);
    assert_int_equal(kind_of("privateuse1_driver"), EVENT_RUNTIME_CALL);
    assert_int_equal(kind_of("overhead"), EVENT_OVERHEAD);
    assert_int_equal(kind_of("kernel"), EVENT_KERNEL);
    assert_int_equal(kind_of("Kernel"), EVENT_KERNEL);
    assert_int_equal(kind_of("mtia_ccp_events"), EVENT_KERNEL);
    assert_int_equal(kind_of("gpu_memcpy"), EVENT_MEMCPY);
    assert_int_equal(kind_of("Memset"), EVENT_MEMSET);
    assert_int_equal(kind_of("gpu_user_annotation"), EVENT_DEVICE_ANNOTATION);
    assert_int_equal(kind_of("cuda_sync"), EVENT_DEVICE_SYNC);
    assert_int_equal(kind_of("Trace"), EVENT_HOST_OTHER);
    assert_int_equal(kind_of("something new"), EVENT_HOST_OTHER);
}

static void all_phases_are_counted_by_category(void **state)
{
    SCOPED(trace) trace = {0};
    const struct category_count *flow;

    (void)state;
    read_events(&trace,
                "{\"ph\":\"s\",\"cat\":\"ac2g\",\"ts\":1,\"id\":1},{\"ph\":\"f\",\"cat\":\"ac2g\","
                "\"ts\":2},"
                "{\"ph\":\"s\",\"cat\":\"ac2g\",\"ts\":5.5,\"id\":2},{\"ph\":\"C\",\"name\":\"c\","
                "\"ts\":1},"
                "{\"ph\":\"i\",\"ts\":1,\"args\":{\"x\":[{\"y\":\"]}\"}]}},{\"ph\":\"M\","
                "\"name\":\"process_name\","
                "\"pid\":1,\"args\":{\"name\":\"python\"}}");
    assert_int_equal(trace.read.events, 6);
    assert_int_equal(trace.read.category_count, 5);
    assert_int_equal(trace.host_count + trace.device_count, 0);
    flow = &trace.read.categories[0];
    assert_int_equal(flow->phase, 's');
    assert_string_equal(trace_text(&trace, flow->category), "ac2g");
    assert_int_equal(flow->events, 2);
    assert_int_equal(flow->first_start_ns, 1000);
    assert_int_equal(flow->last_end_ns, 5500);
}

static void begin_and_end_make_an_event(void **state)
{
    SCOPED(trace) trace = {0};

    (void)state;
    read_events(
        &trace,
        "{\"ph\":\"E\",\"pid\":1,\"tid\":1,\"ts\":9},{\"ph\":\"B\",\"pid\":1,\"tid\":1,"
        "\"ts\":2,\"name\":\"outer\"},"
        "{\"ph\":\"B\",\"pid\":1,\"tid\":1,\"ts\":3,\"name\":\"inner\"},{\"ph\":\"E\","
        "\"pid\":1,\"tid\":1,\"ts\":4},"
        "{\"ph\":\"E\",\"pid\":1,\"tid\":2,\"ts\":4},{\"ph\":\"B\",\"pid\":1,\"tid\":3,\"ts\":4}");
    assert_int_equal(trace.host_count, 2);
    assert_string_equal(host_name(&trace, 0), "outer");
    assert_int_equal(trace.host[0].duration_ns, 7000);
    assert_string_equal(host_name(&trace, 1), "inner");
    assert_int_equal(trace.host[1].duration_ns, 1000);
    assert_int_equal(trace.read.unmatched_begins, 1);
    assert_int_equal(trace.read.unmatched_ends, 1);
}

static void impossible_times_are_set_aside(void **state)
{
    SCOPED(trace) trace = {0};

    (void)state;
    read_events(
        &trace,
        "{\"ph\":\"X\",\"ts\":1,\"dur\":-1},{\"ph\":\"X\",\"ts\":1,\"dur\":18446744073709551.615},"
        "{\"ph\":\"X\",\"ts\":1,\"dur\":18446744073709551615},{\"ph\":\"X\",\"ts\":1e30,\"dur\":1},"
        "{\"ph\":\"X\",\"ts\":1,\"dur\":N/A},{\"ph\":\"X\",\"ts\":NaN,\"dur\":1},{\"ph\":\"X\","
        "\"dur\":1},"
        "{\"ph\":\"X\",\"ts\":1},{\"ph\":\"X\",\"ts\":\"-5.5\",\"dur\":\"1\",\"dur\":\"2.0004\"}");
    assert_int_equal(trace.read.events, 9);
    assert_int_equal(trace.read.negative_durations, 1);
    assert_int_equal(trace.read.overflowing_durations, 3);
    assert_int_equal(trace.read.missing_times, 4);
    assert_int_equal(trace.host_count, 1);
    assert_int_equal(trace.host[0].start_ns, -5500);
    assert_int_equal(trace.host[0].duration_ns, 2000); /* of two the last counts */
}

static void names_are_kept_whatever_is_in_them(void **state)
{
    SCOPED(trace) trace = {0};

    (void)state;
    read_events(
        &trace,
        "{\"ph\":\"X\",\"ts\":1,\"dur\":1,\"name\":\"caf\\u00e9 \\\"x\\\" \\ud83d\\ude00\"},"
        "{\"ph\":\"X\",\"ts\":2,\"dur\":1,\"name\":\"a\001b\nc\"},"
        "{\"ph\":\"X\",\"ts\":3,\"dur\":1,\"name\":\"say \"hello\", \"you\"\"},"
        "{\"ph\":\"X\",\"ts\":4,\"dur\":1,\"name\":\"C:\\Users\\me\\x.py\"},"
        "{\"ph\":\"X\",\"ts\":5,\"dur\":1,\"name\":\"\xff]\"}");
    assert_int_equal(trace.host_count, 5);
    assert_string_equal(host_name(&trace, 0), "caf\xc3\xa9 \"x\" \xf0\x9f\x98\x80");
    assert_string_equal(host_name(&trace, 1), "a\001b\nc");
    assert_string_equal(host_name(&trace, 2), "say \"hello\", \"you\"");
    assert_string_equal(host_name(&trace, 3), "C:\\Users\\me\\x.py");
    assert_string_equal(host_name(&trace, 4), "\xff]");
    assert_int_equal(trace.read.replaced_names, 4);
    assert_int_equal(trace.read.damaged_events, 0);
}

/* What Kineto and its forerunner wrote that is no JSON, one event each: nothing else of it is lost.
 */
static void what_is_missing_costs_only_its_key(void **state)
{
    SCOPED(trace) trace = {0};
    const struct event_detail *detail;

    (void)state;
    read_events(
        &trace,
        "{\"ph\":\"X\",\"ts\":1,\"dur\":1,\"name\":\"a\",\"args\":{\"External id\":7,"
        "\"Collective name\": , \"Process Group Ranks\": \"[\"[0, 1, ...]\"]\","
        "\"Call stack\": }},"
        "{\"ph\":\"X\",\"ts\":2,\"dur\":1,\"name\":\"b\",\"args\":{"
        "\"Process Group Description\": mesh, rank [1]: the tp one , \"External id\": 8}},"
        "{\"name\":\"c\",\"ph\":\"X\",\"ts\":3.5,\"dur\":1,tid\": 0,\"pid\":\"CUDA\"},"
        "{\"ph\":\"X\",\"ts\":4,\"dur\":1,\"name\": ,\"args\":{ , \"External id\": 9, }, },"
        "{\"ph\":\"X\",\"ts\":5,\"dur\":1,\"name\":\"e\",\"args\":{\"Input Dims\": ,"
        "\"Concrete Inputs\": [\"a \"b\", c\", \"C:\\x\"], \"External id\": 10}},"
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"ts\":6,\"dur\":1,\"name\":\"k\",\"args\":{"
        "\"blocks per SM\": 7,757576, \"warps per SM\": 31,5, \"GB/s\": 1,5,\"stream\": 3}}");
    assert_int_equal(trace.read.damaged_events, 0);
    assert_int_equal(trace.read.mended_events, 6);
    assert_int_equal(trace.read.replaced_names, 0);
    assert_int_equal(trace.host_count, 5);
    assert_int_equal(trace.host[0].external_id, 7);
    detail = &trace.details[trace.host[0].detail];
    assert_int_equal(detail->call_stack, 0);
    assert_string_equal(trace_text(&trace, detail->group_ranks), "[\"[0, 1, ...]\"]");
    assert_int_equal(trace.host[1].external_id, 8);
    assert_string_equal(host_name(&trace, 2), "");
    assert_int_equal(trace.host[2].external_id, 9);
    assert_int_equal(trace.host[3].external_id, 10);
    assert_string_equal(trace_text(&trace, trace.details[trace.host[3].detail].concrete_inputs),
                        "[\"a \"b\", c\", \"C:\\x\"]");
    assert_string_equal(host_name(&trace, 4), "c"); /* of another thread */
    assert_int_equal(trace.host[4].start_ns, 3500);
    assert_int_equal(trace.device_count, 1);
    assert_true(trace.details[trace.device[0].detail].blocks_per_sm > 7.757F);
    assert_true(trace.details[trace.device[0].detail].warps_per_sm == 31.5F);
}

/* Kineto's own log has stood before the events and behind them. */
static void a_log_with_quotes_costs_no_fact_behind_it(void **state)
{
    static const char *const log = "\"INFO\":[\"a \"x\" ] b\"]";
    SCOPED(trace) before = {0};
    SCOPED(trace) behind = {0};
    char text[512];

    (void)state;
    (void)snprintf(text, sizeof text,
                   "{%s,\"traceEvents\":[{\"ph\":\"X\",\"ts\":1,\"dur\":1}],"
                   "\"traceName\":\"n\",\"baseTimeNanoseconds\":5}",
                   log);
    read_good_text(&before, text);
    (void)snprintf(text, sizeof text,
                   "{\"traceEvents\":[{\"ph\":\"X\",\"ts\":1,\"dur\":1}],%s,"
                   "\"traceName\":\"n\",\"baseTimeNanoseconds\":5}",
                   log);
    read_good_text(&behind, text);
    assert_int_equal(before.host_count, 1);
    assert_int_equal(behind.host_count, 1);
    assert_int_equal(before.facts.base_time_ns, 5);
    assert_int_equal(behind.facts.base_time_ns, 5);
    assert_string_equal(trace_text(&behind, behind.facts.trace_name), "n");
    assert_false(behind.read.is_truncated);
}

static void one_bad_event_costs_only_itself(void **state)
{
    SCOPED(trace) trace = {0};

    (void)state;
    read_events(&trace,
                "{\"ph\":\"X\",\"ts\":1,\"dur\":1,\"name\":\"a\"},{\"ph\":\"X\",\"ts\":2 \"dur\":1,"
                "\"args\":{\"x\":[{\"ts\":1}]}},"
                "{\"ph\":\"X\",\"ts\":3,\"dur\":1,\"name\":\"b\"},{\"ph\":\"X\",\"ts\":4,\"dur\":1,"
                "\"args\":{\"k\":[1}},\n"
                "{\"ph\":\"X\",\"ts\":5,\"dur\":1,\"name\":\"c\"},{\"ph\":\"X\",");
    assert_int_equal(trace.host_count, 3);
    assert_string_equal(host_name(&trace, 2), "c");
    assert_int_equal(trace.read.events, 3);
    assert_int_equal(trace.read.damaged_events, 3);
    assert_int_equal(trace.read.damages[0].byte, 71);
    assert_string_equal(
        trace.read.damages[0].message,
        "expected ',' or '}' after a value, found '\"dur\":1,\"args\":{\"x\":[{\"'");
}

static void a_name_with_a_bracket_does_not_end_the_events(void **state)
{
    SCOPED(trace) trace = {0};

    (void)state;
    read_good_text(
        &trace,
        "{\"traceName\": \"a]\\\"x\", \"nested\": {\"traceEvents\": 5}, \"traceEvents\": ["
        "{\"ph\":\"X\",\"ts\":1,\"dur\":1,\"name\":\"]}\"},{\"ph\":\"X\",\"ts\":2,\"dur\":1}],"
        "\"displayTimeUnit\": \"ms\"}\nINFO: the log of the profiler {[\"");
    assert_int_equal(trace.host_count, 2);
    assert_false(trace.read.is_truncated);
    assert_string_equal(trace_text(&trace, trace.facts.trace_name), "a]\"x");
}

static void the_header_says_what_the_run_was(void **state)
{
    SCOPED(trace) trace = {0};

    (void)state;
    read_good_text(
        &trace, "\xef\xbb\xbf { \"schemaVersion\": 1, \"deviceProperties\": [{\"id\": 1, \"name\": "
                "\"GPU B\"},"
                "{\"id\": 0, \"name\": \"GPU A\", \"totalGlobalMem\": 85, \"computeMajor\": 9, "
                "\"computeMinor\": 1, \"numSms\": 132}],"
                "\"distributedInfo\": {\"backend\": \"nccl\", \"rank\": 3, \"world_size\": 8, "
                "\"pg_config\": [{\"ranks\": [1]}]},"
                "\"record_shapes\": 1, \"with_stack\": 0, \"profile_memory\": true, "
                "\"cuda_runtime_version\": 12090,"
                "\"baseTimeNanoseconds\": 1711964646000000000, \"host_name\": \"n\\u0031\", "
                "\"traceEvents\": [],"
                "\"traceName\": \"/tmp/x\"}");
    assert_int_equal(trace.facts.rank, 3);
    assert_int_equal(trace.facts.world_size, 8);
    assert_string_equal(trace_text(&trace, trace.facts.backend), "nccl");
    assert_string_equal(trace_text(&trace, trace.facts.hostname), "n1");
    assert_string_equal(trace_text(&trace, trace.facts.cuda_version), "12090");
    assert_string_equal(trace_text(&trace, trace.facts.trace_name), "/tmp/x");
    assert_int_equal(trace.facts.base_time_ns, 1711964646000000000);
    assert_int_equal(trace.facts.record_shapes, 1);
    assert_int_equal(trace.facts.with_stack, 0);
    assert_int_equal(trace.facts.profile_memory, 1);
    assert_int_equal(trace.facts.with_flops, -1);
    assert_int_equal(trace.device_list_count, 2);
    assert_int_equal(trace.devices[0].number, 0);
    assert_string_equal(trace_text(&trace, trace.devices[0].name), "GPU A");
    assert_int_equal(trace.devices[0].multiprocessors, 132);
    assert_int_equal(trace.devices[1].multiprocessors, -1);
}

static void a_bad_header_does_not_cost_the_events(void **state)
{
    SCOPED(trace) trace = {0};

    (void)state;
    read_good_text(&trace,
                   "{\"traceName\": \"C:\\dir\", \"x\" 1, \"traceEvents\": [{\"ph\":\"X\",\"ts\":1,"
                   "\"dur\":1}]}");
    assert_int_equal(trace.host_count, 1);
    assert_true(trace.read.damaged_events >= 1);
    assert_false(trace.read.is_truncated);
}

static void a_bare_array_is_a_trace(void **state)
{
    SCOPED(trace) trace = {0};

    (void)state;
    read_good_text(&trace, " [{\"ph\":\"X\",\"ts\":1,\"dur\":1}\n]\n");
    assert_int_equal(trace.host_count, 1);
    assert_false(trace.read.is_truncated);
}

/* One category for all that an MTIA's processors do. */
static void work_of_an_mtia_is_work_of_a_device(void **state)
{
    SCOPED(trace) trace = {0};

    (void)state;
    read_events(
        &trace,
        "{\"ph\": \"X\", \"cat\": \"mtia_ccp_events\", \"name\": \"fc-dtype_Float\", \"pid\": 9, "
        "\"tid\": 4, \"ts\": 5, \"dur\": 3},"
        "{\"ph\": \"X\", \"cat\": \"mtia_ccp_events\", \"name\": \"dma_request\", \"pid\": 9, "
        "\"tid\": 4, \"ts\": 9, \"dur\": 3, \"args\": {\"correlation\": 7}},"
        "{\"ph\": \"X\", \"cat\": \"mtia_ccp_events\", \"name\": \"event_wait\", \"pid\": 9, "
        "\"tid\": 4, \"ts\": 13, \"dur\": 3}");
    assert_int_equal(trace.device_count, 2);
    assert_int_equal(trace.device[0].kind, EVENT_KERNEL);
    assert_int_equal(trace.device[1].kind, EVENT_MEMCPY);
    assert_int_equal(trace.device[1].correlation, 7);
    assert_int_equal(trace.device_note_count, 1);
    assert_int_equal(trace.tracks[trace.device[0].track].device, 9);
}

/* As all other recorders' copies are; what is not told, or of no known direction, stays so. */
static void copies_of_an_mtia_tell_size_and_direction(void **state)
{
    static const char *const args[] = {
        "{\"stream\": 102, \"direction\": \"HOST_TO_DEVICE\", \"size\": 1852}",
        "{\"size\": 16, \"direction\": \"DEVICE_TO_HOST\", \"sqid\": 1}",
        "{\"size\": -5, \"direction\": \"SIDEWAYS\"}",
        "{\"correlation\": 7}",
    };
    static const struct {
        const char *name;
        int64_t bytes;
    } wanted[] = {{"Memcpy HtoD (Host -> Device)", 1852},
                  {"Memcpy DtoH (Device -> Host)", 16},
                  {"dma_request", -1},
                  {"dma_request", -1}};
    char events[1024];
    size_t length = 0;
    SCOPED(trace) trace = {0};

    (void)state;
    for (size_t i = 0; i < 4; i++)
        length += (size_t)snprintf(events + length, sizeof events - length,
                                   "%s{\"ph\": \"X\", \"cat\": \"mtia_ccp_events\", "
                                   "\"name\": \"dma_request\", \"pid\": 9, \"tid\": 4, "
                                   "\"ts\": %zu, \"dur\": 3, \"args\": %s}",
                                   i > 0 ? "," : "", 10 * i, args[i]);
    read_events(&trace, events);
    assert_int_equal(trace.device_count, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_string_equal(trace_text(&trace, trace.device[i].name), wanted[i].name);
        assert_int_equal(trace.details[trace.device[i].detail].bytes, wanted[i].bytes);
    }
}

static void a_byte_order_mark_is_skipped(void **state)
{
    const char text[] = "\xef\xbb\xbf[{\"ph\":\"X\",\"ts\":1,\"dur\":1}]";

    (void)state;
    for (size_t piece = 0; piece < 5; piece++) {
        SCOPED(trace) trace = {0};
        struct error error = {0};

        assert_true(read_text(&trace, text, sizeof text - 1,
                              (struct read_manner){.piece_bytes = piece}, &error));
        assert_int_equal(trace.host_count, 1);
    }
}

static void what_is_no_trace_is_refused(void **state)
{
    static const char *const texts[][2] = {
        {"{\"nodes\": [], \"schema\": \"1\"}", "its keys: \"nodes\", \"schema\""},
        {"{}", "its keys: none"},
        {"{\"traceEvents\": null}", "without \"traceEvents\""},
        {"[[1, 2], [3]]", "byte 1: expected '{'"},
        {"[{\"a\": 1}, {\"b\": 2}]", "nothing is an event"},
        {"{\"a\": \"b", "ends at byte 8 in the middle of the header"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct trace trace = {0};
        struct error error = {0};

        assert_false(
            read_text(&trace, texts[i][0], strlen(texts[i][0]), (struct read_manner){0}, &error));
        assert_int_equal(error.class, ERROR_INPUT);
        if (!strstr(error.message, texts[i][1]))
            fail_msg("'%s' does not say '%s'", error.message, texts[i][1]);
    }
}

static const char whole[] =
    "{\"schemaVersion\": 1, \"traceEvents\": [\n"
    "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"a\\\"[{\", \"pid\": 1, \"tid\": 2, "
    "\"ts\": 1.5, \"dur\": 2, \"args\": {\"Input Dims\": [[1, 2]]}},\n"
    "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"b\", \"pid\": 0, \"tid\": 7, \"ts\": 2, "
    "\"dur\": 1, \"args\": {\"stream\": 7, \"grid\": [1, 1, 1]}},\n"
    "{\"ph\": \"M\", \"name\": \"thread_name\", \"pid\": 1, \"tid\": 2, \"args\": {\"name\": "
    "\"main\"}},\n"
    "{\"ph\": \"X\", \"name\": \"\\u00e9\", \"pid\": 1, \"tid\": 2, \"ts\": 3, \"dur\": 1}\n"
    "], \"traceName\": \"x\"}";

/* How many events are complete in the first `length` bytes. */
static int64_t complete_events(size_t length)
{
    static const char *const ends[] = {"]]}}", "1]}}", "main\"}}", "\"dur\": 1}\n"};
    int64_t count = 0;

    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        const char *end = strstr(whole, ends[i]) + strlen(ends[i]) - (i == 3);

        count += length >= (size_t)(end - whole);
    }
    return count;
}

static void cut_anywhere_all_complete_events_are_there(void **state)
{
    (void)state;
    for (size_t length = 0; length < sizeof whole - 1; length++) {
        for (size_t piece = 0; piece < 40; piece += 13) {
            struct trace trace = {0};
            struct error error = {0};
            char *exact = malloc(length ? length : 1);

            assert_non_null(exact);
            memcpy(exact, whole, length);
            if (read_text(&trace, exact, length, (struct read_manner){.piece_bytes = piece},
                          &error)) {
                assert_int_equal(trace.read.events, complete_events(length));
                assert_true(trace.read.is_truncated);
                assert_true(trace.read.truncation[0]);
                assert_int_equal(trace.read.damaged_events, 0);
                assert_int_equal(trace.read.text_bytes, length);
            } else {
                assert_int_equal(complete_events(length), 0);
                assert_true(error.message[0]);
            }
            trace_clear(&trace);
            free(exact);
        }
    }
}

static void the_order_in_the_file_does_not_matter(void **state)
{
    static const char *const events[] = {
        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\",\"pid\":1,\"tid\":2,\"ts\":1,"
        "\"dur\":9,\"args\":{\"External id\":1}}",
        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"b\",\"pid\":1,\"tid\":2,\"ts\":1,"
        "\"dur\":9,\"args\":{\"External id\":2}}",
        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"c\",\"pid\":1,\"tid\":2,\"ts\":1,\"dur\":5}",
        "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"l\",\"pid\":1,\"tid\":2,\"ts\":2,"
        "\"dur\":1,\"args\":{\"correlation\":5}}",
        "{\"ph\":\"X\",\"cat\":\"cuda_driver\",\"name\":\"l2\",\"pid\":1,\"tid\":2,\"ts\":2.5,"
        "\"dur\":0.1,\"args\":{\"correlation\":5}}",
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7,\"ts\":3,"
        "\"dur\":1,\"args\":{\"correlation\":5}}",
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"j\",\"pid\":0,\"tid\":7,\"ts\":3,"
        "\"dur\":1,\"args\":{\"correlation\":5}}",
        "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":1,\"tid\":2,\"args\":{\"name\":\"one\"}}",
        "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":1,\"tid\":2,\"args\":{\"name\":\"two\"}}",
        "{\"ph\":\"B\",\"name\":\"h\",\"pid\":1,\"tid\":9,\"ts\":4}",
        "{\"ph\":\"E\",\"pid\":1,\"tid\":9,\"ts\":4}",
    };
    enum { COUNT = sizeof events / sizeof events[0] };
    SCOPED(trace) first = {0};
    uint32_t seed = 1;

    (void)state;
    for (int round = 0; round < 200; round++) {
        struct trace trace = {0};
        char text[4096] = "[";
        size_t order[COUNT];

        for (size_t i = 0; i < COUNT; i++)
            order[i] = i;
        for (size_t i = COUNT; round && i > 1; i--) {
            size_t j = (seed = seed * 1664525 + 1013904223) / 65536 % i;
            size_t swap = order[i - 1];

            order[i - 1] = order[j];
            order[j] = swap;
        }
        for (size_t i = 0; i < COUNT; i++)
            strcat(strcat(text, i ? "," : ""), events[order[i]]);
        strcat(text, "]");
        read_good_text(round ? &trace : &first, text);
        if (round)
            assert_true(is_same_trace(&trace, &first));
        trace_clear(&trace);
    }
    assert_string_equal(host_name(&first, first.launch[0]), "l"); /* the first call of that
                                                                     correlation */
    assert_string_equal(host_name(&first, trace_operator_of(&first, 0)), "c");
    assert_string_equal(trace_text(&first, first.device[0].name), "j");
    assert_string_equal(trace_text(&first, first.tracks[0].thread_name), "two");
    assert_int_equal(first.host_count, 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_operator_has_all_its_facts),
        cmocka_unit_test(a_kernel_has_all_its_facts),
        cmocka_unit_test(streams_are_told_by_old_traces_in_words),
        cmocka_unit_test(categories_of_all_generations_are_known),
        cmocka_unit_test(all_phases_are_counted_by_category),
        cmocka_unit_test(begin_and_end_make_an_event),
        cmocka_unit_test(impossible_times_are_set_aside),
        cmocka_unit_test(names_are_kept_whatever_is_in_them),
        cmocka_unit_test(what_is_missing_costs_only_its_key),
        cmocka_unit_test(a_log_with_quotes_costs_no_fact_behind_it),
        cmocka_unit_test(one_bad_event_costs_only_itself),
        cmocka_unit_test(a_name_with_a_bracket_does_not_end_the_events),
        cmocka_unit_test(the_header_says_what_the_run_was),
        cmocka_unit_test(a_bad_header_does_not_cost_the_events),
        cmocka_unit_test(a_bare_array_is_a_trace),
        cmocka_unit_test(work_of_an_mtia_is_work_of_a_device),
        cmocka_unit_test(copies_of_an_mtia_tell_size_and_direction),
        cmocka_unit_test(a_byte_order_mark_is_skipped),
        cmocka_unit_test(what_is_no_trace_is_refused),
        cmocka_unit_test(cut_anywhere_all_complete_events_are_there),
        cmocka_unit_test(the_order_in_the_file_does_not_matter),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
