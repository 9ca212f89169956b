/* Programs that train already, recorded through the profiler that is in PyTorch itself. */
#include "live/attach/attachment.h"

#include "base/core/attributes.h"
#include "base/core/error.h"
#include "base/io/folders.h"
#include "base/io/output_file.h"
#include "base/io/processes.h"
#include "base/text/display_text.h"
#include "base/text/owned_text.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

/* ---- the listener of Kineto ------------------------------------------------------------------ */

/* Where PyTorch's own profiler asks what it shall record: a job started with KINETO_USE_DAEMON=1
 * sends a request every 5 s to the socket named "dynolog", and records what the answer says. The
 * messages are those of Kineto's IpcFabricConfigClient. */

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

static void kineto_listener_clear(struct kineto_listener *listener);

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

/* Abstract names belong to a network namespace, paths to a file system: a container that
 * shares neither cannot ask. The length counts the NUL, since Kineto's client sends to a name
 * that has it. */
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

/* `folder`: what the job's KINETO_IPC_SOCKET_DIR says; NULL: the name is abstract. ERROR_FAILURE
 * where it can't be: another program listens there, or the folder can't be written to. */
static bool kineto_listener_open(struct kineto_listener *listener, const char *folder,
                                 struct error *error)
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

/* The kernel vouches for the sender (SCM_CREDENTIALS), so the process number in the message
 * need not be believed. A cut message is none. */
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

/* Head and body in one datagram, as Kineto's IPC fabric reads them. */
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

/* `settings`: lines NAME=VALUE, as libkineto.conf has them. False where it does not arrive. */
static bool kineto_listener_answer(const struct kineto_listener *listener,
                                   const struct kineto_request *request, const char *settings)
{
    char text[4096];
    struct iovec body = {text, strlen(settings)};

    if (body.iov_len > sizeof text)
        return false;
    memcpy(text, settings, body.iov_len);

    return send_message(listener, request, "req", &body);
}

/* Whether the message asks for what to trace; one that announces a process is answered. "ctxt"
 * announces, and its sender waits for a number before it goes on: not to answer would delay the
 * job's start. */
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

/* Waits for a process of this user that asks for what to trace, `timeout_ms` at most. False where
 * none came, or a signal did. Messages that are none, and those of other users, are passed over.
 * Polls a second at most at a time, so that a clock that was set does no harm; the deadline is
 * of the monotonic clock. */
static bool kineto_listener_next(struct kineto_listener *listener, int64_t timeout_ms,
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

/* The socket has a name in the file system, which nobody else removes. */
static void kineto_listener_clear(struct kineto_listener *listener)
{
    if (listener->socket >= 0)
        close(listener->socket);
    if (listener->path[0])
        (void)unlink(listener->path);
    *listener = (struct kineto_listener){.socket = -1};
}

/* ---- attachment ------------------------------------------------------------------------------ */

/* The profiler gets ready for so long, once it has its settings. */
enum { WARMUP_SECONDS = 1 };

/* Each asks every 5 s, and where nobody listened tries again after at most 5 s more: within so long
 * all have, and begin together after it. */
enum { ALL_ASK_MS = 11000 };

/* What a trace may take to be written, beside its own length. */
enum { WRITING_MS = 120000 };

static struct attach_target *target_of(struct attachment *attachment, long pid)
{
    for (size_t i = 0; i < attachment->count; i++) {
        if (attachment->targets[i].pid == pid)
            return &attachment->targets[i];
    }
    return NULL;
}

/* One that has ended, and was not waited for yet, maps nothing any more. */
static bool is_target_alive(long pid)
{
    return process_maps_file(pid, attach_library);
}

/* ---- asking --------------------------------------------------------------------------------- */

static int64_t wall_clock_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_sec * (int64_t)1000 + now.tv_nsec / 1000000;
}

/* Newer Kineto writes only below a folder that its environment names, or /tmp. */
static bool make_trace_folder(struct attachment *attachment, struct arena *arena,
                              struct error *error)
{
    const char *allowed =
        process_variable(arena, attachment->targets[0].pid, "KINETO_ONDEMAND_TRACE_DIR");
    char *path = path_join(allowed && *allowed ? allowed : "/tmp", "flopledger-attach-XXXXXX");

    attachment->trace_folder = arena_copy_text(arena, path, strlen(path));
    free(path);
    if (mkdtemp(attachment->trace_folder))
        return true;
    error_set(error, ERROR_FAILURE, "cannot make a folder for the traces ('%s'): %s",
              attachment->trace_folder, strerror(errno));
    attachment->trace_folder = NULL;
    return false;
}

