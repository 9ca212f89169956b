/* Walks through JSON text that need not be complete: a window of a longer one, with INPUT_PADDING
 * zero bytes behind it.
 *
 * Each function takes a place in the text and returns the place behind what it read, or NULL: then
 * `failed_at` says where, and `expected` what should have been there. A failure at the limit means
 * that the text ends too early. */
#ifndef FLOPLEDGER_READERS_JSON_SCAN_H
#define FLOPLEDGER_READERS_JSON_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json_scan {
    const char *limit;
    const char *failed_at;
    const char *expected;
    bool is_tolerant; /* strings may hold quotes and backslashes that are not escaped */
};

/* A piece of the text: a string without its quotes, or a number or word as written. */
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

/* `at` is behind the opening quote. */
const char *scan_string(struct json_scan *scan, const char *at, struct json_slice *slice);

/* Any value; `slice` is the text of arrays and objects, too, with their brackets. `at` is at its
 * first character. */
const char *scan_value(struct json_scan *scan, const char *at, struct json_slice *slice);

/* `{ "key": ` and `, "key": `: the place of the value. `at` is at the opening quote of the key. */
const char *scan_key(struct json_scan *scan, const char *at, struct json_slice *key);

/* The number a slice holds; false where it holds none (N/A, NaN, a text) or one that does not fit.
 * Integers keep all digits; unsigned ones beyond INT64_MAX become what has the same 64 bits. */
bool slice_integer(const struct json_slice *slice, int64_t *value);

/* Microseconds to nanoseconds, exactly: half up beyond the third decimal. As text in quotes, too.
 */
bool slice_nanoseconds(const struct json_slice *slice, int64_t *nanoseconds);

/* As strtod. */
bool slice_fraction(const struct json_slice *slice, double *value);

/* Writes the string with its escapes resolved to `to` ([length] bytes are enough); returns how long
 * it is. */
size_t slice_unescape(const struct json_slice *slice, char *to);

static inline bool slice_is(const struct json_slice *slice, const char *text)
{
    return slice->length == __builtin_strlen(text) &&
           __builtin_memcmp(slice->text, text, slice->length) == 0;
}

#endif
