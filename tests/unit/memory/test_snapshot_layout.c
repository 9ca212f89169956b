/* Used, stuck and releasable memory, at the end and at any moment before. */
#include "base/core/attributes.h"
#include "memory/snapshot_layout.h"
#include "support_snapshot.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Two segments: one with a block between two holes, and one that is free. */
static void make_holes(struct made_snapshot *made)
{
    made_snapshot_init(made);
    made_segment(made, 0x10000, 8192);
    made_block(made, SNAPSHOT_INACTIVE, 1024, 1024);
    made_block(made, SNAPSHOT_ACTIVE, 512, 300);
    made_block(made, SNAPSHOT_PENDING, 512, 512);
    made_block(made, SNAPSHOT_INACTIVE, 6144, 6144);
    made_segment(made, 0x20000, 4096);
    made_block(made, SNAPSHOT_INACTIVE, 4096, 4096);
}

static void the_end_is_exact(void **state)
{
    SCOPED(snapshot_replay) replay = {0};
    SCOPED(memory_layout) layout = {0};
    struct made_snapshot made;

    make_holes(&made);
    replay_snapshot(&replay, &made.snapshot, 0);
    lay_out_end(&layout, &replay);
    assert_int_equal(layout.reserved_bytes, 12288);
    assert_int_equal(layout.used_bytes, 1024);
    assert_int_equal(layout.requested_bytes, 300);
    assert_int_equal(layout.pending_bytes, 512);
    assert_int_equal(layout.stuck_bytes, 7168);
    assert_int_equal(layout.releasable_bytes, 4096);
    assert_int_equal(layout.largest_free_bytes, 6144);
    made_snapshot_clear(&made);
}

static void the_last_moment_agrees_with_the_end(void **state)
{
    SCOPED(snapshot_replay) replay = {0};
    SCOPED(memory_layout) end = {0};
    SCOPED(memory_layout) moment = {0};
    struct made_snapshot made;

    make_holes(&made);
    replay_snapshot(&replay, &made.snapshot, 0);
    lay_out_end(&end, &replay);
    assert_true(lay_out_moment(&moment, &replay, replay.event_count));
    assert_int_equal(moment.count, end.count);
    assert_int_equal(moment.used_bytes, end.used_bytes);
    assert_int_equal(moment.stuck_bytes, end.stuck_bytes);
    assert_int_equal(moment.releasable_bytes, end.releasable_bytes);
    assert_int_equal(moment.largest_free_bytes, end.largest_free_bytes);
    made_snapshot_clear(&made);
}

static void events_are_undone(void **state)
{
    SCOPED(snapshot_replay) replay = {0};
    SCOPED(memory_layout) layout = {0};
    struct made_snapshot made;

    made_snapshot_init(&made);
    made_event(&made, SNAPSHOT_ALLOC, 0x30000, 1000);
    made_event(&made, SNAPSHOT_FREE_COMPLETED, 0x30000, 1000);
    made_event(&made, SNAPSHOT_SEGMENT_FREE, 0x30000, 4096);
    made_event(&made, SNAPSHOT_SEGMENT_ALLOC, 0x10000, 2048);
    made_segment(&made, 0x10000, 2048);
    made_block(&made, SNAPSHOT_INACTIVE, 2048, 2048);
    replay_snapshot(&replay, &made.snapshot, 0);
    assert_true(lay_out_moment(&layout, &replay, 1));
    assert_int_equal(layout.count, 1);
    assert_true(layout.segments[0].address == 0x30000);
    assert_int_equal(layout.reserved_bytes, 4096);
    assert_int_equal(layout.used_bytes, 1024);
    assert_int_equal(layout.requested_bytes, 1000);
    assert_int_equal(layout.stuck_bytes, 3072);
    assert_int_equal(layout.releasable_bytes, 0);
    made_snapshot_clear(&made);
}

static void expandable_segments_grow_and_shrink(void **state)
{
    SCOPED(snapshot_replay) replay = {0};
    SCOPED(memory_layout) before = {0};
    SCOPED(memory_layout) middle = {0};
    struct made_snapshot made;

    made_snapshot_init(&made);
    made_event(&made, SNAPSHOT_SEGMENT_MAP, 0x12000, 0x2000);
    made_event(&made, SNAPSHOT_SEGMENT_UNMAP, 0x11000, 0x1000); /* a hole in the middle */
    made_segment(&made, 0x10000, 0x1000);
    made_segment(&made, 0x12000, 0x2000);
    made.segments[0].is_expandable = made.segments[1].is_expandable = true;
    replay_snapshot(&replay, &made.snapshot, 0);
    assert_true(lay_out_moment(&middle, &replay, 1));
    assert_int_equal(middle.count, 1); /* the pieces touch each other */
    assert_int_equal(middle.reserved_bytes, 0x4000);
    assert_int_equal(middle.largest_free_bytes, 0x4000);
    assert_true(lay_out_moment(&before, &replay, 0));
    assert_int_equal(before.count, 1);
    assert_int_equal(before.reserved_bytes, 0x2000);
    made_snapshot_clear(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_end_is_exact),
        cmocka_unit_test(the_last_moment_agrees_with_the_end),
        cmocka_unit_test(events_are_undone),
        cmocka_unit_test(expandable_segments_grow_and_shrink),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
