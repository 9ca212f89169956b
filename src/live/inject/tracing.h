/* What is done to a thread of another process while it is stopped: its registers, its memory, a
 * call. */
#ifndef FLOPLEDGER_LIVE_INJECT_TRACING_H
#define FLOPLEDGER_LIVE_INJECT_TRACING_H

#include "base/core/attributes.h"
#include "base/core/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The registers of a stopped thread, and the frame of a call; of x86-64. */

/* What is to be called. */
struct traced_call {
    uint64_t function;
    uint64_t arguments[6];
    uint64_t signal_return; /* code that ends a signal's handler */
    uint64_t stack_end;     /* of a stack of its own; 0: that of the thread */
};

enum {
    FRAME_BYTES_MAX = 32 << 10, /* tiles of matrices included */
    STATE_BYTES_MAX = 16 << 10,
};

struct traced_registers {
    unsigned char state[STATE_BYTES_MAX]; /* of vectors */
    uint64_t general[27];                 /* struct user_regs_struct */
    uint64_t signals;                     /* that are blocked */
    size_t state_bytes;
};

#if defined(__x86_64__)

/* Whether this machine's registers are known here. */
#define TRACED_REGISTERS_KNOWN true

bool traced_registers_read(struct traced_registers *registers, long tid);
/* In an order that leaves the thread in a state it can go on from after each of the parts. */
bool traced_registers_write(const struct traced_registers *registers, long tid);

uint64_t traced_registers_place(const struct traced_registers *registers); /* in the code */
bool traced_registers_in_system(const struct traced_registers *registers);

/* The frame of a call, at *address, below `stack_end`: bytes of it. *begin: registers with which
 * the thread begins the call. 0: does not fit. */
size_t make_call_frame(unsigned char frame[FRAME_BYTES_MAX], uint64_t *address,
                       const struct traced_registers *registers, const struct traced_call *call,
                       uint64_t begin[27]);

/* Whether the thread, stopped as it enters a call of the system, has come back from the function
 * whose frame is at `address`; then has it try that again, once it goes on. */
bool traced_call_came_back(long tid, uint64_t address, const struct traced_call *call);

bool traced_registers_begin(long tid, const uint64_t begin[27]);
/* Leaves out what the thread must not see before the call is over. */
bool traced_registers_block_signals(long tid);

#else /* nothing of this is called */

#define TRACED_REGISTERS_KNOWN                 false
#define traced_registers_read(registers, tid)  ((void)(registers), (void)(tid), false)
#define traced_registers_write(registers, tid) ((void)(registers), (void)(tid), false)
#define traced_registers_place(registers)      ((void)(registers), (uint64_t)0)
#define traced_registers_in_system(registers)  ((void)(registers), false)
#define make_call_frame(frame, address, registers, call, begin) \
    ((void)(frame), *(address) = 0, (void)(registers), (void)(call), (void)(begin), (size_t)0)
#define traced_call_came_back(tid, address, call) \
    ((void)(tid), (void)(address), (void)(call), false)
#define traced_registers_begin(tid, begin)  ((void)(tid), (void)(begin), false)
#define traced_registers_block_signals(tid) ((void)(tid), false)

#endif

/* A thread of another process that is stopped for a moment, made to call a function, and goes on as
 * if nothing had been.
 *
 * A call is laid out as the kernel lays out one of a signal's handler: below the thread's stack, or
 * on a stack of its own, stands a frame with all of its registers, and the function returns into
 * the code that ends a handler. So the thread finds back by itself where this process is killed in
 * the middle. Where it is not, it takes the frame away and sets the registers itself, so that a
 * call of the system that was interrupted goes on, too, as after a stop by a debugger. */

struct traced_thread {
    long tid;
    int memory; /* its /proc/TID/mem; -1: not open */
    bool is_attached;
    bool is_stopped;
};

enum traced_end {
    TRACED_DONE,
    TRACED_GONE,   /* the process has ended */
    TRACED_STUCK,  /* the call did not come back in time: it was taken back; or it never stopped
                      where it may */
    TRACED_FAILED, /* errno tells */
};

/* Begins to trace it, and does not stop it. ERROR_FAILURE where the system forbids that, with what
 * forbids it. */
MUST_USE bool traced_thread_attach(struct traced_thread *thread, long tid, struct error *error);

/* Stops it where a call does no harm: within a call of the system, or outside of the code from
 * `is_unsafe`, which holds a lock now and then. TRACED_STUCK where it never was there within
 * `timeout_ms`; until then it runs. */
MUST_USE enum traced_end traced_thread_stop(struct traced_thread *thread,
                                            bool (*is_unsafe)(const void *context,
                                                              uint64_t address),
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
    bool is_hidden;    /* not even its list of mapped files may be read: Yama forbids no reading */
    bool has_more;     /* the process has capabilities that this one lacks */
    bool has_seccomp;  /* this process runs under a filter of system calls, as in a container */
    bool is_elsewhere; /* the process is in another user namespace: a container's */
};

/* Whether the process may be traced, and so its memory and files be looked at, without doing so.
 * ERROR_FAILURE as below where not. */
MUST_USE bool tracing_is_allowed(long pid, struct error *error);

/* Whether the system hides from this process what that one has mapped. */
bool process_is_hidden(long pid);

/* Sets ERROR_FAILURE with one reason and what to do. Always false. */
bool tell_ptrace_facts(const struct ptrace_facts *facts, struct error *error);

#endif
