/* string_pool: equal texts have one id, different ones have different ids. */
#include "base/core/hash_mix.h"
#include "base/core/string_pool.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void ids_count_up_from_the_empty_string(void **state)
{
    struct string_pool pool = {0};

    assert_int_equal(string_pool_count(&pool), 1);
    assert_string_equal(string_pool_text(&pool, 0), "");
    assert_int_equal(string_pool_add(&pool, "a", 1), 1);
    assert_int_equal(string_pool_add(&pool, "", 0), 0);
    assert_int_equal(string_pool_add(&pool, "b", 1), 2);
    assert_int_equal(string_pool_add(&pool, "a", 1), 1);
    assert_int_equal(string_pool_count(&pool), 3);
    string_pool_clear(&pool);
    assert_int_equal(string_pool_count(&pool), 1);
}

static void texts_differ_by_every_byte(void **state)
{
    struct string_pool pool = {0};
    char text[40];

    for (size_t length = 1; length <= sizeof text; length++) {
        for (size_t i = 0; i < length; i++) {
            memset(text, 'x', sizeof text);
            text[i] = 'y';
            assert_int_equal(string_pool_find(&pool, text, length), UINT32_MAX);
            string_pool_add(&pool, text, length);
        }
    }
    assert_int_equal(string_pool_count(&pool), 1 + sizeof text * (sizeof text + 1) / 2);
    string_pool_clear(&pool);
}

static void bytes_of_zero_are_bytes(void **state)
{
    struct string_pool pool = {0};
    uint32_t id = string_pool_add(&pool, "a\0b", 3);

    assert_int_not_equal(id, string_pool_add(&pool, "a\0c", 3));
    assert_int_not_equal(id, string_pool_add(&pool, "a", 1));
    assert_int_equal(string_pool_length(&pool, id), 3);
    assert_memory_equal(string_pool_text(&pool, id), "a\0b", 4);
    string_pool_clear(&pool);
}

static void many_texts_stay_where_they_are(void **state)
{
    struct string_pool pool = {0};
    const char *first;
    char text[32];
    static char large[200000];

    memset(large, 'l', sizeof large);
    string_pool_add(&pool, "first", 5);
    first = string_pool_text(&pool, 1);
    assert_int_equal(string_pool_add(&pool, large, sizeof large), 2);
    for (unsigned i = 0; i < 100000; i++) {
        int length = snprintf(text, sizeof text, "name %u", i);

        assert_int_equal(string_pool_add(&pool, text, (size_t)length), i + 3);
    }
    assert_ptr_equal(string_pool_text(&pool, 1), first);
    assert_memory_equal(string_pool_text(&pool, 2), large, sizeof large);
    assert_string_equal(string_pool_text(&pool, 99999 + 3), "name 99999");
    assert_int_equal(string_pool_find(&pool, "name 5", 6), 8);
    string_pool_clear(&pool);
}

/* With the second word as the pool's own constant, nothing of the first is left in a hash that has
 * no secret. */
static void planted_texts_fall_apart(void **state)
{
    struct string_pool pool = {0};
    char text[24] = "12345678\x93\xfd\x59\x66\xb8\xfe\xe8\xd6 the end";

    for (uint32_t i = 0; i < 3000; i++) {
        memcpy(text, &i, sizeof i);
        assert_int_equal(string_pool_add(&pool, text, sizeof text), i + 1);
        if (i < FAR_FROM_ITS_PLACE)
            assert_int_equal(pool.entries[i + 1].hash, pool.entries[1].hash);
    }
    assert_int_not_equal(pool.secret, 0);
    assert_int_not_equal(pool.entries[1].hash, pool.entries[2].hash);
    for (uint32_t i = 0; i < 3000; i++) {
        memcpy(text, &i, sizeof i);
        assert_int_equal(string_pool_find(&pool, text, sizeof text), i + 1);
    }
    assert_int_equal(string_pool_find(&pool, "", 0), 0);
    assert_int_equal(string_pool_count(&pool), 3001);
    string_pool_clear(&pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ids_count_up_from_the_empty_string),
        cmocka_unit_test(texts_differ_by_every_byte),
        cmocka_unit_test(bytes_of_zero_are_bytes),
        cmocka_unit_test(many_texts_stay_where_they_are),
        cmocka_unit_test(planted_texts_fall_apart),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
