/* Files and folders while they are written: their names, and what a killed process left of them. */
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

#endif
