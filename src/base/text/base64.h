/* Bytes as text (RFC 4648). */
#ifndef FLOPLEDGER_BASE_TEXT_BASE64_H
#define FLOPLEDGER_BASE_TEXT_BASE64_H

#include <stddef.h>

/* Writes to `out`, which has room for length / 3 * 4 + 4 bytes; returns how many it wrote. By one
 * thread at a time. */
size_t base64_encode(char *out, const unsigned char *bytes, size_t length);

#endif
