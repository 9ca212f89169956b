/* Files and folders while they are written: their names, what a killed process left of them, and
 * that they go where memory runs out, as they do after any other error. */
#ifndef FLOPLEDGER_BASE_IO_HALF_WRITTEN_H
#define FLOPLEDGER_BASE_IO_HALF_WRITTEN_H

#include "base/core/attributes.h"

#include <stdbool.h>

/* Where this process writes what is to stand at `place`, the path of a file or folder; a `place`
 * that ends in '/' is a folder in which several files are to appear. free() it. */
char *half_written_name(const char *place);

/* Holds the open file or folder for as long as the descriptor is open, so that no other process
 * takes it for abandoned. False where one has done so: it is gone. */
MUST_USE bool half_written_hold(int descriptor);

/* Removes what processes that were killed left of `place`: what half_written_name names, and nobody
 * holds. Where the file system knows no locks, everything stays. */
void half_written_sweep(const char *place);

/* From now on the file or folder at `path` is removed when memory runs out, the newest one first; a
 * folder only if it is empty by then. */
void unfinished_begin(const char *path);

/* It is done, or gone. */
void unfinished_end(const char *path);

#endif
