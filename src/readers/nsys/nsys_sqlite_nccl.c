/* Gives ranges of NCCL's calls the sizes and communicators that their payloads tell. */
#include "base/core/array.h"
#include "base/text/prefix.h"
#include "readers/nsys/nsys_database.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- payloads of NVTX ------------------------------------------------------------------------ */

/* What NCCL says of its calls in the payloads of their NVTX ranges: how many bytes, among whom. */

enum { HEADER_BYTES = 32, PAYLOAD_TYPE_MAX = 23 };

/* NVTX's numbers of its types; 0: no whole number. long and size_t as on 64-bit Linux. */
static const uint8_t type_bytes[PAYLOAD_TYPE_MAX + 1] = {
    [1] = 1,  /* char, then unsigned char */[2] = 1,
    [3] = 2,  /* short */[4] = 2,
    [5] = 4,  /* int */[6] = 4,
    [7] = 8,  /* long */[8] = 8,
    [9] = 8,  /* long long */[10] = 8,
    [11] = 1, /* int8_t, then uint8_t and so on */[12] = 1,
    [13] = 2, [14] = 2,
    [15] = 4, [16] = 4,
    [17] = 8, [18] = 8,
    [19] = 4,                       /* float: counts for the place of what follows */
    [20] = 8,                       /* double */
    [22] = 8, /* size_t */[23] = 8, /* address */
};

/* Names of NCCL's own NVTX payloads, by which the fields are found, wherever they stand. */
static const char *const field_names[NVTX_FIELD_COUNT] = {
    [NVTX_COMMUNICATOR] = "NCCL communicator ID",
    [NVTX_MESSAGE_BYTES] = "Message size [bytes]",
    [NVTX_RANKS] = "No. of ranks",
};

/* Enums of the program (their types are numbers of schemas) are as large as an int. */
static uint8_t bytes_of_type(int64_t type)
{
    return type >= 0 && type <= PAYLOAD_TYPE_MAX ? type_bytes[type] : 4;
}

static bool is_whole_number(int64_t type)
{
    return type > 0 && type <= PAYLOAD_TYPE_MAX && type != 19 && type != 20 && type_bytes[type] > 0;
}

static void nvtx_payload_add_entry(struct nvtx_payload_schemas *schemas,
                                   const struct nvtx_payload_entry *entry)
{
    ARRAY_ADD(schemas->entries, schemas->count, *entry);
}

static bool has_entry(const struct nvtx_payload_schemas *schemas,
                      const struct nvtx_payload_entry *wanted)
{
    for (size_t i = 0; i < schemas->count; i++) {
        const struct nvtx_payload_entry *entry = &schemas->entries[i];

        if (entry->domain == wanted->domain && entry->schema == wanted->schema &&
            entry->field == wanted->field)
            return true;
    }
    return false;
}

/* NVTX_FIELD_COUNT: none of those looked for. */
static size_t field_of_name(const char *name)
{
    size_t field = 0;

    while (name && field < NVTX_FIELD_COUNT && strcmp(name, field_names[field]) != 0)
        field++;
    return name ? field : NVTX_FIELD_COUNT;
}

/* A layout without offsets is a C struct's: members in order, each aligned to its size. */
void nvtx_payload_schemas_read(struct nvtx_payload_schemas *schemas, struct nsys_database *database)
{
    static const char *const columns[] = {"domainId", "schemaId", "type", "name", "offset", NULL};
    struct sqlite_rows rows = {0};
    struct nvtx_payload_entry last = {.domain = -1};

    sqlite_rows_open(&rows, &database->file, "NVTX_PAYLOAD_SCHEMA_ENTRIES", columns);
    while (sqlite_rows_next(&rows)) {
        int64_t type = sqlite_integer(&rows, 2, 0);
        int64_t offset = sqlite_integer(&rows, 4, 0);
        size_t field = field_of_name(sqlite_text(&rows, 3));
        struct nvtx_payload_entry entry = {.domain = sqlite_integer(&rows, 0, 0),
                                           .schema = sqlite_integer(&rows, 1, 0),
                                           .bytes = bytes_of_type(type)};
        bool is_next = entry.domain == last.domain && entry.schema == last.schema;
        uint64_t size = entry.bytes ? entry.bytes : 1;

        if (offset > 0 && offset < INT32_MAX)
            entry.offset = (uint64_t)offset;
        else if (is_next) /* not given: behind the one before, aligned to its own size */
            entry.offset = (last.offset + last.bytes + size - 1) / size * size;
        last = entry;
        if (field == NVTX_FIELD_COUNT || !is_whole_number(type))
            continue;
        entry.field = (uint8_t)field;
        if (!has_entry(schemas, &entry)) /* each process of a run brings its own copy */
            nvtx_payload_add_entry(schemas, &entry);
    }
    sqlite_rows_clear(&rows);
}

void nvtx_payload_schemas_clear(struct nvtx_payload_schemas *schemas)
{
    free(schemas->entries);
    *schemas = (struct nvtx_payload_schemas){0};
}

/* Little-endian. */
static uint64_t nvtx_payload_number_at(const unsigned char *bytes, size_t count)
{
    uint64_t number = 0;

    for (size_t i = count; i-- > 0;)
        number = number << 8 | bytes[i];
    return number;
}

/* Where the payload begins; 0 where sizes and length do not agree. The header is domain, schema,
 * size and place, 8 bytes each. Exports differ in what the place counts from: the forms are
 * tried whose sizes agree. */
