/* mapped_input: all of a file at once, plain or packed; what is forgotten is there again when it is
 * asked for, and a file that becomes shorter is noticed. */
#include "base/core/invariant.h"
#include "base/io/input_stream.h"
#include "base/io/mapped_input.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
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

/* More than stays in memory: in a file without a name, which can be forgotten; and in memory where
 * no file takes it all. */
static void much_that_is_packed_is_in_a_file(void **state)
{
    const size_t bytes = (size_t)20 << 20;

    for (int is_limited = 0; is_limited < 2; is_limited++) {
        struct rlimit limit = {.rlim_cur = is_limited ? 10 << 20 : RLIM_INFINITY,
                               .rlim_max = RLIM_INFINITY};
        struct input_stream input = {0};
        struct mapped_input mapped;
        struct error error = {0};
        char path[64];
        int file = mkstemp(strcpy(path, "/tmp/flopledger-mapped-XXXXXX"));
        gzFile packed = gzdopen(file, "wb1");
        char block[4096];

        for (size_t i = 0; i < bytes / sizeof block; i++) {
            memset(block, (int)(i % 251), sizeof block);
            assert_int_equal(gzwrite(packed, block, sizeof block), sizeof block);
        }
        assert_int_equal(gzclose(packed), Z_OK);
        signal(SIGXFSZ, SIG_IGN);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
        assert_true(input_stream_open(&input, path, false, &error));
        assert_true(mapped_input_open(&mapped, &input, bytes, &error));
        assert_int_equal(mapped.length, bytes);
        mapped_input_forget(&mapped, mapped.text + bytes);
        for (size_t at = 0; at < bytes; at += 1024)
            assert_int_equal((unsigned char)mapped.text[at], at / sizeof block % 251);
        assert_true(mapped_input_is_there(&mapped));
        mapped_input_close(&mapped);
        input_stream_clear(&input);
        limit.rlim_cur = RLIM_INFINITY;
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
        assert_int_equal(unlink(path), 0);
    }
}

/* 3 MiB of a file that is then gone, packed, without its last bytes. */
static void write_cut_file(char *path)
{
    int file = mkstemp(strcpy(path, "/tmp/flopledger-mapped-XXXXXX"));
    gzFile packed = gzdopen(dup(file), "wb1");
    char block[4096];

    for (int i = 0; i < 768; i++) {
        memset(block, i % 251, sizeof block);
        assert_int_equal(gzwrite(packed, block, sizeof block), sizeof block);
    }
    assert_int_equal(gzclose(packed), Z_OK);
    assert_int_equal(ftruncate(file, lseek(file, 0, SEEK_END) - 4), 0);
    assert_int_equal(close(file), 0);
}

/* What was unpacked once is not unpacked again: of an input of other bytes the kept ones are given,
 * with what was told of their end. No more than some are kept. */
static void what_was_unpacked_is_kept(void **state)
{
    struct unpacked_input *unpacked[6];
    struct error error = {0};
    int kept_count = 0;
    char path[64];

    write_cut_file(path);
    for (size_t i = 0; i < 6; i++) {
        struct input_stream input = {0};
        struct mapped_input mapped;

        unpacked[i] = unpacked_input_new();
        assert_true(input_stream_open(&input, path, false, &error));
        input.unpacked = unpacked[i];
        assert_true(mapped_input_open(&mapped, &input, 4 << 20, &error));
        kept_count += unpacked[i]->file >= 0;
        mapped_input_close(&mapped);
        input_stream_clear(&input);
        if (unpacked[i]->file >= 0) {
            input_stream_open_memory(&input, "other", 5);
            input.unpacked = unpacked[i];
            assert_true(mapped_input_open(&mapped, &input, 4 << 20, &error));
            assert_int_equal(mapped.length, unpacked[i]->length);
            assert_int_equal((unsigned char)mapped.text[mapped.length - 1], 767 % 251);
            assert_true(input.is_broken);
            assert_non_null(strstr(input.breakage, "gzip"));
            mapped_input_close(&mapped);
            input_stream_clear(&input);
        }
    }
    assert_int_equal(kept_count, 4);
    for (size_t i = 0; i < 6; i++)
        unpacked_input_free(unpacked[i]);
    unpacked_input_free(NULL);
    assert_int_equal(unlink(path), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forgotten_text_is_read_again),
        cmocka_unit_test(what_is_too_long_is_refused),
        cmocka_unit_test(memory_is_given_as_well),
        cmocka_unit_test(much_that_is_packed_is_in_a_file),
        cmocka_unit_test(what_was_unpacked_is_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
