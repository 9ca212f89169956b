/* The digest of one rank as bytes, and back: parts, each with a number and a length. */
#include "ranks/digest_record.h"

#include "base/core/bytes.h"
#include "ledger/collective_call.h"

#include <string.h>

/* The numbers in the file; a new part gets a new one. */
enum digest_part {
    PART_FACTS = 1,
    PART_NAMES,
    PART_STEPS,
    PART_GROUPS,
    PART_CALLS,
    PART_EXPOSED, /* the last that every digest has */
    PART_TOKENS,
    PART_EXCHANGES,
    PART_CHAINS,
};

/* ---- encode --------------------------------------------------------------------------------- */

static void put_facts(struct bytes *writer, const struct rank_digest *digest)
{
    bytes_add_zigzag(writer, digest->rank);
    bytes_add_zigzag(writer, digest->world_size);
    bytes_add_varint(writer, AXIS_COUNT);
    for (unsigned axis = 0; axis < AXIS_COUNT; axis++)
        bytes_add_zigzag(writer, digest->coordinates[axis]);
    bytes_add_zigzag(writer, digest->device);
    bytes_add_varint(writer, digest->source);
    digest_put_text(writer, digest->file);
    digest_put_text(writer, digest->hostname);
    digest_put_text(writer, digest->device_name);
    bytes_add_zigzag(writer, digest->link_bytes_per_second);
    bytes_add_zigzag(writer, digest->memory_bytes);
    bytes_add_zigzag(writer, digest->peak_allocated_bytes);
    bytes_add_zigzag(writer, digest->peak_reserved_bytes);
    bytes_add_zigzag(writer, digest->between_steps_ns);
    bytes_add_zigzag(writer, digest->damaged_events);
    bytes_add_varint(writer, digest->is_truncated);
}

/* What is told by its place in a list here may stand elsewhere in another version's. */
struct name_list {
    unsigned count;
    const char *(*name_of)(unsigned place);
};

static const char *account_name(unsigned account)
{
    return account_descriptions[account].key;
}

static const char *kind_name(unsigned kind)
{
    return collective_kind_key((enum collective_kind)kind);
}

static const char *type_name(unsigned type)
{
    return element_type_title((int)type);
}

enum { NAME_LIST_COUNT = 3, ACCOUNT_NAMES = 0, KIND_NAMES, TYPE_NAMES };

static struct name_list name_list(unsigned which)
{
    if (which == ACCOUNT_NAMES)
        return (struct name_list){ACCOUNT_COUNT, account_name};
    if (which == KIND_NAMES)
        return (struct name_list){COLLECTIVE_KIND_COUNT, kind_name};
    return (struct name_list){(unsigned)element_type_count(), type_name};
}

static void put_names(struct bytes *writer, const struct rank_digest *digest)
{
    (void)digest;
    for (unsigned which = 0; which < NAME_LIST_COUNT; which++) {
        struct name_list list = name_list(which);

        bytes_add_varint(writer, list.count);
        for (unsigned i = 0; i < list.count; i++)
            digest_put_text(writer, list.name_of(i));
    }
}

static void put_steps(struct bytes *writer, const struct rank_digest *digest)
{
    bytes_add_varint(writer, digest->step_count);
    for (uint32_t i = 0; i < digest->step_count; i++) {
        const struct digest_step *step = &digest->steps[i];

        bytes_add_zigzag(writer, step->number);
        bytes_add_zigzag(writer, step->start_ns);
        bytes_add_zigzag(writer, step->end_ns);
        bytes_add_zigzag(writer, step->communication_ns);
        bytes_add_zigzag(writer, step->hidden_communication_ns);
        bytes_add_zigzag(writer, step->flops);
        bytes_add_varint(writer, step->is_cut);
        for (unsigned account = 0; account < ACCOUNT_COUNT; account++)
            bytes_add_zigzag(writer, step->account_ns[account]);
    }
}

