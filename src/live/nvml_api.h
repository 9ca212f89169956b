/* What of NVIDIA's management library is used, declared here: it is looked for when the program
 * runs, and its header is not needed to build. After NVIDIA's API reference of NVML 12 and 13;
 * tests/gpu/check_nvml_header.py compares it with the headers of three versions. */
#ifndef FLOPLEDGER_LIVE_NVML_API_H
#define FLOPLEDGER_LIVE_NVML_API_H

#include "live/live_sample.h"

#include <stdbool.h>
#include <stdint.h>

struct nvml_device;
struct nvml_gpm_sample;

struct nvml_utilization {
    unsigned gpu; /* per cent */
    unsigned memory;
};

struct nvml_memory {
    unsigned long long total;
    unsigned long long free;
    unsigned long long used;
};

struct nvml_gpm_support {
    unsigned version; /* NVML_GPM_SUPPORT_VERSION */
    unsigned is_supported;
};

struct nvml_gpm_metric {
    unsigned id;
    int result;
    double value;
    char *names[3];
};

/* The library looks at the first `count`; of its own header's struct it may know more than this
 * program needs, so there is room for all that any version has named. */
enum { NVML_GPM_METRICS = 1024 };

struct nvml_gpm_request {
    unsigned version; /* NVML_GPM_METRICS_GET_VERSION */
    unsigned count;
    struct nvml_gpm_sample *before;
    struct nvml_gpm_sample *after;
    struct nvml_gpm_metric metrics[NVML_GPM_METRICS];
};

/* Since NVML 12; `version` is the size with 1 in the highest byte. */
struct nvml_temperature {
    unsigned version; /* NVML_TEMPERATURE_VERSION */
    int sensor;
    int degrees;
};

enum {
    NVML_SUCCESS = 0,
    NVML_ERROR_NOT_SUPPORTED = 3,
    NVML_ERROR_NO_PERMISSION = 4,
    NVML_ERROR_NOT_FOUND = 6,
    NVML_ERROR_FUNCTION_NOT_FOUND = 13,
    NVML_ERROR_GPU_IS_LOST = 15,
    NVML_ERROR_RESET_REQUIRED = 16,
    NVML_ERROR_NO_DATA = 21,
    NVML_ERROR_DEPRECATED = 26,
};

enum { NVML_TEMPERATURE_GPU = 0, NVML_CLOCK_SM = 1, NVML_CLOCK_MEMORY = 2, NVML_NAME_BYTES = 96 };

enum {
    NVML_GPM_SUPPORT_VERSION = 1,
    NVML_GPM_METRICS_GET_VERSION = 1,
    NVML_TEMPERATURE_VERSION = sizeof(struct nvml_temperature) | 1 << 24,
};

enum {
    NVML_GPM_GRAPHICS_UTIL = 1,
    NVML_GPM_SM_UTIL = 2,
    NVML_GPM_SM_OCCUPANCY = 3,
    NVML_GPM_ANY_TENSOR_UTIL = 5,
    NVML_GPM_DRAM_BW_UTIL = 10,
    NVML_GPM_PCIE_TX_PER_SEC = 20,
    NVML_GPM_PCIE_RX_PER_SEC = 21,
    NVML_GPM_NVLINK_TOTAL_RX_PER_SEC = 60,
    NVML_GPM_NVLINK_TOTAL_TX_PER_SEC = 61,
};

/* Reasons that hold the clock down. Of the other bits 0x1 is being idle, 0x2 what a user has set.
 */
enum {
    NVML_SLOWED_BY_POWER_CAP = 0x4,
    NVML_SLOWED_BY_HARDWARE = 0x8,
    NVML_SLOWED_BY_SYNC_BOOST = 0x10,
    NVML_SLOWED_BY_SOFTWARE_THERMAL = 0x20,
    NVML_SLOWED_BY_HARDWARE_THERMAL = 0x40,
    NVML_SLOWED_BY_POWER_BRAKE = 0x80,
    NVML_SLOWED_BY_DISPLAY_CLOCK = 0x100,
    NVML_SLOWED_BY_BOARD_LIMIT = 0x200,
    NVML_SLOWED_BY_RELIABILITY = 0x400,
};

/* NULL is what this version of the library does not have. All return NVML_SUCCESS or an error. */
struct nvml_api {
    void *library;
    int (*init)(void);
    int (*shutdown)(void);
    const char *(*error_string)(int);
    int (*device_count)(unsigned *);
    int (*device_by_index)(unsigned, struct nvml_device **);
    int (*device_name)(struct nvml_device *, char *, unsigned);
    int (*utilization)(struct nvml_device *, struct nvml_utilization *);
    int (*memory)(struct nvml_device *, struct nvml_memory *);
    int (*power_mw)(struct nvml_device *, unsigned *);
    int (*power_limit_mw)(struct nvml_device *, unsigned *);
    int (*energy_mj)(struct nvml_device *, unsigned long long *);
    int (*temperature)(struct nvml_device *, struct nvml_temperature *);
    int (*temperature_old)(struct nvml_device *, int, unsigned *);
    int (*clock_mhz)(struct nvml_device *, int, unsigned *);
    int (*max_clock_mhz)(struct nvml_device *, int, unsigned *);
    int (*slow_reasons)(struct nvml_device *, unsigned long long *);
    int (*slow_reasons_old)(struct nvml_device *, unsigned long long *);
    int (*part_count)(struct nvml_device *, unsigned *);
    int (*part_by_index)(struct nvml_device *, unsigned, struct nvml_device **);
    int (*gpm_support)(struct nvml_device *, struct nvml_gpm_support *);
    int (*gpm_sample_new)(struct nvml_gpm_sample **);
    int (*gpm_sample_free)(struct nvml_gpm_sample *);
    int (*gpm_sample_get)(struct nvml_device *, struct nvml_gpm_sample *);
    int (*gpm_metrics)(struct nvml_gpm_request *);
};

/* Loads the library and starts it. False: `why` tells. */
bool nvml_api_open(struct nvml_api *api, char *why, unsigned why_size);

void nvml_api_clear(struct nvml_api *api);

/* ------------------------------------------------------------------------------------------------
 * GPM (nvml_gpm.c): what a GPU's units did between two looks */

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
