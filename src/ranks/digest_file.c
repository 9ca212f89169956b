/* Files of digests: read record by record, as they come, whatever their size.
 *
 * A file: the magic, a byte for the version, the number of records (4 bytes), records. A record:
 * kind (1 byte), rank (8), length (4), CRC-32 of its bytes (4), bytes; numbers with the lowest byte
 * first. Texts that several digests tell by their hash stand before them, each once, by hash. Each
 * record has a checksum and its length: what is damaged costs itself, and a text those that use it.
 */
#include "ranks/digest_file.h"

#include "base/core/invariant.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

static const char magic[8] = {'F', 'L', 'D', 'I', 'G', 'E', 'S', 'T'};
enum { FILE_HEAD_BYTES = 13, RECORD_HEAD_BYTES = 17, RECORD_BYTES_MAX = 256 << 20 };

/* A record of a shared text; its hash stands where others have the rank. Those of the other kinds
 * are of enum digest_record_kind. */
enum { TEXT_KIND = 0 };

static uint64_t collect_number(const unsigned char *at, unsigned bytes)
{
    uint64_t number = 0;

    for (unsigned i = 0; i < bytes; i++)
        number |= (uint64_t)at[i] << (8 * i);
    return number;
}

static uint32_t checksum(const unsigned char *bytes, size_t length)
{
    return (uint32_t)crc32_z(0, bytes, length);
}

/* ---- write ---------------------------------------------------------------------------------- */

/* A record that was cut or changed shows by its length or its sum; a reader then goes on with
 * what was whole before it. */
static void put_record(struct bytes *writer, unsigned kind, uint64_t key, const void *bytes,
                       size_t length)
{
    require_invariant(length <= RECORD_BYTES_MAX, "a digest is below 256 MiB");
    bytes_add_fixed(writer, kind, 1);
    bytes_add_fixed(writer, key, 8);
    bytes_add_fixed(writer, length, 4);
    bytes_add_fixed(writer, checksum(bytes, length), 4);
    bytes_add(writer, bytes, length);
}

static int compare_hashes(const void *left, const void *right)
{
    const struct shared_text *a = left, *b = right;

    return a->hash < b->hash ? -1 : a->hash > b->hash;
}

/* By hash, not in the order in which they came: the bytes of a file depend on what is in it
 * alone. */
static void put_texts(struct bytes *writer, const struct shared_texts *texts)
{
    struct shared_text *sorted = require_memory(calloc(texts->count + 1, sizeof *sorted));

    if (texts->count)
        memcpy(sorted, texts->texts, texts->count * sizeof *sorted);
    qsort(sorted, texts->count, sizeof *sorted, compare_hashes);
    for (uint32_t i = 0; i < texts->count; i++)
        put_record(writer, TEXT_KIND, sorted[i].hash, sorted[i].bytes, sorted[i].length);
    free(sorted);
}

/* Sorted first: the same digests make the same file, in whatever order they came. Texts that
 * several ranks share (names of hosts, devices, groups) stand once in front. */
void digest_set_encode(struct bytes *writer, struct digest_set *set)
{
    const struct shared_texts *texts = digest_set_texts(set);
    uint64_t count;

    digest_set_sort(set);
    count = (uint64_t)set->count + texts->count;
    require_invariant(count <= UINT32_MAX, "there are less than 4 billion digests");
    bytes_add(writer, magic, sizeof magic);
    bytes_add_fixed(writer, DIGEST_VERSION, 1);
    bytes_add_fixed(writer, count, 4);
    put_texts(writer, texts);
    for (size_t i = 0; i < set->count; i++)
        put_record(writer, set->records[i].kind, (uint64_t)set->records[i].rank,
                   set->records[i].bytes, set->records[i].length);
}

/* ---- read ----------------------------------------------------------------------------------- */

bool digest_set_recognises(const void *bytes, size_t length)
{
    return length >= sizeof magic && memcmp(bytes, magic, sizeof magic) == 0;
}

/* A file on its way in. */
struct file_reader {
    struct digest_set *set;
    const char *file;
    struct digest_context context;
    bool has_begun;  /* its head was read */
    uint64_t left;   /* records that are still to come */
    bool is_stopped; /* a record cannot be passed over */
};

/* A damaged record is told with its rank where its head still says so, and costs that rank;
 * the others are read. */
static void add_damage(const struct file_reader *reader, int64_t rank, const char *what)
{
    struct error error = {0};

    if (rank >= 0)
        (void)error_set(&error, ERROR_INPUT,
                        "'%s': the digest of rank %" PRId64 " %s: make it again from its trace",
                        reader->file, rank, what);
    else
        (void)error_set(&error, ERROR_INPUT, "'%s': a digest %s: make it again from its trace",
                        reader->file, what);
    digest_set_add_problem(reader->set, &(struct digest_problem){.file = reader->file,
                                                                 .message = error.message,
                                                                 .class = ERROR_INPUT});
}

/* The rank that the head of a record names; -1: none, or not known. */
static int64_t rank_in_head(const unsigned char *head, size_t length)
{
    return length < 9 || head[0] != RECORD_RANK ? -1 : (int64_t)collect_number(head + 1, 8);
}

/* The hash is of the text itself, so a text that does not hash to its key is damaged, whatever
 * the checksum says. */
static bool keep_shared_text(const struct file_reader *reader, uint64_t hash,
                             const unsigned char *bytes, size_t length)
{
    struct shared_texts *texts = digest_set_texts(reader->set);

    return shared_text_hash(bytes, length) == hash && shared_texts_add(texts, bytes, length);
}

/* The names that all digests of this version need are known without their text. */
static void restore_names(const struct file_reader *reader, uint64_t hash)
{
    struct bytes names = {0};

    digest_names_encode(&names);
    (void)keep_shared_text(reader, hash, names.bytes, names.length);
    bytes_clear(&names);
}

