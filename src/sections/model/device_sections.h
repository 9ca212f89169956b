/* What `flopledger device` says of devices. */
#ifndef FLOPLEDGER_SECTIONS_MODEL_DEVICE_SECTIONS_H
#define FLOPLEDGER_SECTIONS_MODEL_DEVICE_SECTIONS_H

#include "cost/devices/device_peak.h"
#include "cost/devices/measured_rates.h"
#include "output/results/results.h"

/* One device, and `how` it was found. */
struct section *describe_device_peak(struct results *results, const struct device_peak *device,
                                     const char *how);

/* What was measured of one. */
struct section *describe_measured_rates(struct results *results,
                                        const struct measured_rates *rates);

/* The table of all. */
struct section *describe_device_list(struct results *results);

#endif
