/* What the GPM part of NVML counts of a GPU's units between two looks (Hopper and later). */
#ifndef FLOPLEDGER_LIVE_NVML_GPM_H
#define FLOPLEDGER_LIVE_NVML_GPM_H

#include "live/live_sample.h"
#include "live/nvml_api.h"

enum { NVML_GPM_UNITS_MAX = 16 };

/* Of one device. A zeroed one counts nothing. */
struct nvml_gpm {
    struct nvml_gpm_sample *samples[2]; /* NULL: no GPM */
    int newest;                         /* -1: none was taken yet */
    int64_t newest_ns;                  /* monotonic */
    double values[NVML_GPM_UNITS_MAX];  /* between the last two samples; NAN: not told */
};

/* Begins where the device can, and FLOPLEDGER_GPM=0 does not forbid it. */
void nvml_gpm_start(const struct nvml_api *api, struct nvml_device *device, struct nvml_gpm *gpm);

/* The first look has nothing to tell. Returns what NVML answered: NVML_SUCCESS or its error. */
int nvml_gpm_sample(const struct nvml_api *api, struct nvml_device *device, struct nvml_gpm *gpm,
                    struct live_samples *samples, const char *gpu);

void nvml_gpm_clear(const struct nvml_api *api, struct nvml_gpm *gpm);

#endif
