/* What is asked of the tables and values of a database: which columns there are, what their rows
 * hold, and what is an integer. */
#include "base/core/error.h"
#include "readers/sqlite/sqlite_rows.h"

#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
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
    (void)sqlite3_exec(connection, "PRAGMA synchronous = OFF; PRAGMA journal_mode = OFF", NULL,
                       NULL, NULL);
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

/* The same value in the same form, whichever way it was read. */
static void assert_cell_equal(const struct sqlite_rows *pages, const struct sqlite_rows *query,
                              int column)
{
    size_t lengths[2] = {0, 0};
    int64_t integers[2] = {3, 3};
    const unsigned char *bytes[2];

    assert_int_equal(sqlite_is_null(pages, column), sqlite_is_null(query, column));
    assert_int_equal(sqlite_is_text(pages, column), sqlite_is_text(query, column));
    assert_int_equal(sqlite_is_integer(pages, column, &integers[0]),
                     sqlite_is_integer(query, column, &integers[1]));
    assert_int_equal(integers[0], integers[1]);
    bytes[0] = sqlite_bytes(pages, column, &lengths[0]);
    bytes[1] = sqlite_bytes(query, column, &lengths[1]);
    assert_int_equal(lengths[0], lengths[1]);
    if (lengths[0] > 0)
        assert_memory_equal(bytes[0], bytes[1], lengths[0]);
}

static int64_t assert_rows_equal(struct sqlite_input *input, bool is_of_pages)
{
    static const char *const columns[] = {"d", "id", "a", "none", "c", "b", "a", "id2", NULL};
    const struct sqlite_condition all = {"1", 0};
    struct sqlite_rows pages, query;
    int64_t count = 0;

    sqlite_rows_open(&pages, input, "t", columns);
    sqlite_rows_open_where(&query, input, "t", columns, &all);
    assert_int_equal(pages.pages != NULL, is_of_pages);
    assert_null(query.pages);
    for (; sqlite_rows_next(&query); count++) {
        assert_true(sqlite_rows_next(&pages));
        for (int i = 0; columns[i]; i++)
            assert_cell_equal(&pages, &query, i);
    }
    assert_false(sqlite_rows_next(&pages));
    assert_string_equal(input->damage, "");
    sqlite_rows_clear(&pages);
    sqlite_rows_clear(&query);
    return count;
}

#define NUMBERS(count) "WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT " #count ") "
/* Integers of each size, texts and bytes around what a page holds and far beyond it. */
#define VALUES                                                                                   \
    " i, CASE i % 5 WHEN 0 THEN NULL WHEN 1 THEN 2.5 * i WHEN 2 THEN (1 - i % 2 * 2) << i % 64 " \
    "WHEN 3 THEN printf('%.*c', i * 7 % 1500, 'x') ELSE zeroblob(i * 11 % 700) END, i % 3, "     \
    "CASE i % 16 WHEN 0 THEN printf('%.*c', i * 997 % 70000, 'y') ELSE -i END "

/* So many that their types are longer than those of which the places of values are kept. */
#define MANY_COLUMNS                                                                  \
    "CREATE TABLE t(f, g, h, i, j, k, l, m, n, o, p, q, r, s, u, v, w, x, y, z, aa, " \
    "ab, ac, ad, ae, af, ag, ah, ai, aj"

static void pages_have_the_rows_of_queries(void **state)
{
    static const struct {
        const char *table;
        bool is_of_pages;
    } cases[] = {
        {"CREATE TABLE t(id INTEGER PRIMARY KEY, a, b REAL, c)", true},
        {"CREATE TABLE t(id INT PRIMARY KEY, a, b DOUBLE PRECISION, c TEXT)", true},
        {MANY_COLUMNS ", id INTEGER PRIMARY KEY, a, b REAL, c)", true},
        {"CREATE TABLE t(id INTEGER, a INTEGER, b, c, id2, PRIMARY KEY(id2, id))", true},
        {"CREATE TABLE t(id INTEGER PRIMARY KEY, a, b REAL, c) WITHOUT ROWID", false},
        {"CREATE TABLE t(id INTEGER PRIMARY KEY, a, b REAL, c, d AS (a))", false},
        {"CREATE TABLE t(id INTEGER PRIMARY KEY, a, b FLOAT, c, d DEFAULT 7)", false},
        {"PRAGMA encoding = 'UTF-16le'; CREATE TABLE t(id INTEGER PRIMARY KEY, a, b, c)", false},
    };
    static const char *const sizes[] = {"512", "4096", "65536"};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases * 3; i++) {
        SCOPED(sqlite_input) input = {0};
        char *text = sqlite3_mprintf(
            "PRAGMA page_size = %s; %s; %s", sizes[i % 3], cases[i / 3].table,
            "INSERT INTO t(id, a, b, c) " NUMBERS(
                900) "SELECT" VALUES "FROM n; DELETE FROM t WHERE id % 7 = 0 OR id > 880");

        open_database(&input, text);
        sqlite3_free(text);
        assert_int_equal(assert_rows_equal(&input, cases[i / 3].is_of_pages), 880 - 880 / 7);
    }
}

