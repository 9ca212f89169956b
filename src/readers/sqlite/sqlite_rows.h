/* Which rows of a recorder's table are wanted, and how these are asked for. */
#ifndef FLOPLEDGER_READERS_SQLITE_SQLITE_ROWS_H
#define FLOPLEDGER_READERS_SQLITE_SQLITE_ROWS_H

#include "readers/sqlite/sqlite_batch.h"

#include <stdint.h>

/* Which rows of a table are wanted. */
struct sqlite_condition {
    const char *text; /* over the table's own columns; ?1 stands for `parameter` */
    int64_t parameter;
};

/* `columns` ends with NULL; those that the table lacks read as NULL. A table that is not there has
 * no rows. Never fails: what cannot be read is told in input->damage. */
void sqlite_rows_open(struct sqlite_rows *rows, struct sqlite_input *input, const char *table,
                      const char *const *columns);
/* Likewise those for which the condition holds; NULL: all. */
void sqlite_rows_open_where(struct sqlite_rows *rows, struct sqlite_input *input, const char *table,
                            const char *const *columns, const struct sqlite_condition *condition);

/* Appends 'T.a, NULL, T.c' to what stands there of columns. One that the table (as the file names
 * it; empty: none) lacks is NULL, so callers need not know its versions. */
void sqlite_append_columns(struct sqlite3_str *text, struct sqlite_rows *rows, const char *table,
                           const char *alias, const char *const *columns);

#endif
