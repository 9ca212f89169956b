/* Answers GET /metrics and GET /healthz on a port of this machine. */
#include "live/metrics_server.h"

#include "base/core/invariant.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef FLOPLEDGER_HAS_MICROHTTPD

#include <microhttpd.h>

const bool has_metrics_server = true;

enum { FRESH_NS = 1000000000 };

static int64_t metrics_server_monotonic_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void make_text(struct metrics_server *server, const struct live_samples *samples,
                      enum metrics_format format)
{
    FILE *memory;

    free(server->texts[format]);
    server->texts[format] = NULL;
    memory = require_memory(open_memstream(&server->texts[format], &server->lengths[format]));
    write_metrics(memory, samples, format);
    (void)fclose(memory);
}

/* Looks again where the last look is more than a second old. */
static void refresh(struct metrics_server *server)
{
    int64_t now = metrics_server_monotonic_ns();
    struct live_samples samples = {0};

    if (server->texts[0] && now - server->made_ns < FRESH_NS)
        return;
    server->fill(server->source, &samples);
    make_text(server, &samples, METRICS_OPENMETRICS);
    make_text(server, &samples, METRICS_PROMETHEUS);
    live_samples_clear(&samples);
    server->made_ns = now;
}

static enum MHD_Result metrics_server_answer(struct MHD_Connection *connection, unsigned status,
                                             const char *text, size_t length, const char *type)
{
    struct MHD_Response *response =
        MHD_create_response_from_buffer(length, (void *)(uintptr_t)text, MHD_RESPMEM_MUST_COPY);
    enum MHD_Result result;

    if (!response)
        return MHD_NO;
    MHD_add_response_header(response, "Content-Type", type);
    result = MHD_queue_response(connection, status, response);
    MHD_destroy_response(response);
    return result;
}

static enum MHD_Result answer_text(struct MHD_Connection *connection, unsigned status,
                                   const char *text)
{
    return metrics_server_answer(connection, status, text, strlen(text),
                                 "text/plain; charset=utf-8");
}

static enum MHD_Result answer_metrics(struct metrics_server *server,
                                      struct MHD_Connection *connection)
{
    const char *accepted = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Accept");
    bool is_openmetrics = accepted && strstr(accepted, "application/openmetrics-text");
    enum metrics_format format = is_openmetrics ? METRICS_OPENMETRICS : METRICS_PROMETHEUS;
    enum MHD_Result result;

    pthread_mutex_lock(&server->lock);
    refresh(server);
    result = metrics_server_answer(
        connection, MHD_HTTP_OK, server->texts[format], server->lengths[format],
        is_openmetrics ? openmetrics_content_type : prometheus_content_type);
    pthread_mutex_unlock(&server->lock);
    return result;
}

/* The library calls it so. NOLINTNEXTLINE(readability-function-size) */
static enum MHD_Result handle(void *opaque, struct MHD_Connection *connection, const char *url,
                              const char *method, const char *version, const char *upload,
                              size_t *upload_bytes, void **state)
{
    (void)version;
    (void)upload;
    if (!*state) { /* the headers alone */
        *state = opaque;
        return MHD_YES;
    }
    if (*upload_bytes > 0) {
        *upload_bytes = 0;
        return MHD_YES;
    }
    if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
        return answer_text(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET\n");
    if (strcmp(url, "/metrics") == 0)
        return answer_metrics(opaque, connection);
    if (strcmp(url, "/healthz") == 0)
        return answer_text(connection, MHD_HTTP_OK, "ok\n");
    return answer_text(connection, MHD_HTTP_NOT_FOUND,
                       "flopledger: /metrics has the numbers, /healthz says ok\n");
}

static void note_connection(void *opaque, struct MHD_Connection *connection, void **context,
                            enum MHD_ConnectionNotificationCode what)
{
    struct metrics_server *server = opaque;
    const union MHD_ConnectionInfo *socket;
    const union MHD_ConnectionInfo *client;

    if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
        if (*context)
            held_connections_remove(&server->held, *context);
        *context = NULL;
        return;
    }
    socket = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    client = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    if (socket && client)
        *context = held_connections_add(&server->held, socket->connect_fd, client->client_addr,
                                        metrics_server_monotonic_ns());
}

