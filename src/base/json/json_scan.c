/* Walks through JSON text that need not be complete. */
#include "base/json/json_scan.h"

#include "base/core/processor.h"
#include "base/json/json_rows.h"
#include "base/text/utf8.h"

#include <stdlib.h>

/* ---- white space
 * --------------------------------------------------------------------------------------------- */

const char *scan_long_space(const char *at)
{
    return skip_space(at);
}

/* ---- strings -------------------------------------------------------------------------------- */

/* Reads up to five bytes beyond the backslash, which the padding behind the text allows. */
static bool is_escape(const char *at)
{
    if (*at != 'u')
        return *at && strchr("\"\\/bfnrt", *at);
    for (int i = 1; i <= 4; i++) {
        char c = at[i];

        if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F')))
            return false;
    }
    return true;
}

/* From where the first backslash stands: a string without any never comes here. An escape that
 * is cut by the window's end is scanned again when there is more. */
const char *scan_escaped_string(struct json_scan *scan, const char *start, const char *at,
                                struct json_slice *slice)
{
    *slice = (struct json_slice){.text = start, .is_string = true};
    for (;; at += 2) {
        while (at < scan->limit && *at != '"' && *at != '\\')
            at++;
        if (at >= scan->limit)
            return scan_fail(scan, scan->limit, "the end of a string");
        if (*at == '"')
            break;
        if (scan->limit - at < (at[1] == 'u' ? 6 : 2))
            return scan_fail(scan, scan->limit, "the end of a string");
        if (!is_escape(at + 1))
            return scan_fail(scan, at, "an escape sequence that JSON knows");
        slice->has_escapes = true;
    }
    slice->length = (uint32_t)(at - start);
    return at + 1;
}

enum { LONGEST_BARE_KEY = 16 };

