/* Stands in for libnvidia-ml.so.1: two GPUs, the second without GPM and with little that it tells.
 */
#include <stdio.h>
#include <string.h>

struct device {
    int number;
};

static struct device devices[2] = {{0}, {1}};
static int samples_taken;

struct sample {
    int number;
};

static struct sample samples[8];
static int sample_count;

int nvmlInit_v2(void);
int nvmlShutdown(void);
const char *nvmlErrorString(int result);
int nvmlDeviceGetCount_v2(unsigned *count);
int nvmlDeviceGetHandleByIndex_v2(unsigned index, struct device **device);
int nvmlDeviceGetName(struct device *device, char *name, unsigned length);
int nvmlDeviceGetUtilizationRates(struct device *device, unsigned *rates);
int nvmlDeviceGetMemoryInfo(struct device *device, unsigned long long *memory);
int nvmlDeviceGetPowerUsage(struct device *device, unsigned *milliwatts);
int nvmlDeviceGetTemperature(struct device *device, int sensor, unsigned *degrees);
int nvmlDeviceGetClockInfo(struct device *device, int clock, unsigned *mhz);
int nvmlDeviceGetCurrentClocksThrottleReasons(struct device *device, unsigned long long *bits);
int nvmlGpmQueryDeviceSupport(struct device *device, unsigned *support);
int nvmlGpmSampleAlloc(struct sample **sample);
int nvmlGpmSampleFree(struct sample *sample);
int nvmlGpmSampleGet(struct device *device, struct sample *sample);

enum { NOT_SUPPORTED = 3 };

int nvmlInit_v2(void)
{
    return 0;
}

int nvmlShutdown(void)
{
    return 0;
}

const char *nvmlErrorString(int result)
{
    return result ? "stand-in" : "none";
}

int nvmlDeviceGetCount_v2(unsigned *count)
{
    *count = 2;
    return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, struct device **device)
{
    *device = &devices[index];
    return 0;
}

int nvmlDeviceGetName(struct device *device, char *name, unsigned length)
{
    snprintf(name, length, "NVIDIA H200 \"%d\"", device->number);
    return 0;
}

int nvmlDeviceGetUtilizationRates(struct device *device, unsigned *rates)
{
    rates[0] = 97;
    rates[1] = 41;
    return device->number == 0 ? 0 : NOT_SUPPORTED;
}

int nvmlDeviceGetMemoryInfo(struct device *device, unsigned long long *memory)
{
    (void)device;
    memory[0] = 1ull << 37;
    memory[1] = 1ull << 36;
    memory[2] = 1ull << 36;
    return 0;
}

int nvmlDeviceGetPowerUsage(struct device *device, unsigned *milliwatts)
{
    *milliwatts = 654321;
    return device->number == 0 ? 0 : NOT_SUPPORTED;
}

int nvmlDeviceGetTemperature(struct device *device, int sensor, unsigned *degrees)
{
    *degrees = 71;
    return device->number == 0 && sensor == 0 ? 0 : NOT_SUPPORTED;
}

int nvmlDeviceGetClockInfo(struct device *device, int clock, unsigned *mhz)
{
    *mhz = clock == 1 ? 1980 : 3201;
    return device->number == 0 ? 0 : NOT_SUPPORTED;
}

int nvmlDeviceGetCurrentClocksThrottleReasons(struct device *device, unsigned long long *bits)
{
    *bits = device->number == 0 ? 0x4 | 0x40 : 0x1; /* power cap, hot; idle */
    return 0;
}

int nvmlGpmQueryDeviceSupport(struct device *device, unsigned *support)
{
    support[1] = support[0] == 1 && device->number == 0;
    return 0;
}

int nvmlGpmSampleAlloc(struct sample **sample)
{
    *sample = &samples[sample_count++ % 8];
    return 0;
}

int nvmlGpmSampleFree(struct sample *sample)
{
    sample->number = -1;
    return 0;
}

int nvmlGpmSampleGet(struct device *device, struct sample *sample)
{
    if (device->number != 0)
        return NOT_SUPPORTED;
    sample->number = ++samples_taken;
    return 0;
}

struct metric {
    unsigned id;
    int result;
    double value;
    char *names[3];
};

struct request {
    unsigned version;
    unsigned count;
    struct sample *before;
    struct sample *after;
    struct metric metrics[];
};

int nvmlGpmMetricsGet(struct request *request);

/* Ten times the metric's number, where the samples are in order. */
int nvmlGpmMetricsGet(struct request *request)
{
    if (request->version != 1 || request->after->number != request->before->number + 1)
        return NOT_SUPPORTED;
    for (unsigned i = 0; i < request->count; i++) {
        struct metric *metric = &request->metrics[i];

        metric->result = metric->id == 3 ? NOT_SUPPORTED : 0;
        metric->value = 10.0 * metric->id;
    }
    return 0;
}
