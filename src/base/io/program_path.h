/* Where this program lies. */
#ifndef FLOPLEDGER_BASE_IO_PROGRAM_PATH_H
#define FLOPLEDGER_BASE_IO_PROGRAM_PATH_H

#include <limits.h>
#include <stdbool.h>

/* The folder of this program, without links and without a slash at the end. False where the system
 * does not tell. */
bool find_program_folder(char folder[PATH_MAX]);

#endif