static void note_answer(void *opaque, struct MHD_Connection *connection, void **state,
                        enum MHD_RequestTerminationCode how)
{
    struct metrics_server *server = opaque;
    const union MHD_ConnectionInfo *context =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

    (void)state;
    if (how == MHD_REQUEST_TERMINATED_COMPLETED_OK && context && context->socket_context)
        held_connections_answered(&server->held, context->socket_context,
                                  metrics_server_monotonic_ns());
}

/* IPv4 or IPv6, as digits. */
static bool parse_address(const char *text, int port, struct sockaddr_storage *address)
{
    struct sockaddr_in *four = (struct sockaddr_in *)address;
    struct sockaddr_in6 *six = (struct sockaddr_in6 *)address;

    memset(address, 0, sizeof *address);
    if (inet_pton(AF_INET, text, &four->sin_addr) == 1) {
        four->sin_family = AF_INET;
        four->sin_port = htons((uint16_t)port);
        return true;
    }
    six->sin6_family = AF_INET6;
    six->sin6_port = htons((uint16_t)port);
    return inet_pton(AF_INET6, text, &six->sin6_addr) == 1;
}

bool metrics_server_start(struct metrics_server *server, const char *address, int port,
                          struct error *error)
{
    struct sockaddr_storage where;
    unsigned flags = MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_EPOLL;

    if (!parse_address(address, port, &where))
        return error_set(error, ERROR_USAGE,
                         "'%s' is no address: 127.0.0.1 (this machine alone), 0.0.0.0 (all), ::1",
                         address);
    if (where.ss_family == AF_INET6)
        flags |= MHD_USE_IPv6;
    pthread_mutex_init(&server->lock, NULL);
    pthread_mutex_init(&server->held.lock, NULL);
    server->daemon = MHD_start_daemon(
        flags, (uint16_t)port, NULL, NULL, handle, server, MHD_OPTION_SOCK_ADDR, &where,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS_MAX, MHD_OPTION_NOTIFY_CONNECTION,
        note_connection, server, MHD_OPTION_NOTIFY_COMPLETED, note_answer, server, MHD_OPTION_END);
    if (server->daemon)
        return true;
    pthread_mutex_destroy(&server->lock);
    pthread_mutex_destroy(&server->held.lock);
    return error_set(error, ERROR_FAILURE,
                     "cannot listen on %s, port %d: %s (--port takes another)", address, port,
                     strerror(errno));
}

int metrics_server_port(const struct metrics_server *server)
{
    const union MHD_DaemonInfo *info =
        MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_BIND_PORT);

    return info ? info->port : 0;
}

void metrics_server_end_late(struct metrics_server *server)
{
    held_connections_end_late(&server->held, metrics_server_monotonic_ns());
}

void metrics_server_clear(struct metrics_server *server)
{
    if (!server->daemon)
        return;
    MHD_stop_daemon(server->daemon);
    pthread_mutex_destroy(&server->lock);
    pthread_mutex_destroy(&server->held.lock);
    free(server->texts[0]);
    free(server->texts[1]);
    *server = (struct metrics_server){0};
}

#else

const bool has_metrics_server = false;

bool metrics_server_start(struct metrics_server *server, const char *address, int port,
                          struct error *error)
{
    (void)server;
    return error_set(
        error, ERROR_FAILURE,
        "cannot listen on %s, port %d: this flopledger was built without libmicrohttpd "
        "(Debian: libmicrohttpd-dev); 'flopledger top --once' needs no server",
        address, port);
}

int metrics_server_port(const struct metrics_server *server)
{
    (void)server;
    return 0;
}

void metrics_server_end_late(struct metrics_server *server)
{
    (void)server;
}

void metrics_server_clear(struct metrics_server *server)
{
    *server = (struct metrics_server){0};
}

#endif
