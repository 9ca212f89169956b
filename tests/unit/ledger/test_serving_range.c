/* What the names of an inference server's ranges say. */
#include "ledger/serving_range.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

/* Two requests are prefilled: 3 new tokens of 3, 2 new of 7; two are decoded: they see 10 and 20.
 */
static void sums_of_ragged_requests(void **state)
{
    struct serving_range range;

    (void)state;
    assert_true(serving_range_parse(
        &range, "execute_8_context_2(sq5sk10sqsq13sqsk23)_generation_2(sq2sk30sqsq2sqsk30)"));
    assert_int_equal(range.phase, SERVING_MIXED);
    assert_int_equal(range.requests, 4);
    assert_int_equal(range.tokens, 7);
    assert_true(range.has_sums);
    assert_int_equal(range.context.keys, 10);
    /* 1 + 2 + 3 of the first; of the second the sixth token sees 6 and the seventh 7 */
    assert_int_equal(causal_pairs(&range.context), 1 + 2 + 3 + 6 + 7);
    assert_int_equal(causal_pairs(&range.generation), 10 + 20);
}

static void names_without_sums(void **state)
{
    struct serving_range range;

    (void)state;
    assert_true(serving_range_parse(&range, "execute_context_1(512)_generation_3(3)"));
    assert_int_equal(range.phase, SERVING_MIXED);
    assert_int_equal(range.tokens, 515);
    assert_false(range.has_sums);
    assert_true(serving_range_parse(&range, "step[DECODE bs=32]"));
    assert_int_equal(range.phase, SERVING_DECODE);
    assert_int_equal(range.requests, 32);
    assert_int_equal(range.tokens, 32);
    assert_true(serving_range_parse(&range, "step[EXTEND bs=15 toks=15360]"));
    assert_int_equal(range.phase, SERVING_PREFILL);
    assert_int_equal(range.tokens, 15360);
    assert_true(serving_range_parse(&range, "step[EXTEND bs=15]"));
    assert_int_equal(range.tokens, -1);
    assert_true(serving_range_parse(
        &range, "execute_32_context_0(sq0sk0sqsq0sqsk0)_generation_32(sq32sk900sqsq32sqsk900)"));
    assert_int_equal(range.phase, SERVING_DECODE);
    assert_string_equal(serving_phase_name(range.phase), "decode");
}

static void other_names_and_impossible_sums(void **state)
{
    static const char *const names[] = {
        "",
        "execute_",
        "execute_model",
        "step[",
        "step[IDLE bs=1]",
        "step[DECODE bs=0]",
        "step[DECODE bs=32] again",
        "execute_context_0(0)_generation_0(0)",
        "execute_0_context_0(sq0sk0sqsq0sqsk0)_generation_0(sq0sk0sqsq0sqsk0)",
        /* more new tokens than seen ones, more than the step has, no request and a sum */
        "execute_8_context_1(sq5sk4sqsq25sqsk25)_generation_0(sq0sk0sqsq0sqsk0)",
        "execute_4_context_1(sq5sk5sqsq25sqsk25)_generation_0(sq0sk0sqsq0sqsk0)",
        "execute_8_context_0(sq0sk9sqsq0sqsk9)_generation_1(sq1sk1sqsq1sqsk1)",
        "execute_8_context_1(sq5sk5sqsq25sqsk99999999999999999999)_generation_0(sq0sk0sqsq0sqsk0)",
    };
    struct serving_range range;

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_false(serving_range_parse(&range, names[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_of_ragged_requests),
        cmocka_unit_test(names_without_sums),
        cmocka_unit_test(other_names_and_impossible_sums),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
