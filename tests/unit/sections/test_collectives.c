/* Collectives: what a trace tells of them, and their bandwidths. */
#include "ledger/collective_call.h"
#include "support_trace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

extern const struct analysis collectives_analysis;

static void names_tell_the_kind(void **state)
{
    const struct {
        const char *name;
        enum collective_kind kind;
    } cases[] = {
        {"ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
         COLLECTIVE_ALL_REDUCE},
        {"ncclKernel_AllGather_RING_LL_Sum_int8_t(ncclWorkElem)", COLLECTIVE_ALL_GATHER},
        {"ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL", COLLECTIVE_REDUCE_SCATTER},
        {"ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclWorkElem)", COLLECTIVE_SEND_RECEIVE},
        {"ncclDevKernel_Reduce_Sum_f32_RING_LL", COLLECTIVE_REDUCE},
        {"_allgather_base", COLLECTIVE_ALL_GATHER},
        {"nccl:_reduce_scatter_base", COLLECTIVE_REDUCE_SCATTER},
        {"nccl:all_to_all", COLLECTIVE_ALL_TO_ALL},
        {"c10d::alltoall_base_", COLLECTIVE_ALL_TO_ALL},
        {"recv", COLLECTIVE_SEND_RECEIVE},
        {"multimem_all_reduce_kernel", COLLECTIVE_ALL_REDUCE},
        {"void deep_ep::intranode::notify(int)", COLLECTIVE_OTHER},
        {"", COLLECTIVE_OTHER},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(collective_kind_key(collective_kind_of_name(cases[i].name)),
                            collective_kind_key(cases[i].kind));
}

static void shapes_tell_the_elements(void **state)
{
    uint32_t index = 99;

    assert_int_equal(largest_tensor("[[768], [3392], [], [], [], []]", &index), 3392);
    assert_int_equal(index, 1);
    assert_int_equal(largest_tensor("[[8192, 64], [65536, 64], [], []]", &index), 65536 * 64);
    assert_int_equal(index, 1);
    assert_int_equal(largest_tensor("[[[4, 5], [6]], [], [3]]", &index), 26); /* a list of tensors
                                                                               */
    assert_int_equal(index, 0);
    assert_int_equal(largest_tensor("[[], []]", &index), -1);
    assert_int_equal(largest_tensor("", &index), -1);
    assert_int_equal(largest_tensor("[[99999999999, 99999999999]]", &index), -1); /* beyond 64 bits
                                                                                   */
    assert_int_equal(largest_tensor("[[99999999999999999999999]]", &index), -1);
    assert_int_equal(largest_tensor("]]]][[", &index), -1);
}

static void bus_factors_are_those_of_nccl_tests(void **state)
{
    assert_true(is_close(collective_bus_factor(COLLECTIVE_ALL_REDUCE, 8), 1.75));
    assert_true(is_close(collective_bus_factor(COLLECTIVE_ALL_GATHER, 8), 0.875));
    assert_true(is_close(collective_bus_factor(COLLECTIVE_REDUCE_SCATTER, 2), 0.5));
    assert_true(is_close(collective_bus_factor(COLLECTIVE_ALL_TO_ALL, 4), 0.75));
    assert_true(is_close(collective_bus_factor(COLLECTIVE_BROADCAST, 8), 1));
    assert_true(is_close(collective_bus_factor(COLLECTIVE_OTHER, 8), 0));
}

static void metadata_of_the_kernel_tell_everything(void **state)
{
    struct made_trace made;
    struct event_detail detail = event_detail_none();
    uint32_t stream;
    const struct table *table;

    made_trace_init(&made);
    stream = made_stream(&made, 0, 20);
    detail.collective_name = string_pool_add(&made.builder.strings, "_allgather_base", 15);
    detail.element_type = string_pool_add(&made.builder.strings, "BFloat16", 8);
    detail.in_elements = 1000;
    detail.out_elements = 8000;
    detail.group_size = 8;
    made_work(&made, stream, EVENT_KERNEL, (struct made_event){"ncclDevKernel_AllGather", 0, 1000},
              NO_ID, &detail);
    made_work(&made, stream, EVENT_KERNEL,
              (struct made_event){"ncclDevKernel_AllGather", 1000, 4000}, NO_ID, &detail);
    detail.out_elements = 80000; /* another size: another row */
    made_work(&made, stream, EVENT_KERNEL,
              (struct made_event){"ncclDevKernel_AllGather", 5000, 6000}, NO_ID, &detail);
    made_trace_finish(&made, WINDOW_CHOICE_WHOLE);
    table = section_table(made_section(&made, &collectives_analysis), "by_kind");
    assert_int_equal(table->row_count, 2);
    assert_string_equal(table_cell_at(table, 0, "collective").text, "all-gather");
    assert_int_equal(table_cell_at(table, 0, "count").integer, 2);
    assert_int_equal(table_cell_at(table, 0, "group_size").integer, 8);
    assert_string_equal(table_cell_at(table, 0, "element_type").text, "bfloat16");
    assert_int_equal(table_cell_at(table, 0, "message").integer, 16000);
    assert_int_equal(table_cell_at(table, 0, "bytes").integer, 32000);
    assert_true(is_close(table_cell_at(table, 0, "algorithm_bandwidth").real, 8e9));
    assert_true(is_close(table_cell_at(table, 0, "bus_bandwidth").real, 7e9));
    made_trace_clear(&made);
}

/* c10d operator, record_param_comms and nccl range around a launch, as torch 1.13 and 2.0 write
 * them. */
static void add_old_collective(struct made_trace *made, int64_t at_ns, const char *operator,
                               const char * shapes, const char *range)
{
    uint32_t thread = made_thread(made, "1"), stream = made_stream(made, 0, 20);
    struct event_detail detail = event_detail_none();

    made_operator(made, thread, (struct made_event){operator, at_ns, at_ns + 100}, shapes,
                  "[\"float\", \"float\", \"Scalar\"]");
    made_host_event(made, thread, EVENT_OPERATOR,
                    (struct made_event){"record_param_comms", at_ns + 10, at_ns + 90});
    detail.input_shapes = string_pool_add(&made->builder.strings, "[[512]]", 7);
    detail.input_types = string_pool_add(&made->builder.strings, "[\"c10::Half\"]", 13);
    made_work(made, thread, EVENT_ANNOTATION, (struct made_event){range, at_ns + 20, at_ns + 80},
              NO_ID, &detail);
    made_kernel(made, thread, stream,
                (struct made_event){"cudaLaunchKernel", at_ns + 30, at_ns + 40},
                (struct made_event){"ncclKernel_SendRecv_RING_SIMPLE", at_ns + 100, at_ns + 200});
}

static void without_metadata_the_operators_around_the_launch_are_asked(void **state)
{
    struct made_trace made;
    const struct table *table;

    made_trace_init(&made);
    add_old_collective(&made, 0, "c10d::_allgather_base_", "[[4096], [512], []]",
                       "nccl:_all_gather_base");
    add_old_collective(&made, 1000, "c10d::allreduce_", "[[], [], []]", "nccl:all_reduce");
    made_trace_finish(&made, WINDOW_CHOICE_WHOLE);
    table = section_table(made_section(&made, &collectives_analysis), "by_kind");
    assert_int_equal(table->row_count, 2);
    /* the operator's output is the whole message, the range's input but a part */
    assert_int_equal(table_cell(table, "all-gather", "bytes").integer, 4096 * 4);
    assert_string_equal(table_cell(table, "all-gather", "element_type").text, "float32");
    assert_int_equal(table_cell(table, "all-gather", "bus_bandwidth").unit, UNIT_NOT_KNOWN);
    assert_int_equal(table_cell(table, "all-gather", "group_size").unit, UNIT_NOT_KNOWN);
    /* the operator has a list of tensors without shapes: the range tells */
    assert_int_equal(table_cell(table, "all-reduce", "bytes").integer, 512 * 2);
    assert_string_equal(table_cell(table, "all-reduce", "element_type").text, "float16");
    made_trace_clear(&made);
}

static void what_nothing_tells_is_not_known(void **state)
{
    struct made_trace made;
    const struct table *table;

    made_trace_init(&made);
    made_work(&made, made_stream(&made, 0, 20), EVENT_KERNEL,
              (struct made_event){"ncclKernel_AllReduce_RING", 0, 1000}, NO_ID, NULL);
    made_trace_finish(&made, WINDOW_CHOICE_WHOLE);
    table = section_table(made_section(&made, &collectives_analysis), "by_kind");
    assert_int_equal(table_cell(table, "all-reduce", "count").integer, 1);
    assert_int_equal(table_cell(table, "all-reduce", "message").unit, UNIT_NOT_KNOWN);
    assert_int_equal(table_cell(table, "all-reduce", "algorithm_bandwidth").unit, UNIT_NOT_KNOWN);
    made_trace_clear(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_tell_the_kind),
        cmocka_unit_test(shapes_tell_the_elements),
        cmocka_unit_test(bus_factors_are_those_of_nccl_tests),
        cmocka_unit_test(metadata_of_the_kernel_tell_everything),
        cmocka_unit_test(without_metadata_the_operators_around_the_launch_are_asked),
        cmocka_unit_test(what_nothing_tells_is_not_known),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
