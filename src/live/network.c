/* What the network interfaces of the machine receive and send. */
#include "base/core/attributes.h"
#include "live/kernel_file.h"
#include "live/live_source.h"

#include <stdio.h>
#include <string.h>

static const struct live_family received = {"flopledger_host_network_received_bytes",
                                            "Bytes that a network interface received.",
                                            LIVE_COUNTER};
static const struct live_family sent = {"flopledger_host_network_sent_bytes",
                                        "Bytes that a network interface sent.", LIVE_COUNTER};
static const struct live_family errors = {
    "flopledger_host_network_errors",
    "Packets that a network interface could not receive or send, or dropped.", LIVE_COUNTER};

/* Fields of /proc/net/dev: received bytes, packets, errors, drops; then sent ones at 9. The
 * loopback is no network. */
static void sample_interface(char *line, struct live_samples *samples)
{
    char *colon = strchr(line, ':');
    char *name = line + strspn(line, " ");
    unsigned long long in;
    unsigned long long out;
    unsigned long long bad[4];
    struct live_label label;

    if (!colon)
        return;
    *colon = '\0';
    if (strcmp(name, "lo") == 0 ||
        sscanf(colon + 1, " %llu %*u %llu %llu %*u %*u %*u %*u %llu %*u %llu %llu", &in, &bad[0],
               &bad[1], &out, &bad[2], &bad[3]) != 6 ||
        in + out == 0)
        return;
    label = (struct live_label){"interface", name};
    live_add(samples, &received, (double)in, label, (struct live_label){0});
    live_add(samples, &sent, (double)out, label, (struct live_label){0});
    live_add(samples, &errors, (double)(bad[0] + bad[1] + bad[2] + bad[3]), label,
             (struct live_label){0});
}

/* Without the file there are no lines and no samples: a container may hide it. */
static void sample_network(void *state, const char *root, struct live_samples *samples)
{
    SCOPED(kernel_file) file = {0};
    char *line;

    (void)state;
    kernel_file_read(&file, root, "/proc/net/dev");
    while ((line = kernel_file_line(&file)))
        sample_interface(line, samples);
}

const struct live_source network_source = {.name = "network", .sample = sample_network};
