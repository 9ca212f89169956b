/* The fields of a message in the wire format of Protocol Buffers, one after the other: nothing is
 * copied, nothing is allocated, and what a field means is the caller's business.
 *
 * A message is a row of fields: a key (number << 3 | form) as a varint, then a varint, 4 or 8
 * bytes, or a length and so many bytes, which may be a text or a message again. */
#ifndef FLOPLEDGER_BASE_PROTO_PROTO_WALK_H
#define FLOPLEDGER_BASE_PROTO_PROTO_WALK_H

#include "base/core/attributes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum proto_form {
    PROTO_VARINT = 0,
    PROTO_8_BYTES = 1,
    PROTO_LENGTH = 2, /* text, bytes, a message, or packed numbers */
    PROTO_4_BYTES = 5,
};

/* The key of a field whose number is less than 16: one byte. */
#define PROTO_KEY(number, form) ((number) << 3 | (form))

/* `length` bytes of a message or text; zeroed is empty. */
struct proto_bytes {
    const char *at;
    size_t length;
};

struct proto_field {
    uint32_t number;
    enum proto_form form;
    uint64_t value;           /* of the forms with a number; the bits of a double or float */
    struct proto_bytes bytes; /* of PROTO_LENGTH; as many as are there */
    bool is_cut;              /* PROTO_LENGTH: the message around it ends before it does */
};

struct proto_walk {
    const char *at; /* behind the field before */
    const char *end;
    const char *damaged_at; /* the field that is none, or is cut; NULL: all is well so far */
};

/* Behind the last of the bytes; of no bytes, which may lie nowhere (NULL), where they begin. */
static inline const char *proto_bytes_end(struct proto_bytes bytes)
{
    return bytes.length ? bytes.at + bytes.length : bytes.at;
}

static inline struct proto_walk proto_walk_of(struct proto_bytes message)
{
    return (struct proto_walk){.at = message.at, .end = proto_bytes_end(message)};
}

/* As proto_next, of any field. */
bool proto_next_long(struct proto_walk *walk, struct proto_field *field);

/* The next field; false at the end, and at a field that is none (see damaged_at). A field whose
 * length is more than is left is given as far as it goes, as the last one.
 *
 * Most fields have a number below 16 and a value or length below 128: two bytes, told here. A walk
 * that has ended or met damage has no such field before it. */
static inline bool proto_next(struct proto_walk *walk, struct proto_field *field)
{
    const char *at = walk->at;
    unsigned key;
    unsigned value;

    if (walk->end - at < 2)
        return proto_next_long(walk, field);
    key = (unsigned char)at[0];
    value = (unsigned char)at[1];
    if (key < 1 << 3 || key >= 0x80 || value >= 0x80)
        return proto_next_long(walk, field);
    at += 2;
    if ((key & 7) == PROTO_VARINT) {
        *field = (struct proto_field){key >> 3, PROTO_VARINT, value, {0}, false};
    } else if ((key & 7) == PROTO_LENGTH && value <= walk->end - at) {
        *field = (struct proto_field){key >> 3, PROTO_LENGTH, 0, {at, value}, false};
        at += value;
    } else {
        return proto_next_long(walk, field);
    }
    walk->at = at;
    return true;
}

/* As proto_varint: proto_wide_varint, not inline. */
bool proto_long_varint(const char **at, const char *end, uint64_t *value);
/* As proto_varint, byte by byte: of more than 8 bytes, or near the end. */
bool proto_slow_varint(const char **at, const char *end, uint64_t *value);

/* The low 7 bits of 8 bytes side by side: neighbors are joined to pairs of 14 bits, these to 28,
 * and these to 56, so that the number of steps does not depend on how many bytes there are. */
static inline uint64_t proto_joined_sevens(uint64_t bytes)
{
    bytes = (bytes & UINT64_C(0x7f007f007f007f00)) >> 1 | (bytes & UINT64_C(0x007f007f007f007f));
    bytes = (bytes & UINT64_C(0x3fff00003fff0000)) >> 2 | (bytes & UINT64_C(0x00003fff00003fff));
    return (bytes & UINT64_C(0x0fffffff00000000)) >> 4 | (bytes & UINT64_C(0x000000000fffffff));
}

