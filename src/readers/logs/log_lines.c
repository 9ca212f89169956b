/* Cuts a text that comes window by window into lines, without colours and what was overwritten. */
#include "readers/logs/log_lines.h"

#include "base/core/array.h"

#include <stdlib.h>
#include <string.h>

static const char escape = '\x1b';

/* Behind an escape sequence that `at` stands on: "\x1b[31m", "\x1b]0;title\a", "\x1b(B". */
static const char *behind_escape(const char *at, const char *end)
{
    if (++at >= end)
        return at;
    if (*at == '[') {
        for (at++; at < end && (*at < '@' || *at > '~'); at++)
            continue;
        return at < end ? at + 1 : at;
    }
    if (*at == ']') {
        for (at++; at < end && *at != '\a' && *at != escape; at++)
            continue;
        return at < end && *at == '\a' ? at + 1 : at;
    }
    return at + 1 < end && (*at == '(' || *at == ')') ? at + 2 : at + 1;
}

/* Without zero bytes, too: a file that was cut while a process wrote to it has a hole of them. */
static struct log_text without_escapes(struct log_lines *lines, struct log_text line)
{
    size_t length = log_text_length(line), used = 0;

    if (!lines->has_escapes || (!memchr(line.at, escape, length) && !memchr(line.at, '\0', length)))
        return line;
    ARRAY_RESERVE(lines->clean, lines->clean_bytes, length);
    while (line.at < line.end) {
        if (*line.at == escape)
            line.at = behind_escape(line.at, line.end);
        else if (*line.at == '\0')
            line.at++;
        else
            lines->clean[used++] = *line.at++;
    }
    return (struct log_text){lines->clean, lines->clean + used};
}

/* Most logs have none of these: then no line need be searched for them. */
static void look_over(struct log_lines *lines)
{
    const char *text = lines->window.text;
    size_t length = lines->window.length;

    lines->has_returns = length > 0 && memchr(text, '\r', length);
    lines->has_escapes = length > 0 && (memchr(text, escape, length) || memchr(text, '\0', length));
}

/* More text behind what is left of the window; false at the end. */
static bool read_on(struct log_lines *lines)
{
    size_t left = lines->window.length - lines->at;

    if (lines->is_at_end)
        return false;
    lines->is_at_end = !input_stream_next(lines->input, left, &lines->window);
    lines->at = 0;
    look_over(lines);
    return !lines->is_at_end;
}

/* The end of the line that begins at `from`; NULL: not in the window. */
static const char *end_of_line(const struct log_lines *lines, const char *from, size_t length)
{
    const char *feed = memchr(from, '\n', length);
    const char *back =
        lines->has_returns ? memchr(from, '\r', feed ? (size_t)(feed - from) : length) : NULL;

    return back ? back : feed;
}

/* Drops what is left of a line that was cut; false where the end is not in the window. */
static bool skip_line(struct log_lines *lines)
{
    const char *end =
        end_of_line(lines, lines->window.text + lines->at, lines->window.length - lines->at);

    lines->at = end ? (size_t)(end - lines->window.text) + 1 : lines->window.length;
    lines->is_skipping = !end;
    return end != NULL;
}

bool log_lines_next(struct log_lines *lines, struct log_text *line)
{
    for (;;) {
        const char *from, *end;
        size_t length = lines->window.length - lines->at;

        if (!lines->window.text)
            lines->window.text = ""; /* nothing has been read */
        while (length > 0 && lines->window.text[lines->at] == '\0') {
            lines->at++;
            length--;
        }
        from = lines->window.text + lines->at;

        if (lines->is_skipping) {
            if (!skip_line(lines) && !read_on(lines))
                return false;
            continue;
        }
        end = length ? end_of_line(lines, from, length) : NULL;
        if (!end && length >= LOG_LINE_BYTES_MAX) {
            lines->long_lines++;
            lines->is_skipping = true;
            end = from + length;
            lines->at = lines->window.length;
        } else if (end) {
            lines->at += (size_t)(end - from) + 1;
        } else if (read_on(lines)) {
            continue;
        } else {
            from = lines->window.text + lines->at;
            length = lines->window.length - lines->at;
            lines->at = lines->window.length;
            end = from + length;
            if (!length)
                return false;
        }
        *line = without_escapes(lines, (struct log_text){from, end});
        return true;
    }
}

void log_lines_clear(struct log_lines *lines)
{
    free(lines->clean);
    *lines = (struct log_lines){0};
}
