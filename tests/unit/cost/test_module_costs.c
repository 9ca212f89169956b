/* Modules, phases and costs of small traces made by hand. */
#include "cost/modules/module_costs.h"
#include "support_trace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define BACKWARD "autograd::engine::evaluate_function: "

/* An operator; `shapes` and `sequence` may be missing (NULL, NO_ID). */
static void add_op(struct made_trace *made, uint32_t thread, struct made_event named,
                   const char *shapes, int64_t sequence)
{
    struct string_pool *strings = &made->builder.strings;
    struct event_detail detail = event_detail_none();
    struct found_event event = {.start_ns = named.start_ns,
                                .duration_ns = named.end_ns - named.start_ns,
                                .sequence_number = sequence,
                                .external_id = NO_ID,
                                .track = thread,
                                .kind = EVENT_OPERATOR};

    event.name = string_pool_add(strings, named.name, strlen(named.name));
    if (shapes) {
        detail.input_shapes = string_pool_add(strings, shapes, strlen(shapes));
        event.detail = trace_builder_detail(&made->builder, &detail);
    }
    trace_builder_add(&made->builder, &event);
}

static void add_range(struct made_trace *made, uint32_t thread, struct made_event event)
{
    add_op(made, thread, event, NULL, NO_ID);
}

static void measure(struct module_costs *costs, struct made_trace *made)
{
    static const struct module_cost_options all = {0};

    made_trace_finish(made, WINDOW_CHOICE_WHOLE);
    measure_module_costs(costs, &made->trace, &all);
}

static const struct module_cost *cost_named(const struct module_costs *costs, const char *name)
{
    uint32_t module = module_tree_find(&costs->tree, name);

    assert_int_not_equal(module, NO_MODULE);
    return &costs->modules[module];
}

static const struct module *module_named(const struct module_costs *costs, const char *name)
{
    return &costs->tree.modules[module_tree_find(&costs->tree, name)];
}

/* Net { layers.0 { fc }, head }, its loss and backward. */
static void add_small_net(struct made_trace *made, uint32_t main, uint32_t autograd)
{
    add_range(made, main, (struct made_event){"nn:Net", 0, 1000});
    add_range(made, main, (struct made_event){"nn:layers.0", 100, 500});
    add_range(made, main, (struct made_event){"nn:layers.0.fc", 200, 400});
    add_op(made, main, (struct made_event){"aten::linear", 210, 390}, "[[4, 8], [2, 8]]", 1);
    add_op(made, main, (struct made_event){"aten::addmm", 220, 380}, "[[2], [4, 8], [8, 2]]", 1);
    add_op(made, main, (struct made_event){"aten::copy_", 230, 240}, "[[4, 2], [4, 2]]", NO_ID);
    add_range(made, main, (struct made_event){"nn:head", 600, 800});
    add_op(made, main, (struct made_event){"aten::mm", 610, 790}, "[[4, 2], [2, 3]]", 2);
    add_op(made, main, (struct made_event){"aten::dot", 1100, 1200}, "[[5], [5]]", 3);
    add_range(made, autograd, (struct made_event){"x", 1300, 1301});
    add_op(made, autograd, (struct made_event){BACKWARD "DotBackward0", 1400, 1500}, NULL, 3);
    add_op(made, autograd, (struct made_event){"aten::dot", 1410, 1420}, "[[5], [5]]", NO_ID);
    add_op(made, autograd, (struct made_event){BACKWARD "MmBackward0", 1500, 1600}, NULL, 2);
    add_op(made, autograd, (struct made_event){"aten::mm", 1510, 1530}, "[[2, 4], [4, 3]]", NO_ID);
    add_op(made, autograd, (struct made_event){"aten::mm", 1540, 1560}, "[[4, 3], [3, 2]]", NO_ID);
    add_op(made, autograd, (struct made_event){BACKWARD "AddmmBackward0", 1600, 1700}, NULL, 1);
    add_op(made, autograd, (struct made_event){"aten::mm", 1610, 1640}, "[[8, 4], [4, 2]]", NO_ID);
    add_range(made, main, (struct made_event){"my::op", 2000, 2100});
}

