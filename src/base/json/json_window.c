/* A place in a long JSON text, of which a window is in memory. */
#include "base/json/json_window.h"

#include <string.h>

/* An empty text with padding stands in until there is more: scanners read some bytes beyond
 * the end without asking. */
void json_window_init(struct json_window *window, struct input_stream *input, int64_t start_byte)
{
    static const char nothing[INPUT_PADDING];

    *window = (struct json_window){
        .input = input,
        .at = nothing,
        .start = nothing,
        .start_byte = start_byte,
        .scan.limit = nothing,
    };
}

/* What is not yet taken is kept and read again with more behind it. Asking for twice as much
 * each time makes that linear in the whole. */
bool json_window_grow(struct json_window *window)
{
    size_t keep = (size_t)(window->scan.limit - window->at);
    size_t wanted = keep * 2; /* so that reading a long value again and again stays linear */
    struct input_window next = {0};

    window->is_too_long = window->is_too_long || keep > JSON_VALUE_BYTES_MAX;
    if (window->is_last || window->is_too_long) {
        window->is_last = true;
        window->scan.failed_at = window->scan.limit;
        return false;
    }
    window->start_byte += window->at - window->start;
    do {
        if (!input_stream_next(window->input, keep, &next)) {
            window->is_last = true;
            break;
        }
        keep = next.length;
    } while (next.length < wanted);
    window->start = next.text;
    window->at = next.text;
    window->scan.limit = next.text + next.length;
    window->scan.failed_at = window->scan.limit; /* nothing else is known of the new window */
    return next.length > 0 && !(window->is_last && next.length * 2 == wanted);
}

/* '\0' is the end of the input: no JSON has a zero byte outside of a string. */
char json_window_peek_behind(struct json_window *window)
{
    for (;;) {
        window->at = scan_space(window->at);
        if (window->at < window->scan.limit)
            return *window->at;
        if (!json_window_grow(window))
            return '\0';
    }
}

/* A key that ends at the limit may be cut: only one with something behind it is sure. */
bool json_window_key(struct json_window *window, struct json_slice *key)
{
    for (;;) {
        const char *behind = scan_key(&window->scan, window->at, key);

        if (behind && behind < window->scan.limit) {
            window->at = behind;
            return true;
        }
        if ((!behind && !scan_is_incomplete(&window->scan)) || !json_window_grow(window))
            return false;
    }
}

/* A value that is cut by the window's end is scanned again from its start once there is more. */
bool json_window_value(struct json_window *window, struct json_slice *value)
{
    for (;;) {
        const char *behind = scan_value(&window->scan, window->at, value);

        if (behind) {
            window->at = behind;
            return true;
        }
        if (!scan_is_incomplete(&window->scan) || !json_window_grow(window))
            return false;
    }
}

/* The last bytes stay in the window, as the text may begin in one window and end in the next. */
bool json_window_find(struct json_window *window, const char *text)
{
    size_t length = strlen(text);

    for (;;) {
        size_t left = (size_t)(window->scan.limit - window->at);
        const char *found = memmem(window->at, left, text, length);

        if (found) {
            window->at = found;
            return true;
        }
        if (left >= length)
            window->at = window->scan.limit - (length - 1);
        if (!json_window_grow(window)) {
            window->at = window->scan.limit;
            return false;
        }
    }
}

/* Where in a long value the place is. */
struct skip {
    size_t depth;
    bool is_in_string;
};

/* Moves on to behind the value or to the end of the window; true where the value ends. Without
 * looking into values: depth and whether it is in a string are all that has to be known from one
 * window to the next. */
static bool skip_in_window(struct json_window *window, struct skip *skip)
{
    for (; window->at < window->scan.limit; window->at++) {
        char c = *window->at;

        if (skip->is_in_string && c == '\\') {
            if (window->scan.limit - window->at < 2)
                return false; /* the rest of the escape comes with the next window */
            window->at++;
        } else if (c == '"') {
            skip->is_in_string = !skip->is_in_string;
        } else if (!skip->is_in_string && (c == '[' || c == '{')) {
            skip->depth++;
        } else if (!skip->is_in_string && (c == ']' || c == '}')) {
            skip->depth--;
        }
        if (!skip->is_in_string && skip->depth == 0) {
            window->at++;
            return true;
        }
    }
    return false;
}

/* A value of any length passes through one window: nothing is kept. */
bool json_window_skip(struct json_window *window)
{
    struct skip skip = {0};
    struct json_slice word;
    char c = json_window_peek(window);

    if (c != '"' && c != '[' && c != '{')
        return json_window_value(window, &word);
    while (!skip_in_window(window, &skip)) {
        if (!json_window_grow(window))
            return false;
    }
    return true;
}
