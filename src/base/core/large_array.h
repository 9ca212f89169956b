/* Arrays that hold something for each event of a trace: memory while they are few, and beyond that
 * files without a name, so that a trace that is larger than the memory of the machine can be read.
 *
 * A file is mapped: its bytes are used as any others. The kernel keeps them in its page cache while
 * it has room, and on disk when it has not. Such arrays should be walked in order, or nearly. */
#ifndef FLOPLEDGER_BASE_CORE_LARGE_ARRAY_H
#define FLOPLEDGER_BASE_CORE_LARGE_ARRAY_H

#include <stdbool.h>
#include <stddef.h>

/* Up to half of memory_limit_bytes() (where that is not known, up to so many MiB) no file is made.
 * The environment variable of this name lowers it. Files are made in $TMPDIR, /var/tmp or /tmp, the
 * first of them that is on a disk with room; where there is none, everything stays in memory. */
#define LARGE_ARRAY_MEMORY_VARIABLE "FLOPLEDGER_MEMORY_MIB"
enum { LARGE_ARRAY_MEMORY_MIB = 192 };

/* Zeroed, aligned to 16 bytes, and when freed given to the next one or back to the system. Aborts
 * when memory ends. May be called by several threads. */
void *large_array_new(size_t bytes);

/* The array with room for `bytes` at least and for some more, moved if need be: what it held is
 * kept, the rest is zeroed. NULL is an empty array. */
void *large_array_grown(void *array, size_t bytes);

/* For how much there is room: at least for what was asked for. 0 for NULL. */
size_t large_array_bytes(void *array);

/* One that is filled at once, and holds anything before: in memory whatever else is there. */
void *large_array_in_memory(size_t bytes);

/* Gives back what lies behind its first `bytes`, which are all that is used from now on. */
void large_array_trim(void *array, size_t bytes);

/* Its content is written to a file where there is more in memory than may be: for what was filled
 * in memory. Returns where it now is. */
void *large_array_put_aside(void *array);

void large_array_free(void *array);

/* A file as those of the arrays, which nobody else sees and which is gone when it is closed and no
 * longer mapped, on a disk that has room for `bytes`; -1: there is none. */
int large_array_open_file(size_t bytes);
/* Writes `bytes` of `content`, or zeros where that is NULL, behind what was written. */
bool large_array_write_file(int file, const char *content, size_t bytes);

/* To the system at once, where others' pages are kept for arrays to come: of many that are freed
 * one by one while their content is copied into a larger one. */
void large_array_give_back(void *array);

#endif
