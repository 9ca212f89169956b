/* Snapshots out of pickles: all that versions of PyTorch write, and what is none. */
#include "base/core/attributes.h"
#include "base/io/input_stream.h"
#include "readers/memory_snapshot/cuda_memory_snapshot.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static bool read_text(struct memory_snapshot *snapshot, const char *pickle, struct error *error)
{
    SCOPED(input_stream) input = {0};

    input_stream_open_memory(&input, pickle, strlen(pickle));
    return read_memory_snapshot(snapshot, &input, error);
}

static void refuse(const char *pickle, const char *wanted)
{
    struct memory_snapshot snapshot = {0};
    struct error error = {0};

    assert_false(read_text(&snapshot, pickle, &error));
    assert_int_equal(error.class, ERROR_INPUT);
    if (!strstr(error.message, wanted))
        fail_msg("'%s' is not in: %s", wanted, error.message);
    assert_null(snapshot.segments);
}

/* In protocol 0, which is text: V begins a text, I an integer, ( a mark, d and l end a dict and a
 * list. */
#define SEGMENT                                                                                  \
    "(dVtotal_size\nI4096\nsVaddress\nI8192\nsVblocks\n((dVsize\nI512\nsVrequested_size\nI9\nsV" \
    "state\nVactive_allocated\nsVframes\n((dVname\nVf\nsVfilename\nVa.py\nsVline\nI3\nslsls"
#define EVENT                                                                                    \
    "(dVaction\nValloc\nsVaddr\nI8192\nsVsize\nI9\nsVstream\nI7\nsVtime_us\nI5\nsVuser_metadata" \
    "\nVforward|x\ns"
#define SNAPSHOT(segments, events) \
    "(dVsegments\n(" segments "lsVdevice_traces\n((" events "llsVnew_key\nI1\ns."

static void a_snapshot_is_read(void **state)
{
    SCOPED(memory_snapshot) snapshot = {0};
    struct error error = {0};

    (void)state;
    if (!read_text(&snapshot, SNAPSHOT(SEGMENT, EVENT), &error))
        fail_msg("%s", error.message);
    assert_int_equal(snapshot.segment_count, 1);
    assert_int_equal(snapshot.segments[0].total_bytes, 4096);
    assert_int_equal(snapshot.block_count, 1);
    assert_true(snapshot.blocks[0].address == 8192); /* as the first of its segment */
    assert_int_equal(snapshot.blocks[0].requested_bytes, 9);
    assert_int_equal(snapshot.stack_count, 1);
    assert_int_equal(snapshot.frames[0].line, 3);
    assert_string_equal(snapshot_text(&snapshot, snapshot.frames[0].file), "a.py");
    assert_int_equal(snapshot.traces[0].count, 1);
    assert_int_equal(snapshot.traces[0].events[0].action, SNAPSHOT_ALLOC);
    assert_int_equal(snapshot.traces[0].events[0].time_ns, 5000);
    assert_int_equal(snapshot.traces[0].events[0].stream, 7);
    assert_string_equal(snapshot_text(&snapshot, snapshot.traces[0].events[0].tag), "forward|x");
    assert_true(snapshot_has_device(&snapshot, 0));
    assert_int_equal(snapshot_device_count(&snapshot), 1);
}

static void an_old_snapshot_is_a_list_of_segments(void **state)
{
    SCOPED(memory_snapshot) snapshot = {0};
    struct error error = {0};

    (void)state;
    if (!read_text(&snapshot, "(" SEGMENT "l.", &error))
        fail_msg("%s", error.message);
    assert_int_equal(snapshot.segment_count, 1);
    assert_int_equal(snapshot.trace_count, 0);
}

static void an_oom_tells_what_the_device_had(void **state)
{
    SCOPED(memory_snapshot) snapshot = {0};
    struct error error = {0};

    (void)state;
    if (!read_text(&snapshot,
                   SNAPSHOT("", "(dVaction\nVoom\nsVsize\nI9\nsVdevice_free\nI77\ns"
                                "(dVaction\nVoom\nsVsize\nI9\ns(dVaction\nVmoved\ns"),
                   &error))
        fail_msg("%s", error.message);
    assert_true(snapshot.traces[0].events[0].address == 77);
    assert_true(snapshot.traces[0].events[1].address == UINT64_MAX);
    assert_int_equal(snapshot.traces[0].events[2].action, SNAPSHOT_OTHER);
    assert_int_equal(snapshot.unknown_actions, 1);
    assert_string_equal(snapshot_text(&snapshot, snapshot.unknown_action), "moved");
}

static void what_is_none_is_named_by_its_place(void **state)
{
    (void)state;
    refuse("I5\n.", "holds an integer, expected a dict");
    refuse("(dVentries\n(ls.", "has nothing as 'segments'");
    refuse("(dVsegments\n(lsVdevice_traces\nI3\ns.", "has an integer as 'device_traces'");
    refuse(SNAPSHOT("I1\n", ""), "segments[0]: the segment is an integer");
    refuse(SNAPSHOT("(d", ""), "segments[0]: the segment has no 'total_size'");
    refuse(SNAPSHOT(SEGMENT "(dVtotal_size\nVx\ns", ""), "segments[1]: 'total_size' is a text");
    refuse(SNAPSHOT("(dVtotal_size\nI-1\ns", ""), "'total_size' is too large or negative");
    refuse(SNAPSHOT("(dVtotal_size\nI1\nsVblocks\n((dVstate\nVgone\nsls", ""),
           "segments[0]: 'state' of a block is 'gone'");
    refuse(SNAPSHOT("(dVtotal_size\nI1\nsVdevice\nI5000\ns", ""), "'device' is 5000");
    refuse(SNAPSHOT("", EVENT "I4\n"), "device_traces[0][1]: the event is an integer");
    refuse(SNAPSHOT("", "(dVaddr\nI1\ns"), "device_traces[0][0]: 'action' is nothing");
    refuse(SNAPSHOT("", "(dVaction\nValloc\nsVsize\nF1.5\ns"), "'size' is a real number");
    refuse(SNAPSHOT("", "(dVaction\nValloc\nsVtime_us\nI-1\ns"), "'time_us' is -1");
    refuse(SNAPSHOT("", "(dVaction\nValloc\nsVframes\n(I1\nls"),
           "a frame of a stack is an integer");
    refuse(SNAPSHOT("", "(dVaction\nValloc\nsVframes\nVx\ns"), "'frames' is a text");
}

static void sizes_beyond_any_device_are_refused(void **state)
{
    (void)state;
    refuse(SNAPSHOT("", "(dVaction\nValloc\nsVsize\nL2305843009213693952\ns"), "too large");
    refuse(SNAPSHOT("", "(dVaction\nValloc\nsVsize\nI1152921504606846976\ns"
                        "(dVaction\nValloc\nsVsize\nI1152921504606846976\ns"
                        "(dVaction\nValloc\nsVsize\nI1152921504606846976\ns"
                        "(dVaction\nValloc\nsVsize\nI1152921504606846976\ns"
                        "(dVaction\nValloc\nsVsize\nI1152921504606846976\ns"),
           "add up to more than 4 EiB");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_snapshot_is_read),
        cmocka_unit_test(an_old_snapshot_is_a_list_of_segments),
        cmocka_unit_test(an_oom_tells_what_the_device_had),
        cmocka_unit_test(what_is_none_is_named_by_its_place),
        cmocka_unit_test(sizes_beyond_any_device_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
