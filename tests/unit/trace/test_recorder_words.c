/* Hints are in the words of the program that recorded. */
#include "support_trace.h"
#include "trace/recorder_words.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void set_source(struct made_trace *made, const char *path, const char *format)
{
    made->trace.path = string_pool_add(&made->trace.strings, path, strlen(path));
    (void)snprintf(made->trace.read.format, sizeof made->trace.read.format, "%s", format);
}

static void no_words_of_another_recorder(void **state)
{
    static const char *const formats[] = {"torch-profiler", "nsight-systems 3.1", "xplane",
                                          "rocprofv3", "rpd"};
    struct made_trace made;

    (void)state;
    made_trace_init(&made);
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        const struct recorder_words *words;

        set_source(&made, "/nowhere/trace.json", formats[i]);
        words = recorder_words_for(&made.trace);
        assert_null(strstr(words->stacks, "--stacks"));
        assert_non_null(words->less_overhead);
        assert_null(strstr(words->memory, "--memory"));
        assert_null(strstr(words->needs_shapes, "--no-shapes"));
    }
    made_trace_clear(&made);
}

static void its_own_options_where_flopledger_recorded(void **state)
{
    char folder[] = "/tmp/recorder_words_XXXXXX";
    char side_file[sizeof folder + 16], trace[sizeof folder + 16];
    struct made_trace made;
    const struct recorder_words *words;
    FILE *file;

    (void)state;
    assert_non_null(mkdtemp(folder));
    (void)snprintf(side_file, sizeof side_file, "%s/capture.json", folder);
    (void)snprintf(trace, sizeof trace, "%s/a.json", folder);
    file = fopen(side_file, "w");
    assert_non_null(file);
    assert_int_equal(fclose(file), 0);
    made_trace_init(&made);
    set_source(&made, trace, "torch-profiler");
    words = recorder_words_for(&made.trace);
    assert_non_null(strstr(words->stacks, "--stacks"));
    assert_null(strstr(words->stacks, "with_stack"));
    assert_non_null(strstr(words->memory, "--memory"));
    assert_null(strstr(words->needs_shapes, "record_shapes"));
    made_trace_clear(&made);
    assert_int_equal(unlink(side_file), 0);
    assert_int_equal(rmdir(folder), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_words_of_another_recorder),
        cmocka_unit_test(its_own_options_where_flopledger_recorded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
