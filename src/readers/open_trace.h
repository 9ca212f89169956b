/* Opens a file with the reader that recognises it. */
#ifndef FLOPLEDGER_READERS_OPEN_TRACE_H
#define FLOPLEDGER_READERS_OPEN_TRACE_H

#include "base/core/attributes.h"
#include "base/core/error.h"
#include "base/io/mapped_input.h"
#include "readers/nsys/nsys_report_export.h"
#include "readers/reader.h"
#include "trace/trace.h"

/* `path` may be "-" for standard input. `trace` must be zeroed; on failure it is left cleared.
 * Errors (ERROR_INPUT): no such file, a folder, an empty file, no reader knows it (the message
 * lists what is known and what the file begins with), nothing readable in it. */
MUST_USE bool open_trace(struct trace *trace, const char *path, const struct read_options *options,
                         struct error *error);

/* A file that may hold several ranks, made ready to be read rank by rank. A zeroed one is closed.
 */
struct trace_source {
    char *path; /* as the user gave it; of a report whose database lay beside it, that one */
    struct nsys_export exported; /* of a .nsys-rep */
    uint32_t part_count;
    struct unpacked_input *unpacked; /* while its ranks were counted; NULL: nothing */
};

/* Finds out how many ranks `path` holds; a .nsys-rep is first exported to a temporary file by the
 * `nsys` of this machine, where no newer database lies beside it. Errors (ERROR_INPUT) as of
 * open_trace; no `nsys`. */
MUST_USE bool trace_source_open(struct trace_source *source, const char *path, struct error *error);
void trace_source_clear(struct trace_source *source);

/* One rank of it; options->part tells which. As open_trace. */
MUST_USE bool open_trace_part(struct trace *trace, const struct trace_source *source,
                              const struct read_options *options, struct error *error);

/* An SQLite database, whole and without damage, that no reader knows: recorders, and other
 * programs, put such beside traces. */
bool is_database_of_no_recorder(const char *path);

/* Do these bytes begin what recorders write that is no trace: a table, a profile of Proton? What to
 * do with it is in open_trace's error. */
bool is_beside_traces(const char *head, size_t length);

/* NULL-terminated, for help texts. */
const struct reader *const *all_readers(void);

#endif
