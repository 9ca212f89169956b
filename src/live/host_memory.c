/* The memory of the machine. */
#include "base/core/attributes.h"
#include "live/kernel_file.h"
#include "live/live_source.h"

#include <stdio.h>

static const struct live_family total = {"flopledger_host_memory_bytes",
                                         "Memory that the machine has.", LIVE_GAUGE};
static const struct live_family available = {
    "flopledger_host_memory_available_bytes",
    "Memory that programs could still get without swapping.", LIVE_GAUGE};

/* MemAvailable, not MemFree: the page cache is given back when it is needed. */
static void sample_host_memory(void *state, const char *root, struct live_samples *samples)
{
    SCOPED(kernel_file) file = {0};
    long long kib;
    char *line;

    (void)state;
    if (!kernel_file_read(&file, root, "/proc/meminfo"))
        live_note(samples, "memory: /proc/meminfo cannot be read");
    while ((line = kernel_file_line(&file))) {
        if (sscanf(line, "MemTotal: %lld kB", &kib) == 1)
            live_add(samples, &total, (double)kib * 1024, (struct live_label){0},
                     (struct live_label){0});
        if (sscanf(line, "MemAvailable: %lld kB", &kib) == 1)
            live_add(samples, &available, (double)kib * 1024, (struct live_label){0},
                     (struct live_label){0});
    }
}

const struct live_source host_memory_source = {.name = "host_memory", .sample = sample_host_memory};
