/* What is packed comes out again, and a full disk is told. */
#include "base/io/input_stream.h"
#include "base/io/output_file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void what_is_packed_comes_out_again(void **state)
{
    SCOPED(input_stream) stream = {0};
    struct input_window window;
    char *packed;
    size_t packed_size, length = 0;
    FILE *target = open_memstream(&packed, &packed_size);
    FILE *output = packed_output_open(target);

    for (int i = 0; i < 200000; i++)
        assert_true(fprintf(output, "%d,", i) > 0);
    assert_int_equal(fclose(output), 0);
    assert_int_equal(fclose(target), 0);
    assert_true(packed_size < 800000);
    input_stream_open_memory(&stream, packed, packed_size);
    while (input_stream_next(&stream, 0, &window)) {
        if (length == 0)
            assert_memory_equal(window.text, "0,1,2,3,", 8);
        length += window.length;
    }
    assert_int_equal(stream.compression, COMPRESSION_GZIP);
    assert_false(stream.is_broken);
    assert_int_equal(length, 10 * 2 + 90 * 3 + 900 * 4 + 9000 * 5 + 90000 * 6 + 100000 * 7);
    input_stream_clear(&stream);
    free(packed);
}

static void nothing_is_a_whole_file_too(void **state)
{
    char *packed;
    size_t size;
    FILE *target = open_memstream(&packed, &size);
    FILE *output = packed_output_open(target);

    assert_int_equal(fclose(output), 0);
    assert_int_equal(fclose(target), 0);
    assert_true(size >= 18); /* header and checksum */
    assert_memory_equal(packed, "\x1F\x8B", 2);
    free(packed);
}

static void a_full_disk_is_told(void **state)
{
    FILE *target = fopen("/dev/full", "w");
    FILE *output;

    if (!target)
        skip();
    setbuf(target, NULL);
    output = packed_output_open(target);
    assert_true(fputs("text", output) >= 0);
    assert_int_not_equal(fclose(output), 0);
    (void)fclose(target);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_packed_comes_out_again),
        cmocka_unit_test(nothing_is_a_whole_file_too),
        cmocka_unit_test(a_full_disk_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
