/* What is looked for by rows of bytes, against a walk byte by byte: included by one file for each
 * way, which says its name as CHECK_BYTE_ROWS. */
#include "base/json/json_rows.h"
#include "base/json/json_scan.h"
#include "readers/torch_profiler/torch_profiler_layout.h"
#include "support_byte_rows.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum { TEXTS = 30000, TEXT_BYTES = 192, BEHIND = 64 };

struct random_text {
    char bytes[TEXT_BYTES + BEHIND];
    uint64_t seed;
};

static unsigned random_below(struct random_text *text, unsigned limit)
{
    text->seed = text->seed * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(text->seed >> 33) % limit;
}

/* Any bytes, or mostly one kind with few of another: long runs come, too. */
static void random_fill(struct random_text *text)
{
    static const char *const kinds[] = {"\"\\[]{}az", "0123456789", " \n\t\r", "<>&\x7f\x80 ~"};
    const char *kind = kinds[random_below(text, 4)];
    unsigned rare = 1 + random_below(text, 60);

    for (size_t i = 0; i < TEXT_BYTES; i++) {
        unsigned byte = random_below(text, 256);

        if (random_below(text, rare))
            byte = (unsigned char)kind[random_below(text, (unsigned)strlen(kind))];
        text->bytes[i] = (char)byte;
    }
    memset(text->bytes + TEXT_BYTES, 0, BEHIND);
}

static bool is_among(char c, const char *some)
{
    return c && strchr(some, c);
}

static void check_rows(const char *at, char c)
{
    byte_row hits = row_equal(row_load(at), c);
    unsigned first = 0, first_miss = 0;

    while (first < 16 && at[first] != c)
        first++;
    while (first_miss < 16 && at[first_miss] == c)
        first_miss++;
    assert_int_equal(row_find(hits) ? row_first(row_find(hits)) : 16, first);
    assert_int_equal(row_first_miss(hits), first_miss);
    assert_int_equal(row_find_misses(hits) ? row_first(row_find_misses(hits)) : 16, first_miss);
}

static void check_bits(const char *at, const char *other, char a, char b)
{
    uint64_t bits = 0, with_bit = 0;
    uint32_t same = 0;
    unsigned either = 0;

    for (unsigned i = 0; i < 64; i++) {
        bits |= (uint64_t)(at[i] == a) << i;
        with_bit |= (uint64_t)((at[i] | 0x20) == a) << i;
    }
    for (unsigned i = 0; i < 32; i++)
        same |= (uint32_t)(at[i] == other[i]) << i;
    while (either < WIDE_BYTES && at[either] != a && at[either] != b)
        either++;
    assert_true(find_in_64(at, 0, a) == bits);
    assert_true(find_in_64(at, 0x20, a) == with_bit);
    assert_int_equal(is_in_64(at, a), bits != 0);
    assert_int_equal(same_of_32(at, other), same);
    assert_int_equal(find_either(at, a, b) ? row_first(find_either(at, a, b)) : WIDE_BYTES, either);
}

/* As find_closing_by_rows does it: quotes change sides, and brackets between them do not count. */
static const char *closing_of(const char *at, const char *limit)
{
    bool is_in_string = false;
    size_t depth = 0;

    for (const char *block = at; block < limit; block += 64) {
        if (memchr(block, '\\', 64))
            return NULL;
        for (const char *c = block; c < block + 64; c++) {
            is_in_string ^= *c == '"';
            if (!is_in_string && is_among(*c, "[{"))
                depth++;
            if (!is_in_string && is_among(*c, "]}") && --depth == 0)
                return c + 1;
        }
    }
    return NULL;
}

static size_t first_marked(const char *text, size_t length, bool is_in_markup)
{
    size_t at = 0;

    while (at < length && text[at] >= ' ' && text[at] < 0x7f && !is_among(text[at], "\"\\") &&
           !(is_in_markup && is_among(text[at], "<>&")))
        at++;
    return at;
}

static void check_texts(struct random_text *text, const char *at)
{
    const char *limit = text->bytes + TEXT_BYTES;
    const char *space = at, *bracket = at;
    size_t length = (size_t)(limit - at);
    bool is_in_markup = random_below(text, 2);

    while ((unsigned char)(*space - 1) < ' ')
        space++;
    while (bracket < limit && !is_among(*bracket, "\"[]{}"))
        bracket++;
    assert_ptr_equal(skip_space(at), space);
    assert_true(bracket == limit ? find_bracket_or_quote(at, limit) >= limit
                                 : find_bracket_or_quote(at, limit) == bracket);
    if (is_among(*at, "[{"))
        assert_ptr_equal(find_closing_by_rows(at, limit), closing_of(at, limit));
    assert_int_equal(plain_sixteens(at, length, is_in_markup),
                     length < 16 ? 0 : first_marked(at, length, is_in_markup));
}

static void check_values(struct random_text *text, const char *at)
{
    struct json_scan scan = {.limit = text->bytes + TEXT_BYTES};
    struct json_slice slice;
    const char *end = at, *found = scan_string(&scan, at, &slice);
    uint64_t value = 0, read;
    unsigned digits = 0, count;

    while (end < scan.limit && !is_among(*end, "\"\\"))
        end++;
    if (*end == '"')
        assert_true(found == end + 1 && slice.text == at && slice.length == end - at);
    else if (found)
        assert_true(*end == '\\' && slice.has_escapes);
    for (; digits < 16 && at[digits] >= '0' && at[digits] <= '9'; digits++)
        value = value * 10 + (uint64_t)(at[digits] - '0');
    assert_ptr_equal(scan_digits(at, &read, &count), at + digits);
    assert_true(count == digits && read == value);
}

static void check_joints(struct random_text *text, const char *at)
{
    unsigned length = 1 + random_below(text, JOINT_BYTES_MAX);
    struct layout_joint joint = {.length = (uint8_t)length, .bytes = UINT64_MAX >> (64 - length)};

    memcpy(joint.text, at, length);
    assert_true(layout_joint_is_at(&joint, at));
    joint.text[random_below(text, length)] ^= (char)(1 << random_below(text, 8));
    assert_false(layout_joint_is_at(&joint, at));
}

void CHECK_BYTE_ROWS(void)
{
    struct random_text *text = calloc(1, sizeof *text);

    for (int i = 0; i < TEXTS; i++) {
        const char *at = text->bytes + i % 64;
        const char *other = text->bytes + random_below(text, TEXT_BYTES - 64);

        random_fill(text);
        check_rows(at, *other);
        check_bits(at, other, *other, '"');
        check_texts(text, at);
        check_values(text, at);
        check_joints(text, at);
    }
    free(text);
}
