/* What is asked of the tables and values of a database: which columns there are, what their rows
 * hold, and what is an integer. */
#include "base/core/error.h"
#include "readers/sqlite/sqlite_rows.h"

#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
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

/* Texts of up to 4 KiB fill batches before numbers do. */
static void all_rows_come_in_their_order(void **state)
{
    static const char *const columns[] = {"id", "text", NULL};
    const struct sqlite_condition later = {"T.id > ?1", 4990};
    SCOPED(sqlite_input) input = {0};
    struct sqlite_rows rows;
    int64_t count = 0;

    (void)state;
    open_database(&input, "CREATE TABLE t(id INTEGER PRIMARY KEY, text); "
                          "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT "
                          "5000) INSERT INTO t SELECT i, CASE WHEN i > 2000 THEN "
                          "printf('%.*c', i % 4096, 'x') || i ELSE i END FROM n");
    sqlite_rows_open(&rows, &input, "t", columns);
    while (sqlite_rows_next(&rows)) {
        const char *text = sqlite_text(&rows, 1);
        const size_t length = strlen(text);
        const int64_t before = ++count > 2000 ? (count % 4096 ? count % 4096 : 1) : 0;

        assert_int_equal(sqlite_integer(&rows, 0, -1), count);
        assert_int_equal(sqlite_is_text(&rows, 1), count > 2000);
        assert_true((size_t)before < length && strspn(text, "x") == (size_t)before);
        assert_int_equal(strtoll(text + before, NULL, 10), count);
    }
    assert_false(sqlite_rows_next(&rows));
    assert_int_equal(count, 5000);
    sqlite_rows_clear(&rows);
    sqlite_rows_open_where(&rows, &input, "t", columns, &later);
    for (count = 4990; sqlite_rows_next(&rows); count++)
        assert_int_equal(sqlite_integer(&rows, 0, -1), count + 1);
    assert_int_equal(count, 5000);
    assert_string_equal(input.damage, "");
    sqlite_rows_clear(&rows);
}

static void values_are_given_in_the_form_that_is_asked_for(void **state)
{
    static const char *const columns[] = {"a", "b", "c", "d", "e", NULL};
    SCOPED(sqlite_input) input = {0};
    struct sqlite_rows rows;
    size_t length = 7;

    (void)state;
    open_database(&input,
                  "CREATE TABLE t(a, b, c, d); "
                  "INSERT INTO t VALUES(12, 2.5, x'00ff', '1e300'), (1e300, '', x'', NULL)");
    sqlite_rows_open(&rows, &input, "t", columns);
    assert_true(sqlite_rows_next(&rows));
    assert_string_equal(sqlite_text(&rows, 0), "12");
    assert_string_equal(sqlite_text(&rows, 1), "2.5");
    assert_true(sqlite_real(&rows, 0, 0) == 12.0 && sqlite_real(&rows, 1, 0) == 2.5);
    assert_true(sqlite_real(&rows, 3, 0) == 1e300);
    assert_memory_equal(sqlite_bytes(&rows, 2, &length), "\0\xff", 2);
    assert_int_equal(length, 2);
    assert_true(sqlite_is_null(&rows, 4) && !sqlite_text(&rows, 4));
    assert_true(sqlite_rows_next(&rows));
    assert_int_equal(sqlite_integer(&rows, 0, -1), INT64_MAX);
    assert_string_equal(sqlite_text(&rows, 1), "");
    assert_null(sqlite_bytes(&rows, 2, &length));
    assert_int_equal(length, 0);
    assert_true(sqlite_is_null(&rows, 3));
    assert_false(sqlite_rows_next(&rows));
    assert_string_equal(input.damage, "");
    sqlite_rows_clear(&rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_are_those_that_the_file_has),
        cmocka_unit_test(integers_are_told_from_what_is_none),
        cmocka_unit_test(all_rows_come_in_their_order),
        cmocka_unit_test(values_are_given_in_the_form_that_is_asked_for),
    };
    const int file = mkstemp(path);
    int failed;

    if (file >= 0)
        (void)close(file);
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    (void)unlink(path);
    return failed;
}