static void modules_form_a_tree(void **state)
{
    struct made_trace made;
    struct module_costs costs = {0};

    made_trace_init(&made);
    add_small_net(&made, made_thread(&made, "1"), made_thread(&made, "2"));
    measure(&costs, &made);
    assert_int_equal(costs.tree.count, 5);
    assert_int_equal(module_named(&costs, "Net")->depth, 0);
    assert_int_equal(module_named(&costs, "layers")->depth, 1);
    assert_false(module_named(&costs, "layers")->is_called);
    assert_int_equal(module_named(&costs, "layers.0.fc")->depth, 3);
    assert_string_equal(module_named(&costs, "layers.0.fc")->own_name, "fc");
    assert_int_equal(module_named(&costs, "head")->depth, 1);
    assert_string_equal(costs.tree.modules[costs.tree.order[0]].name, "Net");
    assert_string_equal(costs.tree.modules[costs.tree.order[4]].name, "head");
    assert_int_equal(module_tree_find(&costs.tree, "tail"), NO_MODULE);
    module_costs_clear(&costs);
    made_trace_clear(&made);
}

/* Without marks the profiler's Python frames are the modules, by how they nest. */
static void frames_are_modules_where_there_are_no_marks(void **state)
{
    static const char *const names[] = {"nn.Module: Net_0", "nn.Module: Block_0", "f.py(3): g",
                                        "nn.Module: Linear_0"};
    struct made_trace made;
    struct module_costs costs = {0};
    uint32_t thread;

    made_trace_init(&made);
    thread = made_thread(&made, "1");
    for (int i = 0; i < 4; i++)
        made_host_event(&made, thread, EVENT_PYTHON_FUNCTION,
                        (struct made_event){names[i], 100 * i, 1000 - 100 * i});
    add_op(&made, thread, (struct made_event){"aten::mm", 400, 500}, "[[4, 2], [2, 3]]", 2);
    measure(&costs, &made);
    assert_true(costs.tree.is_of_frames);
    assert_int_equal(costs.tree.count, 3);
    assert_int_equal(module_named(&costs, "Linear_0")->depth, 2);
    assert_int_equal(module_named(&costs, "Linear_0")->parent,
                     module_tree_find(&costs.tree, "Block_0"));
    assert_int_equal(cost_named(&costs, "Linear_0")->calls, 1);
    assert_int_equal(cost_named(&costs, "Linear_0")->own[PHASE_FORWARD].flops, 48);
    assert_int_equal(cost_named(&costs, "Net_0")->total[PHASE_FORWARD].flops, 48);
    module_costs_clear(&costs);
    made_trace_clear(&made);
}

static void each_flop_has_its_module_and_phase(void **state)
{
    struct made_trace made;
    struct module_costs costs = {0};
    const struct module_cost *cost;

    made_trace_init(&made);
    add_small_net(&made, made_thread(&made, "1"), made_thread(&made, "2"));
    measure(&costs, &made);
    cost = cost_named(&costs, "layers.0.fc");
    assert_int_equal(cost->own[PHASE_FORWARD].flops, 2 * 4 * 8 * 2); /* addmm, not linear too */
    assert_int_equal(cost->own[PHASE_FORWARD].ops, 1);
    assert_int_equal(cost->own[PHASE_BACKWARD].flops, 2 * 8 * 4 * 2);
    assert_int_equal(cost->own[PHASE_BACKWARD].host_ns, 100);
    assert_int_equal(cost->forward_ns, 200);
    assert_int_equal(cost->calls, 1);
    cost = cost_named(&costs, "layers");
    assert_int_equal(cost->own[PHASE_FORWARD].flops, 0);
    assert_int_equal(cost->total[PHASE_FORWARD].flops, 2 * 4 * 8 * 2);
    assert_int_equal(cost->forward_ns, 400); /* not called itself: its child's */
    cost = cost_named(&costs, "Net");
    assert_int_equal(cost->total[PHASE_FORWARD].flops, 128 + 48);
    assert_int_equal(cost->total[PHASE_BACKWARD].flops, 128 + 96);
    assert_int_equal(costs.outside.own[PHASE_FORWARD].flops, 10); /* the loss */
    assert_int_equal(costs.outside.own[PHASE_BACKWARD].flops, 10);
    assert_int_equal(costs.total[PHASE_FORWARD].flops, 128 + 48 + 10);
    assert_true(costs.has_shapes);
    assert_int_equal(costs.uncounted_count, 2); /* my::op and x */
    assert_string_equal(costs.uncounted[0].name, "my::op");
    assert_int_equal(costs.uncounted[0].host_ns, 100);
    module_costs_clear(&costs);
    made_trace_clear(&made);
}

