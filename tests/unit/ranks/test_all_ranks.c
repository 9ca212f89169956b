/* All ranks of a run together: who waits for whom, who is missing, and exposed time split. */
#include "ranks/all_ranks.h"
#include "support_ranks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Takes the digests. */
static void gather(struct all_ranks *run, struct rank_digest *digests, size_t count,
                   const struct rank_layout *layout)
{
    struct digest_set set = {0};

    for (size_t i = 0; i < count; i++) {
        digest_set_add(&set, &digests[i]);
        rank_digest_clear(&digests[i]);
    }
    *run = (struct all_ranks){0};
    all_ranks_init(run, &set, layout);
    digest_set_clear(&set);
}

static void waiting_is_split_from_transfer(void **state)
{
    struct rank_digest digests[3];
    struct all_ranks run;

    for (int i = 0; i < 3; i++) {
        made_digest_init(&digests[i], i, 10000);
        made_call_add(&digests[i], made_group(&digests[i], "0", "", 3), 1000 + 2000 * i, 6000, 1);
        made_digest_shift(&digests[i], 100000 * i);
    }
    gather(&run, digests, 3, NULL);
    assert_int_equal(run.ranks[0].communication.kernel_ns, 5000);
    assert_int_equal(run.ranks[0].communication.waiting_ns, 4000);
    assert_int_equal(run.ranks[0].communication.exposed.waiting_ns, 4000);
    assert_int_equal(run.ranks[0].communication.exposed.transfer_ns, 1000);
    assert_int_equal(run.ranks[1].communication.waiting_ns, 2000);
    assert_int_equal(run.ranks[2].communication.waiting_ns, 0);
    assert_int_equal(run.ranks[2].communication.late_count, 1);
    assert_int_equal(run.ranks[2].communication.caused_ns, 6000);
    assert_int_equal(run.ranks[2].communication.root_exposed_ns, 6000);
    assert_int_equal(run.ranks[0].steps[0].bubble_ns, 0);
    all_ranks_clear(&run);
}

/* Two calls at once on rank 0: [1000, 6000) waits until 5000; [3000, 4000) of another group is
 * transfer throughout. Exposed: 2000 waiting, 1000 transfer, 1000 waiting, 1000 transfer. */
static void a_moment_of_any_transfer_is_no_waiting(void **state)
{
    struct rank_digest digests[2];
    struct all_ranks run;

    for (int i = 0; i < 2; i++) {
        struct rank_digest *digest = &digests[i];
        uint32_t a, b;

        made_digest_init(digest, i, 10000);
        a = made_group(digest, "a", "", 2);
        b = made_group(digest, "b", "", 2);
        if (i == 0) {
            made_call_add(digest, a, 1000, 6000, 1);
            digest->calls[digest->call_count++] = digest->calls[0];
            digest->calls[1].start_ns = 3000;
            digest->calls[1].duration_ns = 1000;
            digest->calls[1].group = b;
        } else {
            made_call_add(digest, b, 3000, 4000, 1);
            made_call_add(digest, a, 5000, 6000, 1);
        }
    }
    gather(&run, digests, 2, NULL);
    assert_int_equal(run.ranks[0].communication.exposed.waiting_ns, 3000);
    assert_int_equal(run.ranks[0].communication.exposed.transfer_ns, 2000);
    assert_int_equal(run.ranks[0].communication.exposed.unknown_ns, 0);
    all_ranks_clear(&run);
}

static void a_rank_alone_tells_no_waiting(void **state)
{
    struct rank_digest digest;
    struct all_ranks run;

    made_digest_init(&digest, 0, 10000);
    made_call_add(&digest, made_group(&digest, "0", "", 8), 1000, 6000, 1);
    gather(&run, &digest, 1, NULL);
    assert_int_equal(run.ranks[0].communication.unknown_ns, 5000);
    assert_int_equal(run.ranks[0].communication.exposed.unknown_ns, 5000);
    assert_int_equal(run.ranks[0].communication.joined_count, 0);
    all_ranks_clear(&run);
}

static void a_receive_that_waits_is_a_bubble(void **state)
{
    struct rank_digest digests[2];
    struct all_ranks run;

    for (int i = 0; i < 2; i++) {
        struct digest_call *call;

        made_digest_init(&digests[i], i, 10000);
        call = made_call_add(&digests[i], made_group(&digests[i], "1", "[0, 1, 2]", 3),
                             i ? 1000 : 4000, 5000, -1);
        call->kind = COLLECTIVE_SEND_RECEIVE;
        call->source = 0;
        call->destination = 1;
    }
    gather(&run, digests, 2, NULL);
    assert_int_equal(run.ranks[1].communication.exposed.bubble_ns, 3000);
    assert_int_equal(run.ranks[1].communication.exposed.waiting_ns, 3000);
    assert_int_equal(run.ranks[0].communication.exposed.bubble_ns, 0);
    all_ranks_clear(&run);
}

