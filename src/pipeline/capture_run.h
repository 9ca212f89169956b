/* The folder of a recorded run, and the traces in it. */
#ifndef FLOPLEDGER_PIPELINE_CAPTURE_RUN_H
#define FLOPLEDGER_PIPELINE_CAPTURE_RUN_H

#include "base/core/arena.h"
#include "base/core/attributes.h"
#include "base/core/error.h"

/* Makes {output}/{name}/{start time}/, its own even where another run starts in the same second.
 * Returns its full path, in `arena`; NULL with `error` set where it cannot be made. */
MUST_USE const char *make_capture_folder(struct arena *arena, const char *output, const char *name,
                                         struct error *error);

/* What a run left. */
struct capture_content {
    char **traces; /* [trace_count], the newest of each rank, by rank folder; in the arena */
    int trace_count;
    int rank_count; /* folders of ranks, with a trace or without */
};

void list_capture(struct capture_content *content, struct arena *arena, const char *folder);

/* The same with all traces of each rank, the oldest first. */
void list_all_traces(struct capture_content *content, struct arena *arena, const char *folder);

/* Takes the folder away again where nothing was written to it. */
void remove_empty_capture(const char *folder);

/* Removes what a killed program left half written, and gives the name that the first of it was to
 * have; NULL where there is none. Only where no program writes there any more. */
const char *remove_half_written(struct arena *arena, const char *folder);

/* The folder `start` of the Python package: for PYTHONPATH. Looked for beside the program: in a
 * build folder, below lib of an installation, in a Python environment; $FLOPLEDGER_PYTHON is looked
 * at first. A program that was copied alone unpacks its own. NULL with `error` set where there is
 * none. */
MUST_USE const char *find_python_package(struct arena *arena, struct error *error);

/* The same, without unpacking what the program brings along: NULL where none is beside it. */
const char *look_for_python_package(struct arena *arena);

/* The Python of the environment that flopledger is installed in, else the one on PATH. */
const char *python_to_run(struct arena *arena);

#endif
