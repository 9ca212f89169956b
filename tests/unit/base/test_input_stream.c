/* input_stream: the same text from plain, gzip and zstd, from files, pipes and memory, whole or
 * broken off. */
#include "base/core/invariant.h"
#include "base/io/input_stream.h"
#include "support_read.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { TEXT_BYTES = 3000000 };

/* Text that does not pack too well. */
static char *make_text(void)
{
    char *text = require_memory(malloc(TEXT_BYTES));
    uint32_t seed = 5;

    for (size_t i = 0; i < TEXT_BYTES; i++) {
        seed = seed * 1664525 + 1013904223;
        text[i] = (char)('a' + (seed >> 24) % 16);
    }
    return text;
}

/* Reads all of it, keeping some of each window, and compares. Returns how much there was. */
static size_t check_text(struct input_stream *stream, const char *text, size_t keep)
{
    struct input_window window = {0};
    size_t place = 0; /* of the window's beginning in the text */

    for (;;) {
        size_t kept = keep < window.length ? keep : window.length;
        bool is_more;

        place += window.length - kept;
        is_more = input_stream_next(stream, kept, &window);
        assert_true(place + window.length <= TEXT_BYTES);
        assert_memory_equal(window.text, text + place, window.length);
        for (size_t i = 0; i < INPUT_PADDING; i++)
            assert_int_equal(window.text[window.length + i], 0);
        if (!is_more) {
            assert_int_equal(window.length, kept);
            break;
        }
    }
    assert_int_equal(stream->text_bytes, place + window.length);
    return place + window.length;
}

static size_t check_file(const void *bytes, size_t length, const char *text, bool has_thread)
{
    const size_t keeps[] = {0, 1, 100, 50000, 400000};
    char *path = new_file(bytes, length);
    size_t got = 0;

    for (size_t i = 0; i < sizeof keeps / sizeof keeps[0]; i++) {
        struct input_stream stream = {0};
        struct error error = {0};

        assert_true(input_stream_open(&stream, path, has_thread, &error));
        assert_int_equal(stream.file_bytes, length);
        got = check_text(&stream, text, keeps[i]);
        input_stream_clear(&stream);
    }
    unlink(path);
    free(path);
    return got;
}

static void all_forms_give_the_same_text(void **state)
{
    char *text = make_text();
    size_t gzip_length;
    size_t zstd_length;
    void *gzip = pack_gzip(text, TEXT_BYTES, &gzip_length);
    void *zstd = pack_zstd(text, TEXT_BYTES, &zstd_length);

    for (int has_thread = 0; has_thread < 2; has_thread++) {
        assert_int_equal(check_file(text, TEXT_BYTES, text, has_thread), TEXT_BYTES);
        assert_int_equal(check_file(zstd, zstd_length, text, has_thread), TEXT_BYTES);
        assert_int_equal(check_file(gzip, gzip_length, text, has_thread), TEXT_BYTES);
        assert_int_equal(setenv("FLOPLEDGER_INFLATE", "zlib", 1), 0);
        assert_int_equal(check_file(gzip, gzip_length, text, has_thread), TEXT_BYTES);
        assert_int_equal(unsetenv("FLOPLEDGER_INFLATE"), 0);
    }
    free(text);
    free(gzip);
    free(zstd);
}

/* Two packed texts one behind the other, and bytes behind them that are neither. */
static void check_members(void *(*pack)(const void *, size_t, size_t *), const char *garbage)
{
    char *text = make_text();
    size_t half = TEXT_BYTES / 2;
    size_t first_length;
    size_t second_length;
    char *first = pack(text, half, &first_length);
    char *second = pack(text + half, TEXT_BYTES - half, &second_length);
    char *both = require_memory(malloc(first_length + second_length + 8));

    memcpy(both, first, first_length);
    memcpy(both + first_length, second, second_length);
    memcpy(both + first_length + second_length, garbage, strlen(garbage));
    assert_int_equal(check_file(both, first_length + second_length + strlen(garbage), text, true),
                     TEXT_BYTES);
    free(first);
    free(second);
    free(both);
    free(text);
}

static void members_and_frames_follow_each_other(void **state)
{
    check_members(pack_gzip, "");
    check_members(pack_gzip, "abc");
    check_members(pack_zstd, "");
    assert_int_equal(setenv("FLOPLEDGER_INFLATE", "zlib", 1), 0);
    check_members(pack_gzip, "");
    check_members(pack_gzip, "abc");
    assert_int_equal(unsetenv("FLOPLEDGER_INFLATE"), 0);
}

/* Reads what there is; returns how much. */
static size_t read_broken(struct input_stream *stream, const void *packed, size_t length,
                          const char *text)
{
    size_t got;

    input_stream_open_memory(stream, packed, length);
    got = check_text(stream, text, 10);
    return got;
}

