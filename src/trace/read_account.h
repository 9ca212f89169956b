/* What a reader took from a file and what it could not take: nothing is dropped in silence. */
#ifndef FLOPLEDGER_TRACE_READ_ACCOUNT_H
#define FLOPLEDGER_TRACE_READ_ACCOUNT_H

#include <stdbool.h>
#include <stdint.h>

enum { READ_CATEGORIES_MAX = 64, READ_DAMAGES_MAX = 8, READ_UNUSED_MAX = 32 };

/* Events of one `cat` and `ph`, for `flopledger inspect`. */
struct category_count {
    uint32_t category; /* `cat` as written, in trace.strings (0: none given) */
    char phase;        /* 'X', 'i', 's', ... */
    int64_t events;
    int64_t first_start_ns;
    int64_t last_end_ns;
    int64_t total_duration_ns;
};

/* One place where the file is not what it should be. */
struct damage {
    int64_t byte;      /* offset in the uncompressed text */
    int64_t length;    /* bytes skipped */
    char message[160]; /* what was expected, and what is there */
};

/* A part of the file that is counted at most, and used for nothing: a table, a kind of records. */
struct unused_part {
    char name[64];
    int64_t count; /* of its records, or rows */
};

/* What stands behind the end of a file's content. */
enum read_ending {
    ENDING_CLEAN,    /* nothing, or it is cut, see is_truncated */
    ENDING_FOLLOWED, /* something else, which is not read */
    ENDING_DAMAGED,  /* a checksum or length that is wrong: all before it may be wrong, too */
};

struct read_account {
    int64_t file_bytes;     /* as stored; -1 for a pipe */
    int64_t text_bytes;     /* uncompressed, read */
    int64_t events;         /* all complete events, whatever kind or phase */
    int64_t damaged_events; /* pieces of text skipped because they are no event */
    bool is_truncated; /* the file ends before the JSON does, or the compressed stream breaks off */
    char truncation[256]; /* why: "gzip stream ends in the middle", ... */
    enum read_ending ending;
    char ending_message[320];                /* what is wrong behind the last event, and where */
    struct damage damages[READ_DAMAGES_MAX]; /* the first ones */
    uint32_t damage_count;

    int64_t negative_durations;    /* set aside: kept out of the event columns */
    int64_t overflowing_durations; /* set aside: longer than the whole trace can be */
    int64_t missing_times;         /* timed events without ts or dur, set aside */
    int64_t clamped_durations;     /* cut short by the writer, and mended: the device says longer */
    int64_t ambiguous_slices;      /* begin when another ends, and no order says which is first */
    int64_t unmatched_begins;      /* B without E */
    int64_t unmatched_ends;        /* E without B */
    int64_t replaced_names; /* names with control characters or bytes that are not UTF-8 (kept as
                               they are) */
    int64_t mixed_phases;   /* ops of several phases of training at once, of which one counts */
    int64_t lost_names;     /* timed events with a number for a name that the file never tells */
    int64_t mended_events;  /* no JSON, but read: a value is missing, or has a decimal comma */
    int64_t device_step_copies;     /* ProfilerStep events on the device: not steps */
    int64_t unlinked_device_events; /* kernels, copies, memsets without a launch call, but for: */
    int64_t earlier_device_events;  /* those launched before the first call that was recorded */
    int64_t page_moves;             /* those of unified memory, which page faults start */
    int64_t early_device_events;    /* device work that starts before its own launch call does */

    struct category_count categories[READ_CATEGORIES_MAX];
    uint32_t category_count;
    int64_t uncategorised_events; /* past the READ_CATEGORIES_MAX-th category */

    struct unused_part unused[READ_UNUSED_MAX]; /* by the order in which they were met */
    uint32_t unused_count;
    int64_t unused_more; /* records of parts past these */

    uint32_t merged_processes; /* whose recordings the file holds, of which the trace is one; 0: it
                                  is of one process, or nobody looked */
    bool are_not_parted;       /* nothing tells whose work is whose: the trace is of all */

    char recorder[128];  /* who wrote the file, and its version as far as the file says it */
    char compression[8]; /* "gzip", "zstd", "none" */
    char format[32];     /* the reader's name */
};

/* Part of the file is not in the trace, or may be wrong. */
static inline bool read_is_partial(const struct read_account *read)
{
    return read->is_truncated || read->damaged_events > 0 || read->ending != ENDING_CLEAN;
}

#endif
