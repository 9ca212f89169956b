/* What memory was for, and when it was the most. */
#include "support_memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* The block of this size that is allocated at a time; fails the test where there is none. */
static const struct memory_block *block_at(const struct memory_run *run, int64_t start_ns,
                                           int64_t bytes)
{
    for (uint32_t i = 0; i < run->blocks.count; i++)
        if (run->blocks.blocks[i].start_ns == start_ns && run->blocks.blocks[i].bytes == bytes)
            return &run->blocks.blocks[i];
    fail_msg("no block of %lld bytes at %lld", (long long)bytes, (long long)start_ns);
    return NULL;
}

static void expect(const struct memory_run *run, const struct memory_block *block,
                   enum memory_kind kind, enum memory_phase phase, const char *module)
{
    assert_int_equal(block->kind, kind);
    assert_int_equal(block->phase, phase);
    assert_string_equal(memory_block_module(run, block), module);
}

static void kinds_phases_and_modules_are_found(void **state)
{
    struct made_memory made;
    const struct memory_run *run = &made.run;

    made_memory_init(&made, memory_trace_text, memory_side_text);
    assert_int_equal(run->blocks.count, 8);
    assert_int_equal(run->blocks.moment_count, 5);
    assert_int_equal(run->blocks.missing_marks, 0);
    assert_int_equal(run->blocks.unseen_frees, 0);
    expect(run, &run->blocks.blocks[0], MEMORY_PARAMETER, MEMORY_OUTSIDE, "lin");
    expect(run, &run->blocks.blocks[1], MEMORY_GRADIENT, MEMORY_OUTSIDE, "lin");
    assert_int_equal(run->blocks.blocks[1].end_ns, 5000);
    expect(run, block_at(run, 6000, 64), MEMORY_INPUT, MEMORY_OUTSIDE, "");
    expect(run, block_at(run, 13000, 500), MEMORY_ACTIVATION, MEMORY_FORWARD, "lin");
    expect(run, block_at(run, 14000, 300), MEMORY_TEMPORARY, MEMORY_FORWARD, "lin");
    expect(run, block_at(run, 32000, 8), MEMORY_ACTIVATION, MEMORY_FORWARD, "(loss)");
    expect(run, block_at(run, 42000, 1000), MEMORY_GRADIENT, MEMORY_BACKWARD, "lin");
    expect(run, block_at(run, 62000, 200), MEMORY_TEMPORARY, MEMORY_OPTIMIZER, "");
    assert_string_equal(memory_block_op(run, block_at(run, 32000, 8)), "aten::nll_loss");
    made_memory_clear(&made);
}

static void peak_is_exact(void **state)
{
    struct made_memory made;
    const struct memory_run *run = &made.run;
    struct memory_peak peak;
    struct memory_sums sums;

    made_memory_init(&made, memory_trace_text, memory_side_text);
    peak = memory_peak_between(run, HOST_MEMORY, 0, run->blocks.change_count);
    assert_int_equal(peak.bytes, 2572);
    assert_int_equal(run->blocks.blocks[peak.block].start_ns, 42000);
    sums = memory_alive(run, HOST_MEMORY, peak.change_count);
    assert_int_equal(sums.total, 2572);
    assert_int_equal(sums.bytes[MEMORY_PARAMETER], 1000);
    assert_int_equal(sums.bytes[MEMORY_GRADIENT], 1000);
    assert_int_equal(sums.bytes[MEMORY_INPUT], 64);
    assert_int_equal(sums.bytes[MEMORY_ACTIVATION], 508);
    assert_int_equal(run->steps[0].first_change, 2); /* two blocks are from before */
    assert_int_equal(memory_alive(run, HOST_MEMORY, run->blocks.change_count).total, 2072);
    made_memory_clear(&made);
}

/* Without the recorder's file the trace alone is told, from zero on. */
static void trace_alone_is_enough_for_what_is_new(void **state)
{
    struct made_memory made;
    const struct memory_run *run = &made.run;

    made_memory_init(&made, memory_trace_text, NULL);
    assert_int_equal(run->blocks.moment_count, 0);
    assert_int_equal(memory_peak_between(run, HOST_MEMORY, 0, run->blocks.change_count).bytes,
                     1572);
    expect(run, block_at(run, 42000, 1000), MEMORY_TEMPORARY, MEMORY_BACKWARD, "lin");
    made_memory_clear(&made);
}

/* A release that nothing tells of: the block's address is used again. */
static void address_used_again_ends_a_block(void **state)
{
    static const char side[] =
        "{\"schema\": \"flopledger.memory\", \"tensors\": [[\"other\", \"\", \"a\"], [\"other\", "
        "\"\", \"x\"], [\"other\", \"\", \"b\"]], \"marks\": [{\"point\": \"start\", \"step\": 3, "
        "\"live\": [0, 4, 70, -1, 2, 99, 30, -1]}, {\"point\": \"forward start\", \"step\": 3, "
        "\"live\": [], \"gone\": [2]}]}";
    struct made_memory made;
    const struct memory_run *run = &made.run;

    made_memory_init(&made, memory_trace_text, side);
    assert_int_equal(run->blocks.blocks[0].end_ns, 13000);
    assert_int_equal(run->blocks.blocks[1].end_ns, 10000);
    assert_int_equal(run->blocks.unseen_frees, 2);
    assert_int_equal(run->blocks.unseen_bytes, 100);
    made_memory_clear(&made);
}

/* A device's allocator tells what it held before: what no mark explains is a block of its own. */
static void device_memory_from_before_is_not_lost(void **state)
{
    static const char text[] =
        "{\"traceEvents\": [{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"flopledger:mark#0\", "
        "\"pid\": 1, \"tid\": 2, \"ts\": 0, \"dur\": 1}, {\"ph\": \"i\", \"name\": \"[memory]\", "
        "\"pid\": 1, \"tid\": 2, \"ts\": 5, \"args\": {\"Bytes\": 512, \"Addr\": 9, \"Device "
        "Type\": 1, \"Device Id\": 0, \"Total Allocated\": 3584, \"Total Reserved\": 8192}}, "
        "{\"ph\": \"i\", \"name\": \"[memory]\", \"pid\": 1, \"tid\": 2, \"ts\": 6, \"args\": "
        "{\"Bytes\": -1024, \"Addr\": 8, \"Device Type\": 1, \"Device Id\": 0, \"Total "
        "Allocated\": 2560}}]}";
    static const char side[] =
        "{\"schema\": \"flopledger.memory\", \"tensors\": [[\"parameter\", \"lin\", \"weight\"]],"
        "\"marks\": [{\"point\": \"start\", \"step\": 3, \"live\": [0, 8, 1000, 0]}]}";
    struct made_memory made;
    const struct memory_run *run = &made.run;

    made_memory_init(&made, text, side);
    assert_int_equal(memory_main_device(run), 0);
    assert_int_equal(memory_peak_between(run, 0, 0, run->blocks.change_count).bytes, 3584);
    assert_int_equal(memory_alive(run, 0, run->blocks.change_count).total, 2560);
    assert_int_equal(memory_alive(run, 0, 1).bytes[MEMORY_PARAMETER], 1024); /* rounded up */
    assert_int_equal(run->blocks.unknown_frees, 0);
    made_memory_clear(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kinds_phases_and_modules_are_found),
        cmocka_unit_test(peak_is_exact),
        cmocka_unit_test(trace_alone_is_enough_for_what_is_new),
        cmocka_unit_test(address_used_again_ends_a_block),
        cmocka_unit_test(device_memory_from_before_is_not_lost),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
