/* proto_walk: numbers of every length and fields in any room, as an encoder written here made them.
 */
#include "base/proto/proto_walk.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Seven bits a byte, the lowest first; all bytes but the last have the highest bit. */
static size_t encode(char *to, uint64_t number)
{
    size_t length = 0;

    for (; number >= 0x80; number >>= 7)
        to[length++] = (char)(number | 0x80);
    to[length++] = (char)number;
    return length;
}

/* What lies behind a number is no part of it, and where nothing lies it is read all the same. */
static void numbers_of_every_length(void **state)
{
    static const uint64_t few[] = {0, 1, 0x7f, 0x80, 0x3fff, 0x4000, UINT32_MAX, INT64_MAX};

    for (unsigned bits = 0; bits <= 64; bits++) {
        uint64_t most = bits == 64 ? UINT64_MAX : ((uint64_t)1 << bits) - 1;

        for (size_t room = 0; room <= 12; room++) {
            for (int fill = 0; fill < 2; fill++) {
                char bytes[24];
                uint64_t wanted = bits < 8 ? few[bits] : most - (most >> 3);
                uint64_t value = 1;
                size_t length;
                const char *at = bytes;

                memset(bytes, fill ? 0xff : 0, sizeof bytes);
                length = encode(bytes, wanted);
                assert_true(proto_varint(&at, bytes + length + room, &value));
                assert_true(value == wanted);
                assert_ptr_equal(at, bytes + length);
                at = bytes;
                assert_false(proto_varint(&at, bytes + length - 1, &value));
                assert_ptr_equal(at, bytes);
            }
        }
    }
}

static void eleven_bytes_are_no_number(void **state)
{
    char bytes[16];
    const char *at = bytes;
    uint64_t value;

    memset(bytes, 0xff, sizeof bytes);
    bytes[10] = 1;
    assert_false(proto_varint(&at, bytes + sizeof bytes, &value));
}

/* Fields of all forms, with numbers and lengths of one byte and more, as they were put in; cut at
 * each byte, those before the cut are the same. */
static void fields_come_as_they_were_put(void **state)
{
    static const uint32_t numbers[] = {1, 15, 16, 3000, 1, 2, 15, 9, 4, 200};
    static const enum proto_form forms[] = {0, 0, 0, 0, 2, 2, 2, 1, 5, 2};
    static const uint64_t values[] = {0, 127, 128, UINT64_MAX, 0, 127, 128, 7, 8, 1};
    enum { COUNT = sizeof numbers / sizeof *numbers };
    char bytes[512];
    size_t ends[COUNT];
    size_t length = 0;

    for (int i = 0; i < COUNT; i++) {
        length += encode(bytes + length, (uint64_t)numbers[i] << 3 | forms[i]);
        if (forms[i] == PROTO_VARINT || forms[i] == PROTO_LENGTH)
            length += encode(bytes + length, values[i]);
        else
            memcpy(bytes + length, &values[i], 8); /* of 4 bytes the rest is written over */
        if (forms[i] == PROTO_LENGTH)
            memset(bytes + length, 'a' + i, values[i]);
        if (forms[i] == PROTO_LENGTH)
            length += values[i];
        else if (forms[i] != PROTO_VARINT)
            length += forms[i] == PROTO_8_BYTES ? 8 : 4;
        ends[i] = length;
    }
    for (size_t cut = 0; cut <= length; cut++) {
        struct proto_walk walk = proto_walk_of((struct proto_bytes){bytes, cut});
        struct proto_field field;
        int i = 0;

        for (; i < COUNT && ends[i] <= cut; i++) {
            assert_true(proto_next(&walk, &field));
            assert_true(proto_is(&field, numbers[i], forms[i]));
            assert_false(field.is_cut);
            assert_true((forms[i] == PROTO_LENGTH ? field.bytes.length : field.value) == values[i]);
            if (forms[i] == PROTO_LENGTH && values[i] > 0)
                assert_int_equal(field.bytes.at[values[i] - 1], 'a' + i);
            assert_ptr_equal(walk.at, bytes + ends[i]);
        }
        if (proto_next(&walk, &field)) {
            assert_true(i < COUNT && field.is_cut && forms[i] == PROTO_LENGTH);
            assert_false(proto_next(&walk, &field));
        }
        assert_int_equal(walk.damaged_at != NULL, i == 0 ? cut > 0 : cut > ends[i - 1]);
    }
}

static void keys_of_no_field_are_damage(void **state)
{
    static const char *const bad[] = {"\x00\x01", "\x07\x01", "\x0b\x01", "\x0c\x01", "\x0e\x01"};

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct proto_walk walk = proto_walk_of((struct proto_bytes){bad[i], 2});
        struct proto_field field;

        assert_false(proto_next(&walk, &field));
        assert_ptr_equal(walk.damaged_at, bad[i]);
        assert_false(proto_next(&walk, &field));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_of_every_length),
        cmocka_unit_test(eleven_bytes_are_no_number),
        cmocka_unit_test(fields_come_as_they_were_put),
        cmocka_unit_test(keys_of_no_field_are_damage),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
