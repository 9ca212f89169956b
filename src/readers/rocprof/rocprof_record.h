/* One record of rocprofv3's JSON. */
#ifndef FLOPLEDGER_READERS_ROCPROF_ROCPROF_RECORD_H
#define FLOPLEDGER_READERS_ROCPROF_ROCPROF_RECORD_H

#include "base/json/json_window.h"
#include "readers/rocprof/rocprof_run.h"

#include <stdbool.h>

/* Reads the object at `at`, whose keys may come in any order; `record` must have nothing in it yet.
 * As the functions of json_scan.h: NULL where it is malformed or the window ends. */
const char *rocprof_record_scan(struct json_scan *scan, const char *at,
                                struct rocprof_record *record);

/* Moves the place, which is in an array of records, to where the next record seems to begin, or to
 * the key of the next array; false where there is neither. */
bool rocprof_record_find(struct json_window *window);

#endif