/* The recomputed ops run on the thread of the backward, whose sequence numbers are its own and
 * equal some of the main thread's. */
static void reentrant_recomputation(void **state)
{
    struct made_trace made;
    struct module_costs costs = {0};
    uint32_t main;
    uint32_t autograd;

    made_trace_init(&made);
    main = made_thread(&made, "1");
    autograd = made_thread(&made, "2");
    add_range(&made, main, (struct made_event){"nn:Net", 0, 100});
    add_range(&made, main, (struct made_event){"nn:a", 10, 40});
    add_op(&made, main, (struct made_event){"aten::mm", 20, 30}, "[[1, 1], [1, 1]]", NO_ID);
    add_range(&made, main, (struct made_event){"nn:b", 50, 90});
    add_op(&made, main, (struct made_event){"aten::mm", 60, 80}, "[[1, 2], [2, 1]]", 7);
    add_op(&made, autograd, (struct made_event){BACKWARD "CheckpointFunctionBackward", 200, 400},
           NULL, 5);
    add_range(&made, autograd, (struct made_event){"nn:a", 210, 250});
    add_op(&made, autograd, (struct made_event){"aten::mm", 220, 230}, "[[1, 1], [1, 1]]", 7);
    add_op(&made, autograd, (struct made_event){BACKWARD "MmBackward0", 300, 350}, NULL, 7);
    add_op(&made, autograd, (struct made_event){"aten::mm", 310, 320}, "[[1, 3], [3, 1]]", NO_ID);
    add_op(&made, autograd, (struct made_event){BACKWARD "MmBackward0", 500, 550}, NULL, 7);
    add_op(&made, autograd, (struct made_event){"aten::mm", 510, 520}, "[[1, 4], [4, 1]]", NO_ID);
    measure(&costs, &made);
    assert_int_equal(cost_named(&costs, "a")->own[PHASE_RECOMPUTE].flops, 2);
    assert_int_equal(cost_named(&costs, "a")->own[PHASE_BACKWARD].flops, 6);
    assert_int_equal(cost_named(&costs, "a")->recomputed_calls, 1);
    assert_int_equal(cost_named(&costs, "a")->recompute_ns, 40);
    assert_int_equal(cost_named(&costs, "a")->calls, 1);
    assert_int_equal(cost_named(&costs, "b")->own[PHASE_BACKWARD].flops, 8);
    assert_int_equal(costs.doubtful_count, 0);
    module_costs_clear(&costs);
    made_trace_clear(&made);
}

/* Without reentry the last op of a recomputation breaks off once its inputs are saved; `inner` is
 * what the profiler recorded inside it. */
static int64_t recomputed_flops(const char *inner, const char *node, uint32_t *doubtful)
{
    struct made_trace made;
    struct module_costs costs = {0};
    uint32_t main;
    int64_t flops;

    made_trace_init(&made);
    main = made_thread(&made, "1");
    add_range(&made, main, (struct made_event){"nn:a", 10, 40});
    add_op(&made, main, (struct made_event){"aten::mm", 20, 30}, "[[1, 1], [1, 1]]", 1);
    add_op(&made, main, (struct made_event){"aten::mm", 31, 39}, "[[1, 1], [1, 1]]", 2);
    add_op(&made, main, (struct made_event){node, 200, 400}, NULL, 2);
    add_range(&made, main, (struct made_event){"nn:a", 210, 240});
    add_op(&made, main, (struct made_event){"aten::mm", 220, 230}, "[[1, 1], [1, 1]]", NO_ID);
    add_op(&made, main, (struct made_event){"aten::mm", 231, 239}, "[[1, 1], [1, 1]]", NO_ID);
    add_op(&made, main, (struct made_event){inner, 232, 233}, "[[1, 1]]", NO_ID);
    add_op(&made, main, (struct made_event){"aten::mm", 300, 320}, "[[1, 4], [4, 1]]", NO_ID);
    measure(&costs, &made);
    flops = cost_named(&costs, "a")->own[PHASE_RECOMPUTE].flops;
    assert_int_equal(cost_named(&costs, "a")->own[PHASE_BACKWARD].flops, 8);
    *doubtful = costs.doubtful_count;
    module_costs_clear(&costs);
    made_trace_clear(&made);
    return flops;
}

