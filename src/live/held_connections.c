/* Deadlines of requests. The timeout of the HTTP library counts from the last byte, so a byte now
 * and then holds a connection for ever; this one counts from the beginning. A connection is ended
 * by shutdown(): its server then sees its end and closes it. */
#include "live/held_connections.h"

#include <netinet/in.h>
#include <stddef.h>
#include <string.h>

static const int64_t request_ns = 10LL * 1000000000; /* from connecting to the answer's last byte */
static const int64_t next_request_ns = 30LL * 1000000000; /* from one answer to the end of the next
                                                           */

/* IPv6 hands out networks, so an address there is no client. */
static uint64_t client_of(const struct sockaddr *address)
{
    uint64_t client = 0;

    if (address->sa_family == AF_INET6)
        memcpy(&client, &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr,
               sizeof client);
    else if (address->sa_family == AF_INET)
        client = ((const struct sockaddr_in *)(const void *)address)->sin_addr.s_addr;
    return client;
}

static void end(struct held_connection *connection)
{
    if (!connection)
        return;
    connection->is_ended = true;
    (void)shutdown(connection->socket, SHUT_RDWR);
}

/* Ends the oldest of `client`, or of all where that is NULL, if there are more than `count_max`. */
static void end_one_too_many(struct held_connections *held, const uint64_t *client, int count_max)
{
    struct held_connection *oldest = NULL;
    int count = 0;

    for (int i = 0; i < CONNECTIONS_MAX; i++) {
        struct held_connection *one = &held->connections[i];

        if (!one->is_used || one->is_ended || (client && one->client != *client))
            continue;
        count++;
        if (!oldest || one->since_ns < oldest->since_ns)
            oldest = one;
    }
    if (count > count_max)
        end(oldest);
}

struct held_connection *held_connections_add(struct held_connections *held, int socket,
                                             const struct sockaddr *client, int64_t now_ns)
{
    struct held_connection *added = NULL;

    pthread_mutex_lock(&held->lock);
    for (int i = 0; i < CONNECTIONS_MAX && !added; i++)
        if (!held->connections[i].is_used)
            added = &held->connections[i];
    if (added) {
        *added = (struct held_connection){.since_ns = now_ns,
                                          .deadline_ns = now_ns + request_ns,
                                          .client = client_of(client),
                                          .socket = socket,
                                          .is_used = true};
        end_one_too_many(held, &added->client, CONNECTIONS_OF_CLIENT_MAX);
        end_one_too_many(held, NULL, CONNECTIONS_HELD_MAX);
    }
    pthread_mutex_unlock(&held->lock);
    return added;
}

void held_connections_answered(struct held_connections *held, struct held_connection *connection,
                               int64_t now_ns)
{
    pthread_mutex_lock(&held->lock);
    connection->since_ns = now_ns;
    connection->deadline_ns = now_ns + next_request_ns;
    pthread_mutex_unlock(&held->lock);
}

void held_connections_remove(struct held_connections *held, struct held_connection *connection)
{
    pthread_mutex_lock(&held->lock);
    *connection = (struct held_connection){0};
    pthread_mutex_unlock(&held->lock);
}

void held_connections_end_late(struct held_connections *held, int64_t now_ns)
{
    pthread_mutex_lock(&held->lock);
    for (int i = 0; i < CONNECTIONS_MAX; i++) {
        struct held_connection *one = &held->connections[i];

        if (one->is_used && !one->is_ended && one->deadline_ns <= now_ns)
            end(one);
    }
    pthread_mutex_unlock(&held->lock);
}
