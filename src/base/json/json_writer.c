/* Writes JSON that is valid whatever the strings hold. */
#include "base/json/json_writer.h"

#include "base/core/attributes.h"
#include "base/core/exact_real.h"
#include "base/json/json_rows.h"
#include "base/text/utf8.h"

#include <assert.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static bool is_on_one_line(const struct json_writer *writer)
{
    return writer->one_line_depth > 0 && writer->depth >= writer->one_line_depth;
}

static void hand_on(struct json_writer *writer)
{
    fwrite_unlocked(writer->buffer, 1, writer->held, writer->output);
    writer->held = 0;
}

/* What does not fit behind what is held already. */
static void put_slowly(struct json_writer *writer, const char *text, size_t length)
{
    hand_on(writer);
    if (length > sizeof writer->buffer)
        fwrite_unlocked(text, 1, length, writer->output);
    else
        memcpy(writer->buffer, text, writer->held = length);
}

/* Values are short: a call of the C library for each would cost more than the rest of the work. Of
 * a literal the compiler knows the length, and copies by a store or two. */
ALWAYS_INLINE void put(struct json_writer *writer, const char *text, size_t length)
{
    if (length > sizeof writer->buffer - writer->held) {
        put_slowly(writer, text, length);
        return;
    }
    memcpy(writer->buffer + writer->held, text, length);
    writer->held += length;
}

ALWAYS_INLINE void put_text(struct json_writer *writer, const char *text)
{
    put(writer, text, strlen(text));
}

/* What stands by itself is for whoever writes on behind it. */
static void end_value(struct json_writer *writer)
{
    if (writer->depth == 0)
        hand_on(writer);
}

static void new_line(struct json_writer *writer)
{
    static const char line[] = "\n                                                                ";

    static_assert(sizeof line - 1 == 1 + 2 * JSON_DEPTH_MAX, "two spaces for each depth");
    put(writer, line, 1 + 2 * (size_t)writer->depth);
}

/* How many of `length` bytes stand in JSON as they are: letters, digits and the like, and in markup
 * nothing that means something there. */
static size_t plain_length(const char *text, size_t length, bool is_in_markup)
{
    enum { ALWAYS = 1, IN_MARKUP = 2 };
    static const unsigned char special[UCHAR_MAX + 1] = {
        ['"'] = ALWAYS, ['\\'] = ALWAYS, ['<'] = IN_MARKUP, ['>'] = IN_MARKUP, ['&'] = IN_MARKUP,
    };
    unsigned stops = is_in_markup ? ALWAYS | IN_MARKUP : ALWAYS;
    size_t at = plain_sixteens(text, length, is_in_markup);

    while (at < length && text[at] >= ' ' && text[at] <= '~' &&
           !(special[(unsigned char)text[at]] & stops))
        at++;
    return at;
}

/* The character at `text`, which does not stand as it is; how many bytes it has. In markup '<',
 * '>' and '&' are written as escapes: "</script>" in a name must not end the page's data. Bytes
 * that are no UTF-8 become U+FFFD, as JSON has to be UTF-8 (RFC 8259). */
static size_t write_special(struct json_writer *writer, const char *text, const char *end)
{
    static const char digits[] = "0123456789abcdef";
    struct utf8_character c = utf8_decode(text, (size_t)(end - text));

    if (!c.is_valid)
        put_text(writer, "\xEF\xBF\xBD");
    else if (c.code == '\n')
        put_text(writer, "\\n");
    else if (c.code == '\t')
        put_text(writer, "\\t");
    else if ((utf8_is_control(c.code) && c.code <= 0xFFFF) ||
             (writer->is_in_markup && (c.code == '<' || c.code == '>' || c.code == '&')))
        put(writer,
            (char[]){'\\', 'u', digits[c.code >> 12 & 15], digits[c.code >> 8 & 15],
                     digits[c.code >> 4 & 15], digits[c.code & 15]},
            6);
    else {
        if (c.code == '"' || c.code == '\\')
            put_text(writer, "\\");
        put(writer, text, c.length);
    }
    return c.length;
}

/* Runs of plain bytes are copied at once: nearly all texts are one run. */
static void write_string(struct json_writer *writer, const char *text)
{
    const char *end = text + strlen(text);
    size_t plain = plain_length(text, (size_t)(end - text), writer->is_in_markup);

    put_text(writer, "\"");
    put(writer, text, plain);
    for (text += plain; text < end; text += plain) {
        text += write_special(writer, text, end);
        plain = plain_length(text, (size_t)(end - text), writer->is_in_markup);
        put(writer, text, plain);
    }
    put_text(writer, "\"");
}