static void put_groups(struct bytes *writer, const struct rank_digest *digest)
{
    bytes_add_varint(writer, digest->group_count);
    for (uint32_t i = 0; i < digest->group_count; i++) {
        digest_put_text(writer, digest->groups[i].name);
        digest_put_text(writer, digest->groups[i].ranks);
        bytes_add_zigzag(writer, digest->groups[i].size);
        bytes_add_zigzag(writer, digest->groups[i].stream);
    }
}

/* Times from the end of the call before, so that they are small. */
static void put_calls(struct bytes *writer, const struct rank_digest *digest)
{
    int64_t time_ns = 0;

    bytes_add_varint(writer, digest->call_count);
    for (uint32_t i = 0; i < digest->call_count; i++) {
        const struct digest_call *call = &digest->calls[i];

        bytes_add_zigzag(writer, call->start_ns - time_ns);
        bytes_add_zigzag(writer, call->duration_ns);
        time_ns = call->start_ns + call->duration_ns;
        bytes_add_zigzag(writer, call->bytes);
        bytes_add_zigzag(writer, call->sequence);
        bytes_add_zigzag(writer, call->source);
        bytes_add_zigzag(writer, call->destination);
        bytes_add_varint(writer, call->group);
        bytes_add_zigzag(writer, call->step);
        bytes_add_varint(writer, call->kind);
        bytes_add_zigzag(writer, call->element_type);
    }
}

static void put_exposed(struct bytes *writer, const struct rank_digest *digest)
{
    int64_t time_ns = 0;

    bytes_add_varint(writer, digest->exposed_count);
    for (uint32_t i = 0; i < digest->exposed_count; i++) {
        const struct digest_interval *interval = &digest->exposed[i];

        bytes_add_zigzag(writer, interval->start_ns - time_ns);
        bytes_add_zigzag(writer, interval->end_ns - interval->start_ns);
        time_ns = interval->end_ns;
        bytes_add_varint(writer, interval->step);
    }
}

/* Nothing where no step tells: most traces do not. */
static void put_tokens(struct bytes *writer, const struct rank_digest *digest)
{
    bool is_known = false;

    for (uint32_t i = 0; i < digest->step_count; i++)
        is_known = is_known || digest->steps[i].tokens >= 0;
    for (uint32_t i = 0; is_known && i < digest->step_count; i++)
        bytes_add_zigzag(writer, digest->steps[i].tokens);
}

static void put_exchanges(struct bytes *writer, const struct rank_digest *digest)
{
    uint32_t next = 0;

    if (digest->exchange_count)
        bytes_add_varint(writer, digest->exchange_count);
    for (uint32_t i = 0; i < digest->exchange_count; i++) {
        bytes_add_varint(writer, digest->exchanges[i].call - next);
        next = digest->exchanges[i].call + 1;
        bytes_add_zigzag(writer, digest->exchanges[i].sent_bytes);
        bytes_add_zigzag(writer, digest->exchanges[i].received_bytes);
    }
}

static void put_chains(struct bytes *writer, const struct rank_digest *digest)
{
    if (digest->chain_count == 0)
        return;
    bytes_add_varint(writer, digest->chain_count);
    bytes_add_zigzag(writer, digest->path_start_ns);
    bytes_add_zigzag(writer, digest->path_end_ns - digest->path_start_ns);
    bytes_add_varint(writer, CHAIN_PART_COUNT);
    for (int part = 0; part < CHAIN_PART_COUNT; part++)
        digest_put_text(writer, chain_part_key((enum chain_part)part));
    for (uint32_t i = 0; i < digest->chain_count; i++) {
        bytes_add_zigzag(writer, digest->chains[i].call);
        for (int part = 0; part < CHAIN_PART_COUNT; part++)
            bytes_add_zigzag(writer, digest->chains[i].parts_ns[part]);
    }
}

