/* The critical path through the ranks of made digests, known to the nanosecond. */
#include "ranks/ranks_path.h"
#include "support_ranks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { STEP_NS = 10000 };

/* Two calls of both ranks: rank 1 comes last to the first, rank 0 to the second. Before the first
 * rank 0 works until 1000 and rank 1 until 3000; the second begins on rank 0 at 7000, on rank 1 at
 * 4500; both end at once. Rank 0 is done last. */
static void make_ranks(struct rank_digest digests[2])
{
    static const int64_t starts_ns[2][2] = {{1000, 7000}, {3000, 4500}};
    static const int64_t ends_ns[2] = {3500, 7400};

    for (int rank = 0; rank < 2; rank++) {
        struct rank_digest *digest = &digests[rank];
        uint32_t group;

        made_digest_init(digest, rank, STEP_NS);
        group = made_group(digest, "0", "[0, 1]", 2);
        digest->chains = arena_allocate(&digest->arena, 3 * sizeof *digest->chains);
        digest->chain_count = 3;
        digest->path_end_ns = STEP_NS - 500 * rank;
        for (int call = 0; call < 2; call++) {
            made_call_add(digest, group, starts_ns[rank][call], ends_ns[call], call);
            digest->chains[call] = (struct digest_chain){.call = call - 1};
            digest->chains[call].parts_ns[CHAIN_HOST] =
                starts_ns[rank][call] - (call ? ends_ns[0] : 0);
        }
        digest->chains[2] = (struct digest_chain){.call = 1};
        digest->chains[2].parts_ns[CHAIN_KERNELS] = digest->path_end_ns - ends_ns[1];
    }
}

static void take(struct all_ranks *run, struct rank_digest digests[2])
{
    struct digest_set set = {0};

    for (int rank = 0; rank < 2; rank++) {
        digest_set_add(&set, &digests[rank]);
        rank_digest_clear(&digests[rank]);
    }
    all_ranks_init(run, &set, NULL);
    digest_set_clear(&set);
}

static void the_path_goes_from_rank_to_rank(void **state)
{
    struct rank_digest digests[2] = {{0}};
    SCOPED(all_ranks) run = {0};
    SCOPED(ranks_path) path = {.is_known = false};

    make_ranks(digests);
    made_digest_shift(&digests[1], 700);
    take(&run, digests);
    find_ranks_path(&path, &run);
    assert_true(path.is_known);
    assert_int_equal(path.length_ns, STEP_NS);
    assert_int_equal(path.recorded_ns, STEP_NS);
    assert_int_equal(path.shares[0].parts_ns[CHAIN_KERNELS], STEP_NS - 7400);
    assert_int_equal(path.shares[0].transfer_ns, 400);
    assert_int_equal(path.shares[0].parts_ns[CHAIN_HOST], 7000 - 3500);
    assert_int_equal(path.shares[0].late_count, 1);
    assert_int_equal(path.shares[1].transfer_ns, 500);
    assert_int_equal(path.shares[1].parts_ns[CHAIN_HOST], 3000);
    assert_int_equal(path.shares[1].late_count, 1);
    assert_int_equal(rank_path_share_ns(&path.shares[0]) + rank_path_share_ns(&path.shares[1]),
                     STEP_NS);
}

static void a_rank_without_chains_is_named(void **state)
{
    struct rank_digest digests[2] = {{0}};
    SCOPED(all_ranks) run = {0};
    SCOPED(ranks_path) path = {.is_known = false};

    make_ranks(digests);
    digests[1].chain_count = 0;
    take(&run, digests);
    find_ranks_path(&path, &run);
    assert_false(path.is_known);
    assert_int_equal(path.lacking, 1);
}

/* Calls that say they come after each other: damaged, but it ends. */
static void a_circle_has_no_path(void **state)
{
    struct rank_digest digests[2] = {{0}};
    SCOPED(all_ranks) run = {0};
    SCOPED(ranks_path) path = {.is_known = false};

    make_ranks(digests);
    digests[0].chains[0].call = digests[1].chains[0].call = 1;
    take(&run, digests);
    find_ranks_path(&path, &run);
    assert_false(path.is_known);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_path_goes_from_rank_to_rank),
        cmocka_unit_test(a_rank_without_chains_is_named),
        cmocka_unit_test(a_circle_has_no_path),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
