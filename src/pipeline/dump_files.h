/* The dumps of flight recorders that a command line names: files, and those in folders. */
#ifndef FLOPLEDGER_PIPELINE_DUMP_FILES_H
#define FLOPLEDGER_PIPELINE_DUMP_FILES_H

#include "base/core/attributes.h"
#include "base/core/error.h"

#include <stddef.h>
#include <stdint.h>

struct dump_file {
    char *path;
    int64_t bytes;
};

/* A zeroed one is empty. */
struct dump_files {
    struct dump_file *files; /* [count]: in the order given, those of a folder by name */
    size_t count;
    int64_t bytes; /* in all */
};

/* Files given by name are taken as they are; of a folder those that begin as a dump does and whose
 * name holds a number. Errors: no operand (ERROR_USAGE), a folder that cannot be read or holds no
 * dump (ERROR_INPUT). */
MUST_USE bool find_dump_files(struct dump_files *files, char **operands, int count,
                              struct error *error);

void dump_files_clear(struct dump_files *files);

#endif
