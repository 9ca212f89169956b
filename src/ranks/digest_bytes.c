/* The bytes of a digest. */
#include "ranks/digest_bytes.h"

#include "base/invariant.h"

#include <stdlib.h>
#include <string.h>

void digest_put_bytes(struct digest_writer *writer, const void *bytes, size_t length)
{
    if (writer->capacity - writer->length < length) {
        writer->capacity = 2 * (writer->capacity + length) + 64;
        writer->bytes = require_memory(realloc(writer->bytes, writer->capacity));
    }
    if (length)
        memcpy(writer->bytes + writer->length, bytes, length);
    writer->length += length;
}

void digest_put_count(struct digest_writer *writer, uint64_t number)
{
    unsigned char bytes[10];
    size_t length = 0;

    do {
        bytes[length++] = (unsigned char)((number & 0x7F) | (number > 0x7F ? 0x80 : 0));
        number >>= 7;
    } while (number);
    digest_put_bytes(writer, bytes, length);
}

void digest_put_integer(struct digest_writer *writer, int64_t number)
{
    uint64_t twice = (uint64_t)number << 1;

    digest_put_count(writer, number < 0 ? ~twice : twice);
}

void digest_put_text(struct digest_writer *writer, const char *text)
{
    size_t length = strlen(text);

    digest_put_count(writer, length);
    digest_put_bytes(writer, text, length);
}

void digest_writer_clear(struct digest_writer *writer)
{
    free(writer->bytes);
    *writer = (struct digest_writer){0};
}

static uint64_t fail(struct digest_reader *reader)
{
    reader->has_failed = true;
    reader->at = reader->end;
    return 0;
}

uint64_t digest_take_count(struct digest_reader *reader)
{
    uint64_t number = 0;

    for (unsigned shift = 0; shift < 64; shift += 7) {
        unsigned char byte;

        if (reader->at == reader->end)
            return fail(reader);
        byte = *reader->at++;
        if (shift == 63 && byte > 1)
            return fail(reader);
        number |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80)
            return number;
    }
    return fail(reader);
}

int64_t digest_take_integer(struct digest_reader *reader)
{
    uint64_t number = digest_take_count(reader);

    return (int64_t)(number & 1 ? ~(number >> 1) : number >> 1);
}

uint32_t digest_take_length(struct digest_reader *reader)
{
    uint64_t length = digest_take_count(reader);

    if (length > (size_t)(reader->end - reader->at) || length >= UINT32_MAX)
        return (uint32_t)fail(reader);
    return (uint32_t)length;
}

int32_t digest_take_small(struct digest_reader *reader)
{
    int64_t number = digest_take_integer(reader);

    return number >= INT32_MIN && number <= INT32_MAX ? (int32_t)number : (int32_t)fail(reader);
}

const char *digest_take_text(struct digest_reader *reader, struct arena *arena)
{
    uint32_t length = digest_take_length(reader);
    const char *text = arena_copy_text(arena, (const char *)reader->at, length);

    reader->at += length;
    return text;
}
