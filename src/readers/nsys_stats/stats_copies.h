/* Copies and memsets, one after the other, under the names that nsys gives them. */
#ifndef FLOPLEDGER_READERS_NSYS_STATS_STATS_COPIES_H
#define FLOPLEDGER_READERS_NSYS_STATS_STATS_COPIES_H

#include "base/core/attributes.h"
#include "base/core/error.h"
#include "readers/nsys/nsys_database.h"
#include "readers/nsys_stats/stats_groups.h"

#include <stdbool.h>

/* Groups copies by their direction, memsets as one; the values are durations or bytes. False with
 * `error` set (ERROR_NO_DATA) where the file has neither. */
MUST_USE bool group_copies(struct stats_groups *groups, struct nsys_database *database,
                           bool is_by_bytes, struct error *error);

#endif
