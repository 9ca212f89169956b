/* NCCL's RAS: a thread in each process of a job that knows all communicators, and tells of them at
 * a port of the machine (localhost:28028, or NCCL_RAS_ADDR). */
#ifndef FLOPLEDGER_READERS_RAS_READ_RAS_H
#define FLOPLEDGER_READERS_RAS_READ_RAS_H

#include "base/core/arena.h"
#include "base/core/attributes.h"
#include "base/core/error.h"
#include "trace/ras_status.h"

#include <stdbool.h>
#include <stddef.h>

/* Asks at `address`: "localhost:28028", "[::1]:28028", "10.0.0.2"; NULL: as NCCL itself. Waits
 * `timeout_ms` for each line, and 10 s more for the answer. ERROR_NO_DATA where nothing listens
 * there, ERROR_INPUT where what answers is no RAS, or its answer cannot be read. */
MUST_USE bool ask_ras(struct ras_status *status, struct arena *arena, const char *address,
                      int timeout_ms, struct error *error);

/* An answer in JSON (NCCL 2.28.7 and later), or in text; `text` ends with a zero behind `length`.
 */
MUST_USE bool parse_ras_json(struct ras_status *status, struct arena *arena, const char *text,
                             size_t length, struct error *error);
MUST_USE bool parse_ras_text(struct ras_status *status, struct arena *arena, char *text,
                             struct error *error);

#endif
