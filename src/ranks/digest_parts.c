/* The digest of one rank as bytes (parts, each with a number and a length), and from them: nothing
 * in them is taken for true that no trace can give. */
#include "base/core/bytes.h"
#include "ledger/collective_call.h"
#include "ranks/digest_record.h"
#include "ranks/rank_digest.h"

#include <string.h>

/* A digest on its way into bytes. */
struct encoding {
    const struct rank_digest *digest;
    struct shared_texts *texts; /* may be NULL */
};

static void put_shared_text(struct bytes *writer, const struct encoding *encoding, const char *text)
{
    digest_put_shared(writer, encoding->texts, text, strlen(text));
}

/* In the order in which decoding takes them; it must not change without a new version. */
static void put_facts(struct bytes *writer, const struct encoding *encoding)
{
    const struct rank_digest *digest = encoding->digest;

    bytes_add_zigzag(writer, digest->rank);
    bytes_add_zigzag(writer, digest->world_size);
    bytes_add_varint(writer, AXIS_COUNT);
    for (unsigned axis = 0; axis < AXIS_COUNT; axis++)
        bytes_add_zigzag(writer, digest->coordinates[axis]);
    bytes_add_zigzag(writer, digest->device);
    bytes_add_varint(writer, digest->source);
    digest_put_text(writer, digest->file);
    put_shared_text(writer, encoding, digest->hostname);
    put_shared_text(writer, encoding, digest->device_name);
    bytes_add_zigzag(writer, digest->link_bytes_per_second);
    bytes_add_zigzag(writer, digest->memory_bytes);
    bytes_add_zigzag(writer, digest->peak_allocated_bytes);
    bytes_add_zigzag(writer, digest->peak_reserved_bytes);
    bytes_add_zigzag(writer, digest->between_steps_ns);
    bytes_add_zigzag(writer, digest->damaged_events);
    bytes_add_varint(writer, digest->is_truncated);
}

/* All lists, in the order of their numbers: whoever reads them maps each by name to its own. */
void digest_names_encode(struct bytes *names)
{
    for (int which = 0; which < NAME_LIST_COUNT; which++) {
        enum digest_name_list list = (enum digest_name_list)which;

        bytes_add_varint(names, digest_name_count(list));
        for (unsigned i = 0; i < digest_name_count(list); i++)
            digest_put_text(names, digest_name(list, i));
    }
}

/* The same of all digests that this version writes. */
static void put_names(struct bytes *writer, const struct encoding *encoding)
{
    struct bytes names = {0};

    digest_names_encode(&names);
    digest_put_shared(writer, encoding->texts, names.bytes, names.length);
    bytes_clear(&names);
}

/* In a fixed order and without padding: equal summaries have equal bytes, which is how a set
 * finds a file that was read twice. */
