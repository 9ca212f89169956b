/* What a database from a stranger may make SQLite do: read rows of real tables, and no more. */
#include "readers/nsys/nsys_guard.h"

#include <sqlite3.h>
#include <stddef.h>
#include <strings.h>

/* Steps of SQLite's machine between two looks at the work done, for any file, and for each of its
 * bytes: a row of a few bytes takes some 30 steps, and each of a hundred ranks reads it again. */
enum { LOOK_STEPS = 100000, STEPS_OF_ANY_FILE = 200000000, STEPS_A_BYTE = 2000 };

static int nsys_guard_is_one_of(const char *name, const char *const *names)
{
    for (; name && *names; names++)
        if (strcasecmp(name, *names) == 0)
            return 1;
    return 0;
}

/* `inner`: the view or trigger that asks; NULL: a query of ours. SQLite calls it so.
 * NOLINTNEXTLINE(readability-function-size) */
static int authorize(void *unused, int action, const char *first, const char *second,
                     const char *schema, const char *inner)
{
    static const char *const functions[] = {"count", "min", "max", NULL};
    static const char *const lists_of_tables[] = {"sqlite_master", "sqlite_temp_master", NULL};
    static const char *const pragmas[] = {"table_info", NULL};

    (void)unused;
    (void)schema;
    if (inner)
        return SQLITE_DENY;
    switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
        return SQLITE_OK;
    case SQLITE_UPDATE: /* so is asked when the list of tables is read; nothing can be written */
        return nsys_guard_is_one_of(first, lists_of_tables) ? SQLITE_OK : SQLITE_DENY;
    case SQLITE_FUNCTION:
        return nsys_guard_is_one_of(second, functions) ? SQLITE_OK : SQLITE_DENY;
    case SQLITE_PRAGMA:
        return nsys_guard_is_one_of(first, pragmas) ? SQLITE_OK : SQLITE_DENY;
    default:
        return SQLITE_DENY;
    }
}

static int note_work(void *context)
{
    struct nsys_work *work = context;

    work->done += LOOK_STEPS;
    return work->done > work->most;
}

void nsys_guard(struct sqlite3 *connection, struct nsys_work *work, int64_t file_bytes)
{
    static const int off[] = {SQLITE_DBCONFIG_TRUSTED_SCHEMA, SQLITE_DBCONFIG_ENABLE_VIEW,
                              SQLITE_DBCONFIG_ENABLE_TRIGGER, SQLITE_DBCONFIG_ENABLE_FTS3_TOKENIZER,
                              SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION};
    static const int limits[][2] = {{SQLITE_LIMIT_LENGTH, NSYS_VALUE_BYTES_MAX},
                                    {SQLITE_LIMIT_SQL_LENGTH, 1 << 20},
                                    {SQLITE_LIMIT_EXPR_DEPTH, 50},
                                    {SQLITE_LIMIT_COMPOUND_SELECT, 4},
                                    {SQLITE_LIMIT_FUNCTION_ARG, 8},
                                    {SQLITE_LIMIT_ATTACHED, 0},
                                    {SQLITE_LIMIT_TRIGGER_DEPTH, 1},
                                    {SQLITE_LIMIT_WORKER_THREADS, 0}};

    (void)sqlite3_db_config(connection, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    for (size_t i = 0; i < sizeof off / sizeof *off; i++)
        (void)sqlite3_db_config(connection, off[i], 0, NULL);
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        (void)sqlite3_limit(connection, limits[i][0], limits[i][1]);
    (void)sqlite3_exec(connection, "PRAGMA temp_store = MEMORY; PRAGMA mmap_size = 0", NULL, NULL,
                       NULL);
    work->most = file_bytes < INT64_MAX / STEPS_A_BYTE - STEPS_OF_ANY_FILE
                     ? file_bytes * STEPS_A_BYTE + STEPS_OF_ANY_FILE
                     : INT64_MAX;
    (void)sqlite3_set_authorizer(connection, authorize, NULL);
    sqlite3_progress_handler(connection, LOOK_STEPS, note_work, work);
}
