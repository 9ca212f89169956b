/* GPUs as NVIDIA's management library (NVML) tells of them; what its GPM part counts of
 * multiprocessors, Tensor Cores and memory, on devices that have it (Hopper and later). */
#include "base/core/invariant.h"
#include "live/live_source.h"
#include "live/nvml_api.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GPUS_MAX = 64, NAME_BYTES = 96 };

static const struct live_family info = {"flopledger_gpu_info", "Name of a GPU.", LIVE_GAUGE};
static const struct live_family busy = {
    "flopledger_gpu_busy_ratio", "Share of time in which a kernel ran, as nvidia-smi has it.",
    LIVE_GAUGE};
static const struct live_family memory_used = {"flopledger_gpu_memory_used_bytes",
                                               "Memory of the GPU that is taken.", LIVE_GAUGE};
static const struct live_family memory_total = {"flopledger_gpu_memory_bytes",
                                                "Memory that the GPU has.", LIVE_GAUGE};
static const struct live_family power = {"flopledger_gpu_power_watts", "Power that the GPU draws.",
                                         LIVE_GAUGE};
static const struct live_family power_limit = {"flopledger_gpu_power_limit_watts",
                                               "Power at which the GPU slows down.", LIVE_GAUGE};
static const struct live_family energy = {"flopledger_gpu_energy_joules",
                                          "Energy that the GPU has drawn.", LIVE_COUNTER};
static const struct live_family temperature = {"flopledger_gpu_temperature_celsius",
                                               "Temperature of the GPU.", LIVE_GAUGE};
static const struct live_family sm_clock = {"flopledger_gpu_sm_clock_hertz",
                                            "Clock of the multiprocessors.", LIVE_GAUGE};
static const struct live_family sm_clock_max = {
    "flopledger_gpu_sm_clock_max_hertz", "Highest clock of the multiprocessors.", LIVE_GAUGE};
static const struct live_family memory_clock = {"flopledger_gpu_memory_clock_hertz",
                                                "Clock of the GPU's memory.", LIVE_GAUGE};
static const struct live_family slowed = {"flopledger_gpu_slowed",
                                          "1 where the clock is held down, by reason.", LIVE_GAUGE};
static const struct live_family gpm_ratio = {
    "flopledger_gpu_activity_ratio",
    "Share of time, or of the peak, since the look before, by unit (NVML GPM).", LIVE_GAUGE};
static const struct live_family gpm_rate = {
    "flopledger_gpu_link_bytes_per_second",
    "Bytes a second over a link since the look before (NVML GPM).", LIVE_GAUGE};

/* Of NVML: reasons that hold the clock down. Bit 1 (idle) and 0x2 (set by the user) are none. */
static const struct {
    unsigned long long bit;
    const char *name;
} reasons[] = {
    {0x4, "power cap"},         {0x8, "hardware slowdown"}, {0x10, "sync boost"},
    {0x20, "software thermal"}, {0x40, "hardware thermal"}, {0x80, "power brake"},
};

static const struct {
    unsigned id; /* of NVML */
    const struct live_family *family;
    const char *unit;
    double factor; /* to the unit of the family */
} gpm_metrics[] = {
    {1, &gpm_ratio, "graphics", 0.01},
    {2, &gpm_ratio, "sm", 0.01},
    {3, &gpm_ratio, "sm occupancy", 0.01},
    {5, &gpm_ratio, "tensor", 0.01},
    {10, &gpm_ratio, "dram", 0.01},
    {20, &gpm_rate, "pcie sent", 1048576},
    {21, &gpm_rate, "pcie received", 1048576},
    {60, &gpm_rate, "nvlink received", 1048576},
    {61, &gpm_rate, "nvlink sent", 1048576},
};

enum { GPM_METRICS = sizeof gpm_metrics / sizeof *gpm_metrics };

struct gpu {
    struct nvml_device *device;
    char name[NAME_BYTES];
    struct nvml_gpm_sample *samples[2]; /* NULL: no GPM */
    int newest;                         /* -1: none was taken yet */
};