static void an_op_broken_off_is_doubtful(void **state)
{
    uint32_t doubtful;

    assert_int_equal(recomputed_flops("aten::detach", BACKWARD "MmBackward0", &doubtful), 2);
    assert_int_equal(doubtful, 1);
    /* others ran inside it: it was carried out */
    assert_int_equal(recomputed_flops("aten::resolve_conj", BACKWARD "MmBackward0", &doubtful), 4);
    assert_int_equal(doubtful, 0);
    assert_int_equal(
        recomputed_flops("aten::detach", BACKWARD "CheckpointFunctionBackward", &doubtful), 4);
    assert_int_equal(doubtful, 0);
}

/* Selective checkpointing answers for the first product of the recomputation with what it kept:
 * `inner` is what the mode called, "" for nothing. */
static int64_t selectively_recomputed_flops(const char *inner)
{
    struct made_trace made;
    struct module_costs costs = {0};
    uint32_t main;
    int64_t flops;

    made_trace_init(&made);
    main = made_thread(&made, "1");
    add_range(&made, main, (struct made_event){"nn:a", 10, 40});
    add_op(&made, main, (struct made_event){"aten::mm", 20, 30}, "[[1, 1], [1, 1]]", 1);
    add_op(&made, main, (struct made_event){BACKWARD "MmBackward0", 200, 400}, NULL, 1);
    add_range(&made, main, (struct made_event){"nn:a", 210, 240});
    add_op(&made, main, (struct made_event){"aten::mm", 220, 230}, "[[1, 1], [1, 1]]", 5);
    add_op(&made, main, (struct made_event){"PythonDispatchMode", 222, 229}, "[[1, 1], [1, 1]]",
           NO_ID);
    if (inner[0])
        add_op(&made, main, (struct made_event){inner, 223, 228}, "[[1, 1], [1, 1]]", NO_ID);
    add_op(&made, main, (struct made_event){"aten::mm", 300, 320}, "[[1, 4], [4, 1]]", NO_ID);
    measure(&costs, &made);
    flops = cost_named(&costs, "a")->own[PHASE_RECOMPUTE].flops;
    assert_int_equal(cost_named(&costs, "a")->own[PHASE_BACKWARD].flops, 8);
    assert_int_equal(costs.doubtful_count, 0);
    module_costs_clear(&costs);
    made_trace_clear(&made);
    return flops;
}

static void a_kept_result_is_not_computed_again(void **state)
{
    assert_int_equal(selectively_recomputed_flops(""), 0);
    assert_int_equal(selectively_recomputed_flops("aten::mm"), 2);
}

/* A compiled layer [2, 3] by [3, 5], and its backward: `again` and the gradients asked for. */
struct compiled_case {
    bool again;
    bool of_input;
    bool of_weight;
    bool has_forward;
    const char *shapes; /* of the product; square ones: all gradients are of its own sizes */
};

static struct module_costs compiled_costs(struct made_trace *made, struct compiled_case given)
{
    struct module_costs costs = {0};
    uint32_t main;

    made_trace_init(made);
    main = made_thread(made, "1");
    if (given.has_forward) {
        add_op(made, main, (struct made_event){"CompiledFunction", 10, 40}, NULL, 7);
        add_op(made, main, (struct made_event){"aten::mm", 20, 30}, given.shapes, NO_ID);
    }
    add_op(made, main, (struct made_event){BACKWARD "CompiledFunctionBackward", 100, 200}, NULL, 7);
    add_op(made, main, (struct made_event){"CompiledFunctionBackward", 101, 199}, NULL, 7);
    if (given.again)
        add_op(made, main, (struct made_event){"aten::mm", 110, 120}, given.shapes, NO_ID);
    if (given.of_input)
        add_op(made, main, (struct made_event){"aten::mm", 130, 140}, "[[2, 5], [5, 3]]", NO_ID);
    if (given.of_weight) /* the other way round */
        add_op(made, main, (struct made_event){"aten::mm", 150, 160}, "[[5, 2], [2, 3]]", NO_ID);
    measure(&costs, made);
    return costs;
}

