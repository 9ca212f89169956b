/* An amount of memory on the command line: 80GiB. */
#ifndef FLOPLEDGER_BASE_TEXT_BYTE_SIZE_H
#define FLOPLEDGER_BASE_TEXT_BYTE_SIZE_H

#include <stdbool.h>

/* What parse_byte_size takes, for messages. */
extern const char byte_size_accepted[];

/* Fills an int64_t with bytes: a number above 0, with or without decimals, and a unit: B, KB, MB,
 * GB, TB (powers of 1000), KiB, MiB, GiB, TiB (of 1024). False where `text` is none, or too large.
 */
bool parse_byte_size(const char *text, void *field);

#endif
