/* Small JSON files as a tree: side files and settings, not traces. */
#ifndef FLOPLEDGER_BASE_JSON_JSON_TREE_H
#define FLOPLEDGER_BASE_JSON_JSON_TREE_H

#include "base/core/arena.h"
#include "base/core/attributes.h"
#include "base/core/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* NaN and Infinity, which Python writes, are JSON_NULL too. */
enum json_kind { JSON_NULL, JSON_BOOLEAN, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT };

struct json_node {
    enum json_kind kind;
    bool is_integer;         /* a number without fraction that fits */
    const char *key;         /* as a member of an object; else NULL */
    const char *text;        /* of a string, its escapes resolved; of a number as written */
    int64_t integer;         /* of an integer; 1 and 0 for true and false */
    struct json_node *first; /* of an array or object */
    struct json_node *next;  /* the next one in the array or object */
};

/* `text` is `length` bytes. All lives in `arena`. NULL with `error` set (ERROR_INPUT) where it is
 * no JSON, nested deeper than 1024, or of more than 12
 * Mi values. */
MUST_USE const struct json_node *json_tree_parse(struct arena *arena, const char *text,
                                                 size_t length, struct error *error);

/* The member of that name; NULL where `node` is no object (or NULL) or has none. */
const struct json_node *json_member(const struct json_node *node, const char *key);

/* The text of a string member; `otherwise` where there is none. */
const char *json_text_of(const struct json_node *node, const char *key, const char *otherwise);

/* The number of an integer or boolean member; `otherwise` where there is none. */
int64_t json_integer_of(const struct json_node *node, const char *key, int64_t otherwise);

/* The first thing in an array member; NULL where there is none. */
const struct json_node *json_items_of(const struct json_node *node, const char *key);

#endif
