/* Where PyTorch's own profiler asks what it shall record: a job started with KINETO_USE_DAEMON=1
 * sends a request every 5 s to the socket named "dynolog", and records what the answer says. The
 * messages are those of Kineto's IpcFabricConfigClient. */
#ifndef FLOPLEDGER_LIVE_ATTACH_KINETO_LISTENER_H
#define FLOPLEDGER_LIVE_ATTACH_KINETO_LISTENER_H

#include "base/core/attributes.h"
#include "base/core/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

/* Zeroed is closed but for the socket, which is then -1. */
struct kineto_listener {
    int socket;
    char path[sizeof(((struct sockaddr_un *)0)->sun_path)]; /* "": the name is abstract */
};

/* One process that asks. */
struct kineto_request {
    long pid; /* of the sender, as the kernel tells it */
    struct sockaddr_un address;
    socklen_t address_length;
};

/* `folder`: what the job's KINETO_IPC_SOCKET_DIR says; NULL: the name is abstract. ERROR_FAILURE
 * where it can't be: another program listens there, or the folder can't be written to. */
MUST_USE bool kineto_listener_open(struct kineto_listener *listener, const char *folder,
                                   struct error *error);

/* Waits for a process of this user that asks for what to trace, `timeout_ms` at most. False where
 * none came, or a signal did. Messages that are none, and those of other users, are passed over. */
MUST_USE bool kineto_listener_next(struct kineto_listener *listener, int64_t timeout_ms,
                                   struct kineto_request *request);

/* `settings`: lines NAME=VALUE, as libkineto.conf has them. False where it does not arrive. */
MUST_USE bool kineto_listener_answer(const struct kineto_listener *listener,
                                     const struct kineto_request *request, const char *settings);

void kineto_listener_clear(struct kineto_listener *listener);

#endif
