/* What is asked of the tables and values of a database: which columns there are, and what is an
 * integer. */
#include "base/core/error.h"
#include "readers/sqlite/sqlite_input.h"

#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

static char path[] = "/tmp/test_sqlite_rows_XXXXXX";

static void open_database(struct sqlite_input *input, const char *text)
{
    sqlite3 *connection = NULL;
    struct error error = {0};

    (void)unlink(path);
    assert_int_equal(sqlite3_open(path, &connection), SQLITE_OK);
    assert_int_equal(sqlite3_exec(connection, text, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_close(connection), SQLITE_OK);
    assert_true(sqlite_input_open(input, path, &error));
}

static void columns_are_those_that_the_file_has(void **state)
{
    SCOPED(sqlite_input) input = {0};

    (void)state;
    open_database(&input, "CREATE TABLE Kernel_V2(Start INT, made AS (start + 1)); "
                          "CREATE TABLE copy(size INT); CREATE VIEW seen AS SELECT 1 AS start");
    for (int i = 0; i < 2; i++) {
        assert_true(sqlite_has_column(&input, "kernel", "start"));
        assert_true(sqlite_has_column(&input, "KERNEL_V2", "START"));
        assert_false(sqlite_has_column(&input, "kernel", "made"));
        assert_false(sqlite_has_column(&input, "kernel", "size"));
        assert_true(sqlite_has_column(&input, "copy", "size"));
        assert_false(sqlite_has_column(&input, "copy", "start"));
        assert_false(sqlite_has_column(&input, "seen", "start"));
        assert_false(sqlite_has_column(&input, "none", "start"));
    }
}

static void integers_are_told_from_what_is_none(void **state)
{
    static const char *const columns[] = {"value", NULL};
    static const int64_t wanted[] = {INT64_MIN, 7, 2, -5, -5, 12};
    SCOPED(sqlite_input) input = {0};
    struct sqlite_rows rows;

    (void)state;
    open_database(&input, "CREATE TABLE t(value); INSERT INTO t VALUES(-9223372036854775807 - 1), "
                          "(7), (2.5), (NULL), (x'37'), ('12')");
    sqlite_rows_open(&rows, &input, "t", columns);
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        int64_t integer = 1;

        assert_true(sqlite_rows_next(&rows));
        assert_int_equal(sqlite_is_integer(&rows, 0, &integer), i < 2);
        assert_int_equal(integer, i < 2 ? wanted[i] : 1);
        assert_int_equal(sqlite_integer(&rows, 0, -5), wanted[i]);
    }
    assert_string_equal(input.damage, "t: text or bytes where a number was expected");
    sqlite_rows_clear(&rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_are_those_that_the_file_has),
        cmocka_unit_test(integers_are_told_from_what_is_none),
    };
    const int file = mkstemp(path);
    int failed;

    if (file >= 0)
        (void)close(file);
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    (void)unlink(path);
    return failed;
}
