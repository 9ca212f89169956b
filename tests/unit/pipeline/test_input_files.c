/* The files a command line names. */
#include "pipeline/input_files.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = "/tmp/flopledger-test-XXXXXX";

static const char *in_folder(const char *name)
{
    static char path[128];

    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void write_file(const char *name, const char *content)
{
    FILE *file = fopen(in_folder(name), "w");

    if (!file)
        abort();
    fputs(content, file);
    fclose(file);
}

static const char trace[] =
    "{\"traceEvents\": [{\"ph\": \"X\", \"name\": \"a\", \"ts\": 1, \"dur\": 1}]}";

static const char *const names[] = {"b.json",    "a.pt.trace", "empty.json",  "settings.json",
                                    "notes.txt", "empty.txt",  ".hidden.json"};

static int make_folder(void **state)
{
    if (!mkdtemp(folder))
        return -1;
    write_file("b.json", trace);
    write_file("a.pt.trace", trace);
    write_file("empty.json", "");
    write_file("settings.json", "{\"learning_rate\": 0.1}");
    write_file("notes.txt", "words");
    write_file("empty.txt", "");
    write_file(".hidden.json", trace);
    return mkdir(in_folder("sub.json"), 0700);
}

static int remove_folder(void **state)
{
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        unlink(in_folder(names[i]));
    rmdir(in_folder("sub.json"));
    return rmdir(folder);
}

static void a_folder_gives_its_traces_and_what_was_to_be_one(void **state)
{
    struct input_files files = {0};
    struct error error = {0};
    char *operands[] = {folder};

    assert_true(find_input_files(&files, operands, 1, &error));
    assert_int_equal(files.count, 3);
    assert_string_equal(files.files[0].path, in_folder("a.pt.trace"));
    assert_string_equal(files.files[1].path, in_folder("b.json"));
    assert_string_equal(files.files[2].path, in_folder("empty.json"));
    assert_int_equal(files.passed_over, 3);
    assert_int_equal(files.folders_passed_over, 1);
    assert_string_equal(files.first_passed_over, "empty.txt");
    assert_int_equal(files.bytes_in_all, 2 * strlen(trace));
    input_files_clear(&files);
    input_files_clear(NULL);
}

static void a_slash_behind_the_folder_stands_once(void **state)
{
    struct input_files files = {0};
    struct error error = {0};
    char operand[64];
    char *operands[] = {operand};

    snprintf(operand, sizeof operand, "%s/", folder);
    assert_true(find_input_files(&files, operands, 1, &error));
    assert_string_equal(files.files[1].path, in_folder("b.json"));
    input_files_clear(&files);
}

static void files_are_taken_as_they_are_named(void **state)
{
    struct input_files files = {0};
    struct error error = {0};
    char settings[128];
    char gone[] = "/gone/away.json";
    char pipe[] = "-";
    char *operands[] = {settings, gone, pipe};

    snprintf(settings, sizeof settings, "%s", in_folder("settings.json"));
    assert_true(find_input_files(&files, operands, 3, &error));
    assert_int_equal(files.count, 3);
    assert_string_equal(files.files[0].path, settings);
    assert_int_equal(files.files[1].bytes, -1);
    assert_string_equal(files.files[2].path, "-");
    assert_int_equal(files.bytes_in_all, -1);
    assert_int_equal(files.passed_over, 0);
    input_files_clear(&files);
}

static void what_cannot_be_is_told(void **state)
{
    struct input_files files = {0};
    struct error error = {0};
    char pipe[] = "-";
    char empty[128];
    char *twice[] = {pipe, pipe};
    char *nothing[] = {empty};

    assert_false(find_input_files(&files, NULL, 0, &error));
    assert_int_equal(error.class, ERROR_USAGE);
    assert_false(find_input_files(&files, twice, 2, &error));
    assert_int_equal(error.class, ERROR_USAGE);
    snprintf(empty, sizeof empty, "%s", in_folder("sub.json"));
    assert_false(find_input_files(&files, nothing, 1, &error));
    assert_int_equal(error.class, ERROR_INPUT);
    assert_non_null(strstr(error.message, "no trace in the folder"));
    assert_int_equal(files.count, 0);
}

static void what_was_passed_over_is_noted(void **state)
{
    struct input_files files = {.passed_over = 1, .first_passed_over = "notes.txt"};
    struct input_files folders = {.folders_passed_over = 2};
    struct input_files none = {0};
    struct results results = {0};

    results_init(&results);
    note_passed_over(&results, &none, NULL);
    assert_int_equal(results.problem_count, 0);
    note_passed_over(&results, &files, NULL);
    assert_int_equal(results.problem_count, 1);
    assert_string_equal(results.problems[0].what, "passed over as no traces: 1 file");
    assert_string_equal(results.problems[0].evidence, "the first of the files: 'notes.txt'");
    assert_false(results.problems[0].is_warning);
    note_passed_over(&results, &folders, "B");
    assert_int_equal(results.problem_count, 2);
    assert_string_equal(results.problems[1].what, "passed over as no traces in B: 2 folders");
    results_clear(&results);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_folder_gives_its_traces_and_what_was_to_be_one),
        cmocka_unit_test(a_slash_behind_the_folder_stands_once),
        cmocka_unit_test(files_are_taken_as_they_are_named),
        cmocka_unit_test(what_cannot_be_is_told),
        cmocka_unit_test(what_was_passed_over_is_noted),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
