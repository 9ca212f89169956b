/* Cuts a text that comes window by window into lines, without colours and what was overwritten. */
#ifndef FLOPLEDGER_READERS_LOGS_LOG_LINES_H
#define FLOPLEDGER_READERS_LOGS_LOG_LINES_H

#include "base/io/input_stream.h"
#include "readers/logs/log_text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A line longer than this is cut: it is no line of a log. */
enum { LOG_LINE_BYTES_MAX = 1 << 20 };

/* A zeroed one begins. */
struct log_lines {
    struct input_stream *input;
    struct input_window window;
    size_t at;        /* what is handed out of the window */
    bool is_skipping; /* what is left of a line that was cut */
    bool is_at_end;
    bool has_returns; /* the window has carriage returns */
    bool has_escapes; /* the window has escape sequences or zero bytes */
    int64_t long_lines;
    char *clean; /* the line without escape sequences; owned */
    size_t clean_bytes;
};

/* The next line, valid until the next call; false at the end. Lines end with a line feed, a
 * carriage return or both. */
bool log_lines_next(struct log_lines *lines, struct log_text *line);

void log_lines_clear(struct log_lines *lines);

#endif
