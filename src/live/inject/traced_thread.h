/* A thread of another process that is stopped for a moment, made to call a function, and goes on as
 * if nothing had been.
 *
 * A call is laid out as the kernel lays out one of a signal's handler: below the thread's stack, or
 * on a stack of its own, stands a frame with all of its registers, and the function returns into
 * the code that ends a handler. So the thread finds back by itself where this process is killed in
 * the middle. Where it is not, it takes the frame away and sets the registers itself, so that a
 * call of the system that was interrupted goes on, too, as after a stop by a debugger. */
#ifndef FLOPLEDGER_LIVE_INJECT_TRACED_THREAD_H
#define FLOPLEDGER_LIVE_INJECT_TRACED_THREAD_H

#include "base/core/attributes.h"
#include "base/core/error.h"
#include "live/inject/traced_registers.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct traced_thread {
    long tid;
    int memory; /* its /proc/TID/mem; -1: not open */
    bool is_attached;
    bool is_stopped;
};

enum traced_end {
    TRACED_DONE,
    TRACED_GONE,   /* the process has ended */
    TRACED_STUCK,  /* the call did not come back in time: it was taken back */
    TRACED_FAILED, /* errno tells */
};

/* Begins to trace it, and does not stop it. ERROR_FAILURE where the system forbids that, with what
 * forbids it. */
MUST_USE bool traced_thread_attach(struct traced_thread *thread, long tid, struct error *error);

/* Stops it where a call does no harm: within a call of the system, or outside of the code from
 * `is_unsafe`, which holds a lock now and then. False where it never was there within `timeout_ms`.
 * Until then it runs. */
MUST_USE bool traced_thread_stop(struct traced_thread *thread,
                                 bool (*is_unsafe)(const void *context, uint64_t address),
                                 const void *context, int timeout_ms);

/* Of a stopped thread, which is stopped at the same place afterwards. */
MUST_USE enum traced_end traced_thread_call(struct traced_thread *thread,
                                            const struct traced_call *call, int timeout_ms);

MUST_USE bool traced_thread_write(const struct traced_thread *thread, uint64_t address,
                                  const void *bytes, size_t length);

/* Lets it go on. */
void traced_thread_clear(struct traced_thread *thread);

/* What decides it. */
struct ptrace_facts {
    long pid;
    int problem;       /* errno */
    int scope;         /* of yama: 0 to 3; -1: this system has none */
    long tracer;       /* who traces it already; 0: nobody */
    bool has_ended;    /* or waits to be waited for */
    bool is_capable;   /* this process has CAP_SYS_PTRACE */
    bool is_other;     /* the process is another user's */
    bool has_more;     /* the process has capabilities that this one lacks */
    bool has_seccomp;  /* this process runs under a filter of system calls, as in a container */
    bool is_elsewhere; /* the process is in another user namespace: a container's */
};

/* Sets ERROR_FAILURE with one reason and what to do. Always false. */
bool tell_ptrace_facts(const struct ptrace_facts *facts, struct error *error);

#endif
