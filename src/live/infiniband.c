/* The counters of InfiniBand (and RoCE) ports. */
#include "base/text/owned_text.h"
#include "live/kernel_file.h"
#include "live/live_source.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    WORD_BYTES = 4
}; /* port_xmit_data and port_rcv_data count words, as the specification has it */

static const struct live_family received = {"flopledger_infiniband_received_bytes",
                                            "Bytes that an InfiniBand port received.",
                                            LIVE_COUNTER};
static const struct live_family sent = {"flopledger_infiniband_sent_bytes",
                                        "Bytes that an InfiniBand port sent.", LIVE_COUNTER};
static const struct live_family waits = {
    "flopledger_infiniband_send_waits",
    "Ticks in which an InfiniBand port had data to send and no credit.", LIVE_COUNTER};
static const struct live_family errors = {
    "flopledger_infiniband_errors",
    "Symbol errors, receive errors, discarded packets and lost links of an InfiniBand port.",
    LIVE_COUNTER};

static const char ports_folder[] = "/sys/class/infiniband";

static int64_t counter(const char *root, const char *folder, const char *name)
{
    int64_t value;
    char *path = text_format("%s/counters/%s", folder, name);

    value = kernel_number(root, path);
    free(path);
    return value;
}

/* A port may lack counters (virtual functions, RoCE): each is told by itself. */
static void sample_port(const char *root, const char *device, const char *port,
                        struct live_samples *samples)
{
    static const char *const bad[] = {"symbol_error", "port_rcv_errors", "port_xmit_discards",
                                      "link_downed"};
    struct live_label device_label = {"device", device};
    struct live_label port_label = {"port", port};
    int64_t total = 0;
    int64_t words;
    char *folder = text_format("%s/%s/ports/%s", ports_folder, device, port);

    words = counter(root, folder, "port_rcv_data");
    if (words >= 0)
        live_add(samples, &received, (double)words * WORD_BYTES, device_label, port_label);
    words = counter(root, folder, "port_xmit_data");
    if (words >= 0)
        live_add(samples, &sent, (double)words * WORD_BYTES, device_label, port_label);
    words = counter(root, folder, "port_xmit_wait");
    if (words >= 0)
        live_add(samples, &waits, (double)words, device_label, port_label);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        int64_t count = counter(root, folder, bad[i]);

        /* A counter that a port lacks reads as less than 0. */
        total += count > 0 ? count : 0;
    }
    live_add(samples, &errors, (double)total, device_label, port_label);
    free(folder);
}

/* A device that is gone since the folder was listed, or without ports, gives no sample and is
 * no error: counters are asked again in a moment. */
static void sample_device(const char *root, const char *device, struct live_samples *samples)
{
    struct dirent *port;
    DIR *ports;
    char *path = text_format("%s%s/%s/ports", root, ports_folder, device);

    ports = opendir(path);
    free(path);
    while (ports && (port = readdir(ports))) {
        if (port->d_name[0] != '.')
            sample_port(root, device, port->d_name, samples);
    }
    if (ports)
        closedir(ports);
}

/* Listed anew at each sample: an adapter may come, and a port go down, while a job runs. */
static void sample_infiniband(void *state, const char *root, struct live_samples *samples)
{
    struct dirent *device;
    DIR *devices;
    char *path;

    (void)state;
    path = text_format("%s%s", root, ports_folder);
    devices = opendir(path);
    free(path);
    while (devices && (device = readdir(devices))) {
        if (device->d_name[0] != '.')
            sample_device(root, device->d_name, samples);
    }
    if (devices)
        closedir(devices);
}

const struct live_source infiniband_source = {.name = "infiniband", .sample = sample_infiniband};