static void compiled_code_computes_again(void **state)
{
    static const struct {
        struct compiled_case given;
        int64_t recomputed, backward, undecided;
    } cases[] = {
        {{true, true, true, true, "[[2, 3], [3, 5]]"}, 60, 120, 0},
        {{false, true, true, true, "[[2, 3], [3, 5]]"}, 0, 120, 0},
        {{true, false, true, true, "[[2, 3], [3, 5]]"}, 60, 60, 0}, /* no gradient is like it */
        {{true, true, true, false, "[[2, 3], [3, 5]]"}, 0, 180, 3},
        /* equal to its gradients in size, which are not there: it may be one of them */
        {{true, false, false, true, "[[2, 2], [2, 2]]"}, 0, 16, 1},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct made_trace made;
        struct module_costs costs = compiled_costs(&made, cases[i].given);

        assert_int_equal(costs.total[PHASE_RECOMPUTE].flops, cases[i].recomputed);
        assert_int_equal(costs.total[PHASE_BACKWARD].flops, cases[i].backward);
        assert_int_equal(costs.undecided_calls, cases[i].undecided);
        module_costs_clear(&costs);
        made_trace_clear(&made);
    }
}

static void device_time_belongs_to_modules(void **state)
{
    struct made_trace made;
    struct module_costs costs = {0};
    uint32_t main;
    uint32_t stream;

    made_trace_init(&made);
    main = made_thread(&made, "1");
    stream = made_stream(&made, 0, 7);
    add_range(&made, main, (struct made_event){"nn:Net", 0, 100});
    add_range(&made, main, (struct made_event){"nn:a", 10, 40});
    add_op(&made, main, (struct made_event){"aten::mm", 15, 35}, "[[1, 1], [1, 1]]", 1);
    made_kernel(&made, main, stream, (struct made_event){"cudaLaunchKernel", 20, 30},
                (struct made_event){"gemm", 50, 70});
    made_kernel(&made, main, stream, (struct made_event){"cudaLaunchKernel", 41, 45},
                (struct made_event){"own kernel", 70, 75});
    add_op(&made, main, (struct made_event){BACKWARD "MmBackward0", 200, 250}, NULL, 1);
    made_kernel(&made, main, stream, (struct made_event){"cudaLaunchKernel", 210, 220},
                (struct made_event){"gemm", 260, 300});
    made_work(&made, stream, EVENT_KERNEL, (struct made_event){"nobody's", 400, 401}, NO_ID, NULL);
    measure(&costs, &made);
    assert_int_equal(cost_named(&costs, "a")->own[PHASE_FORWARD].device_ns, 20);
    assert_int_equal(cost_named(&costs, "a")->own[PHASE_BACKWARD].device_ns, 40);
    assert_int_equal(cost_named(&costs, "Net")->own[PHASE_FORWARD].device_ns, 5);
    assert_int_equal(cost_named(&costs, "Net")->total[PHASE_FORWARD].device_ns, 25);
    assert_int_equal(costs.outside.own[PHASE_FORWARD].device_ns, 1);
    assert_int_equal(costs.device_ns, 66);
    assert_true(costs.has_device);
    module_costs_clear(&costs);
    made_trace_clear(&made);
}

static void only_what_starts_in_a_window_counts(void **state)
{
    static const struct time_window windows[] = {{0, 100}, {200, 300}};
    struct made_trace made;
    struct module_costs costs = {0};
    uint32_t main;

    made_trace_init(&made);
    main = made_thread(&made, "1");
    for (int64_t i = 0; i < 4; i++)
        add_op(&made, main, (struct made_event){"aten::mm", 100 * i + 99, 100 * i + 102},
               "[[1, 1], [1, 1]]", NO_ID);
    made_trace_finish(&made, WINDOW_CHOICE_WHOLE);
    measure_module_costs(&costs, &made.trace,
                         &(struct module_cost_options){.windows = windows, .window_count = 2});
    assert_int_equal(costs.total[PHASE_FORWARD].flops, 2 * 2);
    module_costs_clear(&costs);
    made_trace_clear(&made);
}

/* Names and nestings that no model has must not confuse the tree. */
static const struct uncounted_op *uncounted_named(const struct module_costs *costs,
                                                  const char *name)
{
    for (uint32_t i = 0; i < costs->uncounted_count; i++)
        if (strcmp(costs->uncounted[i].name, name) == 0)
            return &costs->uncounted[i];
    return NULL;
}

/* PyTorch asks a sparse operand for its number of non-zeros; a dense product of the same shapes
 * asks nothing. `product` calls `inner`, which asks. */
