/* The processors of the machine: where their time goes, and how many want to run. */
#include "base/core/attributes.h"
#include "live/kernel_file.h"
#include "live/live_source.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct live_family cpu_seconds = {
    "flopledger_host_cpu_seconds", "Time of all processors of the machine, by what they did.",
    LIVE_COUNTER};
static const struct live_family cpu_count = {"flopledger_host_cpus",
                                             "Processors that the machine has.", LIVE_GAUGE};
static const struct live_family load = {
    "flopledger_host_load1", "Tasks that ran or waited to, as a mean of one minute.", LIVE_GAUGE};

static const char *const modes[] = {"user",   "nice", "system",  "idle",
                                    "iowait", "irq",  "softirq", "steal"};

enum { MODES = sizeof modes / sizeof *modes };

/* USER_HZ ticks; older kernels have fewer modes, and what is not there is not told. */
static void sample_times(const char *line, struct live_samples *samples)
{
    long ticks_per_second = sysconf(_SC_CLK_TCK);
    unsigned long long ticks[MODES] = {0};
    int found = sscanf(line, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &ticks[0], &ticks[1],
                       &ticks[2], &ticks[3], &ticks[4], &ticks[5], &ticks[6], &ticks[7]);

    for (int i = 0; i < found; i++)
        live_add(samples, &cpu_seconds, (double)ticks[i] / (double)ticks_per_second,
                 (struct live_label){"mode", modes[i]}, (struct live_label){0});
}

/* The line "cpu " sums all processors, those with a number are counted only (proc_stat(5)). */
static void sample_host_cpu(void *state, const char *root, struct live_samples *samples)
{
    SCOPED(kernel_file) times = {0};
    SCOPED(kernel_file) loads = {0};
    int count = 0;
    double load1;
    char *line;

    (void)state;
    if (!kernel_file_read(&times, root, "/proc/stat"))
        live_note(samples, "processors: /proc/stat cannot be read");
    while ((line = kernel_file_line(&times))) {
        if (strncmp(line, "cpu ", 4) == 0)
            sample_times(line, samples);
        count += strncmp(line, "cpu", 3) == 0 && line[3] != ' ';
    }
    if (count > 0)
        live_add(samples, &cpu_count, count, (struct live_label){0}, (struct live_label){0});
    if (kernel_file_read(&loads, root, "/proc/loadavg") && sscanf(loads.text, "%lf", &load1) == 1)
        live_add(samples, &load, load1, (struct live_label){0}, (struct live_label){0});
}

const struct live_source host_cpu_source = {.name = "host_cpu", .sample = sample_host_cpu};