/* A row that is older than a column has no value for it. */
static void columns_that_came_later_are_null(void **state)
{
    SCOPED(sqlite_input) input = {0};

    (void)state;
    open_database(&input, "CREATE TABLE t(id INTEGER PRIMARY KEY, a); INSERT INTO t VALUES(-4, 5); "
                          "ALTER TABLE t ADD COLUMN b REAL; ALTER TABLE t ADD COLUMN d; "
                          "INSERT INTO t VALUES(9223372036854775807, 'x', 3, NULL)");
    assert_int_equal(assert_rows_equal(&input, true), 2);
}

/* Of these two only the second is the number of a row, and the first may be NULL: SQLite keeps a
 * fault of its first versions. */
static void keys_that_descend_are_values(void **state)
{
    static const char *const tables[] = {"id INTEGER PRIMARY KEY DESC, a, b, d",
                                         "id INTEGER, a, b, d, PRIMARY KEY(id DESC)"};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        SCOPED(sqlite_input) input = {0};
        char *text = sqlite3_mprintf("CREATE TABLE t(%s); INSERT INTO t VALUES(70, 1, 2, 3), "
                                     "(NULL, 4, 5, 6), (9, 7, 8, 9)",
                                     tables[i]);

        open_database(&input, text);
        sqlite3_free(text);
        assert_int_equal(assert_rows_equal(&input, true), 3);
    }
}

/* Whatever a page says: an end, or other rows, and damage where SQLite tells it. */
static void damaged_pages_end_the_rows(void **state)
{
    static const char *const columns[] = {"a", "b", NULL};
    static const char word[] = "database disk image is malformed";
    int told = 0;

    (void)state;
    for (unsigned i = 0; i < 150; i++) {
        SCOPED(sqlite_input) input = {0};
        struct sqlite_rows rows;
        unsigned char bytes[4];
        int64_t count = 0;
        FILE *file;

        open_database(&input,
                      "PRAGMA page_size = 512; CREATE TABLE t(a, b); INSERT INTO t " NUMBERS(
                          60) "SELECT i, printf('%.*c', i * i, 'z') FROM n");
        file = fopen(path, "r+b");
        assert_non_null(file);
        for (unsigned k = 0; k < 4; k++)
            bytes[k] = (unsigned char)(i * 2654435761U >> (8 * k));
        (void)fseek(file, 512 + (long)(i * 7919U % 5000), SEEK_SET);
        assert_int_equal(fwrite(bytes, 1, sizeof bytes, file), sizeof bytes);
        assert_int_equal(fclose(file), 0);
        sqlite_rows_open(&rows, &input, "t", columns);
        while (sqlite_rows_next(&rows))
            count++;
        assert_true(count <= 512);
        told += strstr(input.damage, word) != NULL;
        sqlite_rows_clear(&rows);
    }
    assert_in_range(told, 5, 149);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_are_those_that_the_file_has),
        cmocka_unit_test(integers_are_told_from_what_is_none),
        cmocka_unit_test(all_rows_come_in_their_order),
        cmocka_unit_test(values_are_given_in_the_form_that_is_asked_for),
        cmocka_unit_test(pages_have_the_rows_of_queries),
        cmocka_unit_test(columns_that_came_later_are_null),
        cmocka_unit_test(keys_that_descend_are_values),
        cmocka_unit_test(damaged_pages_end_the_rows),
    };
    const int file = mkstemp(path);
    int failed;

    if (file >= 0)
        (void)close(file);
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    (void)unlink(path);
    return failed;
}