/* The comma, the line and the key before a value. */
static void begin_value(struct json_writer *writer, const char *key)
{
    if (writer->depth > 0) {
        if (writer->has_members[writer->depth])
            put_text(writer, is_on_one_line(writer) ? ", " : ",");
        if (!is_on_one_line(writer))
            new_line(writer);
        writer->has_members[writer->depth] = true;
    }
    if (key) {
        write_string(writer, key);
        put_text(writer, ": ");
    }
}

/* The outermost container on one line decides for all in it. */
static void begin_container(struct json_writer *writer, const char *key, enum json_layout layout,
                            char bracket)
{
    begin_value(writer, key);
    put(writer, &bracket, 1);
    writer->depth++;
    assert(writer->depth < JSON_DEPTH_MAX);
    writer->has_members[writer->depth] = false;
    if (layout == JSON_ON_ONE_LINE && writer->one_line_depth == 0)
        writer->one_line_depth = writer->depth;
}

/* An empty one has no line of its own. */
static void end_container(struct json_writer *writer, char bracket)
{
    bool was_on_one_line = is_on_one_line(writer);
    bool had_members = writer->has_members[writer->depth];

    assert(writer->depth > 0);
    if (writer->one_line_depth == writer->depth)
        writer->one_line_depth = 0;
    writer->depth--;
    if (had_members && !was_on_one_line)
        new_line(writer);
    put(writer, &bracket, 1);
    if (writer->depth == 0)
        put_text(writer, "\n");
    end_value(writer);
}

void json_begin_object(struct json_writer *writer, const char *key, enum json_layout layout)
{
    begin_container(writer, key, layout, '{');
}

void json_end_object(struct json_writer *writer)
{
    end_container(writer, '}');
}

void json_begin_array(struct json_writer *writer, const char *key, enum json_layout layout)
{
    begin_container(writer, key, layout, '[');
}

void json_end_array(struct json_writer *writer)
{
    end_container(writer, ']');
}

/* A text that is not there is null, not "": a reader must be able to tell them apart. */
void json_text(struct json_writer *writer, const char *key, const char *text)
{
    if (!text) {
        json_null(writer, key);
        return;
    }
    begin_value(writer, key);
    write_string(writer, text);
    end_value(writer);
}

void json_plain_text(struct json_writer *writer, const char *key, const char *text, size_t length)
{
    begin_value(writer, key);
    put_text(writer, "\"");
    put(writer, text, length);
    put_text(writer, "\"");
    end_value(writer);
}

static void write_plain(struct json_writer *writer, const char *key, const char *text)
{
    begin_value(writer, key);
    put_text(writer, text);
    end_value(writer);
}

/* By hand: millions of numbers, and printf reads a format for each. */
void json_integer(struct json_writer *writer, const char *key, int64_t number)
{
    uint64_t left = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
    char digits[24];
    char *at = digits + sizeof digits;

    do
        *--at = (char)('0' + left % 10);
    while (left /= 10);
    if (number < 0)
        *--at = '-';
    if (!key && writer->depth > 0 && is_on_one_line(writer) && writer->has_members[writer->depth]) {
        *--at = ' '; /* one more of a list, of which a page has hundred thousands */
        *--at = ',';
        put(writer, at, (size_t)(digits + sizeof digits - at));
        return;
    }
    begin_value(writer, key);
    put(writer, at, (size_t)(digits + sizeof digits - at));
    end_value(writer);
}

/* No NaN or infinity in JSON: null. -0.0 is written by exact_real, for an integer would lose
 * its sign. */
void json_real(struct json_writer *writer, const char *key, double number)
{
    static const double whole_max = 1e15; /* exact_real writes those in full */

    if (fabs(number) < whole_max && (double)(int64_t)number == number && !signbit(number))
        json_integer(writer, key, (int64_t)number);
    else if (isfinite(number))
        write_plain(writer, key, exact_real(number).text);
    else
        json_null(writer, key);
}

void json_boolean(struct json_writer *writer, const char *key, bool truth)
{
    write_plain(writer, key, truth ? "true" : "false");
}

void json_null(struct json_writer *writer, const char *key)
{
    write_plain(writer, key, "null");
}
