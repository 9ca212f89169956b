/* A pickle of Python as a tree of plain data: numbers, texts, lists and dicts. Nothing in the file
 * is run: whatever asks for a class, a function or an object outside is refused. */
#ifndef FLOPLEDGER_BASE_PICKLE_PICKLE_TREE_H
#define FLOPLEDGER_BASE_PICKLE_PICKLE_TREE_H

#include "base/core/arena.h"
#include "base/core/attributes.h"
#include "base/core/error.h"
#include "base/core/string_pool.h"
#include "base/io/input_rest.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct input_stream; /* base/io/input_stream.h */

enum pickle_kind {
    PICKLE_NOTHING, /* there is no such member */
    PICKLE_NONE,
    PICKLE_BOOLEAN,
    PICKLE_INTEGER,
    PICKLE_REAL,
    PICKLE_TEXT,
    PICKLE_BYTES,
    PICKLE_LIST,
    PICKLE_TUPLE,
    PICKLE_SET,
    PICKLE_DICT,
};

/* Eight bytes, to be passed by value and read with the functions below. A value that stands in
 * several places of the pickle's tree is one and the same here, too, and a list may hold itself: do
 * not walk down without a limit. */
struct pickle_value {
    uint64_t bits;
};

/* A zeroed tree is an empty one. */
struct pickle_tree {
    struct pickle_value root;
    struct string_pool strings;        /* of all texts and bytes; may be moved out */
    struct pickle_sequence *sequences; /* [sequence_count]: lists, tuples, sets, dicts */
    size_t sequence_count;
    uint64_t *wide_numbers; /* [wide_count]: doubles, and integers of more than 60 bits */
    size_t wide_count;
    struct arena arena;           /* what the sequences hold */
    struct pickle_sequence *seen; /* some of them, by what they hold: NULL until there is one */
    struct input_rest rest;       /* what stands behind it in the file */
};

/* Items of a list, tuple or set; of a dict its keys and values in turn. */
struct pickle_items {
    const struct pickle_value *cells; /* [count], of a dict [2 * count] */
    uint32_t count;
};

/* Reads one pickle of protocol 0 to 5; `tree` must be zeroed. Errors (ERROR_INPUT) name the byte
 * of the unpacked input: a pickle that is damaged, cut, or asks for more than plain data. */
MUST_USE bool pickle_tree_read(struct pickle_tree *tree, struct input_stream *input,
                               struct error *error);

/* Reads `length` bytes of JSON; `tree` must be zeroed: objects are dicts, arrays lists, null None.
 * Errors (ERROR_INPUT): no JSON, nested too deep. */
MUST_USE bool pickle_tree_from_json(struct pickle_tree *tree, const char *text, size_t length,
                                    struct error *error);

/* Whether these first bytes of a file may begin a pickle of a list, tuple or dict. */
bool looks_like_pickle(const char *head, size_t length);

enum pickle_kind pickle_kind(struct pickle_value value);

/* "a text", "a list": for messages. */
const char *pickle_kind_name(enum pickle_kind kind);

/* False where it is no integer, or one that does not fit; true and false are 1 and 0. */
MUST_USE bool pickle_integer(const struct pickle_tree *tree, struct pickle_value value,
                             int64_t *integer);
MUST_USE bool pickle_unsigned(const struct pickle_tree *tree, struct pickle_value value,
                              uint64_t *integer);
/* Of a real or an integer; NAN of anything else. */
double pickle_real(const struct pickle_tree *tree, struct pickle_value value);

/* The id in tree->strings of a text or of bytes; 0, the empty text, of anything else. */
uint32_t pickle_text_id(struct pickle_value value);

/* Which list or dict this is: the same number for the same object, below tree->sequence_count. Only
 * for those kinds. */
uint32_t pickle_sequence_id(struct pickle_value value);

/* No items where it is neither list, tuple, set nor dict. */
struct pickle_items pickle_items(const struct pickle_tree *tree, struct pickle_value value);

/* The member of a dict by its key's text; PICKLE_NOTHING where there is none. Of twins the last one
 * counts, as in Python. */
struct pickle_value pickle_named(const struct pickle_tree *tree, struct pickle_value dict,
                                 const char *key);

void pickle_tree_clear(struct pickle_tree *tree);

#endif
