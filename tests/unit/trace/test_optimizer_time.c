/* A closure inside Optimizer.step is not the optimizer's time. */
#include "support_trace.h"
#include "trace/optimizer_time.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define NODE "autograd::engine::evaluate_function: MmBackward0"

static uint32_t begin(struct made_trace *made)
{
    uint32_t thread;

    made_trace_init(made);
    thread = made_thread(made, "1");
    made_host_event(made, thread, EVENT_ANNOTATION,
                    (struct made_event){"Optimizer.step#AdamW.step", 100, 1000});
    return thread;
}

/* Whether each of the ten tenths of [0, 1000) is the optimizer's, as 0 and 1. */
static void assert_tenths(struct made_trace *made, const char *tenths)
{
    struct optimizer_time time = {0};

    find_optimizer_time(&time, &made->trace);
    for (int i = 0; i < 10; i++)
        if (is_optimizer_time(&time, 0, 100 * i + 50) != (tenths[i] == '1'))
            fail_msg("%d00 ns: not as in %s", i, tenths);
    optimizer_time_clear(&time);
}

static void a_range_without_a_closure_is_all_the_optimizers(void **state)
{
    struct made_trace made;
    uint32_t thread = begin(&made);

    (void)state;
    made_host_event(&made, thread, EVENT_OPERATOR, (struct made_event){NODE, 10, 90});
    made_numbered_operator(&made, thread, (struct made_event){"aten::add_", 200, 300}, 7);
    made_trace_finish(&made, WINDOW_CHOICE_WHOLE);
    assert_tenths(&made, "0111111111");
    made_trace_clear(&made);
}

/* Adam: the closure comes first. */
static void forward_and_backward_of_a_closure_are_not(void **state)
{
    struct made_trace made;
    uint32_t thread = begin(&made);

    (void)state;
    made_numbered_operator(&made, thread, (struct made_event){"aten::mm", 200, 300}, 7);
    made_host_event(&made, thread, EVENT_OPERATOR, (struct made_event){"aten::item", 320, 330});
    made_host_event(&made, thread, EVENT_OPERATOR, (struct made_event){NODE, 400, 600});
    made_host_event(&made, thread, EVENT_OPERATOR, (struct made_event){"aten::add_", 700, 800});
    made_trace_finish(&made, WINDOW_CHOICE_WHOLE);
    assert_tenths(&made, "0100001111");
    made_trace_clear(&made);
}

/* LBFGS: closure, update, closure. The backward runs on a thread of its own, as on a GPU. */
static void what_lies_between_two_closures_is_the_optimizers(void **state)
{
    struct made_trace made;
    uint32_t thread = begin(&made);
    uint32_t other = made_thread(&made, "2");

    (void)state;
    made_numbered_operator(&made, thread, (struct made_event){"aten::mm", 200, 210}, 7);
    made_host_event(&made, other, EVENT_OPERATOR, (struct made_event){NODE, 300, 400});
    made_host_event(&made, thread, EVENT_OPERATOR, (struct made_event){"aten::mul", 400, 410});
    made_numbered_operator(&made, thread, (struct made_event){"aten::mm", 600, 610}, 8);
    made_host_event(&made, other, EVENT_OPERATOR, (struct made_event){NODE, 700, 800});
    made_host_event(&made, thread, EVENT_OPERATOR, (struct made_event){"aten::mul", 900, 910});
    made_trace_finish(&made, WINDOW_CHOICE_WHOLE);
    assert_tenths(&made, "0100110011");
    made_trace_clear(&made);
}

/* The forward of a module needs no number, and no backward: a closure under no_grad. */
static void the_forward_of_a_module_is_not(void **state)
{
    struct made_trace made;
    uint32_t thread = begin(&made);

    (void)state;
    made_host_event(&made, thread, EVENT_PYTHON_FUNCTION,
                    (struct made_event){"nn.Module: Net_0", 300, 500});
    made_host_event(&made, thread, EVENT_OPERATOR, (struct made_event){"aten::mm", 310, 490});
    made_host_event(&made, thread, EVENT_OPERATOR, (struct made_event){"aten::mul", 500, 510});
    made_trace_finish(&made, WINDOW_CHOICE_WHOLE);
    assert_tenths(&made, "0110011111");
    made_trace_clear(&made);
}

/* In the ledger's classes and the phases of modules, by device and by CPU alike. */
static void kernels_and_phases_follow(void **state)
{
    struct made_trace made;
    uint32_t thread = begin(&made);
    uint32_t stream = made_stream(&made, 0, 7);

    (void)state;
    made_numbered_operator(&made, thread, (struct made_event){"aten::gelu", 200, 260}, 7);
    made_kernel(&made, thread, stream, (struct made_event){"cudaLaunchKernel", 210, 220},
                (struct made_event){"vectorized_elementwise_kernel", 230, 240});
    made_host_event(&made, thread, EVENT_OPERATOR, (struct made_event){NODE, 400, 600});
    made_host_event(&made, thread, EVENT_OPERATOR, (struct made_event){"aten::add_", 700, 800});
    made_kernel(&made, thread, stream, (struct made_event){"cudaLaunchKernel", 710, 720},
                (struct made_event){"vectorized_elementwise_kernel", 730, 740});
    made_trace_finish(&made, WINDOW_CHOICE_WHOLE);
    (void)made_input(&made, &(struct analysis_options){0});
    assert_int_equal(made.ledger.classes[0], KERNEL_ELEMENTWISE);
    assert_int_equal(made.ledger.classes[1], KERNEL_OPTIMIZER);
    for (uint32_t i = 0; i < made.trace.host_count; i++) {
        enum training_phase phase = (enum training_phase)made.costs.contexts.phases[i];
        const char *name = trace_text(&made.trace, made.trace.host[i].name);

        if (strcmp(name, "aten::gelu") == 0)
            assert_int_equal(phase, PHASE_FORWARD);
        if (strcmp(name, "aten::add_") == 0)
            assert_int_equal(phase, PHASE_OPTIMIZER);
        if (strcmp(name, NODE) == 0)
            assert_int_equal(phase, PHASE_BACKWARD);
    }
    made_trace_clear(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_range_without_a_closure_is_all_the_optimizers),
        cmocka_unit_test(forward_and_backward_of_a_closure_are_not),
        cmocka_unit_test(what_lies_between_two_closures_is_the_optimizers),
        cmocka_unit_test(the_forward_of_a_module_is_not),
        cmocka_unit_test(kernels_and_phases_follow),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
