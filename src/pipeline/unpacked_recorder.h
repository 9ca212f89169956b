/* The recorder that a program brings along which was copied to a machine alone. */
#ifndef FLOPLEDGER_PIPELINE_UNPACKED_RECORDER_H
#define FLOPLEDGER_PIPELINE_UNPACKED_RECORDER_H

#include "base/core/arena.h"
#include "base/core/attributes.h"
#include "base/core/error.h"

#include <stdbool.h>

/* True where this program holds a recorder: one that is installed has it beside itself. */
bool has_packed_recorder(void);

/* The folder of sitecustomize.py, unpacked below the user's cache, or below /tmp where that cannot
 * be written. Complete when it comes back, however many processes do the same. NULL with `error`
 * set where there is no place for it. */
MUST_USE const char *unpack_recorder(struct arena *arena, struct error *error);

#endif
