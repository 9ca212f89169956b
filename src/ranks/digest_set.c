/* Digests of many ranks: merged, stored and sent.
 *
 * A set is a bag of records, each with the rank that it is of. Merging puts two bags into one;
 * writing sorts them by kind, rank and bytes, and equal ones become one. So the bytes of a set
 * depend on its records alone, not on who merged what in which order: processes may hand them on as
 * a tree, and files may be read in any order, a file twice included. Each record has a checksum and
 * its length: what is damaged costs itself alone. O(n log n) for n records. */
#include "ranks/digest_set.h"

#include "base/core/array.h"
#include "base/core/bytes.h"
#include "base/core/invariant.h"
#include "ranks/digest_record.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/* A file: the magic, a byte for the version, the number of records (4 bytes), records. A record:
 * kind (1 byte), rank (8), length (4), CRC-32 of its bytes (4), bytes; numbers with the lowest byte
 * first. */
static const char magic[8] = {'F', 'L', 'D', 'I', 'G', 'E', 'S', 'T'};
enum { VERSION = 1, FILE_HEAD_BYTES = 13, RECORD_HEAD_BYTES = 17 };

/* ---- records -------------------------------------------------------------------------------- */

static bool is_digest_damaged(const struct rank_digest *digest)
{
    return digest->is_truncated || digest->damaged_events > 0;
}

static void clear_record(struct digest_record *record)
{
    if (record->decoded)
        rank_digest_clear(record->decoded);
    free(record->decoded);
    free(record->bytes);
    *record = (struct digest_record){0};
}

/* The one place where bytes become a digest. */
static bool decode_record(struct digest_record *record)
{
    struct rank_digest *digest = record->decoded;

    if (record->kind != RECORD_RANK || digest)
        return digest != NULL;
    digest = require_memory(calloc(1, sizeof *digest));
    if (!digest_decode(digest, record->bytes, record->length)) {
        free(digest);
        return false;
    }
    record->is_damaged = is_digest_damaged(digest);
    record->decoded = digest;
    return true;
}

bool digest_record_take(struct rank_digest *digest, struct digest_record *record)
{
    if (!decode_record(record))
        return false;
    *digest = *record->decoded;
    free(record->decoded);
    record->decoded = NULL;
    return true;
}

/* Takes the bytes. */
static void add_record(struct digest_set *set, struct digest_record record)
{
    ARRAY_ADD(set->records, set->count, record);
}

static void add_written(struct digest_set *set, enum digest_record_kind kind, int64_t rank,
                        const struct bytes *writer)
{
    add_record(set,
               (struct digest_record){
                   .kind = kind, .rank = rank, .bytes = writer->bytes, .length = writer->length});
}

void digest_set_add(struct digest_set *set, const struct rank_digest *digest)
{
    struct bytes writer = {0};

    digest_encode(&writer, digest);
    add_record(set, (struct digest_record){.kind = RECORD_RANK,
                                           .rank = digest->rank,
                                           .bytes = writer.bytes,
                                           .length = writer.length,
                                           .is_damaged = is_digest_damaged(digest)});
}

void digest_set_add_problem(struct digest_set *set, const struct digest_problem *problem)
{
    struct bytes writer = {0};

    digest_put_text(&writer, problem->file);
    digest_put_text(&writer, problem->message);
    bytes_add_varint(&writer, problem->class);
    add_written(set, RECORD_PROBLEM, problem->place, &writer);
}

bool digest_problem_decode(struct digest_problem *problem, const struct digest_record *record,
                           struct arena *arena)
{
    struct digest_reader reader = {.at = record->bytes, .end = record->bytes + record->length};

    if (record->kind != RECORD_PROBLEM)
        return false;
    problem->place = record->rank;
    problem->file = digest_take_text(&reader, arena);
    problem->message = digest_take_text(&reader, arena);
    problem->class = digest_take_count(&reader) == ERROR_NO_DATA ? ERROR_NO_DATA : ERROR_INPUT;
    return !reader.has_failed;
}

void digest_set_add_source(struct digest_set *set, int64_t rank, size_t place)
{
    struct bytes writer = {0};

    bytes_add_varint(&writer, place);
    add_written(set, RECORD_SOURCE, rank, &writer);
}

bool digest_source_decode(size_t *place, const struct digest_record *record)
{
    struct digest_reader reader = {.at = record->bytes, .end = record->bytes + record->length};

    if (record->kind != RECORD_SOURCE)
        return false;
    *place = digest_take_count(&reader);
    return !reader.has_failed;
}

void digest_set_drop(struct digest_set *set, enum digest_record_kind kind)
{
    size_t kept = 0;

    for (size_t i = 0; i < set->count; i++) {
        if (set->records[i].kind == kind)
            clear_record(&set->records[i]);
        else
            set->records[kept++] = set->records[i];
    }
    set->count = kept;
}

void digest_set_merge(struct digest_set *set, struct digest_set *from)
{
    for (size_t i = 0; i < from->count; i++)
        add_record(set, from->records[i]);
    free(from->records);
    *from = (struct digest_set){0};
}

/* Ranks that are not known stand behind the others. */
static int compare_records(const void *left, const void *right)
{
    const struct digest_record *a = left;
    const struct digest_record *b = right;
    int order;

    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    if (a->rank != b->rank)
        return (uint64_t)a->rank < (uint64_t)b->rank ? -1 : 1;
    order = memcmp(a->bytes, b->bytes, a->length < b->length ? a->length : b->length);
    if (order)
        return order;
    return a->length == b->length ? 0 : a->length < b->length ? -1 : 1;
}

