/* How far the clocks of the ranks are apart. */
#include "ranks/rank_clocks.h"
#include "support_ranks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { RANKS = 4, CALLS = 20 };

struct made_run {
    struct rank_digest digests[RANKS];
    const struct rank_digest *list[RANKS];
    struct call_joins joins;
    struct rank_clocks clocks;
};

static void begin(struct made_run *run)
{
    *run = (struct made_run){0};
    for (int i = 0; i < RANKS; i++) {
        made_digest_init(&run->digests[i], i, 1000000);
        run->list[i] = &run->digests[i];
    }
}

static void measure(struct made_run *run)
{
    join_calls(&run->joins, run->list, RANKS);
    align_clocks(&run->clocks, run->list, &run->joins);
}

static void end(struct made_run *run)
{
    rank_clocks_clear(&run->clocks);
    call_joins_clear(&run->joins);
    for (int i = 0; i < RANKS; i++)
        rank_digest_clear(&run->digests[i]);
}

/* Ranks 0 and 1 talk, 1 and 2, but 3 to nobody. */
static void offsets_are_found_through_others(void **state)
{
    static const int64_t ahead_ns[RANKS] = {0, 777, -5000000, 42};
    struct made_run run;

    begin(&run);
    for (int i = 0; i < RANKS; i++) {
        for (int link = 0; link < 2; link++) {
            uint32_t group;

            if (i != link && i != link + 1)
                continue;
            group = made_group(&run.digests[i], link ? "b" : "a", "", 2);
            for (int call = 0; call < CALLS / 2; call++) {
                int64_t at_ns = 100000 * link + 2000 * call;

                made_call_add(&run.digests[i], group, at_ns + 17 * i, at_ns + 900, call);
            }
        }
        made_digest_shift(&run.digests[i], ahead_ns[i]);
    }
    measure(&run);
    for (int i = 0; i < 3; i++) {
        assert_true(run.clocks.clocks[i].is_known);
        assert_int_equal(run.clocks.clocks[i].offset_ns, ahead_ns[i]);
        assert_int_equal(run.clocks.clocks[i].residual_max_ns, 0);
    }
    assert_false(run.clocks.clocks[3].is_known);
    assert_int_equal(run.clocks.aligned.most_ns, 0);
    assert_int_equal(run.clocks.as_recorded.most_ns, 5000777);
    assert_int_equal(run.clocks.as_recorded.least_ns, 777);
    end(&run);
}

/* One collective of twenty ends late on one rank: the median does not follow it. */
static void one_late_end_moves_no_clock(void **state)
{
    struct made_run run;

    begin(&run);
    for (int i = 0; i < RANKS; i++) {
        uint32_t group = made_group(&run.digests[i], "0", "", RANKS);

        for (int call = 0; call < CALLS; call++)
            made_call_add(&run.digests[i], group, 5000 * call,
                          5000 * call + 900 + (i == 2 && call == 5 ? 600 : 0), call);
        made_digest_shift(&run.digests[i], 1000 * i);
    }
    measure(&run);
    for (int i = 0; i < RANKS; i++)
        assert_int_equal(run.clocks.clocks[i].offset_ns, 1000 * i);
    assert_int_equal(run.clocks.clocks[2].residual_ns, 0);
    assert_int_equal(run.clocks.clocks[2].residual_max_ns, 600);
    assert_int_equal(run.clocks.aligned.most_ns, 600);
    assert_int_equal(run.clocks.aligned.median_ns, 0);
    assert_int_equal(run.clocks.clocks[2].call_count, CALLS);
    end(&run);
}

/* The stages of a pipeline share nothing else than sends and receives. */
static void sends_tell_time_where_nothing_else_does(void **state)
{
    struct made_run run;

    begin(&run);
    for (int i = 0; i < RANKS; i++) {
        uint32_t stage = made_group(&run.digests[i], i < 2 ? "a" : "b", "", 2);
        uint32_t pipeline = made_group(&run.digests[i], "p", "", 2);

        made_call_add(&run.digests[i], stage, 0, 900, 1);
        made_call_add(&run.digests[i], stage, 1000, 1900, 2);
        if (i == 1 || i == 2) {
            struct digest_call *call = made_call_add(&run.digests[i], pipeline, 2000, 2900, 3);

            call->kind = COLLECTIVE_SEND_RECEIVE;
            call->source = 1;
            call->destination = 2;
        }
        made_digest_shift(&run.digests[i], -300 * i);
    }
    measure(&run);
    for (int i = 0; i < RANKS; i++) {
        assert_true(run.clocks.clocks[i].is_known);
        assert_int_equal(run.clocks.clocks[i].offset_ns, -300 * i);
    }
    end(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(offsets_are_found_through_others),
        cmocka_unit_test(one_late_end_moves_no_clock),
        cmocka_unit_test(sends_tell_time_where_nothing_else_does),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
