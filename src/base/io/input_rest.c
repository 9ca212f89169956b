/* What stands behind the end of a document in a stream: nothing should. */
#include "base/io/input_rest.h"

#include "base/io/input_stream.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { SHOWN_BYTES = 16 };

/* The part of the rest that was seen so far. */
struct rest {
    int64_t first_byte; /* that is no white space; -1: none yet */
    int64_t end_byte;
    unsigned char shown[SHOWN_BYTES];
    size_t shown_length;
};

static bool input_rest_is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

/* Line ends and blanks behind the end of a file are no content; the first other byte is shown,
 * with some that follow it. */
static void input_rest_look_at(struct rest *rest, const char *text, size_t length)
{
    size_t at = 0;

    if (rest->first_byte < 0) {
        while (at < length && input_rest_is_space(text[at]))
            at++;
        if (at < length)
            rest->first_byte = rest->end_byte + (int64_t)at;
    }
    for (; at < length && rest->shown_length < SHOWN_BYTES; at++)
        rest->shown[rest->shown_length++] = (unsigned char)text[at];
    rest->end_byte += (int64_t)length;
}

/* "{\x00ab" */
static void input_rest_show(char *to, size_t size, const struct rest *rest)
{
    size_t used = 0;

    to[0] = '\0';
    for (size_t i = 0; i < rest->shown_length && used + 5 < size; i++) {
        unsigned char c = rest->shown[i];
        int length = c < ' ' || c > '~' ? snprintf(to + used, size - used, "\\x%02x", c)
                                        : snprintf(to + used, size - used, "%c", c);

        used += length > 0 ? (size_t)length : 0;
    }
}

/* Read to the end, though nothing of it is used: a bad checksum shows there only, and how much
 * is left is part of the message. */
struct input_rest input_read_rest(struct input_stream *input, struct input_left left)
{
    struct input_rest result = {.kind = REST_NOTHING};
    struct rest rest = {.first_byte = -1, .end_byte = left.byte};
    struct input_window window;
    char shown[4 * SHOWN_BYTES + 8];

    input_rest_look_at(&rest, left.text, left.length);
    while (input_stream_next(input, 0, &window))
        input_rest_look_at(&rest, window.text, window.length);
    result.end_byte = rest.end_byte;
    if (input->is_broken || input->is_followed) {
        result.kind = input->is_broken ? REST_BROKEN : REST_FOLLOWED;
        (void)snprintf(result.message, sizeof result.message, "%s", input->breakage);
    } else if (rest.first_byte >= 0) {
        input_rest_show(shown, sizeof shown, &rest);
        result.kind = REST_FOLLOWED;
        (void)snprintf(result.message, sizeof result.message,
                       "%lld bytes from byte %lld on are not read ('%s')",
                       (long long)(rest.end_byte - rest.first_byte), (long long)rest.first_byte,
                       shown);
    }
    return result;
}
