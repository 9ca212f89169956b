/* A plane of an XSpace: what its events and their stats are called. */
#include "base/core/array.h"
#include "base/core/invariant.h"
#include "readers/xplane/xplane_reading.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Several names of one stat: those of several versions and devices. */
static const struct {
    const char *name;
    enum xplane_stat stat;
} stat_words[] = {
    {"correlation_id", XSTAT_CORRELATION},
    {"program_id", XSTAT_PROGRAM},
    {"flops", XSTAT_FLOPS},
    {"bytes_accessed", XSTAT_BYTES},
    {"step_num", XSTAT_STEP},
    {"core_count", XSTAT_CORES},
    {"memory_size", XSTAT_MEMORY_BYTES},
    {"compute_cap_major", XSTAT_COMPUTE_MAJOR},
    {"compute_cap_minor", XSTAT_COMPUTE_MINOR},
    {"profile_start_time", XSTAT_PROFILE_START},
    {"hlo_op", XSTAT_HLO_OP},
    {"hlo_module", XSTAT_HLO_MODULE},
    {"tf_op", XSTAT_TF_OP},
    {"name", XSTAT_SCOPE},
    {"source", XSTAT_SOURCE},
    {"source_info", XSTAT_SOURCE},
    {"hlo_category", XSTAT_CATEGORY},
    {"kernel_details", XSTAT_KERNEL_DETAILS},
    {"memcpy_details", XSTAT_MEMCPY_DETAILS},
    {"memset_details", XSTAT_MEMSET_DETAILS},
    {"device_vendor", XSTAT_VENDOR},
    {"device_type_string", XSTAT_DEVICE_NAME},
    {"device_type", XSTAT_DEVICE_NAME},
    {"gpu_device_name", XSTAT_DEVICE_NAME},
    {"device_name", XSTAT_DEVICE_NAME},
    {"hlo_proto", XSTAT_HLO_PROTO},
    {"Hlo Proto", XSTAT_HLO_PROTO},
    {"jax_version", XSTAT_VERSION},
};

static uint8_t stat_of_name(struct proto_bytes name)
{
    for (size_t i = 0; i < sizeof stat_words / sizeof *stat_words; i++) {
        if (proto_text_is(name, stat_words[i].name))
            return (uint8_t)stat_words[i].stat;
    }
    return XSTAT_COUNT;
}

/* ---- what is called by an id ---------------------------------------------------------------- */

/* A message with an id and a name, the value of an entry of a map. */
struct named {
    uint64_t id;
    struct proto_bytes message;
    struct proto_bytes name;
    struct proto_bytes display_name;
};

/* An entry of a map: key 1, value 2. The id is the key, and where that is missing the value's
 * own. The value may come before the key: both are collected first. */
static struct named entry_of(struct proto_bytes entry)
{
    struct proto_walk walk = proto_walk_of(entry);
    struct proto_field field;
    struct named named = {.id = 0};

    while (proto_next(&walk, &field)) {
        if (proto_is(&field, 1, PROTO_VARINT))
            named.id = field.value;
        else if (proto_is(&field, 2, PROTO_LENGTH))
            named.message = field.bytes;
    }
    walk = proto_walk_of(named.message);
    while (proto_next(&walk, &field)) {
        if (proto_is(&field, 1, PROTO_VARINT) && !named.id)
            named.id = field.value;
        else if (proto_is(&field, 2, PROTO_LENGTH))
            named.name = field.bytes;
        else if (proto_is(&field, 4, PROTO_LENGTH))
            named.display_name = field.bytes;
    }
    return named;
}

/* The 7 of "jit_train(7)"; false where the name does not end so. */
static bool program_in_name(struct proto_bytes name, uint64_t *program)
{
    const char *open = name.length > 2 ? memrchr(name.at, '(', name.length) : NULL;
    const char *end = open ? name.at + name.length - 1 : NULL;

    if (!open || *end != ')' || open + 1 == end || end - open > 21)
        return false;
    *program = 0;
    for (const char *at = open + 1; at < end; at++) {
        if (*at < '0' || *at > '9')
            return false;
        *program = *program * 10 + (uint64_t)(*at - '0');
    }
    return true;
}

