/* Writes messages of Protocol Buffers, field by field.
 *
 * By hand, and not with a library: the messages written here are a handful, their fields are fixed
 * by what TensorBoard reads, and protobuf-c would bring a compiler of message files to the build
 * and a library to the program for what are four kinds of field.
 * Encoding: https://protobuf.dev/programming-guides/encoding/ */
#ifndef FLOPLEDGER_OUTPUT_EXPORTS_PROTOBUF_WRITER_H
#define FLOPLEDGER_OUTPUT_EXPORTS_PROTOBUF_WRITER_H

#include "base/core/bytes.h"

#include <stddef.h>
#include <stdint.h>

/* A message is what its bytes are. Of fields: int32, int64 (negative ones too), uint64, bool, enum
 */
void protobuf_integer(struct bytes *message, unsigned field, int64_t number);
void protobuf_double(struct bytes *message, unsigned field, double number);
/* A packed field of floats with one in it. */
void protobuf_packed_float(struct bytes *message, unsigned field, float number);
void protobuf_bytes(struct bytes *message, unsigned field, const void *bytes, size_t length);
/* `text` is UTF-8. */
void protobuf_text(struct bytes *message, unsigned field, const char *text);
/* A field that is a message itself. */
void protobuf_message(struct bytes *message, unsigned field, const struct bytes *part);

#endif
