/* How the ranks of a run divide the work. */
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

    (void)state;
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

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct error error = {0};

        assert_false(rank_layout_parse(&layout, texts[i], &error));
        assert_int_equal(error.class, ERROR_USAGE);
        assert_false(layout.is_given);
    }
}

static void names_tell_the_rank(void **state)
{
    (void)state;
    assert_int_equal(rank_in_path("a/rank3.json"), 3);
    assert_int_equal(rank_in_path("a/worker12_step_12.1694128201545.pt.trace.json"), 12);
    assert_int_equal(rank_in_path("a/Rank-7.json"), 7);
    assert_int_equal(rank_in_path("traces/rank3_dp1_tp1_pp0/steps3-4.pt.trace.json.gz"), 3);
    assert_int_equal(rank_in_path("rank_5/trace.json"), 5);
    assert_int_equal(rank_in_path("pp_rank_2.json"), 2);
    assert_int_equal(rank_in_path("trace.json"), -1);
    assert_int_equal(rank_in_path("frank3.json"), -1);
    assert_int_equal(rank_in_path("rank.json"), -1);
    assert_int_equal(rank_in_path("/rank"), -1);
    assert_int_equal(rank_in_path(""), -1);
}

static void names_tell_the_place(void **state)
{
    int32_t at[AXIS_COUNT];

    (void)state;
    coordinates_in_path(at, "traces/rank3_dp1_tp0_pp2/steps3-4.pt.trace.json.gz");
    assert_int_equal(at[AXIS_DATA], 1);
    assert_int_equal(at[AXIS_TENSOR], 0);
    assert_int_equal(at[AXIS_PIPELINE], 2);
    assert_int_equal(at[AXIS_CONTEXT], -1);
    coordinates_in_path(at, "tests/dp4/trace.json"); /* one alone may mean anything */
    assert_int_equal(at[AXIS_DATA], -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_and_order_are_read),
        cmocka_unit_test(what_is_no_layout_is_refused),
        cmocka_unit_test(names_tell_the_rank),
        cmocka_unit_test(names_tell_the_place),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
