/* base64: known texts, and any bytes of any length, in both ways as six bits by six. */
#include "base/text/base64.h"
#include "support_byte_rows.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { BYTES_MAX = 200 };

static size_t by_six_bits(char *out, const unsigned char *bytes, size_t length)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t count = 0;

    for (size_t bit = 0; bit < 8 * length; bit += 6) {
        unsigned two = (unsigned)bytes[bit / 8] << 8;

        if (bit / 8 + 1 < length)
            two |= bytes[bit / 8 + 1];
        out[count++] = digits[two >> (10 - bit % 8) & 63];
    }
    while (count % 4)
        out[count++] = '=';
    return count;
}

static void known_texts(void **state)
{
    static const char *const texts[][2] = {{"f", "Zg=="},         {"fo", "Zm8="},
                                           {"foo", "Zm9v"},       {"foob", "Zm9vYg=="},
                                           {"fooba", "Zm9vYmE="}, {"foobar", "Zm9vYmFy"}};
    char out[32];

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        size_t count = base64_encode(out, (const unsigned char *)texts[i][0], strlen(texts[i][0]));

        assert_int_equal(count, strlen(texts[i][1]));
        assert_memory_equal(out, texts[i][1], count);
    }
    assert_int_equal(base64_encode(out, (const unsigned char *)"", 0), 0);
}

static void any_bytes(void **state)
{
    uint64_t seed = 1;

    for (size_t i = 0; i < 4000; i++) {
        size_t length = i % BYTES_MAX;
        unsigned char *bytes = malloc(length ? length : 1);
        char wanted[BYTES_MAX * 2], out[BYTES_MAX * 2];
        size_t count;

        for (size_t at = 0; at < length; at++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            bytes[at] = (unsigned char)(seed >> 56);
        }
        count = by_six_bits(wanted, bytes, length);
        assert_int_equal(base64_encode(out, bytes, length), count);
        assert_memory_equal(out, wanted, count);
        assert_int_equal(base64_encode_portable(out, bytes, length), count);
        assert_memory_equal(out, wanted, count);
        free(bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_texts),
        cmocka_unit_test(any_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
