/* What a reader of a trace format is.
 *
 * To add one: write readers/<format>/<name>.c with `const struct reader <name>_reader`, and one
 * line READER(<name>) in list.def. docs/how-to/add-a-reader.md walks through it. */
#ifndef FLOPLEDGER_READERS_READER_H
#define FLOPLEDGER_READERS_READER_H

#include "base/core/attributes.h"
#include "base/core/error.h"
#include "base/io/input_stream.h"
#include "trace/trace.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct progress; /* base/io/progress.h */

struct read_options {
    unsigned threads;          /* at most this many for one file; at least 1 */
    struct progress *progress; /* may be NULL */
    uint32_t part;             /* which of the ranks in the file, from 0; see count_parts */
    uint32_t part_count;       /* how many it holds; 0: not counted */
    bool keeps_memory;         /* fill trace->memory, which most questions do not need */
    bool skips_details;        /* what few questions do not need: trace->details may stay empty, and
                                  trace_operator_of may know none; or trace->sums may stand for all
                                  events */
};

struct reader {
    const char *name;    /* "torch-profiler" */
    const char *summary; /* one line for `flopledger inspect --help` */
    /* `head`: the first bytes of the uncompressed input (up to 64 KiB, all of a shorter one). */
    bool (*recognises)(const char *head, size_t length);
    /* Where the first bytes are those of other formats, too: looks into the file. NULL: no need. */
    bool (*recognises_file)(const struct input_stream *input);
    /* How many ranks `input` holds, each of which is read on its own; NULL: always one. Not asked
     * of a pipe. False with `error` set where it cannot be read at all. */
    bool (*count_parts)(uint32_t *count, const struct input_stream *input, struct error *error);
    /* Reads all of `input` into a zeroed `trace`, and finishes it (trace_finish). What is damaged
     * is set aside and counted in trace->read; only an input with nothing readable in it is an
     * error. */
    bool (*read)(struct trace *trace, struct input_stream *input,
                 const struct read_options *options, struct error *error);
};

/* Each rank of a file is read by a pass over it, so there are only so many: those of one machine.
 */
enum { READER_PARTS_MAX = 128 };

/* False with `error` set where a file holds more ranks than these. */
MUST_USE bool reader_can_split(uint32_t count, struct error *error);

/* What count_parts() cannot know of a pipe, which is read once: false with `error` set where the
 * file turned out to hold `count` ranks, of which only one was read. */
MUST_USE bool reader_has_all_parts(const struct input_stream *input,
                                   const struct read_options *options, uint32_t count,
                                   struct error *error);

#endif
