/* hash_map: finds what was added, under many keys and at growth. */
#include "base/core/hash_map.h"
#include "base/core/hash_mix.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void an_empty_map_holds_nothing(void **state)
{
    struct hash_map map = {0};

    assert_int_equal(hash_map_find(&map, 0), NO_VALUE);
    assert_int_equal(hash_map_find(&map, 7), NO_VALUE);
    hash_map_clear(&map);
}

static void the_first_value_of_a_key_stays(void **state)
{
    struct hash_map map = {0};

    assert_int_equal(hash_map_add(&map, pair_key(3, 4), 11), 11);
    assert_int_equal(hash_map_add(&map, pair_key(3, 4), 12), 11);
    assert_int_equal(hash_map_add(&map, pair_key(4, 3), 12), 12);
    assert_int_equal(hash_map_find(&map, pair_key(3, 4)), 11);
    assert_int_equal(map.count, 2);
    hash_map_clear(&map);
    assert_int_equal(hash_map_find(&map, pair_key(3, 4)), NO_VALUE);
}

static void what_it_holds_stays_when_room_is_made(void **state)
{
    struct hash_map map = {0};

    hash_map_reserve(&map, 5);
    for (uint32_t i = 0; i < 100; i++)
        hash_map_add(&map, UINT64_MAX - i, i);
    hash_map_reserve(&map, 10000);
    assert_true(hash_map_is_larger(10000, map.slot_count - 1, sizeof *map.slots));
    assert_false(hash_map_is_larger(10000, 2 * map.slot_count, sizeof *map.slots));
    hash_map_reserve(&map, 10);
    assert_int_equal(map.count, 100);
    for (uint32_t i = 0; i < 100; i++)
        assert_int_equal(hash_map_find(&map, UINT64_MAX - i), i);
    hash_map_clear(&map);
}

static void a_value_can_be_set_anew(void **state)
{
    struct hash_map map = {0};

    assert_int_equal(hash_map_set(&map, 5, 1), NO_VALUE);
    assert_int_equal(hash_map_set(&map, 5, 2), 1);
    assert_int_equal(hash_map_find(&map, 5), 2);
    assert_int_equal(map.count, 1);
    hash_map_clear(&map);
}

static void many_keys_are_all_found(void **state)
{
    struct hash_map map = {0};

    /* keys that differ in their high bits only, and neighbours */
    for (uint32_t i = 0; i < 5000; i++) {
        assert_int_equal(hash_map_add(&map, (uint64_t)i << 40, i), i);
        assert_int_equal(hash_map_add(&map, i + 1, i + 5000), i + 5000);
    }
    assert_int_equal(map.count, 10000);
    for (uint32_t i = 0; i < 5000; i++) {
        assert_int_equal(hash_map_find(&map, (uint64_t)i << 40), i);
        assert_int_equal(hash_map_find(&map, i + 1), i + 5000);
    }
    assert_int_equal(hash_map_find(&map, 5001), NO_VALUE);
    hash_map_clear(&map);
}

/* The next key from `key` on that falls, as all others of it, on the first slots of a table. */
static uint64_t planted_from(uint64_t key)
{
    while ((hash_mix(key, HASH_MULTIPLIER) & 0xfff) != 0)
        key++;
    return key;
}

static void planted_keys_fall_apart(void **state)
{
    struct hash_map map = {0};
    uint64_t keys[2 * FAR_FROM_ITS_PLACE];
    uint64_t key = 0;
    uint64_t secret;

    for (uint32_t i = 0; i < 2 * FAR_FROM_ITS_PLACE; i++) {
        key = keys[i] = planted_from(key + 1);
        assert_int_equal(hash_map_add(&map, key, i), i);
        if (i < FAR_FROM_ITS_PLACE)
            assert_int_equal(map.secret, 0); /* few may fall on one place by chance */
    }
    secret = map.secret;
    assert_int_not_equal(secret, 0);
    for (uint32_t i = 0; i < 2 * FAR_FROM_ITS_PLACE; i++)
        assert_int_equal(hash_map_find(&map, keys[i]), i);
    for (uint32_t i = 0; i < 5000; i++)
        hash_map_add(&map, UINT64_MAX - i, i);
    assert_int_equal(map.secret, secret); /* it stays, and is enough */
    assert_int_equal(map.count, 2 * FAR_FROM_ITS_PLACE + 5000);
    hash_map_clear(&map);
}

static void an_array_is_larger_of_numbers_far_apart(void **state)
{
    const size_t map_bytes = (size_t)2048 * sizeof(struct hash_map_slot) + 4096;

    (void)state;
    assert_true(hash_map_is_larger(1000, 999, 4));
    assert_true(hash_map_is_larger(1000, map_bytes / 4 - 1, 4));
    assert_false(hash_map_is_larger(1000, map_bytes / 4, 4));
    assert_false(hash_map_is_larger(1000, map_bytes / 4 - 1, 8));
    assert_false(hash_map_is_larger(1000, UINT64_MAX, 4));
    assert_false(hash_map_is_larger(1000, ((uint64_t)1 << 62) - 1, 4));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_map_holds_nothing),
        cmocka_unit_test(the_first_value_of_a_key_stays),
        cmocka_unit_test(what_it_holds_stays_when_room_is_made),
        cmocka_unit_test(a_value_can_be_set_anew),
        cmocka_unit_test(many_keys_are_all_found),
        cmocka_unit_test(planted_keys_fall_apart),
        cmocka_unit_test(an_array_is_larger_of_numbers_far_apart),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
