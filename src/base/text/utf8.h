/* Text from a trace, character by character: it may hold anything, also bytes that are no UTF-8. */
#ifndef FLOPLEDGER_BASE_TEXT_UTF8_H
#define FLOPLEDGER_BASE_TEXT_UTF8_H

#include "base/core/arena.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct utf8_character {
    uint32_t code;
    size_t length; /* bytes; 1 for a byte that is not UTF-8 */
    bool is_valid;
};

/* The character `text` begins with; `length` (at least 1) bytes are there. Overlong forms,
 * surrogates and codes past U+10FFFF are not valid. */
struct utf8_character utf8_decode(const char *text, size_t length);

enum { UTF8_BYTES_MAX = 4 };

/* Writes the character of `code`, which is up to U+10FFFF, to `to`; returns how many bytes it
 * takes, UTF8_BYTES_MAX at most. */
size_t utf8_encode(uint32_t code, char *to);

/* The text with U+FFFD in place of each byte that is not UTF-8: `text` itself where there is none,
 * else a copy in `arena`. */
const char *utf8_repaired(struct arena *arena, const char *text);

/* Does the character move the cursor, or change a line's order or shape, without being seen: C0,
 * C1, marks of direction, characters without width? */
bool utf8_is_control(uint32_t code);

/* Columns of a terminal the character takes: 0 (combining), 1 or 2 (CJK, emoji). */
int utf8_columns(uint32_t code);

#endif
