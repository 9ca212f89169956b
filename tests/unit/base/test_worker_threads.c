/* run_side_by_side: each piece of work is done once, however many threads there are. */
#include "base/core/worker_threads.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { PIECES = 1000 };

static void do_piece(void *argument, size_t index)
{
    atomic_int *done = argument;

    atomic_fetch_add(&done[index], 1);
}

static void each_piece_is_done_once(void **state)
{
    static atomic_int done[PIECES + 1];
    const unsigned threads[] = {0, 1, 2, 7, 5000};

    for (size_t t = 0; t < sizeof threads / sizeof threads[0]; t++) {
        memset(done, 0, sizeof done);
        run_side_by_side(threads[t], PIECES, do_piece, done);
        for (size_t i = 0; i < PIECES; i++)
            assert_int_equal(atomic_load(&done[i]), 1);
        assert_int_equal(atomic_load(&done[PIECES]), 0);
    }
    run_side_by_side(4, 0, do_piece, done);
}

struct made_aside {
    struct side_work side;
    int made;
    atomic_int seen;
};

static void make_aside(void *argument)
{
    struct made_aside *made = argument;

    made->made++;
}

static void wait_for_it(void *argument, size_t index)
{
    struct made_aside *made = argument;

    (void)index;
    side_work_end(&made->side);
    atomic_fetch_add(&made->seen, made->made);
}

static void work_aside_is_done_once_and_all_wait_for_it(void **state)
{
    static const struct made_aside nothing;

    (void)state;
    for (unsigned threads = 0; threads < 3; threads++) {
        for (int turn = 0; turn < 100; turn++) {
            struct made_aside made = nothing;

            side_work_end(&made.side); /* there is none yet */
            side_work_begin(&made.side, threads, make_aside, &made);
            run_side_by_side(4, 8, wait_for_it, &made);
            assert_int_equal(made.made, 1);
            assert_int_equal(atomic_load(&made.seen), 8);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(work_aside_is_done_once_and_all_wait_for_it),
        cmocka_unit_test(each_piece_is_done_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
