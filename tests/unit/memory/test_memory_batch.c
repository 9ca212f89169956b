/* What a recorded step trained on. */
#include "memory/memory_run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const char capture[] =
    "{\"parallel\": {\"rank\": 3, \"data\": {\"rank\": 1, \"size\": 4}, \"tensor\": {\"rank\": 1}},"
    "\"precision\": {\"parameters\": {\"float32\": 38}}, \"recorded\": ["
    "{\"trace\": \"a\", \"steps\": [{\"micro_batches\": 1, \"samples\": 99, \"tokens\": 99}]},"
    "{\"trace\": \"b\", \"steps\": [{\"samples\": 1}, {\"micro_batches\": 2, \"samples\": 8, "
    "\"tokens\": 1024}]}]}";

static struct memory_batch parse(const char *trace, const char *text)
{
    struct memory_batch batch = memory_batch_none();
    struct error error = {0};

    assert_true(memory_batch_parse(&batch, trace, text, strlen(text), &error));
    return batch;
}

static void last_step_of_the_trace_counts(void **state)
{
    struct memory_batch batch = parse("b", capture);

    assert_int_equal(batch.samples, 4);
    assert_int_equal(batch.length, 128);
    assert_true(batch.is_float32);
    assert_int_equal(batch.rank, 3);
    assert_int_equal(batch.data_size, 4);
    assert_int_equal(batch.data_rank, 1);
    assert_int_equal(batch.tensor_rank, 1);
    assert_int_equal(parse("a", capture).length, 1); /* no sequence */
}

static void what_is_not_told_is_not_known(void **state)
{
    static const char unknown_samples[] =
        "{\"recorded\": [{\"trace\": \"b\", \"steps\": [{\"samples\": null}]}], \"precision\": "
        "{\"parameters\": {\"float32\": 1, \"bfloat16\": 2}}}";
    static const char *const texts[] = {
        "{}", "[]", "{\"recorded\": [{\"trace\": \"b\", \"steps\": []}]}", unknown_samples};

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct memory_batch batch = parse("b", texts[i]);

        assert_int_equal(batch.samples, -1);
        assert_int_equal(batch.length, -1);
        assert_false(batch.is_float32);
    }
}

static void damage_is_told(void **state)
{
    struct memory_batch batch = memory_batch_none();
    struct error error = {0};

    assert_false(memory_batch_parse(&batch, "b", capture, 50, &error));
    assert_int_equal(error.class, ERROR_INPUT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(last_step_of_the_trace_counts),
        cmocka_unit_test(what_is_not_told_is_not_known),
        cmocka_unit_test(damage_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