static const char *yes_or_no(bool is)
{
    return is ? "true" : "false";
}

/* As libkineto.conf has them. Several processes begin at one moment of the wall clock, which is
 * what Kineto takes; one alone begins at once. */
static void write_settings(char *settings, size_t size, const struct attachment *attachment,
                           const struct attach_wish *wish)
{
    int length = snprintf(settings, size,
                          "ACTIVITIES_LOG_FILE=%s/trace.json\n"
                          "ACTIVITIES_DURATION_MSECS=%" PRId64 "\n"
                          "ACTIVITIES_WARMUP_PERIOD_SECS=%d\n"
                          "PROFILE_REPORT_INPUT_SHAPES=%s\n"
                          "PROFILE_WITH_STACK=%s\n"
                          "PROFILE_WITH_MODULES=%s\n",
                          attachment->trace_folder, wish->milliseconds, WARMUP_SECONDS,
                          yes_or_no(wish->records_shapes), yes_or_no(wish->records_stacks),
                          yes_or_no(wish->records_stacks));

    if (attachment->start_ms && length > 0 && (size_t)length < size)
        snprintf(settings + length, size - (size_t)length, "PROFILE_START_TIME=%" PRId64 "\n",
                 attachment->start_ms);
}

/* The end of the wait: until the first asks as long as was wished, then until all had time to. */
static int64_t asking_left_ms(const struct attachment *attachment, int64_t asked_ms,
                              const struct attach_wish *wish)
{
    int64_t end_ms = attachment->start_ms ? attachment->start_ms - (int64_t)WARMUP_SECONDS * 1000
                                          : asked_ms + wish->wait_seconds * 1000;

    return end_ms - wall_clock_ms();
}

/* Tells each that asks; how many. The first that asks fixes the moment for all, see ALL_ASK_MS.
 * Who asks twice is answered once: a second answer would start a second trace. */
static size_t answer_all(struct attachment *attachment, struct kineto_listener *listener,
                         const struct attach_wish *wish)
{
    int64_t asked_ms = wall_clock_ms();
    size_t answered = 0;
    char settings[2048];
    struct kineto_request request;

    while (answered < attachment->count) {
        int64_t left_ms = asking_left_ms(attachment, asked_ms, wish);
        struct attach_target *target;

        if (left_ms <= 0 || !kineto_listener_next(listener, left_ms, &request))
            break;
        target = target_of(attachment, request.pid);
        if (!target || target->is_answered)
            continue;
        if (attachment->count > 1 && !attachment->start_ms)
            attachment->start_ms = wall_clock_ms() + ALL_ASK_MS + (int64_t)WARMUP_SECONDS * 1000;
        write_settings(settings, sizeof settings, attachment, wish);
        target->is_answered = kineto_listener_answer(listener, &request, settings);
        answered += target->is_answered;
    }
    return answered;
}

/* The socket is closed as soon as all were told, since dynolog or another attachment may want
 * it. */
bool attachment_ask(struct attachment *attachment, struct arena *arena,
                    const struct attach_wish *wish, struct error *error)
{
    struct kineto_listener listener;
    size_t answered;

    if (!kineto_listener_open(&listener, attachment->listen_folder, error))
        return false;
    if (!make_trace_folder(attachment, arena, error)) {
        kineto_listener_clear(&listener);
        return false;
    }
    answered = answer_all(attachment, &listener, wish);
    kineto_listener_clear(&listener);
    if (answered)
        return true;
    return error_set(error, ERROR_NO_DATA,
                     "process %ld has not asked within %" PRId64 " s, though it was started with "
                     "KINETO_USE_DAEMON: it may not have imported torch yet, or be in another "
                     "network namespace (a container); --wait waits longer",
                     attachment->targets[0].pid, wish->wait_seconds);
}

/* ---- collecting ----------------------------------------------------------------------------- */

static const char *trace_path(struct arena *arena, const struct attachment *attachment, long pid)
{
    char *path = text_format("%s/trace_%ld.json", attachment->trace_folder, pid);
    const char *kept = arena_copy_text(arena, path, strlen(path));

    free(path);
    return kept;
}

/* What the launcher said; those without are numbered as they stand. What the launcher said is
 * kept over the order of the processes: files of ranks must be named as the job names them. */
static long target_rank(struct arena *arena, const struct attach_target *target, size_t place)
{
    const char *text = process_variable(arena, target->pid, "RANK");
    char *end;
    long rank;

    if (!text)
        text = process_variable(arena, target->pid, "SLURM_PROCID");
    if (!text)
        return (long)place;
    errno = 0;
    rank = strtol(text, &end, 10);
    return errno || *end || end == text || rank < 0 ? (long)place : rank;
}

