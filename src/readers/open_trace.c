/* Opens a file with the reader that recognises it. */
#include "readers/open_trace.h"

#include "base/input_stream.h"

#include <stdio.h>
#include <string.h>

#define READER(name) extern const struct reader name##_reader;
#include "readers/list.def"
#undef READER

static const struct reader *const readers[] = {
#define READER(name) &name##_reader,
#include "readers/list.def"
#undef READER
    NULL,
};

const struct reader *const *all_readers(void)
{
    return readers;
}

bool open_trace(struct trace *trace, const char *path, const struct read_options *options,
                struct error *error)
{
    SCOPED(input_stream) input = {0};
    const struct reader *reader = readers[0];

    if (!input_stream_open(&input, path, options->threads > 1, error))
        return false;
    if (!reader->read(trace, &input, options, error)) {
        trace_clear(trace);
        return error_in(error, "'%s'", path);
    }
    trace->path = string_pool_add(&trace->strings, path, strlen(path));
    trace->read.file_bytes = input.file_bytes;
    (void)snprintf(trace->read.compression, sizeof trace->read.compression, "%s",
                   compression_name(input.compression));
    (void)snprintf(trace->read.format, sizeof trace->read.format, "%s", reader->name);
    return true;
}
