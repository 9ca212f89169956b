/* Walks through JSON text that need not be complete: a window of a longer one, with INPUT_PADDING
 * zero bytes behind it.
 *
 * Each function takes a place in the text and returns the place behind what it read, or NULL: then
 * `failed_at` says where, and `expected` what should have been there. A failure at the limit means
 * that the text ends too early.
 *
 * The small functions that run for each value of a trace are here, to be inlined; json_scan.c has
 * the rare ways. */
#ifndef FLOPLEDGER_BASE_JSON_JSON_SCAN_H
#define FLOPLEDGER_BASE_JSON_JSON_SCAN_H

#include "base/core/byte_rows.h"

#include <stddef.h>

struct json_scan {
    const char *limit;
    const char *failed_at;
    const char *expected;
    /* A string may have quotes and backslashes that nobody escaped, and a value may be missing, be
     * text without quotes, or have a comma for its decimal point. */
    bool is_tolerant;
    bool filled_hole; /* set where one of the latter was so */
};

/* A piece of the text: a string without its quotes, or a number or word as written. A missing value
 * (tolerant only) is no string and has no length. */
struct json_slice {
    const char *text;
    uint32_t length;
    bool is_string;
    bool has_escapes;
};

static inline const char *scan_fail(struct json_scan *scan, const char *at, const char *expected)
{
    scan->failed_at = at < scan->limit ? at : scan->limit;
    scan->expected = expected;
    return NULL;
}

static inline bool scan_is_incomplete(const struct json_scan *scan)
{
    return scan->failed_at >= scan->limit;
}

const char *scan_long_space(const char *at);

static inline const char *scan_space(const char *at)
{
    if ((unsigned char)*at > ' ')
        return at;
    return scan_long_space(at);
}

/* Any string; the way for escapes. `start` is behind the opening quote, and up to `at` there is
 * neither quote nor backslash. */
const char *scan_escaped_string(struct json_scan *scan, const char *start, const char *at,
                                struct json_slice *slice);

/* `at` is behind the opening quote. */
static inline const char *scan_string(struct json_scan *scan, const char *at,
                                      struct json_slice *slice)
{
    const char *start = at;
    struct json_slice rare; /* so that `slice` can stay in registers */

    for (; at < scan->limit; at += WIDE_BYTES) {
        row_hits marks = find_either(at, '"', '\\');

        if (!marks)
            continue;
        at += row_first(marks);
        if (*at != '"')
            break;
        *slice = (struct json_slice){start, (uint32_t)(at - start), true, false};
        return at + 1;
    }
    at = scan_escaped_string(scan, start, at, &rare);
    *slice = rare;
    return at;
}

/* Any value; `slice` is the text of arrays and objects, too, with their brackets. `at` is at its
 * first character. */
const char *scan_value(struct json_scan *scan, const char *at, struct json_slice *slice);

/* A key that does not begin with a quote, for scan_key: fails where that is not allowed. */
const char *scan_bare_key(struct json_scan *scan, const char *at, struct json_slice *key);

/* `{ "key": ` and `, "key": `: the place of the value. `at` is at the opening quote of the key. */
static inline const char *scan_key(struct json_scan *scan, const char *at, struct json_slice *key)
{
    if (*at != '"')
        return scan_bare_key(scan, at, key);
    at = scan_string(scan, at + 1, key);
    if (!at)
        return NULL;
    at = scan_space(at);
    if (*at != ':')
        return scan_fail(scan, at, "':' after a key");
    return scan_space(at + 1);
}

/* What a look at the text ahead says. */
enum json_sight { SIGHT_NO, SIGHT_YES, SIGHT_CUT /* the text ends too early to tell */ };

/* Whether an event of a trace seems to begin: '{' and one of its usual keys. */
enum json_sight json_event_start(const char *at, const char *limit);

static inline uint64_t load_8_bytes(const char *at)
{
    uint64_t bytes;

    memcpy(&bytes, at, sizeof bytes);
    return bytes;
}

