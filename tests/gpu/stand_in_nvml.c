/* Stands in for libnvidia-ml.so.1, and answers as NVIDIA's API reference says of each call: every
 * call can be refused, a GPU can be lost while it is watched, and what a device does not have is
 * NVML_ERROR_NOT_SUPPORTED.
 *
 * The file that STAND_IN_GPUS names is read at each call; a line is `KEY VALUE`:
 *     init 9                nvmlInit_v2 fails: driver not loaded
 *     count 2, count !999   devices, or the error
 *     0.handle 4            no handle of device 0: no permission
 *     0.power 654321        in the unit of the call; !15 is the error; no line: not supported
 *     0.parts 7             parts that there can be (MIG); those that have a name are there
 *     0:2.name NVIDIA ...   of part 2
 *     0.gpm 1, 0.gpm.5 50   device 0 has GPM; metric 5 is 50
 *     0.all !15             every call fails
 * STAND_IN_VERSION is the version of NVML whose calls there are (10 to 13). With HAS_NVML_H it is
 * compiled against NVIDIA's own header. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifndef STAND_IN_VERSION
#define STAND_IN_VERSION 13
#endif

#ifdef HAS_NVML_H
#include <nvml.h>
#else
/* The names of NVIDIA's header. */
#define nvmlReturn_t             int
#define nvmlTemperatureSensors_t int
#define nvmlClockType_t          int
#define nvmlDevice_t             struct nvmlDevice_st *
#define nvmlGpmSample_t          struct nvmlGpmSample_st *
#define nvmlUtilization_t        struct utilization
#define nvmlMemory_t             struct memory
#define nvmlTemperature_t        struct temperature
#define nvmlGpmSupport_t         struct gpm_support
#define nvmlGpmMetric_t          struct gpm_metric
#define nvmlGpmMetricsGet_t      struct gpm_request
struct nvmlDevice_st;
struct nvmlGpmSample_st;
enum { NVML_TEMPERATURE_GPU = 0, NVML_CLOCK_SM = 1 };
struct utilization {
    unsigned int gpu, memory;
};
struct memory {
    unsigned long long total, free, used;
};
struct temperature {
    unsigned int version;
    int sensorType, temperature;
};
struct gpm_support {
    unsigned int version, isSupportedDevice;
};
struct gpm_metric {
    unsigned int metricId;
    int nvmlReturn;
    double value;
    char *names[3];
};
struct gpm_request {
    unsigned int version, numMetrics;
    struct nvmlGpmSample_st *sample1, *sample2;
    struct gpm_metric metrics[];
};
#define CALL(name, ...)          nvmlReturn_t name(__VA_ARGS__)
CALL(nvmlInit_v2, void);
CALL(nvmlShutdown, void);
const char *nvmlErrorString(nvmlReturn_t result);
CALL(nvmlDeviceGetCount_v2, unsigned int *count);
CALL(nvmlDeviceGetHandleByIndex_v2, unsigned int index, nvmlDevice_t *device);
CALL(nvmlDeviceGetName, nvmlDevice_t device, char *name, unsigned int length);
CALL(nvmlDeviceGetUtilizationRates, nvmlDevice_t device, nvmlUtilization_t *utilization);
CALL(nvmlDeviceGetMemoryInfo, nvmlDevice_t device, nvmlMemory_t *memory);
CALL(nvmlDeviceGetPowerUsage, nvmlDevice_t device, unsigned int *milliwatts);
CALL(nvmlDeviceGetEnforcedPowerLimit, nvmlDevice_t device, unsigned int *milliwatts);
CALL(nvmlDeviceGetTotalEnergyConsumption, nvmlDevice_t device, unsigned long long *millijoules);
CALL(nvmlDeviceGetTemperature, nvmlDevice_t device, nvmlTemperatureSensors_t sensor,
     unsigned int *degrees);
