/* Which calls of different ranks are one collective. */
#include "ranks/call_join.h"
#include "support_ranks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { RANKS = 3 };

struct made_run {
    struct rank_digest digests[RANKS];
    const struct rank_digest *list[RANKS];
    uint32_t groups[RANKS];
    struct call_joins joins;
};

static void begin(struct made_run *run, const char *name, const char *ranks)
{
    *run = (struct made_run){0};
    for (int i = 0; i < RANKS; i++) {
        made_digest_init(&run->digests[i], i, 100000);
        run->groups[i] = made_group(&run->digests[i], name, ranks, RANKS);
        run->list[i] = &run->digests[i];
    }
}

static void end(struct made_run *run)
{
    call_joins_clear(&run->joins);
    for (int i = 0; i < RANKS; i++)
        rank_digest_clear(&run->digests[i]);
}

static const struct joined_call *join_of(const struct made_run *run, int rank, int call)
{
    assert_int_not_equal(run->joins.join_of[rank][call], NO_JOIN);
    return &run->joins.joins[run->joins.join_of[rank][call]];
}

static void sequence_numbers_join(void **state)
{
    struct made_run run;

    begin(&run, "0", "[0, 1, 2]");
    for (int i = 0; i < RANKS; i++) /* rank 1's trace begins one call later, rank 2's ends earlier
                                     */
        for (int call = i == 1; call < 3 - (i == 2); call++)
            made_call_add(&run.digests[i], run.groups[i], 1000 * call + 100 * i, 1000 * call + 500,
                          40 + call);
    join_calls(&run.joins, run.list, RANKS);
    assert_int_equal(run.joins.join_count, 3);
    assert_ptr_equal(join_of(&run, 0, 1), join_of(&run, 1, 0));
    assert_ptr_equal(join_of(&run, 0, 1), join_of(&run, 2, 1));
    assert_int_equal(join_of(&run, 0, 1)->count, 3);
    assert_int_equal(join_of(&run, 0, 1)->transfer_ns, 300);
    assert_int_equal(join_of(&run, 0, 1)->late, 2);
    assert_int_equal(join_of(&run, 0, 0)->late, 2);
    assert_int_equal(join_of(&run, 0, 2)->count, 2);
    assert_int_equal(join_of(&run, 0, 2)->late, 1);
    assert_false(run.joins.groups[0].is_joined_by_order);
    end(&run);
}

static void groups_of_one_name_and_other_ranks_are_apart(void **state)
{
    struct made_run run;

    begin(&run, "0", "[0, 1]");
    run.digests[2].groups[0].ranks = "[2, 3]";
    for (int i = 0; i < RANKS; i++)
        made_call_add(&run.digests[i], run.groups[i], 0, 500, 7);
    join_calls(&run.joins, run.list, RANKS);
    assert_int_equal(run.joins.group_count, 2);
    assert_ptr_equal(join_of(&run, 0, 0), join_of(&run, 1, 0));
    assert_int_equal(join_of(&run, 2, 0)->count, 1);
    assert_int_equal(join_of(&run, 2, 0)->transfer_ns, -1); /* alone: not known */
    end(&run);
}

/* Calls of coalesced collectives share a number. */
static void calls_of_one_number_join_in_turn(void **state)
{
    struct made_run run;

    begin(&run, "0", "[0, 1, 2]");
    for (int i = 0; i < RANKS; i++)
        for (int call = 0; call < 2; call++)
            made_call_add(&run.digests[i], run.groups[i], 1000 * call, 1000 * call + 500, 9);
    join_calls(&run.joins, run.list, RANKS);
    assert_int_equal(run.joins.join_count, 2);
    assert_int_equal(join_of(&run, 0, 0)->count, 3);
    assert_ptr_not_equal(join_of(&run, 0, 0), join_of(&run, 0, 1));
    end(&run);
}

