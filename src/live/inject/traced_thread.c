/* A thread of another process that is stopped for a moment, made to call a function, and goes on.
 */
#include "live/inject/traced_thread.h"

#include "live/inject/ptrace_refused.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SYSTEM_STOP = SIGTRAP | 0x80, EVENT_SHIFT = 16, GLANCE_MS = 4 };

/* ---- stops ---------------------------------------------------------------------------------- */

enum stop_kind {
    STOP_NONE, /* in time */
    STOP_GONE,
    STOP_ASKED,  /* for by this process */
    STOP_SYSTEM, /* at the begin or end of a call of the system */
    STOP_SIGNAL, /* about to get a signal */
};

static int64_t thread_clock_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * (int64_t)1000 + now.tv_nsec / 1000000;
}

static enum stop_kind kind_of_stop(int status, int *signal_number)
{
    *signal_number = 0;
    if (!WIFSTOPPED(status))
        return STOP_GONE;
    if (status >> EVENT_SHIFT == PTRACE_EVENT_STOP)
        return STOP_ASKED;
    if (WSTOPSIG(status) == SYSTEM_STOP)
        return STOP_SYSTEM;
    *signal_number = WSTOPSIG(status);
    return STOP_SIGNAL;
}

static enum stop_kind await_stop(struct traced_thread *thread, int64_t end_ms, int *signal_number)
{
    for (;;) {
        const struct timespec pause = {.tv_nsec = 20000};
        int status;
        pid_t seen = waitpid((pid_t)thread->tid, &status, WNOHANG | __WALL);

        if (seen == (pid_t)thread->tid) {
            enum stop_kind kind = kind_of_stop(status, signal_number);

            thread->is_stopped = kind != STOP_GONE;
            thread->is_attached = kind != STOP_GONE;
            return kind;
        }
        if (seen < 0 && errno != EINTR)
            return STOP_GONE;
        if (thread_clock_ms() >= end_ms)
            return STOP_NONE;
        (void)nanosleep(&pause, NULL);
    }
}

/* `how`: PTRACE_CONT, or PTRACE_SYSCALL, which stops it at calls of the system. */
static bool let_thread_run(struct traced_thread *thread, int how, int signal_number)
{
    long done = how == PTRACE_CONT
                    ? ptrace(PTRACE_CONT, (pid_t)thread->tid, NULL, (long)signal_number)
                    : ptrace(PTRACE_SYSCALL, (pid_t)thread->tid, NULL, (long)signal_number);

    thread->is_stopped = done != 0;
    return done == 0;
}

/* Stops it as a debugger does, once more where it is stopped; signals that come first are handed
 * on. */
static bool interrupt(struct traced_thread *thread)
{
    int64_t end_ms = thread_clock_ms() + 10000;
    int signal_number = 0;

    if (ptrace(PTRACE_INTERRUPT, (pid_t)thread->tid, NULL, NULL) != 0 ||
        (thread->is_stopped && !let_thread_run(thread, PTRACE_CONT, 0)))
        return false;
    for (;;) {
        switch (await_stop(thread, end_ms, &signal_number)) {
        case STOP_ASKED:
            return true;
        case STOP_SYSTEM:
        case STOP_SIGNAL:
            /* Any other stop takes back what was asked for before. */
            if (ptrace(PTRACE_INTERRUPT, (pid_t)thread->tid, NULL, NULL) != 0 ||
                !let_thread_run(thread, PTRACE_CONT, signal_number))
                return false;
            break;
        case STOP_GONE:
        case STOP_NONE:
            return false;
        }
    }
}

/* ---- beginning and end ---------------------------------------------------------------------- */

bool traced_thread_attach(struct traced_thread *thread, long tid, struct error *error)
{
    char path[64];

    *thread = (struct traced_thread){.tid = tid, .memory = -1};
    if (!TRACED_REGISTERS_KNOWN)
        return error_set(error, ERROR_FAILURE,
                         "attaching without KINETO_USE_DAEMON works on x86-64 only so far: start "
                         "the job with KINETO_USE_DAEMON=1, or record it with 'flopledger run'");
    if (ptrace(PTRACE_SEIZE, (pid_t)tid, NULL, (long)PTRACE_O_TRACESYSGOOD) != 0)
        return tell_ptrace_refused(tid, errno, error);
    thread->is_attached = true;
    snprintf(path, sizeof path, "/proc/%ld/mem", tid);
    thread->memory = open(path, O_RDWR | O_CLOEXEC);
    if (thread->memory >= 0)
        return true;
    tell_ptrace_refused(tid, errno, error);
    traced_thread_clear(thread);
    return false;
}

