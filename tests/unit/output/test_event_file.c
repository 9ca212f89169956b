/* Records of event files, and their checksums. */
#include "base/core/bytes.h"
#include "output/exports/tensorboard_summary.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* CRC-32C of "123456789" is E3069283, of nothing 0: the check values of the code's catalogue. */
static void checksums_are_turned_and_shifted(void **state)
{
    uint32_t crc = UINT32_C(0xE3069283);

    assert_int_equal(masked_crc32c("123456789", 9),
                     (uint32_t)((crc >> 15 | crc << 17) + UINT32_C(0xA282EAD8)));
    assert_int_equal(masked_crc32c("", 0), UINT32_C(0xA282EAD8));
}

static uint32_t number_at(const char *bytes)
{
    const unsigned char *at = (const unsigned char *)bytes;

    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static void records_tell_their_length_and_checksums(void **state)
{
    char *text;
    size_t size;
    FILE *stream = open_memstream(&text, &size);
    struct bytes summary = {0};
    const char *second;

    assert_non_null(stream);
    event_file_begin(stream, 1.0);
    protobuf_integer(&summary, 1, 5);
    event_file_add(stream, (struct event_time){2.0, 7}, &summary);
    bytes_clear(&summary);
    assert_int_equal(fclose(stream), 0);
    assert_int_equal(number_at(text), 9 + 2 + 13); /* wall_time, file_version */
    assert_int_equal(number_at(text + 8), masked_crc32c(text, 8));
    assert_int_equal(number_at(text + 12 + 24), masked_crc32c(text + 12, 24));
    assert_memory_equal(text + 12 + 9,
                        "\x1A\x0D"
                        "brain.Event:2",
                        15);
    second = text + 12 + 24 + 4;
    assert_int_equal(number_at(second), 9 + 2 + 4);
    assert_memory_equal(second + 12 + 9, "\x10\x07\x2A\x02\x08\x05", 6);
    assert_int_equal(second + 12 + 15 + 4 - text, size);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(checksums_are_turned_and_shifted),
        cmocka_unit_test(records_tell_their_length_and_checksums),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
