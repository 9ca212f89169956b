/* Answers GET /metrics and GET /healthz on a port of this machine. */
#ifndef FLOPLEDGER_LIVE_METRICS_SERVER_H
#define FLOPLEDGER_LIVE_METRICS_SERVER_H

#include "base/core/attributes.h"
#include "base/core/error.h"
#include "live/live_sample.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

enum {
    CONNECTIONS_MAX = 512,      /* that the server takes */
    CONNECTIONS_HELD_MAX = 256, /* those above it are ended at once: the rest is room for new ones
                                 */
    CONNECTIONS_OF_CLIENT_MAX = 64 /* of one address, or of one /64 network of IPv6 */
};

struct held_connection {
    int64_t since_ns;    /* it was opened, or answered last */
    int64_t deadline_ns; /* it is ended where the next answer has not gone out */
    uint64_t client;
    int socket;
    bool is_used;
    bool is_ended; /* the server has not closed it yet */
};

/* Zeroed but for `lock`: none. */
struct held_connections {
    pthread_mutex_t lock;
    struct held_connection connections[CONNECTIONS_MAX];
};

/* Zeroed: stopped. */
struct metrics_server {
    void *daemon;
    void *source; /* handed to `fill` */
    /* Fills `samples`, which is zeroed. Called by one thread at a time. */
    void (*fill)(void *source, struct live_samples *samples);
    pthread_mutex_t lock; /* for all below */
    int64_t made_ns;      /* monotonic; answers are at most a second old */
    char *texts[2];       /* by enum metrics_format */
    size_t lengths[2];
    struct held_connections held; /* has a lock of its own */
};

/* Begins to answer, by threads of its own; `server` must be zeroed but for `source` and `fill`, and
 * stay where it is. Errors: no such address (ERROR_USAGE), the port is taken (ERROR_FAILURE). */
MUST_USE bool metrics_server_start(struct metrics_server *server, const char *address, int port,
                                   struct error *error);

/* The port that it listens on: of port 0, the one that was free. */
int metrics_server_port(const struct metrics_server *server);

/* Ends requests that take too long. To be called every second or so, once it was started. */
void metrics_server_end_late(struct metrics_server *server);

void metrics_server_clear(struct metrics_server *server);

/* Whether this program was built with libmicrohttpd. */
extern const bool has_metrics_server;

#endif
