/* Shortened names that stand together are still different ones. */
#include "base/core/arena.h"
#include "base/text/display_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { NAMES_MAX = 4 };

static void assert_shortened(const char *const *given, const char *const *expected, int columns)
{
    struct arena arena = {0};
    const char *names[NAMES_MAX];
    int widths[NAMES_MAX];
    size_t count = 0;

    for (; count < NAMES_MAX && given[count]; count++) {
        names[count] = given[count];
        widths[count] = columns;
    }
    shorten_names(&arena, names, widths, count, true);
    for (size_t i = 0; i < count; i++) {
        assert_string_equal(names[i], expected[i]);
        assert_true(display_columns(names[i]) <= columns);
    }
    arena_clear(&arena);
}

static void names_that_stay_apart_are_cut_as_alone(void **state)
{
    assert_shortened((const char *const[NAMES_MAX]){"ampere_sgemm_nn", "volta_sgemm_tn", "gemm"},
                     (const char *const[NAMES_MAX]){"ampe…_nn", "volt…_tn", "gemm"}, 8);
    assert_shortened((const char *const[NAMES_MAX]){"the same name", "the same name"},
                     (const char *const[NAMES_MAX]){"the …ame", "the …ame"}, 8);
}

static void names_that_would_be_alike_show_where_they_differ(void **state)
{
    assert_shortened((const char *const[NAMES_MAX]){"kernel_of_128x64_in_bf16_nn",
                                                    "kernel_of_128x32_in_bf16_nn", "kernel"},
                     (const char *const[NAMES_MAX]){"ker…64_in_b…", "ker…32_in_b…", "kernel"}, 12);
    assert_shortened((const char *const[NAMES_MAX]){"Memcpy HtoD (Pageable -> Device)",
                                                    "Memcpy DtoH (Device -> Pageable)"},
                     (const char *const[NAMES_MAX]){"Memc…ce)", "Memc…le)"}, 8);
    assert_shortened((const char *const[NAMES_MAX]){"worker.1795743405267411351.json",
                                                    "worker.1795743405274414351.json"},
                     (const char *const[NAMES_MAX]){"wo…67411…", "wo…74414…"}, 9);
    assert_shortened((const char *const[NAMES_MAX]){"int aa::f<1>(int)", "int bb::f<1>(int)"},
                     (const char *const[NAMES_MAX]){"in…aa::…", "in…bb::…"}, 8);
}

static void characters_are_not_torn(void **state)
{
    assert_shortened((const char *const[NAMES_MAX]){"ééééééaéééééé", "éééééébéééééé"},
                     (const char *const[NAMES_MAX]){"é…aéé…", "é…béé…"}, 6);
    assert_shortened((const char *const[NAMES_MAX]){"漢漢漢漢a漢漢漢漢", "漢漢漢漢b漢漢漢漢"},
                     (const char *const[NAMES_MAX]){"漢…a漢…", "漢…b漢…"}, 8);
}

/* Random names of few letters, at all widths: different ones differ wherever they can. */
static void names_never_grow_wider(void **state)
{
    uint32_t random = 1;

    for (int round = 0; round < 300; round++) {
        char text[NAMES_MAX][32];
        const char *names[NAMES_MAX];
        int widths[NAMES_MAX];
        struct arena arena = {0};

        for (int i = 0; i < NAMES_MAX; i++) {
            for (int at = 0; at < 30; at++)
                text[i][at] = (char)('a' + ((random = random * 1664525 + 1013904223) >> 30) / 3);
            memcpy(text[i], "same beginning", 14);
            text[i][(size_t)16 + (random >> 28)] = '\0';
            names[i] = text[i];
            widths[i] = 3 + (int)(random >> 8) % 24;
        }
        shorten_names(&arena, names, widths, NAMES_MAX, round % 2);
        for (int i = 0; i < NAMES_MAX; i++)
            assert_true(display_columns(names[i]) <= widths[i]);
        arena_clear(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_that_stay_apart_are_cut_as_alone),
        cmocka_unit_test(names_that_would_be_alike_show_where_they_differ),
        cmocka_unit_test(characters_are_not_torn),
        cmocka_unit_test(names_never_grow_wider),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
