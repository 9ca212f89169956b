/* Writes messages of Protocol Buffers, field by field. */
#include "output/exports/protobuf_writer.h"

#include <stdlib.h>
#include <string.h>

enum wire_type { WIRE_VARINT = 0, WIRE_64_BITS = 1, WIRE_LENGTH = 2 };

/* Field number and type in one number (protobuf.dev, "Encoding"). */
static void append_key(struct bytes *message, unsigned field, enum wire_type type)
{
    bytes_add_varint(message, (uint64_t)field << 3 | type);
}

/* Negative numbers take ten bytes: two's complement in 64 bits, as int64 of the encoding, not
 * zigzag (sint64). */
void protobuf_integer(struct bytes *message, unsigned field, int64_t number)
{
    append_key(message, field, WIRE_VARINT);
    bytes_add_varint(message, (uint64_t)number);
}

/* Eight bytes, lowest first, whatever the machine's own order is. */
void protobuf_double(struct bytes *message, unsigned field, double number)
{
    uint64_t bits;

    memcpy(&bits, &number, sizeof bits);
    append_key(message, field, WIRE_64_BITS);
    bytes_add_fixed(message, bits, sizeof bits);
}

/* A repeated field of one element, packed, as TensorFlow writes the values of a tensor. */
void protobuf_packed_float(struct bytes *message, unsigned field, float number)
{
    uint32_t bits;

    memcpy(&bits, &number, sizeof bits);
    append_key(message, field, WIRE_LENGTH);
    bytes_add_varint(message, sizeof bits);
    bytes_add_fixed(message, bits, sizeof bits);
}

void protobuf_bytes(struct bytes *message, unsigned field, const void *bytes, size_t length)
{
    append_key(message, field, WIRE_LENGTH);
    bytes_add_varint(message, length);
    bytes_add(message, bytes, length);
}

void protobuf_text(struct bytes *message, unsigned field, const char *text)
{
    protobuf_bytes(message, field, text, strlen(text));
}

void protobuf_message(struct bytes *message, unsigned field, const struct bytes *part)
{
    protobuf_bytes(message, field, part->bytes, part->length);
}
