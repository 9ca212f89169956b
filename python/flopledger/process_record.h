/* The step record of this process: it has one, and all that writes to it holds the interpreter's
 * lock. */
#ifndef FLOPLEDGER_PYTHON_PROCESS_RECORD_H
#define FLOPLEDGER_PYTHON_PROCESS_RECORD_H

#include "base/core/attributes.h"
#include "base/core/error.h"
#include "trace/step_record/step_record.h"

#include <stdbool.h>

struct process_record {
    struct step_writer writer;
    bool is_full; /* the last entry found no room: step_record.py tries again, and tells of it */
};

extern struct process_record process_record;

/* Writes an entry, and notes whether there was room for it. */
MUST_USE bool process_record_append(struct step_entry *entry, struct error *error);

#endif
