/* Fields of comma-separated values: RFC 4180. */
#ifndef FLOPLEDGER_BASE_TEXT_CSV_FIELD_H
#define FLOPLEDGER_BASE_TEXT_CSV_FIELD_H

#include <stdio.h>

/* The text as one field: in quotes where it holds a comma, a quote or a line end; behind a ' where
 * a spreadsheet would take it for a formula (it begins with = + - @ and is no number); with \x1b
 * for control characters. */
void csv_write_text(FILE *output, const char *text);

/* With \\, \" and \n for these; U+FFFD for bytes that are not UTF-8, and nothing for control
 * characters, which some that read the format refuse. */
void metric_write_text(FILE *output, const char *text);

#endif
