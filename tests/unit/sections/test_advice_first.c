/* What has to be said before what it would be mistaken for: first uses, what is not recorded, work
 * of the host's own. Each with a trace of the same shape in which it is not so. */
#include "support_advice.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { LONG_STEP_NS = 10 * STEP_NS, LONG_STEPS = 3 };

/* Steps of 10 ms; a product runs in the first `busy_ns` of each. */
static void begin_long(struct scene *scene, int64_t busy_ns)
{
    scene_begin(scene, 0);
    for (int i = 0; i < LONG_STEPS; i++) {
        int64_t at = (int64_t)i * LONG_STEP_NS;
        char name[32];

        (void)snprintf(name, sizeof name, "ProfilerStep#%d", i);
        made_host_event(&scene->made, scene->thread, EVENT_ANNOTATION,
                        (struct made_event){name, at, at + LONG_STEP_NS});
        if (busy_ns > 0)
            scene_live(scene, "gemm", at, at + busy_ns);
    }
}

/* A call of 4 ms on an idle device, in the steps from `first` to `last`. */
static const struct section *advice_on_calls(struct scene *scene, const char *call, int first,
                                             int last)
{
    begin_long(scene, 2 * STEP_NS);
    for (int i = first; i <= last; i++) {
        int64_t at = (int64_t)i * LONG_STEP_NS + 3 * STEP_NS;

        (void)made_call(&scene->made, scene->thread,
                        (struct made_event){call, at, at + 4 * STEP_NS});
    }
    return scene_advice(scene);
}

static void a_call_that_is_slow_once_is_a_first_use(void **state)
{
    static const char *const calls[] = {"cudaMalloc", "cudaFree", "cudaStreamCreateWithFlags",
                                        "hipModuleLoadData"};

    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        struct scene scene;
        const struct section *section = advice_on_calls(&scene, calls[i], 0, 0);

        assert_int_equal(find_advice(section, "start_up")->cost_ns, 4 * STEP_NS / LONG_STEPS);
        assert_null(find_advice(section, "allocator"));
        assert_null(find_advice(section, "slow_calls"));
        made_trace_clear(&scene.made);
        section = advice_on_calls(&scene, calls[i], 0, 2);
        assert_null(find_advice(section, "start_up"));
        assert_non_null(find_advice(section, i < 2 ? "allocator" : "slow_calls"));
        made_trace_clear(&scene.made);
        section = advice_on_calls(&scene, calls[i], 2, 2); /* in the last step: no start */
        assert_null(find_advice(section, "start_up"));
        made_trace_clear(&scene.made);
    }
}

static void a_kernel_is_loaded_when_it_is_first_launched(void **state)
{
    for (int is_new = 0; is_new < 2; is_new++) {
        struct scene scene;
        const struct section *section;

        (void)state;
        begin_long(&scene, 2 * STEP_NS);
        made_kernel(
            &scene.made, scene.thread, scene.stream,
            (struct made_event){"cudaLaunchKernel", 3 * STEP_NS, 7 * STEP_NS},
            (struct made_event){is_new ? "another gemm" : "gemm", 7 * STEP_NS, 8 * STEP_NS});
        section = scene_advice(&scene);
        assert_non_null(find_advice(section, is_new ? "start_up" : "slow_calls"));
        assert_null(find_advice(section, is_new ? "slow_calls" : "start_up"));
        made_trace_clear(&scene.made);
    }
}

/* A trace without a kernel. */
static const struct section *advice_on_host_only(struct scene *scene, enum event_kind kind,
                                                 const char *name)
{
    begin_long(scene, 0);
    for (int i = 0; i < LONG_STEPS; i++) {
        int64_t at = (int64_t)i * LONG_STEP_NS;

        made_operator(&scene->made, scene->thread,
                      (struct made_event){"aten::mm", at + STEP_NS, at + 4 * STEP_NS}, "", "");
        made_host_event(&scene->made, scene->thread, kind,
                        (struct made_event){name, at + 5 * STEP_NS, at + 6 * STEP_NS});
    }
    return scene_advice(scene);
}