static void one_sparse_product(const char *product, const char *inner, const char *question)
{
    struct made_trace made;
    struct module_costs costs = {0};
    uint32_t thread;

    made_trace_init(&made);
    thread = made_thread(&made, "1");
    add_op(&made, thread, (struct made_event){product, 0, 100}, "[[6, 4], [4, 5]]", NO_ID);
    add_op(&made, thread, (struct made_event){inner, 10, 90}, "[[6, 5], [6, 4], [4, 5]]", NO_ID);
    add_op(&made, thread, (struct made_event){question, 20, 30}, "[[6, 4]]", NO_ID);
    add_op(&made, thread, (struct made_event){"aten::zero_", 40, 50}, "[[6, 5]]", NO_ID);
    add_op(&made, thread, (struct made_event){"aten::mm", 200, 300}, "[[6, 4], [4, 5]]", NO_ID);
    measure(&costs, &made);
    assert_int_equal(costs.total[PHASE_FORWARD].flops, 2 * 6 * 4 * 5);
    assert_int_equal(costs.uncounted_count, 1);
    assert_non_null(uncounted_named(&costs, product));
    assert_string_equal(uncounted_named(&costs, product)->why, why_sparse);
    assert_int_equal(uncounted_named(&costs, product)->calls, 1);
    assert_int_equal(uncounted_named(&costs, product)->host_ns, 100);
    assert_true(costs.lacks_products);
    module_costs_clear(&costs);
    made_trace_clear(&made);
}

static void products_of_sparse_operands_are_listed(void **state)
{
    static const char *const asked[] = {"aten::_nnz", "aten::crow_indices", "aten::ccol_indices",
                                        "aten::_indices", "aten::sparse_dim"};
    static const char *const callers[] = {"aten::matmul", "aten::mm", "aten::_sparse_mm"};

    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++)
        for (size_t k = 0; k < sizeof callers / sizeof *callers; k++)
            one_sparse_product(callers[k], "aten::addmm", asked[i]);
}

/* A question outside of any product, and a wrapper of a framework around a dense one. */
static void questions_alone_take_nothing_back(void **state)
{
    struct made_trace made;
    struct module_costs costs = {0};
    uint32_t thread;

    made_trace_init(&made);
    thread = made_thread(&made, "1");
    add_range(&made, thread, (struct made_event){"nn:Net", 0, 1000});
    add_op(&made, thread, (struct made_event){"aten::_nnz", 10, 20}, "[[6, 4]]", NO_ID);
    add_op(&made, thread, (struct made_event){"aten::mm", 200, 300}, "[[6, 4], [4, 5]]", NO_ID);
    measure(&costs, &made);
    assert_int_equal(costs.total[PHASE_FORWARD].flops, 2 * 6 * 4 * 5);
    assert_int_equal(costs.uncounted_count, 0);
    assert_false(costs.lacks_products);
    module_costs_clear(&costs);
    made_trace_clear(&made);
}

/* torch.compile calls each operator with tensors that hold no numbers. */
static void products_of_a_compiler_do_not_count(void **state)
{
    static const char shapes[] = "[[2, 3], [3, 5]]";
    struct made_trace made;
    struct module_costs costs = {0};
    uint32_t thread;

    made_trace_init(&made);
    thread = made_thread(&made, "1");
    add_range(&made, thread, (struct made_event){"ProfilerStep#1", 0, 100});
    add_op(&made, thread, (struct made_event){"dynamo", 5, 50}, NULL, NO_ID);
    add_op(&made, thread, (struct made_event){"_compile.compile_inner (dynamo_timed)", 10, 49},
           NULL, NO_ID);
    add_op(&made, thread, (struct made_event){"aten::mm", 20, 30}, shapes, NO_ID);
    add_op(&made, thread, (struct made_event){"aten::mm", 50, 60}, shapes, NO_ID);
    measure(&costs, &made);
    assert_int_equal(costs.total[PHASE_FORWARD].flops, 2 * 2 * 3 * 5);
    module_costs_clear(&costs);
    made_trace_clear(&made);
}

/* On a processor nothing tells whether compiled code holds products (as that of flex_attention). */
static void flops_beside_compiled_code_are_at_least(void **state)
{
    struct made_trace made;
    struct module_costs costs = {0};
    uint32_t thread;

    made_trace_init(&made);
    thread = made_thread(&made, "1");
    add_op(&made, thread, (struct made_event){"aten::mm", 0, 100}, "[[6, 4], [4, 5]]", NO_ID);
    made_host_event(&made, thread, EVENT_ANNOTATION,
                    (struct made_event){"## Call CompiledFxGraph fabc ##", 200, 300});
    measure(&costs, &made);
    assert_int_equal(costs.total[PHASE_FORWARD].flops, 2 * 6 * 4 * 5);
    assert_true(costs.lacks_products);
    module_costs_clear(&costs);
    made_trace_clear(&made);
}

