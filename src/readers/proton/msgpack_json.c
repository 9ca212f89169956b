/* Values of MessagePack, and the same values as JSON. */
#include "readers/proton/msgpack_json.h"

#include "base/core/array.h"
#include "base/io/input_padding.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LISTS_DEEP_MAX = 16 };

/* ---- tokens ---------------------------------------------------------------------------------- */

/* At least so many bytes in the window; false where the input ends before. */
static bool msgpack_has(struct json_window *window, uint64_t bytes)
{
    while ((uint64_t)(window->scan.limit - window->at) < bytes)
        if (!json_window_grow(window))
            return false;
    return true;
}

/* As all of MessagePack's numbers are, whatever the machine. */
static uint64_t big_endian(const char *at, size_t bytes)
{
    uint64_t number = 0;

    for (size_t i = 0; i < bytes; i++)
        number = number << 8 | (unsigned char)at[i];
    return number;
}

/* Of the first bytes 0xc0 to 0xdf: what follows, and in how many bytes its number or length does.
 * Binary data, of which JSON has none, are texts here. */
static const struct {
    uint8_t kind;
    uint8_t bytes;
} forms[] = {
    {MSGPACK_NULL, 0},    {MSGPACK_NONE, 0},    {MSGPACK_FALSE, 0},   {MSGPACK_TRUE, 0},
    {MSGPACK_TEXT, 1},    {MSGPACK_TEXT, 2},    {MSGPACK_TEXT, 4},    {MSGPACK_NONE, 0},
    {MSGPACK_NONE, 0},    {MSGPACK_NONE, 0},    {MSGPACK_REAL, 4},    {MSGPACK_REAL, 8},
    {MSGPACK_NATURAL, 1}, {MSGPACK_NATURAL, 2}, {MSGPACK_NATURAL, 4}, {MSGPACK_NATURAL, 8},
    {MSGPACK_INTEGER, 1}, {MSGPACK_INTEGER, 2}, {MSGPACK_INTEGER, 4}, {MSGPACK_INTEGER, 8},
    {MSGPACK_NONE, 0},    {MSGPACK_NONE, 0},    {MSGPACK_NONE, 0},    {MSGPACK_NONE, 0},
    {MSGPACK_NONE, 0},    {MSGPACK_TEXT, 1},    {MSGPACK_TEXT, 2},    {MSGPACK_TEXT, 4},
    {MSGPACK_ARRAY, 2},   {MSGPACK_ARRAY, 4},   {MSGPACK_MAP, 2},     {MSGPACK_MAP, 4},
};

/* The first byte holds small numbers and lengths itself. Returns how many bytes follow it. */
static size_t read_first_byte(struct msgpack_token *token, unsigned char first)
{
    if (first < 0x80) {
        *token = (struct msgpack_token){.kind = MSGPACK_NATURAL, .number = first};
    } else if (first < 0x90) {
        *token = (struct msgpack_token){.kind = MSGPACK_MAP, .number = first & 0x0f};
    } else if (first < 0xa0) {
        *token = (struct msgpack_token){.kind = MSGPACK_ARRAY, .number = first & 0x0f};
    } else if (first < 0xc0) {
        *token = (struct msgpack_token){.kind = MSGPACK_TEXT, .number = first & 0x1f};
    } else if (first >= 0xe0) {
        *token = (struct msgpack_token){.kind = MSGPACK_INTEGER, .number = first | ~UINT64_C(0xff)};
    } else {
        *token = (struct msgpack_token){.kind = (enum msgpack_kind)forms[first - 0xc0].kind};
        return forms[first - 0xc0].bytes;
    }
    return 0;
}

/* Of a number its value, of a text or a list its length. A real number has the bits of IEEE 754 in
 * four or eight bytes, which Proton chooses between by nothing but the type in its program. */
static void read_msgpack_number(struct msgpack_token *token, const char *at, size_t bytes)
{
    uint64_t sign = bytes > 0 ? UINT64_C(1) << (8 * (unsigned)bytes - 1) : 0;
    uint64_t number = big_endian(at, bytes);
    uint32_t half = (uint32_t)number;
    float single;

    token->number = number;
    if (token->kind == MSGPACK_INTEGER) { /* its sign goes on */
        token->number = (number ^ sign) - sign;
    } else if (token->kind == MSGPACK_REAL && bytes == sizeof half) {
        memcpy(&single, &half, sizeof single);
        token->real = (double)single;
    } else if (token->kind == MSGPACK_REAL) {
        memcpy(&token->real, &number, sizeof number);
    }
}

