/* One process of a database of rocprofv3 (rocpd) on its way into a trace. Private to its reader. */
#ifndef FLOPLEDGER_READERS_ROCPROF_ROCPD_READING_H
#define FLOPLEDGER_READERS_ROCPROF_ROCPD_READING_H

#include "base/core/hash_map.h"
#include "readers/rocprof/rocprof_reading.h"
#include "readers/sqlite/sqlite_rows.h"

#include <stdbool.h>
#include <stdint.h>

enum { ROCPD_SUFFIX_MAX = 64, ROCPD_GUID_MAX = 64 };

/* A process of the file. */
struct rocpd_part {
    char suffix[ROCPD_SUFFIX_MAX]; /* of the names of its tables: "_0198..."; empty: common tables
                                    */
    char guid[ROCPD_GUID_MAX];
    bool has_guid;   /* else all rows of the tables are its own */
    int64_t process; /* its row in info_process; -1: not told */
};

struct rocpd_parts {
    struct rocpd_part parts[READER_PARTS_MAX];
    uint32_t count;
    uint32_t most; /* no more are looked for */
    bool are_too_many;
};

/* Those with device work, `most` of them, with which the search ends; where there is none, all of
 * the first tables there are. */
void rocpd_find_parts(struct rocpd_parts *parts, struct sqlite_input *database, uint32_t most);

/* What the rows of table `region` have in common that have one name and one category. */
struct rocpd_region_words {
    bool is_known;
    int64_t name_id;
    int64_t category_id;
    uint32_t name;     /* in the builder's strings; 0: none */
    uint32_t category; /* as it is counted */
    enum rocprof_content content;
};

enum { ROCPD_REGION_WORDS = 256 };

struct rocpd_reading {
    struct sqlite_input *database; /* not owned */
    const struct rocpd_part *part;
    struct rocprof_run run;
    struct hash_map strings; /* id in rocpd_string: id in the builder */
    struct hash_map threads; /* row in rocpd_info_thread: index in thread_ids */
    int64_t *thread_ids;
    uint32_t thread_count;
    int64_t last_thread_row; /* whose thread was looked up last; -1: none */
    int64_t last_thread;
    struct hash_map dispatches; /* event of a kernel: index in `dispatched` */
    struct rocprof_count *dispatched;
    uint32_t dispatch_count;
    struct rocpd_region_words region_words[ROCPD_REGION_WORDS]; /* by a hash of both ids */
};

/* What is read of a table: columns of its own, and of the event that its rows name. */
struct rocpd_query {
    const char *table;
    const char *const *columns;       /* ends with NULL */
    const char *const *event_columns; /* ends with NULL; NULL: no event is asked for */
};

/* The rows of the process in a table; none where there is no such table. */
void rocpd_rows_open(struct sqlite_rows *rows, struct rocpd_reading *reading,
                     const struct rocpd_query *query);

/* Kernels, copies, calls and markers, and what is counted only: behind what names them. */
void rocpd_read_records(struct rocpd_reading *reading);

#endif