void digest_encode(struct bytes *writer, const struct rank_digest *digest)
{
    static const struct {
        enum digest_part part;
        void (*put)(struct bytes *writer, const struct rank_digest *digest);
    } parts[] = {
        {PART_FACTS, put_facts},   {PART_NAMES, put_names},         {PART_STEPS, put_steps},
        {PART_GROUPS, put_groups}, {PART_CALLS, put_calls},         {PART_EXPOSED, put_exposed},
        {PART_TOKENS, put_tokens}, {PART_EXCHANGES, put_exchanges}, {PART_CHAINS, put_chains},
    };

    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        struct bytes content = {0};

        parts[i].put(&content, digest);
        if (content.length || parts[i].part <= PART_EXPOSED) {
            bytes_add_varint(writer, parts[i].part);
            bytes_add_varint(writer, content.length);
            bytes_add(writer, content.bytes, content.length);
        }
        bytes_clear(&content);
    }
}

/* ---- decode --------------------------------------------------------------------------------- */

/* No time is further from zero, and no size larger: sums of many fit into 64 bits. */
static const int64_t time_limit_ns = (int64_t)1 << 61;
static const int64_t length_limit_ns = (int64_t)1 << 50;
static const int64_t sum_limit_ns = (int64_t)1 << 53; /* of all calls, steps or stretches */
static const int64_t size_limit = (int64_t)1 << 62;

/* Where in this version's lists the names of the file stand. */
struct name_map {
    uint8_t places[NAME_LIST_COUNT][64];
    uint32_t counts[NAME_LIST_COUNT];
};

static void fail_unless(struct digest_reader *reader, bool holds)
{
    if (!holds)
        reader->has_failed = true;
}

static int64_t read_within(struct digest_reader *reader, int64_t lowest, int64_t highest)
{
    int64_t number = digest_take_integer(reader);

    fail_unless(reader, number >= lowest && number <= highest);
    return reader->has_failed ? lowest : number;
}

/* A length that fits into the sum of those before it. */
static int64_t collect_length_ns(struct digest_reader *reader, int64_t *sum_ns)
{
    int64_t length_ns = read_within(reader, 0, length_limit_ns);

    *sum_ns += length_ns;
    fail_unless(reader, *sum_ns <= sum_limit_ns);
    return reader->has_failed ? 0 : length_ns;
}

static void collect_facts(struct rank_digest *digest, struct digest_reader *reader)
{
    uint32_t axes;

    digest->rank = read_within(reader, -1, INT32_MAX);
    digest->world_size = read_within(reader, -1, INT32_MAX);
    axes = digest_take_length(reader);
    for (unsigned axis = 0; axis < AXIS_COUNT; axis++)
        digest->coordinates[axis] = -1;
    for (uint32_t axis = 0; axis < axes; axis++) {
        int32_t coordinate = (int32_t)read_within(reader, -1, (int64_t)1 << 20);

        if (axis < AXIS_COUNT)
            digest->coordinates[axis] = coordinate;
    }
    digest->device = digest_take_small(reader);
    digest->source = (enum window_source)digest_take_length(reader);
    fail_unless(reader, digest->source <= WINDOW_WHOLE);
    digest->file = digest_take_text(reader, &digest->arena);
    digest->hostname = digest_take_text(reader, &digest->arena);
    digest->device_name = digest_take_text(reader, &digest->arena);
    digest->link_bytes_per_second = read_within(reader, 0, size_limit);
    digest->memory_bytes = read_within(reader, -1, size_limit);
    digest->peak_allocated_bytes = read_within(reader, -1, size_limit);
    digest->peak_reserved_bytes = read_within(reader, -1, size_limit);
    digest->between_steps_ns = read_within(reader, 0, time_limit_ns);
    digest->damaged_events = read_within(reader, 0, size_limit);
    digest->is_truncated = digest_take_count(reader) != 0;
}