/* Packed on the way in: traces of PyTorch are text of which a tenth is left. */
static bool pack_trace(FILE *from, const char *path, struct error *error)
{
    SCOPED(output_file) file = {0};
    char piece[1 << 16];
    FILE *packed;
    size_t length;
    bool is_whole;

    if (!output_file_open(&file, path, error))
        return false;
    packed = packed_output_open(file.stream);
    while ((length = fread(piece, 1, sizeof piece, from)) > 0)
        (void)fwrite(piece, 1, length, packed);
    is_whole = ferror(from) == 0;
    if (fclose(packed) != 0 || !is_whole)
        return error_set(error, ERROR_FAILURE, "cannot write '%s': %s", path, strerror(errno));
    return output_file_close(&file, error);
}

/* Into traces/rankN/ of the capture, packed; what Kineto wrote is removed. */
static bool pack_written_trace(const char *path, const char *capture, long rank, long pid,
                               struct error *error)
{
    char *folder = text_format("%s/traces/rank%ld", capture, rank);
    char *target = text_format("%s/attach_%ld.pt.trace.json.gz", folder, pid);
    FILE *from = fopen(path, "re");
    bool is_collected = false;

    if (!from)
        error_set(error, ERROR_FAILURE, "cannot read '%s': %s", path, strerror(errno));
    else if (!make_folders(folder))
        error_set(error, ERROR_FAILURE, "cannot make '%s': %s", folder, strerror(errno));
    else
        is_collected = pack_trace(from, target, error);
    if (from)
        (void)fclose(from);
    if (is_collected)
        (void)unlink(path);
    free(folder);
    free(target);
    return is_collected;
}

/* Takes what has arrived meanwhile. *waits: whether more is to come. */
static bool collect_arrived(struct attachment *attachment, struct arena *arena, const char *capture,
                            bool *waits, struct error *error)
{
    *waits = false;
    for (size_t i = 0; i < attachment->count; i++) {
        struct attach_target *target = &attachment->targets[i];
        const char *path;
        bool was_alive;

        if (!target->is_answered || target->has_arrived)
            continue;
        path = trace_path(arena, attachment, target->pid);
        was_alive = is_target_alive(target->pid); /* asked first: it writes, and then ends */
        if (access(path, R_OK) == 0) {
            if (!pack_written_trace(path, capture, target_rank(arena, target, i), target->pid,
                                    error))
                return false;
            target->has_arrived = true;
        } else {
            *waits |= was_alive;
        }
    }
    return true;
}

/* Each process that gave nothing is named with its likely reason: of a job's many processes
 * most give something. */
static size_t say_what_is_missing(const struct attachment *attachment)
{
    size_t arrived = 0;

    for (size_t i = 0; i < attachment->count; i++) {
        const struct attach_target *target = &attachment->targets[i];

        arrived += target->has_arrived;
        if (!target->is_answered)
            fprintf(stderr,
                    "flopledger: process %ld did not ask: it trains nothing (a data loader's "
                    "worker), or is in another network namespace\n",
                    target->pid);
        else if (!target->has_arrived)
            fprintf(stderr, "flopledger: process %ld %s\n", target->pid,
                    is_target_alive(target->pid) ? "was asked to record, and has written no trace"
                                                 : "ended before its trace was written");
    }
    return arrived;
}

/* Kineto writes the file under its final name when it is whole, so its appearance is enough.
 * Twice the length and WRITING_MS: writing may take as long as recording. */
bool attachment_collect(struct attachment *attachment, struct arena *arena, const char *capture,
                        int64_t milliseconds, struct error *error)
{
    const struct timespec pause = {.tv_nsec = 50000000};
    int64_t now_ms = wall_clock_ms();
    int64_t start_ms = attachment->start_ms > now_ms ? attachment->start_ms : now_ms;
    int64_t end_ms = start_ms + 2 * milliseconds + WRITING_MS;
    bool waits = true;

    while (waits && wall_clock_ms() < end_ms) {
        if (!collect_arrived(attachment, arena, capture, &waits, error))
            return false;
        if (waits)
            (void)nanosleep(&pause, NULL);
    }
    if (say_what_is_missing(attachment))
        return true;
    return error_set(error, ERROR_NO_DATA,
                     "no trace has been written: the process has ended, or its profiler was busy "
                     "(one that the program itself starts goes first)");
}

void attachment_clear(struct attachment *attachment)
{
    if (attachment->trace_folder)
        (void)rmdir(attachment->trace_folder); /* what still is written there stays */
    attachment->trace_folder = NULL;
}
