/* index_table: each thing once, also where all have one hash, and at growth. */
#include "base/core/hash_mix.h"
#include "base/core/index_table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { THING_COUNT = 3000 };

/* Adds each number twice; the second time it is known. */
static void keep_each_once(uint32_t (*hash)(int number))
{
    int things[THING_COUNT];
    uint32_t count = 0;
    struct index_table table = {0};

    for (int turn = 0; turn < 2; turn++) {
        for (int number = 0; number < THING_COUNT; number++) {
            uint32_t known = INDEX_TABLE_FIND(&table, hash(number), i, things[i] == number);

            assert_int_equal(known, turn == 0 ? NO_INDEX : (uint32_t)number);
            if (known == NO_INDEX) {
                things[count] = number;
                index_table_add(&table, hash(number), count++);
            }
        }
    }
    assert_int_equal(table.count, THING_COUNT);
    index_table_clear(&table);
}

static uint32_t mixed(int number)
{
    return (uint32_t)(hash_mix((uint64_t)number, HASH_MULTIPLIER) >> 16);
}

static uint32_t one_of_four(int number)
{
    return UINT32_MAX - (uint32_t)number % 4;
}

static void things_are_kept_once(void **state)
{
    keep_each_once(mixed);
}

static void things_of_one_hash_are_told_apart(void **state)
{
    keep_each_once(one_of_four);
}

static void an_empty_table_holds_nothing(void **state)
{
    struct index_table table = {0};

    assert_int_equal(INDEX_TABLE_FIND(&table, 5, i, i < 1000), NO_INDEX);
    index_table_clear(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(things_are_kept_once),
        cmocka_unit_test(things_of_one_hash_are_told_apart),
        cmocka_unit_test(an_empty_table_holds_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
