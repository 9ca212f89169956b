/* What each host thread was doing when: the reasons that a device can be idle for. */
#ifndef FLOPLEDGER_LEDGER_HOST_ACTIVITY_H
#define FLOPLEDGER_LEDGER_HOST_ACTIVITY_H

#include "ledger/class_timeline.h"
#include "trace/trace.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* In the order of their priority: the first that is open explains the time. */
enum host_class {
    HOST_CAPTURE,     /* launches are recorded into a graph: between StreamBeginCapture and
                         StreamEndCapture nothing is given to the device */
    HOST_DATA,        /* data loading */
    HOST_COMPILATION, /* code is traced, compiled or tuned */
    HOST_SYNC,        /* a call that waits for the device */
    HOST_ALLOCATOR,   /* device or pinned memory is allocated or freed */
    HOST_GARBAGE,     /* Python's garbage collector */
    HOST_RUNTIME,     /* any other runtime or driver call */
    HOST_SYSTEM,      /* a call of the operating system */
    HOST_OPERATOR,    /* an operator */
    HOST_ANNOTATION,  /* a named range, steps excepted */
    HOST_PYTHON,      /* a Python frame */
    HOST_NOTHING,     /* nothing is recorded */
};
enum { HOST_CLASS_COUNT = HOST_NOTHING + 1 };

/* Gets what a thread was doing from one moment to another. */
struct host_piece_visitor {
    void (*visit)(void *context, enum host_class class, int64_t start_ns, int64_t end_ns);
    void *context;
};

/* Zeroed before use; threads are looked at when they are first asked for. */
struct host_activity {
    const struct trace *trace;
    uint32_t track_count;           /* of the trace, which may be cleared before this is */
    struct class_timeline *threads; /* by track; bits: enum host_class */
    size_t *cursors;                /* by track: where the last question was answered */
    uint8_t *is_built;              /* by track */
    uint8_t *name_classes;          /* by name id: enum host_class of runtime calls, or of ranges */
    struct event *left_out;         /* name and kind of ranges that explain something otherwise */
    uint32_t left_out_count;
    const struct host_activity *known; /* NULL, or where some threads were looked at before */
};

void host_activity_init(struct host_activity *activity, const struct trace *trace);
void host_activity_clear(struct host_activity *activity);

/* Ranges of this name explain nothing: they are the steps themselves. Before anything is asked; 0
 * is no name. */
void host_activity_leave_out(struct host_activity *activity, uint32_t name);

/* Threads that were looked at for `known`, of the same trace, are not looked at again where that
 * leaves out what `activity` does; what else it leaves out is left out here, too. Before anything
 * is asked; `known` may be NULL, and is only read. */
void host_activity_know(struct host_activity *activity, const struct host_activity *known);

/* Splits [start_ns, end_ns) by what `thread` was doing and adds the parts to
 * class_ns[HOST_CLASS_COUNT]; they sum to the interval. Data loading on `step_thread` counts as
 * well. Both may be NO_EVENT: then nothing is known. */
void host_activity_split(struct host_activity *activity, uint32_t thread, uint32_t step_thread,
                         const int64_t range_ns[2], int64_t *class_ns);

/* The same split, piece by piece in order of time; pieces that follow each other have different
 * classes. */
void host_activity_walk(struct host_activity *activity, uint32_t thread, uint32_t step_thread,
                        const int64_t range_ns[2], const struct host_piece_visitor *visitor);

enum { HOST_NOT_LOOKED_UP = UINT8_MAX };

static inline size_t host_activity_place(const struct event *event)
{
    return (size_t)event->name * EVENT_KIND_COUNT + event->kind;
}

/* Of a name that host_activity_class meets first. */
uint8_t host_activity_look_up(struct host_activity *activity, const struct event *event);

/* The class of one host event; HOST_NOTHING for what explains no idle time: steps, the profiler's
 * own work. */
static inline enum host_class host_activity_class(struct host_activity *activity,
                                                  const struct event *event)
{
    uint8_t class = activity->name_classes[host_activity_place(event)];

    return (enum host_class)(
        class != HOST_NOT_LOOKED_UP ? class : host_activity_look_up(activity, event));
}

/* Whether a class of `mask` is open on `thread` at `time_ns`. */
bool host_activity_is_open(struct host_activity *activity, uint32_t thread, uint32_t mask,
                           int64_t time_ns);

/* The same, or was open the instant before. */
bool host_activity_is_just_open(struct host_activity *activity, uint32_t thread, uint32_t mask,
                                int64_t time_ns);

#endif
