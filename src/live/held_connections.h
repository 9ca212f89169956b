/* The connections that clients hold open: how long a request may take, and how many a client may
 * hold. A slow client thus never keeps others from being answered: where one too many is held, the
 * one that was longest without an answer is ended. */
#ifndef FLOPLEDGER_LIVE_HELD_CONNECTIONS_H
#define FLOPLEDGER_LIVE_HELD_CONNECTIONS_H

#include <pthread.h>
#include <stdbool.h>
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

/* Takes up a connection that was just opened, and ends the oldest where that is one too many. NULL:
 * there is no room. */
struct held_connection *held_connections_add(struct held_connections *held, int socket,
                                             const struct sockaddr *client, int64_t now_ns);

/* A request was answered to its last byte: time for the next begins. */
void held_connections_answered(struct held_connections *held, struct held_connection *connection,
                               int64_t now_ns);

/* To be called before its socket is closed. */
void held_connections_remove(struct held_connections *held, struct held_connection *connection);

/* Ends those whose deadline is over. */
void held_connections_end_late(struct held_connections *held, int64_t now_ns);

#endif
