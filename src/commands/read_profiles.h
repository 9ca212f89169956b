/* Reads the traces of one run and profiles all ranks together. */
#ifndef FLOPLEDGER_COMMANDS_READ_PROFILES_H
#define FLOPLEDGER_COMMANDS_READ_PROFILES_H

#include "base/attributes.h"
#include "base/error.h"
#include "commands/booked_trace.h"
#include "commands/read_files.h"
#include "comparison/run_profile.h"
#include "results/results.h"

#include <stdbool.h>

struct profile_reading {
    struct booking_plan plan;
    unsigned threads;
    bool shows_progress;
    struct results *results; /* files of a folder that cannot be used become its problems */
};

/* Sets `profile`, zeroed, to what the file or folder `operand` holds. */
MUST_USE bool read_run_profile(struct run_profile *profile, struct files_read *outcome,
                               char *operand, const struct profile_reading *reading,
                               struct error *error);

#endif