/* Behind the word that a key without its opening quote is; `at` itself where there is no word. */
static const char *bare_key_end(const char *at, const char *limit)
{
    const char *start = at;

    while (at < limit && at - start < LONGEST_BARE_KEY &&
           ((*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') || *at == '_'))
        at++;
    return at;
}

/* `at` is behind a ','. Whether a key and its ':' follow; keys of profilers are not long. Of a
 * short one the opening quote may be missing. A key of an event has fewer than 64 bytes; a text
 * may have a comma, but hardly a quoted word and a colon behind it. */
static enum json_sight sight_key(const char *at, const char *limit)
{
    const char *end;

    at = scan_space(at);
    if (at >= limit)
        return SIGHT_CUT;
    if (*at != '"') {
        end = bare_key_end(at, limit);
        if (limit - end < 2)
            return SIGHT_CUT;
        return end > at && end[0] == '"' && end[1] == ':' ? SIGHT_YES : SIGHT_NO;
    }
    for (end = at + 1; end < limit && end - at < 64 && *end != '"'; end++)
        ;
    if (end >= limit)
        return SIGHT_CUT;
    if (*end != '"')
        return SIGHT_NO;
    at = scan_space(end + 1);
    if (at >= limit)
        return SIGHT_CUT;
    return *at == ':' ? SIGHT_YES : SIGHT_NO;
}

/* Whether the text behind a quote looks as it does behind a value of an object. One look at what
 * follows a quote: a comma with a key, or a brace with what may follow an object. It is a guess
 * that a text which holds JSON itself may fool; only damaged texts come here. */
static enum json_sight sight_value_end(const char *at, const char *limit)
{
    at = scan_space(at);
    if (at >= limit)
        return SIGHT_CUT;
    if (*at == ',')
        return sight_key(at + 1, limit);
    if (*at != '}')
        return SIGHT_NO;
    at = scan_space(at + 1);
    if (at >= limit)
        return SIGHT_CUT;
    return *at == ',' || *at == '}' || *at == ']' ? SIGHT_YES : SIGHT_NO;
}

/* A string with quotes and backslashes that nobody escaped: it ends at the first quote that looks
 * like the end of a value, and never behind what looks like the beginning of the next event. The
 * usual reading first: most strings of a damaged event are whole. */
static const char *scan_tolerant_string(struct json_scan *scan, const char *start,
                                        struct json_slice *slice)
{
    const char *at = scan_string(scan, start, slice);

    if (at && sight_value_end(at, scan->limit) == SIGHT_YES)
        return at;
    for (at = start; at < scan->limit; at++) {
        enum json_sight sight = SIGHT_NO;

        if (*at == '"')
            sight = sight_value_end(at + 1, scan->limit);
        else if (*at == '{' && json_event_start(at, scan->limit) == SIGHT_YES)
            return scan_fail(scan, at, "the end of a string");
        if (sight == SIGHT_CUT)
            break;
        if (sight == SIGHT_YES) {
            *slice = (struct json_slice){start, (uint32_t)(at - start), true, false};
            return at + 1;
        }
    }
    return scan_fail(scan, scan->limit, "the end of a string");
}

/* An object whose first key is one that events have: in the middle of a text that is rare
 * enough to end it there, so that a string without its end costs one event and not the file. */
enum json_sight json_event_start(const char *at, const char *limit)
{
    static const char *const keys[] = {"\"ph\"",  "\"name\"", "\"cat\"", "\"ts\"",  "\"pid\"",
                                       "\"tid\"", "\"args\"", "\"id\"",  "\"dur\"", "\"bp\""};

    if (at >= limit || *at != '{')
        return SIGHT_NO;
    at = scan_space(at + 1);
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        size_t length = strlen(keys[i]);

        if ((size_t)(limit - at) <= length) {
            if (memcmp(at, keys[i], (size_t)(limit - at)) == 0)
                return SIGHT_CUT;
        } else if (memcmp(at, keys[i], length) == 0) {
            at = scan_space(at + length);
            if (at >= limit)
                return SIGHT_CUT;
            return *at == ':' ? SIGHT_YES : SIGHT_NO;
        }
    }
    return SIGHT_NO;
}

/* ---- values --------------------------------------------------------------------------------- */

/* A number or word: up to what cannot be part of one. The padding of zeros ends it. */
static const char *scan_word(struct json_scan *scan, const char *at, struct json_slice *slice)
{
    const char *start = at;

    while ((unsigned char)*at > ' ' && *at != ',' && *at != '}' && *at != ']' && *at != '"' &&
           *at != ':' && *at != '{' && *at != '[')
        at++;
    if (at == start || at >= scan->limit)
        return scan_fail(scan, at, "a value");
    *slice = (struct json_slice){.text = start, .length = (uint32_t)(at - start)};
    return at;
}

/* What stands in the place of a value, without quotes, up to what looks like its end: a number or
 * word, also a text with spaces, a number with a decimal comma, or nothing. */
static const char *scan_bare_text(struct json_scan *scan, const char *at, struct json_slice *slice)
{
    const char *start = at;
    const char *end = at; /* of the text without the spaces behind it */

    for (; at < scan->limit && *at != '"' && *at != '{'; at++) {
        enum json_sight sight = SIGHT_NO;

        if (*at == ',' || *at == '}')
            sight = sight_value_end(at, scan->limit);
        if (sight == SIGHT_CUT)
            return scan_fail(scan, scan->limit, "the end of a value");
        if (sight == SIGHT_YES) {
            *slice = (struct json_slice){.text = start, .length = (uint32_t)(end - start)};
            for (; start < end && *start != ',' && (unsigned char)*start > ' '; start++)
                ;
            scan->filled_hole |= start < end || slice->length == 0;
            return at;
        }
        if ((unsigned char)*at > ' ')
            end = at + 1;
    }
    return scan_fail(scan, at, "a value");
}

/* Whether the text behind a quote looks as it does behind a string in an array. */
static bool ends_element(const char *at)
{
    at = scan_space(at);
    if (*at != ']' && *at != '}')
        return *at == ',' || *at == ':';
    at = scan_space(at + 1);
    return *at == ',' || *at == ']' || *at == '}';
}

/* A string inside an array, whatever quotes and backslashes are in it; `at` is behind the opening
 * quote. */
static const char *scan_tolerant_element(struct json_scan *scan, const char *at)
{
    for (; at < scan->limit; at++) {
        if (*at == '"' && at[-1] != '\\' && ends_element(at + 1))
            return at + 1;
        if (*at == '{' && json_event_start(at, scan->limit) == SIGHT_YES)
            return scan_fail(scan, at, "the end of a string");
    }
    return scan_fail(scan, scan->limit, "the end of a string");
}

/* One value after the other, whatever is in it. Strings are skipped as strings, since brackets
 * in them do not count. */
static const char *scan_nested_slowly(struct json_scan *scan, const char *at,
                                      struct json_slice *slice)
{
    const char *start = at;
    size_t depth = 0;

    do {
        struct json_slice inner;

        at = find_bracket_or_quote(at, scan->limit);
        if (at >= scan->limit)
            return scan_fail(scan, scan->limit, "the end of an array or object");
        if (*at == '"') {
            at = scan->is_tolerant ? scan_tolerant_element(scan, at + 1)
                                   : scan_string(scan, at + 1, &inner);
            if (!at)
                return NULL;
            continue;
        }
        if (*at == '[' || *at == '{')
            depth++;
        else
            depth--;
        at++;
    } while (depth);
    *slice = (struct json_slice){.text = start, .length = (uint32_t)(at - start)};
    return at;
}

/* Asked at run time, so that one program runs on any x86-64 and uses what there is. */
static const char *find_closing(const char *at, const char *limit)
{
#ifdef __x86_64__
    if (processor_has_avx2())
        return find_closing_avx2(at, limit);
#endif
    return find_closing_by_rows(at, limit);
}

/* The fast way gives up at the first backslash: an escaped quote would upset the parity, and
 * arguments of events rarely have one. */
static const char *scan_nested(struct json_scan *scan, const char *at, struct json_slice *slice)
{
    const char *end = scan->is_tolerant ? NULL : find_closing(at, scan->limit);

    if (end) {
        *slice = (struct json_slice){.text = at, .length = (uint32_t)(end - at)};
        return end;
    }
    return scan_nested_slowly(scan, at, slice);
}

const char *scan_value(struct json_scan *scan, const char *at, struct json_slice *slice)
{
    if (*at == '"')
        return scan->is_tolerant ? scan_tolerant_string(scan, at + 1, slice)
                                 : scan_string(scan, at + 1, slice);
    if (*at == '{' || *at == '[')
        return scan_nested(scan, at, slice);
    return scan->is_tolerant ? scan_bare_text(scan, at, slice) : scan_word(scan, at, slice);
}

const char *scan_bare_key(struct json_scan *scan, const char *at, struct json_slice *key)
{
    const char *end = bare_key_end(at, scan->limit);
    bool is_missing = *at == ',' || *at == '}'; /* a comma too many: its value is missing, too */

    *key = (struct json_slice){.text = at, .length = (uint32_t)(end - at)};
    if (scan->is_tolerant && !is_missing && end + 1 >= scan->limit)
        return scan_fail(scan, scan->limit, "a key in quotes"); /* what ends it may follow */
    if (!scan->is_tolerant || (!is_missing && (end == at || end[0] != '"' || end[1] != ':')))
        return scan_fail(scan, at, "a key in quotes");
    scan->filled_hole = true;
    return is_missing ? at : scan_space(end + 2);
}

/* ---- numbers -------------------------------------------------------------------------------- */

/* A number as its digits: value = digits * 10^exponent. */
struct decimal {
    bool is_negative;
    uint64_t digits;
    int64_t exponent;
};

/* What no longer fits is dropped, and moves the exponent: the number stays right in its first
 * 19 digits. */
static const char *read_digits(const char *at, const char *end, struct decimal *decimal,
                               bool is_fraction)
{
    for (; at < end && *at >= '0' && *at <= '9'; at++) {
        uint64_t digit = (uint64_t)(*at - '0');

        if (decimal->digits > (UINT64_MAX - digit) / 10) {
            decimal->exponent += !is_fraction;
            continue;
        }
        decimal->digits = decimal->digits * 10 + digit;
        decimal->exponent -= is_fraction;
    }
    return at;
}

/* Own arithmetic, since strtod goes by the locale and rounds to a double: nanoseconds of a
 * time since 1970 need 61 bits. */
static bool read_decimal(const struct json_slice *slice, struct decimal *decimal)
{
    const char *at = slice->text;
    const char *end = at + slice->length;
    const char *first;

    *decimal = (struct decimal){.is_negative = at < end && *at == '-'};
    at += decimal->is_negative || (at < end && *at == '+');
    first = at;
    at = read_digits(at, end, decimal, false);
    if (at == first)
        return false;
    if (at < end && *at == '.')
        at = read_digits(at + 1, end, decimal, true);
    if (at < end && (*at == 'e' || *at == 'E')) {
        int64_t sign = at + 1 < end && at[1] == '-' ? -1 : 1;
        int64_t power = 0;

        at += at + 1 < end && (at[1] == '-' || at[1] == '+') ? 2 : 1;
        for (; at < end && *at >= '0' && *at <= '9'; at++)
            power = power < 100000 ? power * 10 + (*at - '0') : power;
        decimal->exponent += sign * power;
    }
    return at == end;
}

/* digits * 10^exponent rounded half up, as a magnitude; false where it does not fit. Digits
 * behind the next one are cut, and that one rounds: half up, exactly. */
static bool scale(const struct decimal *decimal, int64_t exponent, uint64_t *value)
{
    uint64_t digits = decimal->digits;

    for (; exponent > 0 && digits; exponent--) {
        if (digits > UINT64_MAX / 10)
            return false;
        digits *= 10;
    }
    if (exponent < -20)
        digits = 0;
    for (; exponent < -1 && digits; exponent++)
        digits /= 10;
    if (exponent == -1)
        digits = digits / 10 + (digits % 10 >= 5);
    *value = digits;
    return true;
}

bool slice_integer(const struct json_slice *slice, int64_t *value)
{
    struct decimal decimal;
    uint64_t magnitude;

    if (!read_decimal(slice, &decimal) || !scale(&decimal, decimal.exponent, &magnitude))
        return false;
    *value = (int64_t)(decimal.is_negative ? 0 - magnitude : magnitude);
    return true;
}

/* Microseconds with decimals, times 1000: three decimals are exact. */
bool slice_nanoseconds(const struct json_slice *slice, int64_t *nanoseconds)
{
    struct decimal decimal;
    uint64_t magnitude;

    if (!read_decimal(slice, &decimal) || !scale(&decimal, decimal.exponent + 3, &magnitude) ||
        magnitude > INT64_MAX)
        return false;
    *nanoseconds = decimal.is_negative ? -(int64_t)magnitude : (int64_t)magnitude;
    return true;
}

/* strtod takes more than JSON's numbers ("inf", hexadecimal), hence the check before it. */
bool slice_fraction(const struct json_slice *slice, double *value)
{
    struct decimal decimal;
    char text[64];

    if (!read_decimal(slice, &decimal) || slice->length >= sizeof text)
        return false;
    memcpy(text, slice->text, slice->length);
    text[slice->length] = '\0';
    *value = strtod(text, NULL);
    return true;
}

/* Programs that print by the user's locale write 1,5: not JSON, and yet found in traces. */
bool slice_comma_fraction(const struct json_slice *slice, double *value)
{
    char text[64];
    struct json_slice dotted = {.text = text, .length = slice->length};
    char *comma;

    if (slice->length >= sizeof text)
        return false;
    memcpy(text, slice->text, slice->length);
    comma = memchr(text, ',', slice->length);
    if (comma)
        *comma = '.';
    return slice_fraction(&dotted, value);
}

/* ---- strings -------------------------------------------------------------------------------- */

static uint32_t read_hex(const char *at)
{
    uint32_t code = 0;

    for (int i = 0; i < 4; i++) {
        char c = at[i];

        code = code << 4 | (uint32_t)(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
    }
    return code;
}

/* \uXXXX, or two that make one character; `at` is behind the backslash. Half a pair becomes U+FFFD.
 */
static const char *unescape_unicode(const char *at, const char *end, char **to)
{
    uint32_t code = read_hex(at + 1);

    at += 5;
    if (code >= 0xd800 && code < 0xdc00 && end - at >= 6 && at[0] == '\\' && is_escape(at + 1) &&
        at[1] == 'u') {
        uint32_t low = read_hex(at + 2);

        if (low >= 0xdc00 && low < 0xe000) {
            code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
            at += 6;
        }
    }
    if (code >= 0xd800 && code < 0xe000)
        code = 0xfffd;
    *to += utf8_encode(code, *to);
    return at;
}

/* Never longer than the escaped text: the shortest escape has two bytes for one, \uXXXX six
 * for at most three. */
size_t slice_unescape(const struct json_slice *slice, char *to)
{
    static const char from_letters[] = "bfnrt";
    static const char to_bytes[] = "\b\f\n\r\t";
    const char *at = slice->text;
    const char *end = at + slice->length;
    char *start = to;

    while (at < end) {
        const char *letter;

        if (*at != '\\' || end - at < 2 || (at[1] == 'u' && end - at < 6) || !is_escape(at + 1)) {
            *to++ = *at++;
        } else if (at[1] == 'u') {
            at = unescape_unicode(at + 1, end, &to);
        } else {
            letter = strchr(from_letters, at[1]);
            *to++ = letter ? to_bytes[letter - from_letters] : at[1];
            at += 2;
        }
    }
    return (size_t)(to - start);
}