/* A program's name ends with its number in brackets, which is no part of the module's. */
struct proto_bytes xplane_module_of_program(const struct xplane *plane, int64_t program)
{
    uint32_t index = hash_map_find(&plane->metadata_by_program, (uint64_t)program);
    struct proto_bytes name = {NULL, 0};

    if (index == NO_VALUE)
        return name;
    name = plane->metadata[index].name;
    name.length = (size_t)((const char *)memrchr(name.at, '(', name.length) - name.at);
    return name;
}

/* Notes at which index an id is; of several the last one counts. Ids are counted from 1 in usual
 * files: an array for small ones is quicker than a hash, and bounded. */
static void note_id(struct hash_map *by_id, uint32_t **of_small, uint64_t id, size_t index)
{
    if (id >= XPLANE_SMALL_IDS) {
        hash_map_set(by_id, id, (uint32_t)index);
        return;
    }
    if (!*of_small)
        *of_small = require_memory(calloc(XPLANE_SMALL_IDS, sizeof **of_small));
    (*of_small)[id] = (uint32_t)index + 1;
}

/* NO_VALUE where there is none of the id. */
static uint32_t index_of_id(const struct hash_map *by_id, const uint32_t *of_small, uint64_t id)
{
    if (id >= XPLANE_SMALL_IDS)
        return hash_map_find(by_id, id);
    return of_small ? of_small[id] - 1 : NO_VALUE; /* NO_VALUE is -1 */
}

/* Most numbers are small: those are found by place, the rest in a map. */
static void add_metadata(struct xplane *plane, struct proto_bytes entry)
{
    struct named named = entry_of(entry);
    uint64_t program;

    if (program_in_name(named.name, &program))
        (void)hash_map_add(&plane->metadata_by_program, program, (uint32_t)plane->metadata_count);
    note_id(&plane->metadata_by_id, &plane->metadata_of_small, named.id, plane->metadata_count);
    ARRAY_ADD(plane->metadata, plane->metadata_count,
              (struct xplane_metadata){.message = named.message,
                                       .name = named.name,
                                       .display_name = named.display_name});
}

static void add_stat_name(struct xplane *plane, struct proto_bytes entry)
{
    struct named named = entry_of(entry);

    note_id(&plane->stat_names_by_id, &plane->stat_name_of_small, named.id, plane->stat_name_count);
    ARRAY_ADD(plane->stat_names, plane->stat_name_count,
              (struct xplane_stat_name){.name = named.name, .stat = stat_of_name(named.name)});
}

static const struct xplane_stat_name *stat_name_of(const struct xplane *plane, uint64_t id)
{
    uint32_t index = index_of_id(&plane->stat_names_by_id, plane->stat_name_of_small, id);

    return index == NO_VALUE ? NULL : &plane->stat_names[index];
}

struct xplane_metadata *xplane_metadata_of(const struct xplane *plane, int64_t id)
{
    uint32_t index = index_of_id(&plane->metadata_by_id, plane->metadata_of_small, (uint64_t)id);

    return index == NO_VALUE ? NULL : &plane->metadata[index];
}

/* ---- stats ---------------------------------------------------------------------------------- */

/* A whole number that a stat of any form gives; false where it is none. */
static bool whole_number(const struct proto_field *field, int64_t *number)
{
    double real;

    if (field->form == PROTO_VARINT) {
        *number = proto_signed(field);
        return true;
    }
    if (field->form == PROTO_LENGTH)
        return false;
    real = proto_real(field);
    if (!isfinite(real) || real < -9e18 || real > 9e18)
        return false;
    *number = (int64_t)real;
    return true;
}

/* `value` is the stat's: 2 a double, 3 and 4 integers, 5 a text, 6 bytes, 7 a name by its id.
 * Numbers may be of any form, since versions changed it; a text may be the name of another stat
 * (7), which spares repeating it. */