/* A name of a later version's stands behind the last of this one's. */
static void collect_names(struct name_map *map, struct digest_reader *reader)
{
    struct arena arena = {0};

    for (unsigned which = 0; which < NAME_LIST_COUNT; which++) {
        struct name_list list = name_list(which);
        uint32_t count = digest_take_length(reader);

        fail_unless(reader, count <= sizeof map->places[which]);
        for (uint32_t i = 0; i < count && !reader->has_failed; i++) {
            const char *name = digest_take_text(reader, &arena);
            unsigned place = 0;

            while (place < list.count && strcmp(list.name_of(place), name) != 0)
                place++;
            map->places[which][i] = (uint8_t)place;
        }
        map->counts[which] = count;
    }
    arena_clear(&arena);
}

/* Time of an account that this version does not know counts as nothing recorded. */
static void collect_step(struct digest_step *step, const struct name_map *map,
                         struct digest_reader *reader)
{
    int64_t sum_ns = 0;

    step->number = digest_take_integer(reader);
    step->start_ns = read_within(reader, -time_limit_ns, time_limit_ns);
    step->end_ns = read_within(reader, step->start_ns, step->start_ns + length_limit_ns);
    step->communication_ns = read_within(reader, 0, length_limit_ns);
    step->hidden_communication_ns = read_within(reader, 0, length_limit_ns);
    step->flops = read_within(reader, -1, INT64_MAX);
    step->tokens = -1;
    step->is_cut = digest_take_count(reader) != 0;
    for (uint32_t i = 0; i < map->counts[ACCOUNT_NAMES]; i++) {
        int64_t ns = read_within(reader, 0, length_limit_ns);
        unsigned account = map->places[ACCOUNT_NAMES][i];

        step->account_ns[account < ACCOUNT_COUNT ? account : ACCOUNT_IDLE_NOTHING] += ns;
        sum_ns += ns;
    }
    fail_unless(reader, sum_ns == step->end_ns - step->start_ns);
}

static void collect_steps(struct rank_digest *digest, const struct name_map *map,
                          struct digest_reader *reader)
{
    uint32_t count = digest_take_length(reader);
    int64_t sum_ns = 0;

    digest->steps = arena_allocate(&digest->arena, count * sizeof *digest->steps);
    for (uint32_t i = 0; i < count && !reader->has_failed; i++) {
        collect_step(&digest->steps[i], map, reader);
        sum_ns += digest->steps[i].end_ns - digest->steps[i].start_ns;
        fail_unless(reader, sum_ns <= sum_limit_ns);
    }
    digest->step_count = count;
}

static void collect_groups(struct rank_digest *digest, struct digest_reader *reader)
{
    uint32_t count = digest_take_length(reader);

    digest->groups = arena_allocate(&digest->arena, count * sizeof *digest->groups);
    for (uint32_t i = 0; i < count && !reader->has_failed; i++) {
        struct digest_group *group = &digest->groups[i];

        group->name = digest_take_text(reader, &digest->arena);
        group->ranks = digest_take_text(reader, &digest->arena);
        group->size = read_within(reader, -1, INT32_MAX);
        group->stream = read_within(reader, -1, INT32_MAX);
    }
    digest->group_count = count;
}

static void collect_call(struct rank_digest *digest, struct digest_call *call,
                         const struct name_map *map, struct digest_reader *reader)
{
    int64_t type;
    uint64_t kind;
    uint64_t group;

    call->bytes = read_within(reader, -1, INT64_MAX);
    call->sequence = read_within(reader, -1, INT64_MAX);
    call->source = digest_take_small(reader);
    call->destination = digest_take_small(reader);
    group = digest_take_count(reader);
    fail_unless(reader, group < digest->group_count);
    call->group = (uint32_t)group;
    call->step = (int32_t)read_within(reader, -1, (int64_t)digest->step_count - 1);
    kind = digest_take_count(reader);
    type = read_within(reader, -1, (int64_t)map->counts[TYPE_NAMES] - 1);
    fail_unless(reader, kind < map->counts[KIND_NAMES]);
    if (reader->has_failed)
        return;
    call->kind = map->places[KIND_NAMES][kind] < COLLECTIVE_KIND_COUNT
                     ? map->places[KIND_NAMES][kind]
                     : COLLECTIVE_OTHER;
    call->element_type = -1;
    if (type >= 0 && map->places[TYPE_NAMES][type] < element_type_count())
        call->element_type = (int8_t)map->places[TYPE_NAMES][type];
}