/* Without numbers: steps repeat, but not to the nanosecond, and rank 1 misses the first calls. */
static void order_joins_where_traces_begin_apart(void **state)
{
    struct made_run run;

    begin(&run, "", "");
    for (int i = 0; i < RANKS; i++) {
        run.digests[i].groups[0].stream = 0;
        for (int call = i == 1 ? 3 : 0; call < 30; call++) {
            int64_t at_ns = 1000000 * (int64_t)call + (call * call * 7919 % 31) * 1000;

            made_call_add(&run.digests[i], run.groups[i], at_ns, at_ns + 5000, -1)->bytes =
                call % 3 == 0 ? 4096 : 64;
        }
    }
    made_digest_shift(&run.digests[1], 123456789); /* and its clock is far off */
    join_calls(&run.joins, run.list, RANKS);
    assert_true(run.joins.groups[0].is_joined_by_order);
    assert_int_equal(run.joins.join_count, 30);
    assert_ptr_equal(join_of(&run, 0, 3), join_of(&run, 1, 0));
    assert_ptr_equal(join_of(&run, 2, 29), join_of(&run, 1, 26));
    end(&run);
}

static void calls_that_cannot_be_one_are_not_split(void **state)
{
    struct made_run run;

    begin(&run, "0", "[0, 1, 2]");
    for (int i = 0; i < RANKS; i++)
        made_call_add(&run.digests[i], run.groups[i], 0, 500 + i, 1);
    run.digests[1].calls[0].kind = COLLECTIVE_ALL_GATHER;
    join_calls(&run.joins, run.list, RANKS);
    assert_true(join_of(&run, 0, 0)->is_mismatched);
    assert_int_equal(join_of(&run, 0, 0)->transfer_ns, -1);
    end(&run);
}

/* Rank 0 sends to 1, and 1 to 2, in one group; numbers count each rank's own calls. */
static void sends_join_with_their_receives(void **state)
{
    struct made_run run;

    begin(&run, "1", "[0, 1, 2]");
    for (int i = 0; i < RANKS; i++) {
        for (int link = 0; link < 2; link++) {
            struct digest_call *call;

            if (i != link && i != link + 1)
                continue;
            call = made_call_add(&run.digests[i], run.groups[i], 1000 * link + 10 * i,
                                 1000 * link + 500, 100 * i + link);
            call->kind = COLLECTIVE_SEND_RECEIVE;
            call->source = link;
            call->destination = link + 1;
        }
    }
    join_calls(&run.joins, run.list, RANKS);
    assert_int_equal(run.joins.join_count, 2);
    assert_ptr_equal(join_of(&run, 0, 0), join_of(&run, 1, 0));
    assert_ptr_equal(join_of(&run, 1, 1), join_of(&run, 2, 0));
    assert_int_equal(join_of(&run, 0, 0)->late, 1);
    assert_int_equal(run.joins.groups[join_of(&run, 1, 1)->group].destination, 2);
    end(&run);
}

static void a_send_without_its_peer_does_not_join(void **state)
{
    struct made_run run;

    begin(&run, "1", "[0, 1, 2]");
    for (int i = 0; i < RANKS; i++)
        made_call_add(&run.digests[i], run.groups[i], 0, 500, i)->kind = COLLECTIVE_SEND_RECEIVE;
    join_calls(&run.joins, run.list, RANKS);
    assert_int_equal(run.joins.join_count, 0);
    assert_int_equal(run.joins.join_of[0][0], NO_JOIN);
    end(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sequence_numbers_join),
        cmocka_unit_test(groups_of_one_name_and_other_ranks_are_apart),
        cmocka_unit_test(calls_of_one_number_join_in_turn),
        cmocka_unit_test(order_joins_where_traces_begin_apart),
        cmocka_unit_test(calls_that_cannot_be_one_are_not_split),
        cmocka_unit_test(sends_join_with_their_receives),
        cmocka_unit_test(a_send_without_its_peer_does_not_join),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
