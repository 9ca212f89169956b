/* Work of devices that a profiler summed up, in sections of a report. */
#ifndef FLOPLEDGER_SECTIONS_KERNELS_CALL_SUMS_SECTIONS_H
#define FLOPLEDGER_SECTIONS_KERNELS_CALL_SUMS_SECTIONS_H

#include "cost/devices/find_device_peak.h"
#include "output/results/results.h"
#include "trace/call_sums.h"

#include <stdint.h>

/* The peaks of each device of `sums`; NULL where one is not known. */
struct sums_peaks {
    const struct device_peak **devices; /* [sums->device_count] */
    uint32_t top;                       /* rows of long tables */
};

const char *call_sums_headline(struct results *results, const struct call_sums *sums);

/* Kernels by name. */
struct section *describe_summed_kernels(struct results *results, const struct call_sums *sums,
                                        const struct sums_peaks *peaks);

/* Scopes: rates of FLOPs and bytes beside what the device can do. */
struct section *describe_summed_scopes(struct results *results, const struct call_sums *sums,
                                       const struct sums_peaks *peaks);

#endif
