/* What a trace or a user knows of a device beside its name, and what that says against a row of the
 * table. */
#ifndef FLOPLEDGER_COST_DEVICES_DEVICE_HINTS_H
#define FLOPLEDGER_COST_DEVICES_DEVICE_HINTS_H

#include "cost/devices/device_peak.h"

#include <stdbool.h>
#include <stdint.h>

/* 0 or less where it is not known. */
struct device_hints {
    int64_t memory_bytes; /* as the driver reports it: up to a tenth less than on the box */
    int32_t multiprocessors;
    int32_t compute_major;
    int32_t compute_minor;
};

/* "memory", "multiprocessors" or "compute capability": what contradicts the row; NULL: nothing. */
const char *device_contradiction(const struct device_peak *device,
                                 const struct device_hints *hints);

/* Are as many multiprocessors of the same compute capability known of both? Then both compute as
 * much in a clock. */
bool device_computes_alike(const struct device_peak *device, const struct device_hints *hints);

/* Is the memory of both known, and that of one device? */
bool device_fits_memory(const struct device_peak *device, const struct device_hints *hints);

#endif
