/* Names from traces, made harmless and short. */
#include "base/text/display_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct arena arena;

static int clear_arena(void **state)
{
    arena_clear(&arena);
    return 0;
}

static void controls_are_shown_not_sent(void **state)
{
    assert_string_equal(display_text(&arena, "plain", true), "plain");
    assert_string_equal(display_text(&arena, "\x1b[31mred\a\n\t\x7f", true),
                        "\\x1b[31mred\\x07\\n\\t\\x7f");
    assert_string_equal(display_text(&arena,
                                     "\xC2\x9B"
                                     "31m",
                                     true),
                        "\\x9b31m");
    assert_string_equal(display_text(&arena,
                                     "a\xE2\x80\xAE"
                                     "b",
                                     true),
                        "a\\u202eb");
    assert_string_equal(display_text(&arena, "\xFF\xC3", true), "\xEF\xBF\xBD\xEF\xBF\xBD");
    assert_string_equal(display_text(&arena, "caf\xC3\xA9", true), "caf\xC3\xA9");
}

static void without_unicode_all_is_ascii(void **state)
{
    assert_string_equal(display_text(&arena, "caf\xC3\xA9 \xFF \xE4\xB8\xAD", false), "caf? ? ?");
    assert_string_equal(display_text(&arena, "1 µs", false), "1 us");
    assert_string_equal(shorten_middle(&arena, "abcdefghij", 6, false), "ab..ij");
}

static void columns_are_counted(void **state)
{
    assert_int_equal(display_columns(""), 0);
    assert_int_equal(display_columns("abc"), 3);
    assert_int_equal(display_columns("caf\xC3\xA9"), 4);
    assert_int_equal(display_columns("\xE4\xB8\xAD\xE6\x96\x87"), 4);
}

static void the_middle_goes(void **state)
{
    assert_string_equal(shorten_middle(&arena, "abcdef", 6, true), "abcdef");
    assert_string_equal(shorten_middle(&arena, "abcdefghij", 5, true), "ab\xE2\x80\xA6ij");
    assert_string_equal(shorten_middle(&arena, "abcdefghij", 6, true), "abc\xE2\x80\xA6ij");
    for (int columns = 3; columns < 12; columns++) {
        const char *text = shorten_middle(
            &arena, "\xE4\xB8\xAD\xE6\x96\x87\xE4\xB8\xAD\xE6\x96\x87 kernel", columns, true);

        assert_true(display_columns(text) <= columns);
    }
}

static void kernel_names_keep_what_tells(void **state)
{
    const char *add =
        "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, "
        "at::detail::Array<char*, 3> >(int, at::native::CUDAFunctor_add<float>, "
        "at::detail::Array<char*, 3>)";
    const char *copy =
        "void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl<at::native::"
        "direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#3}::operator()() const::"
        "{lambda()#7}>(at::TensorIteratorBase&, at::native::direct_copy_kernel_cuda("
        "at::TensorIteratorBase&)::{lambda()#3})::{lambda(int)#1}>(int, x)";

    assert_string_equal(shorten_name(&arena, add, 400, true), add);
    assert_string_equal(
        shorten_name(&arena, add, 80, true),
        "vectorized_elementwise_kernel<4, CUDAFunctor_add<float>, Array<char*, 3> >");
    assert_string_equal(shorten_name(&arena, add, 60, true),
                        "vectorized_elementwise_kernel<CUDAFunctor_add<float>>");
    assert_string_equal(shorten_name(&arena, add, 48, true),
                        "vectorized_elementwise_kernel<CUDAFunctor_add>");
    assert_string_equal(shorten_name(&arena, copy, 60, true),
                        "elementwise_kernel<direct_copy_kernel_cuda>");
    assert_string_equal(
        shorten_name(&arena, "ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)", 40, true),
        "ncclKernel_AllReduce_RING_LL_Sum_float");
    assert_string_equal(shorten_name(&arena, "Memcpy HtoD (Pinned -> Device)", 20, true),
                        "Memcpy Hto\xE2\x80\xA6> Device)");
}

static void functions_made_of_others_are_unwrapped(void **state)
{
    const char *mul =
        "void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl_nocast<"
        "at::native::BinaryFunctor<c10::BFloat16, c10::BFloat16, c10::BFloat16, "
        "at::native::binary_internal::MulFunctor<float> > >(at::TensorIteratorBase&, "
        "at::native::BinaryFunctor<x, y> const&)::"
        "{lambda(int)#1}>(int, at::native::gpu_kernel_impl_nocast<z>)";

    assert_string_equal(shorten_name(&arena, mul, 44, true),
                        "elementwise_kernel<MulFunctor<float>>");
    assert_string_equal(shorten_name(&arena, mul, 30, true), "elementwise_kernel<MulFunctor>");
}

static void any_name_fits(void **state)
{
    static const char *const names[] = {"<",
                                        ">",
                                        "a<b",
                                        "a>b::c",
                                        "((((",
                                        "))))",
                                        "f(",
                                        "x<y<z<1, 2>, 3>, (a)::b>(c)",
                                        "void ",
                                        "void (",
                                        "::",
                                        "a::",
                                        "<<<>>>>>",
                                        "{lambda()#1}",
                                        "f(x)::{l}::g",
                                        "operator<<",
                                        "k<4, 5>(int) [clone .x]",
                                        "<gpu_kernel_impl<",
                                        "a<gpu_kernel_impl<b",
                                        "BinaryFunctor<",
                                        "BinaryFunctor<a, ",
                                        "a<BinaryFunctor<b, c<d> > >"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        for (int columns = 3; columns < 30; columns++)
            assert_true(display_columns(shorten_name(&arena, names[i], columns, true)) <= columns);
    }
}

static void random_names_fit(void **state)
{
    static const char letters[] = "ab<>(),: {}#1";
    uint32_t random = 12345;

    for (int i = 0; i < 20000; i++) {
        char name[48];
        size_t length = 0;

        for (; length < sizeof name - 1; length++) {
            random = random * 1664525 + 1013904223;
            name[length] = letters[(random >> 16) % (sizeof letters - 1)];
        }
        name[length] = '\0';
        assert_true(display_columns(shorten_name(&arena, name, 3 + i % 40, true)) <= 3 + i % 40);
    }
}

static void a_huge_name_takes_no_time(void **state)
{
    static char name[1000001];

    memset(name, '(', sizeof name - 1);
    assert_int_equal(display_columns(shorten_name(&arena, name, 30, true)), 30);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(controls_are_shown_not_sent),
        cmocka_unit_test(without_unicode_all_is_ascii),
        cmocka_unit_test(columns_are_counted),
        cmocka_unit_test(the_middle_goes),
        cmocka_unit_test(kernel_names_keep_what_tells),
        cmocka_unit_test(functions_made_of_others_are_unwrapped),
        cmocka_unit_test(any_name_fits),
        cmocka_unit_test(random_names_fit),
        cmocka_unit_test(a_huge_name_takes_no_time),
    };

    return cmocka_run_group_tests(tests, NULL, clear_arena);
}