static void a_device_that_is_not_recorded_comes_before_all_prices(void **state)
{
    static const struct {
        enum event_kind kind;
        const char *name;
        bool needs_device;
    } cases[] = {
        {EVENT_RUNTIME_CALL, "cudaLaunchKernel", true},
        {EVENT_RUNTIME_CALL, "hipMemcpyAsync", true},
        {EVENT_ANNOTATION, "nccl:all_reduce", true},
        {EVENT_OPERATOR, "aten::record_stream", true},
        {EVENT_RUNTIME_CALL, "cudaGetDeviceProperties", false},
        {EVENT_ANNOTATION, "gloo:all_reduce", false},
        {EVENT_OPERATOR, "aten::relu", false},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct scene scene;
        const struct section *section = advice_on_host_only(&scene, cases[i].kind, cases[i].name);
        const struct finding *finding = find_advice(section, "unrecorded_work");

        assert_int_equal(finding != NULL, cases[i].needs_device);
        if (finding) {
            assert_ptr_equal(finding->estimate, section->findings[0].estimate);
            assert_int_equal(section->finding_count, 1);
            assert_int_equal(finding->cost_ns, -1);
        } else {
            assert_non_null(find_advice(section, "python_code"));
        }
        made_trace_clear(&scene.made);
    }
}

/* Operators of which every `kept`-th is in the trace. */
static const struct section *advice_on_thinned(struct scene *scene, int64_t kept)
{
    begin_long(scene, 2 * STEP_NS);
    for (int64_t i = 0; i < 200; i++)
        trace_builder_add(&scene->made.builder,
                          &(struct found_event){
                              .start_ns = 3 * STEP_NS + i * US,
                              .duration_ns = US / 2,
                              .sequence_number = NO_ID,
                              .external_id = 7 + i * kept,
                              .name = string_pool_add(&scene->made.builder.strings, "aten::mul", 9),
                              .track = scene->thread,
                              .kind = EVENT_OPERATOR});
    return scene_advice(scene);
}

static void a_thinned_trace_says_so(void **state)
{
    struct scene scene;
    const struct section *section = advice_on_thinned(&scene, 10);

    assert_string_equal(section->findings[0].estimate->id, "unrecorded_work");
    assert_non_null(strstr(section->findings[0].evidence, "1,991, 200"));
    made_trace_clear(&scene.made);
    assert_null(find_advice(advice_on_thinned(&scene, 4), "unrecorded_work")); /* a quarter is there
                                                                                */
    made_trace_clear(&scene.made);
}

/* A collective of NCCL each step, of which the range has a kind; work queued behind it waits. */
static const struct section *advice_on_collective(struct scene *scene, const char *range)
{
    uint32_t other;

    begin_long(scene, 2 * STEP_NS);
    other = made_stream(&scene->made, 0, 20);
    for (int i = 0; i < LONG_STEPS; i++) {
        int64_t at = (int64_t)i * LONG_STEP_NS;

        made_host_event(&scene->made, scene->thread, EVENT_ANNOTATION,
                        (struct made_event){range, at + 10 * US, at + 20 * US});
        made_kernel(
            &scene->made, scene->thread, other,
            (struct made_event){"cudaLaunchKernel", at + 30 * US, at + 40 * US},
            (struct made_event){"ncclKernel_SendRecv_RING", at + 1500 * US, at + 2 * STEP_NS});
        made_kernel(&scene->made, scene->thread, scene->stream,
                    (struct made_event){"cudaLaunchKernel", at + 50 * US, at + 60 * US},
                    (struct made_event){"gemm", at + 7 * STEP_NS, at + 9 * STEP_NS});
    }
    return scene_advice(scene);
}

static void collectives_without_kernels_are_not_recorded(void **state)
{
    struct scene scene;
    const struct section *section = advice_on_collective(&scene, "nccl:all_reduce");

    assert_int_equal(find_advice(section, "unrecorded_work")->cost_ns, 5 * STEP_NS);
    assert_null(find_advice(section, "queued_wait"));
    made_trace_clear(&scene.made);
    section = advice_on_collective(&scene, "nccl:all_to_all");
    assert_null(find_advice(section, "unrecorded_work"));
    assert_int_equal(find_advice(section, "queued_wait")->cost_ns, 5 * STEP_NS);
    made_trace_clear(&scene.made);
}

/* The first work of a stream of its own waits 8 ms, or the same comes in each step. */
static const struct section *advice_on_early_wait(struct scene *scene, int waits)
{
    begin_long(scene, 0);
    for (int i = 0; i < LONG_STEPS; i++) {
        int64_t at = (int64_t)i * LONG_STEP_NS;
        int64_t start_ns = at + (i < waits ? 8 * STEP_NS : 20 * US);

        made_kernel(&scene->made, scene->thread, scene->stream,
                    (struct made_event){"cudaLaunchKernel", at, at + 10 * US},
                    (struct made_event){"gemm", start_ns, at + LONG_STEP_NS});
    }
    return scene_advice(scene);
}

