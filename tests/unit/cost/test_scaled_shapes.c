/* Shapes with another batch or sequence: what belongs to a pass is scaled, weights are not. */
#include "cost/plan/scaled_shapes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* 4 samples of 128 tokens become 6 of 256; a layer is 96 wide, with 3 heads of 32. */
static const struct pass_change change = {{4, 128}, {6, 256}};

static void shapes_are_scaled_as_a_pass_has_them(void **state)
{
    static const struct {
        const char *from;
        const char *to;
    } cases[] = {
        {"[[4, 128, 96], [96]]", "[[6, 256, 96], [96]]"},
        {"[[96], [512, 96], [96, 288], [], []]", "[[96], [1536, 96], [96, 288], [], []]"},
        {"[[96, 512], [512, 288]]", "[[96, 1536], [1536, 288]]"},
        {"[[12, 128, 32], [12, 32, 128]]", "[[18, 256, 32], [18, 32, 256]]"},
        {"[[4, 3, 128, 128]]", "[[6, 3, 256, 256]]"},
        {"[[4, 3, 128, 32], [1, 1, 128, 128]]", "[[6, 3, 256, 32], [1, 1, 256, 256]]"},
        {"[[1024, 96], [4, 128]]", "[[1024, 96], [6, 256]]"},
        {"[[128]]", "[[256]]"},
        {"[[508, 1000]]", "[[1530, 1000]]"}, /* a loss without the last token */
        {"[[4, 129]]", "[[6, 257]]"},        /* with the one behind the last */
        {"[[4, 1000], [4]]", "[[6, 1000], [6]]"},
        {"[[288, 96], [288, 96]]", "[[288, 96], [288, 96]]"},
        {"[[[4, 128, 96], [4, 128, 96]], []]", "[[[6, 256, 96], [6, 256, 96]], []]"},
        {"[]", "[]"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char scaled[256];
        struct scaled_elements elements;

        assert_true(scale_shapes(cases[i].from, &change, scaled, sizeof scaled, &elements));
        assert_string_equal(scaled, cases[i].to);
    }
}

static void images_have_samples_alone(void **state)
{
    const struct pass_change images = {{8, 0}, {16, 0}};
    char scaled[128];
    struct scaled_elements elements;

    assert_true(
        scale_shapes("[[8, 3, 32, 32], [64, 3, 3, 3]]", &images, scaled, sizeof scaled, &elements));
    assert_string_equal(scaled, "[[16, 3, 32, 32], [64, 3, 3, 3]]");
    assert_true(elements.before == 8 * 3 * 32 * 32 + 64 * 27);
    assert_true(elements.after == 16 * 3 * 32 * 32 + 64 * 27);
}

static void odd_texts_are_refused(void **state)
{
    static const char *const odd[] = {
        NULL, "", "4, 4", "[[4, x]]", "[[4", "[[--4]]", "[[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]]"};
    char scaled[64];
    struct scaled_elements elements;

    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++)
        assert_false(scale_shapes(odd[i], &change, scaled, sizeof scaled, &elements));
    assert_false(scale_shapes("[[4, 128, 96]]", &change, scaled, 8, &elements));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes_are_scaled_as_a_pass_has_them),
        cmocka_unit_test(images_have_samples_alone),
        cmocka_unit_test(odd_texts_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