void digest_set_sort(struct digest_set *set)
{
    size_t kept = 0;

    if (set->count)
        qsort(set->records, set->count, sizeof *set->records, compare_records);
    for (size_t i = 0; i < set->count; i++) {
        if (kept && compare_records(&set->records[kept - 1], &set->records[i]) == 0)
            clear_record(&set->records[i]);
        else
            set->records[kept++] = set->records[i];
    }
    set->count = kept;
}

void digest_set_clear(struct digest_set *set)
{
    for (size_t i = 0; i < set->count; i++)
        clear_record(&set->records[i]);
    free(set->records);
    *set = (struct digest_set){0};
}

/* ---- files ---------------------------------------------------------------------------------- */

static void put_number(unsigned char *at, uint64_t number, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        at[i] = (unsigned char)(number >> (8 * i));
}

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

void digest_set_encode(struct bytes *writer, struct digest_set *set)
{
    unsigned char file_head[FILE_HEAD_BYTES];

    digest_set_sort(set);
    require_invariant(set->count <= UINT32_MAX, "there are less than 4 billion digests");
    memcpy(file_head, magic, sizeof magic);
    put_number(file_head + 8, VERSION, 1);
    put_number(file_head + 9, set->count, 4);
    bytes_add(writer, file_head, sizeof file_head);
    for (size_t i = 0; i < set->count; i++) {
        const struct digest_record *record = &set->records[i];
        unsigned char head[RECORD_HEAD_BYTES];

        require_invariant(record->length <= UINT32_MAX, "a digest is below 4 GiB");
        put_number(head, record->kind, 1);
        put_number(head + 1, (uint64_t)record->rank, 8);
        put_number(head + 9, record->length, 4);
        put_number(head + 13, checksum(record->bytes, record->length), 4);
        bytes_add(writer, head, sizeof head);
        bytes_add(writer, record->bytes, record->length);
    }
}

bool digest_set_recognises(const void *bytes, size_t length)
{
    return length >= sizeof magic && memcmp(bytes, magic, sizeof magic) == 0;
}

static void add_damage(struct digest_set *set, const char *file, int64_t rank, const char *what)
{
    struct error error = {0};

    if (rank >= 0)
        (void)error_set(&error, ERROR_INPUT,
                        "'%s': the digest of rank %" PRId64 " %s: make it again from its trace",
                        file, rank, what);
    else
        (void)error_set(&error, ERROR_INPUT, "'%s': a digest %s: make it again from its trace",
                        file, what);
    digest_set_add_problem(set, &(struct digest_problem){
                                    .file = file, .message = error.message, .class = ERROR_INPUT});
}

/* Copies the bytes of a record into the set; false where they are no digest of its rank. */
static bool keep_record(struct digest_set *set, const struct digest_record *head,
                        const unsigned char *bytes)
{
    struct digest_record record = *head;

    record.bytes = require_memory(malloc(record.length + 1));
    memcpy(record.bytes, bytes, record.length);
    if (record.kind == RECORD_RANK &&
        (!decode_record(&record) || record.decoded->rank != record.rank)) {
        clear_record(&record);
        return false;
    }
    if (record.decoded && !set->keeps_decoded) {
        rank_digest_clear(record.decoded);
        free(record.decoded);
        record.decoded = NULL;
    }
    add_record(set, record);
    return true;
}

/* The record that begins at `at`; how many bytes it has, or 0 where the file is cut in it. */
static size_t collect_record(struct digest_set *set, const unsigned char *at, size_t left,
                             const char *file)
{
    struct digest_record record = {0};
    bool is_good;

    if (left < RECORD_HEAD_BYTES || left - RECORD_HEAD_BYTES < collect_number(at + 9, 4)) {
        add_damage(set, file,
                   left < 9 || at[0] != RECORD_RANK ? -1 : (int64_t)collect_number(at + 1, 8),
                   "is cut off");
        return 0;
    }
    record.kind = at[0] == RECORD_PROBLEM  ? RECORD_PROBLEM
                  : at[0] == RECORD_SOURCE ? RECORD_SOURCE
                                           : RECORD_RANK;
    record.rank = (int64_t)collect_number(at + 1, 8);
    record.length = collect_number(at + 9, 4);
    is_good = at[0] == (unsigned char)record.kind &&
              checksum(at + RECORD_HEAD_BYTES, record.length) == collect_number(at + 13, 4);
    if (is_good)
        is_good = keep_record(set, &record, at + RECORD_HEAD_BYTES);
    if (!is_good)
        add_damage(set, file, record.rank, "is damaged");
    return RECORD_HEAD_BYTES + record.length;
}

bool digest_set_decode(struct digest_set *set, const void *bytes, size_t length, const char *file,
                       struct error *error)
{
    const unsigned char *at = bytes;
    size_t done = FILE_HEAD_BYTES;
    uint64_t count;

    if (!digest_set_recognises(bytes, length) || length < FILE_HEAD_BYTES)
        return error_set(error, ERROR_INPUT, "'%s' is no file of digests", file);
    if (at[sizeof magic] > VERSION)
        return error_set(error, ERROR_INPUT,
                         "'%s' is a file of digests of version %d, this program knows up to %d: "
                         "use the program that made it, or a later one",
                         file, at[sizeof magic], VERSION);
    count = collect_number(at + 9, 4);
    for (uint64_t i = 0; i < count; i++) {
        size_t taken = collect_record(set, at + done, length - done, file);

        if (taken == 0)
            return true;
        done += taken;
    }
    if (done < length)
        return error_set(error, ERROR_INPUT,
                         "'%s': %zu bytes stand behind its last record, and are not read", file,
                         length - done);
    return true;
}
