/* The bytes of a digest. */
#include "base/core/bytes.h"
#include "ranks/digest_record.h"

#include <stdlib.h>
#include <string.h>

void digest_put_text(struct bytes *writer, const char *text)
{
    size_t length = strlen(text);

    bytes_add_varint(writer, length);
    bytes_add(writer, text, length);
}

/* The hash takes 9 bytes. */
enum { SHARED_LENGTH_MIN = 17 };

/* A text of 16 bytes or less is as short as its hash. 0 says that a hash follows, so that
 * lengths begin with 1. */
void digest_put_shared(struct bytes *writer, struct shared_texts *texts, const void *bytes,
                       size_t length)
{
    const struct shared_text *text =
        texts && length >= SHARED_LENGTH_MIN ? shared_texts_add(texts, bytes, length) : NULL;

    bytes_add_varint(writer, text ? 0 : (uint64_t)length + 1);
    if (text)
        bytes_add_fixed(writer, text->hash, sizeof text->hash);
    else
        bytes_add(writer, bytes, length);
}

/* A failed reader stands at its end: every further read fails at once, so callers may check
 * once, at the end. */
static uint64_t digest_bytes_fail(struct digest_reader *reader)
{
    reader->has_failed = true;
    reader->at = reader->end;
    return 0;
}

/* LEB128, 7 bits a byte, at most 10 bytes; bits beyond 64 are damage, not ignored. */
uint64_t digest_take_count(struct digest_reader *reader)
{
    uint64_t number = 0;

    for (unsigned shift = 0; shift < 64; shift += 7) {
        unsigned char byte;

        if (reader->at == reader->end)
            return digest_bytes_fail(reader);
        byte = *reader->at++;
        if (shift == 63 && byte > 1)
            return digest_bytes_fail(reader);
        number |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80)
            return number;
    }
    return digest_bytes_fail(reader);
}

/* Zigzag: the sign in the lowest bit, so that small negative numbers are short. */
int64_t digest_take_integer(struct digest_reader *reader)
{
    uint64_t number = digest_take_count(reader);

    return (int64_t)(number & 1 ? ~(number >> 1) : number >> 1);
}

/* Nothing can be longer than what is left: a damaged length never leads to an allocation of
 * its size. */
uint32_t digest_take_length(struct digest_reader *reader)
{
    uint64_t length = digest_take_count(reader);

    if (length > (size_t)(reader->end - reader->at) || length >= UINT32_MAX)
        return (uint32_t)digest_bytes_fail(reader);
    return (uint32_t)length;
}

/* Each item takes `least_bytes` at least, so a count is refused before memory is taken for it. */
uint32_t digest_take_items(struct digest_reader *reader, size_t least_bytes)
{
    uint32_t count = digest_take_length(reader);

    if (count > (size_t)(reader->end - reader->at) / least_bytes)
        return (uint32_t)digest_bytes_fail(reader);
    return count;
}

int32_t digest_take_small(struct digest_reader *reader)
{
    int64_t number = digest_take_integer(reader);

    return number >= INT32_MIN && number <= INT32_MAX ? (int32_t)number
                                                      : (int32_t)digest_bytes_fail(reader);
}

const char *digest_take_text(struct digest_reader *reader, struct arena *arena)
{
    uint32_t length = digest_take_length(reader);
    const char *text = arena_copy_text(arena, (const char *)reader->at, length);

    reader->at += length;
    return text;
}

/* Byte by byte, the lowest first: digests are read on machines of either order. */
static uint64_t read_hash(struct digest_reader *reader)
{
    uint64_t hash = 0;

    if ((size_t)(reader->end - reader->at) < sizeof hash)
        return digest_bytes_fail(reader);
    for (unsigned i = 0; i < sizeof hash; i++)
        hash |= (uint64_t)*reader->at++ << (8 * i);
    return hash;
}

/* A hash whose text was damaged or is missing fails the whole summary: with another text the
 * calls would be joined wrongly. */
static const char *find_shared(struct digest_reader *reader, const struct shared_texts *texts,
                               size_t *length)
{
    const struct shared_text *text = shared_texts_find(texts, read_hash(reader));

    if (!text)
        (void)digest_bytes_fail(reader);
    *length = reader->has_failed ? 0 : text->length;
    return reader->has_failed ? "" : text->bytes;
}

/* 0: a text of the shared list; else the length plus one, and the text. A length beyond the
 * end is damage, and gives an empty text. */
const char *digest_take_shared(struct digest_reader *reader, const struct shared_texts *texts,
                               struct arena *arena, size_t *length)
{
    uint64_t count = digest_take_count(reader);
    size_t found;
    const char *text;

    if (!length)
        length = &found;
    if (count == 0 && !reader->has_failed)
        return find_shared(reader, texts, length);
    if (reader->has_failed || count - 1 > (size_t)(reader->end - reader->at)) {
        (void)digest_bytes_fail(reader);
        count = 1;
    }
    *length = (size_t)count - 1;
    text = arena_copy_text(arena, (const char *)reader->at, *length);
    reader->at += *length;
    return text;
}
