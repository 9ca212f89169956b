/* The files a command line names: files themselves, and the traces in folders. */
#ifndef FLOPLEDGER_PIPELINE_INPUT_FILES_H
#define FLOPLEDGER_PIPELINE_INPUT_FILES_H

#include "base/core/attributes.h"
#include "base/core/error.h"
#include "output/results/results.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct input_file {
    char *path;    /* as opened; "-" is standard input */
    int64_t bytes; /* -1: not known (a pipe) */
    int64_t rank;  /* by the names of the files, where they tell one for each and all differ; -1 */
    const char *name; /* the end of `path` that tells it from the others */
    size_t place;     /* among all files found */
};

struct input_files {
    struct input_file *files; /* [count]: in the order given, those of a folder by name */
    size_t count;
    size_t passed_over; /* files in folders that are no traces */
    size_t folders_passed_over;
    char first_passed_over[256]; /* the name of one of them */
    char *of_recorder;           /* the path of one that a recorder wrote; NULL: none is there */
    size_t other_forms;   /* files in folders that hold what another of the files does, too */
    char other_form[256]; /* the name of one of these, and of the file that is read in its place */
    char form_read[256];
    size_t older_runs; /* profiles in folders of JAX's that are of other runs than the newest */
    char newest_run[256];
    int64_t bytes_in_all; /* -1: not known */
};

/* `files` must be zeroed. Files given by name are taken as they are, whether they exist or not; of
 * a folder those that a reader recognises, digests of ranks, and those with a trace's name (.json,
 * .json.gz, .json.zst) that are empty or cannot be read (so that their loss is told); of a
 * recording that lies there in several forms one; of the folder of a recorded run the newest trace
 * of each rank, and of captures/NAME, captures or a folder that JAX logs to the newest run in
 * there. Errors: no operand (ERROR_USAGE), "-" twice, a folder that cannot be read or holds no
 * trace. */
MUST_USE bool find_input_files(struct input_files *files, char **operands, int count,
                               struct error *error);

/* Adds a line to the problems of `results` where files of folders were passed over. `of`: NULL, or
 * which of several inputs that are read one after another these are. */
void note_passed_over(struct results *results, const struct input_files *files, const char *of);

void input_files_clear(struct input_files *files);

/* Where the paths are alike but for numbers, and exactly one of these numbers is 0 to count - 1,
 * each once: fills ranks[count] with it. A number behind a word for something else (step, epoch and
 * the like) is none. False, and nothing is filled, where there is no such number, or there are
 * several. */
bool ranks_in_numbered_paths(int64_t *ranks, const char *const *paths, size_t count);

#endif
