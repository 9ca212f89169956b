/* Writes results for another program: what `flopledger export` and `flopledger ettr --export` do.
 */
#ifndef FLOPLEDGER_COMMANDS_EXPORTED_RESULTS_H
#define FLOPLEDGER_COMMANDS_EXPORTED_RESULTS_H

#include "base/attributes.h"
#include "base/error.h"
#include "exports/export_format.h"
#include "results/results.h"

#include <stdbool.h>

/* Whether `output` (NULL: the user names none) is a place for this format. */
MUST_USE bool check_export_place(const struct export_format *format, const char *output,
                                 struct error *error);

/* To the file or folder `output`, or to standard output. */
MUST_USE bool export_results(struct results *results, const struct export_format *format,
                             const char *output, struct error *error);

#endif
