/* Digests of many ranks: merged, stored and sent.
 *
 * A set is a bag of records, each with the rank that it is of. Merging puts two bags into one;
 * writing sorts them by kind, rank and bytes, and equal ones become one. So the bytes of a set
 * depend on its records alone, not on who merged what in which order: processes may hand them on as
 * a tree, and files may be read in any order, a file twice included. Texts that records have in
 * common are kept once, told by their hash. O(n log n) for n records. */
#include "ranks/digest_set.h"

#include "base/core/array.h"
#include "base/core/bytes.h"
#include "base/core/invariant.h"
#include "ranks/digest_record.h"

#include <stdlib.h>
#include <string.h>

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

/* The one place where bytes become a digest. What is decoded to check the record may be kept for
 * the caller that takes it next (keeps_decoded): decoding is most of the cost of reading
 * summaries. */
static bool decode_record(struct digest_record *record, struct digest_context *context)
{
    struct rank_digest *digest = record->decoded;

    if (record->kind != RECORD_RANK || digest)
        return digest != NULL;
    digest = require_memory(calloc(1, sizeof *digest));
    if (!digest_decode(digest, record->bytes, record->length, context)) {
        free(digest);
        return false;
    }
    record->is_damaged = is_digest_damaged(digest);
    record->decoded = digest;
    return true;
}

/* The digest changes hands: the record has none then, and is not freed with it. */
bool digest_set_take(struct rank_digest *digest, const struct digest_set *set,
                     struct digest_record *record)
{
    struct digest_context context = {.version = DIGEST_VERSION, .texts = set->texts};

    if (!decode_record(record, &context))
        return false;
    *digest = *record->decoded;
    free(record->decoded);
    record->decoded = NULL;
    return true;
}

struct shared_texts *digest_set_texts(struct digest_set *set)
{
    if (!set->texts)
        set->texts = shared_texts_new();
    return set->texts;
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

/* Kept as bytes: a thousand ranks that are decoded would not fit where their bytes do. */
void digest_set_add(struct digest_set *set, const struct rank_digest *digest)
{
    struct bytes writer = {0};

    digest_encode(&writer, digest, digest_set_texts(set));
    add_record(set, (struct digest_record){.kind = RECORD_RANK,
                                           .rank = digest->rank,
                                           .bytes = writer.bytes,
                                           .length = writer.length,
                                           .is_damaged = is_digest_damaged(digest)});
}

/* Problems are records, too: they come through merging by processes like summaries do, and
 * none is lost on the way. */
void digest_set_add_problem(struct digest_set *set, const struct digest_problem *problem)
{
    struct bytes writer = {0};

    digest_put_text(&writer, problem->file);
    digest_put_text(&writer, problem->message);
    bytes_add_varint(&writer, problem->class);
    add_written(set, RECORD_PROBLEM, problem->place, &writer);
}

/* A class that is not known is taken as bad input: later versions may have more of them. */
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

/* In place and in order: what stays is moved down, and nothing is allocated. */
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

/* One of the first version is written anew, so that all records are alike. */
static void encode_again(struct digest_set *set, struct digest_record *record)
{
    struct bytes writer = {0};

    digest_encode(&writer, record->decoded, digest_set_texts(set));
    free(record->bytes);
    record->bytes = writer.bytes;
    record->length = writer.length;
}

/* Decoded once, so that damage shows where the file is read, and not in the middle of a
 * report. Those of older versions are written anew: only the newest is in memory. */
bool digest_set_keep(struct digest_set *set, const struct digest_record *head, const void *bytes,
                     struct digest_context *context)
{
    struct digest_record record = *head;

    record.bytes = require_memory(malloc(record.length + 1));
    memcpy(record.bytes, bytes, record.length);
    if (record.kind == RECORD_RANK &&
        (!decode_record(&record, context) || record.decoded->rank != record.rank)) {
        clear_record(&record);
        return false;
    }
    if (record.decoded && context->version != DIGEST_VERSION)
        encode_again(set, &record);
    if (record.decoded && !set->keeps_decoded) {
        rank_digest_clear(record.decoded);
        free(record.decoded);
        record.decoded = NULL;
    }
    add_record(set, record);
    return true;
}

/* Ranks that are not known stand behind the others. As unsigned, -1 is the largest. */
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

/* Equal bytes are one record: merging is idempotent. */
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
    shared_texts_release(set->texts);
    *set = (struct digest_set){0};
}
