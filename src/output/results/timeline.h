/* What ran when, in as much detail as a page can hold: lanes of blocks on one axis of time, and
 * series of numbers below them.
 *
 * A block is one event, or several short ones that follow each other in one row and were merged: as
 * long as a stretch of time is not looked at closely, they are less than a pixel. The timeline is
 * cut into regions; each says below which duration events are merged in it. */
#ifndef FLOPLEDGER_OUTPUT_RESULTS_TIMELINE_H
#define FLOPLEDGER_OUTPUT_RESULTS_TIMELINE_H

#include "base/core/attributes.h"
#include "base/core/bytes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum timeline_lane_kind {
    TIMELINE_ACCOUNTS,    /* what the ledger booked each moment of the steps to */
    TIMELINE_STREAM,      /* a stream of a device */
    TIMELINE_MODULES,     /* modules that a host thread was in */
    TIMELINE_THREAD,      /* a host thread: operators, calls, ranges; row = how deep they nest */
    TIMELINE_PYTHON,      /* its Python frames */
    TIMELINE_PHASES,      /* phases of training */
    TIMELINE_RANGES,      /* ranges that the program named */
    TIMELINE_ALLOCATIONS, /* large blocks of memory, from allocation to release */
    TIMELINE_SEGMENTS,    /* of a map: one row a segment of memory */
};

/* A kind of block: what gives it its colour. */
struct timeline_class {
    const char *key;
    const char *title;
    const char *account; /* key of the account of the ledger that it belongs to; NULL: none */
};

/* What blocks have in common. */
struct timeline_label {
    uint32_t name;   /* in names; 0: none, or of several */
    uint32_t module; /* in modules; 0: none, or of several */
    uint32_t class;  /* in classes; of merged events the one that fills most */
};

#define TIMELINE_NO_LAUNCH (-1)

struct timeline_block {
    int64_t start_ns; /* all times: from the start of the timeline */
    int64_t duration_ns;
    int64_t filled_ns;       /* of merged events: their durations summed; else duration_ns */
    int64_t launch_delay_ns; /* from the start of the launch call to start_ns, of one event on a
                                device; or TIMELINE_NO_LAUNCH */
    uint32_t launch_lane;    /* of that call, in lanes */
    uint32_t label;
    uint32_t count; /* events */
};

struct timeline_row {
    struct timeline_block *blocks; /* [count], by start; NULL where they are packed already */
    size_t count;
    unsigned char *packed; /* [packed_bytes], see timeline_pack; NULL where they are not */
    size_t packed_bytes;
};

/* Blocks of a row one after the other, as the page has them: web/src/timeline/ reads them. */
struct packed_row {
    struct bytes bytes;
    size_t count;
    int64_t end_ns;    /* of the last */
    bool has_launches; /* the row is of a stream */
};

enum { NUMBERS_OF_BLOCK_MAX = 5 };

/* Base 128, the low bits first, with the highest bit of a byte for "more follows", as varints of
 * Protocol Buffers are; most are of one to three bytes. It writes without asking for room, which
 * timeline_pack has made for a whole block. */
ALWAYS_INLINE unsigned char *put_number(unsigned char *at, uint64_t number)
{
    if (number < (uint64_t)1 << 7) {
        *at = (unsigned char)number;
        return at + 1;
    }
    at[0] = (unsigned char)(number | 0x80);
    if (number < (uint64_t)1 << 14) {
        at[1] = (unsigned char)(number >> 7);
        return at + 2;
    }
    at[1] = (unsigned char)(number >> 7 | 0x80);
    for (at += 2, number >>= 14; number >= 0x80; number >>= 7)
        *at++ = (unsigned char)(number | 0x80);
    *at = (unsigned char)number;
    return at + 1;
}

ALWAYS_INLINE unsigned char *put_length(unsigned char *at, int64_t length)
{
    return put_number(at, length > 0 ? (uint64_t)length : 0);
}

/* Adds a block behind those that are there, by start. Numbers are of 7 bits a byte, the lowest
 * first, the high bit set where more follow: start less the end of the block before (zigzag),
 * duration, 2 * label (+ 1 where it is of several events); then of several events how many and
 * their summed duration, of one event of a stream 1 + the delay of its launch (0: none known) and,
 * where known, the lane of the call. Distances instead of times are mostly a byte or two; blocks
 * may overlap, so that one can be negative. A million blocks take a fifth of what they take as
 * structs, and are neither copied nor packed once more for the page. In line, so that what is known
 * of a block where it is made is not asked again. */