CALL(nvmlDeviceGetTemperatureV, nvmlDevice_t device, nvmlTemperature_t *temperature);
CALL(nvmlDeviceGetClockInfo, nvmlDevice_t device, nvmlClockType_t clock, unsigned int *mhz);
CALL(nvmlDeviceGetMaxClockInfo, nvmlDevice_t device, nvmlClockType_t clock, unsigned int *mhz);
CALL(nvmlDeviceGetCurrentClocksEventReasons, nvmlDevice_t device, unsigned long long *bits);
CALL(nvmlDeviceGetCurrentClocksThrottleReasons, nvmlDevice_t device, unsigned long long *bits);
CALL(nvmlDeviceGetMaxMigDeviceCount, nvmlDevice_t device, unsigned int *count);
CALL(nvmlDeviceGetMigDeviceHandleByIndex, nvmlDevice_t device, unsigned int index,
     nvmlDevice_t *part);
CALL(nvmlGpmQueryDeviceSupport, nvmlDevice_t device, nvmlGpmSupport_t *support);
CALL(nvmlGpmSampleAlloc, nvmlGpmSample_t *sample);
CALL(nvmlGpmSampleFree, nvmlGpmSample_t sample);
CALL(nvmlGpmSampleGet, nvmlDevice_t device, nvmlGpmSample_t sample);
CALL(nvmlGpmMetricsGet, nvmlGpmMetricsGet_t *request);
#endif

enum { OK = 0, INVALID_ARGUMENT = 2, NOT_SUPPORTED = 3, NOT_FOUND = 6, INSUFFICIENT_SIZE = 7 };
enum { MISMATCH = 25, DEVICES = 8, PARTS = 8 };

struct nvmlDevice_st {
    char key[8]; /* "0", "0:2" */
};

struct nvmlGpmSample_st {
    const struct nvmlDevice_st *device; /* NULL: nothing was read into it yet */
    double seconds;
};

static struct nvmlDevice_st devices[DEVICES][1 + PARTS];

/* The value of a key; NULL where there is no such line. */
static const char *find(const char *device, const char *key, char line[256])
{
    const char *path = getenv("STAND_IN_GPUS");
    FILE *file = path ? fopen(path, "r") : NULL;
    char whole[64];
    const char *found = NULL;

    snprintf(whole, sizeof whole, "%s%s%s ", device, *device ? "." : "", key);
    while (file && !found && fgets(line, 256, file)) {
        line[strcspn(line, "\n")] = 0;
        if (strncmp(line, whole, strlen(whole)) == 0)
            found = line + strlen(whole);
    }
    if (file)
        fclose(file);
    return found;
}

static nvmlReturn_t as_return(int result)
{
    return (nvmlReturn_t)result;
}

static nvmlReturn_t ask_text(nvmlDevice_t device, const char *key, char *text, size_t size)
{
    char line[256];
    const char *value;

    if (!device)
        return as_return(INVALID_ARGUMENT);
    value = find(device->key, "all", line);
    if (!value)
        value = find(device->key, key, line);
    if (!value)
        return as_return(NOT_SUPPORTED);
    if (*value == '!')
        return as_return(atoi(value + 1));
    if (strlen(value) + 1 > size)
        return as_return(INSUFFICIENT_SIZE);
    strcpy(text, value);
    return as_return(OK);
}

static nvmlReturn_t ask(nvmlDevice_t device, const char *key, unsigned long long *number)
{
    char text[64];
    nvmlReturn_t result = ask_text(device, key, text, sizeof text);

    if (result == as_return(OK))
        *number = strtoull(text, NULL, 0);
    return result;
}

static nvmlReturn_t ask_small(nvmlDevice_t device, const char *key, unsigned int *number)
{
    unsigned long long value;
    nvmlReturn_t result = ask(device, key, &value);

    if (result == as_return(OK))
        *number = (unsigned int)value;
    return result;
}

nvmlReturn_t nvmlInit_v2(void)
{
    char line[256];
    const char *value = find("", "init", line);

    return as_return(value ? atoi(value) : OK);
}

