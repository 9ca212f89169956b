/* The rows of a report of nsys-stats: typed cells, which CSV, JSON and the screen each write in
 * their way. */
#ifndef FLOPLEDGER_READERS_NSYS_STATS_STATS_TABLE_H
#define FLOPLEDGER_READERS_NSYS_STATS_STATS_TABLE_H

#include "base/core/string_pool.h"

#include <stddef.h>
#include <stdint.h>

enum stats_kind {
    STATS_NONE, /* empty */
    STATS_TEXT,
    STATS_INTEGER,
    STATS_TENTHS,    /* a real number, shown with one decimal */
    STATS_MEGABYTES, /* a number of bytes, shown as MB (1e6 bytes) with three decimals */
};

struct stats_cell {
    enum stats_kind kind;
    union {
        int64_t integer;
        double real;
        const char *text; /* in the table's texts, or static */
    };
};

struct stats_table {
    const char *const *columns; /* NULL-terminated titles; static */
    size_t column_count;
    struct stats_cell *cells; /* [row_count * column_count]; a large array */
    size_t row_count;
    struct string_pool texts; /* names repeat: each is kept once */
};

/* `table` must be zeroed. */
void stats_table_init(struct stats_table *table, const char *const *columns);
/* A new row at the end, all cells empty; valid until the next row. */
struct stats_cell *stats_table_add_row(struct stats_table *table);
/* Sorts the rows; the order of equal ones stays. */
void stats_table_sort(struct stats_table *table,
                      int (*compare)(const struct stats_cell *a, const struct stats_cell *b));
void stats_table_clear(struct stats_table *table);

/* NULL gives an empty cell; the text is copied into the table. */
struct stats_cell stats_text(struct stats_table *table, const char *text);
struct stats_cell stats_integer(int64_t integer);
/* Rounded half away from zero to one decimal, as SQLite's round(x, 1) does. */
struct stats_cell stats_tenths(double real);
struct stats_cell stats_megabytes(double bytes);

#endif
