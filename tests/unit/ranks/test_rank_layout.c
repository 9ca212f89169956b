/* How the ranks of a run divide the work. */
#include "pipeline/input_files.h"
#include "ranks/rank_layout.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void sizes_and_order_are_read(void **state)
{
    struct rank_layout layout = {0};
    struct error error = {0};
    int32_t at[AXIS_COUNT];

    assert_true(rank_layout_parse(&layout, "tp=2,pp=4,dp=3,m=8,v=2", &error));
    assert_int_equal(rank_layout_ranks(&layout), 24);
    assert_int_equal(layout.micro_batches, 8);
    assert_int_equal(layout.chunks_per_rank, 2);
    assert_true(rank_layout_place(&layout, 17, at)); /* 17 = 1 + 2 * (2 + 3 * 2) */
    assert_int_equal(at[AXIS_TENSOR], 1);
    assert_int_equal(at[AXIS_CONTEXT], 0);
    assert_int_equal(at[AXIS_DATA], 2);
    assert_int_equal(at[AXIS_PIPELINE], 2);
    assert_false(rank_layout_place(&layout, 24, at));
    assert_true(rank_layout_parse(&layout, "dp=3,pp=4,order=pp-dp", &error));
    assert_true(rank_layout_place(&layout, 5, at)); /* 5 = 1 + 4 * 1 */
    assert_int_equal(at[AXIS_PIPELINE], 1);
    assert_int_equal(at[AXIS_DATA], 1);
}

static void what_is_no_layout_is_refused(void **state)
{
    static const char *const texts[] = {
        "",           "tp",          "tp=",    "tp=0",
        "tp=-1",      "tp=2x",       "tp=2,",  "xp=2",
        "tp=2;dp=3",  "order=tp-tp", "order=", "order=tp-",
        "order=tpdp", "m=0",         "tp= 2",  "tp=99999999999999999999"};
    struct rank_layout layout = {0};

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct error error = {0};

        assert_false(rank_layout_parse(&layout, texts[i], &error));
        assert_int_equal(error.class, ERROR_USAGE);
        assert_false(layout.is_given);
    }
}

static void names_tell_the_rank(void **state)
{
    assert_int_equal(rank_in_path("a/rank3.json"), 3);
    assert_int_equal(rank_in_path("a/worker12_step_12.1694128201545.pt.trace.json"), 12);
    assert_int_equal(rank_in_path("a/Rank-7.json"), 7);
    assert_int_equal(rank_in_path("traces/rank3_dp1_tp1_pp0/steps3-4.pt.trace.json.gz"), 3);
    assert_int_equal(rank_in_path("rank_5/trace.json"), 5);
    assert_int_equal(rank_in_path("pp_rank_2.json"), 2);
    assert_int_equal(rank_in_path("trace_rank_0.json"), 0);
    assert_int_equal(rank_in_path("rank-0_step-10.json"), 0);
    assert_int_equal(rank_in_path("step10_rank0003.json.gz"), 3);
    assert_int_equal(rank_in_path("iteration_100/rank12_trace.json"), 12);
    assert_int_equal(rank_in_path("torch_profile/rank-7.json.gz"), 7);
    assert_int_equal(rank_in_path("ep0-ba10-rank5.json"), 5);
    assert_int_equal(rank_in_path("rank2.0.pt.trace.json"), 2);
    assert_int_equal(rank_in_path("prof_start_0_end_1_rank_5.json"), 5);
    assert_int_equal(rank_in_path("primus-rank[3].1753953600123.pt.trace.json"), 3);
    assert_int_equal(rank_in_path("rank.5.json"), 5);
    assert_int_equal(rank_in_path("rank.1694128201545.pt.trace.json"), -1);
    assert_int_equal(rank_in_path("Rank 3.json"), 3);
    assert_int_equal(rank_in_path("traceRank3.json"), 3);
    assert_int_equal(rank_in_path("global_rank_9.json"), 9);
    assert_int_equal(rank_in_path("local_rank_1_global_rank_9.json"), 9);
    assert_int_equal(rank_in_path("node_rank_2_rank_17.json"), 17);
    assert_int_equal(rank_in_path("local_rank1.json"), -1);
    assert_int_equal(rank_in_path("dp0_pp1_tp3_ep0_rank7.1753953600123.pt.trace.json.gz"), 7);
    assert_int_equal(rank_in_path("dp_rank_0_tp_rank_1_pp_rank_0.json"), -1);
    assert_int_equal(rank_in_path("dp_rank_0_rank_4_pp_rank_1.json"), 4);
    assert_int_equal(rank_in_path("node3_4711.1753953600123.pt.trace.json"), -1);
    assert_int_equal(rank_in_path("world_size_8/rank_3/steps.json"), 3);
    assert_int_equal(rank_in_path("trace.json"), -1);
    assert_int_equal(rank_in_path("frank3.json"), -1);
    assert_int_equal(rank_in_path("rank.json"), -1);
    assert_int_equal(rank_in_path("/rank"), -1);
    assert_int_equal(rank_in_path(""), -1);
}

