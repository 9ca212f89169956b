/* The hash of a content: every bit of it, its length and what stands before it count. */
#include "base/core/content_hash.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const struct content_hash secret = {{26, 2026}};

static void every_bit_counts(void **state)
{
    unsigned char bytes[200];

    memset(bytes, 'a', sizeof bytes);
    for (size_t length = 1; length <= sizeof bytes; length += 33) {
        struct content_hash before = content_hash_of(bytes, length, secret);

        for (size_t bit = 0; bit < 8 * length; bit++) {
            bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
            assert_false(content_hash_equals(content_hash_of(bytes, length, secret), before));
            bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
        }
        assert_true(content_hash_equals(content_hash_of(bytes, length, secret), before));
    }
}

static void the_length_counts(void **state)
{
    static const unsigned char zeros[300];

    for (size_t a = 0; a < sizeof zeros; a++)
        assert_false(content_hash_equals(content_hash_of(zeros, a, secret),
                                         content_hash_of(zeros, a + 1, secret)));
}

static void what_stands_before_counts(void **state)
{
    struct content_hash other = secret;
    struct content_hash hash = content_hash_of("abc", 3, secret);

    for (int word = 0; word < 2; word++)
        for (int bit = 0; bit < 64; bit++) {
            other.words[word] ^= (uint64_t)1 << bit;
            assert_false(content_hash_equals(content_hash_of("abc", 3, other), hash));
            other.words[word] ^= (uint64_t)1 << bit;
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_bit_counts),
        cmocka_unit_test(the_length_counts),
        cmocka_unit_test(what_stands_before_counts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
