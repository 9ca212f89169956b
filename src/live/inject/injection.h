/* Has a process of Python run a few lines, in its main thread, at a point between two steps of the
 * interpreter: Python 3.14 and later look for such lines by themselves; others are made to call
 * Py_AddPendingCall, which may be done at any time. */
#ifndef FLOPLEDGER_LIVE_INJECT_INJECTION_H
#define FLOPLEDGER_LIVE_INJECT_INJECTION_H

#include "base/core/arena.h"
#include "base/core/attributes.h"
#include "base/core/error.h"
#include "live/inject/process_memory.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct python_target {
    long pid;
    const char *library; /* that holds the interpreter, as the process sees it */
    const char *libc;    /* NULL: none that is known */
    int minor;           /* of 3.MINOR; 0: the file does not tell */
    struct remote_script remote;
    uint64_t add_pending_call; /* 0: not shown */
    uint64_t run_string;
    uint64_t runtime;       /* _PyRuntime; 0: not shown */
    uint64_t map_memory;    /* mmap of the library of C */
    uint64_t unmap_memory;  /* its munmap */
    uint64_t open_file;     /* its open */
    uint64_t close_file;    /* its close */
    uint64_t dump_threads;  /* the interpreter's own: writes the stacks of all threads, and takes no
                               lock; 0: not shown */
    uint64_t signal_return; /* its code that ends a signal's handler */
};

enum { INJECTION_TEXT_MAX = 4000 };

struct injection {
    struct python_target target;
    struct process_memory memory; /* as it was when the interpreter was looked for */
    uint64_t room;                /* of ours, in the process: the lines, and a stack; 0: none yet */
    bool has_called;              /* what was to be called last: it has begun */
};

/* By Ctrl-Z or SIGSTOP: it runs nothing until it is told to go on. */
bool injection_process_is_stopped(long pid);

/* Or is about to: one that was killed takes a moment, which is waited for. */
bool injection_process_has_ended(long pid);

/* Looks at the process, and changes nothing. ERROR_NO_DATA where it can't be attached to. */
MUST_USE bool injection_prepare(struct injection *injection, struct arena *arena, long pid,
                                struct error *error);

/* Is told where room will be made, before: so it can be freed even if this side ends then. */
struct injection_note {
    void (*place)(void *context, uint64_t address);
    void *context;
};

/* Makes room in the process, where what is sent needs some. ERROR_FAILURE where the system forbids
 * it. */
MUST_USE bool injection_make_room(struct injection *injection, struct arena *arena,
                                  const struct injection_note *note, struct error *error);
enum { INJECTION_ROOM_BYTES = 1 << 18 };

/* Has it run `text`, soon: this comes back before. The text must let no exception out. `path` is a
 * file that holds it, too, as the process sees it. */
MUST_USE bool injection_send(struct injection *injection, const char *text, const char *path,
                             struct error *error);

/* The file is no more to be looked at: it is removed next. */
void injection_withdraw(const struct injection *injection, const char *path);

/* The stacks of the process's threads in Python, as its faulthandler prints them: by the
 * interpreter's own function for that, which runs within the main thread wherever that is, in a
 * call of C that does not end, too. Lives in `arena`; NULL with `error` set where that can't be. */
const char *injection_read_stacks(struct arena *arena, long pid, struct error *error);

/* Gives the room back; only once the text has begun to run. */
void injection_free_room(struct injection *injection);

#endif
