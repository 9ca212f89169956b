/* A thread of another process that is stopped for a moment, made to call a function, and goes on.
 */
#include "live/inject/tracing.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- why ptrace is refused ------------------------------------------------------------------- */

/* Why the system does not let one process trace another, and what to ask for. */

/* CAP_SYS_PTRACE of linux/capability.h, as a bit of CapEff in /proc/PID/status. */
enum { TRACE_CAPABILITY = 19 };

#define OTHERWISE "; or start the job with KINETO_USE_DAEMON=1, or under 'flopledger run'"

/* The text behind `key` in a file of lines "key:\tvalue"; "" where there is none. */
static void status_value(long pid, const char *key, char value[64])
{
    char path[64];
    char line[256];
    FILE *file;
    size_t length = strlen(key);

    value[0] = '\0';
    snprintf(path, sizeof path, "/proc/%ld/status", pid);
    file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file)) {
        if (strncmp(line, key, length) == 0 && line[length] == ':') {
            line[strcspn(line, "\n")] = '\0';
            snprintf(value, 64, "%.63s", line + length + 1 + strspn(line + length + 1, " \t"));
            break;
        }
    }
    if (file)
        fclose(file);
}

static uint64_t capabilities_of(long pid, const char *set)
{
    char value[64];

    status_value(pid, set, value);
    return strtoull(value, NULL, 16);
}

/* -1: a kernel without Yama, which has no such limit. */
static int yama_scope(void)
{
    FILE *file = fopen("/proc/sys/kernel/yama/ptrace_scope", "re");
    int scope = -1;

    if (file && fscanf(file, "%d", &scope) != 1)
        scope = -1;
    if (file)
        fclose(file);
    return scope;
}

/* Namespaces are told apart by the number of their file. */
static bool is_in_other_user_namespace(long pid)
{
    char path[64];
    struct stat own;
    struct stat other;

    snprintf(path, sizeof path, "/proc/%ld/ns/user", pid);
    return stat("/proc/self/ns/user", &own) == 0 && stat(path, &other) == 0 &&
           own.st_ino != other.st_ino;
}

bool process_is_hidden(long pid)
{
    char path[64];
    int file;

    snprintf(path, sizeof path, "/proc/%ld/maps", pid);
    file = open(path, O_RDONLY | O_CLOEXEC);
    if (file >= 0)
        close(file);
    return file < 0 && (errno == EACCES || errno == EPERM);
}

/* Everything that can be the reason is asked, as ptrace itself says EPERM for all of them. */
static struct ptrace_facts gather_facts(long pid, int problem)
{
    struct ptrace_facts facts = {.pid = pid, .problem = problem, .scope = yama_scope()};
    long self = (long)getpid();
    uint64_t own = capabilities_of(self, "CapEff");
    char value[64];
    char path[64];
    struct stat about;

    status_value(pid, "TracerPid", value);
    facts.tracer = strtol(value, NULL, 10);
    status_value(pid, "State", value);
    facts.has_ended = value[0] == '\0' || value[0] == 'Z' || value[0] == 'X';
    status_value(self, "Seccomp", value);
    facts.has_seccomp = value[0] == '2';
    facts.is_capable = (own >> TRACE_CAPABILITY) & 1;
    facts.has_more = (capabilities_of(pid, "CapPrm") & ~own) != 0;
    facts.is_elsewhere = is_in_other_user_namespace(pid);
    facts.is_hidden = process_is_hidden(pid);
    snprintf(path, sizeof path, "/proc/%ld", pid);
    facts.is_other = stat(path, &about) == 0 && about.st_uid != geteuid();
    return facts;
}

/* Each level has another way out: 3 cannot be undone before a restart, 2 needs a capability, 1
 * a parent. */