/* How many of the 8 bytes are digits before the first that is none. */
static inline unsigned count_digits(uint64_t bytes)
{
    uint64_t values = bytes ^ 0x3030303030303030u;
    uint64_t others = (values | (values + 0x7676767676767676u)) & 0x8080808080808080u;

    return others ? (unsigned)__builtin_ctzll(others) / 8 : 8;
}

/* The number that the first `count` (1 to 8) of 8 digits make. */
static inline uint64_t digits_value(uint64_t bytes, unsigned count)
{
    uint64_t values = (bytes ^ 0x3030303030303030u) << (8 - count) * 8;

    values = values * 10 + (values >> 8); /* pairs in every second byte */
    return ((values & 0x000000ff000000ffu) * 0x000f424000000064u +
            (values >> 16 & 0x000000ff000000ffu) * 0x0000271000000001u) >>
           32;
}

static inline uint64_t power_of_ten(unsigned exponent)
{
    static const uint64_t powers[] = {1,      10,      100,      1000,     10000,
                                      100000, 1000000, 10000000, 100000000};

    return powers[exponent];
}

/* Up to 16 digits; *count says how many there were. More than 16: *count is 16, and a digit
 * follows. */
#ifdef BYTE_ROWS_LOOK_UP
static inline const char *scan_digits(const char *at, uint64_t *value, unsigned *count)
{
    /* 16 bytes from [n] on move n digits to the end, behind zeros */
    static const int8_t moves[33] = {-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
                                     -1, -1, -1, -1, -1, 0,  1,  2,  3,  4,  5,
                                     6,  7,  8,  9,  10, 11, 12, 13, 14, 15, -1};
    byte_row digits = row_load(at) - row_of('0');
    unsigned first = row_first_miss((byte_row)(digits <= row_of(9)));

    *value = row_decimal(row_look_up(digits, row_load(moves + first)));
    *count = first;
    return at + first;
}
#else
static inline const char *scan_digits(const char *at, uint64_t *value, unsigned *count)
{
    uint64_t bytes = load_8_bytes(at);
    unsigned first = count_digits(bytes);
    unsigned second;

    *count = first;
    *value = first ? digits_value(bytes, first) : 0;
    if (first < 8)
        return at + first;
    bytes = load_8_bytes(at + 8);
    second = count_digits(bytes);
    *count += second;
    if (second)
        *value = *value * power_of_ten(second) + digits_value(bytes, second);
    return at + 8 + second;
}
#endif

/* True where a number ends: at what may follow it, or at the limit. */
static inline bool is_number_end(char c)
{
    return (unsigned char)c <= ' ' || c == ',' || c == '}' || c == ']';
}

/* The number a slice holds; false where it holds none (N/A, NaN, a text) or one that does not fit.
 * Integers keep all digits; unsigned ones beyond INT64_MAX become what has the same 64 bits. */
bool slice_integer(const struct json_slice *slice, int64_t *value);

/* Microseconds to nanoseconds, exactly: half up beyond the third decimal. As text in quotes, too.
 */
bool slice_nanoseconds(const struct json_slice *slice, int64_t *nanoseconds);

/* As strtod. */
bool slice_fraction(const struct json_slice *slice, double *value);

/* The same, where a comma may stand for the decimal point. */
bool slice_comma_fraction(const struct json_slice *slice, double *value);

/* True for the missing value of a tolerant scan. */
static inline bool slice_is_missing(const struct json_slice *slice)
{
    return slice->length == 0 && !slice->is_string;
}

/* Writes the string with its escapes resolved to `to` ([length] bytes are enough); returns how long
 * it is. */
size_t slice_unescape(const struct json_slice *slice, char *to);

static inline bool slice_is(const struct json_slice *slice, const char *text)
{
    return slice->length == __builtin_strlen(text) &&
           __builtin_memcmp(slice->text, text, slice->length) == 0;
}

#endif