/* As proto_varint, where most are of several bytes, such as times. */
ALWAYS_INLINE bool proto_wide_varint(const char **at, const char *end, uint64_t *value)
{
    uint64_t bytes, last; /* last: bytes without the bit that says that one more follows */

    if (end - *at < 8)
        return proto_slow_varint(at, end, value);
    __builtin_memcpy(&bytes, *at, sizeof bytes);
    last = ~bytes & UINT64_C(0x8080808080808080);
    if (!last)
        return proto_slow_varint(at, end, value);
    /* up to and with the first of them: what lies behind is another's */
    *value = proto_joined_sevens(bytes & (last ^ (last - 1)));
    *at += __builtin_ctzll(last) / 8 + 1;
    return true;
}

/* A varint, which ends before `end`, behind *at: moves *at behind it. False where it has none or is
 * longer than 10 bytes. Most are one byte long. */
static inline bool proto_varint(const char **at, const char *end, uint64_t *value)
{
    if (*at < end && (unsigned char)**at < 0x80) {
        *value = (unsigned char)*(*at)++;
        return true;
    }
    return proto_long_varint(at, end, value);
}

/* The varint behind the byte at *at. */
static inline bool proto_next_varint(const char **at, const char *end, uint64_t *value)
{
    const char *next = *at + 1;

    if (!proto_varint(&next, end, value))
        return false;
    *at = next;
    return true;
}

/* For loops over millions of messages, which look at a key of one byte themselves and take what
 * they know by it: the content behind that key, at *at, which is moved behind it. False where there
 * is none, or it is cut or not short: proto_next tells, from the key on. */
ALWAYS_INLINE bool proto_usual_varint(const char **at, const char *end, uint64_t *value)
{
    const unsigned char *next = (const unsigned char *)*at;
    const ptrdiff_t left = end - *at;

    if (left > 1 && next[1] < 0x80) {
        *value = next[1];
        *at += 2;
        return true;
    }
    if (left > 2 && next[2] < 0x80) {
        *value = (next[1] & 0x7f) | (uint64_t)next[2] << 7;
        *at += 3;
        return true;
    }
    if (left > 3 && next[3] < 0x80) {
        *value = (next[1] & 0x7f) | (uint64_t)(next[2] & 0x7f) << 7 | (uint64_t)next[3] << 14;
        *at += 4;
        return true;
    }
    return proto_next_varint(at, end, value);
}

ALWAYS_INLINE bool proto_usual_bytes(const char **at, const char *end, struct proto_bytes *bytes)
{
    const unsigned char *next = (const unsigned char *)*at;
    size_t length;
    ptrdiff_t head = 2;

    if (end - *at < 3)
        return false;
    length = next[1];
    if (length >= 0x80) {
        if (next[2] >= 0x80)
            return false;
        length = (length & 0x7f) | (size_t)next[2] << 7;
        head = 3;
    }
    if ((ptrdiff_t)length > end - *at - head)
        return false;
    *bytes = (struct proto_bytes){*at + head, length};
    *at += head + (ptrdiff_t)length;
    return true;
}

/* The next of packed varints (form PROTO_LENGTH); false at their end. */
static inline bool proto_next_packed(struct proto_bytes *packed, uint64_t *value)
{
    const char *at = packed->at;

    if (packed->length == 0 || !proto_varint(&at, packed->at + packed->length, value))
        return false;
    packed->length -= (size_t)(at - packed->at);
    packed->at = at;
    return true;
}

/* The field is the number `number` and of this form. */
static inline bool proto_is(const struct proto_field *field, uint32_t number, enum proto_form form)
{
    return field->number == number && field->form == form;
}

/* The text is this one, or begins so. */
static inline bool proto_text_is(struct proto_bytes text, const char *other)
{
    size_t length = __builtin_strlen(other);

    return text.length == length && (length == 0 || __builtin_memcmp(text.at, other, length) == 0);
}

static inline bool proto_text_begins(struct proto_bytes text, const char *start)
{
    size_t length = __builtin_strlen(start);

    return text.length >= length && __builtin_memcmp(text.at, start, length) == 0;
}

/* `part` stands in it somewhere. */
static inline bool proto_text_has(struct proto_bytes text, const char *part)
{
    return text.length > 0 && memmem(text.at, text.length, part, __builtin_strlen(part)) != NULL;
}

/* The number in a field of any form but PROTO_LENGTH, as a signed one. */
static inline int64_t proto_signed(const struct proto_field *field)
{
    return (int64_t)field->value;
}

/* Of PROTO_8_BYTES or PROTO_4_BYTES. */
double proto_real(const struct proto_field *field);

#endif
