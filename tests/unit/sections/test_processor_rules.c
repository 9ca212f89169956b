/* Time without a core, by what the recorder notes of each step: asleep, or waiting for one. */
#include "support_advice.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { PRODUCT_NS = 200 * US, NUMBERS = 10, SLOW = 2, SLOW_STEPS = 3 };

/* Of each step; cpu_ns -1: the recorder noted nothing. */
struct used_time {
    int64_t cpu_ns;
    int64_t waited_ns;
    int64_t voluntary;
    int64_t involuntary;
    int64_t wall_ns;
    int64_t others_ns; /* CPU time of other threads */
};

/* `slow_ns`: what step SLOW waited beyond the others. */
static void describe(struct made_trace *made, const struct used_time *used, int64_t slow_ns)
{
    char text[8192] = "{\"recorded\": [{\"steps\": [";
    size_t length = strlen(text);
    struct error error = {0};

    for (int number = 0; number < NUMBERS; number++) {
        int64_t waited_ns = used->waited_ns + (number == SLOW ? slow_ns : 0);

        length += (size_t)snprintf(
            text + length, sizeof text - length,
            "%s{\"step\": %d, \"processor\": {\"wall_ns\": %lld, \"thread_cpu_ns\": %lld, "
            "\"process_cpu_ns\": %lld, \"thread_waited_ns\": %lld, \"process_waited_ns\": %lld, "
            "\"voluntary_switches\": %lld, \"involuntary_switches\": %lld}}",
            number ? ", " : "", number, (long long)used->wall_ns, (long long)used->cpu_ns,
            (long long)(used->cpu_ns + used->others_ns), (long long)waited_ns, (long long)waited_ns,
            (long long)used->voluntary, (long long)used->involuntary);
    }
    length += (size_t)snprintf(text + length, sizeof text - length, "]}]}");
    assert_true(model_description_parse(&made->description, "capture.json", text, length, &error));
}

/* A product at the start of each step, and nothing recorded for the rest of it. */
static const struct section *advice_with(struct scene *scene, const struct used_time *used)
{
    scene_begin(scene, STEPS);
    for (int64_t at = 0; at < STEPS * STEP_NS; at += STEP_NS)
        made_host_event(&scene->made, scene->thread, EVENT_OPERATOR,
                        (struct made_event){"aten::mm", at, at + PRODUCT_NS});
    if (used)
        describe(&scene->made, used, 0);
    return scene_advice(scene);
}

static int64_t cost_of(const struct section *section, const char *id)
{
    const struct finding *finding = find_advice(section, id);

    return finding ? finding->cost_ns : 0;
}

static void check(const struct used_time *used, int64_t sleeping_ns, int64_t shared_ns,
                  int64_t python_ns)
{
    struct scene scene;
    const struct section *section = advice_with(&scene, used);

    assert_int_equal(cost_of(section, "sleeping"), sleeping_ns);
    assert_int_equal(cost_of(section, "shared_machine"), shared_ns);
    assert_int_equal(cost_of(section, "python_code"), python_ns);
    model_description_clear(&scene.made.description);
    made_trace_clear(&scene.made);
}

static void what_no_cpu_time_covers_is_sleep(void **state)
{
    check(&(struct used_time){PRODUCT_NS, 0, 2, 0, STEP_NS, 0}, STEP_NS - 2 * PRODUCT_NS, 0,
          PRODUCT_NS);
}

static void python_uses_the_processor(void **state)
{
    check(&(struct used_time){STEP_NS, 0, 0, 3, STEP_NS, 0}, 0, 0, STEP_NS - PRODUCT_NS);
    check(NULL, 0, 0, STEP_NS - PRODUCT_NS);
}

/* 300 µs of CPU time, and 700 µs in which others had the core: at least 500 µs of these are where
 * nothing is recorded. */
static void others_have_the_core(void **state)
{
    check(&(struct used_time){300 * US, 700 * US, 0, 5, STEP_NS, 0}, 0, 700 * US, 300 * US);
}

/* Many short waits may be those for other threads of an operator: only what CPU time cannot cover
 * is sleep for sure. */
static void short_blocks_may_be_an_operators(void **state)
{
    check(&(struct used_time){700 * US, 0, 100, 0, STEP_NS, 0}, 100 * US, 0, 700 * US);
}

/* One wait of 1 ms (the recorder's step is a little longer than the trace's): it lies where nothing
 * is recorded. */
static void a_long_block_lies_outside_of_operators(void **state)
{
    check(&(struct used_time){PRODUCT_NS, 0, 1, 0, STEP_NS + PRODUCT_NS, 0}, STEP_NS - PRODUCT_NS,
          0, 0);
}

/* 800 µs in which other threads worked: the thread may have waited for them in the product. */
static void waits_for_other_threads_are_no_sleep(void **state)
{
    check(&(struct used_time){STEP_NS - PRODUCT_NS, 0, 1, 0, 3 * STEP_NS, 3 * STEP_NS}, 0, 0,
          STEP_NS - PRODUCT_NS);
}

static void what_is_not_known_is_not_said(void **state)
{
    check(&(struct used_time){-1, -1, -1, -1, STEP_NS, 0}, 0, 0, STEP_NS - PRODUCT_NS);
}

/* Step SLOW takes as long as three, in which the thread waits for a core for `slow_ns`. */
static bool is_slow_step_told(int64_t slow_ns)
{
    struct scene scene;
    bool is_told;

    scene_begin(&scene, 0);
    for (int64_t i = 0, at = 0; i < 2 * STEPS; i++) {
        int64_t end = at + (i == SLOW ? SLOW_STEPS : 1) * STEP_NS;
        char name[32];

        (void)snprintf(name, sizeof name, "ProfilerStep#%d", (int)i);
        made_host_event(&scene.made, scene.thread, EVENT_ANNOTATION,
                        (struct made_event){name, at, end});
        made_host_event(&scene.made, scene.thread, EVENT_OPERATOR,
                        (struct made_event){"aten::mm", at, end});
        at = end;
    }
    describe(&scene.made, &(struct used_time){STEP_NS, 0, 0, 3, STEP_NS, 0}, slow_ns);
    is_told = find_advice(scene_advice(&scene), "step_outliers") != NULL;
    model_description_clear(&scene.made.description);
    made_trace_clear(&scene.made);
    return is_told;
}

static void a_step_that_waits_for_a_core_is_no_slow_step(void **state)
{
    assert_true(is_slow_step_told(0));
    assert_false(is_slow_step_told((SLOW_STEPS - 1) * STEP_NS));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_no_cpu_time_covers_is_sleep),
        cmocka_unit_test(python_uses_the_processor),
        cmocka_unit_test(others_have_the_core),
        cmocka_unit_test(short_blocks_may_be_an_operators),
        cmocka_unit_test(a_long_block_lies_outside_of_operators),
        cmocka_unit_test(waits_for_other_threads_are_no_sleep),
        cmocka_unit_test(what_is_not_known_is_not_said),
        cmocka_unit_test(a_step_that_waits_for_a_core_is_no_slow_step),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
