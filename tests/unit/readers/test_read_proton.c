/* read_proton: which bytes look like a profile of Proton. */
#include "base/core/attributes.h"
#include "readers/proton/read_proton.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

/* What no int can hold is as much as one can: a cast of it would be whatever the machine does. */
static void units_beyond_an_int_are_bounded(void **state)
{
    static const char text[] = "[{\"frame\": {\"name\": \"k\"}, \"metrics\": {\"time (ns)\": 5}}, "
                               "{\"CUDA\": {\"0\": {\"num_sms\": 1000000000000000000}}}]";
    char path[] = "/tmp/test_read_proton_XXXXXX";
    const int descriptor = mkstemp(path);
    SCOPED(call_sums) sums = {0};
    struct error error = {0};

    (void)state;
    assert_true(descriptor >= 0);
    assert_int_equal(write(descriptor, text, sizeof text - 1), sizeof text - 1);
    close(descriptor);
    assert_true(read_proton(&sums, path, 16, &error));
    unlink(path);
    assert_int_equal(sums.device_count, 1);
    assert_int_equal(sums.devices[0].multiprocessors, INT32_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(profiles_are_told_by_their_keys),
                                       cmocka_unit_test(units_beyond_an_int_are_bounded),
                                       cmocka_unit_test(deep_trees_are_told_by_their_children)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
