/* Where PyTorch's own profiler asks what it shall record. */
#include "live/attach/kineto_listener.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static const char socket_name[] = "dynolog";

/* In front of each message: the bytes that follow, and what they are, NUL-terminated. */
struct message_head {
    uint64_t bytes;
    char type[32];
};

/* "req"; behind it stand the numbers of the process and of those above it. */
struct request_body {
    int32_t kinds; /* bits: 1 events, 2 activities */
    int32_t count;
    int64_t job;
};
enum { KIND_ACTIVITIES = 2 };

/* "ctxt": a process that has loaded a device's library says so, and waits for a number. */
enum { MESSAGE_BYTES_MAX = 4096 };

/* Any number but -1 will do. */
static const int32_t registered_count = 1;

static bool listener_bind(struct kineto_listener *listener, const char *folder)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t length = sizeof socket_name; /* the NUL counts, behind an abstract name too */

    if (folder) {
        int written = snprintf(listener->path, sizeof listener->path, "%s/%s", folder, socket_name);

        if (written < 0 || (size_t)written >= sizeof listener->path) {
            listener->path[0] = '\0';
            errno = ENAMETOOLONG;
            return false;
        }
        memcpy(address.sun_path, listener->path, sizeof listener->path);
        length = (size_t)written + 1;
    } else {
        memcpy(address.sun_path + 1, socket_name, sizeof socket_name);
        length++;
    }
    return bind(listener->socket, (struct sockaddr *)&address,
                (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length)) == 0;
}

bool kineto_listener_open(struct kineto_listener *listener, const char *folder, struct error *error)
{
    const int on = 1;
    int problem;

    *listener = (struct kineto_listener){
        .socket = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
    if (listener->socket >= 0 &&
        setsockopt(listener->socket, SOL_SOCKET, SO_PASSCRED, &on, sizeof on) == 0 &&
        listener_bind(listener, folder))
        return true;
    problem = errno;
    listener->path[0] = '\0'; /* whose it is stays */
    kineto_listener_clear(listener);
    if (problem == EADDRINUSE)
        return error_set(error, ERROR_FAILURE,
                         "another program listens where Kineto asks (socket '%s'): dynolog, or "
                         "another 'flopledger attach'; use that one, or end it",
                         socket_name);
    return error_set(error, ERROR_FAILURE, "cannot listen where Kineto asks (socket '%s'%s%s): %s",
                     socket_name, folder ? " in " : "", folder ? folder : "", strerror(problem));
}

/* A message with its sender. */
struct received {
    struct message_head head;
    char body[MESSAGE_BYTES_MAX];
    size_t bytes; /* of the body */
    struct ucred sender;
};

static bool receive_message(const struct kineto_listener *listener, struct received *received,
                            struct kineto_request *from)
{
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof(struct ucred))];
    } control;
    struct iovec parts[] = {{&received->head, sizeof received->head},
                            {received->body, sizeof received->body}};
    struct msghdr message = {.msg_name = &from->address,
                             .msg_namelen = sizeof from->address,
                             .msg_iov = parts,
                             .msg_iovlen = 2,
                             .msg_control = &control,
                             .msg_controllen = sizeof control};
    ssize_t length = recvmsg(listener->socket, &message, 0);
    struct cmsghdr *about = length < 0 ? NULL : CMSG_FIRSTHDR(&message);

    if (!about || about->cmsg_level != SOL_SOCKET || about->cmsg_type != SCM_CREDENTIALS ||
        (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0 ||
        (size_t)length < sizeof received->head)
        return false;
    memcpy(&received->sender, CMSG_DATA(about), sizeof received->sender);
    received->bytes = (size_t)length - sizeof received->head;
    from->address_length = message.msg_namelen;
    from->pid = received->sender.pid;
    return received->head.bytes == received->bytes &&
           memchr(received->head.type, '\0', sizeof received->head.type) != NULL;
}

static bool send_message(const struct kineto_listener *listener,
                         const struct kineto_request *request, const char *type,
                         const struct iovec *body)
{
    struct message_head head = {.bytes = body->iov_len};
    struct iovec parts[] = {{&head, sizeof head}, *body};
    struct sockaddr_un address = request->address;
    struct msghdr message = {.msg_name = &address,
                             .msg_namelen = request->address_length,
                             .msg_iov = parts,
                             .msg_iovlen = 2};

    snprintf(head.type, sizeof head.type, "%s", type);
    return sendmsg(listener->socket, &message, MSG_NOSIGNAL) ==
           (ssize_t)(sizeof head + body->iov_len);
}

bool kineto_listener_answer(const struct kineto_listener *listener,
                            const struct kineto_request *request, const char *settings)
{
    char text[4096];
    struct iovec body = {text, strlen(settings)};

    if (body.iov_len > sizeof text)
        return false;
    memcpy(text, settings, body.iov_len);

    return send_message(listener, request, "req", &body);
}

/* Whether the message asks for what to trace; one that announces a process is answered. */
static bool asks_for_traces(const struct kineto_listener *listener, const struct received *received,
                            const struct kineto_request *request)
{
    struct request_body body;

    if (strcmp(received->head.type, "ctxt") == 0) {
        int32_t count = registered_count;
        struct iovec number = {&count, sizeof count};

        (void)send_message(listener, request, "ctxt", &number);
        return false;
    }
    if (strcmp(received->head.type, "req") != 0 || received->bytes < sizeof body)
        return false;
    memcpy(&body, received->body, sizeof body);
    return (body.kinds & KIND_ACTIVITIES) != 0;
}

static int64_t milliseconds_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * (int64_t)1000 + now.tv_nsec / 1000000;
}

bool kineto_listener_next(struct kineto_listener *listener, int64_t timeout_ms,
                          struct kineto_request *request)
{
    int64_t end_ms = milliseconds_now() + timeout_ms;

    for (;;) {
        int64_t left_ms = end_ms - milliseconds_now();
        struct pollfd waiting = {.fd = listener->socket, .events = POLLIN};
        struct received received;

        if (left_ms <= 0 || poll(&waiting, 1, left_ms > 1000 ? 1000 : (int)left_ms) < 0)
            return false;
        if (!(waiting.revents & POLLIN) || !receive_message(listener, &received, request))
            continue;
        if (received.sender.uid == geteuid() && asks_for_traces(listener, &received, request))
            return true;
    }
}

void kineto_listener_clear(struct kineto_listener *listener)
{
    if (listener->socket >= 0)
        close(listener->socket);
    if (listener->path[0])
        (void)unlink(listener->path);
    *listener = (struct kineto_listener){.socket = -1};
}
