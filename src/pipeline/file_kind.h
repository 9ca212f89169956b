/* What a file is, whichever command it was given to: an error about a file of another kind names
 * the command that reads it. */
#ifndef FLOPLEDGER_PIPELINE_FILE_KIND_H
#define FLOPLEDGER_PIPELINE_FILE_KIND_H

#include "base/core/error.h"

#include <stdbool.h>

/* Where `path` is a file, or a folder of files, that another command reads than `command`: replaces
 * the message of `error`, and keeps its class. False where the error stays as it is. */
bool explain_file_kind(const char *path, const char *command, struct error *error);

/* The same for the first of a command's arguments that is such a file. */
bool explain_arguments(int count, char **arguments, const char *command, struct error *error);

#endif
