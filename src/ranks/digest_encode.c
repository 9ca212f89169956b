/* The digest of one rank as bytes: parts, each with a number and a length. */
#include "base/core/bytes.h"
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

/* A part is written to a buffer of its own first, as its length stands before it. Empty parts
 * beyond those that every version needs are left out. */
void digest_encode(struct bytes *writer, const struct rank_digest *digest,
                   struct shared_texts *texts)
{
    static const struct {
        enum digest_part part;
        void (*put)(struct bytes *writer, const struct encoding *encoding);
    } parts[] = {
        {PART_FACTS, put_facts},   {PART_NAMES, put_names},         {PART_STEPS, put_steps},
        {PART_GROUPS, put_groups}, {PART_CALLS, put_calls},         {PART_EXPOSED, put_exposed},
        {PART_TOKENS, put_tokens}, {PART_EXCHANGES, put_exchanges}, {PART_CHAINS, put_chains},
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
