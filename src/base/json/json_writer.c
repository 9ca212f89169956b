/* Writes JSON that is valid whatever the strings hold. */
#include "base/json/json_writer.h"

#include "base/core/exact_real.h"
#include "base/text/utf8.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static bool is_on_one_line(const struct json_writer *writer)
{
    return writer->one_line_depth > 0 && writer->depth >= writer->one_line_depth;
}

static void new_line(struct json_writer *writer)
{
    static const char line[] = "\n                                                                ";

    static_assert(sizeof line - 1 == 1 + 2 * JSON_DEPTH_MAX, "two spaces for each depth");
    fwrite_unlocked(line, 1, 1 + 2 * (size_t)writer->depth, writer->output);
}

/* How many bytes of a text stand in JSON as they are: letters, digits and the like, and in markup
 * nothing that means something there. */
static size_t plain_length(const char *text, bool is_in_markup)
{
    const char *at = text;

    for (; *at >= ' ' && *at <= '~' && *at != '"' && *at != '\\'; at++)
        if (is_in_markup && (*at == '<' || *at == '>' || *at == '&'))
            break;
    return (size_t)(at - text);
}

static void write_string(struct json_writer *writer, const char *text)
{
    FILE *output = writer->output;
    const char *end = text + strlen(text);

    putc_unlocked('"', output);
    while (text < end) {
        size_t plain = plain_length(text, writer->is_in_markup);
        struct utf8_character c;

        fwrite_unlocked(text, 1, plain, output);
        text += plain;
        if (text == end)
            break;
        c = utf8_decode(text, (size_t)(end - text));
        if (!c.is_valid)
            fputs("\xEF\xBF\xBD", output);
        else if (c.code == '"' || c.code == '\\')
            fprintf(output, "\\%c", (int)c.code);
        else if (c.code == '\n')
            fputs("\\n", output);
        else if (c.code == '\t')
            fputs("\\t", output);
        else if ((utf8_is_control(c.code) && c.code <= 0xFFFF) ||
                 (writer->is_in_markup && (c.code == '<' || c.code == '>' || c.code == '&')))
            fprintf(output, "\\u%04x", (unsigned)c.code);
        else
            fwrite(text, 1, c.length, output);
        text += c.length;
    }
    putc_unlocked('"', output);
}

/* The comma, the line and the key before a value. */
static void begin_value(struct json_writer *writer, const char *key)
{
    if (writer->depth > 0) {
        if (writer->has_members[writer->depth])
            fputs_unlocked(is_on_one_line(writer) ? ", " : ",", writer->output);
        if (!is_on_one_line(writer))
            new_line(writer);
        writer->has_members[writer->depth] = true;
    }
    if (key) {
        write_string(writer, key);
        fputs_unlocked(": ", writer->output);
    }
}

static void begin_container(struct json_writer *writer, const char *key, enum json_layout layout,
                            char bracket)
{
    begin_value(writer, key);
    putc_unlocked(bracket, writer->output);
    writer->depth++;
    assert(writer->depth < JSON_DEPTH_MAX);
    writer->has_members[writer->depth] = false;
    if (layout == JSON_ON_ONE_LINE && writer->one_line_depth == 0)
        writer->one_line_depth = writer->depth;
}

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
    putc_unlocked(bracket, writer->output);
    if (writer->depth == 0)
        fputc('\n', writer->output);
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

void json_text(struct json_writer *writer, const char *key, const char *text)
{
    if (!text) {
        json_null(writer, key);
        return;
    }
    begin_value(writer, key);
    write_string(writer, text);
}

void json_plain_text(struct json_writer *writer, const char *key, const char *text, size_t length)
{
    begin_value(writer, key);
    putc_unlocked('"', writer->output);
    fwrite_unlocked(text, 1, length, writer->output);
    putc_unlocked('"', writer->output);
}

void json_integer(struct json_writer *writer, const char *key, int64_t number)
{
    begin_value(writer, key);
    fprintf(writer->output, "%lld", (long long)number);
}

void json_real(struct json_writer *writer, const char *key, double number)
{
    if (!isfinite(number)) {
        json_null(writer, key);
        return;
    }
    begin_value(writer, key);
    fputs_unlocked(exact_real(number).text, writer->output);
}

void json_boolean(struct json_writer *writer, const char *key, bool truth)
{
    begin_value(writer, key);
    fputs_unlocked(truth ? "true" : "false", writer->output);
}

void json_null(struct json_writer *writer, const char *key)
{
    begin_value(writer, key);
    fputs_unlocked("null", writer->output);
}
