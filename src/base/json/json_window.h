/* A place in a long JSON text, of which a window is in memory. */
#ifndef FLOPLEDGER_BASE_JSON_JSON_WINDOW_H
#define FLOPLEDGER_BASE_JSON_JSON_WINDOW_H

#include "base/io/input_stream.h"
#include "base/json/json_scan.h"

/* No event and no value of the header is longer. */
enum { JSON_VALUE_BYTES_MAX = 64 << 20 };

struct json_window {
    struct input_stream *input; /* not owned */
    struct json_scan scan;      /* its limit is the end of the window */
    const char *at;             /* the place */
    const char *start;          /* of the window */
    int64_t start_byte;         /* offset of `start` in the text */
    bool is_last;               /* nothing comes after the window, or nothing more is read: */
    bool is_too_long;           /* what begins at the place is longer than a value may be */
};

void json_window_init(struct json_window *window, struct input_stream *input, int64_t start_byte);

/* Makes the window longer; `at` moves with the text. False at the end of the input,
 * and where what begins at the place is too long. */
bool json_window_grow(struct json_window *window);

/* json_window_peek where the white space may go on behind the window. */
char json_window_peek_behind(struct json_window *window);

/* Skips white space; the character at the place, 0 at the end of the input. */
static inline char json_window_peek(struct json_window *window)
{
    window->at = scan_space(window->at);
    return window->at < window->scan.limit ? *window->at : json_window_peek_behind(window);
}

static inline int64_t json_window_byte(const struct json_window *window, const char *at)
{
    return window->start_byte + (at - window->start);
}

/* The key and the value of a member, or the value alone, made complete in the window, which is
 * grown as far as needed; false where it is malformed or the input ends (scan_is_incomplete tells).
 * The place moves behind it. */
bool json_window_key(struct json_window *window, struct json_slice *key);
bool json_window_value(struct json_window *window, struct json_slice *value);

/* Moves the place to where `text` (shorter than 64 bytes) stands next; false where it does not, and
 * the input is at its end. */
bool json_window_find(struct json_window *window, const char *text);

/* Moves the place behind a value of any length, in bounded memory; false where the input ends in it
 * or there is none. */
bool json_window_skip(struct json_window *window);

#endif
