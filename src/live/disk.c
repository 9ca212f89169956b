/* What the disks of the machine read and write. */
#include "base/core/attributes.h"
#include "base/text/owned_text.h"
#include "live/kernel_file.h"
#include "live/live_source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SECTOR_BYTES = 512 }; /* of /proc/diskstats, whatever the disk's own is */

static const struct live_family read_bytes = {"flopledger_host_disk_read_bytes",
                                              "Bytes read from a disk.", LIVE_COUNTER};
static const struct live_family written_bytes = {"flopledger_host_disk_written_bytes",
                                                 "Bytes written to a disk.", LIVE_COUNTER};
static const struct live_family busy = {"flopledger_host_disk_busy_seconds",
                                        "Time in which a disk had work.", LIVE_COUNTER};

/* Whole disks: what has a folder of its own in /sys/block, and is no file or memory in disguise. */
static bool is_disk(const char *root, const char *name)
{
    static const char *const disguised[] = {"loop", "ram", "zram", "dm-", "md", "sr", "nbd"};
    bool is_there;
    char *path;

    for (size_t i = 0; i < sizeof disguised / sizeof *disguised; i++) {
        if (strncmp(name, disguised[i], strlen(disguised[i])) == 0)
            return false;
    }
    path = text_format("%s/sys/block/%s", root, name);
    is_there = access(path, F_OK) == 0;
    free(path);
    return is_there;
}

/* Fields 3, 7 and 10 behind the name (kernel documentation, admin-guide/iostats). Idle devices
 * are left out. */
static void sample_disk(void *state, const char *root, struct live_samples *samples)
{
    SCOPED(kernel_file) file = {0};
    char *line;

    (void)state;
    kernel_file_read(&file, root, "/proc/diskstats");
    while ((line = kernel_file_line(&file))) {
        unsigned long long sectors_read;
        unsigned long long sectors_written;
        unsigned long long busy_ms;
        struct live_label label = {0};
        char name[64];

        if (sscanf(line, " %*u %*u %63s %*u %*u %llu %*u %*u %*u %llu %*u %*u %llu", name,
                   &sectors_read, &sectors_written, &busy_ms) != 4 ||
            !is_disk(root, name) || sectors_read + sectors_written == 0)
            continue;
        label = (struct live_label){"device", name};
        live_add(samples, &read_bytes, (double)sectors_read * SECTOR_BYTES, label,
                 (struct live_label){0});
        live_add(samples, &written_bytes, (double)sectors_written * SECTOR_BYTES, label,
                 (struct live_label){0});
        live_add(samples, &busy, (double)busy_ms / 1e3, label, (struct live_label){0});
    }
}

const struct live_source disk_source = {.name = "disk", .sample = sample_disk};
