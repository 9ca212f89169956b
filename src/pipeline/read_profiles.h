/* Reads the traces of one run and profiles all ranks together. */
#ifndef FLOPLEDGER_PIPELINE_READ_PROFILES_H
#define FLOPLEDGER_PIPELINE_READ_PROFILES_H

#include "base/core/attributes.h"
#include "base/core/error.h"
#include "output/results/results.h"
#include "pipeline/analyzed_rank.h"
#include "pipeline/read_files.h"
#include "sections/comparison/run_profile.h"

#include <stdbool.h>

struct profile_reading {
    struct attribution_options plan;
    unsigned threads;
    bool shows_progress;
    const char *name;        /* "A": of the run, in what is said of its files */
    struct results *results; /* files of a folder that cannot be used become its problems */
};

/* Sets `profile`, zeroed, to what the file or folder `operand` holds. */
MUST_USE bool read_run_profile(struct run_profile *profile, struct files_read *outcome,
                               char *operand, const struct profile_reading *reading,
                               struct error *error);

#endif
