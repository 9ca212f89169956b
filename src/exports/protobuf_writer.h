/* Writes messages of Protocol Buffers, field by field.
 *
 * By hand, and not with a library: the messages written here are a handful, their fields are fixed
 * by what TensorBoard reads, and protobuf-c would bring a compiler of message files to the build
 * and a library to the program for what are four kinds of field.
 * Encoding: https://protobuf.dev/programming-guides/encoding/ */
#ifndef FLOPLEDGER_EXPORTS_PROTOBUF_WRITER_H
#define FLOPLEDGER_EXPORTS_PROTOBUF_WRITER_H

#include <stddef.h>
#include <stdint.h>

/* A message, as bytes. Zeroed is empty. Ends the program when memory is out. */
struct protobuf {
    unsigned char *bytes; /* [length] */
    size_t length;
    size_t capacity;
};

/* int32, int64 (negative ones too), uint64, bool, enum */
void protobuf_integer(struct protobuf *message, unsigned field, int64_t number);
void protobuf_double(struct protobuf *message, unsigned field, double number);
/* A packed field of floats with one in it. */
void protobuf_packed_float(struct protobuf *message, unsigned field, float number);
void protobuf_bytes(struct protobuf *message, unsigned field, const void *bytes, size_t length);
/* `text` is UTF-8. */
void protobuf_text(struct protobuf *message, unsigned field, const char *text);
/* A field that is a message itself. */
void protobuf_message(struct protobuf *message, unsigned field, const struct protobuf *part);

void protobuf_clear(struct protobuf *message);

#endif
