/* Fields of Protocol Buffers, byte by byte; the bytes are those of the encoding's own description.
 */
#include "base/core/bytes.h"
#include "output/exports/protobuf_writer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void assert_bytes(struct bytes *message, const char *bytes, size_t length)
{
    assert_int_equal(message->length, length);
    assert_memory_equal(message->bytes, bytes, length);
    bytes_clear(message);
    assert_null(message->bytes);
}

static void integers_take_seven_bits_a_byte(void **state)
{
    struct bytes message = {0};

    protobuf_integer(&message, 1, 150);
    assert_bytes(&message, "\x08\x96\x01", 3);
    protobuf_integer(&message, 1, 0);
    assert_bytes(&message, "\x08\x00", 2);
    protobuf_integer(&message, 2, -1);
    assert_bytes(&message, "\x10\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01", 11);
    protobuf_integer(&message, 16, 1); /* the key takes two bytes */
    assert_bytes(&message, "\x80\x01\x01", 3);
}

static void texts_and_messages_tell_their_length(void **state)
{
    struct bytes message = {0}, part = {0};

    protobuf_text(&message, 2, "testing");
    assert_bytes(&message, "\x12\x07testing", 9);
    protobuf_text(&message, 2, "");
    assert_bytes(&message, "\x12\x00", 2);
    protobuf_integer(&part, 1, 150);
    protobuf_message(&message, 3, &part);
    assert_bytes(&message, "\x1A\x03\x08\x96\x01", 5);
    bytes_clear(&part);
    protobuf_message(&message, 3, &part);
    assert_bytes(&message, "\x1A\x00", 2);
}

static void real_numbers_begin_with_the_lowest_byte(void **state)
{
    struct bytes message = {0};

    protobuf_double(&message, 1, 1.0);
    assert_bytes(&message, "\x09\x00\x00\x00\x00\x00\x00\xF0\x3F", 9);
    protobuf_packed_float(&message, 5, 1.0F);
    assert_bytes(&message, "\x2A\x04\x00\x00\x80\x3F", 6);
}

static void long_messages_grow(void **state)
{
    struct bytes message = {0};
    char text[301];

    memset(text, 'x', 300);
    text[300] = '\0';
    for (int i = 0; i < 1000; i++)
        protobuf_text(&message, 1, text);
    assert_int_equal(message.length, 1000 * (1 + 2 + 300));
    assert_memory_equal(message.bytes, "\x0A\xAC\x02x", 4);
    bytes_clear(&message);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers_take_seven_bits_a_byte),
        cmocka_unit_test(texts_and_messages_tell_their_length),
        cmocka_unit_test(real_numbers_begin_with_the_lowest_byte),
        cmocka_unit_test(long_messages_grow),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
