/* The step record: what each step of a process that trains took, in a file that survives whatever
 * ends the process. docs/formats/step-record.md describes it for others.
 *
 * A header of 4,096 bytes, then entries of 128 bytes, each in its own place and with a checksum of
 * its own: an entry counts when its checksum holds, so a process may be killed within any
 * instruction. Little-endian. Times are CLOCK_MONOTONIC in ns; entries of kind CLOCK tell what the
 * wall clock showed. */
#ifndef FLOPLEDGER_TRACE_STEP_RECORD_STEP_RECORD_H
#define FLOPLEDGER_TRACE_STEP_RECORD_STEP_RECORD_H

#include "base/core/attributes.h"
#include "base/core/error.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#define STEP_RECORD_MAGIC "FLSTEPS1"

enum {
    STEP_RECORD_VERSION = 1,
    STEP_RECORD_HEADER_BYTES = 4096,
    STEP_RECORD_ENTRY_BYTES = 128,
    STEP_RECORD_CHUNK_BYTES = 1 << 20, /* the file grows by this */
};

struct step_record_header {
    char magic[8];
    uint32_t version;
    uint32_t header_bytes;
    uint32_t entry_bytes;
    uint32_t checksum;  /* CRC-32 of the whole header, with 0 here */
    uint32_t file_mark; /* of this file alone: where each entry's CRC-32 begins */
    int32_t rank;
    int32_t world_size;
    int32_t local_rank;
    int64_t pid;
    int64_t opened_unix_ns;   /* wall clock and monotonic clock of one instant */
    int64_t opened_ns;        /* monotonic */
    int64_t process_start_ns; /* monotonic: when the process began */
    char boot_id[40];         /* of the machine's boot: monotonic times of one boot compare */
    char host[64];
    char job[128]; /* attempts of one job have the same; "" is not known */
    char recorder[32];
    char torch[32];
    char python[32];
    char zero[3696]; /* up to header_bytes */
};

static_assert(sizeof(struct step_record_header) == STEP_RECORD_HEADER_BYTES, "the file's layout");

/* New kinds may be added; a reader passes over those it does not know. */
enum step_entry_kind {
    STEP_ENTRY_STEP = 1,       /* a step, from the end of the one before it to its own end */
    STEP_ENTRY_CHECKPOINT = 2, /* the program was saving one */
    STEP_ENTRY_RESTORE = 3,    /* the program was loading one */
    STEP_ENTRY_EVALUATION = 4,
    STEP_ENTRY_LOSS = 5,      /* `number`: what the program itself read of the loss of `step` */
    STEP_ENTRY_RECORDING = 6, /* our own work: the profiler was made ready, or saved its window */
    STEP_ENTRY_CLOCK = 7,     /* `count`: ns of the wall clock since 1970, at start_ns */
    STEP_ENTRY_LOST = 8,      /* `count` entries could not be written before this one */
    STEP_ENTRY_RESUMED = 9,   /* `count`: steps that the optimizer had made before step 1 */
    STEP_ENTRY_END = 10,      /* the process ends in good order; `count`: 1 if by an exception */
    STEP_ENTRY_ENERGY = 11,   /* drawn since the entry of this kind before: `count` mJ of the GPU,
                               * `number` J of the machine's processors; of the first: not known */
};

enum step_entry_flag {
    STEP_FLAG_PROFILED = 1,         /* the profiler ran: the step is slower than others */
    STEP_FLAG_SKIPPED = 2,          /* the update was left out (infinite gradients) */
    STEP_FLAG_START_UNKNOWN = 4,    /* step 1: start_ns is when the optimizer was made */
    STEP_FLAG_MEMORY_IS_DEVICE = 8, /* memory_bytes is of the device's allocator, not of the host */
    STEP_FLAG_LOSS_BEFORE = 32,     /* `number` is the loss of the step before */
    STEP_FLAG_TOKENS_TRACED = 64,   /* tokens and samples are those of each step recorded in full:
                                     * no data loader tells them */
    STEP_FLAG_COMPILED = 16,        /* the optimizer's step was compiled: its start was not seen */
};

/* -1 (NaN in `number`) is not known. All durations are host time: of a GPU, when its work was
 * launched, not when it ran. */
struct step_entry {
    uint32_t checksum; /* CRC-32 of the entry with 0 here, begun with the file's mark */
    uint16_t kind;
    uint16_t flags;
    uint64_t sequence; /* 1 is the first entry of the file; 0: nothing was written here */
    int64_t step;      /* from 1; 0 before the first */
    int64_t start_ns;
    int64_t end_ns;
    int64_t data_wait_ns; /* within the step, in the data loader */
    int64_t forward_ns;   /* from having the data to the start of backward, all micro-batches */
    int64_t backward_ns;  /* in backward(), all micro-batches */
    int64_t optimizer_ns; /* in the step of the optimizers */
    int64_t tokens;       /* of this rank */
    int64_t samples;      /* of this rank */
    int64_t memory_bytes; /* high-water mark since the process began */
    int64_t count;        /* of some kinds: see there; of a step: micro-batches */
    double number;        /* LOSS; of a step: a loss that was read since the entry before */
    int64_t host_bytes;   /* high-water mark of the process's resident memory */
    int64_t reserved;     /* 0 */
};

static_assert(sizeof(struct step_entry) == STEP_RECORD_ENTRY_BYTES, "the file's layout");

/* ---- writes a step record, at the price of a checksum and a copy an entry ---- */

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
