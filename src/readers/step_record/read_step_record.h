/* Reads a step record, while it is written or after its writer was killed. */
#ifndef FLOPLEDGER_READERS_STEP_RECORD_READ_STEP_RECORD_H
#define FLOPLEDGER_READERS_STEP_RECORD_READ_STEP_RECORD_H

#include "base/core/attributes.h"
#include "base/core/error.h"
#include "trace/step_record/step_record.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { STEP_READER_ENTRIES = 256 }; /* read at once */

/* The wall clock from an instant of the monotonic clock on. */
struct clock_offset {
    int64_t from_ns;
    int64_t offset_ns; /* unix time - monotonic time */
};

/* Zeroed: closed. */
struct step_reader {
    int descriptor;
    bool is_open;
    struct step_record_header header; /* its texts end with a zero */
    int64_t place;                    /* of the next entry to be given */
    int64_t damaged_count;            /* entries passed over: their checksum does not hold */
    int64_t unfinished_count;         /* the same, behind the last whole one, at the last look */
    struct clock_offset *clocks;      /* sorted; the first one is the header's */
    size_t clock_count;

    struct step_entry buffer[STEP_READER_ENTRIES];
    int64_t buffer_place;
    size_t buffer_entries;
};

/* Errors (ERROR_INPUT) name the file: not there, not a step record, of a later version, or its
 * header is damaged. */
MUST_USE bool step_reader_open(struct step_reader *reader, const char *path, struct error *error);

/* The next entry that is whole. False at the end, and then again later: what was written since is
 * given. Damaged entries with whole ones behind them are passed over and counted. */
bool step_reader_next(struct step_reader *reader, struct step_entry *entry);

/* Whether the process that writes it lives: it holds a lock. False, too, where the file system
 * knows no locks, or the process runs elsewhere and its locks are not seen from here. */
bool step_reader_writer_lives(const struct step_reader *reader);

/* The wall clock (ns since 1970) at an instant of the record's monotonic clock, as it was set then;
 * of entries given so far. */
int64_t step_reader_unix_ns(const struct step_reader *reader, int64_t monotonic_ns);

void step_reader_clear(struct step_reader *reader);

/* The file begins as a step record does. */
bool looks_like_step_record(const char *bytes, size_t size);

#endif
