/* Writes a step record, at the price of a checksum and a copy an entry. */
#ifndef FLOPLEDGER_TRACE_STEP_RECORD_WRITE_STEP_RECORD_H
#define FLOPLEDGER_TRACE_STEP_RECORD_WRITE_STEP_RECORD_H

#include "base/core/attributes.h"
#include "base/core/error.h"
#include "trace/step_record/step_record.h"

#include <stdbool.h>
#include <stdint.h>

/* Zeroed: closed. */
struct step_writer {
    int descriptor;
    bool is_open;
    bool is_mapped; /* else each entry is a write() */
    unsigned char *chunk;
    int64_t chunk_start; /* place in the file */
    int64_t used_bytes;
    uint32_t file_mark;
};

/* Makes the file `path`, which must not be there (ERROR_USAGE tells that it is: another process
 * writes it), and locks it for as long as it is open: a reader can tell that its writer lives.
 *
 * The file is mapped where its file system keeps the room that it has promised. Elsewhere (network
 * file systems, those that copy on write) a page that finds no room would kill the process by
 * SIGBUS: there entries are written by write(). */
MUST_USE bool step_writer_open(struct step_writer *writer, const char *path,
                               const struct step_record_header *header, struct error *error);

/* Gives the entry its sequence number and checksum, and writes it. False with `error` set where
 * there is no room; the next one may be tried all the same. */
MUST_USE bool step_writer_append(struct step_writer *writer, struct step_entry *entry,
                                 struct error *error);

/* Cuts the file behind its last entry. */
void step_writer_clear(struct step_writer *writer);

/* In a child of fork(), to which the map was not handed on: leaves the file as it is. */
void step_writer_forget(struct step_writer *writer);

uint32_t step_record_header_checksum(const struct step_record_header *header);
uint32_t step_entry_checksum(const struct step_entry *entry, uint32_t file_mark);

#endif