static bool is_known_kind(unsigned kind)
{
    return kind == RECORD_RANK || kind == RECORD_PROBLEM || kind == RECORD_SOURCE;
}

/* One whole record. */
static void read_record(struct file_reader *reader, const unsigned char *head, size_t length)
{
    const unsigned char *bytes = head + RECORD_HEAD_BYTES;
    struct digest_record record = {.rank = (int64_t)collect_number(head + 1, 8), .length = length};
    bool is_good = checksum(bytes, length) == collect_number(head + 13, 4);

    if (head[0] == TEXT_KIND && reader->context.version > 1) {
        if (!is_good || !keep_shared_text(reader, (uint64_t)record.rank, bytes, length)) {
            add_damage(reader, -1, "is damaged in a text that it shares with others");
            restore_names(reader, (uint64_t)record.rank);
        }
        return;
    }
    record.kind = (enum digest_record_kind)head[0];
    if (!is_good || !is_known_kind(head[0]) ||
        !digest_set_keep(reader->set, &record, bytes, &reader->context))
        add_damage(reader, rank_in_head(head, RECORD_HEAD_BYTES), "is damaged");
}

/* Takes all whole records at the beginning of the bytes; returns how many bytes they are. A
 * length beyond what this program writes means that the head itself is damaged: the start of the
 * next record is then not known, and reading stops there. */
static size_t read_whole_records(struct file_reader *reader, const unsigned char *at, size_t length)
{
    size_t done = 0;

    while (reader->left > 0 && !reader->is_stopped && length - done >= RECORD_HEAD_BYTES) {
        size_t record_length = (size_t)collect_number(at + done + 9, 4);

        reader->is_stopped = record_length > RECORD_BYTES_MAX;
        if (reader->is_stopped || length - done - RECORD_HEAD_BYTES < record_length)
            break;
        read_record(reader, at + done, record_length);
        done += RECORD_HEAD_BYTES + record_length;
        reader->left--;
    }
    return done;
}

/* A newer version is refused with what to do; older ones are read by what they had. */
static bool read_file_head(struct file_reader *reader, const unsigned char *at, size_t length,
                           struct error *error)
{
    if (length < FILE_HEAD_BYTES || !digest_set_recognises(at, length) || at[sizeof magic] == 0)
        return error_set(error, ERROR_INPUT, "'%s' is no file of digests", reader->file);
    if (at[sizeof magic] > DIGEST_VERSION)
        return error_set(error, ERROR_INPUT,
                         "'%s' is a file of digests of version %d, this program knows up to %d: "
                         "use the program that made it, or a later one",
                         reader->file, at[sizeof magic], DIGEST_VERSION);
    reader->context = (struct digest_context){.version = at[sizeof magic],
                                              .texts = digest_set_texts(reader->set)};
    reader->left = collect_number(at + 9, 4);
    reader->has_begun = true;
    return true;
}

/* What follows the last whole record. Too few records is a file that was cut; more bytes than
 * records would be another file appended, of which to read the first only would be wrong
 * silently. */
static bool end_file(const struct file_reader *reader, const unsigned char *at, size_t length,
                     size_t more, struct error *error)
{
    if (reader->left > 0)
        add_damage(reader, rank_in_head(at, length), "is cut off");
    else if (length + more > 0)
        return error_set(error, ERROR_INPUT,
                         "'%s': %zu bytes stand behind its last record, and are not read",
                         reader->file, length + more);
    return true;
}

/* Records that are whole count; what lies behind them is told with its place. */
bool digest_set_decode(struct digest_set *set, const void *bytes, size_t length, const char *file,
                       struct error *error)
{
    struct file_reader reader = {.set = set, .file = file};
    const unsigned char *at = bytes;
    size_t done = FILE_HEAD_BYTES;

    if (!read_file_head(&reader, at, length, error))
        return false;
    done += read_whole_records(&reader, at + done, length - done);
    return end_file(&reader, at + done, length - done, 0, error);
}

/* Moves on in what has come so far; what is left of it begins with a record that is not whole yet.
 */
static bool read_pending(struct file_reader *reader, struct bytes *pending, struct error *error)
{
    size_t done = 0;

    if (!reader->has_begun) {
        if (pending->length < FILE_HEAD_BYTES)
            return true;
        if (!read_file_head(reader, pending->bytes, pending->length, error))
            return false;
        done = FILE_HEAD_BYTES;
    }
    done += read_whole_records(reader, pending->bytes + done, pending->length - done);
    pending->length -= done;
    if (done && pending->length)
        memmove(pending->bytes, pending->bytes + done, pending->length);
    return true;
}

/* Records are decoded as they come through a pipe: a window's rest is kept until its record is
 * whole, so memory is that of one record and not of the file. */
bool digest_set_read(struct digest_set *set, struct input_stream *stream, const char *file,
                     struct error *error)
{
    struct file_reader reader = {.set = set, .file = file};
    struct bytes pending = {0};
    struct input_window window;
    size_t more = 0;
    bool is_good = true;

    while (is_good && input_stream_next(stream, 0, &window)) {
        if (reader.is_stopped || (reader.has_begun && reader.left == 0)) {
            /* What stands behind the file's own end is counted, to be told, and kept nowhere. */
            more += window.length;
            continue;
        }
        bytes_add(&pending, window.text, window.length);
        is_good = read_pending(&reader, &pending, error);
    }
    if (is_good && !reader.has_begun)
        is_good = read_file_head(&reader, pending.bytes, pending.length, error);
    if (is_good)
        is_good = end_file(&reader, pending.bytes, pending.length, more, error);
    bytes_clear(&pending);
    return is_good;
}
