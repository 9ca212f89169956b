/* Reads a profile of Proton, Triton's profiler: a tree of scopes and kernels with their times,
 * FLOPs and bytes in the form of Hatchet, as JSON. */
#ifndef FLOPLEDGER_READERS_PROTON_READ_PROTON_H
#define FLOPLEDGER_READERS_PROTON_READ_PROTON_H

#include "base/core/attributes.h"
#include "base/core/error.h"
#include "trace/call_sums.h"

#include <stdbool.h>
#include <stddef.h>

/* Of the first bytes. */
bool looks_like_proton(const char *head, size_t length);

/* Keeps the first `scopes_max` scopes with time in them, of which the root is one. `sums` must be
 * zeroed. What is cut or damaged is read up to there, and told in sums->read. Errors: ERROR_INPUT
 * where the file cannot be read or is none; ERROR_NO_DATA where nothing in it was timed. */
MUST_USE bool read_proton(struct call_sums *sums, const char *path, size_t scopes_max,
                          struct error *error);

#endif
