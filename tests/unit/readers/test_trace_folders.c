/* tests/traces: each file of succeed/ is read and says what its .expected file says; each of fail/
 * is refused with the message that its .expected file holds. */
#include "readers/open_trace.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { PATH_BYTES = 4096 };

static const char folder[] = "tests/traces";

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text);

    return length >= strlen(end) && strcmp(text + length - strlen(end), end) == 0;
}

/* The content of PATH.expected; empty where there is none. */
static void read_expected(const char *path, char *content, size_t size)
{
    char name[PATH_BYTES];
    FILE *file;

    (void)snprintf(name, sizeof name, "%s.expected", path);
    file = fopen(name, "r");
    content[0] = '\0';
    if (!file)
        return;
    content[fread(content, 1, size - 1, file)] = '\0';
    fclose(file);
}

static int64_t fact_of(const struct trace *trace, const char *fact)
{
    const struct read_account *read = &trace->read;
    const struct {
        const char *name;
        int64_t number;
    } facts[] = {
        {"events", read->events},
        {"host", trace->host_count},
        {"device", trace->device_count},
        {"damaged", read->damaged_events},
        {"truncated", read->is_truncated},
        {"unlinked", read->unlinked_device_events},
        {"negative", read->negative_durations},
        {"overflowing", read->overflowing_durations},
        {"missing_times", read->missing_times},
        {"unmatched_begins", read->unmatched_begins},
        {"unmatched_ends", read->unmatched_ends},
    };

    for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++) {
        if (strcmp(facts[i].name, fact) == 0)
            return facts[i].number;
    }
    fail_msg("there is no fact '%s'", fact);
    return -1;
}

static void check_facts(const char *path, const struct trace *trace)
{
    char expected[1024];
    char *rest = expected;

    read_expected(path, expected, sizeof expected);
    for (char *line = strsep(&rest, "\n"); line; line = strsep(&rest, "\n")) {
        char fact[64];
        long long number;

        if (sscanf(line, "%63s %lld", fact, &number) == 2 && fact_of(trace, fact) != number)
            fail_msg("%s: %s is %lld and not %lld", path, fact, (long long)fact_of(trace, fact),
                     number);
    }
}

static void check_success(const char *path)
{
    for (unsigned threads = 1; threads <= 2; threads++) {
        const struct read_options options = {.threads = threads};
        SCOPED(trace) trace = {0};
        struct error error = {0};

        if (!open_trace(&trace, path, &options, &error))
            fail_msg("%s", error.message);
        assert_string_equal(trace_text(&trace, trace.path), path);
        check_facts(path, &trace);
    }
}

static void check_failure(const char *path)
{
    const struct read_options options = {.threads = 2};
    struct trace trace = {0};
    struct error error = {0};
    char expected[1024];

    read_expected(path, expected, sizeof expected);
    assert_true(expected[0]);
    if (open_trace(&trace, path, &options, &error))
        fail_msg("%s: was read", path);
    assert_int_equal(error.class, ERROR_INPUT);
    if (!strstr(error.message, expected) || !strstr(error.message, path))
        fail_msg("the message is: %s", error.message);
    assert_int_equal(trace.host_count, 0);
}

static void for_each_file(const char *name, void (*check)(const char *path))
{
    char path[PATH_BYTES];
    DIR *entries;
    int count = 0;

    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    entries = opendir(path);
    assert_non_null(entries);
    for (struct dirent *entry = readdir(entries); entry; entry = readdir(entries)) {
        if (entry->d_name[0] == '.' || ends_with(entry->d_name, ".expected"))
            continue;
        (void)snprintf(path, sizeof path, "%s/%s/%s", folder, name, entry->d_name);
        check(path);
        count++;
    }
    closedir(entries);
    assert_true(count > 5);
}

static void what_must_be_read_is_read(void **state)
{
    (void)state;
    for_each_file("succeed", check_success);
}

static void what_is_no_trace_is_refused(void **state)
{
    (void)state;
    for_each_file("fail", check_failure);
}

static void a_file_that_is_not_there_is_told(void **state)
{
    const struct read_options options = {.threads = 1};
    struct trace trace = {0};
    struct error error = {0};

    (void)state;
    assert_false(open_trace(&trace, "no/such/trace.json", &options, &error));
    assert_string_equal(error.message, "'no/such/trace.json': no such file, check the path");
    assert_false(open_trace(&trace, folder, &options, &error));
    assert_non_null(strstr(error.message, "is a folder"));
    assert_int_equal(error.class, ERROR_INPUT);
    assert_non_null(all_readers()[0]->name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_must_be_read_is_read),
        cmocka_unit_test(what_is_no_trace_is_refused),
        cmocka_unit_test(a_file_that_is_not_there_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
