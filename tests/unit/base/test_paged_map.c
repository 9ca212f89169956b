/* paged_map: finds what was set, of ids that lie close together and of others, and keeps the pages
 * apart. */
#include "base/core/paged_map.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void an_id_that_was_not_set_is_not_there(void **state)
{
    struct paged_map map = {0};

    assert_int_equal(paged_map_find(&map, 0), NO_VALUE);
    paged_map_set(&map, 3, 0);
    assert_int_equal(paged_map_find(&map, 3), 0);
    assert_int_equal(paged_map_find(&map, 2), NO_VALUE);
    assert_int_equal(paged_map_find(&map, 3 + PAGED_MAP_PAGE), NO_VALUE);
    paged_map_clear(&map);
}

static void the_last_value_counts(void **state)
{
    struct paged_map map = {0};

    paged_map_set(&map, UINT64_MAX, 5);
    paged_map_set(&map, UINT64_MAX, 6);
    assert_int_equal(paged_map_find(&map, UINT64_MAX), 6);
    assert_int_equal(map.count, 1);
    paged_map_clear(&map);
    assert_int_equal(paged_map_find(&map, UINT64_MAX), NO_VALUE);
}

static void all_ids_are_found(void **state)
{
    struct paged_map map = {0};

    for (uint32_t i = 0; i < 1000; i++) {
        paged_map_set(&map, i, i);
        paged_map_set(&map, (uint64_t)(i + 1) << 32, i + 1000);
    }
    for (uint32_t i = 0; i < 1000; i++) {
        assert_int_equal(paged_map_find(&map, i), i);
        assert_int_equal(paged_map_find(&map, (uint64_t)(i + 1) << 32), i + 1000);
    }
    assert_int_equal(map.count, (1000 + PAGED_MAP_PAGE - 1) / PAGED_MAP_PAGE + 1000);
    paged_map_clear(&map);
}

/* In the order of setting, in the other one, and by leaps; ids between, before and behind those
 * that were set are not there. */
static void ids_are_found_in_any_order(void **state)
{
    static const uint64_t steps[] = {1, 2047, 389};
    const uint64_t first = (uint64_t)1 << 20;
    struct paged_map map = {0};

    for (uint32_t set = 0; set < 3; set++) {
        for (uint64_t i = 0; i < 2048; i++)
            paged_map_set(&map, first + 3 * (i * steps[set] % 2048),
                          (uint32_t)(i * steps[set]) + set);
        for (size_t asked = 0; asked < 3; asked++)
            for (uint64_t i = 0; i < 2048; i++) {
                const uint64_t k = i * steps[asked] % 2048;
                const uint32_t found = paged_map_find(&map, first + 3 * k);

                assert_int_equal((found - set) % 2048, k);
                assert_int_equal(paged_map_find(&map, first + 3 * k + 1), NO_VALUE);
                assert_int_equal(paged_map_find(&map, (uint64_t)0 - i), NO_VALUE);
                assert_int_equal(paged_map_find(&map, i * 512), NO_VALUE);
            }
    }
    assert_int_equal(map.count, 2048 * 3 / PAGED_MAP_PAGE);
    paged_map_clear(&map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_id_that_was_not_set_is_not_there),
        cmocka_unit_test(the_last_value_counts),
        cmocka_unit_test(all_ids_are_found),
        cmocka_unit_test(ids_are_found_in_any_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
