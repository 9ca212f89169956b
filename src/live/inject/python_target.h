/* The interpreter in a process of Python, and where its functions are. */
#ifndef FLOPLEDGER_LIVE_INJECT_PYTHON_TARGET_H
#define FLOPLEDGER_LIVE_INJECT_PYTHON_TARGET_H

#include "base/core/arena.h"
#include "base/core/attributes.h"
#include "base/core/error.h"
#include "live/inject/process_memory.h"

#include <stdint.h>

struct python_target {
    long pid;
    const char *library; /* that holds the interpreter, as the process sees it */
    const char *libc;
    int minor; /* of 3.MINOR; 0: the file does not tell */
    uint64_t add_pending_call;
    uint64_t run_string;
    uint64_t runtime;       /* _PyRuntime; 0: not shown */
    uint64_t map_memory;    /* mmap of the library of C */
    uint64_t unmap_memory;  /* its munmap */
    uint64_t signal_return; /* its code that ends a signal's handler */
};

/* ERROR_NO_DATA with a reason where the interpreter is not found, or is none that is known. */
MUST_USE bool python_target_find(struct python_target *target, struct arena *arena,
                                 const struct process_memory *memory, struct error *error);

#endif