/* A time that lies `gap_ns` behind `time_ns`. */
static int64_t collect_time(struct digest_reader *reader, int64_t time_ns)
{
    int64_t gap_ns = digest_take_integer(reader);
    int64_t result_ns;

    if (__builtin_add_overflow(time_ns, gap_ns, &result_ns) || result_ns < -time_limit_ns ||
        result_ns > time_limit_ns)
        reader->has_failed = true;
    return reader->has_failed ? 0 : result_ns;
}

static void collect_calls(struct rank_digest *digest, const struct name_map *map,
                          struct digest_reader *reader)
{
    uint32_t count = digest_take_length(reader);
    int64_t time_ns = 0, sum_ns = 0;

    digest->calls = arena_allocate(&digest->arena, count * sizeof *digest->calls);
    for (uint32_t i = 0; i < count && !reader->has_failed; i++) {
        digest->calls[i].start_ns = collect_time(reader, time_ns);
        fail_unless(reader, i == 0 || digest->calls[i].start_ns >= digest->calls[i - 1].start_ns);
        digest->calls[i].duration_ns = collect_length_ns(reader, &sum_ns);
        collect_call(digest, &digest->calls[i], map, reader);
        time_ns = digest->calls[i].start_ns + digest->calls[i].duration_ns;
    }
    digest->call_count = count;
}

static void collect_exposed(struct rank_digest *digest, struct digest_reader *reader)
{
    uint32_t count = digest_take_length(reader);
    int64_t time_ns = 0, sum_ns = 0;

    digest->exposed = arena_allocate(&digest->arena, count * sizeof *digest->exposed);
    for (uint32_t i = 0; i < count && !reader->has_failed; i++) {
        struct digest_interval *interval = &digest->exposed[i];
        uint64_t step;

        interval->start_ns = collect_time(reader, time_ns);
        fail_unless(reader, i == 0 || interval->start_ns >= time_ns);
        interval->end_ns = interval->start_ns + collect_length_ns(reader, &sum_ns);
        step = digest_take_count(reader);
        fail_unless(reader, step < digest->step_count);
        interval->step = (uint32_t)step;
        time_ns = interval->end_ns;
    }
    digest->exposed_count = count;
}

static void collect_tokens(struct rank_digest *digest, struct digest_reader *reader)
{
    for (uint32_t i = 0; i < digest->step_count && !reader->has_failed; i++)
        digest->steps[i].tokens = read_within(reader, -1, STEP_TOKENS_MAX);
}

static void collect_exchanges(struct rank_digest *digest, struct digest_reader *reader)
{
    uint32_t count = digest_take_length(reader);
    uint64_t next = 0;

    digest->exchanges = arena_allocate(&digest->arena, count * sizeof *digest->exchanges);
    for (uint32_t i = 0; i < count && !reader->has_failed; i++) {
        struct digest_exchange *exchange = &digest->exchanges[i];
        uint64_t gap = digest_take_count(reader);

        fail_unless(reader, gap < digest->call_count && next + gap < digest->call_count);
        exchange->call = (uint32_t)(next + gap);
        exchange->sent_bytes = read_within(reader, 0, EXCHANGE_BYTES_MAX);
        exchange->received_bytes = read_within(reader, 0, EXCHANGE_BYTES_MAX);
        next = (uint64_t)exchange->call + 1;
    }
    digest->exchange_count = reader->has_failed ? 0 : count;
}

