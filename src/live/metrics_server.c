/* Answers GET /metrics and GET /healthz on a port of this machine. */
#include "live/metrics_server.h"

#include "base/core/invariant.h"
#include "base/text/csv_field.h"
#include "live/microhttpd_api.h"

#include <arpa/inet.h>
#include <errno.h>
#include <math.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- texts ----------------------------------------------------------------------------------- */

/* Live numbers in the text formats of Prometheus. */

enum metrics_format {
    METRICS_OPENMETRICS, /* application/openmetrics-text, version 1.0.0 */
    METRICS_PROMETHEUS,  /* text/plain, version 0.0.4 */
};

static const char openmetrics_content_type[] =
    "application/openmetrics-text; version=1.0.0; charset=utf-8";
static const char prometheus_content_type[] = "text/plain; version=0.0.4; charset=utf-8";

/* 15 digits are exact for counters up to 10^15, and read back as the same double mostly. */
static void metrics_text_write_value(FILE *output, double value)
{
    if (isnan(value))
        fputs("NaN", output);
    else if (isinf(value))
        fputs(value > 0 ? "+Inf" : "-Inf", output);
    else
        fprintf(output, "%.15g", value);
}

/* OpenMetrics: samples of a counter end in _total, the name of its family does not. */
static void metrics_text_write_sample(FILE *output, const struct live_sample *sample)
{
    fputs(sample->family->name, output);
    if (sample->family->kind == LIVE_COUNTER)
        fputs("_total", output);
    for (int i = 0; i < LIVE_LABELS_MAX && sample->labels[i].name; i++) {
        fprintf(output, "%s%s=\"", i == 0 ? "{" : ",", sample->labels[i].name);
        metric_write_text(output, sample->labels[i].value);
        fputc('"', output);
    }
    fputs(sample->labels[0].name ? "} " : " ", output);
    metrics_text_write_value(output, sample->value);
    fputc('\n', output);
}

/* OpenMetrics names the family without "_total", the older text format with it; the samples
 * have it in both. */
static void write_family(FILE *output, const struct live_samples *samples, size_t first,
                         enum metrics_format format)
{
    const struct live_family *family = samples->samples[first].family;
    bool is_counter = family->kind == LIVE_COUNTER;
    const char *ending = is_counter && format == METRICS_PROMETHEUS ? "_total" : "";

    fprintf(output, "# TYPE %s%s %s\n", family->name, ending, is_counter ? "counter" : "gauge");
    fprintf(output, "# HELP %s%s ", family->name, ending);
    metric_write_text(output, family->help);
    fputc('\n', output);
    for (size_t i = first; i < samples->count; i++) {
        if (samples->samples[i].family == family)
            metrics_text_write_sample(output, &samples->samples[i]);
    }
}

/* Quadratic in samples of one look, which are some hundred; a set would be more code than
 * time. */
static bool is_first_of_family(const struct live_samples *samples, size_t i)
{
    for (size_t before = 0; before < i; before++) {
        if (samples->samples[before].family == samples->samples[i].family)
            return false;
    }
    return true;
}

/* All samples of a family stand together, whatever order they are in. Write errors show in
 * ferror(output). */
static void write_metrics(FILE *output, const struct live_samples *samples,
                          enum metrics_format format)
{
    for (size_t i = 0; i < samples->count; i++) {
        if (is_first_of_family(samples, i))
            write_family(output, samples, i, format);
    }
    if (format == METRICS_OPENMETRICS)
        fputs("# EOF\n", output);
}

/* ---- connections ----------------------------------------------------------------------------- */

/* Deadlines of requests. The timeout of the HTTP library counts from the last byte, so a byte now
 * and then holds a connection for ever; this one counts from the beginning. A connection is ended
 * by shutdown(): its server then sees its end and closes it. */

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

/* Shut down, not closed: the server's own thread still has the descriptor, and closes it when
 * it sees the end. */
static void end(struct held_connection *connection)
{
    if (!connection)
        return;
    connection->is_ended = true;
    (void)shutdown(connection->socket, SHUT_RDWR);
}

/* Ends the oldest of `client`, or of all where that is NULL, if there are more than `count_max`.
 * The oldest goes: who connects and says nothing must not keep others out, and the newest is
 * most likely somebody who asks. */
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

/* Takes up a connection that was just opened, and ends the oldest where that is one too many. NULL:
 * there is no room. A slot for each connection that the library allows, so "no room" does not
 * happen while both limits agree. */
