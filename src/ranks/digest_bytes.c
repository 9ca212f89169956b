/* The bytes of a digest. */
#include "ranks/digest_bytes.h"

#include "base/core/bytes.h"

#include <stdlib.h>
#include <string.h>

void digest_put_text(struct bytes *writer, const char *text)
{
    size_t length = strlen(text);

    bytes_add_varint(writer, length);
    bytes_add(writer, text, length);
}

static uint64_t digest_bytes_fail(struct digest_reader *reader)
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

int64_t digest_take_integer(struct digest_reader *reader)
{
    uint64_t number = digest_take_count(reader);

    return (int64_t)(number & 1 ? ~(number >> 1) : number >> 1);
}

uint32_t digest_take_length(struct digest_reader *reader)
{
    uint64_t length = digest_take_count(reader);

    if (length > (size_t)(reader->end - reader->at) || length >= UINT32_MAX)
        return (uint32_t)digest_bytes_fail(reader);
    return (uint32_t)length;
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
