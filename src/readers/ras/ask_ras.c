/* Asks NCCL's RAS what it knows. */
#include "base/core/array.h"
#include "readers/ras/read_ras.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { RECEIVED_BYTES = 1 << 16 };
enum { USUAL_PORT = 28028, LINE_MAX_BYTES = 256, ANSWER_BYTES_MAX = 64 << 20 };

static const char usual_address[] = "localhost:28028";

/* ---- the address ---------------------------------------------------------------------------- */

struct ras_address {
    char host[128];
    uint16_t port;
};

/* "host", "host:port", "[host]:port" An IPv6 address has several colons: without brackets it has
 * no port. */
static bool split_address(struct ras_address *address, const char *text)
{
    const char *host = text[0] == '[' ? text + 1 : text;
    const char *end = text[0] == '[' ? strchr(text, ']') : strrchr(text, ':');
    const char *port = end && text[0] == '[' && end[1] == ':' ? end + 2
                       : end && text[0] != '['                ? end + 1
                                                              : NULL;
    char *behind = NULL;
    long number = USUAL_PORT;

    if (text[0] == '[' && !end)
        return false;
    if (text[0] != '[' && end && strchr(text, ':') != end) { /* of IPv6, without a port */
        end = NULL;
        port = NULL;
    }
    if (!end)
        end = host + strlen(host);
    if (end == host || (size_t)(end - host) >= sizeof address->host)
        return false;
    memcpy(address->host, host, (size_t)(end - host));
    address->host[end - host] = '\0';
    if (port)
        number = strtol(port, &behind, 10);
    if (port && (behind == port || *behind))
        return false;
    address->port = (uint16_t)number;
    return number > 0 && number <= UINT16_MAX;
}

/* Without blocking, since connecting to a machine that is gone takes minutes. */
static int connect_within(const struct sockaddr *address, socklen_t length, int timeout_ms)
{
    int descriptor = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct pollfd waiting = {.fd = descriptor, .events = POLLOUT};
    int problem = 0;
    socklen_t size = sizeof problem;

    if (descriptor < 0)
        return -1;
    if (connect(descriptor, address, length) == 0)
        return descriptor;
    problem = errno;
    if (problem == EINPROGRESS) {
        problem = poll(&waiting, 1, timeout_ms) == 1 ? 0 : ETIMEDOUT;
        if (problem == 0)
            (void)getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &problem, &size);
    }
    if (problem == 0)
        return descriptor;
    close(descriptor);
    errno = problem;
    return -1;
}

static int connect_v4(const struct ras_address *address, const char *host, int timeout_ms)
{
    struct sockaddr_in place = {.sin_family = AF_INET, .sin_port = htons(address->port)};

    if (inet_pton(AF_INET, host, &place.sin_addr) != 1) {
        errno = EINVAL;
        return -1;
    }
    return connect_within((struct sockaddr *)&place, sizeof place, timeout_ms);
}

/* Tried first. EINVAL for a name that is no address of this family: the caller then tries the
 * other. */
static int connect_v6(const struct ras_address *address, const char *host, int timeout_ms)
{
    struct sockaddr_in6 place = {.sin6_family = AF_INET6, .sin6_port = htons(address->port)};

    if (inet_pton(AF_INET6, host, &place.sin6_addr) != 1) {
        errno = EINVAL;
        return -1;
    }
    return connect_within((struct sockaddr *)&place, sizeof place, timeout_ms);
}

/* Names are not resolved, as a resolver may block for minutes; "localhost" is tried in both
 * forms. */
static int connect_ras(const char *text, int timeout_ms, struct error *error)
{
    struct ras_address address;
    bool is_local;
    int descriptor;

    if (!split_address(&address, text)) {
        error_set(error, ERROR_USAGE, "'%s' is no address: HOST:PORT is wanted, as %s", text,
                  usual_address);
        return -1;
    }
    is_local = strcmp(address.host, "localhost") == 0;
    descriptor = connect_v6(&address, is_local ? "::1" : address.host, timeout_ms);
    if (descriptor < 0 && (is_local || errno == EINVAL))
        descriptor = connect_v4(&address, is_local ? "127.0.0.1" : address.host, timeout_ms);
    if (descriptor >= 0)
        return descriptor;
    if (errno == EINVAL)
        error_set(error, ERROR_USAGE,
                  "'%s': the host must be localhost or an address in numbers, as 10.0.0.2",
                  address.host);
    else
        error_set(error, ERROR_NO_DATA,
                  "nothing answers at %s, where NCCL's RAS would (%s): it is in NCCL 2.24 and "
                  "later, on machines where a rank runs, unless NCCL_RAS_ENABLE=0",
                  text, strerror(errno));
    return -1;
}