ALWAYS_INLINE void timeline_pack(struct packed_row *row, const struct timeline_block *block)
{
    uint64_t distance = (uint64_t)(block->start_ns - row->end_ns);
    unsigned char *at;

    bytes_reserve(&row->bytes, (size_t)NUMBERS_OF_BLOCK_MAX * VARINT_BYTES_MAX);
    at = row->bytes.bytes + row->bytes.length;
    at = put_number(at, block->start_ns < row->end_ns ? ~(distance << 1) : distance << 1);
    at = put_length(at, block->duration_ns);
    at = put_number(at, 2 * (uint64_t)block->label + (block->count > 1));
    if (block->count > 1) {
        at = put_number(at, block->count);
        at = put_length(at, block->filled_ns);
    } else if (row->has_launches) {
        at = put_length(at, block->launch_delay_ns + 1);
        if (block->launch_delay_ns != TIMELINE_NO_LAUNCH)
            at = put_number(at, block->launch_lane);
    }
    row->bytes.length = (size_t)(at - row->bytes.bytes);
    row->end_ns = block->start_ns + block->duration_ns;
    row->count++;
}

struct timeline_lane {
    enum timeline_lane_kind kind;
    const char *title;
    struct timeline_row *rows; /* [row_count], the outermost first */
    size_t row_count;
    int64_t event_count;  /* of the trace, drawn alone or merged */
    int64_t hidden_count; /* nested deeper than the last row: left out */
};

/* Regions follow each other without a gap. */
struct timeline_region {
    int64_t start_ns;
    int64_t end_ns;
    int64_t resolution_ns; /* shorter events are merged; 0: none are */
};

struct timeline_step {
    int64_t number;
    int64_t start_ns;
    int64_t end_ns;
    bool is_outlier;
    bool is_typical; /* the one whose duration is nearest the median */
};

/* A stretch of the critical path, in order of time. */
struct timeline_link {
    int64_t start_ns;
    int64_t duration_ns;
    uint32_t lane; /* in lanes; UINT32_MAX: in none that is drawn */
    uint32_t kind; /* in path_kinds; of merged ones the longest's */
};

/* Numbers over time. Of each moment that is kept the numbers are those at the moment itself, and
 * the moments kept are those where the sum of the lines is largest in their stretch of time. */
struct timeline_series {
    const char *key; /* "memory" */
    const char *title;
    const char *unit;               /* "bytes" or what the trace says */
    bool is_stacked;                /* the lines add up */
    const char *const *line_keys;   /* [line_count] */
    const char *const *line_titles; /* [line_count] */
    size_t line_count;
    size_t summed_count; /* of them: the first so many are summed up, the others stand beside */
    int64_t *times_ns;   /* [point_count]; each holds until the next */
    double *values;      /* [point_count * line_count]; NAN: not known */
    size_t point_count;
    int64_t merged_count; /* moments of the trace that the points stand for */
};

struct timeline {
    bool is_map;     /* of memory: the axis is bytes from the start of a segment, not time */
    int64_t base_ns; /* its start, on the clock of what it is made from */
    int64_t duration_ns;
    const char *const *names; /* [name_count]; the first is "" */
    size_t name_count;
    const char *const *modules; /* [module_count]; the first is "" */
    size_t module_count;
    const struct timeline_class *classes; /* [class_count] */
    size_t class_count;
    struct timeline_label *labels; /* [label_count] */
    size_t label_count;
    struct timeline_lane *lanes; /* [lane_count] */
    size_t lane_count;
    struct timeline_region *regions; /* [region_count] */
    size_t region_count;
    struct timeline_step *steps; /* [step_count] */
    size_t step_count;
    struct timeline_link *path; /* [path_count]: of one step, without gaps; none: not known */
    size_t path_count;
    int64_t path_step;                /* its number */
    const char *const *path_kinds;    /* [path_kind_count]: titles */
    const char *const *path_accounts; /* [path_kind_count]: keys of accounts, for their colours */
    size_t path_kind_count;
    struct timeline_series *series; /* [series_count] */
    size_t series_count;
    int64_t event_count;     /* of all lanes */
    int64_t block_count;     /* of all lanes */
    int64_t left_out_tracks; /* threads and streams beyond those shown */
    int64_t left_out_events; /* on them */
    const char *step_word;   /* "step", or "window" */
};

#endif
