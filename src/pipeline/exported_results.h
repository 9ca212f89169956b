/* Writes results for another program: what `flopledger export` and `flopledger ettr --export` do.
 */
#ifndef FLOPLEDGER_PIPELINE_EXPORTED_RESULTS_H
#define FLOPLEDGER_PIPELINE_EXPORTED_RESULTS_H

#include "base/core/attributes.h"
#include "base/core/error.h"
#include "output/exports/export_format.h"
#include "output/results/results.h"
#include "pipeline/output_place.h"

#include <stdbool.h>

/* Whether `place` is one for this format, and holds nothing that must not be replaced. */
MUST_USE bool check_export_place(const struct export_format *format,
                                 const struct output_place *place,
                                 const struct output_inputs *inputs, struct error *error);

/* To the file or folder `place`, or to standard output. */
MUST_USE bool export_results(struct results *results, const struct export_format *format,
                             const struct output_place *place, struct error *error);

/* The report on rank `index` alone, as a terminal of 100 columns shows it, in memory that lives as
 * long as the results; NULL with `error` set where it can't be made. */
MUST_USE const char *print_rank_report(struct results *results, size_t index, struct error *error);

bool is_fleet_format(const char *name);

/* Becomes the Python that exports, given `arguments` ([count]) as they stand on the command line:
 * returns only with `error` set. */
MUST_USE bool export_by_python(char **arguments, int count, struct error *error);

/* Adds the recorded run in `capture` to the folder `fleet`; `labels` may be NULL. False where it
 * failed: the reason is said. */
bool add_to_fleet(const char *fleet, const char *labels, const char *capture);

#endif
