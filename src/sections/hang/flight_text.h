/* Words for ranks, groups, operations and places in the code, of flight recorders' dumps. */
#ifndef FLOPLEDGER_SECTIONS_HANG_FLIGHT_TEXT_H
#define FLOPLEDGER_SECTIONS_HANG_FLIGHT_TEXT_H

#include "output/results/results.h"
#include "trace/flight_dumps.h"

#include <stddef.h>
#include <stdint.h>

/* "rank 3", "ranks 0-3, 5, 9 and 17 more"; ascending ranks. */
const char *flight_ranks_text(struct results *results, const uint32_t *ranks, size_t count);
/* The same without the word before. */
const char *flight_rank_list(struct results *results, const uint32_t *ranks, size_t count);

/* "the default group", "group tp (ranks 4-7)". */
const char *flight_group_text(struct results *results, const struct flight_dumps *dumps,
                              uint32_t group);
/* Its name alone: the description, or the name where there is none. */
const char *flight_group_name(const struct flight_dumps *dumps, uint32_t group);

/* "all_reduce #4182", "send 3 -> 4 (#7)" with the ranks of the job. */
const char *flight_operation_text(struct results *results, const struct flight_dumps *dumps,
                                  const struct flight_entry *entry);

/* "model/train.py:211 backward": the innermost frame outside PyTorch, the file with so many
 * folders; NULL: no frames are recorded. */
const char *flight_place_text(struct results *results, const struct flight_dumps *dumps,
                              const struct flight_entry *entry, int folders);

/* "2026-01-31 09:12:03.250 UTC"; NULL: not known. */
const char *flight_time_text(struct results *results, int64_t unix_ns);
/* "09:12:03.250": the same for tables. */
const char *flight_clock_text(struct results *results, int64_t unix_ns);

#endif
