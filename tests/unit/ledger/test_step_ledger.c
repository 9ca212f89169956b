/* The ledger: each account by a trace that holds just that. */
#include "ledger/step_ledger.h"
#include "support_trace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* A trace with one thread, one stream and one step of 1000 µs, numbered 3. */
struct one_step {
    struct made_trace made;
    uint32_t thread;
    uint32_t stream;
};

enum { US = 1000, STEP_US = 1000 };

static void start(struct one_step *test)
{
    made_trace_init(&test->made);
    test->thread = made_thread(&test->made, "1");
    test->stream = made_stream(&test->made, 0, 7);
    made_host_event(&test->made, test->thread, EVENT_ANNOTATION,
                    (struct made_event){"ProfilerStep#3", 0, STEP_US * US});
}

static void host(struct one_step *test, enum event_kind kind, struct made_event event)
{
    event.start_ns *= US;
    event.end_ns *= US;
    made_host_event(&test->made, test->thread, kind, event);
}

/* A launch that takes 5 µs, and its work. Times in us. */
static void work(struct one_step *test, enum event_kind kind, int64_t launch_us,
                 struct made_event event)
{
    struct made_event call = {"cudaLaunchKernel", launch_us * US, (launch_us + 5) * US};

    event.start_ns *= US;
    event.end_ns *= US;
    made_work(&test->made, test->stream, kind, event, made_call(&test->made, test->thread, call),
              NULL);
}

/* Fills the step with a kernel but for [start_us, end_us), and books it. The kernel after the gap
 * is launched at `launch_us`. */
static const struct step_ledger *attribute_gap(struct one_step *test, int64_t start_us,
                                               int64_t end_us, int64_t launch_us)
{
    work(test, EVENT_KERNEL, -10, (struct made_event){"elementwise", 0, start_us});
    work(test, EVENT_KERNEL, launch_us, (struct made_event){"elementwise", end_us, STEP_US});
    made_trace_finish(&test->made, WINDOW_CHOICE_AUTO);
    assert_int_equal(test->made.ledger.step_count, 1);
    return &test->made.ledger.steps[0];
}

static void assert_account_us(const struct step_ledger *step, enum account account, int64_t us)
{
    if (step->account_ns[account] != us * US)
        fail_msg("%s is %lld ns, not %lld us", account_descriptions[account].key,
                 (long long)step->account_ns[account], (long long)us);
}

struct host_case {
    enum event_kind kind;
    const char *name;
    enum account account;
};

/* Between 100 and 200 µs the device is idle; the host does one thing from 100 to 170, and launches
 * at 190. */
static void assert_explains(const struct host_case *one)
{
    struct one_step test;
    const struct step_ledger *step;
    const struct idle_gap *gap;

    start(&test);
    host(&test, one->kind, (struct made_event){one->name, 100, 170});
    step = attribute_gap(&test, 100, 200, 190);
    assert_account_us(step, ACCOUNT_OTHER_COMPUTE, 900);
    assert_account_us(step, one->account, 70);
    assert_account_us(step, ACCOUNT_IDLE_NOTHING, 20);
    assert_account_us(step, ACCOUNT_IDLE_LAUNCH, 10);
    assert_int_equal(test.made.ledger.gap_count, 1);
    gap = &test.made.ledger.worst_gaps[0];
    assert_int_equal(gap->main_account, one->account);
    assert_string_equal(trace_text(&test.made.trace, test.made.trace.host[gap->host_event].name),
                        one->name);
    made_trace_clear(&test.made);
}