static void missing_ranks_and_doubles_are_named(void **state)
{
    struct rank_digest digests[4];
    struct rank_layout layout = {0};
    struct all_ranks run;
    struct error error = {0};

    made_digest_init(&digests[0], 5, 1000);
    made_digest_init(&digests[1], 1, 1000);
    made_digest_init(&digests[2], 1, 2000);
    made_digest_init(&digests[3], -1, 3000);
    assert_true(rank_layout_parse(&layout, "dp=3,tp=2", &error));
    gather(&run, digests, 4, &layout);
    assert_int_equal(run.count, 3);
    assert_int_equal(run.ranks[0].digest->rank, 1);
    assert_int_equal(run.ranks[1].digest->rank, 5);
    assert_int_equal(run.ranks[2].digest->rank, -1);
    assert_int_equal(run.double_count, 1);
    assert_int_equal(run.doubles[0]->rank, 1);
    assert_int_equal(run.world_size, 6);
    assert_int_equal(run.missing_in_all, 4);
    assert_int_equal(run.missing_count, 4);
    assert_int_equal(run.missing[0], 0);
    assert_int_equal(run.missing[1], 2);
    assert_int_equal(run.missing[3], 4);
    assert_int_equal(run.ranks[1].coordinates[AXIS_DATA], 2);
    assert_int_equal(run.ranks[1].coordinates[AXIS_TENSOR], 1);
    all_ranks_clear(&run);
}

/* Two ranks of one run, and a third file with what one of them recorded, or nearly that. */
static void a_recording_counts_once(void **state)
{
    enum { COPY, COUNTED, OF_TOLD_RANK, LATER, ON_OTHER_DEVICE, OF_OTHER_PROCESS, CASES };

    for (int which = COPY; which < CASES; which++) {
        bool is_copy = which <= OF_TOLD_RANK;
        struct rank_digest digests[3];
        struct all_ranks run;

        for (int i = 0; i < 3; i++) {
            made_digest_init(&digests[i], i == 2 ? 7 : -1, 10000);
            digests[i].is_rank_by_order = i == 2 && which != OF_TOLD_RANK;
            digests[i].process = i == 2 && which == OF_OTHER_PROCESS ? "8" : "7";
            digests[i].device = i == 2 && which == ON_OTHER_DEVICE;
            digests[i].file = i ? "b" : "a";
            made_call_add(&digests[i], made_group(&digests[i], "0", "", 2), i == 1 ? 2000 : 1000,
                          6000, 1);
            made_digest_shift(&digests[i], i == 2 && which == LATER);
        }
        digests[2].rank = which == COPY ? -1 : 7;
        gather(&run, digests, 3, NULL);
        assert_int_equal(run.count, is_copy ? 2 : 3);
        assert_int_equal(run.double_count, is_copy ? 1 : 0);
        assert_int_equal(run.joins.join_count, 1);
        all_ranks_clear(&run);
    }
}

static void a_recording_and_its_copies_are_no_run(void **state)
{
    struct rank_digest digests[2];
    struct all_ranks run;

    for (int i = 0; i < 2; i++) {
        made_digest_init(&digests[i], -1, 10000);
        digests[i].file = i ? "b" : "a";
        made_call_add(&digests[i], made_group(&digests[i], "0", "", 2), 1000, 6000, 1);
    }
    gather(&run, digests, 2, NULL);
    assert_string_equal(run.other_runs, "all are one recording");
    assert_int_equal(run.count, 2);
    all_ranks_clear(&run);
}

/* What is there of two ranks, and whether that speaks against one run. */
static void ranks_of_one_run_are_told_from_other_traces(void **state)
{
    const int64_t now_ns = INT64_C(1760000000) * 1000 * 1000 * 1000;
    const int64_t minute_ns = INT64_C(60) * 1000 * 1000 * 1000;
    const struct {
        int64_t ranks[2];
        int64_t worlds[2];
        int64_t apart_ns;
        bool is_joined;
        bool is_one_run;
    } cases[] = {
        {{0, 1}, {2, 2}, 1000, false, true},
        {{0, 1}, {-1, -1}, minute_ns / 2, false, true},
        {{0, 1}, {2, 2}, 2 * minute_ns, true, false},
        {{0, 1}, {2, 4}, 0, true, false},
        {{0, -1}, {8, -1}, 0, false, false},
        {{-1, -1}, {-1, -1}, 1, false, false},
        {{-1, -1}, {-1, -1}, 1, true, true},
        {{3, 3}, {8, 8}, 1, false, false},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct rank_digest digests[2];
        struct all_ranks run;

        for (size_t rank = 0; rank < 2; rank++) {
            made_digest_init(&digests[rank], cases[i].ranks[rank], 1000);
            digests[rank].world_size = cases[i].worlds[rank];
            if (cases[i].is_joined)
                made_call_add(&digests[rank], made_group(&digests[rank], "0", "[0, 1]", 2), 10, 20,
                              1);
            made_digest_shift(&digests[rank], now_ns + (rank ? cases[i].apart_ns : 0));
        }
        gather(&run, digests, 2, NULL);
        if ((run.other_runs == NULL) != cases[i].is_one_run)
            fail_msg("case %zu: %s", i, run.other_runs ? run.other_runs : "one run");
        assert_true(!run.other_runs || run.missing_in_all == 0);
        all_ranks_clear(&run);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waiting_is_split_from_transfer),
        cmocka_unit_test(a_moment_of_any_transfer_is_no_waiting),
        cmocka_unit_test(a_rank_alone_tells_no_waiting),
        cmocka_unit_test(a_receive_that_waits_is_a_bubble),
        cmocka_unit_test(missing_ranks_and_doubles_are_named),
        cmocka_unit_test(a_recording_counts_once),
        cmocka_unit_test(a_recording_and_its_copies_are_no_run),
        cmocka_unit_test(ranks_of_one_run_are_told_from_other_traces),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
