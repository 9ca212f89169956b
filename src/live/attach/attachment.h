/* Programs that train already, recorded through the profiler that is in PyTorch itself. */
#ifndef FLOPLEDGER_LIVE_ATTACH_ATTACHMENT_H
#define FLOPLEDGER_LIVE_ATTACH_ATTACHMENT_H

#include "base/core/arena.h"
#include "base/core/attributes.h"
#include "base/core/error.h"
#include "live/run/run_parts.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is recorded. */
struct attach_wish {
    int64_t milliseconds; /* by PyTorch's own profiler */
    int64_t steps;        /* by our recorder */
    const char *modules;  /* as of `flopledger run`; NULL: all */
    const char *step_of;  /* as of `flopledger run`; NULL: an optimizer's step */
    int64_t wait_seconds; /* at most, until the first process asks */
    struct trigger_wish triggers;
    bool watches; /* steps are counted and timed until this side ends; windows come by triggers */
    bool records_shapes;
    bool records_stacks;
    bool records_memory;
    bool marks_modules;
};

/* Where things are. */
struct attach_places {
    const char *package; /* the folder of the recorder */
    const char *capture; /* the folder of the run */
};

/* A process that may be recorded. */
struct attach_target {
    long pid;
    bool listens;     /* it was started with KINETO_USE_DAEMON=1 */
    bool is_answered; /* to record */
    bool has_arrived; /* its trace is in the capture */
};

struct attachment {
    struct attach_target *targets; /* [count], in the arena */
    size_t count;
    size_t worker_count;       /* of data loaders, that were left out */
    const char *listen_folder; /* their KINETO_IPC_SOCKET_DIR; NULL: none */
    char *trace_folder;        /* where Kineto writes; of our own, in the arena; NULL: not made */
    int64_t start_ms;          /* of the wall clock; 0: at once */
};

/* What a process that runs PyTorch has loaded: the begin of the library's name. */
extern const char attach_library[];

/* What the user named. */
struct attach_named {
    char **words; /* [count], numbers of processes */
    int count;
    const char *job; /* name or number of a job; NULL: none */
};

/* Finds the processes of this user among those that were named and below them
 * that have loaded PyTorch; with a job those of that, too. Launchers and
 * workers of data loaders are left out. */
MUST_USE bool attachment_find(struct attachment *attachment, struct arena *arena,
                              const struct attach_named *named, struct error *error);

/* Whether all of them ask by themselves. */
bool attachment_listens(const struct attachment *attachment);

/* Waits until they ask, and tells them what to record. ERROR_NO_DATA where none asks. */
MUST_USE bool attachment_ask(struct attachment *attachment, struct arena *arena,
                             const struct attach_wish *wish, struct error *error);

/* Waits until their traces are written, and packs them into {capture}/traces/rankN/. Those that do
 * not come are said on standard error; ERROR_NO_DATA where none does. */
MUST_USE bool attachment_collect(struct attachment *attachment, struct arena *arena,
                                 const char *capture, int64_t milliseconds, struct error *error);

/* Removes the folder where Kineto wrote. */
void attachment_clear(struct attachment *attachment);

#endif
