/* The values of a pickle: eight bytes each, the larger ones in tables. */
#include "base/core/array.h"
#include "base/core/hash_mix.h"
#include "base/core/invariant.h"
#include "base/pickle/pickle_build.h"
#include "base/pickle/pickle_tree.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TAG_COUNT ((unsigned)TAG_DICT + 1)

static const enum pickle_kind kinds[TAG_COUNT] = {
    [TAG_NOTHING] = PICKLE_NOTHING,
    [TAG_NONE] = PICKLE_NONE,
    [TAG_BOOLEAN] = PICKLE_BOOLEAN,
    [TAG_INTEGER] = PICKLE_INTEGER,
    [TAG_WIDE_POSITIVE] = PICKLE_INTEGER,
    [TAG_WIDE_NEGATIVE] = PICKLE_INTEGER,
    [TAG_HUGE] = PICKLE_INTEGER,
    [TAG_REAL] = PICKLE_REAL,
    [TAG_TEXT] = PICKLE_TEXT,
    [TAG_BYTES] = PICKLE_BYTES,
    [TAG_LIST] = PICKLE_LIST,
    [TAG_TUPLE] = PICKLE_TUPLE,
    [TAG_SET] = PICKLE_SET,
    [TAG_DICT] = PICKLE_DICT,
};

enum pickle_kind pickle_kind(struct pickle_value value)
{
    return (unsigned)pickle_tag(value) < TAG_COUNT ? kinds[pickle_tag(value)] : PICKLE_NOTHING;
}

/* With articles and in Python's words: they stand in messages, "expected a dict". */
const char *pickle_kind_name(enum pickle_kind kind)
{
    static const char *const names[] = {
        [PICKLE_NOTHING] = "nothing",    [PICKLE_NONE] = "None",
        [PICKLE_BOOLEAN] = "a boolean",  [PICKLE_INTEGER] = "an integer",
        [PICKLE_REAL] = "a real number", [PICKLE_TEXT] = "a text",
        [PICKLE_BYTES] = "bytes",        [PICKLE_LIST] = "a list",
        [PICKLE_TUPLE] = "a tuple",      [PICKLE_SET] = "a set",
        [PICKLE_DICT] = "a dict",
    };

    return names[kind];
}

/* ---- making them ---- */

static uint64_t add_wide(struct pickle_tree *tree, uint64_t bits)
{
    ARRAY_ROOM(tree->wide_numbers, tree->wide_count);
    tree->wide_numbers[tree->wide_count] = bits;
    return tree->wide_count++;
}

/* 60 bits beside the tag hold nearly every integer; larger ones have a place in a table. Sign
 * and magnitude, so that both 2^64 - 1 and -2^63 can be told. */
static struct pickle_value make_magnitude(struct pickle_tree *tree, uint64_t magnitude,
                                          bool is_negative)
{
    if (magnitude < (uint64_t)1 << 59)
        return pickle_make(TAG_INTEGER, is_negative ? 0 - magnitude : magnitude);
    return pickle_make(is_negative ? TAG_WIDE_NEGATIVE : TAG_WIDE_POSITIVE,
                       add_wide(tree, magnitude));
}

struct pickle_value pickle_make_integer(struct pickle_tree *tree, int64_t integer)
{
    return make_magnitude(tree, integer < 0 ? 0 - (uint64_t)integer : (uint64_t)integer,
                          integer < 0);
}

/* Two's complement, the low byte first: bytes beyond the eighth have to be the sign only, or
 * it is more than 64 bits. */
struct pickle_value pickle_make_long(struct pickle_tree *tree, const unsigned char *bytes,
                                     size_t length)
{
    bool is_negative = length > 0 && bytes[length - 1] >= 0x80;
    unsigned char filler = is_negative ? 0xff : 0;
    uint64_t low = is_negative ? UINT64_MAX : 0;

    for (size_t i = 8; i < length; i++)
        if (bytes[i] != filler)
            return pickle_make(TAG_HUGE, 0);
    for (size_t i = length < 8 ? length : 8; i > 0; i--)
        low = (low << 8) | bytes[i - 1];
    if (is_negative && low == 0) /* -2^64 */
        return pickle_make(TAG_HUGE, 0);
    return make_magnitude(tree, is_negative ? 0 - low : low, is_negative);
}

/* Numbers of Python have no limit: one beyond 64 bits is kept as "huge", since it may stand
 * where nobody asks for it. */
struct pickle_value pickle_make_decimal(struct pickle_tree *tree, const char *digits, size_t length)
{
    bool is_negative = length > 0 && digits[0] == '-';
    uint64_t magnitude = 0;
    bool is_huge = false;

