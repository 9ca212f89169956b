/* A plane of an XSpace: what its events and their stats are called. Private to the reader. */
#ifndef FLOPLEDGER_READERS_XPLANE_XPLANE_PLANE_H
#define FLOPLEDGER_READERS_XPLANE_XPLANE_PLANE_H

#include "base/core/hash_map.h"
#include "base/proto/proto_walk.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Stats of interest; xplane_plane.c has their names. */
enum xplane_stat {
    /* numbers: xplane_stats.numbers */
    XSTAT_CORRELATION,
    XSTAT_PROGRAM,
    XSTAT_FLOPS,
    XSTAT_BYTES,
    XSTAT_STEP,
    XSTAT_CORES,
    XSTAT_MEMORY_BYTES,
    XSTAT_COMPUTE_MAJOR,
    XSTAT_COMPUTE_MINOR,
    XSTAT_PROFILE_START,
    /* texts: xplane_stats.texts, from XSTAT_HLO_OP on */
    XSTAT_HLO_OP,
    XSTAT_HLO_MODULE,
    XSTAT_TF_OP,
    XSTAT_SCOPE,
    XSTAT_SOURCE,
    XSTAT_CATEGORY,
    XSTAT_KERNEL_DETAILS,
    XSTAT_MEMCPY_DETAILS,
    XSTAT_MEMSET_DETAILS,
    XSTAT_VENDOR,
    XSTAT_DEVICE_NAME,
    XSTAT_HLO_PROTO,
};
enum { XSTAT_COUNT = XSTAT_HLO_PROTO + 1 };

/* The stats of an event, of what it is an event of, or of a plane. Texts stand in the file. */
struct xplane_stats {
    uint32_t has; /* bits by enum xplane_stat; what has none is 0 */
    int64_t numbers[XSTAT_HLO_OP];
    struct proto_bytes texts[XSTAT_COUNT - XSTAT_HLO_OP];
};

static inline bool xplane_has(const struct xplane_stats *stats, enum xplane_stat stat)
{
    return stats->has >> stat & 1;
}

static inline int64_t xplane_number(const struct xplane_stats *stats, enum xplane_stat stat)
{
    return stats->numbers[stat];
}

/* Empty where there is none. */
static inline struct proto_bytes xplane_text(const struct xplane_stats *stats,
                                             enum xplane_stat stat)
{
    return stats->texts[stat - XSTAT_HLO_OP];
}

/* What events may be events of: XEventMetadata. */
struct xplane_metadata {
    struct proto_bytes message;
    struct proto_bytes name;
    struct proto_bytes display_name;
    struct xplane_stats *stats; /* those of all its events; NULL: not yet looked at */
};

struct xplane_stat_name {
    struct proto_bytes name; /* also what a stat's ref_value stands for */
    uint8_t stat;            /* enum xplane_stat; XSTAT_COUNT: of no interest */
};

/* Zeroed is empty. */
struct xplane {
    struct proto_bytes message;
    struct proto_bytes name; /* "/device:GPU:0" */
    struct xplane_metadata *metadata;
    size_t metadata_count;
    struct hash_map metadata_by_id;
    struct hash_map metadata_by_program;
    struct xplane_stat_name *stat_names;
    size_t stat_name_count;
    struct hash_map stat_names_by_id;
    struct xplane_stats stats; /* of the plane itself */
};

/* All but the lines, which are left in plane->message. Texts are those of `message`, which must
 * outlive the plane. What is damaged is left out: the lines behind it are, too. */
void xplane_open(struct xplane *plane, struct proto_bytes message);
void xplane_clear(struct xplane *plane);

/* The plane's name alone. */
struct proto_bytes xplane_name_of(struct proto_bytes message);

/* NULL where there is none of the id. */
struct xplane_metadata *xplane_metadata_of(const struct xplane *plane, int64_t id);

/* The name of a program, as the plane's ranges of modules have it: "jit_train" of "jit_train(7)".
 * Empty where there is none. */
struct proto_bytes xplane_module_of_program(const struct xplane *plane, int64_t program);

/* Those of the metadata; `metadata` may be NULL. */
struct xplane_stats xplane_stats_of(const struct xplane *plane, struct xplane_metadata *metadata);

/* Adds an XStat. */
void xplane_add_stat(struct xplane_stats *stats, const struct xplane *plane,
                     struct proto_bytes message);

static inline bool proto_text_is(struct proto_bytes text, const char *other)
{
    size_t length = __builtin_strlen(other);

    return text.length == length && (length == 0 || __builtin_memcmp(text.at, other, length) == 0);
}

static inline bool proto_text_begins(struct proto_bytes text, const char *start)
{
    size_t length = __builtin_strlen(start);

    return text.length >= length && __builtin_memcmp(text.at, start, length) == 0;
}

#endif
