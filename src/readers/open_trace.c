/* Opens a file with the reader that recognises it. */
#include "readers/open_trace.h"

#include "base/io/input_stream.h"
#include "base/text/owned_text.h"
#include "readers/unknown_input.h"

/* So much of the text is shown to the readers. */
enum { HEAD_BYTES = 64 * 1024 };

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
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

/* Writes the first bytes in a way that can be printed: "\x80\x04ab". */
static void show_head(char *to, size_t size, struct input_window head)
{
    size_t used = 0;

    to[0] = '\0';
    for (size_t i = 0; i < head.length && i < 24 && used + 5 < size; i++) {
        unsigned char c = (unsigned char)head.text[i];
        int length = c < ' ' || c > '~' ? snprintf(to + used, size - used, "\\x%02x", c)
                                        : snprintf(to + used, size - used, "%c", c);

        used += length > 0 ? (size_t)length : 0;
    }
}

static bool open_trace_refuse(const struct input_stream *input, struct input_window head,
                              struct error *error)
{
    char beginning[128];

    if (head.length == 0 && input->is_broken)
        return error_set(error, ERROR_INPUT, "nothing can be read: %s", input->breakage);
    if (head.length == 0)
        return error_set(error, ERROR_INPUT,
                         "empty: was the run killed before it had written the trace?");
    show_head(beginning, sizeof beginning, head);
    return error_set(
        error, ERROR_INPUT,
        "not a trace of torch.profiler (byte 0: expected '{' or '[', found '%s') nor a database of "
        "Nsight Systems, an XSpace of JAX or a trace of Perfetto, it looks like %s",
        beginning, unknown_input_looks_like(head.text, head.length));
}

static const struct reader *find_reader(const struct input_stream *input, struct input_window head)
{
    size_t length = head.length < HEAD_BYTES ? head.length : HEAD_BYTES;

    for (size_t i = 0; readers[i]; i++) {
        if (readers[i]->recognises(head.text, length) &&
            (!readers[i]->recognises_file || readers[i]->recognises_file(input)))
            return readers[i];
    }
    return NULL;
}

static bool read_input(struct trace *trace, struct input_stream *input,
                       const struct read_options *options, struct error *error)
{
    struct input_window head;
    const struct reader *reader;

    input->progress = options->progress;
    head = input_stream_peek(input);
    reader = find_reader(input, head);
    if (!reader)
        return open_trace_refuse(input, head, error);
    if (!reader->read(trace, input, options, error))
        return false;
    (void)snprintf(trace->read.format, sizeof trace->read.format, "%s", reader->name);
    return true;
}

bool reader_can_split(uint32_t count, struct error *error)
{
    if (count <= READER_PARTS_MAX)
        return true;
    return error_set(error, ERROR_INPUT,
                     "more than %d processes or devices worked in it: expected those of one "
                     "machine; record fewer of them at once",
                     READER_PARTS_MAX);
}

bool reader_has_all_parts(const struct input_stream *input, const struct read_options *options,
                          uint32_t count, struct error *error)
{
    if (input->file_bytes >= 0 || count <= 1 || options->part_count > 1)
        return true;
    return error_set(error, ERROR_INPUT,
                     "it holds %" PRIu32
                     " ranks, each of which is read on its own, and a pipe can be read only once: "
                     "write it to a file and name that",
                     count);
}

/* Reads `path`, which the user knows as `shown`. */
static bool open_as(struct trace *trace, const char *path, const char *shown,
                    const struct read_options *options, struct error *error)
{
    SCOPED(input_stream) input = {0};

    if (!input_stream_open(&input, path, options->threads > 1, error))
        return false;
    if (!read_input(trace, &input, options, error)) {
        trace_clear(trace);
        return error_in(error, "'%s'", path == shown ? input.name : shown);
    }
    trace->path = string_pool_add(&trace->strings, shown, strlen(shown));
    trace->read.file_bytes = input.file_bytes;
    (void)snprintf(trace->read.compression, sizeof trace->read.compression, "%s",
                   compression_name(input.compression));
    return true;
}

bool open_trace(struct trace *trace, const char *path, const struct read_options *options,
                struct error *error)
{
    return open_as(trace, path, path, options, error);
}

static const char *database_of(const struct trace_source *source)
{
    return source->exported.database ? source->exported.database : source->path;
}

bool open_trace_part(struct trace *trace, const struct trace_source *source,
                     const struct read_options *options, struct error *error)
{
    return open_as(trace, database_of(source), source->path, options, error);
}

/* How many ranks the file holds; 1 where that shows only when it is read. */
static bool open_trace_count_parts(struct trace_source *source, const char *path,
                                   struct error *error)
{
    SCOPED(input_stream) input = {0};
    const struct reader *reader;

    source->part_count = 1;
    if (!input_stream_open(&input, path, false, error))
        return false;
    if (input.file_bytes < 0) /* a pipe is read once: see reader_has_all_parts */
        return true;
    reader = find_reader(&input, input_stream_peek(&input));
    if (!reader || !reader->count_parts)
        return true;
    if (!reader->count_parts(&source->part_count, &input, error))
        return error_in(error, "'%s'", source->path);
    return true;
}

bool trace_source_open(struct trace_source *source, const char *path, struct error *error)
{
    *source = (struct trace_source){.path = text_copy(path), .part_count = 1};
    if (is_nsys_report(path)) {
        if (!nsys_report_export(&source->exported, path, error)) {
            trace_source_clear(source);
            return error_in(error, "'%s'", path);
        }
        if (source->exported.is_beside) {
            free(source->path);
            source->path = text_copy(source->exported.database);
        }
    }
    if (!open_trace_count_parts(source, database_of(source), error)) {
        trace_source_clear(source);
        return false;
    }
    return true;
}

void trace_source_clear(struct trace_source *source)
{
    if (!source)
        return;
    nsys_export_clear(&source->exported);
    free(source->path);
    *source = (struct trace_source){0};
}
