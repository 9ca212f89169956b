/* Calls of NCCL and what they say of the kernels that they launch. */
#include "ledger/collective_call.h"
#include "readers/nsys/nsys_database.h"
#include "trace/trace_builder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { WORLD = 77, RANKS = 8 };

struct calls {
    struct trace_builder builder;
    struct nccl_ranges ranges;
    struct trace trace;
    uint32_t thread;
    uint32_t stream;
    int64_t correlation;
};

static uint32_t text(struct calls *calls, const char *name)
{
    return string_pool_add(&calls->builder.strings, name, strlen(name));
}

static void begin(struct calls *calls)
{
    struct track_key thread = {.device = -1, .stream = -1};
    struct track_key stream = {.is_device = true, .stream = 7};

    *calls = (struct calls){.correlation = 0};
    trace_builder_init(&calls->builder);
    text(calls, "");
    thread.process = thread.thread = stream.process = stream.thread = text(calls, "1");
    calls->thread = trace_builder_track(&calls->builder, &thread);
    calls->stream = trace_builder_track(&calls->builder, &stream);
}

static struct found_event event_at(struct calls *calls, enum event_kind kind, const char *name,
                                   const int64_t range_ns[2])
{
    return (struct found_event){.kind = (uint8_t)kind,
                                .name = text(calls, name),
                                .track = calls->thread,
                                .start_ns = range_ns[0],
                                .duration_ns = range_ns[1] - range_ns[0],
                                .correlation = NO_ID,
                                .external_id = NO_ID};
}

/* bytes < 0: a call without a payload. */
static void nccl(struct calls *calls, const char *name, int64_t start_ns, int64_t end_ns,
                 int64_t bytes)
{
    struct nvtx_payload payload = {.values = {WORLD, (uint64_t)bytes}, .has = {true, bytes >= 0}};
    struct found_event event =
        event_at(calls, EVENT_ANNOTATION, name, (int64_t[2]){start_ns, end_ns});

    nccl_ranges_add(&calls->ranges, &event, &payload);
}

static void init_world(struct calls *calls)
{
    struct nvtx_payload payload = {.values = {WORLD, 0, RANKS}, .has = {true, false, true}};
    struct found_event event =
        event_at(calls, EVENT_ANNOTATION, "ncclCommInitRank", (int64_t[2]){0, 1});

    nccl_ranges_add(&calls->ranges, &event, &payload);
}

/* A kernel that is launched at `launch_ns`. */
static void kernel(struct calls *calls, const char *name, int64_t launch_ns)
{
    struct found_event event = event_at(calls, EVENT_RUNTIME_CALL, "cudaLaunchKernelExC",
                                        (int64_t[2]){launch_ns, launch_ns + 1});

    event.correlation = ++calls->correlation;
    trace_builder_add(&calls->builder, &event);
    event.kind = EVENT_KERNEL;
    event.name = text(calls, name);
    event.track = calls->stream;
    trace_builder_add(&calls->builder, &event);
}

static void end(struct calls *calls)
{
    nccl_ranges_finish(&calls->ranges, &calls->builder);
    nccl_ranges_clear(&calls->ranges);
    trace_finish(&calls->trace, &calls->builder, 1, 1);
}

static void assert_call(struct calls *calls, uint32_t index, enum collective_kind kind,
                        int64_t bytes)
{
    struct collective_call call = describe_collective(&calls->trace, index);

    assert_string_equal(collective_kind_key(call.kind), collective_kind_key(kind));
    assert_int_equal(collective_bytes(&call), bytes);
}

static void names_tell_a_call(void **state)
{
    (void)state;
    assert_true(is_nccl_call("ncclAllReduce"));
    assert_true(is_nccl_call("ncclGroupEnd"));
    assert_false(is_nccl_call("nccl:all_reduce"));
    assert_false(is_nccl_call("ncc"));
    assert_false(is_nccl_call("nccl"));
}