static void compiling_explains_a_gap(void **state)
{
    static const struct host_case cases[] = {
        {EVENT_OPERATOR, "compile_fx_inner (dynamo_timed)", ACCOUNT_IDLE_COMPILATION},
        {EVENT_OPERATOR, "guard_collective (dynamo_timed)", ACCOUNT_IDLE_OPERATOR},
        {EVENT_OPERATOR, "dynamo", ACCOUNT_IDLE_COMPILATION},
        {EVENT_OPERATOR, "dynamo_like", ACCOUNT_IDLE_OPERATOR},
        {EVENT_ANNOTATION, "backend_compile_and_load", ACCOUNT_IDLE_COMPILATION},
        {EVENT_ANNOTATION, "XlaCompile:#module=jit_f,program_id=3#", ACCOUNT_IDLE_COMPILATION},
        {EVENT_PYTHON_FUNCTION, "$compiler.py:387 compile_or_get_cached", ACCOUNT_IDLE_COMPILATION},
        {EVENT_PYTHON_FUNCTION, "triton/compiler/compiler.py(226): compile",
         ACCOUNT_IDLE_COMPILATION},
        {EVENT_PYTHON_FUNCTION, "train.py(3): compile", ACCOUNT_IDLE_PYTHON},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_explains(&cases[i]);
}

static void a_gap_is_explained_by_what_the_launching_thread_does(void **state)
{
    static const struct host_case cases[] = {
        {EVENT_ANNOTATION, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
         ACCOUNT_IDLE_DATA},
        {EVENT_RUNTIME_CALL, "cudaStreamSynchronize", ACCOUNT_IDLE_SYNC},
        {EVENT_RUNTIME_CALL, "hipMemcpyWithStream", ACCOUNT_IDLE_SYNC},
        {EVENT_RUNTIME_CALL, "cudaMemcpy2D", ACCOUNT_IDLE_SYNC},
        {EVENT_RUNTIME_CALL, "cuMemcpyDtoH_v2", ACCOUNT_IDLE_SYNC},
        {EVENT_RUNTIME_CALL, "cuMemcpyHtoDAsync_v2", ACCOUNT_IDLE_RUNTIME},
        {EVENT_RUNTIME_CALL, "cudaMemcpyPeer", ACCOUNT_IDLE_RUNTIME},
        {EVENT_RUNTIME_CALL, "cudaMalloc", ACCOUNT_IDLE_ALLOCATOR},
        {EVENT_RUNTIME_CALL, "cuMemAllocHost_v2", ACCOUNT_IDLE_ALLOCATOR},
        {EVENT_RUNTIME_CALL, "cudaHostUnregister", ACCOUNT_IDLE_ALLOCATOR},
        {EVENT_RUNTIME_CALL, "cuMemHostGetDevicePointer_v2", ACCOUNT_IDLE_RUNTIME},
        {EVENT_RUNTIME_CALL, "AscendCL@aclrtSynchronizeStream", ACCOUNT_IDLE_SYNC},
        {EVENT_RUNTIME_CALL, "aclrtSynchronizeDeviceWithTimeout", ACCOUNT_IDLE_SYNC},
        {EVENT_RUNTIME_CALL, "AscendCL@aclrtMemcpy", ACCOUNT_IDLE_SYNC},
        {EVENT_RUNTIME_CALL, "AscendCL@aclrtMemcpyAsync", ACCOUNT_IDLE_RUNTIME},
        {EVENT_RUNTIME_CALL, "AscendCL@aclrtMallocAlign32", ACCOUNT_IDLE_ALLOCATOR},
        {EVENT_RUNTIME_CALL, "urQueueFinish", ACCOUNT_IDLE_SYNC},
        {EVENT_RUNTIME_CALL, "urUSMDeviceAlloc", ACCOUNT_IDLE_ALLOCATOR},
        {EVENT_PYTHON_FUNCTION, "<built-in function collect>", ACCOUNT_IDLE_GARBAGE},
        {EVENT_RUNTIME_CALL, "cudaEventRecord", ACCOUNT_IDLE_RUNTIME},
        {EVENT_SYSTEM_CALL, "pthread_cond_wait", ACCOUNT_IDLE_SYSTEM},
        {EVENT_OPERATOR, "aten::add", ACCOUNT_IDLE_OPERATOR},
        {EVENT_ANNOTATION, "save checkpoint", ACCOUNT_IDLE_ANNOTATION},
        {EVENT_PYTHON_FUNCTION, "train.py(10): log", ACCOUNT_IDLE_PYTHON},
        {EVENT_PYTHON_FUNCTION, "api.py(2490): try_to_block", ACCOUNT_IDLE_SYNC},
        {EVENT_PYTHON_FUNCTION, "array.py(7): block_until_ready", ACCOUNT_IDLE_SYNC},
        {EVENT_PYTHON_FUNCTION, "train.py(10): try_to_block_ads", ACCOUNT_IDLE_PYTHON},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_explains(&cases[i]);
}

/* All at once: the first in the order of priority holds. */
static void causes_have_an_order(void **state)
{
    struct one_step test;
    const struct step_ledger *step;

    (void)state;
    start(&test);
    host(&test, EVENT_PYTHON_FUNCTION, (struct made_event){"train.py(10): step", 100, 190});
    host(&test, EVENT_ANNOTATION, (struct made_event){"range", 100, 180});
    host(&test, EVENT_OPERATOR, (struct made_event){"aten::add", 100, 170});
    host(&test, EVENT_SYSTEM_CALL, (struct made_event){"poll", 100, 165});
    host(&test, EVENT_RUNTIME_CALL, (struct made_event){"cudaEventRecord", 100, 160});
    host(&test, EVENT_RUNTIME_CALL, (struct made_event){"cudaFree", 100, 150});
    host(&test, EVENT_RUNTIME_CALL, (struct made_event){"cudaDeviceSynchronize", 100, 140});
    host(&test, EVENT_ANNOTATION, (struct made_event){"## next ##", 100, 130});
    step = attribute_gap(&test, 100, 200, 200);
    assert_account_us(step, ACCOUNT_IDLE_DATA, 30);
    assert_account_us(step, ACCOUNT_IDLE_SYNC, 10);
    assert_account_us(step, ACCOUNT_IDLE_ALLOCATOR, 10);
    assert_account_us(step, ACCOUNT_IDLE_RUNTIME, 10);
    assert_account_us(step, ACCOUNT_IDLE_SYSTEM, 5);
    assert_account_us(step, ACCOUNT_IDLE_OPERATOR, 5);
    assert_account_us(step, ACCOUNT_IDLE_ANNOTATION, 10);
    assert_account_us(step, ACCOUNT_IDLE_PYTHON, 10);
    assert_account_us(step, ACCOUNT_IDLE_NOTHING, 10);
    assert_account_us(step, ACCOUNT_IDLE_LAUNCH, 0);
    assert_int_equal(step->sync_opened_ns, 100 * US);
    made_trace_clear(&test.made);
}

static void work_launched_before_the_gap_waits_on_the_device(void **state)
{
    struct one_step test;
    const struct step_ledger *step;

    (void)state;
    start(&test);
    step = attribute_gap(&test, 100, 109, 50);
    assert_account_us(step, ACCOUNT_IDLE_QUEUE_GAP, 9);
    made_trace_clear(&test.made);
    start(&test);
    step = attribute_gap(&test, 100, 110, 50);
    assert_account_us(step, ACCOUNT_IDLE_QUEUED_WAIT, 10);
    made_trace_clear(&test.made);
}

static void gaps_between_the_nodes_of_a_graph_are_its_own(void **state)
{
    struct one_step test;
    const struct step_ledger *step;
    int64_t graph;

    (void)state;
    start(&test);
    graph = made_call(&test.made, test.thread,
                      (struct made_event){"cudaGraphLaunch", 20 * US, 30 * US});
    made_work(&test.made, test.stream, EVENT_KERNEL, (struct made_event){"a", 40 * US, 100 * US},
              graph, NULL);
    made_work(&test.made, test.stream, EVENT_KERNEL, (struct made_event){"b", 103 * US, 200 * US},
              graph, NULL);
    made_work(&test.made, test.stream, EVENT_KERNEL, (struct made_event){"c", 250 * US, 1000 * US},
              graph, NULL);
    made_trace_finish(&test.made, WINDOW_CHOICE_AUTO);
    step = &test.made.ledger.steps[0];
    assert_account_us(step, ACCOUNT_IDLE_GRAPH, 3 + 50);
    assert_account_us(step, ACCOUNT_IDLE_LAUNCH, 20);
    assert_account_us(step, ACCOUNT_IDLE_NOTHING, 20);
    made_trace_clear(&test.made);
}

static void the_tail_is_explained_by_the_next_work_or_by_the_step_itself(void **state)
{
    struct one_step test;
    const struct step_ledger *step;

    (void)state;
    start(&test);
    work(&test, EVENT_KERNEL, -10, (struct made_event){"elementwise", 0, 600});
    host(&test, EVENT_OPERATOR, (struct made_event){"aten::add", 600, 900});
    made_trace_finish(&test.made, WINDOW_CHOICE_AUTO);
    step = &test.made.ledger.steps[0];
    assert_account_us(step, ACCOUNT_IDLE_OPERATOR, 300);
    assert_account_us(step, ACCOUNT_IDLE_NOTHING, 100);
    assert_int_equal(step->tail_ns, 400 * US);
    made_trace_clear(&test.made);

    start(&test);
    work(&test, EVENT_KERNEL, -10, (struct made_event){"elementwise", 0, 600});
    work(&test, EVENT_KERNEL, 700, (struct made_event){"elementwise", 1200, 1300});
    made_trace_finish(&test.made, WINDOW_CHOICE_AUTO);
    step = &test.made.ledger.steps[0];
    assert_account_us(step, ACCOUNT_IDLE_NOTHING, 100);
    assert_account_us(step, ACCOUNT_IDLE_LAUNCH, 300);
    made_trace_clear(&test.made);
}

/* Four streams at once: what is higher in the order of accounts hides what is lower. */
static void overlapping_work_is_booked_once(void **state)
{
    struct one_step test;
    const struct step_ledger *step;

    (void)state;
    start(&test);
    host(&test, EVENT_OPERATOR, (struct made_event){"aten::mm", 0, 40});
    work(&test, EVENT_KERNEL, 10, (struct made_event){"a_name_that_says_nothing", 100, 300});
    work(&test, EVENT_KERNEL, 41, (struct made_event){"vectorized_elementwise", 200, 400});
    work(&test, EVENT_KERNEL, 46, (struct made_event){"ncclDevKernel_AllReduce", 250, 500});
    work(&test, EVENT_MEMCPY, 51, (struct made_event){"Memcpy DtoD (Device -> Device)", 450, 600});
    work(&test, EVENT_MEMSET, 56, (struct made_event){"Memset (Device)", 590, 610});
    made_trace_finish(&test.made, WINDOW_CHOICE_AUTO);
    step = &test.made.ledger.steps[0];
    assert_account_us(step, ACCOUNT_MATRIX, 200);
    assert_account_us(step, ACCOUNT_OTHER_COMPUTE, 100);
    assert_account_us(step, ACCOUNT_COMMUNICATION, 100);
    assert_account_us(step, ACCOUNT_COPY, 110);
    assert_int_equal(step->class_ns[KERNEL_MATMUL], 200 * US);
    assert_int_equal(step->class_ns[KERNEL_ELEMENTWISE], 100 * US);
    assert_int_equal(step->busy_ns, 510 * US);
    assert_int_equal(step->communication_ns, 250 * US);
    assert_int_equal(step->hidden_communication_ns, 150 * US);
    assert_int_equal(step->copy_ns, 150 * US);
    assert_int_equal(step->memset_ns, 20 * US);
    made_trace_clear(&test.made);
}

static void a_copy_launched_while_data_is_loaded_is_input_data(void **state)
{
    struct one_step test;
    const struct step_ledger *step;

    (void)state;
    start(&test);
    host(&test, EVENT_ANNOTATION, (struct made_event){"##get_batch##", 0, 50});
    work(&test, EVENT_MEMCPY, 10, (struct made_event){"Memcpy HtoD (Pinned -> Device)", 20, 120});
    work(&test, EVENT_MEMCPY, 60, (struct made_event){"Memcpy HtoD (Pinned -> Device)", 120, 150});
    made_trace_finish(&test.made, WINDOW_CHOICE_AUTO);
    step = &test.made.ledger.steps[0];
    assert_account_us(step, ACCOUNT_DATA_COPY, 100);
    assert_account_us(step, ACCOUNT_COPY, 30);
    made_trace_clear(&test.made);
}

static void an_unlinked_kernel_keeps_its_time_and_the_step_explains_the_gap(void **state)
{
    struct one_step test;
    const struct step_ledger *step;

    (void)state;
    start(&test);
    host(&test, EVENT_OPERATOR, (struct made_event){"aten::add", 0, 60});
    made_work(&test.made, test.stream, EVENT_KERNEL,
              (struct made_event){"elementwise", 100 * US, 1000 * US}, 4711, NULL);
    made_trace_finish(&test.made, WINDOW_CHOICE_AUTO);
    step = &test.made.ledger.steps[0];
    assert_account_us(step, ACCOUNT_OTHER_COMPUTE, 900);
    assert_account_us(step, ACCOUNT_IDLE_OPERATOR, 60);
    assert_account_us(step, ACCOUNT_IDLE_NOTHING, 40);
    made_trace_clear(&test.made);
}

static void without_a_device_the_threads_in_operators_are_the_device(void **state)
{
    struct one_step test;
    const struct step_ledger *step;

    (void)state;
    start(&test);
    host(&test, EVENT_ANNOTATION, (struct made_event){"enumerate(DataLoader)#x.__next__", 0, 200});
    host(&test, EVENT_OPERATOR, (struct made_event){"aten::stack", 50, 100});
    host(&test, EVENT_OPERATOR, (struct made_event){"aten::linear", 200, 600});
    host(&test, EVENT_OPERATOR, (struct made_event){"aten::t", 210, 220});
    host(&test, EVENT_OPERATOR, (struct made_event){"aten::addmm", 220, 590});
    host(&test, EVENT_OPERATOR, (struct made_event){"aten::relu", 600, 700});
    host(&test, EVENT_ANNOTATION, (struct made_event){"Optimizer.step#SGD.step", 700, 900});
    host(&test, EVENT_OPERATOR, (struct made_event){"aten::add_", 750, 850});
    made_trace_finish(&test.made, WINDOW_CHOICE_AUTO);
    assert_true(test.made.ledger.is_cpu_only);
    step = &test.made.ledger.steps[0];
    assert_account_us(step, ACCOUNT_IDLE_DATA, 200);
    assert_account_us(step, ACCOUNT_MATRIX, 400);
    assert_account_us(step, ACCOUNT_OTHER_COMPUTE, 200);
    assert_int_equal(step->class_ns[KERNEL_ELEMENTWISE], 100 * US);
    assert_int_equal(step->class_ns[KERNEL_OPTIMIZER], 100 * US);
    assert_account_us(step, ACCOUNT_IDLE_ANNOTATION, 100);
    assert_account_us(step, ACCOUNT_IDLE_NOTHING, 100);
    made_trace_clear(&test.made);
}

/* torch.compile calls each operator with tensors that hold no numbers: no work of the step. */
static void operators_of_a_compiler_are_no_work(void **state)
{
    struct one_step test;

    (void)state;
    start(&test);
    host(&test, EVENT_OPERATOR, (struct made_event){"nn:Model", 0, 900});
    host(&test, EVENT_OPERATOR, (struct made_event){"entire_frame_compile", 100, 600});
    host(&test, EVENT_OPERATOR,
         (struct made_event){"_compile.compile_inner (dynamo_timed)", 110, 590});
    host(&test, EVENT_OPERATOR, (struct made_event){"aten::mm", 200, 500});
    host(&test, EVENT_OPERATOR, (struct made_event){"aten::mm", 600, 900});
    made_trace_finish(&test.made, WINDOW_CHOICE_AUTO);
    assert_account_us(&test.made.ledger.steps[0], ACCOUNT_IDLE_COMPILATION, 500);
    assert_account_us(&test.made.ledger.steps[0], ACCOUNT_MATRIX, 300);
    made_trace_clear(&test.made);
}

/* What is launched while a graph is captured never reaches the device. */
static void capture_of_a_graph_explains_its_time(void **state)
{
    struct one_step test;

    (void)state;
    start(&test);
    host(&test, EVENT_OPERATOR, (struct made_event){"aten::mm", 0, 900});
    host(&test, EVENT_RUNTIME_CALL, (struct made_event){"hipStreamBeginCapture", 100, 110});
    host(&test, EVENT_RUNTIME_CALL, (struct made_event){"hipStreamEndCapture", 600, 700});
    made_kernel(&test.made, test.thread, test.stream,
                (struct made_event){"cudaLaunchKernel", 900 * US, 910 * US},
                (struct made_event){"gemm", 910 * US, 1000 * US});
    made_trace_finish(&test.made, WINDOW_CHOICE_AUTO);
    assert_account_us(&test.made.ledger.steps[0], ACCOUNT_IDLE_CAPTURE, 600);
    assert_account_us(&test.made.ledger.steps[0], ACCOUNT_IDLE_OPERATOR, 300);
    made_trace_clear(&test.made);
}

/* "nccl:all_reduce" around the operators of a step is a range of the program. */
static void a_range_around_operators_is_no_collective(void **state)
{
    struct made_trace made;
    uint32_t thread;

    (void)state;
    made_trace_init(&made);
    thread = made_thread(&made, "1");
    made_host_event(&made, thread, EVENT_ANNOTATION, (struct made_event){"ProfilerStep#1", 0, 100});
    made_host_event(&made, thread, EVENT_ANNOTATION, (struct made_event){"nccl:all_reduce", 0, 60});
    made_host_event(&made, thread, EVENT_OPERATOR, (struct made_event){"aten::mm", 10, 50});
    made_host_event(&made, thread, EVENT_ANNOTATION,
                    (struct made_event){"nccl:all_reduce", 70, 90});
    made_trace_finish(&made, WINDOW_CHOICE_AUTO);
    assert_int_equal(made.ledger.steps[0].account_ns[ACCOUNT_MATRIX], 40);
    assert_int_equal(made.ledger.steps[0].account_ns[ACCOUNT_COMMUNICATION], 20);
    made_trace_clear(&made);
}

/* gloo reduces on the processor, inside its range. */
static void operators_inside_a_transfer_on_the_processor_are_its_own(void **state)
{
    struct made_trace made;
    uint32_t thread;

    (void)state;
    made_trace_init(&made);
    thread = made_thread(&made, "1");
    made_host_event(&made, thread, EVENT_ANNOTATION, (struct made_event){"ProfilerStep#1", 0, 100});
    made_host_event(&made, thread, EVENT_ANNOTATION, (struct made_event){"gloo:all_reduce", 0, 60});
    made_host_event(&made, thread, EVENT_OPERATOR, (struct made_event){"aten::add_", 10, 50});
    made_trace_finish(&made, WINDOW_CHOICE_AUTO);
    assert_int_equal(made.ledger.steps[0].account_ns[ACCOUNT_MATRIX], 0);
    assert_int_equal(made.ledger.steps[0].account_ns[ACCOUNT_COMMUNICATION], 60);
    made_trace_clear(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(compiling_explains_a_gap),
        cmocka_unit_test(a_gap_is_explained_by_what_the_launching_thread_does),
        cmocka_unit_test(causes_have_an_order),
        cmocka_unit_test(work_launched_before_the_gap_waits_on_the_device),
        cmocka_unit_test(gaps_between_the_nodes_of_a_graph_are_its_own),
        cmocka_unit_test(the_tail_is_explained_by_the_next_work_or_by_the_step_itself),
        cmocka_unit_test(overlapping_work_is_booked_once),
        cmocka_unit_test(a_copy_launched_while_data_is_loaded_is_input_data),
        cmocka_unit_test(an_unlinked_kernel_keeps_its_time_and_the_step_explains_the_gap),
        cmocka_unit_test(without_a_device_the_threads_in_operators_are_the_device),
        cmocka_unit_test(operators_of_a_compiler_are_no_work),
        cmocka_unit_test(capture_of_a_graph_explains_its_time),
        cmocka_unit_test(a_range_around_operators_is_no_collective),
        cmocka_unit_test(operators_inside_a_transfer_on_the_processor_are_its_own),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
