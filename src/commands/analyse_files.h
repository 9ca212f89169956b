/* Reads traces and runs all analyses on them, several files at once. */
#ifndef FLOPLEDGER_COMMANDS_ANALYSE_FILES_H
#define FLOPLEDGER_COMMANDS_ANALYSE_FILES_H

#include "analyses/analysis.h"
#include "base/attributes.h"
#include "base/error.h"
#include "commands/input_files.h"
#include "ledger/step_ledger.h"
#include "results/results.h"

#include <stdbool.h>
#include <stddef.h>

struct analyse_options {
    struct ledger_options ledger;
    struct analysis_options analysis;
    unsigned threads; /* in all; at least 1 */
    bool shows_progress;
};

/* What became of the files. */
struct analysed_files {
    size_t read_count;    /* analysed */
    size_t failed_count;  /* not readable at all: named in results->problems */
    size_t damaged_count; /* of those read: cut or damaged */
    size_t empty_count;   /* of those read: no step of those asked for */
    struct error first_error;
};

/* Adds the ranks of all files to `results`, by rank and then by name, and the overview where there
 * are several. A file that fails becomes a problem, and the rest goes on. */
void analyse_files(struct analysed_files *outcome, struct results *results,
                   const struct input_files *files, const struct analyse_options *options);

#endif
