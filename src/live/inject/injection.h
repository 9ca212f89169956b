/* Has a process of Python run a few lines, in its main thread, at a point between two steps of the
 * interpreter: by a call of Py_AddPendingCall, which may be made at any time. */
#ifndef FLOPLEDGER_LIVE_INJECT_INJECTION_H
#define FLOPLEDGER_LIVE_INJECT_INJECTION_H

#include "base/core/arena.h"
#include "base/core/attributes.h"
#include "base/core/error.h"
#include "live/inject/python_target.h"

#include <stdint.h>

enum { INJECTION_TEXT_MAX = 4000 };

struct injection {
    struct python_target target;
    struct process_memory memory; /* as it was when the interpreter was looked for */
    uint64_t room;                /* of ours, in the process: the lines, and a stack; 0: none yet */
};

/* Looks at the process, and changes nothing. ERROR_NO_DATA where it can't be attached to. */
MUST_USE bool injection_prepare(struct injection *injection, struct arena *arena, long pid,
                                struct error *error);

/* Makes room in the process. ERROR_FAILURE where the system forbids it. */
MUST_USE bool injection_make_room(struct injection *injection, struct arena *arena,
                                  struct error *error);
enum { INJECTION_ROOM_BYTES = 1 << 18 };

/* Has it run `text`, soon: this comes back before. The text must let no exception out. */
MUST_USE bool injection_send(struct injection *injection, const char *text, struct error *error);

/* Gives the room back; only once the text has begun to run. */
void injection_free_room(struct injection *injection);

#endif
