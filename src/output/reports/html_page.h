/* The page of the HTML report as it was made from web/ when the program was built: markup, style,
 * script, and the texts of docs/metrics. web/embed_page.py writes the file that holds it.
 */
#ifndef FLOPLEDGER_OUTPUT_REPORTS_HTML_PAGE_H
#define FLOPLEDGER_OUTPUT_REPORTS_HTML_PAGE_H

#include <stddef.h>

/* Compressed (zlib); a size of 0 is a program that was built without the page. */
extern const unsigned char html_page_compressed[];
extern const size_t html_page_compressed_bytes;
extern const size_t html_page_bytes;
/* Where the data blocks go: so many bytes of the page stand before them. */
extern const size_t html_page_data_offset;

#endif
