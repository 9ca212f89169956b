/* What is known of a device beside its name, held against a row of the table. */
#include "cost/devices/device_hints.h"

/* ECC takes 1/16 of GDDR memory, and drivers keep some for themselves: 21.9 GiB of an A10's 24.
 * What a box calls 96 GB may be 96 GiB or less. */
static bool memory_fits(int64_t row_bytes, int64_t bytes)
{
    return bytes >= row_bytes - row_bytes / 10 && bytes <= row_bytes + row_bytes / 32;
}

static bool capability_fits(const struct device_peak *device, const struct device_hints *hints)
{
    return hints->compute_major == device->compute_major &&
           hints->compute_minor == device->compute_minor;
}

bool device_fits_memory(const struct device_peak *device, const struct device_hints *hints)
{
    return hints->memory_bytes > 0 && device->memory_bytes > 0 &&
           memory_fits(device->memory_bytes, hints->memory_bytes);
}

const char *device_contradiction(const struct device_peak *device, const struct device_hints *hints)
{
    if (hints->multiprocessors > 0 && device->multiprocessors > 0 &&
        hints->multiprocessors != device->multiprocessors)
        return "multiprocessors";
    if (hints->memory_bytes > 0 && device->memory_bytes > 0 && !device_fits_memory(device, hints))
        return "memory";
    if (hints->compute_major > 0 && device->compute_major > 0 && !capability_fits(device, hints))
        return "compute capability";
    return NULL;
}

bool device_computes_alike(const struct device_peak *device, const struct device_hints *hints)
{
    return device->multiprocessors > 0 && device->multiprocessors == hints->multiprocessors &&
           (hints->compute_major <= 0 || capability_fits(device, hints));
}
