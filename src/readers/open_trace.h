/* Opens a file with the reader that recognises it. */
#ifndef FLOPLEDGER_READERS_OPEN_TRACE_H
#define FLOPLEDGER_READERS_OPEN_TRACE_H

#include "base/attributes.h"
#include "base/error.h"
#include "readers/reader.h"
#include "trace/trace.h"

/* `path` may be "-" for standard input. `trace` must be zeroed; on failure it is left cleared.
 * Errors (ERROR_INPUT): no such file, a folder, an empty file, no reader knows it (the message
 * lists what is known and what the file begins with), nothing readable in it. */
MUST_USE bool open_trace(struct trace *trace, const char *path, const struct read_options *options,
                         struct error *error);

/* NULL-terminated, for help texts. */
const struct reader *const *all_readers(void);

#endif
