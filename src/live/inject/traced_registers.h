/* The registers of a stopped thread, and the frame of a call; of x86-64. */
#ifndef FLOPLEDGER_LIVE_INJECT_TRACED_REGISTERS_H
#define FLOPLEDGER_LIVE_INJECT_TRACED_REGISTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

#endif
