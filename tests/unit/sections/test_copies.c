/* Copies: sizes, bandwidth, and what of them no kernel hides. */
#include "support_trace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

extern const struct analysis copies_analysis;

static void add_copy(struct made_trace *made, uint32_t stream, struct made_event event,
                     int64_t bytes)
{
    struct event_detail detail = event_detail_none();

    detail.bytes = bytes;
    made_work(made, stream, EVENT_MEMCPY, event, NO_ID, bytes >= 0 ? &detail : NULL);
}

static void bandwidth_is_bytes_by_time(void **state)
{
    struct made_trace made;
    uint32_t stream, compute;
    const struct table *table;

    made_trace_init(&made);
    stream = made_stream(&made, 0, 20);
    compute = made_stream(&made, 0, 7);
    add_copy(&made, stream, (struct made_event){"Memcpy HtoD (Pinned -> Device)", 0, 1000}, 8000);
    add_copy(&made, stream, (struct made_event){"Memcpy HtoD (Pinned -> Device)", 2000, 3000},
             4000);
    add_copy(&made, stream, (struct made_event){"Memcpy DtoH (Device -> Pinned)", 4000, 4500}, -1);
    made_work(&made, stream, EVENT_MEMSET, (struct made_event){"Memset (Device)", 5000, 5100},
              NO_ID, NULL);
    /* kernels hide 300 of the first copy, all of the second but 100, nothing of the third */
    made_work(&made, compute, EVENT_KERNEL, (struct made_event){"sgemm", 700, 1500}, NO_ID, NULL);
    made_work(&made, compute, EVENT_KERNEL, (struct made_event){"sgemm", 1900, 2400}, NO_ID, NULL);
    made_work(&made, compute, EVENT_KERNEL, (struct made_event){"ncclKernel_AllReduce", 2500, 4000},
              NO_ID, NULL);
    made_trace_finish(&made, WINDOW_CHOICE_WHOLE);
    table = section_table(made_section(&made, &copies_analysis), "by_kind");
    assert_int_equal(table->row_count, 3);
    assert_int_equal(table_cell(table, "Memcpy HtoD (Pinned -> Device)", "count").integer, 2);
    assert_int_equal(table_cell(table, "Memcpy HtoD (Pinned -> Device)", "bytes").integer, 12000);
    assert_int_equal(table_cell(table, "Memcpy HtoD (Pinned -> Device)", "total").integer, 2000);
    assert_true(
        is_close(table_cell(table, "Memcpy HtoD (Pinned -> Device)", "bandwidth").real, 6e9));
    assert_int_equal(table_cell(table, "Memcpy HtoD (Pinned -> Device)", "exposed").integer,
                     700 + 100);
    assert_int_equal(table_cell(table, "Memcpy DtoH (Device -> Pinned)", "bytes").unit,
                     UNIT_NOT_KNOWN);
    assert_int_equal(table_cell(table, "Memcpy DtoH (Device -> Pinned)", "bandwidth").unit,
                     UNIT_NOT_KNOWN);
    assert_int_equal(table_cell(table, "Memcpy DtoH (Device -> Pinned)", "exposed").integer, 500);
    assert_int_equal(table_cell(table, "Memset (Device)", "count").integer, 1);
    made_trace_clear(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bandwidth_is_bytes_by_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
