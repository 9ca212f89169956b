/* Gives ranges of NCCL's calls the sizes and communicators that their payloads tell. */
#include "readers/nsys/nsys_sqlite_nccl.h"

#include "base/core/array.h"
#include "base/text/prefix.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char nccl_prefix[] = "nccl";
enum { NCCL_PREFIX_LENGTH = sizeof nccl_prefix - 1, RANKS_MAX = 1 << 24 };

bool is_nccl_call(const char *name)
{
    return has_prefix(name, nccl_prefix) && isupper((unsigned char)name[NCCL_PREFIX_LENGTH]);
}

void nccl_ranges_add(struct nccl_ranges *ranges, const struct event *event,
                     const struct nvtx_payload *payload)
{
    ARRAY_ADD(ranges->ranges, ranges->count,
              (struct nccl_range){.event = *event, .payload = *payload});
    if (payload->has[NVTX_COMMUNICATOR] && payload->has[NVTX_RANKS] &&
        payload->values[NVTX_RANKS] > 0 && payload->values[NVTX_RANKS] < RANKS_MAX)
        hash_map_set(&ranges->ranks, payload->values[NVTX_COMMUNICATOR],
                     (uint32_t)payload->values[NVTX_RANKS]);
}

/* By thread and start, the shorter first: an ncclGroupStart of no length comes before what begins
 * with it. */
static int nsys_sqlite_nccl_compare_ranges(const void *a, const void *b)
{
    const struct event *left = &((const struct nccl_range *)a)->event;
    const struct event *right = &((const struct nccl_range *)b)->event;

    if (left->track != right->track)
        return left->track < right->track ? -1 : 1;
    if (left->start_ns != right->start_ns)
        return left->start_ns < right->start_ns ? -1 : 1;
    if (left->duration_ns != right->duration_ns)
        return left->duration_ns < right->duration_ns ? -1 : 1;
    return left->name < right->name ? -1 : left->name > right->name;
}

/* One message, as a call or the calls of a group make it. */
struct message {
    const char *name; /* "AllReduce"; NULL: there is none, or calls do not go together */
    uint64_t communicator;
    bool has_communicator;
    uint32_t ranks;      /* 0: not known */
    int64_t bytes;       /* of the whole message; -1: not known */
    int64_t other_bytes; /* of a group: what it receives, where `bytes` is what it sends */
    int32_t calls;
};

/* The calls that are given the part of one rank, where a message is that of all. */
static bool is_part_of_message(const char *name)
{
    static const char *const names[] = {"AllGather", "ReduceScatter", "AlltoAll",
                                        "AllToAll",  "Gather",        "Scatter"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(name, names[i]) == 0)
            return true;
    }
    return false;
}

static bool is_one_way(const char *name)
{
    return strcmp(name, "Send") == 0 || strcmp(name, "Recv") == 0;
}

static int64_t nsys_sqlite_nccl_bytes_of(const struct message *message, uint64_t given)
{
    uint64_t bytes = given;

    if (is_part_of_message(message->name) &&
        (message->ranks == 0 || __builtin_mul_overflow(given, message->ranks, &bytes)))
        return -1;
    return bytes <= INT64_MAX ? (int64_t)bytes : -1;
}

static struct message message_of(const struct nccl_ranges *ranges, const struct nccl_range *range,
                                 const char *name)
{
    struct message message = {.name = name + NCCL_PREFIX_LENGTH, .bytes = -1, .calls = 1};
    uint32_t ranks;

    if (!range->payload.has[NVTX_MESSAGE_BYTES])
        return (struct message){.name = NULL};
    if (range->payload.has[NVTX_COMMUNICATOR]) {
        message.has_communicator = true;
        message.communicator = range->payload.values[NVTX_COMMUNICATOR];
        ranks = hash_map_find(&ranges->ranks, message.communicator);
        message.ranks = ranks == NO_VALUE ? 0 : ranks;
    }
    message.bytes = nsys_sqlite_nccl_bytes_of(&message, range->payload.values[NVTX_MESSAGE_BYTES]);
    return message;
}

static uint32_t detail_of(struct trace_builder *builder, const struct message *message)
{
    struct event_detail detail = event_detail_none();
    char text[40];

    if (!message->name)
        return 0;
    detail.collective_name =
        string_pool_add(&builder->strings, message->name, strlen(message->name));
    if (message->has_communicator) {
        (void)snprintf(text, sizeof text, "communicator 0x%" PRIx64, message->communicator);
        detail.group_name = string_pool_add(&builder->strings, text, strlen(text));
    }
    if (message->ranks > 0)
        detail.group_size = message->ranks;
    detail.bytes = message->bytes;
    detail.collective_calls = message->calls;
    return trace_builder_detail(builder, &detail);
}

