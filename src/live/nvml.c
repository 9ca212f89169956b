/* GPUs, and the parts they are divided into (MIG), as NVIDIA's management library (NVML) tells of
 * them. Each call can fail on its own: then that number is not there, and nothing else. */
#include "base/core/invariant.h"
#include "live/live_source.h"
#include "live/nvml_api.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GPUS_MAX = 128, PARTS_MAX = 8 };

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
static const struct live_family lost = {
    "flopledger_gpu_lost", "1 where the GPU no longer answers, or must be reset.", LIVE_GAUGE};

static const struct {
    unsigned bit;
    const char *name;
} reasons[] = {
    {NVML_SLOWED_BY_POWER_CAP, "power cap"},
    {NVML_SLOWED_BY_HARDWARE, "hardware slowdown"},
    {NVML_SLOWED_BY_SYNC_BOOST, "sync boost"},
    {NVML_SLOWED_BY_SOFTWARE_THERMAL, "software thermal"},
    {NVML_SLOWED_BY_HARDWARE_THERMAL, "hardware thermal"},
    {NVML_SLOWED_BY_POWER_BRAKE, "power brake"},
    {NVML_SLOWED_BY_DISPLAY_CLOCK, "display clock"},
    {NVML_SLOWED_BY_BOARD_LIMIT, "board limit"},
    {NVML_SLOWED_BY_RELIABILITY, "reliability"},
};

/* A GPU, or a part of one (MIG), which NVML has handles of, too. */
struct gpu {
    struct nvml_device *device; /* NULL: NVML gives none, `result` tells why */
    bool is_part;
    int result;
    char label[24]; /* "0"; "0:2" is a part of it */
    char name[NVML_NAME_BYTES];
    struct nvml_gpm gpm;
};

struct nvml_state {
    struct nvml_api api;
    struct gpu gpus[GPUS_MAX]; /* parts stand behind their GPU */
    unsigned count;
    char why[160]; /* nothing can be told */
};

static const char *error_text(const struct nvml_api *api, int result)
{
    const char *text = api->error_string ? api->error_string(result) : NULL;

    return text ? text : "it does not say why";
}

/* True: `result` is a success. What is no usual answer of a device that works is told. "Not
 * supported" and the like are the usual answers of some cards, and no trouble; a lost GPU is not
 * overwritten by what later calls say. */
static bool nvml_succeeds(struct gpu *gpu, int result)
{
    switch (result) {
    case NVML_SUCCESS:
        return true;
    case NVML_ERROR_NOT_SUPPORTED:
    case NVML_ERROR_NO_PERMISSION:
    case NVML_ERROR_NOT_FOUND:
    case NVML_ERROR_FUNCTION_NOT_FOUND:
    case NVML_ERROR_NO_DATA:
    case NVML_ERROR_DEPRECATED:
        return false;
    default:
        if (gpu->result != NVML_ERROR_GPU_IS_LOST)
            gpu->result = result;
        return false;
    }
}

/* A GPU that refuses keeps its place, so that its number and why are told. */
static struct gpu *add_gpu(struct nvml_state *state, struct nvml_device *device, int result)
{
    struct nvml_api *api = &state->api;
    struct gpu *gpu = &state->gpus[state->count++];

    gpu->result = result;
    if (result != NVML_SUCCESS)
        return gpu;
    gpu->device = device;
    if (!api->device_name || api->device_name(device, gpu->name, sizeof gpu->name) != NVML_SUCCESS)
        snprintf(gpu->name, sizeof gpu->name, "not known");
    nvml_gpm_start(api, device, &gpu->gpm);
    return gpu;
}

/* Parts of a GPU have handles of their own, with memory and counters, and no power or clocks. */
static void add_parts(struct nvml_state *state, struct nvml_device *whole, unsigned number)
{
    struct nvml_api *api = &state->api;
    struct nvml_device *part;
    unsigned count = 0;

    if (!api->part_count || !api->part_by_index ||
        api->part_count(whole, &count) != NVML_SUCCESS) /* of those there may be */
        return;
    for (unsigned i = 0; i < count && i < PARTS_MAX && state->count < GPUS_MAX; i++) {
        if (api->part_by_index(whole, i, &part) == NVML_SUCCESS) {
            struct gpu *gpu = add_gpu(state, part, NVML_SUCCESS);

            gpu->is_part = true;
            snprintf(gpu->label, sizeof gpu->label, "%u:%u", number, i);
        }
    }
}

/* NVML is opened once: initializing takes some 100 ms. */
static void *start_nvml(const char *root)
{
    struct nvml_state *state = require_memory(calloc(1, sizeof *state));
    struct nvml_api *api = &state->api;
    unsigned devices = 0;
    int result;

    (void)root;
    if (!nvml_api_open(api, state->why, sizeof state->why))
        return state;
    result = api->device_count(&devices);
    if (result != NVML_SUCCESS)
        snprintf(state->why, sizeof state->why, "NVML does not count them: %s",
                 error_text(api, result));
    else if (devices == 0)
        snprintf(state->why, sizeof state->why, "NVML sees none");
    for (unsigned i = 0; result == NVML_SUCCESS && i < devices && state->count < GPUS_MAX; i++) {
        struct nvml_device *device = NULL;
        int answer = api->device_by_index(i, &device);
        struct gpu *gpu = add_gpu(state, device, answer);

        snprintf(gpu->label, sizeof gpu->label, "%u", i);
        if (gpu->device)
            add_parts(state, gpu->device, i);
    }
    return state;
}

static void nvml_add(struct live_samples *samples, const struct live_family *family,
                     const struct gpu *gpu, double value)
{
    live_add(samples, family, value, (struct live_label){"gpu", gpu->label},
             (struct live_label){0});
}