static void a_call_by_itself_has_its_message(void **state)
{
    struct calls calls;

    (void)state;
    begin(&calls);
    init_world(&calls);
    nccl(&calls, "ncclAllReduce", 10, 20, 4096);
    kernel(&calls, "ncclDevKernel_AllReduce", 15);
    nccl(&calls, "ncclAllGather", 30, 40, 4096); /* of each rank */
    kernel(&calls, "ncclDevKernel_AllGather", 35);
    nccl(&calls, "ncclReduce", 50, 60, -1);
    kernel(&calls, "ncclDevKernel_Reduce", 55);
    end(&calls);
    assert_call(&calls, 0, COLLECTIVE_ALL_REDUCE, 4096);
    assert_int_equal(describe_collective(&calls.trace, 0).group_size, RANKS);
    assert_call(&calls, 1, COLLECTIVE_ALL_GATHER, 4096 * RANKS);
    assert_call(&calls, 2, COLLECTIVE_REDUCE, -1);
    trace_clear(&calls.trace);
}

/* How many ranks there are decides about the message. */
static void a_part_of_an_unknown_whole_is_not_known(void **state)
{
    struct calls calls;

    (void)state;
    begin(&calls);
    nccl(&calls, "ncclReduceScatter", 10, 20, 4096);
    kernel(&calls, "ncclDevKernel_ReduceScatter", 15);
    nccl(&calls, "ncclBroadcast", 30, 40, 4096);
    kernel(&calls, "ncclDevKernel_Broadcast", 35);
    end(&calls);
    assert_call(&calls, 0, COLLECTIVE_REDUCE_SCATTER, -1);
    assert_call(&calls, 1, COLLECTIVE_BROADCAST, 4096);
    trace_clear(&calls.trace);
}

/* Their kernel is launched when the group ends, after the calls have returned. */
static void a_group_is_what_was_called_in_it(void **state)
{
    struct calls calls;
    struct found_event around;

    (void)state;
    begin(&calls);
    around = event_at(&calls, EVENT_ANNOTATION, "nccl:all_to_all", (int64_t[2]){5, 50});
    trace_builder_add(&calls.builder, &around);
    nccl(&calls, "ncclGroupStart", 10, 10, -1);
    nccl(&calls, "ncclSend", 10, 12, 1000);
    nccl(&calls, "ncclRecv", 12, 14, 3000);
    nccl(&calls, "ncclSend", 14, 16, 1500);
    nccl(&calls, "ncclGroupEnd", 20, 40, -1);
    kernel(&calls, "ncclDevKernel_SendRecv", 30);
    nccl(&calls, "ncclGroupStart", 60, 61, -1);
    nccl(&calls, "ncclAllReduce", 62, 63, 4096);
    nccl(&calls, "ncclAllReduce", 64, 65, 1024);
    nccl(&calls, "ncclGroupEnd", 66, 80, -1);
    kernel(&calls, "ncclDevKernel_AllReduce", 70);
    end(&calls);
    assert_call(&calls, 0, COLLECTIVE_ALL_TO_ALL, 3000);
    assert_call(&calls, 1, COLLECTIVE_ALL_REDUCE, 5120);
    trace_clear(&calls.trace);
}

static void what_cannot_be_told_apart_is_not_known(void **state)
{
    struct calls calls;

    (void)state;
    begin(&calls);
    nccl(&calls, "ncclGroupStart", 0, 1, -1); /* two calls, two kernels */
    nccl(&calls, "ncclAllReduce", 2, 3, 4096);
    nccl(&calls, "ncclAllReduce", 4, 5, 1024);
    nccl(&calls, "ncclGroupEnd", 6, 20, -1);
    kernel(&calls, "ncclDevKernel_AllReduce", 10);
    kernel(&calls, "ncclDevKernel_AllReduce", 15);
    nccl(&calls, "ncclGroupStart", 30, 31, -1); /* two kinds */
    nccl(&calls, "ncclAllReduce", 32, 33, 4096);
    nccl(&calls, "ncclBroadcast", 34, 35, 1024);
    nccl(&calls, "ncclGroupEnd", 36, 50, -1);
    kernel(&calls, "ncclDevKernel_AllReduce", 40);
    nccl(&calls, "ncclGroupEnd", 60, 80, -1); /* its start is not in the recording */
    kernel(&calls, "ncclDevKernel_AllReduce", 70);
    end(&calls);
    for (uint32_t i = 0; i < 4; i++)
        assert_call(&calls, i, COLLECTIVE_ALL_REDUCE, -1);
    trace_clear(&calls.trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_tell_a_call),
        cmocka_unit_test(a_call_by_itself_has_its_message),
        cmocka_unit_test(a_part_of_an_unknown_whole_is_not_known),
        cmocka_unit_test(a_group_is_what_was_called_in_it),
        cmocka_unit_test(what_cannot_be_told_apart_is_not_known),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
