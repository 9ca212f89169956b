/* What of NVIDIA's management library is used, declared here: it is looked for when the program
 * runs, and its header is not needed to build. After NVIDIA's API reference of NVML 12 and 13. */
#ifndef FLOPLEDGER_LIVE_NVML_API_H
#define FLOPLEDGER_LIVE_NVML_API_H

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
    unsigned version; /* 1 */
    unsigned is_supported;
};

struct nvml_gpm_metric {
    unsigned id;
    int result;
    double value;
    char *names[3];
};

enum { NVML_GPM_METRICS = 400 }; /* the library looks at the first `count` */

struct nvml_gpm_request {
    unsigned version; /* 1 */
    unsigned count;
    struct nvml_gpm_sample *before;
    struct nvml_gpm_sample *after;
    struct nvml_gpm_metric metrics[NVML_GPM_METRICS];
};

enum { NVML_SUCCESS = 0, NVML_TEMPERATURE_GPU = 0, NVML_CLOCK_SM = 1, NVML_CLOCK_MEMORY = 2 };

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
    int (*temperature)(struct nvml_device *, int, unsigned *);
    int (*clock_mhz)(struct nvml_device *, int, unsigned *);
    int (*max_clock_mhz)(struct nvml_device *, int, unsigned *);
    int (*slow_reasons)(struct nvml_device *, unsigned long long *);
    int (*slow_reasons_old)(struct nvml_device *, unsigned long long *);
    int (*gpm_support)(struct nvml_device *, struct nvml_gpm_support *);
    int (*gpm_sample_new)(struct nvml_gpm_sample **);
    int (*gpm_sample_free)(struct nvml_gpm_sample *);
    int (*gpm_sample_get)(struct nvml_device *, struct nvml_gpm_sample *);
    int (*gpm_metrics)(struct nvml_gpm_request *);
};

/* Loads the library and starts it. False: `why` tells. */
bool nvml_api_open(struct nvml_api *api, char *why, unsigned why_size);

void nvml_api_clear(struct nvml_api *api);

#endif
