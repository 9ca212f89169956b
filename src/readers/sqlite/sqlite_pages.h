/* The rows of a table as its pages hold them, in the order of their numbers: SQLite finds and locks
 * the file, and reads pages of it; its machine, which decodes a column by some 150 instructions, is
 * left out. The form of a file is that of https://sqlite.org/fileformat2.html. */
#ifndef FLOPLEDGER_READERS_SQLITE_SQLITE_PAGES_H
#define FLOPLEDGER_READERS_SQLITE_SQLITE_PAGES_H

#include "readers/sqlite/sqlite_input.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sqlite3_file;
struct sqlite3_stmt;

/* A tree of a file with 2^32 pages, each with a row or two children, is not deeper. */
enum { SQLITE_TREE_LEVELS_MAX = 32 };

/* Private: a page on the way from the root to the present row. */
struct sqlite_page {
    const unsigned char *bytes; /* of one with rows in the window, else */
    unsigned char *own;
    const unsigned char *places; /* where its cells begin, two bytes each */
    uint32_t cell_count;
    uint32_t next;       /* the cell that is next; of children the last stands behind all cells */
    uint32_t last_child; /* 0: a leaf, which has rows */
};

/* A column that is asked for. */
struct sqlite_wanted {
    uint32_t column;  /* of the table */
    uint32_t columns; /* it lies so many behind the one before it */
    uint32_t cell;    /* of the row that is handed on */
    bool is_real;     /* SQLite keeps whole numbers of it as integers, and hands on real ones */
    bool is_key;      /* it is the row's number, for which NULL is stored */
};

struct sqlite_pages {
    struct sqlite3_stmt *lock; /* holds the file as it is, as long as it is not reset */
    struct sqlite3_file *file; /* the connection's */
    uint32_t page_bytes;
    uint32_t usable_bytes; /* of each page */
    uint32_t page_count;
    uint32_t pages_left; /* each page of a tree is met once */
    unsigned depth;
    struct sqlite_page levels[SQLITE_TREE_LEVELS_MAX];
    struct sqlite_page *present; /* the one of the present row */
    unsigned char *window;       /* pages that stand behind each other in the file */
    uint32_t window_first;
    uint32_t window_count;
    unsigned char *far_page; /* for what a row has on other pages ... */
    unsigned char *joined;   /* ... and the row put together */
    size_t joined_room;
    struct sqlite_wanted wanted[SQLITE_INPUT_COLUMNS_MAX]; /* in the order of the table's columns */
    unsigned wanted_count;
    unsigned key_columns;        /* of its primary key: one alone may be the row's number */
    const unsigned char *number; /* of the present row: a varint */
    const unsigned char *row;
    uint32_t row_bytes; /* SQLITE_PAGES_SLACK bytes behind it may be read */
};

enum { SQLITE_PAGES_SLACK = 32 };

/* Of a table (as the file names it) the columns that it has, of `columns`, which ends with NULL.
 * NULL: its rows must be asked of SQLite, as those of a file that is cut, of a table whose columns
 * are computed, or of one without numbers of rows. */
struct sqlite_pages *sqlite_pages_open(struct sqlite_input *input, const char *table,
                                       const char *const *columns);

/* False at the end, and where the tree is damaged. */
bool sqlite_pages_next(struct sqlite_pages *pages, bool *is_damaged);

void sqlite_pages_clear(struct sqlite_pages *pages);

/* Private. */
const unsigned char *sqlite_long_varint(const unsigned char *at, uint64_t *number);

/* A number of up to nine bytes, of seven bits each but the ninth; returns where it ends. Mostly it
 * has one. */
static inline const unsigned char *sqlite_varint(const unsigned char *at, uint64_t *number)
{
    *number = *at;
    return *at < 0x80 ? at + 1 : sqlite_long_varint(at, number);
}

#endif
