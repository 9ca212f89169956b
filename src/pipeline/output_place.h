/* Where a command line puts its output, and what must not be replaced there. */
#ifndef FLOPLEDGER_PIPELINE_OUTPUT_PLACE_H
#define FLOPLEDGER_PIPELINE_OUTPUT_PLACE_H

#include "base/core/attributes.h"
#include "base/core/error.h"
#include "pipeline/file_content.h"

#include <stdbool.h>

struct output_place {
    const char *path;           /* as given; NULL or "-": standard output */
    const char *option;         /* that it stood behind: "--html" */
    const char *what;           /* was taken for: "page" */
    bool is_forced;             /* --force: replaces what holds data */
    enum file_content replaces; /* what it may replace: an earlier output of the same command */
};

/* What a command line names to be read. */
struct output_inputs {
    char *const *operands; /* [count]: files, and folders of them */
    int count;
    const char *others[3]; /* values of options; NULL: none */
};

/* Fails (ERROR_USAGE) where the file of the output is one of the inputs, whatever its name, or
 * where it holds data that no command could make again (a trace, a database, a snapshot, a log)
 * without is_forced; and (ERROR_FAILURE) where none can be written there. A folder is left to
 * check_output_folder. */
MUST_USE bool check_output_place(const struct output_place *place,
                                 const struct output_inputs *inputs, struct error *error);

/* The same of the folder that several files go to: it may be there, and no file may. */
MUST_USE bool check_output_folder(const struct output_place *place, struct error *error);

/* For struct output_folder: data that a file of the folder holds, in words; NULL: none. */
const char *data_that_file_holds(const char *path);

#endif
