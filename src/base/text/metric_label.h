/* Text inside the quotes of Prometheus' formats. */
#ifndef FLOPLEDGER_BASE_TEXT_METRIC_LABEL_H
#define FLOPLEDGER_BASE_TEXT_METRIC_LABEL_H

#include <stdio.h>

/* With \\, \" and \n for these; U+FFFD for bytes that are not UTF-8, and nothing for control
 * characters, which some that read the format refuse. */
void metric_write_text(FILE *output, const char *text);

#endif
