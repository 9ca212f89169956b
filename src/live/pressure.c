/* Pressure stall information: time in which tasks of the machine waited for what was short. */
#include "base/core/attributes.h"
#include "live/kernel_file.h"
#include "live/live_source.h"

#include <stdio.h>

static const struct live_family waiting = {
    "flopledger_host_pressure_seconds",
    "Time in which some task (or all of them: full) waited for a resource.", LIVE_COUNTER};

static const char *const resources[] = {"cpu", "io", "memory"};

enum { RESOURCES = sizeof resources / sizeof *resources };

/* "total" counts microseconds since boot, so rates are the reader's affair; "full" of cpu is 0
 * by definition on the machine's level. */
static void sample_pressure(void *state, const char *root, struct live_samples *samples)
{
    int found = 0;

    (void)state;
    for (int i = 0; i < RESOURCES; i++) {
        SCOPED(kernel_file) file = {0};
        char path[64];
        char extent[8];
        long long total_us;
        char *line;

        snprintf(path, sizeof path, "/proc/pressure/%s", resources[i]);
        found += kernel_file_read(&file, root, path);
        while ((line = kernel_file_line(&file))) {
            if (sscanf(line, "%7s avg10=%*f avg60=%*f avg300=%*f total=%lld", extent, &total_us) ==
                2)
                live_add(samples, &waiting, (double)total_us / 1e6,
                         (struct live_label){"resource", resources[i]},
                         (struct live_label){"extent", extent});
        }
    }
    if (found == 0)
        live_note(samples,
                  "pressure: this kernel does not tell it (no /proc/pressure: PSI is off)");
}

const struct live_source pressure_source = {.name = "pressure", .sample = sample_pressure};
