/* Reads traces, several files at once, and makes results of each. */
#ifndef FLOPLEDGER_PIPELINE_READ_FILES_H
#define FLOPLEDGER_PIPELINE_READ_FILES_H

#include "base/core/error.h"
#include "output/results/results.h"
#include "pipeline/graph_captures.h"
#include "pipeline/input_files.h"
#include "trace/trace.h"

#include <stdbool.h>
#include <stddef.h>

/* What is to be done with each trace that was read. */
struct file_reading {
    unsigned threads; /* in all; at least 1: min(files, threads) files at once, spare ones help */
    bool shows_progress;
    bool keeps_memory;  /* see struct read_options */
    bool skips_details; /* as well */
    /* Adds a rank to `results`; false with `error` set where the trace holds nothing of what was
     * asked for. Called from several threads at once, each with a trace and results of its own; the
     * trace is gone when it has returned. */
    bool (*use)(struct results *results, const struct trace *trace, const void *context,
                struct error *error);
    /* NULL, or what is told of a file that failed, in the order of the files; then it becomes no
     * problem of the results. */
    void (*fail)(const struct input_file *file, const struct error *file_error,
                 const void *context);
    const void *context;
    const struct capture_choice *captures; /* of CUDA graphs; NULL: nobody asks for operators */
};

/* What became of the files. */
struct files_read {
    size_t used_count;        /* read, and `use` had what it wanted */
    size_t failed_count;      /* not read, or `use` failed: named in results->problems */
    size_t damaged_count;     /* of those used: cut or damaged */
    struct error first_error; /* of those that failed: the worst class, then the first file */
};

/* Adds what `use` makes of the files to `results`, by rank and then by name. A file that fails
 * becomes a problem, and the rest goes on. */
void read_files(struct files_read *outcome, struct results *results,
                const struct input_files *files, const struct file_reading *reading);

/* Threads to use where the user named none: one for each core. */
unsigned default_thread_count(void);

/* Says how well the input was read, once the rest is printed: true, or ERROR_PARTIAL. */
bool check_files_read(const struct files_read *outcome, struct error *error);

#endif
