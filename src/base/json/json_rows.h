/* What is looked for in JSON text by many bytes at a look. What they read behind the limit is
 * padding. */
#ifndef FLOPLEDGER_BASE_JSON_JSON_ROWS_H
#define FLOPLEDGER_BASE_JSON_JSON_ROWS_H

#include "base/core/attributes.h"
#include "base/core/byte_rows.h"

#include <stddef.h>

/* The next byte that is text: 1 to 32 are none; 0 is the padding and stops it. */
static inline const char *skip_space(const char *at)
{
    for (;; at += 16) {
        byte_row bytes = row_load(at) - row_of(1);
        row_hits others = row_find_misses((byte_row)(bytes <= row_of(0x1f)));

        if (others)
            return at + row_first(others);
    }
}

/* The next bracket, brace or quote at or behind `at`; at or past the limit where there is none.
 * '[' and '{' differ in one bit, as do ']' and '}': with it set, two comparisons find four
 * characters. */
static inline const char *find_bracket_or_quote(const char *at, const char *limit)
{
    for (; at < limit; at += 16) {
        byte_row bytes = row_load(at);
        byte_row braces = bytes | row_of(0x20);
        row_hits hits =
            row_find(row_equal(bytes, '"') | row_equal(braces, '{') | row_equal(braces, '}'));

        if (hits)
            return at + row_first(hits);
    }
    return at;
}

/* ---- the end of an array or object ---------------------------------------------------------- */

/* Each bit is the parity of those up to it. A prefix sum without carry (exclusive or): a byte is
 * in a string if an odd number of quotes stands before it (Langdale and Lemire, "Parsing
 * Gigabytes of JSON per Second", 2019, who take a carry-less product for it). */
static inline uint64_t parity_up_to(uint64_t bits)
{
    bits ^= bits << 1;
    bits ^= bits << 2;
    bits ^= bits << 4;
    bits ^= bits << 8;
    bits ^= bits << 16;
    return bits ^ bits << 32;
}

/* What is known of the text before 64 bytes, on the way to the closing bracket. */
struct closing_search {
    uint64_t in_string; /* all bits or none: whether the text before ends in a string */
    size_t depth;
};

/* Which of the 64 bytes closes the first bracket; 64 where none does. Brackets outside strings
 * are taken one by one, from the lowest bit; adding SIZE_MAX is subtracting one. */
static inline unsigned find_closing_mark(struct closing_search *search, const char *at)
{
    const char brace = 0x20; /* made of a bracket by this bit */
    uint64_t quotes = find_in_64(at, 0, '"');
    uint64_t openings = find_in_64(at, brace, '{');
    uint64_t closings = find_in_64(at, brace, '}');
    uint64_t strings = quotes ? parity_up_to(quotes) ^ search->in_string : search->in_string;

    for (uint64_t brackets = (openings | closings) & ~strings; brackets; brackets &= brackets - 1) {
        search->depth += openings & brackets & -brackets ? 1 : SIZE_MAX;
        if (search->depth == 0)
            return (unsigned)__builtin_ctzll(brackets);
    }
    search->in_string = (uint64_t)((int64_t)strings >> 63);
    return 64;
}

/* Behind the bracket that closes what the one at `at` opens, by 64 bytes at once; NULL where the
 * text has a backslash before it, or ends. */
static inline const char *find_closing_by_rows(const char *at, const char *limit)
{
    struct closing_search search = {0};

    for (; at < limit; at += 64) {
        unsigned closing;

        if (is_in_64(at, '\\'))
            return NULL;
        closing = find_closing_mark(&search, at);
        if (closing < 64)
            return at + closing + 1;
    }
    return NULL;
}

/* The same where the processor has AVX2. */
const char *find_closing_avx2(const char *at, const char *limit);

/* ---- what stands as it is ------------------------------------------------------------------- */

/* Of the bytes in front of the first that does not stand in JSON as it is: so many of them as
 * sixteen at a time tell; 0 of a short text. */
ALWAYS_INLINE size_t plain_sixteens(const char *text, size_t length, bool is_in_markup)
{
    const byte_row markup = row_of(is_in_markup ? -1 : 0);

    for (size_t at = 0; length >= 16 && at < length; at += 16) {
        size_t from = at + 16 <= length ? at : length - 16; /* the last overlap those before */
        byte_row bytes = row_load(text + from);
        /* less than a space as signed numbers: control characters, and all beyond ASCII */
        byte_row stops = (byte_row)((signed_row)bytes < (signed_row)row_of(' ')) |
                         row_equal(bytes, 0x7f) | row_equal(bytes, '"') | row_equal(bytes, '\\');
        byte_row of_markup = row_equal(bytes, '<') | row_equal(bytes, '>') | row_equal(bytes, '&');
        row_hits hits = row_find(stops | (of_markup & markup));

        if (hits)
            return from + row_first(hits);
    }
    return length >= 16 ? length : 0;
}

#endif