static void put_steps(struct bytes *writer, const struct encoding *encoding)
{
    const struct rank_digest *digest = encoding->digest;

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

/* Names of groups repeat on all ranks, so they are shared texts. */
static void put_groups(struct bytes *writer, const struct encoding *encoding)
{
    const struct rank_digest *digest = encoding->digest;

    bytes_add_varint(writer, digest->group_count);
    for (uint32_t i = 0; i < digest->group_count; i++) {
        put_shared_text(writer, encoding, digest->groups[i].name);
        put_shared_text(writer, encoding, digest->groups[i].ranks);
        bytes_add_zigzag(writer, digest->groups[i].size);
        bytes_add_zigzag(writer, digest->groups[i].stream);
    }
}

/* Times from the end of the call before, so that they are small. */
static void put_calls(struct bytes *writer, const struct encoding *encoding)
{
    const struct rank_digest *digest = encoding->digest;
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

/* As differences to the end before, which take a byte or two rather than eight. */
static void put_exposed(struct bytes *writer, const struct encoding *encoding)
{
    const struct rank_digest *digest = encoding->digest;
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
static void put_tokens(struct bytes *writer, const struct encoding *encoding)
{
    const struct rank_digest *digest = encoding->digest;
    bool is_known = false;

    for (uint32_t i = 0; i < digest->step_count; i++)
        is_known = is_known || digest->steps[i].tokens >= 0;
    for (uint32_t i = 0; is_known && i < digest->step_count; i++)
        bytes_add_zigzag(writer, digest->steps[i].tokens);
}

/* By gaps from call to call: all-to-all calls stand together mostly, so a gap is one byte. */
static void put_exchanges(struct bytes *writer, const struct encoding *encoding)
{
    const struct rank_digest *digest = encoding->digest;
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

/* Without a chain nothing is written: the part is left out, and readers take its absence for
 * none. Differences can be negative where clocks are broken, hence zigzag. */
static void put_chains(struct bytes *writer, const struct encoding *encoding)
{
    const struct rank_digest *digest = encoding->digest;

    if (digest->chain_count == 0)
        return;
    bytes_add_varint(writer, digest->chain_count);
    bytes_add_zigzag(writer, digest->path_start_ns);
    bytes_add_zigzag(writer, digest->path_end_ns - digest->path_start_ns);
    for (uint32_t i = 0; i < digest->chain_count; i++) {
        bytes_add_zigzag(writer, digest->chains[i].call);
        for (int part = 0; part < CHAIN_PART_COUNT; part++)
            bytes_add_zigzag(writer, digest->chains[i].parts_ns[part]);
    }
}

static void put_process(struct bytes *writer, const struct encoding *encoding)
{
    const char *process = encoding->digest->process;

    bytes_add(writer, process, process ? strlen(process) : 0);
}

static void put_counted(struct bytes *writer, const struct encoding *encoding)
{
    if (encoding->digest->is_rank_by_order)
        bytes_add_varint(writer, 1);
}

/* A part is written to a buffer of its own first, as its length stands before it. Empty parts
 * beyond those that every version needs are left out. */
void digest_encode(struct bytes *writer, const struct rank_digest *digest,
                   struct shared_texts *texts)
{
    static const struct {
        enum digest_part part;
        void (*put)(struct bytes *writer, const struct encoding *encoding);
    } parts[] = {
        {PART_FACTS, put_facts},     {PART_NAMES, put_names},         {PART_STEPS, put_steps},
        {PART_GROUPS, put_groups},   {PART_CALLS, put_calls},         {PART_EXPOSED, put_exposed},
        {PART_TOKENS, put_tokens},   {PART_EXCHANGES, put_exchanges}, {PART_CHAINS, put_chains},
        {PART_PROCESS, put_process}, {PART_COUNTED, put_counted},
    };
    const struct encoding encoding = {.digest = digest, .texts = texts};

    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        struct bytes content = {0};

        parts[i].put(&content, &encoding);
        if (content.length || parts[i].part <= PART_EXPOSED) {
            bytes_add_varint(writer, parts[i].part);
            bytes_add_varint(writer, content.length);
            bytes_add(writer, content.bytes, content.length);
        }
        bytes_clear(&content);
    }
}

/* No time is further from zero, and no size larger: sums of many fit into 64 bits. */
static const int64_t time_limit_ns = (int64_t)1 << 61;
static const int64_t length_limit_ns = (int64_t)1 << 50;
static const int64_t sum_limit_ns = (int64_t)1 << 53; /* of all calls, steps or stretches */
static const int64_t size_limit = (int64_t)1 << 62;

/* A digest on its way out of its bytes. */
struct decoding {
    struct rank_digest *digest;
    struct digest_context *context;
    struct digest_names names;
};

static const char *read_shared_text(struct decoding *decoding, struct digest_reader *reader)
{
    struct arena *arena = &decoding->digest->arena;

    return decoding->context->version == 1
               ? digest_take_text(reader, arena)
               : digest_take_shared(reader, decoding->context->texts, arena, NULL);
}

static void fail_unless(struct digest_reader *reader, bool holds)
{
    if (!holds)
        reader->has_failed = true;
}

/* On failure the lowest value stands in, so that what follows computes with a number that is
 * in range. */
static int64_t read_within(struct digest_reader *reader, int64_t lowest, int64_t highest)
{
    int64_t number = digest_take_integer(reader);

    fail_unless(reader, number >= lowest && number <= highest);
    return reader->has_failed ? lowest : number;
}

/* A length that fits into the sum of those before it. */
static int64_t decode_length_ns(struct digest_reader *reader, int64_t *sum_ns)
{
    int64_t length_ns = read_within(reader, 0, length_limit_ns);

    *sum_ns += length_ns;
    fail_unless(reader, *sum_ns <= sum_limit_ns);
    return reader->has_failed ? 0 : length_ns;
}

/* Axes of a later version stand behind those of this one and are passed over. */
static void decode_facts(struct decoding *decoding, struct digest_reader *reader)
{
    struct rank_digest *digest = decoding->digest;
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
    digest->hostname = read_shared_text(decoding, reader);
    digest->device_name = read_shared_text(decoding, reader);
    digest->process = "";
    digest->link_bytes_per_second = read_within(reader, 0, size_limit);
    digest->memory_bytes = read_within(reader, -1, size_limit);
    digest->peak_allocated_bytes = read_within(reader, -1, size_limit);
    digest->peak_reserved_bytes = read_within(reader, -1, size_limit);
    digest->between_steps_ns = read_within(reader, 0, time_limit_ns);
    digest->damaged_events = read_within(reader, 0, size_limit);
    digest->is_truncated = digest_take_count(reader) != 0;
}

/* A name of a later version's stands behind the last of this one's. */
static void decode_name_list(struct digest_names *names, enum digest_name_list which,
                             struct digest_reader *reader)
{
    uint32_t count = digest_take_length(reader);
    struct arena arena = {0};

    fail_unless(reader, count <= sizeof names->places[which]);
    for (uint32_t i = 0; i < count && !reader->has_failed; i++) {
        const char *name = digest_take_text(reader, &arena);
        unsigned place = 0;

        while (place < digest_name_count(which) && strcmp(digest_name(which, place), name) != 0)
            place++;
        names->places[which][i] = (uint8_t)place;
    }
    names->counts[which] = count;
    arena_clear(&arena);
}

/* The first version has the names here, and those of chains with the chains. Numbers stand for
 * names in what follows, so that a version with more accounts or kinds can be read by one with
 * fewer: what is not known has a place behind the last. All summaries of a file share the text,
 * so it is parsed once and then recognized by its address. */
static void decode_names(struct decoding *decoding, struct digest_reader *reader)
{
    struct digest_context *context = decoding->context;
    bool is_first = context->version == 1;
    struct digest_reader names = *reader;
    bool is_shared = reader->at < reader->end && *reader->at == 0;
    const char *text = NULL;
    size_t length;

    if (!is_first) {
        text = digest_take_shared(reader, context->texts, &decoding->digest->arena, &length);
        names = (struct digest_reader){.at = (const unsigned char *)text,
                                       .end = (const unsigned char *)text + length,
                                       .has_failed = reader->has_failed};
    }
    /* The same text as of the summary before: its names are known already. */
    if (is_shared && text == context->names_text) {
        decoding->names = context->names;
        return;
    }
    for (int which = 0; which < (is_first ? CHAIN_NAMES : NAME_LIST_COUNT); which++)
        decode_name_list(&decoding->names, (enum digest_name_list)which, &names);
    reader->has_failed = names.has_failed;
    if (names.has_failed || !is_shared)
        return;
    context->names = decoding->names;
    context->names_text = text;
}

/* Time of an account that this version does not know counts as nothing recorded. */
static void decode_step(struct digest_step *step, const struct digest_names *names,
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
    for (uint32_t i = 0; i < names->counts[ACCOUNT_NAMES]; i++) {
        int64_t ns = read_within(reader, 0, length_limit_ns);
        unsigned account = names->places[ACCOUNT_NAMES][i];

        step->account_ns[account < ACCOUNT_COUNT ? account : ACCOUNT_IDLE_NOTHING] += ns;
        sum_ns += ns;
    }
    /* The ledger's invariant holds for what is read, too: damage that slips through the
     * checksum would break it. */
    fail_unless(reader, sum_ns == step->end_ns - step->start_ns);
}

static void decode_steps(struct decoding *decoding, struct digest_reader *reader)
{
    enum { BYTES_LEAST = 7 }; /* of a step without accounts */
    struct rank_digest *digest = decoding->digest;
    uint32_t count = digest_take_items(reader, BYTES_LEAST + decoding->names.counts[ACCOUNT_NAMES]);
    int64_t sum_ns = 0;

    digest->steps = arena_allocate(&digest->arena, count * sizeof *digest->steps);
    for (uint32_t i = 0; i < count && !reader->has_failed; i++) {
        decode_step(&digest->steps[i], &decoding->names, reader);
        sum_ns += digest->steps[i].end_ns - digest->steps[i].start_ns;
        fail_unless(reader, sum_ns <= sum_limit_ns);
    }
    digest->step_count = count;
}

/* Each item takes BYTES_LEAST bytes at least, which bounds what a damaged count can ask memory
 * for. */
static void decode_groups(struct decoding *decoding, struct digest_reader *reader)
{
    enum { BYTES_LEAST = 4 };
    struct rank_digest *digest = decoding->digest;
    uint32_t count = digest_take_items(reader, BYTES_LEAST);

    digest->groups = arena_allocate(&digest->arena, count * sizeof *digest->groups);
    for (uint32_t i = 0; i < count && !reader->has_failed; i++) {
        struct digest_group *group = &digest->groups[i];

        group->name = read_shared_text(decoding, reader);
        group->ranks = read_shared_text(decoding, reader);
        group->size = read_within(reader, -1, INT32_MAX);
        group->stream = read_within(reader, -1, INT32_MAX);
    }
    digest->group_count = count;
}

/* Names are looked up by the list that stands in the file: a newer program may have more
 * kinds, which are "other" here; numbers outside of any list are damage. */
static void decode_call(struct rank_digest *digest, struct digest_call *call,
                        const struct digest_names *names, struct digest_reader *reader)
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
    type = read_within(reader, -1, (int64_t)names->counts[TYPE_NAMES] - 1);
    fail_unless(reader, kind < names->counts[KIND_NAMES]);
    if (reader->has_failed)
        return;
    call->kind = names->places[KIND_NAMES][kind] < COLLECTIVE_KIND_COUNT
                     ? names->places[KIND_NAMES][kind]
                     : COLLECTIVE_OTHER;
    /* A type that only a newer program knows is "not told" here. */
    call->element_type = -1;
    if (type >= 0 && names->places[TYPE_NAMES][type] < element_type_count())
        call->element_type = (int8_t)names->places[TYPE_NAMES][type];
}

/* A time that lies `gap_ns` behind `time_ns`. */
static int64_t decode_time(struct digest_reader *reader, int64_t time_ns)
{
    int64_t gap_ns = digest_take_integer(reader);
    int64_t result_ns;

    if (__builtin_add_overflow(time_ns, gap_ns, &result_ns) || result_ns < -time_limit_ns ||
        result_ns > time_limit_ns)
        reader->has_failed = true;
    return reader->has_failed ? 0 : result_ns;
}

/* Calls are in order of start, which the join relies on. Sums are bounded, so that later
 * additions over all ranks cannot overflow. */
static void decode_calls(struct decoding *decoding, struct digest_reader *reader)
{
    enum { BYTES_LEAST = 10 };
    struct rank_digest *digest = decoding->digest;
    uint32_t count = digest_take_items(reader, BYTES_LEAST);
    int64_t time_ns = 0, sum_ns = 0;

    digest->calls = arena_allocate(&digest->arena, count * sizeof *digest->calls);
    for (uint32_t i = 0; i < count && !reader->has_failed; i++) {
        digest->calls[i].start_ns = decode_time(reader, time_ns);
        fail_unless(reader, i == 0 || digest->calls[i].start_ns >= digest->calls[i - 1].start_ns);
        digest->calls[i].duration_ns = decode_length_ns(reader, &sum_ns);
        decode_call(digest, &digest->calls[i], &decoding->names, reader);
        time_ns = digest->calls[i].start_ns + digest->calls[i].duration_ns;
    }
    digest->call_count = count;
}

/* Stretches are disjoint and in order, as exposed_within_ns searches them by halves. */
static void decode_exposed(struct decoding *decoding, struct digest_reader *reader)
{
    enum { BYTES_LEAST = 3 };
    struct rank_digest *digest = decoding->digest;
    uint32_t count = digest_take_items(reader, BYTES_LEAST);
    int64_t time_ns = 0, sum_ns = 0;

    digest->exposed = arena_allocate(&digest->arena, count * sizeof *digest->exposed);
    for (uint32_t i = 0; i < count && !reader->has_failed; i++) {
        struct digest_interval *interval = &digest->exposed[i];
        uint64_t step;

        interval->start_ns = decode_time(reader, time_ns);
        fail_unless(reader, i == 0 || interval->start_ns >= time_ns);
        interval->end_ns = interval->start_ns + decode_length_ns(reader, &sum_ns);
        step = digest_take_count(reader);
        fail_unless(reader, step < digest->step_count);
        interval->step = (uint32_t)step;
        time_ns = interval->end_ns;
    }
    digest->exposed_count = count;
}

static void decode_tokens(struct decoding *decoding, struct digest_reader *reader)
{
    struct rank_digest *digest = decoding->digest;

    for (uint32_t i = 0; i < digest->step_count && !reader->has_failed; i++)
        digest->steps[i].tokens = read_within(reader, -1, STEP_TOKENS_MAX);
}

/* Calls are told by gaps, so they only go up: each call has one exchange at most. */
static void decode_exchanges(struct decoding *decoding, struct digest_reader *reader)
{
    enum { BYTES_LEAST = 3 };
    struct rank_digest *digest = decoding->digest;
    uint32_t count = digest_take_items(reader, BYTES_LEAST);
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

/* A part that this version does not know counts as waiting. */
static void decode_chain(struct digest_chain *chain, uint32_t call_count,
                         const struct digest_names *names, struct digest_reader *reader)
{
    chain->call = (int32_t)read_within(reader, CHAIN_NOT_KNOWN, (int64_t)call_count - 1);
    for (uint32_t i = 0; i < names->counts[CHAIN_NAMES] && !reader->has_failed; i++) {
        unsigned part = names->places[CHAIN_NAMES][i];

        chain->parts_ns[part < CHAIN_PART_COUNT ? part : CHAIN_WAITS] +=
            read_within(reader, -length_limit_ns, length_limit_ns);
    }
}

/* Of each call, and of the end; or none. */
static void decode_chains(struct decoding *decoding, struct digest_reader *reader)
{
    struct rank_digest *digest = decoding->digest;
    uint32_t count = digest_take_length(reader);

    fail_unless(reader, count == digest->call_count + 1);
    digest->path_start_ns = read_within(reader, -time_limit_ns, time_limit_ns);
    digest->path_end_ns = digest->path_start_ns + read_within(reader, 0, length_limit_ns);
    if (decoding->context->version == 1)
        decode_name_list(&decoding->names, CHAIN_NAMES, reader);
    if (reader->has_failed)
        return;
    digest->chains = arena_allocate(&digest->arena, count * sizeof *digest->chains);
    for (uint32_t i = 0; i < count && !reader->has_failed; i++)
        decode_chain(&digest->chains[i], digest->call_count, &decoding->names, reader);
    digest->chain_count = count;
}

static void decode_process(struct decoding *decoding, struct digest_reader *reader)
{
    decoding->digest->process = arena_copy_text(&decoding->digest->arena, (const char *)reader->at,
                                                (size_t)(reader->end - reader->at));
}

static void decode_counted(struct decoding *decoding, struct digest_reader *reader)
{
    decoding->digest->is_rank_by_order = digest_take_count(reader) != 0;
}

/* A part with a number that is not known here is of a newer writer, and passed over. */
static void decode_part(struct decoding *decoding, uint64_t part, struct digest_reader *reader)
{
    static void (*const collect[])(struct decoding * decoding, struct digest_reader * reader) = {
        [PART_FACTS] = decode_facts,     [PART_NAMES] = decode_names,
        [PART_STEPS] = decode_steps,     [PART_GROUPS] = decode_groups,
        [PART_CALLS] = decode_calls,     [PART_EXPOSED] = decode_exposed,
        [PART_TOKENS] = decode_tokens,   [PART_EXCHANGES] = decode_exchanges,
        [PART_CHAINS] = decode_chains,   [PART_PROCESS] = decode_process,
        [PART_COUNTED] = decode_counted,
    };

    if (part > 0 && part < sizeof collect / sizeof *collect)
        collect[part](decoding, reader);
}

/* Parts with a number and a length in rising order: an unknown one is passed over, a known one
 * twice is damage. PART_FACTS to PART_EXPOSED must be there; what was added later need not. On
 * damage nothing is kept of the rank, as a half of its calls would be joined wrongly. */
bool digest_decode(struct rank_digest *digest, const void *bytes, size_t length,
                   struct digest_context *context)
{
    struct digest_reader reader = {.at = bytes, .end = (const unsigned char *)bytes + length};
    struct decoding decoding = {.digest = digest, .context = context};
    uint64_t last_part = 0;
    unsigned seen = 0;

    while (reader.at < reader.end && !reader.has_failed) {
        uint64_t part = digest_take_count(&reader);
        uint32_t part_length = digest_take_length(&reader);
        struct digest_reader content = {.at = reader.at, .end = reader.at + part_length};

        /* Its length leads behind a part whether or not it was understood. */
        if (!reader.has_failed && part > last_part)
            decode_part(&decoding, part, &content);
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
