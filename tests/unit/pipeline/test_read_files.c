/* Several files at once: who comes first, and what becomes of those that fail. */
#include "pipeline/read_files.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { FILE_COUNT = 20 };

static char folder[] = "/tmp/flopledger-test-XXXXXX";
static char paths[FILE_COUNT + 1][64];

/* File i is of rank FILE_COUNT - i; the last two tell no rank. */
static int make_files(void **state)
{
    if (!mkdtemp(folder))
        return -1;
    for (int i = 0; i < FILE_COUNT; i++) {
        FILE *file;

        snprintf(paths[i], sizeof paths[i], "%s/%02d.json", folder, i);
        file = fopen(paths[i], "w");
        if (!file)
            return -1;
        fputs("{", file);
        if (i < FILE_COUNT - 2)
            fprintf(file, "\"distributedInfo\": {\"rank\": %d, \"world_size\": 20},",
                    FILE_COUNT - i);
        fputs("\"traceEvents\": [{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"a\", \"pid\": 1,"
              " \"tid\": 1, \"ts\": 1, \"dur\": 1}]}",
              file);
        fclose(file);
    }
    snprintf(paths[FILE_COUNT], sizeof paths[FILE_COUNT], "%s/gone.json", folder);
    return 0;
}

static int remove_files(void **state)
{
    for (int i = 0; i < FILE_COUNT; i++)
        unlink(paths[i]);
    return rmdir(folder);
}

static bool take(struct results *results, const struct trace *trace, const void *context,
                 struct error *error)
{
    const int64_t *refused = context;
    const char *path = results_text(results, trace_text(trace, trace->path));

    if (trace->facts.rank == *refused)
        return error_set(error, ERROR_NO_DATA, "not rank %d", (int)*refused);
    results_add_rank(results, path, path, trace->facts.rank, 0);
    return true;
}

static struct files_read read_all(struct results *results, size_t count, unsigned threads,
                                  int64_t refused)
{
    struct input_file list[FILE_COUNT + 1];
    struct input_files files = {.files = list, .count = count, .bytes_in_all = -1};
    struct file_reading reading = {.threads = threads, .use = take, .context = &refused};
    struct files_read outcome = {0};

    for (size_t i = 0; i < count; i++)
        list[i] =
            (struct input_file){.path = paths[FILE_COUNT + 1 - count + i], .bytes = -1, .rank = -1};
    results_init(results);
    read_files(&outcome, results, &files, &reading);
    return outcome;
}

static void ranks_come_in_order_whatever_the_threads(void **state)
{
    static const unsigned threads[] = {1, 2, 7, 50};

    for (size_t i = 0; i < sizeof threads / sizeof threads[0]; i++) {
        struct results results = {0};
        struct files_read outcome = read_all(&results, FILE_COUNT + 1, threads[i], 99);

        assert_int_equal(outcome.used_count, FILE_COUNT);
        assert_int_equal(outcome.failed_count, 1);
        assert_int_equal(results.rank_count, FILE_COUNT);
        for (int j = 0; j < FILE_COUNT - 2; j++)
            assert_int_equal(results.ranks[j].rank, 3 + j);
        assert_int_equal(results.ranks[FILE_COUNT - 2].rank, -1);
        assert_string_equal(results.ranks[FILE_COUNT - 2].file, paths[FILE_COUNT - 2]);
        assert_string_equal(results.ranks[FILE_COUNT - 1].file, paths[FILE_COUNT - 1]);
        results_clear(&results);
    }
}

static void what_fails_is_a_problem_and_the_rest_goes_on(void **state)
{
    struct results results = {0};
    struct files_read outcome = read_all(&results, FILE_COUNT + 1, 3, 10);
    struct error error = {0};

    assert_int_equal(outcome.used_count, FILE_COUNT - 1);
    assert_int_equal(outcome.failed_count, 2);
    assert_int_equal(results.problem_count, 2);
    assert_string_equal(results.problems[0].what, "not rank 10");
    assert_true(results.problems[0].is_warning);
    assert_int_equal(outcome.first_error.class, ERROR_INPUT); /* worse than no data */
    assert_false(check_files_read(&outcome, &error));
    assert_int_equal(error.class, ERROR_PARTIAL);
    assert_non_null(strstr(error.message, "2 of 21 files could not be used"));
    results_clear(&results);
}

static void nothing_to_complain_of(void **state)
{
    const struct files_read good = {.used_count = 3};
    const struct files_read damaged = {.used_count = 3, .damaged_count = 1};
    struct error error = {0};

    assert_true(check_files_read(&good, &error));
    assert_false(check_files_read(&damaged, &error));
    assert_int_equal(error.class, ERROR_PARTIAL);
    assert_true(default_thread_count() >= 1);
}

static void one_file_that_fails_is_all_that_fails(void **state)
{
    struct results results = {0};
    struct files_read outcome = read_all(&results, 1, 4, 99);

    assert_int_equal(outcome.used_count, 0);
    assert_int_equal(outcome.first_error.class, ERROR_INPUT);
    assert_non_null(strstr(outcome.first_error.message, "gone.json"));
    results_clear(&results);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_come_in_order_whatever_the_threads),
        cmocka_unit_test(what_fails_is_a_problem_and_the_rest_goes_on),
        cmocka_unit_test(nothing_to_complain_of),
        cmocka_unit_test(one_file_that_fails_is_all_that_fails),
    };

    return cmocka_run_group_tests(tests, make_files, remove_files);
}
