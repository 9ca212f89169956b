/* Tells what stands behind the end of a file that was read. */
#ifndef FLOPLEDGER_PIPELINE_FILE_REST_H
#define FLOPLEDGER_PIPELINE_FILE_REST_H

#include "base/io/input_rest.h"
#include "output/results/results.h"

#include <stdbool.h>

/* Adds a problem where there is anything; true then. */
bool note_file_rest(struct results *results, const char *path, const struct input_rest *rest);

#endif
