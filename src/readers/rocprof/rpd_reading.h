/* What the files of the reader of RocmProfileData (RPD) share. */
#ifndef FLOPLEDGER_READERS_ROCPROF_RPD_READING_H
#define FLOPLEDGER_READERS_ROCPROF_RPD_READING_H

#include "base/core/hash_map.h"
#include "readers/reader.h"
#include "readers/rocprof/rocprof_reading.h"
#include "readers/sqlite/sqlite_rows.h"

#include <stdbool.h>
#include <stdint.h>

/* ---- rows of several tables ---- */

/* A table of a query. All but the first are joined by a column of one before; a table or a column
 * that the file lacks reads as NULL, as do the tables joined to it. */
struct rpd_source {
    const char *table;
    const char *alias;
    const char *key;            /* its own column ... */
    const char *from_column;    /* ... and that of the table that it is joined to ... */
    const char *const *columns; /* ends with NULL; of all sources, one after the other */
    unsigned from;              /* ... which is this of the query's */
    bool is_required;           /* rows without its row are none */
};

struct rpd_query {
    const struct rpd_source *sources;
    unsigned count;
};

/* As sqlite_rows_open. */
void rpd_rows_open(struct sqlite_rows *rows, struct sqlite_input *database,
                   const struct rpd_query *query);

/* A table whose rows are asked for by a key, which is the first of its columns. */
struct rpd_table {
    struct sqlite_rows walked; /* beside those that ask, in the order of both */
    struct sqlite_rows asked;  /* one by one, of SQLite: what is not met there */
    const struct sqlite_rows *found;
    int64_t key; /* of `found` */
    bool has_key;
};

/* `columns` ends with NULL. Tables of which few rows are asked for are not walked. */
void rpd_table_open(struct rpd_table *table, struct sqlite_input *database, const char *name,
                    const char *const *columns, bool is_walked);

/* The row, whose values are there until another is asked for; NULL: there is none. */
const struct sqlite_rows *rpd_table_find(struct rpd_table *table, int64_t key);
void rpd_table_clear(struct rpd_table *table);

/* What a query answers first, of what the file has whatever its tables are called; -1: nothing. */
int64_t rpd_first_number(struct sqlite_input *database, const char *query);

/* ---- sets of ids ---- */

/* Ids of rows lie close together: a bit each. Zeroed is empty. */
struct rpd_ids {
    struct hash_map words; /* id / 64: index in `bits` */
    uint64_t *bits;        /* [count] */
    uint32_t count;
    int64_t id_count;  /* how many ids */
    uint64_t last_key; /* of the word that was asked for last, and its place */
    uint32_t last_word;
};

/* False where it is in it already. */
bool rpd_ids_add(struct rpd_ids *ids, int64_t id);
bool rpd_ids_has(const struct rpd_ids *ids, int64_t id);
void rpd_ids_clear(struct rpd_ids *ids);

/* ---- processes ---- */

/* A process with work on a device. */
struct rpd_part {
    int64_t pid;
    int64_t device; /* the lowest of its kernels */
};

/* By device, then pid: no rank stands in the file. */
struct rpd_parts {
    struct rpd_part parts[READER_PARTS_MAX];
    uint32_t count;
    bool are_too_many;
};

/* The first `most` that are found. */
void rpd_find_parts(struct rpd_parts *parts, struct sqlite_input *database, uint32_t most);

bool rpd_is_part(const struct rpd_parts *parts, int64_t pid);

/* Unless its process is there. */
void rpd_parts_add(struct rpd_parts *parts, const struct rpd_part *part);
void rpd_parts_sort(struct rpd_parts *parts);

/* ---- what words mean ---- */

/* What an op of this type is. */
enum rocprof_content rpd_content_of(const char *type);

/* What a call of this domain ("": not told) and name is. */
enum rocprof_content rpd_content_of_call(const char *domain, const char *name);

bool rpd_is_of_cuda(const char *call);

/* "HOST_TO_DEVICE": the way of a copy of this type, that a call of this name with this kind made.
 */
const char *rpd_way_of(const char *type, const char *call, int64_t kind);

/* The record has a name (rocprof_take_name). */
void rpd_add_call(struct rocprof_run *run, enum rocprof_content content,
                  const struct rocprof_record *record);

/* ---- one process on its way into a trace ---- */

/* What grids of launches count: the file does not say it, and its recorders differ. */
enum rpd_grids {
    RPD_GRIDS_UNKNOWN,
    RPD_GRIDS_IN_BLOCKS,
    RPD_GRIDS_IN_ITEMS, /* work-items */
};

/* What the words of a row tell. Strings are those of the builder. */
struct rpd_words {
    int64_t word; /* the id of an op's type, or of a call's name */
    int64_t domain;
    uint32_t name;
    uint32_t category; /* of ops */
    enum rocprof_content content;
    bool is_known;
};

enum { RPD_WORDS = 256 };

struct rpd_reading {
    struct sqlite_input *database; /* not owned */
    const struct rpd_parts *parts; /* not owned */
    uint32_t part;
    struct rocprof_run run;  /* its pid is -1 where all rows are of one process */
    struct hash_map strings; /* id in rocpd_string: id in the builder */
    struct rpd_ids linked;   /* ops that rocpd_api_ops names */
    struct rpd_ids taken;    /* ops that were read */
    struct rpd_ids sessions; /* of the process: the upper half of its ops' ids */
    struct rpd_table calls, launches, copied, texts; /* of ops */
    bool launches_are_of_calls;
    struct hash_map copies; /* id of a call: how many copies it made */
    enum rpd_grids grids;
    struct rpd_words op_words[RPD_WORDS], call_words[RPD_WORDS]; /* private */
};

/* Where texts of arguments are: since schema 3 in a table of their own. */
const char *rpd_text_table(struct sqlite_input *database);

/* "hipLaunchKernel" of its string's id; "": none. */
const char *rpd_string_text(const struct rpd_reading *reading, int64_t id);

/* Until others are asked for. */
const struct rpd_words *rpd_words_of_op(struct rpd_reading *reading, int64_t type);
const struct rpd_words *rpd_words_of_call(struct rpd_reading *reading, int64_t name,
                                          int64_t domain);

/* Kernels, copies and memsets. */
void rpd_read_ops(struct rpd_reading *reading);

#endif