static void names_tell_the_place(void **state)
{
    int32_t at[AXIS_COUNT];

    coordinates_in_path(at, "traces/rank3_dp1_tp0_pp2/steps3-4.pt.trace.json.gz");
    assert_int_equal(at[AXIS_DATA], 1);
    assert_int_equal(at[AXIS_TENSOR], 0);
    assert_int_equal(at[AXIS_PIPELINE], 2);
    assert_int_equal(at[AXIS_CONTEXT], -1);
    coordinates_in_path(at, "1753953600.5-TP-3-DP-1-PP-0.trace.json.gz");
    assert_int_equal(at[AXIS_TENSOR], 3);
    assert_int_equal(at[AXIS_DATA], 1);
    assert_int_equal(at[AXIS_PIPELINE], 0);
    coordinates_in_path(at, "dp_rank_0_tp_rank_1_pp_rank_2.json");
    assert_int_equal(at[AXIS_TENSOR], 1);
    assert_int_equal(at[AXIS_DATA], 0);
    assert_int_equal(at[AXIS_PIPELINE], 2);
    coordinates_in_path(at, "tests/dp4/trace.json"); /* one alone may mean anything */
    assert_int_equal(at[AXIS_DATA], -1);
}

static void numbers_alone_tell_ranks(void **state)
{
    static const struct {
        const char *paths[3];
        int64_t ranks[3]; /* [0] -1: they tell none */
    } cases[] = {
        {{"p/profile_2.json", "p/profile_0.json", "p/profile_1.json"}, {2, 0, 1}},
        {{"0/trace.json", "1/trace.json", "2/trace.json"}, {0, 1, 2}},
        {{"run7/0.json.gz", "run7/1.json.gz", "run7/2.json.gz"}, {0, 1, 2}},
        {{"gpu00.json", "gpu02.json", "gpu01.json"}, {0, 2, 1}},
        {{"h_9_0.json", "h_17_1.json", "h_44_2.json"}, {0, 1, 2}},
        {{"a_0.json", "a_1.json", "b_2.json"}, {-1}},               /* not alike */
        {{"a_1.json", "a_2.json", "a_3.json"}, {-1}},               /* not from 0 on */
        {{"a_0.json", "a_0.json", "a_1.json"}, {-1}},               /* twice */
        {{"step_0.json", "step_1.json", "step_2.json"}, {-1}},      /* steps */
        {{"epoch0.json", "epoch1.json", "epoch2.json"}, {-1}},      /* epochs */
        {{"a0_b2.json", "a1_b1.json", "a2_b0.json"}, {-1}},         /* which of the two? */
        {{"99999999999.json", "99999999998.json", "0.json"}, {-1}}, /* times */
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t ranks[3] = {-7, -7, -7};
        bool is_known = ranks_in_numbered_paths(ranks, cases[i].paths, 3);

        if (is_known != (cases[i].ranks[0] >= 0))
            fail_msg("%s: %d", cases[i].paths[0], (int)is_known);
        for (int rank = 0; rank < 3; rank++)
            assert_int_equal(ranks[rank], is_known ? cases[i].ranks[rank] : -7);
    }
    assert_false(ranks_in_numbered_paths(NULL, (const char *const[]){"0.json"}, 1));
    assert_false(ranks_in_numbered_paths(NULL, NULL, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_and_order_are_read), cmocka_unit_test(what_is_no_layout_is_refused),
        cmocka_unit_test(names_tell_the_rank),      cmocka_unit_test(names_tell_the_place),
        cmocka_unit_test(numbers_alone_tell_ranks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
