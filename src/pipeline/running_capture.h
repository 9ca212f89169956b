/* The capture of a program that runs, by what a user has at hand: its folder, its process, or
 * nothing at all. */
#ifndef FLOPLEDGER_PIPELINE_RUNNING_CAPTURE_H
#define FLOPLEDGER_PIPELINE_RUNNING_CAPTURE_H

#include "base/core/arena.h"
#include "base/core/attributes.h"
#include "base/core/error.h"

/* `given` is a capture's folder, a folder of captures (the newest below it counts), the number of
 * a process that is recorded or of `flopledger run` itself, or NULL: the newest below captures/.
 * The path lives in `arena`; NULL with `error` set where there is none. */
MUST_USE const char *find_running_capture(struct arena *arena, const char *given,
                                          struct error *error);

#endif
