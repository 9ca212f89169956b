/* The exports that the Python package makes, since its libraries write Parquet and Arrow files:
 * `flopledger export parquet`, `flopledger run --fleet`. */
#ifndef FLOPLEDGER_PIPELINE_FLEET_EXPORT_H
#define FLOPLEDGER_PIPELINE_FLEET_EXPORT_H

#include "base/core/attributes.h"
#include "base/core/error.h"

#include <stdbool.h>

bool is_fleet_format(const char *name);

/* Becomes the Python that exports, given `arguments` ([count]) as they stand on the command line:
 * returns only with `error` set. */
MUST_USE bool export_by_python(char **arguments, int count, struct error *error);

/* Adds the recorded run in `capture` to the folder `fleet`; `labels` may be NULL. False where it
 * failed: the reason is said. */
bool add_to_fleet(const char *fleet, const char *labels, const char *capture);

#endif