    if (is_negative || (length > 0 && digits[0] == '+')) {
        digits++;
        length--;
    }
    if (length > 0 && digits[length - 1] == 'L')
        length--;
    if (length == 0)
        return pickle_make(TAG_NOTHING, 0);
    for (size_t i = 0; i < length; i++) {
        unsigned digit = (unsigned)(unsigned char)digits[i] - '0';

        if (digit > 9)
            return pickle_make(TAG_NOTHING, 0);
        is_huge = is_huge || __builtin_mul_overflow(magnitude, 10, &magnitude) ||
                  __builtin_add_overflow(magnitude, digit, &magnitude);
    }
    return is_huge ? pickle_make(TAG_HUGE, 0) : make_magnitude(tree, magnitude, is_negative);
}

struct pickle_value pickle_make_real(struct pickle_tree *tree, double real)
{
    uint64_t bits;

    memcpy(&bits, &real, sizeof bits);
    return pickle_make(TAG_REAL, add_wide(tree, bits));
}

struct pickle_value pickle_make_sequence(struct pickle_tree *tree, enum pickle_tag tag)
{
    ARRAY_ROOM(tree->sequences, tree->sequence_count);
    tree->sequences[tree->sequence_count] = (struct pickle_sequence){0};
    return pickle_make(tag, tree->sequence_count++);
}

/* Shorter lists are not worth asking whether their like was seen before. */
enum { SEQUENCES_SEEN = 4096, SEEN_CELLS_MIN = 4 };

/* Where a new list with these cells is kept if a list with the same was made before: stacks of
 * allocations repeat. What it returns has cells, or is to be given some. A snapshot of memory
 * holds millions of stack traces, of which some thousands differ: equal ones share their cells.
 * The table is small and forgets; a miss only costs memory. */
static struct pickle_sequence *seen_sequence(struct pickle_tree *tree,
                                             const struct pickle_value *cells, size_t count)
{
    struct pickle_sequence *seen;
    uint64_t hash = count;

    if (!tree->seen)
        tree->seen = require_memory(calloc(SEQUENCES_SEEN, sizeof *tree->seen));
    for (size_t i = 0; i < count; i++)
        hash = (hash << 5 ^ hash >> 59 ^ cells[i].bits) * HASH_MULTIPLIER;
    seen = &tree->seen[(hash >> 32) % SEQUENCES_SEEN];
    if (seen->count != count || memcmp(seen->cells, cells, count * sizeof *cells) != 0)
        *seen = (struct pickle_sequence){0};
    return seen;
}

/* Cells are copied when they grow: the old ones stay in the arena, which in the whole is no
 * more than the list. Shared cells have no room, so that whoever adds to one copies first. */
bool pickle_extend(struct pickle_tree *tree, struct pickle_value sequence,
                   const struct pickle_value *cells, size_t count)
{
    struct pickle_sequence *to = &tree->sequences[pickle_content(sequence)];

    if (count == 0)
        return true;
    if (count > UINT32_MAX / 2 - to->count)
        return false;
    if (to->count == 0 && count >= SEEN_CELLS_MIN && pickle_tag(sequence) != TAG_DICT) {
        struct pickle_sequence *seen = seen_sequence(tree, cells, count);

        if (!seen->cells) {
            seen->cells = arena_allocate(&tree->arena, count * sizeof *cells);
            memcpy(seen->cells, cells, count * sizeof *cells);
            seen->count = seen->capacity = (uint32_t)count;
        }
        *to = *seen; /* has no room: who adds to it moves away */
        return true;
    }
    if (count > to->capacity - to->count) {
        uint32_t needed = to->count + (uint32_t)count;
        uint32_t capacity = to->count == 0 ? needed : needed + to->count;
        struct pickle_value *larger = arena_allocate(&tree->arena, capacity * sizeof *larger);

        if (to->count)
            memcpy(larger, to->cells, to->count * sizeof *larger);
        to->cells = larger;
        to->capacity = capacity;
    }
    memcpy(to->cells + to->count, cells, count * sizeof *cells);
    to->count += (uint32_t)count;
    return true;
}

/* ---- reading them ---- */