/* Where the parts of the file's chains stand among this version's; one that it does not know counts
 * as waiting. */
static uint32_t collect_chain_names(uint8_t places[64], struct digest_reader *reader)
{
    struct arena arena = {0};
    uint32_t count = digest_take_length(reader);

    fail_unless(reader, count <= 64);
    for (uint32_t i = 0; i < count && !reader->has_failed; i++) {
        const char *name = digest_take_text(reader, &arena);

        places[i] = CHAIN_WAITS;
        for (int part = 0; part < CHAIN_PART_COUNT; part++)
            if (strcmp(chain_part_key((enum chain_part)part), name) == 0)
                places[i] = (uint8_t)part;
    }
    arena_clear(&arena);
    return count;
}

static void collect_chain(struct digest_chain *chain, uint32_t call_count, const uint8_t *places,
                          uint32_t part_count, struct digest_reader *reader)
{
    chain->call = (int32_t)read_within(reader, CHAIN_NOT_KNOWN, (int64_t)call_count - 1);
    for (uint32_t i = 0; i < part_count && !reader->has_failed; i++)
        chain->parts_ns[places[i]] += read_within(reader, -length_limit_ns, length_limit_ns);
}

/* Of each call, and of the end; or none. */
static void collect_chains(struct rank_digest *digest, struct digest_reader *reader)
{
    uint32_t count = digest_take_length(reader), part_count;
    uint8_t places[64];

    fail_unless(reader, count == digest->call_count + 1);
    digest->path_start_ns = read_within(reader, -time_limit_ns, time_limit_ns);
    digest->path_end_ns = digest->path_start_ns + read_within(reader, 0, length_limit_ns);
    part_count = collect_chain_names(places, reader);
    if (reader->has_failed)
        return;
    digest->chains = arena_allocate(&digest->arena, count * sizeof *digest->chains);
    for (uint32_t i = 0; i < count && !reader->has_failed; i++)
        collect_chain(&digest->chains[i], digest->call_count, places, part_count, reader);
    digest->chain_count = count;
}

static void collect_part(struct rank_digest *digest, struct name_map *map, uint64_t part,
                         struct digest_reader *reader)
{
    if (part == PART_FACTS)
        collect_facts(digest, reader);
    else if (part == PART_NAMES)
        collect_names(map, reader);
    else if (part == PART_STEPS)
        collect_steps(digest, map, reader);
    else if (part == PART_GROUPS)
        collect_groups(digest, reader);
    else if (part == PART_CALLS)
        collect_calls(digest, map, reader);
    else if (part == PART_EXPOSED)
        collect_exposed(digest, reader);
    else if (part == PART_TOKENS)
        collect_tokens(digest, reader);
    else if (part == PART_EXCHANGES)
        collect_exchanges(digest, reader);
    else if (part == PART_CHAINS)
        collect_chains(digest, reader);
}

bool digest_decode(struct rank_digest *digest, const void *bytes, size_t length)
{
    struct digest_reader reader = {.at = bytes, .end = (const unsigned char *)bytes + length};
    struct name_map map = {0};
    uint64_t last_part = 0;
    unsigned seen = 0;

    while (reader.at < reader.end && !reader.has_failed) {
        uint64_t part = digest_take_count(&reader);
        uint32_t part_length = digest_take_length(&reader);
        struct digest_reader content = {.at = reader.at, .end = reader.at + part_length};

        if (!reader.has_failed && part > last_part)
            collect_part(digest, &map, part, &content);
        reader.has_failed = reader.has_failed || content.has_failed || part <= last_part;
        reader.at += part_length;
        last_part = part;
        seen += part <= PART_EXPOSED;
    }
    if (!reader.has_failed && seen == PART_EXPOSED)
        return true;
    rank_digest_clear(digest);
    return false;
}