struct nvml_state {
    struct nvml_api api;
    struct gpu gpus[GPUS_MAX];
    unsigned count;
    char why[160]; /* nothing can be told */
};

static void start_gpm(const struct nvml_api *api, struct gpu *gpu)
{
    struct nvml_gpm_support support = {.version = 1};
    const char *wanted = getenv("FLOPLEDGER_GPM");

    gpu->newest = -1;
    if ((wanted && strcmp(wanted, "0") == 0) || !api->gpm_support || !api->gpm_sample_new ||
        !api->gpm_sample_free || !api->gpm_sample_get || !api->gpm_metrics ||
        api->gpm_support(gpu->device, &support) != NVML_SUCCESS || !support.is_supported)
        return;
    for (int i = 0; i < 2; i++) {
        if (api->gpm_sample_new(&gpu->samples[i]) != NVML_SUCCESS)
            gpu->samples[i] = NULL;
    }
}

static void *start_nvml(const char *root)
{
    struct nvml_state *state = require_memory(calloc(1, sizeof *state));
    struct nvml_api *api = &state->api;

    (void)root;
    if (!nvml_api_open(api, state->why, sizeof state->why))
        return state;
    if (api->device_count(&state->count) != NVML_SUCCESS)
        state->count = 0;
    if (state->count > GPUS_MAX)
        state->count = GPUS_MAX;
    for (unsigned i = 0; i < state->count; i++) {
        struct gpu *gpu = &state->gpus[i];

        if (api->device_by_index(i, &gpu->device) != NVML_SUCCESS) {
            gpu->device = NULL; /* one that this process may not see */
            continue;
        }
        if (!api->device_name || api->device_name(gpu->device, gpu->name, NAME_BYTES) != 0)
            snprintf(gpu->name, sizeof gpu->name, "not known");
        start_gpm(api, gpu);
    }
    return state;
}

static void nvml_add(struct live_samples *samples, const struct live_family *family, unsigned gpu,
                     double value)
{
    live_add_numbered(samples, family, value, "gpu", gpu);
}

static void sample_memory(const struct nvml_api *api, struct nvml_device *device, unsigned number,
                          struct live_samples *samples)
{
    struct nvml_utilization use;
    struct nvml_memory memory;

    if (api->utilization && api->utilization(device, &use) == NVML_SUCCESS)
        nvml_add(samples, &busy, number, use.gpu / 100.0);
    if (api->memory && api->memory(device, &memory) == NVML_SUCCESS) {
        nvml_add(samples, &memory_used, number, (double)memory.used);
        nvml_add(samples, &memory_total, number, (double)memory.total);
    }
}

static void sample_power(const struct nvml_api *api, struct nvml_device *device, unsigned number,
                         struct live_samples *samples)
{
    unsigned long long millijoules;
    unsigned value;

    if (api->power_mw && api->power_mw(device, &value) == NVML_SUCCESS)
        nvml_add(samples, &power, number, value / 1e3);
    if (api->power_limit_mw && api->power_limit_mw(device, &value) == NVML_SUCCESS)
        nvml_add(samples, &power_limit, number, value / 1e3);
    if (api->energy_mj && api->energy_mj(device, &millijoules) == NVML_SUCCESS)
        nvml_add(samples, &energy, number, (double)millijoules / 1e3);
    if (api->temperature && api->temperature(device, NVML_TEMPERATURE_GPU, &value) == NVML_SUCCESS)
        nvml_add(samples, &temperature, number, value);
}

static void sample_clocks(const struct nvml_api *api, struct nvml_device *device, unsigned number,
                          struct live_samples *samples)
{
    int (*slow_reasons)(struct nvml_device *, unsigned long long *) =
        api->slow_reasons ? api->slow_reasons : api->slow_reasons_old;
    unsigned long long bits;
    char gpu[16];
    unsigned mhz;