/* A walk over one thread's calls. */
struct group {
    unsigned depth;
    bool is_known;  /* it began in the recording, and has a message that makes sense as a whole */
    size_t members; /* calls in it */
    struct message message;
};

static int64_t sum_or_unknown(int64_t a, int64_t b)
{
    int64_t sum;

    return a < 0 || b < 0 || __builtin_add_overflow(a, b, &sum) ? -1 : sum;
}

static bool is_of_one_communicator(const struct message *a, const struct message *b)
{
    return a->has_communicator == b->has_communicator && a->communicator == b->communicator;
}

/* Sends and receives of one communicator make one message: all that one way carries, or the other,
 * whichever is more. */
static void add_one_way(struct group *group, const struct message *call)
{
    struct message *message = &group->message;
    bool is_receive = strcmp(call->name, "Recv") == 0;

    if (group->members == 0) {
        *message = (struct message){.name = "SendRecv",
                                    .communicator = call->communicator,
                                    .has_communicator = call->has_communicator,
                                    .ranks = call->ranks};
    } else if (!message->name || strcmp(message->name, "SendRecv") != 0 ||
               !is_of_one_communicator(message, call)) {
        group->is_known = false;
        return;
    }
    message->calls++;
    if (is_receive)
        message->other_bytes = sum_or_unknown(message->other_bytes, call->bytes);
    else
        message->bytes = sum_or_unknown(message->bytes, call->bytes);
}

/* One kernel may do what several calls of one kind ask for; what several kernels do of it, or one
 * of calls of several kinds, cannot be told. */
static void add_same(struct group *group, const struct message *call)
{
    struct message *message = &group->message;

    if (!message->name || strcmp(message->name, call->name) != 0 ||
        !is_of_one_communicator(message, call)) {
        group->is_known = false;
        return;
    }
    message->calls++;
    message->bytes = sum_or_unknown(message->bytes, call->bytes);
}

static void nsys_sqlite_nccl_add_to_group(struct group *group, const struct message *call)
{
    if (!call->name)
        group->is_known = false;
    else if (is_one_way(call->name))
        add_one_way(group, call);
    else if (group->members == 0)
        group->message = *call;
    else
        add_same(group, call);
    group->members++;
}

/* What the end of a group launches. */
static struct message message_of_group(const struct group *group)
{
    struct message message = group->message;

    if (!group->is_known || group->members == 0)
        return (struct message){.name = NULL};
    if (strcmp(message.name, "SendRecv") != 0)
        return message;
    if (message.bytes < 0 || message.other_bytes < 0)
        message.bytes = -1;
    else if (message.other_bytes > message.bytes)
        message.bytes = message.other_bytes;
    return message;
}

/* The details of the next range of a thread. */
static uint32_t next_detail(struct group *group, const struct nccl_ranges *ranges, size_t index,
                            struct trace_builder *builder)
{
    const struct nccl_range *range = &ranges->ranges[index];
    const char *name = string_pool_text(&builder->strings, range->event.name);
    struct message message;

    if (strcmp(name, "ncclGroupStart") == 0) {
        if (group->depth++ == 0)
            *group = (struct group){.depth = 1, .is_known = true};
        return 0;
    }
    if (strcmp(name, "ncclGroupEnd") == 0) {
        if (group->depth > 0)
            group->depth--;
        else
            group->is_known = false;
        message = message_of_group(group);
        return group->depth == 0 ? detail_of(builder, &message) : 0;
    }
    if (has_prefix(name, "ncclComm"))
        return 0;
    message = message_of(ranges, range, name);
    if (group->depth > 0)
        nsys_sqlite_nccl_add_to_group(group, &message);
    return detail_of(builder, &message);
}

void nccl_ranges_finish(struct nccl_ranges *ranges, struct trace_builder *builder)
{
    struct group group = {0};

    if (ranges->count)
        qsort(ranges->ranges, ranges->count, sizeof *ranges->ranges,
              nsys_sqlite_nccl_compare_ranges);
    for (size_t i = 0; i < ranges->count; i++) {
        struct event *event = &ranges->ranges[i].event;

        if (i > 0 && event->track != ranges->ranges[i - 1].event.track)
            group = (struct group){0};
        event->detail = next_detail(&group, ranges, i, builder);
        trace_builder_add(builder, event);
    }
}

void nccl_ranges_clear(struct nccl_ranges *ranges)
{
    free(ranges->ranges);
    hash_map_clear(&ranges->ranks);
    *ranges = (struct nccl_ranges){0};
}