/* A part of a GPU (MIG) has no utilization of its own. */
static void sample_memory(const struct nvml_api *api, struct gpu *gpu, struct live_samples *samples)
{
    struct nvml_utilization use;
    struct nvml_memory memory;

    if (!gpu->is_part && api->utilization &&
        nvml_succeeds(gpu, api->utilization(gpu->device, &use)))
        nvml_add(samples, &busy, gpu, use.gpu / 100.0);
    if (api->memory && nvml_succeeds(gpu, api->memory(gpu->device, &memory))) {
        nvml_add(samples, &memory_used, gpu, (double)memory.used);
        nvml_add(samples, &memory_total, gpu, (double)memory.total);
    }
}

/* By the call of NVML 12.9 and later, or the one that 13 calls deprecated. */
static void sample_temperature(const struct nvml_api *api, struct gpu *gpu,
                               struct live_samples *samples)
{
    struct nvml_temperature now = {.version = NVML_TEMPERATURE_VERSION,
                                   .sensor = NVML_TEMPERATURE_GPU};
    unsigned degrees;

    if (api->temperature && nvml_succeeds(gpu, api->temperature(gpu->device, &now)))
        nvml_add(samples, &temperature, gpu, now.degrees);
    else if (api->temperature_old &&
             nvml_succeeds(gpu, api->temperature_old(gpu->device, NVML_TEMPERATURE_GPU, &degrees)))
        nvml_add(samples, &temperature, gpu, degrees);
}

/* Drivers and boards have some of these and not others, each by itself. NVML counts in
 * milliwatts and millijoules; a metric's unit is the base one. */
static void sample_power(const struct nvml_api *api, struct gpu *gpu, struct live_samples *samples)
{
    unsigned long long millijoules;
    unsigned value;

    if (api->power_mw && nvml_succeeds(gpu, api->power_mw(gpu->device, &value)))
        nvml_add(samples, &power, gpu, value / 1e3);
    if (api->power_limit_mw && nvml_succeeds(gpu, api->power_limit_mw(gpu->device, &value)))
        nvml_add(samples, &power_limit, gpu, value / 1e3);
    if (api->energy_mj && nvml_succeeds(gpu, api->energy_mj(gpu->device, &millijoules)))
        nvml_add(samples, &energy, gpu, (double)millijoules / 1e3);
    sample_temperature(api, gpu, samples);
}

/* Each number is asked for by itself, and left out if the driver does not have it: older ones
 * lack some. */
static void sample_clocks(const struct nvml_api *api, struct gpu *gpu, struct live_samples *samples)
{
    int (*slow_reasons)(struct nvml_device *, unsigned long long *) =
        api->slow_reasons ? api->slow_reasons : api->slow_reasons_old;
    unsigned long long bits;
    unsigned mhz;

    if (api->clock_mhz && nvml_succeeds(gpu, api->clock_mhz(gpu->device, NVML_CLOCK_SM, &mhz)))
        nvml_add(samples, &sm_clock, gpu, mhz * 1e6);
    if (api->max_clock_mhz &&
        nvml_succeeds(gpu, api->max_clock_mhz(gpu->device, NVML_CLOCK_SM, &mhz)))
        nvml_add(samples, &sm_clock_max, gpu, mhz * 1e6);
    if (api->clock_mhz && nvml_succeeds(gpu, api->clock_mhz(gpu->device, NVML_CLOCK_MEMORY, &mhz)))
        nvml_add(samples, &memory_clock, gpu, mhz * 1e6);
    if (!slow_reasons || !nvml_succeeds(gpu, slow_reasons(gpu->device, &bits)))
        return;
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        live_add(samples, &slowed, (bits & reasons[i].bit) != 0,
                 (struct live_label){"gpu", gpu->label},
                 (struct live_label){"reason", reasons[i].name});
}

/* "lost" is told with every look, also as 0, so that an alert can be made on it. */
static void sample_gpu(const struct nvml_api *api, struct gpu *gpu, struct live_samples *samples)
{
    if (gpu->device) {
        gpu->result = NVML_SUCCESS;
        live_add(samples, &info, 1, (struct live_label){"gpu", gpu->label},
                 (struct live_label){"name", gpu->name});
        sample_memory(api, gpu, samples);
        if (!gpu->is_part) { /* the other calls take no handle of a part */
            sample_power(api, gpu, samples);
            sample_clocks(api, gpu, samples);
        }
        (void)nvml_succeeds(gpu, nvml_gpm_sample(api, gpu->device, &gpu->gpm, samples, gpu->label));
    }
    nvml_add(samples, &lost, gpu,
             gpu->result == NVML_ERROR_GPU_IS_LOST || gpu->result == NVML_ERROR_RESET_REQUIRED);
    if (gpu->result != NVML_SUCCESS)
        live_note(samples, "GPU %s: %s", gpu->label, error_text(api, gpu->result));
}

/* Why there is no GPU is told with each sample: a page without GPUs must not look like GPUs
 * without work. */
static void sample_nvml(void *opaque, const char *root, struct live_samples *samples)
{
    struct nvml_state *state = opaque;

    (void)root;
    if (*state->why)
        live_note(samples, "GPU: %s", state->why);
    for (unsigned i = 0; i < state->count; i++)
        sample_gpu(&state->api, &state->gpus[i], samples);
}

static void stop_nvml(void *opaque)
{
    struct nvml_state *state = opaque;

    for (unsigned i = 0; i < state->count; i++)
        nvml_gpm_clear(&state->api, &state->gpus[i].gpm);
    nvml_api_clear(&state->api);
    free(state);
}

const struct live_source nvml_source = {
    .name = "nvml", .start = start_nvml, .sample = sample_nvml, .stop = stop_nvml};
