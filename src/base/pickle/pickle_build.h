/* Makes the values of a pickle_tree. Private to the pickle reader. */
#ifndef FLOPLEDGER_BASE_PICKLE_PICKLE_BUILD_H
#define FLOPLEDGER_BASE_PICKLE_PICKLE_BUILD_H

#include "base/pickle/pickle_tree.h"

/* Kind in the low four bits, and what it holds in the other sixty. */
enum pickle_tag {
    TAG_NOTHING,
    TAG_NONE,
    TAG_BOOLEAN,
    TAG_INTEGER,       /* 60 bits, signed */
    TAG_WIDE_POSITIVE, /* an index in wide_numbers */
    TAG_WIDE_NEGATIVE, /* the same, of its magnitude */
    TAG_HUGE,          /* an integer beyond 64 bits */
    TAG_REAL,          /* an index in wide_numbers */
    TAG_TEXT,          /* an id in strings */
    TAG_BYTES,
    TAG_LIST, /* an index in sequences */
    TAG_TUPLE,
    TAG_SET,
    TAG_DICT,
};

struct pickle_sequence {
    struct pickle_value *cells; /* in the arena */
    uint32_t count;
    uint32_t capacity;
};

static inline struct pickle_value pickle_make(enum pickle_tag tag, uint64_t content)
{
    return (struct pickle_value){.bits = (content << 4) | (uint64_t)tag};
}

static inline enum pickle_tag pickle_tag(struct pickle_value value)
{
    return (enum pickle_tag)(value.bits & 15);
}

static inline uint64_t pickle_content(struct pickle_value value)
{
    return value.bits >> 4;
}

struct pickle_value pickle_make_integer(struct pickle_tree *tree, int64_t integer);
/* An integer as pickles write it: `length` bytes of two's complement, the lowest first. */
struct pickle_value pickle_make_long(struct pickle_tree *tree, const unsigned char *bytes,
                                     size_t length);
/* An integer of decimal digits with a sign before or an L behind them; TAG_NOTHING where it is
 * none.
 */
struct pickle_value pickle_make_decimal(struct pickle_tree *tree, const char *digits,
                                        size_t length);
struct pickle_value pickle_make_real(struct pickle_tree *tree, double real);

/* A list, tuple, set or dict without items. */
struct pickle_value pickle_make_sequence(struct pickle_tree *tree, enum pickle_tag tag);
/* Adds cells at its end; false where there would be too many. */
MUST_USE bool pickle_extend(struct pickle_tree *tree, struct pickle_value sequence,
                            const struct pickle_value *cells, size_t count);

#endif
