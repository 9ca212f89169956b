/* With which rank a wait began: four ranks, of which 0 and 1, 2 and 3 are tensor pairs, and 0 and
 * 2, 1 and 3 data pairs. */
#include "ranks/all_ranks.h"
#include "support_ranks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { RANKS = 4, END_NS = 100000, TRANSFER_NS = 10 };
static const char *const names[] = {"tensor.0", "tensor.1", "data.0", "data.1"};

struct made_ranks {
    struct rank_digest digests[RANKS];
    const struct rank_digest *list[RANKS];
    struct call_joins joins;
};

static void init_ranks(struct made_ranks *made)
{
    memset(made, 0, sizeof *made);
    for (int rank = 0; rank < RANKS; rank++) {
        made_digest_init(&made->digests[rank], rank, END_NS);
        made->list[rank] = &made->digests[rank];
        (void)made_group(&made->digests[rank], names[rank / 2], "", 2);
        (void)made_group(&made->digests[rank], names[2 + rank % 2], "", 2);
    }
}

/* One collective of two ranks, which come at these times. */
static void meet(struct made_ranks *made, const int ranks[2], uint32_t group,
                 const int64_t comes_ns[2])
{
    int64_t end_ns = (comes_ns[0] > comes_ns[1] ? comes_ns[0] : comes_ns[1]) + TRANSFER_NS;

    for (int i = 0; i < 2; i++)
        (void)made_call_add(&made->digests[ranks[i]], group, comes_ns[i], end_ns, -1);
}

/* Of the last call of a rank. */
static uint32_t root_of(struct made_ranks *made, uint32_t rank)
{
    uint32_t root;

    call_joins_clear(&made->joins);
    made->joins = (struct call_joins){0};
    join_calls(&made->joins, made->list, RANKS);
    root = find_wait_root(
        made->list, &made->joins,
        (struct join_member){.rank = rank, .call = made->digests[rank].call_count - 1});
    return root;
}

static void clear_ranks(struct made_ranks *made)
{
    call_joins_clear(&made->joins);
    for (int rank = 0; rank < RANKS; rank++)
        rank_digest_clear(&made->digests[rank]);
}

/* Rank 1 holds up rank 0, which then comes late to rank 2. */
static void hold_up(struct made_ranks *made, int64_t own_ns)
{
    meet(made, (const int[]){0, 1}, 0, (const int64_t[]){1000, 6000});
    meet(made, (const int[]){2, 3}, 0, (const int64_t[]){1000, 1000});
    meet(made, (const int[]){0, 2}, 1, (const int64_t[]){6010 + own_ns, 1010});
    meet(made, (const int[]){1, 3}, 1, (const int64_t[]){6010, 1010});
}

static void a_wait_began_with_whom_the_last_waited_for(void **state)
{
    struct made_ranks made;

    init_ranks(&made);
    hold_up(&made, 0);
    assert_int_equal(root_of(&made, 2), 1);
    assert_int_equal(root_of(&made, 3), 1);
    clear_ranks(&made);
}

/* It lost 5 µs to rank 1, and 6 µs of its own. */
static void what_the_last_did_itself_is_its_own(void **state)
{
    struct made_ranks made;

    init_ranks(&made);
    hold_up(&made, 6000);
    assert_int_equal(root_of(&made, 2), 0);
    assert_int_equal(root_of(&made, 3), 1);
    clear_ranks(&made);
}

/* What was before the two were together has no say. */
static void only_what_came_since_they_were_together_counts(void **state)
{
    struct made_ranks made;

    init_ranks(&made);
    hold_up(&made, 0);
    meet(&made, (const int[]){0, 2}, 1, (const int64_t[]){9000, 7000});
    assert_int_equal(root_of(&made, 2), 0);
    clear_ranks(&made);
}

/* Three short waits make one long one. */
static void many_short_waits_sum(void **state)
{
    struct made_ranks made;

    init_ranks(&made);
    for (int i = 0; i < 3; i++)
        meet(&made, (const int[]){0, 1}, 0, (const int64_t[]){1000 + 2000 * i, 2500 + 2000 * i});
    meet(&made, (const int[]){0, 2}, 1, (const int64_t[]){6520, 1500});
    assert_int_equal(root_of(&made, 2), 1);
    clear_ranks(&made);
}

/* Rank 0 computed beside the collective in which rank 1 came late. */
static void waiting_beside_compute_passes_nothing_on(void **state)
{
    struct made_ranks made;

    init_ranks(&made);
    hold_up(&made, 0);
    made.digests[0].exposed_count = 0;
    assert_int_equal(root_of(&made, 2), 0);
    clear_ranks(&made);
}

static void the_bubble_of_a_pipeline_passes_nothing_on(void **state)
{
    struct made_ranks made;

    init_ranks(&made);
    hold_up(&made, 0);
    for (int rank = 0; rank < 2; rank++)
        made.digests[rank].calls[0].kind = COLLECTIVE_SEND_RECEIVE;
    assert_int_equal(root_of(&made, 2), 0);
    clear_ranks(&made);
}

static void another_step_passes_nothing_on(void **state)
{
    struct made_ranks made;

    init_ranks(&made);
    hold_up(&made, 0);
    for (int rank = 0; rank < 2; rank++)
        made.digests[rank].calls[0].step = -1;
    assert_int_equal(root_of(&made, 2), 0);
    clear_ranks(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wait_began_with_whom_the_last_waited_for),
        cmocka_unit_test(what_the_last_did_itself_is_its_own),
        cmocka_unit_test(only_what_came_since_they_were_together_counts),
        cmocka_unit_test(many_short_waits_sum),
        cmocka_unit_test(waiting_beside_compute_passes_nothing_on),
        cmocka_unit_test(the_bubble_of_a_pipeline_passes_nothing_on),
        cmocka_unit_test(another_step_passes_nothing_on),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
