/* An optimizer that handles one tensor at a time on a CPU: told once, without what a closure does
 * in it. */
#include "support_advice.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { RANGE_AT = 200 * US, OPS = 60 };

static void add_operators(struct scene *scene, const char *const names[2], int64_t from_ns,
                          int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        int64_t at = from_ns + i * 10 * US;

        made_host_event(&scene->made, scene->thread, EVENT_OPERATOR,
                        (struct made_event){names[i % 2], at, at + (i % 2 ? 7 : 5) * US});
    }
}

/* A product of 200 µs, and the optimizer for the rest of each step. */
static void begin_on_processor(struct scene *scene)
{
    scene_begin(scene, STEPS);
    for (int64_t at = 0; at < STEPS * STEP_NS; at += STEP_NS) {
        made_host_event(&scene->made, scene->thread, EVENT_OPERATOR,
                        (struct made_event){"aten::mm", at, at + RANGE_AT});
        made_host_event(
            &scene->made, scene->thread, EVENT_ANNOTATION,
            (struct made_event){"Optimizer.step#AdamW.step", at + RANGE_AT, at + STEP_NS});
    }
}

static const struct section *advice_on_optimizer(struct scene *scene, const char *const names[2])
{
    begin_on_processor(scene);
    for (int64_t at = 0; at < STEPS * STEP_NS; at += STEP_NS)
        add_operators(scene, names, at + RANGE_AT + 10 * US, OPS);
    return scene_advice(scene);
}

static void single_tensors_cost_all_but_the_longest_pass(void **state)
{
    struct scene scene;
    const struct section *section =
        advice_on_optimizer(&scene, (const char *[2]){"aten::mul_", "aten::addcdiv_"});
    const struct finding *finding = find_advice(section, "unfused_optimizer");

    (void)state;
    assert_non_null(finding);
    assert_int_equal(finding->cost_ns, STEP_NS - RANGE_AT - OPS / 2 * 7 * US);
    assert_null(find_advice(section, "annotated_code")); /* the same time, told once */
    made_trace_clear(&scene.made);
}

static void many_tensors_at_once_are_another_matter(void **state)
{
    struct scene scene;
    const struct section *section = advice_on_optimizer(
        &scene, (const char *[2]){"aten::_foreach_mul_", "aten::_fused_adamw_"});

    (void)state;
    assert_null(find_advice(section, "unfused_optimizer"));
    assert_non_null(find_advice(section, "annotated_code"));
    assert_null(strstr(find_advice(section, "annotated_code")->try_this, "fused=True"));
    made_trace_clear(&scene.made);
    section = advice_on_optimizer(&scene, (const char *[2]){"MyAdam", "MyAdam"});
    assert_non_null(strstr(find_advice(section, "annotated_code")->try_this, "fused=True"));
    made_trace_clear(&scene.made);
}

/* 60 operators of a module inside the range, 20 behind it. */
static void a_closure_is_not_the_optimizers(void **state)
{
    static const char *const names[2] = {"aten::mul_", "aten::addcdiv_"};
    struct scene scene;

    (void)state;
    begin_on_processor(&scene);
    for (int64_t at = RANGE_AT; at < STEPS * STEP_NS; at += STEP_NS) {
        made_host_event(&scene.made, scene.thread, EVENT_ANNOTATION,
                        (struct made_event){"nn.Module: Linear_0", at, at + 600 * US});
        add_operators(&scene, names, at, OPS);
        add_operators(&scene, names, at + 600 * US, 20);
    }
    assert_null(find_advice(scene_advice(&scene), "unfused_optimizer"));
    made_trace_clear(&scene.made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(single_tensors_cost_all_but_the_longest_pass),
        cmocka_unit_test(many_tensors_at_once_are_another_matter),
        cmocka_unit_test(a_closure_is_not_the_optimizers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
