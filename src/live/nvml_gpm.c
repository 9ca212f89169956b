/* Counters of multiprocessors, Tensor Cores, memory and links, by NVML's GPM part. */
#include "base/core/invariant.h"
#include "live/nvml_api.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* "The interval between these two calls should be greater than 100 ms" (NVML's reference): looks
 * that follow each other faster, as of two that ask /metrics, are told what the last pair gave. */
enum { GPM_LEAST_INTERVAL_NS = 150000000 };

static const struct live_family gpm_ratio = {
    "flopledger_gpu_activity_ratio",
    "Share of time, or of the peak, since the look before, by unit (NVML GPM).", LIVE_GAUGE};
static const struct live_family gpm_rate = {
    "flopledger_gpu_link_bytes_per_second",
    "Bytes a second over a link since the look before (NVML GPM).", LIVE_GAUGE};

/* NVML tells percents, and MiB a second. */
static const struct {
    unsigned id; /* of NVML */
    const struct live_family *family;
    const char *unit;
    double factor; /* to the unit of the family */
} gpm_units[] = {
    {NVML_GPM_GRAPHICS_UTIL, &gpm_ratio, "graphics", 0.01},
    {NVML_GPM_SM_UTIL, &gpm_ratio, "sm", 0.01},
    {NVML_GPM_SM_OCCUPANCY, &gpm_ratio, "sm occupancy", 0.01},
    {NVML_GPM_ANY_TENSOR_UTIL, &gpm_ratio, "tensor", 0.01},
    {NVML_GPM_DRAM_BW_UTIL, &gpm_ratio, "dram", 0.01},
    {NVML_GPM_PCIE_TX_PER_SEC, &gpm_rate, "pcie sent", 1048576},
    {NVML_GPM_PCIE_RX_PER_SEC, &gpm_rate, "pcie received", 1048576},
    {NVML_GPM_NVLINK_TOTAL_RX_PER_SEC, &gpm_rate, "nvlink received", 1048576},
    {NVML_GPM_NVLINK_TOTAL_TX_PER_SEC, &gpm_rate, "nvlink sent", 1048576},
};

enum { GPM_UNITS = sizeof gpm_units / sizeof *gpm_units };

static_assert(GPM_UNITS <= (int)NVML_GPM_UNITS_MAX, "room for what each unit's counters gave");

static void forget_values(struct nvml_gpm *gpm)
{
    for (int i = 0; i < GPM_UNITS; i++)
        gpm->values[i] = (double)NAN;
}

/* Two samples, as GPM's metrics are of the time between them. FLOPLEDGER_GPM=0 leaves the
 * counters to other tools. */
void nvml_gpm_start(const struct nvml_api *api, struct nvml_device *device, struct nvml_gpm *gpm)
{
    struct nvml_gpm_support support = {.version = NVML_GPM_SUPPORT_VERSION};
    const char *wanted = getenv("FLOPLEDGER_GPM");

    *gpm = (struct nvml_gpm){.newest = -1};
    forget_values(gpm);
    if ((wanted && strcmp(wanted, "0") == 0) || !api->gpm_support || !api->gpm_sample_new ||
        !api->gpm_sample_free || !api->gpm_sample_get || !api->gpm_metrics ||
        api->gpm_support(device, &support) != NVML_SUCCESS || !support.is_supported)
        return;
    for (int i = 0; i < 2; i++) {
        if (api->gpm_sample_new(&gpm->samples[i]) != NVML_SUCCESS)
            gpm->samples[i] = NULL;
    }
}

/* What the counters say between the samples `before` and `after`. The request has a place for
 * each unit; those that the card lacks fail alone. */
static int compute_values(const struct nvml_api *api, struct nvml_gpm *gpm, int before, int after)
{
    struct nvml_gpm_request *request = require_memory(calloc(1, sizeof *request));
    int result;

    request->version = NVML_GPM_METRICS_GET_VERSION;
    request->count = GPM_UNITS;
    request->before = gpm->samples[before];
    request->after = gpm->samples[after];
    for (int i = 0; i < GPM_UNITS; i++)
        request->metrics[i].id = gpm_units[i].id;
    result = api->gpm_metrics(request);
    for (int i = 0; i < GPM_UNITS && result == NVML_SUCCESS; i++) {
        if (request->metrics[i].result == NVML_SUCCESS)
            gpm->values[i] = request->metrics[i].value * gpm_units[i].factor;
    }
    free(request);
    return result;
}

/* Two samples in turns: the newest is the "before" of the next look. Within
 * GPM_LEAST_INTERVAL_NS the last values are told once more. */
int nvml_gpm_sample(const struct nvml_api *api, struct nvml_device *device, struct nvml_gpm *gpm,
                    struct live_samples *samples, const char *gpu)
{
    int before = gpm->newest;
    int next = before == 0;
    int result = NVML_SUCCESS;

    if (!gpm->samples[0] || !gpm->samples[1])
        return NVML_SUCCESS;
    if (before < 0 || samples->taken_ns - gpm->newest_ns >= GPM_LEAST_INTERVAL_NS) {
        forget_values(gpm);
        result = api->gpm_sample_get(device, gpm->samples[next]);
        gpm->newest = result == NVML_SUCCESS ? next : -1;
        gpm->newest_ns = samples->taken_ns;
        if (result == NVML_SUCCESS && before >= 0)
            result = compute_values(api, gpm, before, next);
    }
    for (int i = 0; i < GPM_UNITS; i++) {
        if (isfinite(gpm->values[i]))
            live_add(samples, gpm_units[i].family, gpm->values[i], (struct live_label){"gpu", gpu},
                     (struct live_label){"unit", gpm_units[i].unit});
    }
    return result;
}

void nvml_gpm_clear(const struct nvml_api *api, struct nvml_gpm *gpm)
{
    for (int i = 0; i < 2; i++) {
        if (gpm->samples[i])
            api->gpm_sample_free(gpm->samples[i]);
    }
    *gpm = (struct nvml_gpm){0};
}