/* ---- talking -------------------------------------------------------------------------------- */

static bool send_line(int descriptor, const char *line)
{
    size_t length = strlen(line);

    return send(descriptor, line, length, MSG_NOSIGNAL) == (ssize_t)length;
}

static int64_t ras_clock_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * (int64_t)1000 + now.tv_nsec / 1000000;
}

/* What comes until then: bytes; 0: the end, -1: nothing. An end, not a time for each part: what
 * sends a byte now and then would be listened to for ever. */
static ssize_t receive_some(int descriptor, char *bytes, size_t room, int64_t end_ms)
{
    struct pollfd waiting = {.fd = descriptor, .events = POLLIN};
    int64_t left_ms = end_ms - ras_clock_ms();

    if (left_ms < 0 || poll(&waiting, 1, (int)left_ms) != 1) {
        errno = ETIMEDOUT;
        return -1;
    }
    return recv(descriptor, bytes, room, 0);
}

/* A line, without its end. False: none came. Byte by byte, so that nothing of what follows the
 * line is read. The lines are few and short. */
static bool receive_line(int descriptor, char line[LINE_MAX_BYTES], int timeout_ms)
{
    int64_t end_ms = ras_clock_ms() + timeout_ms;

    for (size_t length = 0; length < LINE_MAX_BYTES - 1; length++) {
        if (receive_some(descriptor, line + length, 1, end_ms) != 1)
            return false;
        if (line[length] == '\n') {
            line[length] = '\0';
            return true;
        }
    }
    return false;
}

/* All of the answer, until the other side closes; free() it. RAS closes the connection behind
 * its answer. Without a bound another program's stream would fill memory. */
static char *receive_all(int descriptor, size_t *length, int timeout_ms)
{
    int64_t end_ms = ras_clock_ms() + timeout_ms;
    size_t room = 0;
    char *text = NULL;

    *length = 0;
    for (;;) {
        ssize_t got;

        ARRAY_RESERVE(text, room, *length + RECEIVED_BYTES);
        got = receive_some(descriptor, text + *length, room - *length - 1, end_ms);
        if (got <= 0 || *length > ANSWER_BYTES_MAX) {
            text[*length] = '\0';
            if (got == 0)
                return text;
            free(text);
            return NULL;
        }
        *length += (size_t)got;
    }
}

/* Agrees on the protocol and the format. */
static bool open_conversation(int descriptor, bool *is_json, int timeout_ms)
{
    char line[LINE_MAX_BYTES];

    if (!send_line(descriptor, "CLIENT PROTOCOL 2\n") ||
        !receive_line(descriptor, line, timeout_ms) ||
        strncasecmp(line, "SERVER PROTOCOL ", 16) != 0)
        return false;
    if (!send_line(descriptor, "TIMEOUT 5\n") || !receive_line(descriptor, line, timeout_ms))
        return false;
    if (!send_line(descriptor, "SET FORMAT json\n") || !receive_line(descriptor, line, timeout_ms))
        return false;
    *is_json = strcmp(line, "OK") == 0; /* else it is older, and knows text only */
    return true;
}

/* RAS asks all ranks before it answers, and waits for those that are silent: hence the longer
 * time for the answer. */
bool ask_ras(struct ras_status *status, struct arena *arena, const char *address, int timeout_ms,
             struct error *error)
{
    const char *variable = getenv("NCCL_RAS_ADDR");
    const char *place = address ? address : variable && *variable ? variable : usual_address;
    int descriptor = connect_ras(place, timeout_ms, error);
    bool is_json = false;
    bool is_read = false;
    size_t length = 0;
    char *text = NULL;

    if (descriptor < 0)
        return false;
    if (open_conversation(descriptor, &is_json, timeout_ms) &&
        send_line(descriptor, "VERBOSE STATUS\n"))
        text = receive_all(descriptor, &length, timeout_ms + 10000);
    close(descriptor);
    if (!text)
        return error_set(error, ERROR_INPUT,
                         "what listens at %s does not answer as NCCL's RAS does: another program, "
                         "or a process that is stopped",
                         place);
    is_read = is_json ? parse_ras_json(status, arena, text, length, error)
                      : parse_ras_text(status, arena, text, error);
    free(text);
    return is_read || error_in(error, "the answer of NCCL's RAS at %s", place);
}
