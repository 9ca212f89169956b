/* When each account of a step had its time: the pieces cover the step, and sum to its accounts. */
#include "ledger/account_pieces.h"
#include "support_trace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static void check_sums(const struct account_pieces *pieces, const struct ledger *ledger)
{
    int64_t(*sums)[ACCOUNT_COUNT] = calloc(ledger->step_count + 1, sizeof *sums);

    for (size_t i = 0; i < pieces->count; i++) {
        const struct account_piece *piece = &pieces->pieces[i];
        const struct step_window *window = &ledger->steps[piece->step].window;
        bool is_first = i == 0 || pieces->pieces[i - 1].step != piece->step;

        assert_true(piece->end_ns > piece->start_ns);
        assert_int_equal(piece->start_ns,
                         is_first ? window->start_ns : pieces->pieces[i - 1].end_ns);
        if (i + 1 == pieces->count || pieces->pieces[i + 1].step != piece->step)
            assert_int_equal(piece->end_ns, window->end_ns);
        sums[piece->step][piece->account] += piece->end_ns - piece->start_ns;
    }
    for (uint32_t i = 0; i < ledger->step_count; i++)
        assert_memory_equal(sums[i], ledger->steps[i].account_ns, sizeof sums[i]);
    free(sums);
}

/* Two steps: kernels, an overlapping copy, a gap in a data loader, one in operators, one queued. */
static void make_steps(struct made_trace *made)
{
    uint32_t thread;
    uint32_t stream;
    uint32_t copies;

    made_trace_init(made);
    thread = made_thread(made, "1");
    stream = made_stream(made, 0, 7);
    copies = made_stream(made, 0, 8);
    made_host_event(made, thread, EVENT_ANNOTATION,
                    (struct made_event){"ProfilerStep#1", 0, 500000});
    made_host_event(made, thread, EVENT_ANNOTATION,
                    (struct made_event){"ProfilerStep#2", 510000, 1000000});
    made_host_event(made, thread, EVENT_ANNOTATION,
                    (struct made_event){"enumerate(DataLoader)#_Iter.__next__", 20000, 90000});
    made_host_event(made, thread, EVENT_OPERATOR, (struct made_event){"aten::mm", 95000, 125500});
    made_kernel(made, thread, stream, (struct made_event){"cudaLaunchKernel", 120000, 125000},
                (struct made_event){"gemm", 140000, 240000});
    made_kernel(made, thread, copies, (struct made_event){"cudaMemcpyAsync", 126000, 127000},
                (struct made_event){"elementwise", 200000, 300000});
    made_kernel(made, thread, stream, (struct made_event){"cudaLaunchKernel", 128000, 129000},
                (struct made_event){"gemm", 305000, 505000});
    made_kernel(made, thread, stream, (struct made_event){"cudaLaunchKernel", 600000, 605000},
                (struct made_event){"gemm", 700000, 900000});
    made_trace_finish(made, WINDOW_CHOICE_AUTO);
}

static void pieces_cover_the_steps_and_sum_to_the_accounts(void **state)
{
    struct made_trace made;
    struct account_pieces pieces = {0};

    (void)state;
    make_steps(&made);
    find_account_pieces(&pieces, &made.trace, &made.ledger);
    check_sums(&pieces, &made.ledger);
    account_pieces_clear(&pieces);
    made_trace_clear(&made);
}

static void a_gap_is_split_where_its_cause_changes(void **state)
{
    static const struct account_piece expected[] = {
        {0, 20000, 0, ACCOUNT_IDLE_NOTHING},        {20000, 90000, 0, ACCOUNT_IDLE_DATA},
        {90000, 95000, 0, ACCOUNT_IDLE_NOTHING},    {95000, 120000, 0, ACCOUNT_IDLE_OPERATOR},
        {120000, 140000, 0, ACCOUNT_IDLE_LAUNCH},   {140000, 240000, 0, ACCOUNT_MATRIX},
        {240000, 300000, 0, ACCOUNT_OTHER_COMPUTE}, {300000, 305000, 0, ACCOUNT_IDLE_QUEUE_GAP},
        {305000, 500000, 0, ACCOUNT_MATRIX},
    };
    struct made_trace made;
    struct account_pieces pieces = {0};

    (void)state;
    make_steps(&made);
    find_account_pieces(&pieces, &made.trace, &made.ledger);
    assert_true(pieces.count > sizeof expected / sizeof *expected);
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        assert_int_equal(pieces.pieces[i].start_ns, expected[i].start_ns);
        assert_int_equal(pieces.pieces[i].end_ns, expected[i].end_ns);
        assert_int_equal(pieces.pieces[i].step, 0);
        assert_int_equal(pieces.pieces[i].account, expected[i].account);
    }
    account_pieces_clear(&pieces);
    made_trace_clear(&made);
}

/* Without a device the operators are the work. */
static void a_trace_of_the_cpu_has_pieces_too(void **state)
{
    struct made_trace made;
    struct account_pieces pieces = {0};
    uint32_t thread;

    (void)state;
    made_trace_init(&made);
    thread = made_thread(&made, "1");
    made_host_event(&made, thread, EVENT_ANNOTATION,
                    (struct made_event){"ProfilerStep#1", 0, 500000});
    made_host_event(&made, thread, EVENT_OPERATOR, (struct made_event){"aten::mm", 95000, 130000});
    made_trace_finish(&made, WINDOW_CHOICE_AUTO);
    find_account_pieces(&pieces, &made.trace, &made.ledger);
    assert_int_equal(pieces.count, 3);
    check_sums(&pieces, &made.ledger);
    account_pieces_clear(&pieces);
    made_trace_clear(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_cover_the_steps_and_sum_to_the_accounts),
        cmocka_unit_test(a_gap_is_split_where_its_cause_changes),
        cmocka_unit_test(a_trace_of_the_cpu_has_pieces_too),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