nvmlReturn_t nvmlShutdown(void)
{
    return as_return(OK);
}

/* The texts of NVIDIA's library. */
const char *nvmlErrorString(nvmlReturn_t result)
{
    switch ((int)result) {
    case 0:
        return "Success";
    case 2:
        return "Invalid Argument";
    case 3:
        return "Not Supported";
    case 4:
        return "Insufficient Permissions";
    case 9:
        return "Driver Not Loaded";
    case 15:
        return "GPU is lost";
    case 18:
        return "Driver/library version mismatch";
    default:
        return "Unknown Error";
    }
}

nvmlReturn_t nvmlDeviceGetCount_v2(unsigned int *count)
{
    char line[256];
    const char *value = find("", "count", line);

    if (value && *value == '!')
        return as_return(atoi(value + 1));
    *count = value ? (unsigned int)atoi(value) : 0;
    return as_return(OK);
}

nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t *device)
{
    char line[256], key[8];
    unsigned int count;
    const char *value;

    if (nvmlDeviceGetCount_v2(&count) != as_return(OK) || index >= count || index >= DEVICES)
        return as_return(INVALID_ARGUMENT);
    snprintf(key, sizeof key, "%u", index % DEVICES);
    value = find(key, "handle", line);
    if (value)
        return as_return(atoi(value));
    *device = &devices[index][0];
    strcpy((*device)->key, key);
    return as_return(OK);
}

nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char *name, unsigned int length)
{
    return ask_text(device, "name", name, length);
}

nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t device, nvmlUtilization_t *utilization)
{
    utilization->memory = 41;
    return ask_small(device, "utilization", &utilization->gpu);
}

nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *memory)
{
    nvmlReturn_t result = ask(device, "memory", &memory->total);

    if (result == as_return(OK))
        result = ask(device, "memory_used", &memory->used);
    if (result == as_return(OK))
        memory->free = memory->total - memory->used;
    return result;
}

nvmlReturn_t nvmlDeviceGetPowerUsage(nvmlDevice_t device, unsigned int *milliwatts)
{
    return ask_small(device, "power", milliwatts);
}

nvmlReturn_t nvmlDeviceGetEnforcedPowerLimit(nvmlDevice_t device, unsigned int *milliwatts)
{
    return ask_small(device, "power_limit", milliwatts);
}

nvmlReturn_t nvmlDeviceGetTotalEnergyConsumption(nvmlDevice_t device,
                                                 unsigned long long *millijoules)
{
    return ask(device, "energy", millijoules);
}

nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t device, nvmlTemperatureSensors_t sensor,
                                      unsigned int *degrees)
{
    return sensor == NVML_TEMPERATURE_GPU ? ask_small(device, "temperature", degrees)
                                          : as_return(INVALID_ARGUMENT);
}

nvmlReturn_t nvmlDeviceGetClockInfo(nvmlDevice_t device, nvmlClockType_t clock, unsigned int *mhz)
{
    return ask_small(device, clock == NVML_CLOCK_SM ? "clock_sm" : "clock_memory", mhz);
}

nvmlReturn_t nvmlDeviceGetMaxClockInfo(nvmlDevice_t device, nvmlClockType_t clock,
                                       unsigned int *mhz)
{
    return ask_small(device, clock == NVML_CLOCK_SM ? "clock_sm_max" : "clock_memory_max", mhz);
}

nvmlReturn_t nvmlDeviceGetCurrentClocksThrottleReasons(nvmlDevice_t device,
                                                       unsigned long long *bits)
{
    return ask(device, "reasons", bits);
}

#if STAND_IN_VERSION >= 11
nvmlReturn_t nvmlDeviceGetMaxMigDeviceCount(nvmlDevice_t device, unsigned int *count)
{
    nvmlReturn_t result = ask_small(device, "parts", count);

    if (result != as_return(NOT_SUPPORTED))
        return result;
    *count = 0; /* "Returns zero if MIG is not supported or enabled" */
    return as_return(OK);
}

