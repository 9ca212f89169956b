/* What a database from a stranger may make SQLite do: read rows of real tables, and no more. */
#ifndef FLOPLEDGER_READERS_NSYS_NSYS_GUARD_H
#define FLOPLEDGER_READERS_NSYS_NSYS_GUARD_H

#include <stdint.h>

struct sqlite3;

/* How much work is done for a file. A zeroed one has done none. */
struct nsys_work {
    int64_t done;
    int64_t most;
};

/* The longest text or bytes that are read. */
enum { NSYS_VALUE_BYTES_MAX = 64 << 20 };

/* No views, triggers, virtual tables, recursion, functions or other files; no value of more than
 * 64 MiB; and an end where the work is out of proportion to the file's size. Before the first
 * query; `work` must outlive the connection. */
void nsys_guard(struct sqlite3 *connection, struct nsys_work *work, int64_t file_bytes);

#endif
