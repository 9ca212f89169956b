/* What SQLite alone takes to step through rows, for docs/formats/rocprofv3.md:
 *     gcc -O2 bench/sqlite_floor.c -o sqlite_floor -lsqlite3
 *     sqlite_floor DATABASE 'SELECT a, b FROM t' 'SELECT 1 FROM t WHERE keep(a, b)'
 * keep() does nothing and is never true: its values lie in SQLite's registers, which is the least
 * that asking for them can take. Prints seconds of processor time. */
#include <sqlite3.h>
#include <stdio.h>
#include <time.h>

static void keep(sqlite3_context *context, int count, sqlite3_value **values)
{
    (void)context;
    (void)count;
    (void)values;
}

int main(int count, char **arguments)
{
    sqlite3 *connection = NULL;
    const int flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX;

    if (count < 3 || sqlite3_open_v2(arguments[1], &connection, flags, NULL) != SQLITE_OK ||
        sqlite3_create_function(connection, "keep", -1, SQLITE_UTF8, NULL, keep, NULL, NULL))
        return 2;
    for (int i = 2; i < count; i++) {
        sqlite3_stmt *statement = NULL;
        int result = sqlite3_prepare_v2(connection, arguments[i], -1, &statement, NULL);

        while (result == SQLITE_OK || result == SQLITE_ROW)
            result = sqlite3_step(statement);
        if (result != SQLITE_DONE)
            fprintf(stderr, "%s: %s\n", arguments[i], sqlite3_errmsg(connection));
        sqlite3_finalize(statement);
    }
    printf("%.3f\n", (double)clock() / CLOCKS_PER_SEC);
    sqlite3_close(connection);
    return 0;
}
