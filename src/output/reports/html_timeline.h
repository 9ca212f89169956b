/* A timeline in the data of the page: web/src/timeline_data.ts reads it. */
#ifndef FLOPLEDGER_OUTPUT_REPORTS_HTML_TIMELINE_H
#define FLOPLEDGER_OUTPUT_REPORTS_HTML_TIMELINE_H

#include "base/json/json_writer.h"
#include "output/results/timeline.h"

/* Writes an object; null where `timeline` is NULL. The blocks of each lane are one text: base64 of
 * numbers in 7 bits a byte, the lowest first, the high bit set where more follow. Of each row: how
 * many blocks; of each block: start less that of the one before, duration, 2 * label (+ 1 where it
 * is of several events); then of several events how many and their summed duration, of one event of
 * a stream 1 + the delay of its launch (0: none known) and, where known, the lane of the call. */
void write_timeline(struct json_writer *json, const char *key, const struct timeline *timeline);

#endif