nvmlReturn_t nvmlDeviceGetMigDeviceHandleByIndex(nvmlDevice_t device, unsigned int index,
                                                 nvmlDevice_t *part)
{
    char line[256];
    unsigned int count;

    if (nvmlDeviceGetMaxMigDeviceCount(device, &count) != as_return(OK) || index >= count ||
        index >= PARTS)
        return as_return(INVALID_ARGUMENT);
    *part = &devices[atoi(device->key)][1 + index];
    snprintf((*part)->key, sizeof(*part)->key, "%.3s:%u", device->key, index % PARTS);
    return as_return(find((*part)->key, "name", line) ? OK : NOT_FOUND);
}

nvmlReturn_t nvmlGpmQueryDeviceSupport(nvmlDevice_t device, nvmlGpmSupport_t *support)
{
    nvmlReturn_t result;

    if (support->version != 1)
        return as_return(MISMATCH);
    result = ask_small(device, "gpm", &support->isSupportedDevice);
    if (result != as_return(NOT_SUPPORTED))
        return result;
    support->isSupportedDevice = 0; /* older than Hopper */
    return as_return(OK);
}

nvmlReturn_t nvmlGpmSampleAlloc(nvmlGpmSample_t *sample)
{
    *sample = calloc(1, sizeof **sample);
    return as_return(*sample ? OK : 20);
}

nvmlReturn_t nvmlGpmSampleFree(nvmlGpmSample_t sample)
{
    free(sample);
    return as_return(sample ? OK : INVALID_ARGUMENT);
}

nvmlReturn_t nvmlGpmSampleGet(nvmlDevice_t device, nvmlGpmSample_t sample)
{
    unsigned int is_supported = 0;
    nvmlReturn_t result = ask_small(device, "gpm", &is_supported);
    struct timespec now;

    if (result != as_return(OK))
        return result;
    clock_gettime(CLOCK_MONOTONIC, &now);
    sample->device = device;
    sample->seconds = (double)now.tv_sec + (double)now.tv_nsec / 1e9;
    return as_return(OK);
}

/* Of samples that are too near each other there is nothing that can be told. */
nvmlReturn_t nvmlGpmMetricsGet(nvmlGpmMetricsGet_t *request)
{
    const struct nvmlGpmSample_st *before = request->sample1, *after = request->sample2;

    if (request->version != 1)
        return as_return(MISMATCH);
    if (!before || !after || !before->device || before->device != after->device)
        return as_return(INVALID_ARGUMENT);
    for (unsigned int i = 0; i < request->numMetrics; i++) {
        nvmlGpmMetric_t *metric = &request->metrics[i];
        char key[16], text[64];

        snprintf(key, sizeof key, "gpm.%u", metric->metricId % 1000);
        metric->nvmlReturn = ask_text((nvmlDevice_t)before->device, key, text, sizeof text);
        metric->value = after->seconds - before->seconds < 0.1 ? (double)NAN : atof(text);
    }
    return as_return(OK);
}
#endif

#if STAND_IN_VERSION >= 12
nvmlReturn_t nvmlDeviceGetCurrentClocksEventReasons(nvmlDevice_t device, unsigned long long *bits)
{
    return ask(device, "reasons", bits);
}
#endif

#if STAND_IN_VERSION >= 13
nvmlReturn_t nvmlDeviceGetTemperatureV(nvmlDevice_t device, nvmlTemperature_t *temperature)
{
    unsigned int degrees = 0;
    nvmlReturn_t result;

    if (temperature->version != (sizeof *temperature | 1u << 24))
        return as_return(MISMATCH);
    if (temperature->sensorType != NVML_TEMPERATURE_GPU)
        return as_return(INVALID_ARGUMENT);
    result = ask_small(device, "temperature", &degrees);
    temperature->temperature = (int)degrees;
    return result;
}
#endif