static void a_cut_stream_gives_all_there_is_and_says_so(void **state)
{
    void *(*const packs[])(const void *, size_t, size_t *) = {pack_gzip, pack_zstd, pack_gzip};
    char *text = make_text();

    for (size_t p = 0; p < 3; p++) {
        size_t length;
        char *packed = packs[p](text, TEXT_BYTES, &length);
        size_t before = 0;

        if (p == 2)
            assert_int_equal(setenv("FLOPLEDGER_INFLATE", "zlib", 1), 0);
        for (size_t cut = 5; cut < length; cut += length / 9) {
            struct input_stream stream = {0};
            char *exact = require_memory(malloc(cut));
            char place[32];
            size_t got;

            memcpy(exact, packed, cut);
            got = read_broken(&stream, exact, cut, text);
            assert_true(got >= before && got < TEXT_BYTES);
            assert_true(stream.is_broken);
            (void)snprintf(place, sizeof place, "at byte %zu ", cut);
            assert_non_null(strstr(stream.breakage, "ends in the middle"));
            assert_non_null(strstr(stream.breakage, place));
            before = got;
            input_stream_clear(&stream);
            free(exact);
        }
        assert_true(before > TEXT_BYTES / 2);
        free(packed);
    }
    assert_int_equal(unsetenv("FLOPLEDGER_INFLATE"), 0);
    free(text);
}

static void damage_is_told_with_its_place(void **state)
{
    char *text = make_text();
    size_t length;
    char *packed = pack_gzip(text, TEXT_BYTES, &length);
    struct input_stream stream = {0};
    struct input_window window;
    size_t got = 0;

    packed[length - 6] ^= 1; /* the checksum */
    input_stream_open_memory(&stream, packed, length);
    while (input_stream_next(&stream, 0, &window))
        got += window.length;
    assert_int_equal(got, TEXT_BYTES);
    assert_true(stream.is_broken);
    assert_non_null(strstr(stream.breakage, "damaged"));
    input_stream_clear(&stream);
    free(packed);
    free(text);
}

static void a_pipe_is_read_to_its_end(void **state)
{
    char *text = make_text();
    size_t length = 30000; /* fits the pipe */
    size_t packed_length;
    void *packed = pack_gzip(text, length, &packed_length);

    for (int is_packed = 0; is_packed < 2; is_packed++) {
        struct input_stream stream = {0};
        struct error error = {0};
        int ends[2];
        int saved = dup(STDIN_FILENO);

        assert_int_equal(pipe(ends), 0);
        if (is_packed)
            assert_int_equal(write(ends[1], packed, packed_length), packed_length);
        else
            assert_int_equal(write(ends[1], text, length), length);
        close(ends[1]);
        dup2(ends[0], STDIN_FILENO);
        close(ends[0]);
        assert_true(input_stream_open(&stream, "-", true, &error));
        assert_int_equal(stream.file_bytes, -1);
        assert_false(input_stream_can_seek(&stream));
        assert_int_equal(check_text(&stream, text, 3), length);
        input_stream_clear(&stream);
        dup2(saved, STDIN_FILENO);
        close(saved);
    }
    free(packed);
    free(text);
}

static void what_cannot_be_opened_is_told(void **state)
{
    struct input_stream stream = {0};
    struct error error = {0};

    assert_false(input_stream_open(&stream, "/no/such/file", false, &error));
    assert_int_equal(error.class, ERROR_INPUT);
    assert_non_null(strstr(error.message, "'/no/such/file': no such file"));
    assert_false(input_stream_open(&stream, "/", false, &error));
    assert_non_null(strstr(error.message, "is a folder"));
}

static void a_second_stream_begins_anywhere(void **state)
{
    char *text = make_text();
    struct input_stream whole = {0};
    struct input_stream part = {0};
    struct input_window window;

    input_stream_open_memory(&whole, text, TEXT_BYTES);
    assert_true(input_stream_can_seek(&whole));
    assert_true(input_stream_peek(&whole).length > 0);
    assert_true(input_stream_next(&whole, 0, &window));
    assert_memory_equal(window.text, text, window.length);
    input_stream_open_at(&part, &whole, TEXT_BYTES - 5);
    assert_true(input_stream_next(&part, 0, &window));
    assert_int_equal(window.length, 5);
    assert_memory_equal(window.text, text + TEXT_BYTES - 5, 5);
    input_stream_clear(&part);
    input_stream_clear(&whole);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_forms_give_the_same_text),
        cmocka_unit_test(members_and_frames_follow_each_other),
        cmocka_unit_test(a_cut_stream_gives_all_there_is_and_says_so),
        cmocka_unit_test(damage_is_told_with_its_place),
        cmocka_unit_test(a_pipe_is_read_to_its_end),
        cmocka_unit_test(what_cannot_be_opened_is_told),
        cmocka_unit_test(a_second_stream_begins_anywhere),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
