/* Other processes of this machine, as /proc tells. */
#ifndef FLOPLEDGER_BASE_IO_PROCESSES_H
#define FLOPLEDGER_BASE_IO_PROCESSES_H

#include "base/core/arena.h"

#include <stdbool.h>
#include <stddef.h>

struct process_state {
    char letter;              /* 'Z': it has ended, and was not waited for */
    bool is_exiting;          /* or has: that is slow where it has much memory */
    long parent;              /* 0: not told */
    unsigned long long began; /* in ticks since the machine was started: with this its number is its
                                 own */
};

/* False where there is none of that number. */
bool process_state_read(struct process_state *state, long pid);

/* A variable of the environment that a process was started with; NULL where it has none, or its
 * environment may not be read. */
const char *process_variable(struct arena *arena, long pid, const char *name);

/* Appends the children of `pid` to the list of `count` numbers, which has room for `room`. Returns
 * how many there are then. */
size_t add_child_processes(long pid, long *processes, size_t count, size_t room);

/* Whether a file whose name begins with `name` is mapped into the process's memory: a library that
 * it has loaded. False where that may not be read. */
bool process_maps_file(long pid, const char *name);

#endif
