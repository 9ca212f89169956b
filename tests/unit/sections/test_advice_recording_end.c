/* What the profiler does is not the program's: where the recording ends, and in calls that it holds
 * up. Each with a trace where it is the program's. */
#include "support_advice.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { LONG_STEP_NS = 4 * STEP_NS };

static void mark_step(struct scene *scene, int number, int64_t start_ns, int64_t end_ns)
{
    char name[32];

    (void)snprintf(name, sizeof name, "ProfilerStep#%d", number);
    made_host_event(&scene->made, scene->thread, EVENT_ANNOTATION,
                    (struct made_event){name, start_ns, end_ns});
}

/* Five busy steps; then `slow` goes on for twice as long again, with nothing recorded. */
static void begin_with_slow_step(struct scene *scene, int slow)
{
    int64_t at = 0;

    scene_begin(scene, 0);
    for (int i = 0; i < 5; i++) {
        int64_t length_ns = i == slow ? 3 * STEP_NS : STEP_NS;

        mark_step(scene, i, at, at + length_ns);
        scene_queued(scene, "gemm", at, at + STEP_NS);
        at += length_ns;
    }
}

static void the_end_of_the_recording_is_no_slow_step(void **state)
{
    struct scene scene;
    const struct section *section;
    const struct finding *finding;

    begin_with_slow_step(&scene, 4);
    made_host_event(
        &scene.made, scene.thread, EVENT_RUNTIME_CALL,
        (struct made_event){"cudaDeviceSynchronize", 7 * STEP_NS + 10 * US, 7 * STEP_NS + 20 * US});
    section = scene_advice(&scene);
    assert_int_equal(section->finding_count, 1);
    finding = find_advice(section, "profiler_overhead");
    assert_non_null(finding);
    assert_int_equal(finding->cost_ns, 2 * STEP_NS / 5);
    assert_non_null(strstr(finding->evidence, "2.000 ms of step 4"));
    made_trace_clear(&scene.made);
}

static void assert_programs_own(struct scene *scene)
{
    const struct section *section = scene_advice(scene);

    assert_null(find_advice(section, "profiler_overhead"));
    assert_non_null(find_advice(section, "step_outliers"));
    assert_non_null(find_advice(section, "python_code"));
    made_trace_clear(&scene->made);
}

static void what_the_program_goes_on_after_is_its_own(void **state)
{
    struct scene scene;

    begin_with_slow_step(&scene, 3);
    assert_programs_own(&scene);
    begin_with_slow_step(&scene, 4);
    made_host_event(&scene.made, scene.thread, EVENT_OPERATOR,
                    (struct made_event){"aten::add", 7 * STEP_NS + 10 * US, 7 * STEP_NS + 20 * US});
    assert_programs_own(&scene);
    begin_with_slow_step(&scene, 4);
    made_host_event(&scene.made, scene.thread, EVENT_PYTHON_FUNCTION,
                    (struct made_event){"train.py(9): save", 5 * STEP_NS, 7 * STEP_NS});
    assert_programs_own(&scene);
}

/* A memset whose call takes 2 ms of each step, on an idle device; `work` goes on meanwhile on
 * another thread. */
static const struct section *advice_on_slow_call(struct scene *scene, const char *work)
{
    uint32_t other;

    scene_begin(scene, 0);
    other = made_thread(&scene->made, "2");
    for (int i = 0; i < STEPS; i++) {
        int64_t at = i * LONG_STEP_NS;

        mark_step(scene, i, at, at + LONG_STEP_NS);
        scene_live(scene, "gemm", at, at + 2 * STEP_NS);
        made_host_event(
            &scene->made, scene->thread, EVENT_RUNTIME_CALL,
            (struct made_event){"cudaMemsetAsync", at + 2 * STEP_NS, at + LONG_STEP_NS});
        if (work)
            made_host_event(&scene->made, other, EVENT_OVERHEAD,
                            (struct made_event){work, at + 2 * STEP_NS, at + LONG_STEP_NS});
    }
    return scene_advice(scene);
}

static void a_call_in_the_profilers_flush_is_the_profilers(void **state)
{
    struct scene scene;
    const struct section *section = advice_on_slow_call(&scene, NULL);

    assert_int_equal(find_advice(section, "slow_calls")->cost_ns, 2 * STEP_NS);
    assert_null(find_advice(section, "profiler_overhead"));
    made_trace_clear(&scene.made);
    section = advice_on_slow_call(&scene, "Command Buffer Full");
    assert_non_null(find_advice(section, "slow_calls"));
    made_trace_clear(&scene.made);
    section = advice_on_slow_call(&scene, "Buffer Flush");
    assert_null(find_advice(section, "slow_calls"));
    assert_null(find_advice(section, "launch_bound"));
    assert_int_equal(find_advice(section, "profiler_overhead")->cost_ns, 2 * STEP_NS);
    made_trace_clear(&scene.made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_end_of_the_recording_is_no_slow_step),
        cmocka_unit_test(what_the_program_goes_on_after_is_its_own),
        cmocka_unit_test(a_call_in_the_profilers_flush_is_the_profilers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