static void record_stat(struct xplane_stats *stats, const struct xplane *plane, uint8_t stat,
                        const struct proto_field *value)
{
    const struct xplane_stat_name *name;
    struct proto_bytes text = value->bytes;

    if (stat < XSTAT_HLO_OP) {
        if (value->number != 7 && whole_number(value, &stats->numbers[stat]))
            stats->has |= (uint32_t)1 << stat;
        return;
    }
    if (value->number == 7) {
        name = stat_name_of(plane, value->value);
        if (!name)
            return;
        text = name->name;
    } else if (value->form != PROTO_LENGTH) {
        return;
    }
    stats->texts[stat - XSTAT_HLO_OP] = text;
    stats->has |= (uint32_t)1 << stat;
}

/* What a stat means; false where nobody asks for it. */
static bool asked_stat(const struct xplane *plane, uint64_t id, uint8_t *stat)
{
    const struct xplane_stat_name *name = stat_name_of(plane, id);

    *stat = name ? name->stat : XSTAT_COUNT;
    return *stat != XSTAT_COUNT;
}

/* Writers put the id first: of a stat that nobody asks for no more is looked at, and of others the
 * walk begins behind it. An id of 0 is not written. */
static void add_stat(struct xplane_stats *stats, const struct xplane *plane,
                     struct proto_bytes message)
{
    struct proto_walk walk = proto_walk_of(message);
    struct proto_field field;
    struct proto_field value = {.number = 0};
    const char *at = message.at;
    uint64_t id = 0;
    uint8_t stat = XSTAT_COUNT;

    if (at < walk.end && *at++ == PROTO_KEY(1, PROTO_VARINT) && proto_varint(&at, walk.end, &id)) {
        if (!asked_stat(plane, id, &stat))
            return;
        walk.at = at;
    }
    while (walk.at < walk.end && proto_next(&walk, &field)) {
        if (proto_is(&field, 1, PROTO_VARINT)) {
            if (!asked_stat(plane, field.value, &stat))
                return;
        } else if (field.number >= 2 && field.number <= 7) {
            value = field;
        }
    }
    if ((stat != XSTAT_COUNT || asked_stat(plane, 0, &stat)) && value.number)
        record_stat(stats, plane, stat, &value);
}

/* A stat as writers lay it out: an id of one byte, then a number, or the number of a text, and no
 * more. False where it is another, of which nothing was then taken. */
ALWAYS_INLINE bool add_usual_stat(struct xplane_stats *stats, const struct xplane *plane,
                                  struct proto_bytes message)
{
    const char *at = message.at;
    const char *end = at + message.length;
    const struct xplane_stat_name *name;
    uint64_t value;
    uint8_t stat;
    char key;

    if (message.length < 4 || *at != PROTO_KEY(1, PROTO_VARINT) || (unsigned char)at[1] >= 0x80)
        return false;
    stat = plane->stat_of_short[(unsigned char)at[1]];
    if (stat == XSTAT_COUNT)
        return true;
    at += 2;
    key = *at;
    if (stat < XSTAT_HLO_OP ? key != PROTO_KEY(3, PROTO_VARINT) && key != PROTO_KEY(4, PROTO_VARINT)
                            : key != PROTO_KEY(7, PROTO_VARINT))
        return false;
    if (!proto_usual_varint(&at, end, &value) || at != end)
        return false;
    if (stat < XSTAT_HLO_OP) {
        stats->numbers[stat] = (int64_t)value;
    } else {
        name = stat_name_of(plane, value);
        if (!name)
            return true;
        stats->texts[stat - XSTAT_HLO_OP] = name->name;
    }
    stats->has |= (uint32_t)1 << stat;
    return true;
}

/* Behind the stats that nobody asks for: most are, and of them only the id is looked at. */
static const char *skip_unasked(const struct xplane *plane, const char *at, const char *end)
{
    while (end - at >= 4 && at[0] == PROTO_KEY(4, PROTO_LENGTH) && at[1] >= 2 &&
           at[1] <= end - at - 2 && at[2] == PROTO_KEY(1, PROTO_VARINT) && at[3] >= 0 &&
           plane->stat_of_short[(unsigned char)at[3]] == XSTAT_COUNT)
        at += 2 + at[1];
    return at;
}

