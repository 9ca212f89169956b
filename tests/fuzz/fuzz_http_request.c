/* Any bytes as what a client sends to `flopledger serve`: whatever it says and however soon it
 * goes, the next one, who asks for /healthz, is answered. */
#include "base/core/invariant.h"
#include "live/metrics_server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { HEALTH_MS = 10000 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fill_nothing(void *source, struct live_samples *samples)
{
    (void)source;
    (void)samples;
}

/* The one server of this process, which ends with it. */
static int port_of_server(void)
{
    static struct metrics_server server = {.fill = fill_nothing};
    struct error error = {0};

    if (!server.daemon)
        require_invariant(metrics_server_start(&server, "127.0.0.1", 0, &error),
                          "that a free port can be listened on");
    return metrics_server_port(&server);
}

/* Each client has an address of its own: a port of one that is gone rests for a minute, and one
 * address has too few for that. */
static void take_address(int client)
{
    static uint32_t taken;
    struct sockaddr_in own = {.sin_family = AF_INET,
                              .sin_addr = {htonl(INADDR_LOOPBACK + 1 + taken++ % 0xffff00)}};
    const int later = 1; /* the port is chosen when it is known whereto */

    require_invariant(
        setsockopt(client, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &later, sizeof later) == 0 &&
            bind(client, (struct sockaddr *)&own, sizeof own) == 0,
        "that a client can have an address of its own");
}

/* With so much patience for an answer. */
static int connected(int milliseconds)
{
    const struct timeval patience = {milliseconds / 1000, milliseconds % 1000 * 1000L};
    const struct linger at_once = {.l_onoff = 1}; /* no port waits for late packets afterwards */
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)port_of_server()),
                                  .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    require_invariant(client >= 0 &&
                          setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) ==
                              0 &&
                          setsockopt(client, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once) == 0,
                      "that there is room for a client");
    take_address(client);
    if (connect(client, (struct sockaddr *)&address, sizeof address) != 0) {
        (void)fprintf(stderr, "connecting: %s\n", strerror(errno));
        require_invariant(false, "that the server can be reached");
    }
    return client;
}

static void ask_for_health(void)
{
    static const char request[] = "GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    char answer[64] = "";
    int client = connected(HEALTH_MS);
    bool is_sent = send(client, request, sizeof request - 1, MSG_NOSIGNAL) > 0;
    ssize_t received = recv(client, answer, sizeof answer - 1, 0);

    if (received <= 0)
        (void)fprintf(stderr, "/healthz: %s; the request was %ssent\n",
                      received == 0 ? "ended without an answer" : strerror(errno),
                      is_sent ? "" : "not ");
    require_invariant(received > 0 && strncmp(answer, "HTTP/1.1 200", 12) == 0,
                      "that /healthz is always answered");
    (void)close(client);
}

/* What comes goes, and then /healthz is asked for. */
static void send_and_go(const uint8_t *data, size_t size)
{
    char answer[256];
    int client = connected(20);

    if (send(client, data, size, MSG_NOSIGNAL) == (ssize_t)size && shutdown(client, SHUT_WR) == 0)
        (void)!recv(client, answer, sizeof answer, 0);
    (void)close(client);
    ask_for_health();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    sigset_t clock_of_fuzzer;

    if (!has_metrics_server)
        return 0;
    sigemptyset(&clock_of_fuzzer);
    sigaddset(&clock_of_fuzzer, SIGALRM); /* it would interrupt a call that waits */
    (void)pthread_sigmask(SIG_BLOCK, &clock_of_fuzzer, NULL);
    send_and_go(data, size);
    (void)pthread_sigmask(SIG_UNBLOCK, &clock_of_fuzzer, NULL);
    return 0;
}