/* Sign and magnitude; false where it is no integer, or beyond 64 bits. */
static bool parse_magnitude(const struct pickle_tree *tree, struct pickle_value value,
                            uint64_t *magnitude, bool *is_negative)
{
    int64_t small;

    *is_negative = false;
    switch (pickle_tag(value)) {
    case TAG_BOOLEAN:
        *magnitude = pickle_content(value);
        return true;
    case TAG_INTEGER:
        small = (int64_t)value.bits >> 4; /* gcc and clang keep the sign */
        *is_negative = small < 0;
        *magnitude = small < 0 ? (uint64_t)-small : (uint64_t)small;
        return true;
    case TAG_WIDE_NEGATIVE:
    case TAG_WIDE_POSITIVE:
        *is_negative = pickle_tag(value) == TAG_WIDE_NEGATIVE;
        *magnitude = tree->wide_numbers[pickle_content(value)];
        return true;
    case TAG_NOTHING:
    case TAG_NONE:
    case TAG_HUGE:
    case TAG_REAL:
    case TAG_TEXT:
    case TAG_BYTES:
    case TAG_LIST:
    case TAG_TUPLE:
    case TAG_SET:
    case TAG_DICT:
        break;
    }
    return false;
}

/* The largest magnitude of a negative number is taken as too large along with the positive
 * one: no field here needs it. */
bool pickle_integer(const struct pickle_tree *tree, struct pickle_value value, int64_t *integer)
{
    uint64_t magnitude;
    bool is_negative;

    if (!parse_magnitude(tree, value, &magnitude, &is_negative))
        return false;
    if (magnitude > (uint64_t)INT64_MAX)
        return false;
    *integer = is_negative ? -(int64_t)magnitude : (int64_t)magnitude;
    return true;
}

/* Addresses go beyond 63 bits. A negative zero is zero. */
bool pickle_unsigned(const struct pickle_tree *tree, struct pickle_value value, uint64_t *integer)
{
    uint64_t magnitude;
    bool is_negative;

    if (!parse_magnitude(tree, value, &magnitude, &is_negative) || (is_negative && magnitude))
        return false;
    *integer = magnitude;
    return true;
}

/* Integers beyond 2^53 are rounded, as a double cannot hold them all; what is no number at all
 * is NaN. */
double pickle_real(const struct pickle_tree *tree, struct pickle_value value)
{
    uint64_t magnitude;
    bool is_negative;
    double real;

    if (pickle_tag(value) == TAG_REAL) {
        memcpy(&real, &tree->wide_numbers[pickle_content(value)], sizeof real);
        return real;
    }
    if (!parse_magnitude(tree, value, &magnitude, &is_negative))
        return (double)NAN;
    return is_negative ? -(double)magnitude : (double)magnitude;
}

uint32_t pickle_text_id(struct pickle_value value)
{
    enum pickle_tag tag = pickle_tag(value);

    return tag == TAG_TEXT || tag == TAG_BYTES ? (uint32_t)pickle_content(value) : 0;
}

static bool is_sequence(struct pickle_value value)
{
    return pickle_tag(value) >= TAG_LIST && pickle_tag(value) <= TAG_DICT;
}

uint32_t pickle_sequence_id(struct pickle_value value)
{
    require_invariant(is_sequence(value), "that only lists and dicts have an identity");
    return (uint32_t)pickle_content(value);
}

/* A dict is a sequence of keys and values in turn, so that it has half as many items as cells. */
struct pickle_items pickle_items(const struct pickle_tree *tree, struct pickle_value value)
{
    const struct pickle_sequence *sequence;

    if (!is_sequence(value))
        return (struct pickle_items){0};
    sequence = &tree->sequences[pickle_content(value)];
    return (struct pickle_items){
        .cells = sequence->cells,
        .count = pickle_tag(value) == TAG_DICT ? sequence->count / 2 : sequence->count,
    };
}

/* From the end: of a key that stands twice Python keeps the last. */
static struct pickle_value pickle_member(const struct pickle_tree *tree, struct pickle_value dict,
                                         uint32_t key)
{
    struct pickle_value wanted = pickle_make(TAG_TEXT, key);
    struct pickle_items items = pickle_items(tree, dict);

    if (pickle_tag(dict) != TAG_DICT)
        return pickle_make(TAG_NOTHING, 0);
    for (size_t i = items.count; i > 0; i--)
        if (items.cells[2 * (i - 1)].bits == wanted.bits)
            return items.cells[2 * (i - 1) + 1];
    return pickle_make(TAG_NOTHING, 0);
}

/* A key that is in no string of the pickle is in no dict either: no search then. */
struct pickle_value pickle_named(const struct pickle_tree *tree, struct pickle_value dict,
                                 const char *key)
{
    uint32_t id = string_pool_find(&tree->strings, key, strlen(key));

    return id == UINT32_MAX ? pickle_make(TAG_NOTHING, 0) : pickle_member(tree, dict, id);
}

void pickle_tree_clear(struct pickle_tree *tree)
{
    if (!tree)
        return;
    string_pool_clear(&tree->strings);
    arena_clear(&tree->arena);
    free(tree->sequences);
    free(tree->seen);
    free(tree->wide_numbers);
    *tree = (struct pickle_tree){0};
}