/* The window may grow, and so move, for the text: only then is it pointed to. */
bool msgpack_next(struct json_window *window, struct msgpack_token *token)
{
    size_t bytes;

    if (!msgpack_has(window, 1))
        return false;
    bytes = read_first_byte(token, (unsigned char)*window->at);
    if (token->kind == MSGPACK_NONE) {
        scan_fail(&window->scan, window->at, "a number, a text or a list");
        return false;
    }
    if (!msgpack_has(window, 1 + bytes))
        return false;
    if (bytes)
        read_msgpack_number(token, window->at + 1, bytes);
    window->at += 1 + bytes;
    if (token->kind != MSGPACK_TEXT)
        return true;
    if (!msgpack_has(window, token->number))
        return false;
    token->text = window->at;
    window->at += token->number;
    return true;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

/* Room for the padding, too, since scanners of JSON read beyond the end without asking. */
static void append_json(struct msgpack_text *text, const char *bytes, size_t length)
{
    ARRAY_RESERVE(text->text, text->room, text->length + length + INPUT_PADDING);
    memcpy(text->text + text->length, bytes, length);
    text->length += length;
}

/* Bytes above 0x7f are copied as they are: names that are no UTF-8 are found where they are shown.
 */
static void append_json_text(struct msgpack_text *to, const char *text, size_t length)
{
    append_json(to, "\"", 1);
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)text[i];
        char escape[8];

        if (c < ' ' || c == '"' || c == '\\')
            append_json(to, escape,
                        (size_t)snprintf(escape, sizeof escape, c < ' ' ? "\\u%04x" : "\\%c", c));
        else
            append_json(to, &text[i], 1);
    }
    append_json(to, "\"", 1);
}

/* JSON has no infinity. */
static void append_token(struct msgpack_text *to, const struct msgpack_token *token)
{
    char text[40] = "null";

    switch (token->kind) {
    case MSGPACK_TEXT:
        append_json_text(to, token->text, token->number);
        return;
    case MSGPACK_ARRAY:
    case MSGPACK_MAP:
        append_json(to, token->kind == MSGPACK_MAP ? "{" : "[", 1);
        return;
    case MSGPACK_FALSE:
    case MSGPACK_TRUE:
        (void)snprintf(text, sizeof text, token->kind == MSGPACK_TRUE ? "true" : "false");
        break;
    case MSGPACK_NATURAL:
        (void)snprintf(text, sizeof text, "%" PRIu64, token->number);
        break;
    case MSGPACK_INTEGER:
        (void)snprintf(text, sizeof text, "%" PRId64, (int64_t)token->number);
        break;
    case MSGPACK_REAL:
        if (isfinite(token->real))
            (void)snprintf(text, sizeof text, "%.17g", token->real);
        break;
    case MSGPACK_NULL:
    case MSGPACK_NONE:
        break;
    }
    append_json(to, text, strlen(text));
}

/* Lists that are not yet whole. */
struct open_lists {
    uint64_t left[LISTS_DEEP_MAX]; /* values that are still to come, keys among them */
    bool is_map[LISTS_DEEP_MAX];
    size_t depth;
};

/* What stands behind a value, for JSON has marks where MessagePack has numbers: what divides it
 * from the next, or the ends of lists. A list without values ends at once, and so may several that
 * it is the last value of. Behind a key stands a colon: keys are the values with an odd number
 * still to come. */
static void append_behind(struct msgpack_text *text, struct open_lists *open)
{
    while (open->depth > 0 && open->left[open->depth - 1] == 0)
        append_json(text, open->is_map[--open->depth] ? "}" : "]", 1);
    if (open->depth == 0)
        return;
    if (text->text[text->length - 1] != '{' && text->text[text->length - 1] != '[')
        append_json(
            text, open->is_map[open->depth - 1] && open->left[open->depth - 1] % 2 ? ":" : ",", 1);
    open->left[open->depth - 1]--;
}

/* Without recursion, as the input may nest as it likes: what is open stands in an array, and what
 * is nested deeper than anything that Proton writes is damage. */
bool msgpack_value(struct json_window *window, struct msgpack_text *text, struct json_slice *value)
{
    struct open_lists open = {.depth = 0};
    struct msgpack_token token;

    text->length = 0;
    do {
        if (!msgpack_next(window, &token))
            return false;
        append_token(text, &token);
        if (token.kind == MSGPACK_MAP || token.kind == MSGPACK_ARRAY) {
            if (open.depth == LISTS_DEEP_MAX) {
                scan_fail(&window->scan, window->at, "lists that are nested less deep");
                return false;
            }
            open.is_map[open.depth] = token.kind == MSGPACK_MAP;
            open.left[open.depth++] = token.number << (token.kind == MSGPACK_MAP);
        }
        append_behind(text, &open);
    } while (open.depth > 0);
    memset(text->text + text->length, 0, INPUT_PADDING);
    *value = (struct json_slice){.text = text->text, .length = (uint32_t)text->length};
    return true;
}