static struct held_connection *held_connections_add(struct held_connections *held, int socket,
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

/* A request was answered to its last byte: time for the next begins. */
static void held_connections_answered(struct held_connections *held,
                                      struct held_connection *connection, int64_t now_ns)
{
    pthread_mutex_lock(&held->lock);
    connection->since_ns = now_ns;
    connection->deadline_ns = now_ns + next_request_ns;
    pthread_mutex_unlock(&held->lock);
}

/* To be called before its socket is closed. */
static void held_connections_remove(struct held_connections *held,
                                    struct held_connection *connection)
{
    pthread_mutex_lock(&held->lock);
    *connection = (struct held_connection){0};
    pthread_mutex_unlock(&held->lock);
}

/* Ends those whose deadline is over. */
static void held_connections_end_late(struct held_connections *held, int64_t now_ns)
{
    pthread_mutex_lock(&held->lock);
    for (int i = 0; i < CONNECTIONS_MAX; i++) {
        struct held_connection *one = &held->connections[i];

        if (one->is_used && !one->is_ended && one->deadline_ns <= now_ns)
            end(one);
    }
    pthread_mutex_unlock(&held->lock);
}

/* ---- metrics server -------------------------------------------------------------------------- */

#ifdef FLOPLEDGER_HAS_MICROHTTPD

const bool has_metrics_server = true;

/* Several scrapers within a second get the same text: sampling costs more than sending. */
enum { FRESH_NS = 1000000000 };

static int64_t metrics_server_monotonic_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Made when it is asked for: most servers are asked for one of the two forms. */
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

/* Looks again where the last look is more than a second old. Both formats are made together: two
 * scrapers a second see the same numbers, and the machine is looked at once a second at most. */
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

/* Copied, for the next sample replaces the text while this one is still being sent. */
static enum MHD_Result metrics_server_answer(struct MHD_Connection *connection, unsigned status,
                                             const char *text, size_t length, const char *type)
{
    struct MHD_Response *response = microhttpd_api()->create_response_from_buffer(
        length, (void *)(uintptr_t)text, MHD_RESPMEM_MUST_COPY);
    enum MHD_Result result;

    if (!response)
        return MHD_NO;
    microhttpd_api()->add_response_header(response, "Content-Type", type);
    result = microhttpd_api()->queue_response(connection, status, response);
    microhttpd_api()->destroy_response(response);
    return result;
}

static enum MHD_Result answer_text(struct MHD_Connection *connection, unsigned status,
                                   const char *text)
{
    return metrics_server_answer(connection, status, text, strlen(text),
                                 "text/plain; charset=utf-8");
}

/* Under the lock until the text was copied, as the next look frees it. */
static enum MHD_Result answer_metrics(struct metrics_server *server,
                                      struct MHD_Connection *connection)
{
    const char *accepted =
        microhttpd_api()->lookup_connection_value(connection, MHD_HEADER_KIND, "Accept");
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

/* Held connections are known, so that slow ones can be ended: the library has no limit on how
 * long a request may take to come. */
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
    socket = microhttpd_api()->get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    client = microhttpd_api()->get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    if (socket && client)
        *context = held_connections_add(&server->held, socket->connect_fd, client->client_addr,
                                        metrics_server_monotonic_ns());
}

static void note_answer(void *opaque, struct MHD_Connection *connection, void **state,
                        enum MHD_RequestTerminationCode how)
{
    struct metrics_server *server = opaque;
    const union MHD_ConnectionInfo *context =
        microhttpd_api()->get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

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
    if (!microhttpd_api())
        return error_set(error, ERROR_FAILURE,
                         "cannot listen on %s, port %d: libmicrohttpd.so.12 is not on this machine "
                         "(Debian: libmicrohttpd12); 'flopledger top --once' needs no server",
                         address, port);
    if (where.ss_family == AF_INET6)
        flags |= MHD_USE_IPv6;
    /* Locks are there before the server, whose thread may take them at once. */
    pthread_mutex_init(&server->lock, NULL);
    pthread_mutex_init(&server->held.lock, NULL);
    server->daemon = microhttpd_api()->start_daemon(
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
        microhttpd_api()->get_daemon_info(server->daemon, MHD_DAEMON_INFO_BIND_PORT);

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
    /* First of all: its thread reads the texts and takes the locks. */
    microhttpd_api()->stop_daemon(server->daemon);
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