void traced_thread_clear(struct traced_thread *thread)
{
    if (thread->is_attached && !thread->is_stopped)
        (void)interrupt(thread);
    if (thread->is_attached)
        (void)ptrace(PTRACE_DETACH, (pid_t)thread->tid, NULL, NULL);
    if (thread->memory >= 0)
        close(thread->memory);
    *thread = (struct traced_thread){.memory = -1};
}

bool traced_thread_write(const struct traced_thread *thread, uint64_t address, const void *bytes,
                         size_t length)
{
    return pwrite(thread->memory, bytes, length, (off_t)address) == (ssize_t)length;
}

/* ---- where a call does no harm -------------------------------------------------------------- */

static bool is_at_safe_place(const struct traced_thread *thread,
                             bool (*is_unsafe)(const void *context, uint64_t address),
                             const void *context)
{
    struct traced_registers registers;

    if (!traced_registers_read(&registers, thread->tid))
        return false;
    return traced_registers_in_system(&registers) ||
           !is_unsafe(context, traced_registers_place(&registers));
}

/* Runs it to the next call of the system, and through that as far as it does not wait in it. */
static bool run_into_system(struct traced_thread *thread)
{
    int64_t end_ms = thread_clock_ms() + GLANCE_MS;
    int signal_number = 0;
    int calls = 0;

    while (let_thread_run(thread, PTRACE_SYSCALL, signal_number)) {
        switch (await_stop(thread, end_ms, &signal_number)) {
        case STOP_SYSTEM:
            if (++calls == 2) /* its end */
                return true;
            break;
        case STOP_SIGNAL:
        case STOP_ASKED:
            break;
        case STOP_NONE:
            return interrupt(thread);
        case STOP_GONE:
            return false;
        }
    }
    return false;
}

bool traced_thread_stop(struct traced_thread *thread,
                        bool (*is_unsafe)(const void *context, uint64_t address),
                        const void *context, int timeout_ms)
{
    int64_t end_ms = thread_clock_ms() + timeout_ms;

    if (!interrupt(thread))
        return false;
    while (!is_at_safe_place(thread, is_unsafe, context)) {
        if (thread_clock_ms() >= end_ms || !run_into_system(thread))
            return false;
    }
    return true;
}

/* ---- a call --------------------------------------------------------------------------------- */

/* Until the function has come back. */
static enum traced_end await_return(struct traced_thread *thread, uint64_t frame,
                                    const struct traced_call *call, int64_t end_ms)
{
    int signal_number = 0;

    while (let_thread_run(thread, PTRACE_SYSCALL, signal_number)) {
        switch (await_stop(thread, end_ms, &signal_number)) {
        case STOP_SYSTEM:
            if (traced_call_came_back(thread->tid, frame, call))
                return TRACED_DONE;
            break;
        case STOP_SIGNAL:
        case STOP_ASKED:
            break;
        case STOP_NONE:
            return TRACED_STUCK;
        case STOP_GONE:
            return TRACED_GONE;
        }
    }
    return errno == ESRCH ? TRACED_GONE : TRACED_FAILED;
}

enum traced_end traced_thread_call(struct traced_thread *thread, const struct traced_call *call,
                                   int timeout_ms)
{
    unsigned char frame[FRAME_BYTES_MAX];
    struct traced_registers before;
    uint64_t begin[27];
    uint64_t address;
    size_t bytes;
    enum traced_end end;

    if (!traced_registers_read(&before, thread->tid))
        return errno == ESRCH ? TRACED_GONE : TRACED_FAILED;
    bytes = make_call_frame(frame, &address, &before, call, begin);
    if (bytes == 0 || !traced_thread_write(thread, address, frame, bytes))
        return TRACED_FAILED;
    if (!traced_registers_begin(thread->tid, begin) || !traced_registers_block_signals(thread->tid))
        return TRACED_GONE;
    end = await_return(thread, address, call, thread_clock_ms() + timeout_ms);
    if (end == TRACED_GONE || end == TRACED_FAILED)
        return end;
    /* Only behind a stop of this kind does the system see to a call that was interrupted before. */
    if (!interrupt(thread))
        return TRACED_GONE;
    return traced_registers_write(&before, thread->tid) ? end : TRACED_GONE;
}
