/* The rows of a recorder's table, one after the other, taken from its pages where all of one table
 * are wanted (sqlite_pages.h), else of a query.
 *
 * There SQLite hands each row to a function of ours, which stands in the condition of the query and
 * keeps the row's values in a batch: it is false until the batch is full. A step of SQLite, and a
 * question to it for each value, would take half as much again as SQLite itself takes for the row.
 */
#ifndef FLOPLEDGER_READERS_SQLITE_SQLITE_BATCH_H
#define FLOPLEDGER_READERS_SQLITE_SQLITE_BATCH_H

#include "readers/sqlite/sqlite_input.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sqlite3_str;
struct sqlite_pages;

enum sqlite_cell_type {
    SQLITE_CELL_NULL,
    SQLITE_CELL_INTEGER,
    SQLITE_CELL_REAL,
    SQLITE_CELL_TEXT,
    SQLITE_CELL_BYTES
};

/* Private: a value of a row. */
struct sqlite_cell {
    union {
        int64_t integer;
        double real;
        size_t text; /* where its bytes begin in those of the batch; a 0 is behind them */
    } is;
    uint32_t bytes;
    uint8_t type; /* enum sqlite_cell_type */
};

/* A zeroed one is closed. */
struct sqlite_rows {
    struct sqlite_input *input; /* not owned */
    struct sqlite3_stmt *statement;
    struct sqlite_pages *pages; /* of which rows are taken; NULL: of the statement */
    const char *table;          /* as asked for; not owned */
    size_t column_count;
    uint32_t has;                  /* bit i: the table has column i */
    const struct sqlite_cell *row; /* the present one; private, as what follows */
    struct sqlite_batch *batch;
    size_t rows_left; /* of the batch, behind the present one */
    bool is_at_end;   /* of what SQLite has */
    bool is_damaged;  /* what is behind it cannot be read */
};

/* For queries of other forms: behind "SELECT 1 FROM ...", between sqlite_append_rows_begin and
 * sqlite_append_rows_end with the same condition (NULL: none), which is over the table that is
 * walked first. */
void sqlite_append_rows_begin(struct sqlite3_str *text, struct sqlite_rows *rows,
                              const char *condition);
void sqlite_append_rows_end(struct sqlite3_str *text, const char *condition);

/* From the first row again, with another value for ?1. */
void sqlite_rows_restart(struct sqlite_rows *rows, int64_t parameter);

/* Moves to the row of which the first column is `key`, where it is among those nearby: at or behind
 * the present row, or in its batch. False: it may be elsewhere. */
bool sqlite_rows_seek(struct sqlite_rows *rows, int64_t key);

/* Private: reads the next batch. */
bool sqlite_rows_fill(struct sqlite_rows *rows);

/* False at the end, and where the file cannot be read on (see input->damage). */
static inline bool sqlite_rows_next(struct sqlite_rows *rows)
{
    if (rows->rows_left == 0)
        return sqlite_rows_fill(rows);
    rows->rows_left--;
    rows->row += rows->column_count;
    return true;
}

static inline bool sqlite_is_null(const struct sqlite_rows *rows, int column)
{
    return rows->row[column].type == SQLITE_CELL_NULL;
}

static inline bool sqlite_is_text(const struct sqlite_rows *rows, int column)
{
    return rows->row[column].type == SQLITE_CELL_TEXT;
}

static inline bool sqlite_is_integer(const struct sqlite_rows *rows, int column, int64_t *integer)
{
    const struct sqlite_cell *cell = &rows->row[column];

    if (cell->type != SQLITE_CELL_INTEGER)
        return false;
    *integer = cell->is.integer;
    return true;
}

/* Private: of what is no integer. */
int64_t sqlite_integer_of_other(const struct sqlite_rows *rows, int column, int64_t if_null);

/* Text or bytes where a number should be are told in input->damage, and read as NULL. */
static inline int64_t sqlite_integer(const struct sqlite_rows *rows, int column, int64_t if_null)
{
    const struct sqlite_cell *cell = &rows->row[column];

    return cell->type == SQLITE_CELL_INTEGER ? cell->is.integer
                                             : sqlite_integer_of_other(rows, column, if_null);
}

double sqlite_real(const struct sqlite_rows *rows, int column, double if_null);
/* NULL for NULL; valid until the next row. */
const unsigned char *sqlite_bytes(const struct sqlite_rows *rows, int column, size_t *length);
const char *sqlite_text(const struct sqlite_rows *rows, int column);
void sqlite_rows_clear(struct sqlite_rows *rows);

static inline bool sqlite_rows_has(const struct sqlite_rows *rows, int column)
{
    return rows->has >> column & 1;
}

#endif
