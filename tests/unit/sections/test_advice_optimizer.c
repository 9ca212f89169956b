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
static void begin_with(struct scene *scene, const char *range)
{
    scene_begin(scene, STEPS);
    for (int64_t at = 0; at < STEPS * STEP_NS; at += STEP_NS) {
        made_host_event(&scene->made, scene->thread, EVENT_OPERATOR,
                        (struct made_event){"aten::mm", at, at + RANGE_AT});
        made_host_event(&scene->made, scene->thread, EVENT_ANNOTATION,
                        (struct made_event){range, at + RANGE_AT, at + STEP_NS});
    }
}

static void begin_on_processor(struct scene *scene)
{
    begin_with(scene, "Optimizer.step#AdamW.step");
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

    assert_null(find_advice(section, "unfused_optimizer"));
    assert_non_null(find_advice(section, "annotated_code"));
    assert_null(strstr(find_advice(section, "annotated_code")->try_this, "fused=True"));
    made_trace_clear(&scene.made);
    section = advice_on_optimizer(&scene, (const char *[2]){"MyAdam", "MyAdam"});
    assert_non_null(strstr(find_advice(section, "annotated_code")->try_this, "fused=True"));
    made_trace_clear(&scene.made);
}

static void a_graph_that_xla_updates_is_no_code_of_the_program(void **state)
{
    struct scene scene;

    (void)state;
    begin_with(&scene, "command_buffer::update");
    assert_non_null(
        strstr(find_advice(scene_advice(&scene), "annotated_code")->try_this, "donate_argnums"));
    made_trace_clear(&scene.made);
    begin_with(&scene, "evaluate");
    assert_non_null(
        strstr(find_advice(scene_advice(&scene), "annotated_code")->try_this, "evaluation"));
    made_trace_clear(&scene.made);
}

/* 60 operators of a module inside the range, 20 behind it. */
static void a_closure_is_not_the_optimizers(void **state)
{
    static const char *const names[2] = {"aten::mul_", "aten::addcdiv_"};
    struct scene scene;

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

static void only_options_that_there_are(void **state)
{
    static const struct {
        const char *range;
        const char *says; /* NULL: no such finding */
    } cases[] = {{"Optimizer.step#SGD.step", "torch.optim's fused=True"},
                 {"Optimizer.step#RMSprop.step", "this optimizer has no fused=True"},
                 {"Optimizer.step#Adamax.step", "this optimizer has no fused=True"},
                 {"Optimizer.step#MyAdam.step", "on a CPU for Adam, AdamW, SGD and Adagrad"},
                 {"Optimizer.step#LBFGS.step", NULL},
                 {"Optimizer.step#Muon.step", NULL},
                 {"Optimizer.step#SparseAdam.step", NULL}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct finding *finding;
        const struct section *section;
        struct scene scene;

        begin_with(&scene, cases[i].range);
        for (int64_t at = 0; at < STEPS * STEP_NS; at += STEP_NS)
            add_operators(&scene, (const char *[2]){"aten::mul_", "aten::addcdiv_"},
                          at + RANGE_AT + 10 * US, OPS);
        section = scene_advice(&scene);
        finding = find_advice(section, "unfused_optimizer");
        if (cases[i].says) {
            assert_non_null(finding);
            assert_non_null(strstr(finding->try_this, cases[i].says));
        } else {
            assert_null(finding);
            finding = find_advice(section, "annotated_code");
            assert_non_null(finding);
            assert_non_null(strstr(finding->try_this, "has no fused=True and no foreach=True"));
        }
        made_trace_clear(&scene.made);
    }
}

/* A closure's backward: what Python does between its operators is no optimizer's time. */
static void pauses_of_a_closure_are_not_the_optimizers(void **state)
{
    static const char *const names[2] = {"aten::mul_", "aten::addcdiv_"};
    const struct section *section;
    struct scene scene;

    begin_on_processor(&scene);
    for (int64_t at = RANGE_AT; at < STEPS * STEP_NS; at += STEP_NS) {
        made_host_event(&scene.made, scene.thread, EVENT_ANNOTATION,
                        (struct made_event){"nn.Module: Linear_0", at, at + 1 * US});
        made_numbered_operator(&scene.made, scene.thread,
                               (struct made_event){"aten::relu", at + 2 * US, at + 5 * US}, 1);
        add_operators(&scene, names, at + 300 * US, 10);
        made_host_event(&scene.made, scene.thread, EVENT_OPERATOR,
                        (struct made_event){"autograd::engine::evaluate_function: ReluBackward0",
                                            at + 690 * US, at + 700 * US});
        add_operators(&scene, names, at + 700 * US, 9);
    }
    section = scene_advice(&scene);
    assert_null(find_advice(section, "unfused_optimizer"));
    if (find_advice(section, "annotated_code"))
        assert_true(find_advice(section, "annotated_code")->cost_ns < 100 * US);
    made_trace_clear(&scene.made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(single_tensors_cost_all_but_the_longest_pass),
        cmocka_unit_test(many_tensors_at_once_are_another_matter),
        cmocka_unit_test(a_graph_that_xla_updates_is_no_code_of_the_program),
        cmocka_unit_test(a_closure_is_not_the_optimizers),
        cmocka_unit_test(only_options_that_there_are),
        cmocka_unit_test(pauses_of_a_closure_are_not_the_optimizers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
