/* Which processes a database of rocprofv3 holds. Private to its reader. */
#ifndef FLOPLEDGER_READERS_ROCPROF_ROCPD_PARTS_H
#define FLOPLEDGER_READERS_ROCPROF_ROCPD_PARTS_H

#include "readers/reader.h"
#include "readers/sqlite/sqlite_input.h"

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
    bool are_too_many;
};

/* Those with device work; where there is none, all of the first tables there are. */
void rocpd_find_parts(struct rocpd_parts *parts, struct sqlite_input *database);

#endif
