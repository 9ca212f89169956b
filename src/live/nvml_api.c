/* Finds NVIDIA's management library, and what it has. */
#include "live/nvml_api.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

static const char library_name[] = "libnvidia-ml.so.1";

static const struct {
    const char *name;
    size_t place; /* of the pointer in struct nvml_api */
    bool is_needed;
} functions[] = {
    {"nvmlInit_v2", offsetof(struct nvml_api, init), true},
    {"nvmlShutdown", offsetof(struct nvml_api, shutdown), true},
    {"nvmlErrorString", offsetof(struct nvml_api, error_string), false},
    {"nvmlDeviceGetCount_v2", offsetof(struct nvml_api, device_count), true},
    {"nvmlDeviceGetHandleByIndex_v2", offsetof(struct nvml_api, device_by_index), true},
    {"nvmlDeviceGetName", offsetof(struct nvml_api, device_name), false},
    {"nvmlDeviceGetUtilizationRates", offsetof(struct nvml_api, utilization), false},
    {"nvmlDeviceGetMemoryInfo", offsetof(struct nvml_api, memory), false},
    {"nvmlDeviceGetPowerUsage", offsetof(struct nvml_api, power_mw), false},
    {"nvmlDeviceGetEnforcedPowerLimit", offsetof(struct nvml_api, power_limit_mw), false},
    {"nvmlDeviceGetTotalEnergyConsumption", offsetof(struct nvml_api, energy_mj), false},
    {"nvmlDeviceGetTemperatureV", offsetof(struct nvml_api, temperature), false},
    {"nvmlDeviceGetTemperature", offsetof(struct nvml_api, temperature_old), false},
    {"nvmlDeviceGetClockInfo", offsetof(struct nvml_api, clock_mhz), false},
    {"nvmlDeviceGetMaxClockInfo", offsetof(struct nvml_api, max_clock_mhz), false},
    {"nvmlDeviceGetCurrentClocksEventReasons", offsetof(struct nvml_api, slow_reasons), false},
    {"nvmlDeviceGetCurrentClocksThrottleReasons", offsetof(struct nvml_api, slow_reasons_old),
     false},
    {"nvmlDeviceGetMaxMigDeviceCount", offsetof(struct nvml_api, part_count), false},
    {"nvmlDeviceGetMigDeviceHandleByIndex", offsetof(struct nvml_api, part_by_index), false},
    {"nvmlGpmQueryDeviceSupport", offsetof(struct nvml_api, gpm_support), false},
    {"nvmlGpmSampleAlloc", offsetof(struct nvml_api, gpm_sample_new), false},
    {"nvmlGpmSampleFree", offsetof(struct nvml_api, gpm_sample_free), false},
    {"nvmlGpmSampleGet", offsetof(struct nvml_api, gpm_sample_get), false},
    {"nvmlGpmMetricsGet", offsetof(struct nvml_api, gpm_metrics), false},
};

/* The name of the first function that is needed and not there; NULL: all are. */
static const char *nvml_api_find_functions(struct nvml_api *api)
{
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        void *found = dlsym(api->library, functions[i].name);

        if (!found && functions[i].is_needed)
            return functions[i].name;
        memcpy((char *)api + functions[i].place, &found, sizeof found);
    }
    return NULL;
}

/* By dlopen: the program runs on machines without a driver, and works with any version that
 * has the needed functions. */
bool nvml_api_open(struct nvml_api *api, char *why, unsigned why_size)
{
    const char *missing;
    int result;

    *api = (struct nvml_api){.library = dlopen(library_name, RTLD_NOW | RTLD_LOCAL)};
    if (!api->library) {
        snprintf(why, why_size, "no NVML: %s is not on this machine (no NVIDIA driver)",
                 library_name);
        return false;
    }
    missing = nvml_api_find_functions(api);
    result = missing ? NVML_SUCCESS : api->init();
    if (!missing && result == NVML_SUCCESS)
        return true;
    if (missing)
        snprintf(why, why_size, "no NVML: %s has no %s", library_name, missing);
    else
        snprintf(why, why_size, "NVML does not start: %s",
                 api->error_string ? api->error_string(result) : "it does not say why");
    dlclose(api->library);
    *api = (struct nvml_api){0};
    return false;
}

/* NVML counts its users: each init has its shutdown. */
void nvml_api_clear(struct nvml_api *api)
{
    if (api->library) {
        api->shutdown();
        dlclose(api->library);
    }
    *api = (struct nvml_api){0};
}
