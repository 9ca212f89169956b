/* Another batch, and other ways to train. */
#include "base/core/attributes.h"
#include "memory/memory_what_if.h"
#include "support_memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* Of the step of support_memory.h, as if its micro-batch had 4 samples. */
struct made_forecast {
    struct made_memory memory;
    struct memory_forecast forecast;
    struct memory_replay replay;
};

static void made_forecast_init(struct made_forecast *made)
{
    made_memory_init(&made->memory, memory_trace_text, memory_side_text);
    memory_forecast_init(&made->forecast, &made->memory.run, HOST_MEMORY, 4, -1);
    made->replay = (struct memory_replay){.moment_count = 0};
    memory_replay_init(&made->replay, &made->forecast);
    memory_replay_fill(&made->replay, &made->forecast);
}

static void made_forecast_clear(struct made_forecast *made)
{
    memory_replay_clear(&made->replay);
    memory_forecast_clear(&made->forecast);
    made_memory_clear(&made->memory);
}

static void recorded_batch_has_the_recorded_peak(void **state)
{
    struct made_forecast made;
    struct forecast_peak peak;

    made_forecast_init(&made);
    peak = memory_replay_peak(&made.replay, &made.forecast, 4, -1);
    assert_int_equal(peak.bytes, 2572);
    assert_int_equal(peak.phase, MEMORY_BACKWARD);
    made_forecast_clear(&made);
}

/* Fixed: parameter 1000, gradient 1000, loss 8. Growing: input 64, activation 500, and for a while
 * 300. */
static void peak_moves_with_the_batch(void **state)
{
    struct made_forecast made;
    struct forecast_peak peak;

    made_forecast_init(&made);
    peak = memory_replay_peak(&made.replay, &made.forecast, 8, -1);
    assert_int_equal(peak.bytes, 2008 + 2 * 564);
    assert_int_equal(peak.phase, MEMORY_BACKWARD);
    peak = memory_replay_peak(&made.replay, &made.forecast, 40, -1);
    assert_int_equal(peak.bytes, 1000 + 10 * 864);
    assert_int_equal(peak.phase, MEMORY_FORWARD);
    assert_int_equal(memory_most_samples(&made.replay, &made.forecast, 1000 + 10 * 864), 40);
    assert_int_equal(memory_most_samples(&made.replay, &made.forecast, 1000 + 10 * 864 - 1), 39);
    assert_int_equal(memory_most_samples(&made.replay, &made.forecast, 900), 0);
    made_forecast_clear(&made);
}

static const struct what_if *find_way(const struct what_ifs *ways, const char *name)
{
    for (int i = 0; i < ways->count; i++)
        if (strcmp(ways->ways[i].name, name) == 0)
            return &ways->ways[i];
    return NULL;
}

static int64_t peak_of(const struct what_ifs *ways, const struct made_forecast *made,
                       const char *name)
{
    const struct what_if *way = find_way(ways, name);

    if (!way)
        fail_msg("no way called '%s'", name);
    return memory_replay_peak(&way->replay, &made->forecast, 4, -1).bytes;
}

static void ways_change_what_they_say(void **state)
{
    struct made_forecast made;
    SCOPED(what_ifs) ways = {0};

    made_forecast_init(&made);
    find_what_ifs(&ways, &made.forecast, &(struct what_if_options){.ranks = 4, .is_float32 = true});
    assert_int_equal(peak_of(&ways, &made, "as recorded"), 2572);
    assert_int_equal(peak_of(&ways, &made, "ZeRO-1 over 4 ranks"), 2572); /* no state here */
    /* The gradient is a quarter: the forward's 1864 is the most, before the gradient's 1822. */
    assert_int_equal(peak_of(&ways, &made, "ZeRO-2 over 4 ranks"), 1864);
    /* 250 of the parameter, and it is gathered whole beside that. */
    assert_int_equal(peak_of(&ways, &made, "ZeRO-3 over 4 ranks"), 1864 - 750 + 1000);
    /* parameter 500, gradient 500, activation 250, loss 4, input 64, and a float32 parameter */
    assert_int_equal(peak_of(&ways, &made, "bf16"), 500 + 500 + 250 + 4 + 64 + 1000);
    assert_null(find_way(&ways, "fused cross-entropy")); /* its loss is a scalar */
    made_forecast_clear(&made);
}

/* "lin" once more in the backward: its activation is away between its forward and its backward, and
 * the temporary is needed again. */
static void checkpointing_moves_activations(void **state)
{
    struct made_forecast made;
    SCOPED(memory_replay) replay = {.moment_count = 0};
    uint32_t units[8];
    uint32_t lin;

    made_forecast_init(&made);
    lin = module_tree_find(&made.memory.run.tree, "lin");
    for (uint32_t i = 0; i < 8; i++)
        units[i] = i == lin ? lin : NO_MODULE;
    memory_replay_init(&replay, &made.forecast);
    memory_replay_checkpointed(&replay, &made.forecast, units);
    /* backward begins with the gradient: 1000 + 64 + 8 + 1000, the activation 500 and 300 again */
    assert_int_equal(memory_replay_peak(&replay, &made.forecast, 4, -1).bytes, 2572 + 300);
    made_forecast_clear(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recorded_batch_has_the_recorded_peak),
        cmocka_unit_test(peak_moves_with_the_batch),
        cmocka_unit_test(ways_change_what_they_say),
        cmocka_unit_test(checkpointing_moves_activations),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
