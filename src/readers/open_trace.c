/* Opens a file with the reader that recognises it. */
#include "readers/open_trace.h"

#include "base/io/input_stream.h"
#include "base/text/owned_text.h"
#include "base/text/utf8.h"
#include "readers/nsys/nsys_database.h"
#include "readers/proton/read_proton.h"
#include "readers/sqlite/sqlite_input.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

/* ---- what no reader knows -------------------------------------------------------------------- */

/* Says what an input seems to be that no reader knows. */

struct look {
    const char *bytes;
    size_t length;
    size_t offset;
    const char *phrase;
};

#define LOOK(bytes_, offset_, phrase_)               \
    {                                                \
        bytes_, sizeof(bytes_) - 1, offset_, phrase_ \
    }

static const char a_pickle[] =
    "a pickle of Python; a memory snapshot is for 'flopledger memory', else name the trace that "
    "export_chrome_trace wrote";

static const char rocprofv3_table[] =
    "a table of rocprofv3, which is not read; record with --output-format json or rocpd";

static const char torch_npu_table[] =
    "a table of torch_npu, which is not read; name trace_view.json or the database beside it";

/* By the bytes with which other files begin that are taken for traces, each with what to do:
 * unpack it, or give it to another command. */
static const struct look looks[] = {
    LOOK("PK\x03\x04", 0, "a zip archive (torch.save writes them, too); unpack the trace first"),
    LOOK("ustar", 257, "a tar archive; unpack the trace first"),
    LOOK("\3757zXZ", 0, "a file packed with xz; unpack it first: xz -d"),
    LOOK("BZh", 0, "a file packed with bzip2; unpack it first: bzip2 -d"),
    LOOK("\x04\x22\x4d\x18", 0, "a file packed with lz4; unpack it first: lz4 -d"),
    LOOK("7z\xbc\xaf", 0, "a 7z archive; unpack the trace first"),
    LOOK("\x1f\x8b", 0, "a file packed twice with gzip; unpack it once: gzip -d"),
    LOOK("\x80\x02", 0, a_pickle),
    LOOK("\x80\x03", 0, a_pickle),
    LOOK("\x80\x04", 0, a_pickle),
    LOOK("\x80\x05", 0, a_pickle),
    LOOK("PAR1", 0, "a Parquet table; name the trace that export_chrome_trace wrote"),
    LOOK("\x89PNG", 0, "a PNG picture; name the trace that export_chrome_trace wrote"),
    LOOK("\177ELF", 0, "a program; name the trace that export_chrome_trace wrote"),
    LOOK("%PDF", 0, "a PDF document; name the trace that export_chrome_trace wrote"),
    LOOK("\"Kind\",\"Agent_Id\"", 0, rocprofv3_table),
    LOOK("\"Correlation_Id\",\"Dispatch_Id\"", 0, rocprofv3_table),
    LOOK("\"Domain\",\"Function\"", 0, rocprofv3_table),
    LOOK("\"Kind\",\"Direction\"", 0, rocprofv3_table),
    LOOK("Step Id,", 0, torch_npu_table),
    LOOK("Device_id,", 0, torch_npu_table),
    LOOK("version https://git-lfs", 0,
         "a pointer of Git LFS and not the file itself; fetch it: git lfs pull"),
};

static bool has(const struct look *look, const char *head, size_t length)
{
    return length >= look->offset + look->length &&
           memcmp(head + look->offset, look->bytes, look->length) == 0;
}

/* A page of a web server (an error, a login) is what a download often leaves in place of a
 * trace. */
static bool is_markup(const char *head, size_t length)
{
    static const char *const starts[] = {"<!doctype", "<html", "<?xml", "<head"};

    while (length && (unsigned char)*head <= ' ') {
        head++;
        length--;
    }
    for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++) {
        if (length >= strlen(starts[i]) && strncasecmp(head, starts[i], strlen(starts[i])) == 0)
            return true;
    }
    return false;
}