static void what_ran_before_the_recording_is_no_idle_time(void **state)
{
    struct scene scene;
    const struct section *section = advice_on_early_wait(&scene, 1);

    assert_string_equal(section->findings[0].estimate->id, "unrecorded_work");
    assert_null(find_advice(section, "queued_wait"));
    made_trace_clear(&scene.made);
    section = advice_on_early_wait(&scene, LONG_STEPS);
    assert_null(find_advice(section, "unrecorded_work"));
    assert_non_null(find_advice(section, "queued_wait"));
    made_trace_clear(&scene.made);
}

static const struct section *advice_on_host(struct scene *scene, enum event_kind kind,
                                            const char *name, bool launches)
{
    begin_long(scene, 2 * STEP_NS);
    for (int i = 0; i < LONG_STEPS; i++) {
        int64_t at = (int64_t)i * LONG_STEP_NS + 3 * STEP_NS;

        made_host_event(&scene->made, scene->thread, kind,
                        (struct made_event){name, at, at + 4 * STEP_NS});
        if (launches)
            (void)made_call(&scene->made, scene->thread,
                            (struct made_event){"cudaLaunchKernel", at + 10 * US, at + 15 * US});
    }
    return scene_advice(scene);
}

static void the_hosts_own_work_is_told_by_what_it_is(void **state)
{
    static const struct {
        enum event_kind kind;
        const char *name;
        bool launches;
        const char *id;
        const char *other;
    } cases[] = {
        {EVENT_PYTHON_FUNCTION, "transformers/image_transforms.py(390): normalize", false,
         "data_preparation", "launch_bound"},
        {EVENT_PYTHON_FUNCTION, "train.py(390): normalize", false, "python_code",
         "data_preparation"},
        {EVENT_OPERATOR, "aten::mul", false, "host_operators", "launch_bound"},
        {EVENT_OPERATOR, "aten::mul", true, "launch_bound", "host_operators"},
        {EVENT_OPERATOR, "aten::empty", false, "launch_bound", "host_operators"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct scene scene;
        const struct section *section =
            advice_on_host(&scene, cases[i].kind, cases[i].name, cases[i].launches);
        const struct finding *other = find_advice(section, cases[i].other);

        assert_true(find_advice(section, cases[i].id)->cost_ns >= 3900 * US);
        assert_true(!other || other->cost_ns < STEP_NS);
        made_trace_clear(&scene.made);
    }
}

/* Python for 500 µs behind each product, between the calls of a module or not. */
static void python_inside_modules_is_launching(void **state)
{
    for (int in_module = 0; in_module < 2; in_module++) {
        struct scene scene;
        const struct section *section;

        (void)state;
        scene_begin(&scene, STEPS);
        for (int64_t at = 0; at < STEPS * STEP_NS; at += STEP_NS) {
            scene_live(&scene, "gemm", at, at + 400 * US);
            made_host_event(
                &scene.made, scene.thread, EVENT_PYTHON_FUNCTION,
                (struct made_event){in_module ? "nn.Module: Block_0" : "train.py(1): main",
                                    at + 400 * US, at + STEP_NS});
            made_host_event(
                &scene.made, scene.thread, EVENT_PYTHON_FUNCTION,
                (struct made_event){"block.py(7): forward", at + 450 * US, at + 950 * US});
        }
        section = scene_advice(&scene);
        assert_non_null(find_advice(section, in_module ? "launch_bound" : "python_code"));
        assert_null(find_advice(section, in_module ? "python_code" : "launch_bound"));
        made_trace_clear(&scene.made);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_that_is_slow_once_is_a_first_use),
        cmocka_unit_test(a_kernel_is_loaded_when_it_is_first_launched),
        cmocka_unit_test(a_device_that_is_not_recorded_comes_before_all_prices),
        cmocka_unit_test(a_thinned_trace_says_so),
        cmocka_unit_test(collectives_without_kernels_are_not_recorded),
        cmocka_unit_test(what_ran_before_the_recording_is_no_idle_time),
        cmocka_unit_test(the_hosts_own_work_is_told_by_what_it_is),
        cmocka_unit_test(python_inside_modules_is_launching),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
