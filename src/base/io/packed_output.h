/* A stream that packs what is written to it, in the format of gzip. */
#ifndef FLOPLEDGER_BASE_IO_PACKED_OUTPUT_H
#define FLOPLEDGER_BASE_IO_PACKED_OUTPUT_H

#include "base/core/attributes.h"

#include <stdbool.h>
#include <stdio.h>

/* Ends the program when memory is out. `target` stays open when the stream is closed, by fclose:
 * that writes what waits, and tells by EOF where `target` did not take it. */
MUST_USE FILE *packed_output_open(FILE *target);

#endif