static size_t payload_start(const unsigned char *bytes, size_t length)
{
    uint64_t size = nvtx_payload_number_at(bytes + 16, 8);
    uint64_t place = nvtx_payload_number_at(bytes + 24, 8);

    if (size > length - HEADER_BYTES)
        return 0;
    if (place >= HEADER_BYTES && place <= length && length - place == size)
        return (size_t)place;
    return length - HEADER_BYTES == size || place == HEADER_BYTES + size ? HEADER_BYTES : 0;
}

/* A payload is bytes whose layout the database tells in tables of its own (schemas), so no
 * version of NCCL is known here: fields are found by their names. Every offset and size is of
 * the file and is checked against the bytes that there are; a field beyond them is not there,
 * and a payload without any field is none. */
bool nvtx_payload_decode(struct nvtx_payload *payload, const struct nvtx_payload_schemas *schemas,
                         const unsigned char *bytes, size_t length)
{
    struct nvtx_payload found = {.values = {0}};
    size_t start = length < HEADER_BYTES ? 0 : payload_start(bytes, length);
    bool has_any = false;

    for (size_t i = 0; start > 0 && i < schemas->count; i++) {
        const struct nvtx_payload_entry *entry = &schemas->entries[i];

        if ((uint64_t)entry->domain != nvtx_payload_number_at(bytes, 8) ||
            (uint64_t)entry->schema != nvtx_payload_number_at(bytes + 8, 8) ||
            entry->offset + entry->bytes > length - start)
            continue;
        found.values[entry->field] =
            nvtx_payload_number_at(bytes + start + entry->offset, entry->bytes);
        found.has[entry->field] = true;
        has_any = true;
    }
    if (has_any)
        *payload = found;
    return has_any;
}

/* The number behind `"name":`, which may stand in quotes itself. The member is searched, not
 * parsed: names of NCCL's fields are whole sentences, and no value holds one. */
static bool parse_field(uint64_t *value, const char *json, const char *name)
{
    size_t length = strlen(name);
    const char *at = json;
    char *end;

    while ((at = strstr(at, name)) && (at == json || at[-1] != '"' || at[length] != '"'))
        at += length;
    if (!at)
        return false;
    at += length + 1;
    at += strspn(at, " \t:\"");
    if (*at < '0' || *at > '9')
        return false;
    *value = strtoull(at, &end, 0);
    return *end != '.' && *end != 'e';
}

/* The caller's payload is changed only if a field was found: ranges of other libraries have
 * payloads too, and must not take one's place. */
bool nvtx_payload_parse(struct nvtx_payload *payload, const char *json)
{
    struct nvtx_payload found = {.values = {0}};
    bool has_any = false;

    for (size_t field = 0; field < NVTX_FIELD_COUNT; field++) {
        found.has[field] = parse_field(&found.values[field], json, field_names[field]);
        has_any = has_any || found.has[field];
    }
    if (has_any)
        *payload = found;
    return has_any;
}

/* ---- nsys sqlite nccl ------------------------------------------------------------------------ */

static const char nccl_prefix[] = "nccl";
enum { NCCL_PREFIX_LENGTH = sizeof nccl_prefix - 1, RANKS_MAX = 1 << 24 };

bool is_nccl_call(const char *name)
{
    return has_prefix(name, nccl_prefix) && isupper((unsigned char)name[NCCL_PREFIX_LENGTH]);
}

/* The call that makes a communicator tells how many ranks it has; later calls only name it. */
void nccl_ranges_add(struct nccl_ranges *ranges, const struct found_event *event,
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
    const struct found_event *left = &((const struct nccl_range *)a)->event;
    const struct found_event *right = &((const struct nccl_range *)b)->event;

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

/* Definition of a message: docs/metrics has the whole of what all ranks give or get, so the
 * part of one is multiplied by the ranks; without their number the size is unknown rather than
 * wrong. */
static int64_t nsys_sqlite_nccl_bytes_of(const struct message *message, uint64_t given)
{
    uint64_t bytes = given;

    if (is_part_of_message(message->name) &&
        (message->ranks == 0 || __builtin_mul_overflow(given, message->ranks, &bytes)))
        return -1;
    return bytes <= INT64_MAX ? (int64_t)bytes : -1;
}

/* A call without a size gives nothing to a kernel: half a message is worse than none. */
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

/* Detail 0 is "none": what is no call of NCCL gets that one, which all events without details
 * share. A communicator has no name, its address is what its calls have in common. */
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

/* One call that is not known makes the whole group unknown: a sum without it would be too
 * small. Sends and receives may be mixed in a group, all other calls must be of one kind. */
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

/* The details of the next range of a thread. Calls within ncclGroupStart and ncclGroupEnd are
 * launched by the outermost end: kernels are joined to that range, so the group's sum stands
 * there. Groups nest; only the outermost launches. */
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

/* Groups live on one thread, so a new thread begins without one. O(n log n) for the sort, then
 * one pass. */
void nccl_ranges_finish(struct nccl_ranges *ranges, struct trace_builder *builder)
{
    struct group group = {0};

    if (ranges->count)
        qsort(ranges->ranges, ranges->count, sizeof *ranges->ranges,
              nsys_sqlite_nccl_compare_ranges);
    for (size_t i = 0; i < ranges->count; i++) {
        struct found_event *event = &ranges->ranges[i].event;

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