static bool tell_scope(const struct ptrace_facts *facts, struct error *error)
{
    if (facts->scope == 3)
        return error_set(error, ERROR_FAILURE,
                         "process %ld may not be traced: kernel.yama.ptrace_scope is 3, which "
                         "forbids it to all until the machine starts anew; ask the administrator "
                         "for kernel.yama.ptrace_scope=0 in /etc/sysctl.d" OTHERWISE,
                         facts->pid);
    if (facts->scope == 2)
        return error_set(error, ERROR_FAILURE,
                         "process %ld may not be traced: kernel.yama.ptrace_scope is 2, which "
                         "allows it to CAP_SYS_PTRACE only; ask the administrator to run 'sysctl "
                         "kernel.yama.ptrace_scope=0', or to attach for you" OTHERWISE,
                         facts->pid);
    return error_set(error, ERROR_FAILURE,
                     "process %ld may not be traced: kernel.yama.ptrace_scope is 1, which allows a "
                     "process to trace only what it started; ask the administrator to run 'sysctl "
                     "kernel.yama.ptrace_scope=0', or to attach for you" OTHERWISE,
                     facts->pid);
}

/* From the reason that excludes all others to the vaguest; each with what to ask for, and from
 * whom. */
bool tell_ptrace_facts(const struct ptrace_facts *facts, struct error *error)
{
    if (facts->problem == ESRCH || facts->has_ended)
        return error_set(error, ERROR_FAILURE, "process %ld has ended", facts->pid);
    if (facts->tracer)
        return error_set(error, ERROR_FAILURE,
                         "process %ld is traced by process %ld already (a debugger, strace), and "
                         "there can be only one: end that first",
                         facts->pid, facts->tracer);
    if (facts->is_other && !facts->is_capable)
        return error_set(error, ERROR_FAILURE,
                         "process %ld belongs to another user: attach as the user who started it",
                         facts->pid);
    /* Level 3 forbids it to all, a capable process included; the levels below only to others. */
    if (facts->scope > 0 && !facts->is_hidden && (facts->scope == 3 || !facts->is_capable))
        return tell_scope(facts, error);
    if (facts->is_elsewhere && !facts->is_capable)
        return error_set(error, ERROR_FAILURE,
                         "process %ld runs in a container (another user namespace), and may be "
                         "traced from within it only: run 'flopledger attach' in the container",
                         facts->pid);
    if (facts->has_more && !facts->is_capable)
        return error_set(error, ERROR_FAILURE,
                         "process %ld has capabilities that this one lacks, so the system does not "
                         "let it be traced: attach with CAP_SYS_PTRACE (docker: --cap-add "
                         "SYS_PTRACE)" OTHERWISE,
                         facts->pid);
    /* A filter refuses the call itself, so that even a capable process does not get further. */
    if (facts->has_seccomp && !facts->is_hidden)
        return error_set(error, ERROR_FAILURE,
                         "the filter of system calls that this process runs under (seccomp, a "
                         "container's) forbids ptrace: start the container with --cap-add "
                         "SYS_PTRACE, or attach from outside of it" OTHERWISE);
    /* What is left cannot be seen from here; the system's own word is told beside the guess. */
    if (facts->is_capable)
        return error_set(error, ERROR_FAILURE,
                         "process %ld may not be traced, though this one has CAP_SYS_PTRACE: %s; a "
                         "security module (SELinux, AppArmor) may forbid it: ask the "
                         "administrator" OTHERWISE,
                         facts->pid, strerror(facts->problem));
    return error_set(error, ERROR_FAILURE,
                     "process %ld may not be traced: it is marked as not dumpable (it changed its "
                     "user, or runs a program that may not be read), or a security module "
                     "(SELinux, AppArmor) forbids it; ask for CAP_SYS_PTRACE" OTHERWISE,
                     facts->pid);
}

/* The same of process `pid`, right after ptrace gave `problem`. */
static bool tell_ptrace_refused(long pid, int problem, struct error *error)
{
    struct ptrace_facts facts = gather_facts(pid, problem);

    return tell_ptrace_facts(&facts, error);
}

/* Its memory is opened for that: the system asks for the same right as for ptrace. */
bool tracing_is_allowed(long pid, struct error *error)
{
    char path[64];
    int memory;

    snprintf(path, sizeof path, "/proc/%ld/mem", pid);
    memory = open(path, O_RDWR | O_CLOEXEC);
    if (memory < 0)
        return tell_ptrace_refused(pid, errno, error);
    close(memory);
    return true;
}