/* 512 bytes are enough: binary formats have a control character among their first. */
static bool is_text(const char *head, size_t length)
{
    if (length > 512)
        length = 512;
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)head[i];

        if (c < ' ' && c != '\n' && c != '\r' && c != '\t')
            return false;
    }
    return true;
}

/* Editors, and programs that open a file as text, put U+FFFD in place of bytes that are no UTF-8:
 * so many of it, and nothing but UTF-8, is no accident in binary data. */
enum { REPLACEMENT = 0xfffd, REPLACED_MIN = 8, REPLACED_HEAD_BYTES = 4096 };

/* A binary file that an editor or a transfer "as text" went through is valid UTF-8 full of
 * U+FFFD, the character for what could not be decoded: the bytes are lost for good, which is
 * another remedy than "cut" or "not a trace". */
static bool was_rewritten_as_text(const char *head, size_t length)
{
    size_t replaced = 0;

    length = length < REPLACED_HEAD_BYTES ? length : REPLACED_HEAD_BYTES;
    if (is_text(head, length))
        return false;
    for (size_t i = 0; i + 4 <= length;) {
        struct utf8_character character = utf8_decode(head + i, length - i);

        if (!character.is_valid)
            return false;
        replaced += character.code == REPLACEMENT;
        i += character.length;
    }
    return replaced >= REPLACED_MIN;
}

static const char a_rewritten_file[] =
    "binary data that was opened as text and written again: its bytes above 0x7f are lost, each "
    "became U+FFFD; copy the file again, as binary data";

/* A phrase for a message, with what to do: "a pickle of Python, as torch.save writes". NULL: not
 * known. From the certain to the vague: signatures first, then what the bytes as a whole look
 * like. */
static const char *unknown_input_looks_like(const char *head, size_t length)
{
    for (size_t i = 0; i < sizeof looks / sizeof looks[0]; i++) {
        if (has(&looks[i], head, length))
            return looks[i].phrase;
    }
    if (was_rewritten_as_text(head, length))
        return a_rewritten_file;
    if (is_markup(head, length))
        return "a web page; was it downloaded without logging in?";
    if (is_text(head, length))
        return "text that is not JSON; name the trace that export_chrome_trace wrote";
    return "binary data; name the trace that export_chrome_trace wrote";
}

bool is_beside_traces(const char *head, size_t length)
{
    const char *phrase = NULL;

    for (size_t i = 0; i < sizeof looks / sizeof looks[0] && !phrase; i++)
        phrase = has(&looks[i], head, length) ? looks[i].phrase : NULL;
    return phrase == rocprofv3_table || phrase == torch_npu_table ||
           looks_like_proton(head, length);
}

/* ---- open trace ------------------------------------------------------------------------------ */

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

/* The beginning is shown: a reader sees at once what he has given. */
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

/* In the order of the list: strict readers before those that take any JSON. What needs the
 * whole file is asked only where the head fits. */
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

/* Nsight Systems' reader takes any database, so as to say what is wrong with it. */
bool is_database_of_no_recorder(const char *path)
{
    SCOPED(sqlite_input) database = {0};
    SCOPED(input_stream) input = {0};
    struct input_window head;

    if (!input_stream_open(&input, path, false, NULL) ||
        !sqlite_input_open(&database, path, NULL) || database.missing_bytes > 0)
        return false;
    head = input_stream_peek(&input);
    for (size_t i = 0; readers[i]; i++)
        if (readers[i]->recognises_file && readers[i]->recognises(head.text, head.length) &&
            readers[i]->recognises_file(&input))
            return false;
    return !is_of_nsight_systems(&database) && !database.damage[0];
}

/* Each part becomes a rank and is read by itself: a file whose numbers are damaged would else
 * be read for ever. */
bool reader_can_split(uint32_t count, struct error *error)
{
    if (count <= READER_PARTS_MAX)
        return true;
    return error_set(error, ERROR_INPUT,
                     "more than %d processes or devices worked in it: expected those of one "
                     "machine; record fewer of them at once",
                     READER_PARTS_MAX);
}

