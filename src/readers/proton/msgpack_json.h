/* Values of MessagePack, and the same values as JSON. */
#ifndef FLOPLEDGER_READERS_PROTON_MSGPACK_JSON_H
#define FLOPLEDGER_READERS_PROTON_MSGPACK_JSON_H

#include "base/core/attributes.h"
#include "base/json/json_scan.h"
#include "base/json/json_window.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum msgpack_kind {
    MSGPACK_NONE, /* no value that has a place in JSON */
    MSGPACK_NULL,
    MSGPACK_FALSE,
    MSGPACK_TRUE,
    MSGPACK_NATURAL,
    MSGPACK_INTEGER,
    MSGPACK_REAL,
    MSGPACK_TEXT,
    MSGPACK_ARRAY,
    MSGPACK_MAP,
};

/* A number or a text, or the beginning of a list, whose values follow. */
struct msgpack_token {
    enum msgpack_kind kind;
    uint64_t number;  /* the natural number; the integer; bytes of a text; values, or pairs */
    double real;      /* of MSGPACK_REAL */
    const char *text; /* lasts until the window grows */
};

/* JSON with padding behind it; zeroed is empty, and `text` is to be freed. */
struct msgpack_text {
    char *text;
    size_t length;
    size_t room;
};

/* Moves on behind the token. False, and the window's scan tells where and why, where the input ends
 * before, or where no token stands that JSON has. */
MUST_USE bool msgpack_next(struct json_window *window, struct msgpack_token *token);

/* The next value as JSON, in `text`, which is overwritten. False as above. */
MUST_USE bool msgpack_value(struct json_window *window, struct msgpack_text *text,
                            struct json_slice *value);

#endif
