/* Walks over the members of an object or the elements of an array that is complete in memory. */
#ifndef FLOPLEDGER_BASE_JSON_JSON_WALK_H
#define FLOPLEDGER_BASE_JSON_JSON_WALK_H

#include "base/json/json_scan.h"

#include <stdbool.h>
#include <stdint.h>

struct json_walk {
    struct json_scan scan;
    const char *at; /* NULL: at its end */
    bool is_object;
};

/* `bracket` is '{' or '['; a value of another kind has nothing in it. */
struct json_walk json_walk_begin(const struct json_slice *value, char bracket);

/* The next one; `key` is set for members only. False at the end, and where it is malformed. */
bool json_walk_next(struct json_walk *walk, struct json_slice *key, struct json_slice *value);

/* The integer that a value is; `if_none` where it is none. */
int64_t json_walk_integer(const struct json_slice *value, int64_t if_none);

#endif
