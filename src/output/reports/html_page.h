/* The page of the HTML report as it was made from web/ when the program was built: markup, style,
 * script, and the texts of docs/metrics. web/embed_page.py writes the file that holds it. */
#ifndef FLOPLEDGER_OUTPUT_REPORTS_HTML_PAGE_H
#define FLOPLEDGER_OUTPUT_REPORTS_HTML_PAGE_H

#include "base/json/json_writer.h"
#include "output/results/timeline.h"

#include <stddef.h>

/* Compressed (zlib); a size of 0 is a program that was built without the page. */
extern const unsigned char html_page_compressed[];
extern const size_t html_page_compressed_bytes;
extern const size_t html_page_bytes;
/* Where the data blocks go: so many bytes of the page stand before them. */
extern const size_t html_page_data_offset;

/* ---- a timeline in the data of the page: web/src/timeline_data.ts reads it ---- */

/* Writes an object; null where `timeline` is NULL. The blocks of each lane are one text: base64 of
 * numbers in 7 bits a byte, the lowest first, the high bit set where more follow. Of each row: how
 * many blocks; of each block: start less that of the one before, duration, 2 * label (+ 1 where it
 * is of several events); then of several events how many and their summed duration, of one event of
 * a stream 1 + the delay of its launch (0: none known) and, where known, the lane of the call. */
void write_timeline(struct json_writer *json, const char *key, const struct timeline *timeline);

#endif
