/* Measures the device of this machine: matmuls by number format and shape, memory. */
#ifndef FLOPLEDGER_PIPELINE_MEASURE_DEVICE_H
#define FLOPLEDGER_PIPELINE_MEASURE_DEVICE_H

#include "base/core/attributes.h"
#include "base/core/error.h"
#include "output/results/results.h"

/* Writes what was measured to `path`, which is none or such a file, and says it in `results`.
 * `kind`: "cpu", "cuda" or "auto". Errors: ERROR_USAGE where another file is there; ERROR_FAILURE
 * where Python has no torch, or no such device. */
MUST_USE bool measure_device(struct results *results, const char *path, const char *kind,
                             struct error *error);

#endif
