/* bytes: what is added stands there in its order, and numbers take the bytes they need. */
#include "base/core/bytes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void bytes_stand_in_their_order(void **state)
{
    struct bytes bytes = {0};

    bytes_add(&bytes, NULL, 0);
    for (int i = 0; i < 3000; i++)
        bytes_add(&bytes, "abc", 3);
    assert_int_equal(bytes.length, 9000);
    for (size_t i = 0; i < bytes.length; i++)
        assert_int_equal(bytes.bytes[i], "abc"[i % 3]);
    bytes_clear(&bytes);
    assert_null(bytes.bytes);
    bytes_clear(NULL);
}

static void numbers_take_the_bytes_they_need(void **state)
{
    static const struct {
        uint64_t number;
        size_t length;
        unsigned char bytes[VARINT_BYTES_MAX];
    } known[] = {
        {0, 1, {0}},
        {127, 1, {127}},
        {128, 2, {0x80, 1}},
        {300, 2, {0xAC, 2}}, /* the example of Protocol Buffers' own page */
        {UINT64_MAX, 10, {0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1}},
    };

    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        struct bytes bytes = {0};

        bytes_add_varint(&bytes, known[i].number);
        assert_int_equal(bytes.length, known[i].length);
        assert_memory_equal(bytes.bytes, known[i].bytes, known[i].length);
        bytes_clear(&bytes);
    }
}

static void small_ones_of_either_sign_stay_short(void **state)
{
    static const int64_t numbers[] = {0, -1, 1, -2, 63, -64};
    struct bytes bytes = {0};

    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        bytes_add_zigzag(&bytes, numbers[i]);
    assert_int_equal(bytes.length, 6);
    assert_memory_equal(bytes.bytes, "\0\1\2\3\x7E\x7F", 6);
    bytes_add_zigzag(&bytes, INT64_MIN);
    assert_int_equal(bytes.length, 16);
    bytes_clear(&bytes);
}

static void fixed_numbers_begin_with_the_lowest_byte(void **state)
{
    struct bytes bytes = {0};

    bytes_add_fixed(&bytes, 0x0102030405060708, 8);
    bytes_add_fixed(&bytes, 0x11223344, 4);
    assert_int_equal(bytes.length, 12);
    assert_memory_equal(bytes.bytes, "\x08\x07\x06\x05\x04\x03\x02\x01\x44\x33\x22\x11", 12);
    bytes_clear(&bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_stand_in_their_order),
        cmocka_unit_test(numbers_take_the_bytes_they_need),
        cmocka_unit_test(small_ones_of_either_sign_stay_short),
        cmocka_unit_test(fixed_numbers_begin_with_the_lowest_byte),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
