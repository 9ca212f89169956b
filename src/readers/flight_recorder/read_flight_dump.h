/* Reads one dump of a flight recorder. */
#ifndef FLOPLEDGER_READERS_FLIGHT_RECORDER_READ_FLIGHT_DUMP_H
#define FLOPLEDGER_READERS_FLIGHT_RECORDER_READ_FLIGHT_DUMP_H

#include "base/core/attributes.h"
#include "base/core/error.h"
#include "base/pickle/pickle_tree.h"
#include "trace/flight_dumps.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether these first bytes of a file may begin a dump: a pickle or an object of JSON. */
bool looks_like_flight_dump(const char *head, size_t length);

/* The rank that a file's name ends with: nccl_trace_rank_12, fr_0.pkl, dump_3.json.gz; false where
 * there is no number. */
bool flight_rank_of_name(const char *path, uint32_t *rank);

/* Reads the file, pickle or JSON, packed or not, as a tree; it must be zeroed. Nothing in a pickle
 * is run. Errors (ERROR_INPUT) name the file. Threads may read files side by side. */
MUST_USE bool read_flight_tree(struct pickle_tree *tree, const char *path, struct error *error);

/* Adds what the tree holds to `dumps`, as that of `rank`. Errors (ERROR_INPUT): no dump of a flight
 * recorder, or one of another form; they name the entry. Then nothing is added. */
MUST_USE bool add_flight_dump(struct flight_dumps *dumps, const struct pickle_tree *tree,
                              const char *path, uint32_t rank, struct error *error);

#endif