void xplane_add_stats(struct xplane_stats *stats, const struct xplane *plane,
                      struct proto_bytes fields)
{
    struct proto_walk walk = proto_walk_of(fields);
    struct proto_field field;
    struct proto_bytes message;

    while ((walk.at = skip_unasked(plane, walk.at, walk.end)) < walk.end &&
           *walk.at == PROTO_KEY(4, PROTO_LENGTH) &&
           proto_usual_bytes(&walk.at, walk.end, &message)) {
        if (!add_usual_stat(stats, plane, message))
            add_stat(stats, plane, message);
    }
    while (walk.at < walk.end && proto_next(&walk, &field)) {
        if (proto_is(&field, 4, PROTO_LENGTH))
            add_stat(stats, plane, field.bytes);
    }
}

bool xplane_program_of(const struct xplane_metadata *metadata, int64_t *program)
{
    uint64_t number;

    if (!program_in_name(metadata->name, &number))
        return false;
    *program = (int64_t)number;
    return true;
}

/* Made when first asked for: most metadata of a plane has no event in it. */
const struct xplane_stats *xplane_stats_of(const struct xplane *plane,
                                           struct xplane_metadata *metadata)
{
    static const struct xplane_stats none;
    struct proto_walk walk;
    struct proto_field field;

    if (!metadata)
        return &none;
    if (!metadata->stats) {
        metadata->stats = require_memory(calloc(1, sizeof *metadata->stats));
        walk = proto_walk_of(metadata->message);
        while (proto_next(&walk, &field)) {
            if (proto_is(&field, 5, PROTO_LENGTH))
                add_stat(metadata->stats, plane, field.bytes);
        }
    }
    return metadata->stats;
}

/* ---- the plane ------------------------------------------------------------------------------ */

/* Ids of one byte alone: those are nearly all, and the others are only read without need. */
void xplane_ask(struct xplane *plane, uint32_t stats)
{
    for (size_t id = 0; id < XPLANE_SHORT_IDS; id++)
        if (!(stats >> plane->stat_of_short[id] & 1))
            plane->stat_of_short[id] = XSTAT_COUNT;
}

/* The last one counts, as protocol buffers want it of a field that comes twice. */
struct proto_bytes xplane_name_of(struct proto_bytes message)
{
    struct proto_walk walk = proto_walk_of(message);
    struct proto_field field;
    struct proto_bytes name = {NULL, 0};

    while (proto_next(&walk, &field)) {
        if (proto_is(&field, 2, PROTO_LENGTH))
            name = field.bytes;
    }
    return name;
}

/* Names of stats first: stats of the plane itself refer to them, and may stand before. */
void xplane_open(struct xplane *plane, struct proto_bytes message)
{
    struct proto_walk walk = proto_walk_of(message);
    struct proto_field field;

    *plane = (struct xplane){.message = message};
    while (proto_next(&walk, &field)) {
        if (proto_is(&field, 2, PROTO_LENGTH))
            plane->name = field.bytes;
        else if (proto_is(&field, 4, PROTO_LENGTH))
            add_metadata(plane, field.bytes);
        else if (proto_is(&field, 5, PROTO_LENGTH))
            add_stat_name(plane, field.bytes);
    }
    for (uint64_t id = 0; id < XPLANE_SHORT_IDS; id++)
        (void)asked_stat(plane, id, &plane->stat_of_short[id]);
    walk = proto_walk_of(message);
    while (proto_next(&walk, &field)) {
        if (proto_is(&field, 6, PROTO_LENGTH))
            add_stat(&plane->stats, plane, field.bytes);
    }
}

void xplane_clear(struct xplane *plane)
{
    for (size_t i = 0; i < plane->metadata_count; i++)
        free(plane->metadata[i].stats);
    free(plane->metadata);
    free(plane->metadata_of_small);
    free(plane->stat_names);
    free(plane->stat_name_of_small);
    hash_map_clear(&plane->metadata_by_id);
    hash_map_clear(&plane->metadata_by_program);
    hash_map_clear(&plane->stat_names_by_id);
    *plane = (struct xplane){0};
}
