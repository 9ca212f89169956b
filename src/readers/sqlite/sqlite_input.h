/* An SQLite database that a recorder wrote, opened to be read and nothing else: what tables and
 * columns it has is asked of the file, never taken from a version number. */
#ifndef FLOPLEDGER_READERS_SQLITE_SQLITE_INPUT_H
#define FLOPLEDGER_READERS_SQLITE_SQLITE_INPUT_H

#include "base/core/attributes.h"
#include "base/core/error.h"
#include "base/core/string_pool.h"
#include "trace/read_account.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sqlite3;
struct sqlite3_stmt;
struct sqlite_batch;

/* How much work SQLite does for a file. A zeroed one has done none. */
struct sqlite_work {
    int64_t done;
    int64_t most;
};

/* The longest text or bytes that are read. */
enum { SQLITE_INPUT_VALUE_BYTES_MAX = 64 << 20 };

/* A zeroed one is closed. */
struct sqlite_input {
    struct sqlite3 *connection;
    int64_t file_bytes;
    int64_t missing_bytes;      /* by which the file is shorter than its header says; 0: complete */
    int64_t surplus_bytes;      /* by which it is longer */
    char damage[256];           /* the first thing that could not be read; empty: none */
    struct string_pool tables;  /* with rows of their own; private, as this: */
    struct string_pool views;   /* and virtual tables, which are not read */
    bool has_tables;            /* these two are filled */
    struct string_pool opened;  /* tables whose rows were asked for */
    struct string_pool columns; /* of tables that were asked for; private */
    struct sqlite_work work;    /* done by SQLite; private */
    struct sqlite_batch *batch; /* where SQLite puts rows now; private to sqlite_batch.c, as this:
                                 */
    bool has_row_function;
};

/* Nothing is written beside the file, whatever its state, and SQLite is kept to reading rows of
 * real tables: no views, triggers, virtual tables, recursion, functions or other files; no value of
 * more than SQLITE_INPUT_VALUE_BYTES_MAX; and an end where the work is out of proportion to the
 * file's size. Errors (ERROR_INPUT): not there, empty, locked, with a journal beside it, not
 * SQLite, damaged beyond use. A file that is only cut is opened as far as it goes (missing_bytes).
 */
MUST_USE bool sqlite_input_open(struct sqlite_input *input, const char *path, struct error *error);
void sqlite_input_clear(struct sqlite_input *input);

/* The tables that have rows of their own, in the order of their names; NULL behind the last. */
const char *sqlite_table_name(struct sqlite_input *input, uint32_t index);

/* The names of the first tables, for a message. */
void sqlite_name_tables(struct sqlite_input *input, char *to, size_t size);

/* What SQLite says now, of the table, unless there was damage before. */
void sqlite_input_note_damage(struct sqlite_input *input, const char *table);

/* Says in `read` what of the file is cut, damaged or not read. */
void sqlite_input_tell_damage(struct read_account *read, const struct sqlite_input *input);

/* Tables with rows that nobody has opened, but for lists of what numbers mean (`lists`: how their
 * names begin): what of the file is not used. Rows are counted by their largest id. */
void sqlite_input_tell_unused(struct read_account *read, struct sqlite_input *input,
                              const char *lists);

enum { SQLITE_INPUT_NAME_MAX = 128, SQLITE_INPUT_COLUMNS_MAX = 32 };

/* The table's name as the file has it: `name`, else its latest form (NAME_V3 before NAME_V2). False
 * where there is none; `to` (SQLITE_INPUT_NAME_MAX bytes) is then empty. A view or virtual table is
 * none: what it does is the file's own program. */
bool sqlite_find_table(struct sqlite_input *input, const char *name, char *to);
bool sqlite_has_table(struct sqlite_input *input, const char *name);
/* `table` as for sqlite_find_table. */
bool sqlite_has_column(struct sqlite_input *input, const char *table, const char *column);

/* The first bytes of a file are those of an SQLite database. */
bool is_sqlite_head(const char *head, size_t length);

#endif
