/* A trace of Perfetto is told by its first packets, whatever recorder of the machine wrote them. */
#include "readers/reader.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

extern const struct reader perfetto_reader;

#define RECOGNISES(bytes) perfetto_reader.recognises((bytes), sizeof(bytes) - 1)

static void test_packets_of_the_kernel_and_of_processes(void **state)
{
    (void)state;
    assert_true(RECOGNISES("\x0a\x04\x0a\x02\x08\x01"));                 /* ftrace_events */
    assert_true(RECOGNISES("\x0a\x06\x12\x04\x0a\x02\x08\x01"));         /* process_tree */
    assert_true(RECOGNISES("\x0a\x05\x92\x05\x02\x08\x01"));             /* translation_table */
    assert_true(RECOGNISES("\x0a\x04\x0a\x02\x08\x01\x0a\x02\x40\x07")); /* then a timestamp */
    assert_true(RECOGNISES("\x0a\x04\x0a\x02\x08\x01\x0a\x7f\x0a\x02")); /* cut at what is seen */
}

static void test_other_messages_are_none(void **state)
{
    (void)state;
    /* pprof: a type of samples, a sample */
    assert_false(RECOGNISES("\x0a\x04\x08\x01\x10\x02\x12\x04\x0a\x02\x01\x02"));
    /* a program of XLA: its name, the name of its entry, a computation */
    assert_false(RECOGNISES("\x0a\x11\x0a\x05jit_f\x12\x04main\x1a\x02\x0a\x00"));
    /* a known field beside one that no packet has, and bytes that end in no field */
    assert_false(RECOGNISES("\x0a\x08\x0a\x02\x08\x01\xc0\x3e\x01\x01"));
    assert_false(RECOGNISES("\x0a\x04\x0a\x02\x08\x01\x12\x00"));
    assert_false(RECOGNISES("\x0a\x04\x0a\x02\x08\x01\x0a"));
    assert_false(RECOGNISES("\x0a\x00\x0a\x00"));
    assert_false(RECOGNISES("\x0a\x02\x0a"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_packets_of_the_kernel_and_of_processes),
        cmocka_unit_test(test_other_messages_are_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