/* ---- traced thread --------------------------------------------------------------------------- */

/* PTRACE_O_TRACESYSGOOD marks stops at system calls by this bit; the kind of an event stands
 * above the signal. */
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

/* PTRACE_O_TRACESYSGOOD sets bit 7 at stops of system calls, so they differ from a real
 * SIGTRAP. */
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

/* By polling: waitpid() has no timeout, and a signal handler of a library's caller is not ours
 * to set. */
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
 * on. Nothing but the thread's end keeps what is asked of it from being done. */
static enum traced_end interrupt(struct traced_thread *thread)
{
    int64_t end_ms = thread_clock_ms() + 10000;
    int signal_number = 0;

    if (ptrace(PTRACE_INTERRUPT, (pid_t)thread->tid, NULL, NULL) != 0 ||
        (thread->is_stopped && !let_thread_run(thread, PTRACE_CONT, 0)))
        return TRACED_GONE;
    for (;;) {
        switch (await_stop(thread, end_ms, &signal_number)) {
        case STOP_ASKED:
            return TRACED_DONE;
        case STOP_SYSTEM:
        case STOP_SIGNAL:
            /* Any other stop takes back what was asked for before. */
            if (ptrace(PTRACE_INTERRUPT, (pid_t)thread->tid, NULL, NULL) != 0 ||
                !let_thread_run(thread, PTRACE_CONT, signal_number))
                return TRACED_GONE;
            break;
        case STOP_GONE:
            return TRACED_GONE;
        case STOP_NONE:
            return TRACED_STUCK;
        }
    }
}

/* ---- beginning and end ---------------------------------------------------------------------- */

/* PTRACE_SEIZE, not ATTACH: it sends no SIGSTOP, which the job's parent would see. */
bool traced_thread_attach(struct traced_thread *thread, long tid, struct error *error)
{
    char path[64];

    *thread = (struct traced_thread){.tid = tid, .memory = -1};
    if (!TRACED_REGISTERS_KNOWN)
        return error_set(error, ERROR_FAILURE,
                         "on this machine's kind of processor only Python 3.14 and later can be "
                         "attached to, where the system allows that, or a job that was started "
                         "with KINETO_USE_DAEMON=1: or record it with 'flopledger run'");
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

/* Detaching needs a stop; a thread that cannot be stopped any more has ended. */
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

/* A thread in a call of the system holds no lock of ours: it would have it around its own
 * code. */
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
static enum traced_end run_into_system(struct traced_thread *thread)
{
    int64_t end_ms = thread_clock_ms() + GLANCE_MS;
    int signal_number = 0;
    int calls = 0;

    while (let_thread_run(thread, PTRACE_SYSCALL, signal_number)) {
        switch (await_stop(thread, end_ms, &signal_number)) {
        case STOP_SYSTEM:
            if (++calls == 2) /* its end */
                return TRACED_DONE;
            break;
        case STOP_SIGNAL:
        case STOP_ASKED:
            break;
        case STOP_NONE:
            return interrupt(thread);
        case STOP_GONE:
            return TRACED_GONE;
        }
    }
    return TRACED_GONE;
}

/* Runs on to the next system call until the place is safe: within CPU-bound code that takes a
 * step at a time, up to the timeout. */
enum traced_end traced_thread_stop(struct traced_thread *thread,
                                   bool (*is_unsafe)(const void *context, uint64_t address),
                                   const void *context, int timeout_ms)
{
    int64_t end_ms = thread_clock_ms() + timeout_ms;
    enum traced_end end = interrupt(thread);

    while (end == TRACED_DONE && !is_at_safe_place(thread, is_unsafe, context))
        end = thread_clock_ms() >= end_ms ? TRACED_STUCK : run_into_system(thread);
    return end;
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

/* Whatever ends it, the registers from before are written back last. */
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
    if (interrupt(thread) != TRACED_DONE)
        return TRACED_GONE;
    return traced_registers_write(&before, thread->tid) ? end : TRACED_GONE;
}