/* Forward and backward in a closure, with pauses of 100 ns between: those are no optimizer's. */
static void pauses_of_a_closure_are_no_optimizers(void **state)
{
    struct made_trace made;
    struct module_costs costs = {0};
    uint32_t thread;

    made_trace_init(&made);
    thread = made_thread(&made, "1");
    made_host_event(&made, thread, EVENT_ANNOTATION,
                    (struct made_event){"Optimizer.step#AdamW.step", 0, 1000});
    add_range(&made, thread, (struct made_event){"nn:Net", 100, 300});
    add_op(&made, thread, (struct made_event){"aten::mm", 100, 300}, "[[6, 4], [4, 5]]", 1);
    add_op(&made, thread, (struct made_event){BACKWARD "MmBackward0", 400, 500}, NULL, 1);
    add_op(&made, thread, (struct made_event){"aten::_fused_adamw_", 800, 900}, NULL, NO_ID);
    measure(&costs, &made);
    assert_int_equal(costs.total[PHASE_OPTIMIZER].host_ns, 100 + 500);
    assert_int_equal(costs.total[PHASE_FORWARD].host_ns, 200 + 100);
    assert_int_equal(costs.total[PHASE_BACKWARD].host_ns, 100);
    module_costs_clear(&costs);
    made_trace_clear(&made);
}

static void odd_marks(void **state)
{
    static const struct made_event marks[] = {
        {"nn:a", 0, 100},     {"nn:b", 10, 90},   {"nn:a", 20, 80},     {"nn:b", 200, 300},
        {"nn:a", 210, 290},   {"nn:", 310, 320},  {"nn:.", 330, 340},   {"nn:..c.", 350, 360},
        {"nn:a", 400, 450},   {"nn:a", 440, 500}, {"nn:a.b", 600, 700}, {"nn:a.b.a", 610, 690},
        {"nn:x.y", 800, 900}, {"nn:x", 810, 890},
    };
    struct made_trace made;
    struct module_costs costs = {0};
    uint32_t main;

    made_trace_init(&made);
    main = made_thread(&made, "1");
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++)
        add_range(&made, main, marks[i]);
    measure(&costs, &made);
    assert_int_equal(module_named(&costs, "b")->depth, 1);
    assert_int_equal(cost_named(&costs, "a")->calls, 4); /* the inner a of the first is no call */
    assert_int_equal(module_tree_find(&costs.tree, ""), NO_MODULE);
    assert_int_equal(module_named(&costs, "x.y")->depth, 1);
    module_costs_clear(&costs);
    made_trace_clear(&made);
}

static void an_empty_trace(void **state)
{
    struct made_trace made;
    struct module_costs costs = {0};

    made_trace_init(&made);
    measure(&costs, &made);
    assert_int_equal(costs.tree.count, 0);
    assert_int_equal(costs.total[PHASE_FORWARD].flops, 0);
    assert_false(costs.has_shapes);
    module_costs_clear(&costs);
    made_trace_clear(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(modules_form_a_tree),
        cmocka_unit_test(frames_are_modules_where_there_are_no_marks),
        cmocka_unit_test(each_flop_has_its_module_and_phase),
        cmocka_unit_test(reentrant_recomputation),
        cmocka_unit_test(an_op_broken_off_is_doubtful),
        cmocka_unit_test(a_kept_result_is_not_computed_again),
        cmocka_unit_test(compiled_code_computes_again),
        cmocka_unit_test(device_time_belongs_to_modules),
        cmocka_unit_test(only_what_starts_in_a_window_counts),
        cmocka_unit_test(products_of_sparse_operands_are_listed),
        cmocka_unit_test(questions_alone_take_nothing_back),
        cmocka_unit_test(products_of_a_compiler_do_not_count),
        cmocka_unit_test(flops_beside_compiled_code_are_at_least),
        cmocka_unit_test(pauses_of_a_closure_are_no_optimizers),
        cmocka_unit_test(odd_marks),
        cmocka_unit_test(an_empty_trace),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