/* A file of several ranks is read once for each of them, which a pipe cannot be. */
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

/* Recordings that were merged into one file are ranks of it. That shows only when it was read. */
static bool has_known_parts(const struct trace *trace, const struct input_stream *input,
                            const struct read_options *options, struct error *error)
{
    uint32_t count = trace->read.merged_processes;

    if (count < 2)
        return true;
    if (trace->read.are_not_parted)
        return error_set(error, ERROR_INPUT,
                         "recordings of %" PRIu32
                         " processes were merged into it, and nothing tells whose a kernel is: "
                         "expected a rank in names of processes ('rank 3'), or correlations that "
                         "differ; name the processes' own traces",
                         count);
    return reader_can_split(count, error) && reader_has_all_parts(input, options, count, error);
}

/* A database that was rewritten as text has a reader that knows its head; the test comes
 * before it reads, since it would find only damage. */
static bool read_input(struct trace *trace, struct input_stream *input,
                       const struct read_options *options, struct error *error)
{
    struct input_window head;
    const struct reader *reader;

    input->progress = options->progress;
    head = input_stream_peek(input);
    if (looks_like_proton(head.text, head.length < HEAD_BYTES ? head.length : HEAD_BYTES))
        return error_set(
            error, ERROR_INPUT,
            "a profile of Proton, which sums up times and holds no events: 'flopledger "
            "report' and 'inspect' read it, one file at a time");
    reader = find_reader(input, head);
    if (!reader)
        return open_trace_refuse(input, head, error);
    if (was_rewritten_as_text(head.text, head.length))
        return error_set(error, ERROR_INPUT, "%s", a_rewritten_file);
    if (!reader->read(trace, input, options, error) ||
        !has_known_parts(trace, input, options, error))
        return false;
    (void)snprintf(trace->read.format, sizeof trace->read.format, "%s", reader->name);
    return true;
}

static const char *database_of(const struct trace_source *source)
{
    return source->exported.database ? source->exported.database : source->path;
}

/* Reads what the user knows as `shown`. */
static bool open_as(struct trace *trace, const struct trace_source *source, const char *shown,
                    const struct read_options *options, struct error *error)
{
    SCOPED(input_stream) input = {0};
    const char *path = database_of(source);
    bool is_unpacked = source->unpacked && source->unpacked->file >= 0;

    if (!input_stream_open(&input, path, options->threads > 1 && !is_unpacked, error))
        return false;
    input.unpacked = is_unpacked ? source->unpacked : NULL; /* else threads would share it */
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
    struct trace_source source = {.path = (char *)(uintptr_t)path}; /* is not freed here */

    if (!open_as(trace, &source, path, options, error))
        return false;
    if (trace->read.merged_processes < 2)
        return true;
    (void)error_set(error, ERROR_INPUT,
                    "'%s': recordings of %" PRIu32
                    " processes were merged into it, and one is expected here: name its own trace",
                    path, trace->read.merged_processes);
    trace_clear(trace);
    return false;
}

bool open_trace_part(struct trace *trace, const struct trace_source *source,
                     const struct read_options *options, struct error *error)
{
    return open_as(trace, source, source->path, options, error);
}

/* How many ranks the file holds; 1 where that shows only when it is read. An input that no
 * reader knows has one part: reading it says why it is none, with a better message. */
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
    source->unpacked = unpacked_input_new();
    input.unpacked = source->unpacked;
    if (!reader->count_parts(&source->part_count, &input, error))
        return error_in(error, "'%s'", source->path);
    return true;
}

/* A report of Nsight Systems is exported first (nsys_report_export.c), and stays what the user
 * called it in messages, except where a database lay beside it already. */
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
    unpacked_input_free(source->unpacked);
    free(source->path);
    *source = (struct trace_source){0};
}
