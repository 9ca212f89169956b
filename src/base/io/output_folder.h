/* A folder of files that appear all together or not at all. */
#ifndef FLOPLEDGER_BASE_IO_OUTPUT_FOLDER_H
#define FLOPLEDGER_BASE_IO_OUTPUT_FOLDER_H

#include "base/core/attributes.h"
#include "base/core/error.h"
#include "base/io/output_file.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

/* The files are written into a folder beside the wanted one (inside it, where it is there already),
 * and moved to their places when the last of them is whole. */
struct output_folder {
    char *path;      /* where the files are to stand */
    char *temporary; /* where they are written */
    int held;        /* the same, open: another process leaves it alone */
    bool is_new;     /* nothing stood at `path` */
    char **names;    /* [count]: of files, "steps.csv" or "rank0/steps.csv" */
    size_t count;
    sigset_t old_signals; /* those that end the program wait until the folder is closed */
    /* Data in a file that would be replaced, in words, or NULL; set it before the first file. */
    const char *(*data_in_file)(const char *path);
};

/* `folder` must be zeroed. Makes the folders that it is in. */
MUST_USE bool output_folder_open(struct output_folder *folder, const char *path,
                                 struct error *error);

/* A file of that name; folders in the name are made. Close it with output_file_close. */
MUST_USE bool output_folder_add(struct output_folder *folder, struct output_file *file,
                                const char *name, struct error *error);

/* Puts all files into their places. */
MUST_USE bool output_folder_close(struct output_folder *folder, struct error *error);

/* Gives up: removes what was written. Does nothing after output_folder_close. */
void output_folder_clear(struct output_folder *folder);

#endif
