/* An SQLite database that `nsys export --type sqlite` wrote, opened to be read and nothing else:
 * what tables and columns it has is asked of the file, never taken from a version number. */
#ifndef FLOPLEDGER_READERS_NSYS_NSYS_DATABASE_H
#define FLOPLEDGER_READERS_NSYS_NSYS_DATABASE_H

#include "base/core/attributes.h"
#include "base/core/error.h"
#include "base/core/hash_map.h"
#include "base/core/string_pool.h"
#include "readers/nsys/nsys_guard.h"
#include "trace/read_account.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sqlite3;
struct sqlite3_stmt;

/* A zeroed one is closed. */
struct nsys_database {
    struct sqlite3 *connection;
    int64_t file_bytes;
    int64_t missing_bytes;      /* by which the file is shorter than its header says; 0: complete */
    int64_t surplus_bytes;      /* by which it is longer */
    char schema[32];            /* EXPORT_SCHEMA_VERSION: "3.25.0"; empty where not said */
    char product[64];           /* "2026.2.1.210"; empty where not said */
    struct string_pool strings; /* the values of StringIds */
    struct hash_map string_ids; /* id in StringIds: id in `strings` */
    bool has_strings;           /* StringIds was there and could be read to its end */
    char damage[256];           /* the first thing that could not be read; empty: none */
    struct string_pool opened;  /* tables whose rows were asked for */
    struct nsys_work work;      /* done by SQLite; private */
};

/* Nothing is written beside the file, whatever its state. Errors (ERROR_INPUT): not there, empty,
 * locked, with a journal beside it, not SQLite, damaged beyond use, not of Nsight Systems. A file
 * that is only cut is opened as far as it goes (missing_bytes). */
MUST_USE bool nsys_database_open(struct nsys_database *database, const char *path,
                                 struct error *error);
/* Likewise a database of any program, of which nothing is read yet. */
MUST_USE bool nsys_database_open_any(struct nsys_database *database, const char *path,
                                     struct error *error);
void nsys_database_clear(struct nsys_database *database);

/* The names of the tables that have rows of their own, in their order, one with each call of
 * nsys_next_table; at the end it gives NULL, and has freed the list. */
struct sqlite3_stmt *nsys_list_tables(struct nsys_database *database);
const char *nsys_next_table(struct sqlite3_stmt **list);

/* Says in `read` what of the file is cut, damaged or not read. */
void nsys_database_tell_damage(struct read_account *read, const struct nsys_database *database);

/* Tables with rows that nobody has opened, but for lists of what numbers mean (`lists`: how their
 * names begin): what of the file is not used. Rows are counted by their largest id. */
void nsys_database_tell_unused(struct read_account *read, struct nsys_database *database,
                               const char *lists);

enum { NSYS_TABLE_NAME_MAX = 128 };

/* The table's name as the file has it: `name`, else its latest form (NAME_V3 before NAME_V2). False
 * where there is none; `to` (NSYS_TABLE_NAME_MAX bytes) is then empty. A view or virtual table is
 * none: what it does is the file's own program. */
bool nsys_find_table(struct nsys_database *database, const char *name, char *to);
bool nsys_has_table(struct nsys_database *database, const char *name);
/* `table` as for nsys_find_table. */
bool nsys_has_column(struct nsys_database *database, const char *table, const char *column);

/* The first bytes of a file are those of an SQLite database. */
bool nsys_is_sqlite(const char *head, size_t length);

/* The text of StringIds with this id; NULL where there is none. */
const char *nsys_string(const struct nsys_database *database, int64_t id);

enum { NSYS_COLUMNS_MAX = 32 };

/* The rows of a table, one after the other. A zeroed one is closed. */
struct nsys_rows {
    struct nsys_database *database; /* not owned */
    struct sqlite3_stmt *statement;
    const char *table; /* as asked for; not owned */
    size_t column_count;
    uint32_t has; /* bit i: the table has column i */
};

/* Which rows of a table are wanted. */
struct nsys_condition {
    const char *text; /* over the table's own columns; ?1 stands for `parameter` */
    int64_t parameter;
};

/* `columns` ends with NULL; those that the table lacks read as NULL. A table that is not there has
 * no rows. Never fails: what cannot be read is told in database->damage. */
void nsys_rows_open(struct nsys_rows *rows, struct nsys_database *database, const char *table,
                    const char *const *columns);
/* Likewise those for which the condition holds; NULL: all. */
void nsys_rows_open_where(struct nsys_rows *rows, struct nsys_database *database, const char *table,
                          const char *const *columns, const struct nsys_condition *condition);
/* False at the end, and where the file cannot be read on (see database->damage). */
bool nsys_rows_next(struct nsys_rows *rows);
bool nsys_is_null(const struct nsys_rows *rows, int column);
/* Text or bytes where a number should be are told in database->damage, and read as NULL. */
int64_t nsys_integer(const struct nsys_rows *rows, int column, int64_t if_null);
double nsys_real(const struct nsys_rows *rows, int column, double if_null);
/* NULL for NULL; valid until the next row. */
const unsigned char *nsys_bytes(const struct nsys_rows *rows, int column, size_t *length);
const char *nsys_text(const struct nsys_rows *rows, int column);
void nsys_rows_clear(struct nsys_rows *rows);

static inline bool nsys_rows_has(const struct nsys_rows *rows, int column)
{
    return rows->has >> column & 1;
}

#endif
