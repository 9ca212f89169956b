/* Convolutions of traces that have shapes and no values, as PyTorch wrote them until 1.12. */
#include "cost/modules/module_costs.h"
#include "support_trace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { FORWARD_FLOPS = 2 * 2 * 4 * 4 * (4 * 3 * 3 * 3) };

static const char forward_shapes[] = "[[2, 3, 8, 8], [4, 3, 3, 3], []]";

static void add_op(struct made_trace *made, struct made_event named, const char *shapes,
                   int64_t sequence_number)
{
    struct string_pool *strings = &made->builder.strings;
    struct event_detail detail = event_detail_none();
    struct found_event event = {.start_ns = named.start_ns,
                                .duration_ns = named.end_ns - named.start_ns,
                                .sequence_number = sequence_number,
                                .external_id = NO_ID,
                                .track = made_thread(made, "1"),
                                .kind = EVENT_OPERATOR};

    event.name = string_pool_add(strings, named.name, strlen(named.name));
    detail.input_shapes = string_pool_add(strings, shapes, strlen(shapes));
    event.detail = trace_builder_detail(&made->builder, &detail);
    trace_builder_add(&made->builder, &event);
}

static void add_backward(struct made_trace *made, int64_t start_ns, const char *gradient,
                         int64_t sequence_number)
{
    add_op(made, (struct made_event){"CudnnConvolutionBackward", start_ns, start_ns + 90}, gradient,
           sequence_number);
    add_op(made,
           (struct made_event){"aten::cudnn_convolution_backward", start_ns + 1, start_ns + 80},
           "[[2, 3, 8, 8], [2, 4, 4, 4], [4, 3, 3, 3]]", NO_ID);
    add_op(
        made,
        (struct made_event){"aten::cudnn_convolution_backward_weight", start_ns + 2, start_ns + 40},
        "[[], [2, 4, 4, 4], [2, 3, 8, 8]]", NO_ID);
}

static void measure(struct module_costs *costs, struct made_trace *made)
{
    static const struct module_cost_options all = {0};

    made_trace_finish(made, WINDOW_CHOICE_WHOLE);
    measure_module_costs(costs, &made->trace, &all);
}

static void the_backward_tells_the_size_of_the_forward(void **state)
{
    struct made_trace made;
    struct module_costs costs = {0};

    made_trace_init(&made);
    add_op(&made, (struct made_event){"aten::cudnn_convolution", 0, 100}, forward_shapes, 7);
    add_backward(&made, 200, "[[2, 4, 4, 4]]", 7);
    measure(&costs, &made);
    assert_int_equal(costs.total[PHASE_FORWARD].flops, FORWARD_FLOPS);
    assert_int_equal(costs.total[PHASE_BACKWARD].flops, FORWARD_FLOPS);
    assert_int_equal(costs.uncounted_count, 0);
    module_costs_clear(&costs);
    made_trace_clear(&made);
}

static void another_number_tells_nothing(void **state)
{
    struct made_trace made;
    struct module_costs costs = {0};

    made_trace_init(&made);
    add_op(&made, (struct made_event){"aten::cudnn_convolution", 0, 100}, forward_shapes, 6);
    add_backward(&made, 200, "[[2, 4, 4, 4]]", 7);
    measure(&costs, &made);
    assert_int_equal(costs.total[PHASE_FORWARD].flops, 0);
    assert_int_equal(costs.uncounted_count, 1);
    module_costs_clear(&costs);
    made_trace_clear(&made);
}

static void nodes_that_disagree_tell_nothing(void **state)
{
    struct made_trace made;
    struct module_costs costs = {0};

    made_trace_init(&made);
    add_op(&made, (struct made_event){"aten::cudnn_convolution", 0, 100}, forward_shapes, 7);
    add_backward(&made, 200, "[[2, 4, 4, 4]]", 7);
    add_backward(&made, 300, "[[2, 4, 6, 6]]", 7);
    measure(&costs, &made);
    assert_int_equal(costs.total[PHASE_FORWARD].flops, 0);
    module_costs_clear(&costs);
    made_trace_clear(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_backward_tells_the_size_of_the_forward),
        cmocka_unit_test(another_number_tells_nothing),
        cmocka_unit_test(nodes_that_disagree_tell_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