    if (api->clock_mhz && api->clock_mhz(device, NVML_CLOCK_SM, &mhz) == NVML_SUCCESS)
        nvml_add(samples, &sm_clock, number, mhz * 1e6);
    if (api->max_clock_mhz && api->max_clock_mhz(device, NVML_CLOCK_SM, &mhz) == NVML_SUCCESS)
        nvml_add(samples, &sm_clock_max, number, mhz * 1e6);
    if (api->clock_mhz && api->clock_mhz(device, NVML_CLOCK_MEMORY, &mhz) == NVML_SUCCESS)
        nvml_add(samples, &memory_clock, number, mhz * 1e6);
    if (!slow_reasons || slow_reasons(device, &bits) != NVML_SUCCESS)
        return;
    snprintf(gpu, sizeof gpu, "%u", number);
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        live_add(samples, &slowed, (bits & reasons[i].bit) != 0, (struct live_label){"gpu", gpu},
                 (struct live_label){"reason", reasons[i].name});
}

static void add_gpm(const struct nvml_gpm_request *request, unsigned number,
                    struct live_samples *samples)
{
    char gpu[16];

    snprintf(gpu, sizeof gpu, "%u", number);
    for (int i = 0; i < GPM_METRICS; i++) {
        if (request->metrics[i].result == NVML_SUCCESS)
            live_add(
                samples, gpm_metrics[i].family, request->metrics[i].value * gpm_metrics[i].factor,
                (struct live_label){"gpu", gpu}, (struct live_label){"unit", gpm_metrics[i].unit});
    }
}

/* Between two looks: the first one has nothing to tell. */
static void sample_gpm(const struct nvml_api *api, struct gpu *gpu, unsigned number,
                       struct live_samples *samples)
{
    struct nvml_gpm_request request;
    int next = gpu->newest == 0;

    if (!gpu->samples[0] || !gpu->samples[1] ||
        api->gpm_sample_get(gpu->device, gpu->samples[next]) != NVML_SUCCESS)
        return;
    if (gpu->newest >= 0) {
        memset(&request, 0, sizeof request);
        request.version = 1;
        request.count = GPM_METRICS;
        request.before = gpu->samples[gpu->newest];
        request.after = gpu->samples[next];
        for (int i = 0; i < GPM_METRICS; i++)
            request.metrics[i].id = gpm_metrics[i].id;
        if (api->gpm_metrics(&request) == NVML_SUCCESS)
            add_gpm(&request, number, samples);
    }
    gpu->newest = next;
}

static void sample_nvml(void *opaque, const char *root, struct live_samples *samples)
{
    struct nvml_state *state = opaque;

    (void)root;
    if (!state->api.library)
        live_note(samples, "GPU: %s", state->why);
    else if (state->count == 0)
        live_note(samples, "GPU: NVML sees none");
    for (unsigned i = 0; i < state->count; i++) {
        struct gpu *gpu = &state->gpus[i];
        char number[16];

        if (!gpu->device)
            continue;
        snprintf(number, sizeof number, "%u", i);
        live_add(samples, &info, 1, (struct live_label){"gpu", number},
                 (struct live_label){"name", gpu->name});
        sample_memory(&state->api, gpu->device, i, samples);
        sample_power(&state->api, gpu->device, i, samples);
        sample_clocks(&state->api, gpu->device, i, samples);
        sample_gpm(&state->api, gpu, i, samples);
    }
}

static void stop_nvml(void *opaque)
{
    struct nvml_state *state = opaque;

    for (unsigned i = 0; i < state->count; i++) {
        for (int sample = 0; sample < 2; sample++) {
            if (state->gpus[i].samples[sample])
                state->api.gpm_sample_free(state->gpus[i].samples[sample]);
        }
    }
    nvml_api_clear(&state->api);
    free(state);
}

const struct live_source nvml_source = {
    .name = "nvml", .start = start_nvml, .sample = sample_nvml, .stop = stop_nvml};
