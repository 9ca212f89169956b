/* What the allocator held at each moment, found from both ends of the trace. */
#include "base/core/attributes.h"
#include "memory/snapshot_replay.h"
#include "support_snapshot.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* 100 bytes stand from before; 40 from before are freed in the trace; 60 come and go. */
static void make_run(struct made_snapshot *made)
{
    made_snapshot_init(made);
    made_event(made, SNAPSHOT_ALLOC, 0x1200, 60);
    made_event(made, SNAPSHOT_FREE_REQUESTED, 0x1400, 40);
    made_event(made, SNAPSHOT_FREE_COMPLETED, 0x1400, 40);
    made_event(made, SNAPSHOT_FREE_REQUESTED, 0x1200, 60);
    made_event(made, SNAPSHOT_FREE_COMPLETED, 0x1200, 60);
    made_segment(made, 0x1000, 0x1000);
    made_block(made, SNAPSHOT_ACTIVE, 512, 100);
    made_block(made, SNAPSHOT_INACTIVE, 0x1000 - 512, 60);
}

static void what_stood_before_counts(void **state)
{
    SCOPED(snapshot_replay) replay = {0};
    struct made_snapshot made;

    make_run(&made);
    replay_snapshot(&replay, &made.snapshot, 0);
    assert_int_equal(replay.event_count, 5);
    assert_int_equal(replay.base_bytes, 140);
    assert_int_equal(replay.unseen_bytes, 40);
    assert_int_equal(replay.peak_moment, 1);
    assert_int_equal(replay.live_bytes[1], 200);
    assert_int_equal(replay.live_bytes[2], 200); /* given back, and not yet free */
    assert_int_equal(pending_bytes_at(&replay, 2), 40);
    assert_int_equal(replay.live_bytes[3], 160);
    assert_int_equal(replay.live_bytes[5], 100);
    assert_int_equal(replay.reserved_bytes[0], 0x1000);
    assert_int_equal(moment_time_ns(&replay, 5), 4000);
    assert_int_equal(replay.reused_addresses + replay.changed_sizes + replay.vanished_lives +
                         replay.impossible_moments,
                     0);
    made_snapshot_clear(&made);
}

static void an_address_is_used_again(void **state)
{
    SCOPED(snapshot_replay) replay = {0};
    struct made_snapshot made;

    made_snapshot_init(&made);
    for (int i = 0; i < 3; i++) {
        made_event(&made, SNAPSHOT_ALLOC, 0x1000, 10 + i);
        made_event(&made, SNAPSHOT_FREE_COMPLETED, 0x1000, 10 + i);
    }
    made_event(&made, SNAPSHOT_ALLOC, 0x1000, 20);
    made_segment(&made, 0x1000, 512);
    made_block(&made, SNAPSHOT_ACTIVE, 512, 20);
    replay_snapshot(&replay, &made.snapshot, 0);
    assert_int_equal(replay.life_count, 4);
    assert_int_equal(replay.base_bytes, 0);
    assert_int_equal(replay.live_bytes[replay.peak_moment], 20);
    assert_int_equal(replay.changed_sizes, 0);
    made_snapshot_clear(&made);
}

static void reserved_memory_is_counted_backwards(void **state)
{
    SCOPED(snapshot_replay) replay = {0};
    struct made_snapshot made;

    made_snapshot_init(&made);
    made_event(&made, SNAPSHOT_SEGMENT_ALLOC, 0x4000, 0x1000);
    made_event(&made, SNAPSHOT_SEGMENT_MAP, 0x9000, 0x2000);
    made_event(&made, SNAPSHOT_SEGMENT_FREE, 0x4000, 0x1000);
    made_event(&made, SNAPSHOT_SEGMENT_UNMAP, 0x9000, 0x2000);
    made_segment(&made, 0x1000, 0x800);
    replay_snapshot(&replay, &made.snapshot, 0);
    assert_int_equal(replay.reserved_bytes[0], 0x800);
    assert_int_equal(replay.reserved_bytes[1], 0x1800);
    assert_int_equal(replay.reserved_bytes[2], 0x3800);
    assert_int_equal(replay.reserved_bytes[4], 0x800);
    assert_int_equal(replay.reserved_peak_moment, 2);
    made_snapshot_clear(&made);
}

static void contradictions_are_counted(void **state)
{
    SCOPED(snapshot_replay) replay = {0};
    struct made_snapshot made;

    made_snapshot_init(&made);
    made_event(&made, SNAPSHOT_ALLOC, 0x1000, 10);
    made_event(&made, SNAPSHOT_ALLOC, 0x1000, 12);          /* a free is missing */
    made_event(&made, SNAPSHOT_FREE_COMPLETED, 0x1000, 11); /* of another size */
    made_event(&made, SNAPSHOT_ALLOC, 0x2000, 500);         /* and in no segment */
    replay_snapshot(&replay, &made.snapshot, 0);
    assert_int_equal(replay.reused_addresses, 1);
    assert_int_equal(replay.changed_sizes, 1);
    assert_int_equal(replay.vanished_lives, 1);
    assert_int_equal(replay.vanished_bytes, 500);
    assert_int_equal(replay.impossible_moments, 3);
    made_snapshot_clear(&made);
}

static void blocks_of_the_snapshot_lend_their_stacks(void **state)
{
    SCOPED(snapshot_replay) replay = {0};
    struct made_snapshot made;

    made_snapshot_init(&made);
    made_event(&made, SNAPSHOT_ALLOC, 0x1000, 10);
    made_segment(&made, 0x1000, 2048);
    made_block(&made, SNAPSHOT_ACTIVE, 512, 10);
    made_block(&made, SNAPSHOT_PENDING, 512, 20);
    made.blocks[0].stack = 3;
    made.blocks[1].stack = 4;
    replay_snapshot(&replay, &made.snapshot, 0);
    assert_int_equal(replay.life_count, 2);
    assert_int_equal(replay.lives[0].stack, 3);
    assert_int_equal(replay.lives[1].stack, 4);
    assert_int_equal(replay.lives[1].born, 0);
    assert_int_equal(pending_bytes_at(&replay, 1), 20);
    made_snapshot_clear(&made);
}

static void without_events_the_end_is_all(void **state)
{
    SCOPED(snapshot_replay) replay = {0};
    struct made_snapshot made;

    made_snapshot_init(&made);
    made_segment(&made, 0x1000, 2048);
    made_block(&made, SNAPSHOT_ACTIVE, 512, 10);
    replay_snapshot(&replay, &made.snapshot, 0);
    assert_int_equal(replay.peak_moment, 0);
    assert_int_equal(replay.live_bytes[0], 10);
    made_snapshot_clear(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_stood_before_counts),
        cmocka_unit_test(an_address_is_used_again),
        cmocka_unit_test(reserved_memory_is_counted_backwards),
        cmocka_unit_test(contradictions_are_counted),
        cmocka_unit_test(blocks_of_the_snapshot_lend_their_stacks),
        cmocka_unit_test(without_events_the_end_is_all),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
