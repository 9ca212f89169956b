/* The arena: aligned, zeroed, adopted. */
#include "base/core/arena.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void memory_is_zeroed_and_aligned(void **state)
{
    struct arena arena = {0};

    for (size_t size = 1; size < 200000; size = size * 3 + 1) {
        unsigned char *memory = arena_allocate(&arena, size);

        assert_int_equal((uintptr_t)memory % _Alignof(max_align_t), 0);
        for (size_t i = 0; i < size; i++)
            assert_int_equal(memory[i], 0);
        memset(memory, 0xFF, size);
    }
    arena_clear(&arena);
    assert_null(arena.blocks);
    arena_clear(NULL);
}

static void pieces_do_not_overlap(void **state)
{
    struct arena arena = {0};
    char *texts[1000];

    for (int i = 0; i < 1000; i++) {
        char text[32];
        int length = snprintf(text, sizeof text, "text number %d", i);

        texts[i] = arena_copy_text(&arena, text, (size_t)length);
    }
    for (int i = 0; i < 1000; i++) {
        char text[32];

        snprintf(text, sizeof text, "text number %d", i);
        assert_string_equal(texts[i], text);
    }
    assert_string_equal(arena_copy_text(&arena, "whole", 3), "who");
    assert_string_equal(arena_copy_text(&arena, NULL, 0), "");
    arena_clear(&arena);
}

/* The sanitizers tell of what is not freed. */
static void given_memory_lives_on(void **state)
{
    struct arena arena = {0};
    char *given = strdup("given");
    char *first;

    arena_give(&arena, given);
    first = arena_copy_text(&arena, "first", 5);
    arena_give(&arena, strdup("given, too"));
    assert_ptr_equal(arena_copy_text(&arena, "near", 4), first + _Alignof(max_align_t));
    assert_string_equal(given, "given");
    assert_string_equal(first, "first");
    arena_clear(&arena);
}

static void adopted_memory_lives_on(void **state)
{
    struct arena arena = {0};
    struct arena other = {0};
    char *first = arena_copy_text(&arena, "first", 5);
    char *second = arena_copy_text(&other, "second", 6);

    arena_adopt(&arena, &other);
    assert_null(other.blocks);
    arena_clear(&other);
    assert_string_equal(first, "first");
    assert_string_equal(second, "second");
    assert_string_equal(arena_copy_text(&arena, "third", 5), "third");
    assert_string_equal(second, "second");
    arena_clear(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_zeroed_and_aligned),
        cmocka_unit_test(pieces_do_not_overlap),
        cmocka_unit_test(given_memory_lives_on),
        cmocka_unit_test(adopted_memory_lives_on),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
