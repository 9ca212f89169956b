/* The fields of a message in the wire format of Protocol Buffers. */
#include "base/proto/proto_walk.h"

#include <string.h>

/* 64 bits at 7 a byte are ten bytes; field numbers have 29 bits, since the key of 32 holds 3 for
 * the form. From the encoding's specification: what is beyond is no message. */
enum { VARINT_BYTES_MAX = 10, NUMBER_MAX = (1 << 29) - 1 };

bool proto_long_varint(const char **at, const char *end, uint64_t *value)
{
    return proto_wide_varint(at, end, value);
}

bool proto_slow_varint(const char **at, const char *end, uint64_t *value)
{
    const char *next = *at;
    uint64_t number = 0;

    for (unsigned shift = 0; shift < 7 * VARINT_BYTES_MAX && next < end; shift += 7) {
        unsigned char byte = (unsigned char)*next++;

        number |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *at = next;
            *value = number;
            return true;
        }
    }
    return false;
}

static bool fixed(struct proto_walk *walk, struct proto_field *field, size_t bytes)
{
    if ((size_t)(walk->end - walk->at) < bytes)
        return false;
    /* The wire is little-endian, and so are the machines that this is built for: the low bytes
     * come first. */
    field->value = 0;
    memcpy(&field->value, walk->at, bytes);
    walk->at += bytes;
    return true;
}

static bool with_length(struct proto_walk *walk, struct proto_field *field)
{
    uint64_t length;
    size_t left;

    if (!proto_varint(&walk->at, walk->end, &length))
        return false;
    left = (size_t)(walk->end - walk->at);
    /* A message that ends inside a field was cut when its writer was killed: what is there of
     * the field is given all the same, since what it holds may be a whole list but for its last
     * entry. */
    field->is_cut = length > left;
    field->bytes = (struct proto_bytes){walk->at, field->is_cut ? left : (size_t)length};
    walk->at += field->bytes.length;
    return true;
}

/* Groups (forms 3 and 4) are long out of use, and end the walk. */
static bool content(struct proto_walk *walk, struct proto_field *field)
{
    switch (field->form) {
    case PROTO_VARINT:
        return proto_varint(&walk->at, walk->end, &field->value);
    case PROTO_8_BYTES:
        return fixed(walk, field, 8);
    case PROTO_LENGTH:
        return with_length(walk, field);
    case PROTO_4_BYTES:
        return fixed(walk, field, 4);
    }
    return false;
}

/* Unknown fields are given as any other: who walks skips them, and newer writers stay
 * readable. */
bool proto_next_long(struct proto_walk *walk, struct proto_field *field)
{
    const char *start = walk->at;
    uint64_t key;

    if (walk->damaged_at || walk->at >= walk->end)
        return false;
    *field = (struct proto_field){.number = 0};
    if (proto_varint(&walk->at, walk->end, &key) && key >> 3 >= 1 && key >> 3 <= NUMBER_MAX) {
        field->number = (uint32_t)(key >> 3);
        field->form = (enum proto_form)(key & 7);
        if (content(walk, field)) {
            if (field->is_cut)
                walk->damaged_at = start;
            return true;
        }
    }
    /* Without lengths of their own, fields can't be found again behind one that is damaged: the
     * walk ends where that one began, so that the place can be told. */
    walk->at = start;
    walk->damaged_at = start;
    return false;
}

/* Bits, not values: a copy of memory is the only way that C defines. */
double proto_real(const struct proto_field *field)
{
    uint32_t bits = (uint32_t)field->value;
    double number;
    float fraction;

    if (field->form == PROTO_8_BYTES) {
        memcpy(&number, &field->value, sizeof number);
        return number;
    }
    memcpy(&fraction, &bits, sizeof fraction);
    return (double)fraction;
}
