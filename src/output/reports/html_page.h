/* The page of the HTML report as it was made from web/ when the program was built: markup, style,
 * script, and the texts of docs/metrics. web/embed_page.py writes the file that holds it. */
#ifndef FLOPLEDGER_OUTPUT_REPORTS_HTML_PAGE_H
#define FLOPLEDGER_OUTPUT_REPORTS_HTML_PAGE_H

#include "base/json/json_writer.h"
#include "output/results/timeline.h"

#include <stddef.h>

/* A size of 0 is a program that was built without the page. */
extern const char html_page[];
extern const size_t html_page_bytes;
/* Where the data blocks go: so many bytes of the page stand before them. */
extern const size_t html_page_data_offset;

/* ---- a timeline in the data of the page: web/src/timeline_data.ts reads it ---- */

/* Writes an object; null where `timeline` is NULL. The blocks of each lane are one text: base64 of
 * numbers; of each row how many blocks, and these as timeline_pack does it. */
void write_timeline(struct json_writer *json, const char *key, const struct timeline *timeline);

#endif
