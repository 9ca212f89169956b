/* mapped_input: all of a file at once, plain or packed; what is forgotten is there again when it is
 * asked for, and a file that becomes shorter is noticed. */
#include "base/core/invariant.h"
#include "base/io/input_stream.h"
#include "base/io/mapped_input.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include <cmocka.h>

enum { TEXT_BYTES = 1 << 20 };

static unsigned char text_byte(size_t at)
{
    return (unsigned char)(at * 2654435761u >> 13);
}

/* A file of the text, plain or packed; its name in `path`. */
static void write_text(char *path, bool is_packed)
{
    int file = mkstemp(strcpy(path, "/tmp/flopledger-mapped-XXXXXX"));
    gzFile packed = gzdopen(file, is_packed ? "wb1" : "wbT");
    unsigned char *text = require_memory(malloc(TEXT_BYTES));

    for (size_t i = 0; i < TEXT_BYTES; i++)
        text[i] = text_byte(i);
    assert_int_equal(gzwrite(packed, text, TEXT_BYTES), TEXT_BYTES);
    assert_int_equal(gzclose(packed), Z_OK);
    free(text);
}

static void check_text(const struct mapped_input *mapped)
{
    assert_int_equal(mapped->length, TEXT_BYTES);
    for (size_t i = 0; i < TEXT_BYTES; i++)
        assert_int_equal((unsigned char)mapped->text[i], text_byte(i));
}

static void forgotten_text_is_read_again(void **state)
{
    for (int is_packed = 0; is_packed < 2; is_packed++) {
        struct input_stream input = {0};
        struct mapped_input mapped;
        struct error error = {0};
        char path[64];

        write_text(path, is_packed);
        assert_true(input_stream_open(&input, path, false, &error));
        assert_true(mapped_input_open(&mapped, &input, TEXT_BYTES, &error));
        check_text(&mapped);
        mapped_input_forget(&mapped, mapped.text + TEXT_BYTES);
        mapped_input_forget(&mapped, mapped.text);
        check_text(&mapped);
        assert_true(mapped_input_is_there(&mapped));
        assert_int_equal(truncate(path, 5), 0);
        assert_int_equal(mapped_input_is_there(&mapped), is_packed); /* that is in memory */
        mapped_input_close(&mapped);
        input_stream_clear(&input);
        assert_int_equal(unlink(path), 0);
    }
}

static void what_is_too_long_is_refused(void **state)
{
    for (int is_packed = 0; is_packed < 2; is_packed++) {
        struct input_stream input = {0};
        struct mapped_input mapped;
        struct error error = {0};
        char path[64];

        write_text(path, is_packed);
        assert_true(input_stream_open(&input, path, false, &error));
        assert_false(mapped_input_open(&mapped, &input, TEXT_BYTES - 1, &error));
        assert_non_null(strstr(error.message, "MiB"));
        mapped_input_close(&mapped);
        input_stream_clear(&input);
        assert_int_equal(unlink(path), 0);
    }
}

static void memory_is_given_as_well(void **state)
{
    struct input_stream input = {0};
    struct mapped_input mapped;
    struct error error = {0};

    input_stream_open_memory(&input, "planes", 6);
    assert_true(mapped_input_open(&mapped, &input, 6, &error));
    assert_int_equal(mapped.length, 6);
    assert_memory_equal(mapped.text, "planes", 6);
    mapped_input_close(&mapped);
    input_stream_clear(&input);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forgotten_text_is_read_again),
        cmocka_unit_test(what_is_too_long_is_refused),
        cmocka_unit_test(memory_is_given_as_well),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
