/* Writes messages of Protocol Buffers, field by field. */
#include "exports/protobuf_writer.h"

#include "base/invariant.h"

#include <stdlib.h>
#include <string.h>

enum wire_type { WIRE_VARINT = 0, WIRE_64_BITS = 1, WIRE_LENGTH = 2 };

static void append(struct protobuf *message, const void *bytes, size_t length)
{
    if (length == 0)
        return;
    if (message->capacity - message->length < length) {
        message->capacity = 2 * message->capacity + length + 64;
        message->bytes = require_memory(realloc(message->bytes, message->capacity));
    }
    memcpy(message->bytes + message->length, bytes, length);
    message->length += length;
}

/* Seven bits a byte, the lowest first; the highest bit says that more follow. */
static void append_varint(struct protobuf *message, uint64_t number)
{
    do {
        unsigned char byte = (unsigned char)(number & 0x7F);

        number >>= 7;
        if (number)
            byte |= 0x80;
        append(message, &byte, 1);
    } while (number);
}

static void append_key(struct protobuf *message, unsigned field, enum wire_type type)
{
    append_varint(message, (uint64_t)field << 3 | type);
}

/* The lowest byte first, whatever this machine does. */
static void append_fixed(struct protobuf *message, uint64_t bits, unsigned byte_count)
{
    for (unsigned i = 0; i < byte_count; i++) {
        unsigned char byte = (unsigned char)(bits >> (8 * i));

        append(message, &byte, 1);
    }
}

void protobuf_integer(struct protobuf *message, unsigned field, int64_t number)
{
    append_key(message, field, WIRE_VARINT);
    append_varint(message, (uint64_t)number);
}

void protobuf_double(struct protobuf *message, unsigned field, double number)
{
    uint64_t bits;

    memcpy(&bits, &number, sizeof bits);
    append_key(message, field, WIRE_64_BITS);
    append_fixed(message, bits, sizeof bits);
}

void protobuf_packed_float(struct protobuf *message, unsigned field, float number)
{
    uint32_t bits;

    memcpy(&bits, &number, sizeof bits);
    append_key(message, field, WIRE_LENGTH);
    append_varint(message, sizeof bits);
    append_fixed(message, bits, sizeof bits);
}

void protobuf_bytes(struct protobuf *message, unsigned field, const void *bytes, size_t length)
{
    append_key(message, field, WIRE_LENGTH);
    append_varint(message, length);
    append(message, bytes, length);
}

void protobuf_text(struct protobuf *message, unsigned field, const char *text)
{
    protobuf_bytes(message, field, text, strlen(text));
}

void protobuf_message(struct protobuf *message, unsigned field, const struct protobuf *part)
{
    protobuf_bytes(message, field, part->bytes, part->length);
}

void protobuf_clear(struct protobuf *message)
{
    if (!message)
        return;
    free(message->bytes);
    *message = (struct protobuf){0};
}
