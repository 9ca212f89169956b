/* read_proton: which bytes look like a profile of Proton. */
#include "readers/proton/read_proton.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void profiles_are_told_by_their_keys(void **state)
{
    static const char plain[] = "[{\"frame\": {}, \"metrics\": {}}";
    static const char spaced[] = " \t\r\n[{\"frame\": {}, \"metrics\": {}}";
    static const char zero[] = "\0[{\"frame\": {}, \"metrics\": {}}";
    static const char events[] = "[{\"ph\": \"X\", \"frame\": {}, \"metrics\": {}}";

    (void)state;
    assert_true(looks_like_proton(plain, sizeof plain - 1));
    assert_true(looks_like_proton(spaced, sizeof spaced - 1));
    assert_false(looks_like_proton(zero, sizeof zero - 1)); /* which is no white space */
    assert_false(looks_like_proton(events, sizeof events - 1));
    assert_false(looks_like_proton(plain, 0));
    assert_false(looks_like_proton(" \n", 2));
}

/* The first window of a deep tree has not one frame in it. */
static void deep_trees_are_told_by_their_children(void **state)
{
    static const char level[] = "{\n        \"children\": [\n          ";
    char head[8192] = "\n[";
    size_t length = strlen(head);

    (void)state;
    while (length + sizeof level < sizeof head) {
        memcpy(head + length, level, sizeof level - 1);
        length += sizeof level - 1;
    }
    for (size_t cut = 0; cut < sizeof level; cut++)
        assert_true(looks_like_proton(head, length - cut));
    head[length - 100] = '1';
    assert_false(looks_like_proton(head, length));
    assert_false(looks_like_proton("[{\"children\": [", 15)); /* so little tells nothing */
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(profiles_are_told_by_their_keys),
                                       cmocka_unit_test(deep_trees_are_told_by_their_children)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
