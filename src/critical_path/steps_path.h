/* The critical path through the recorded steps: the one chain of work and waits that decided when
 * they ended, each nanosecond of it booked to one link.
 *
 * It ends when the last step and all its work have ended, and goes back from each piece to the
 * latest of what that waited for. What of it lies in a step adds up to that step. */
#ifndef FLOPLEDGER_CRITICAL_PATH_STEPS_PATH_H
#define FLOPLEDGER_CRITICAL_PATH_STEPS_PATH_H

#include "base/core/hash_map.h"
#include "critical_path/pinned_steps.h"
#include "critical_path/task_path.h"
#include "ledger/account.h"
#include "ledger/host_activity.h"
#include "ledger/kernel_class.h"
#include "replay/trace_graph.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum path_group {
#define PATH_GROUP(id, key, words) PATH_GROUP_##id,
#include "critical_path/path_kind_list.def"
#undef PATH_GROUP
    PATH_GROUP_COUNT,
};

enum path_kind {
#define PATH_KIND(id, group, key, title, account) PATH_##id,
#include "critical_path/path_kind_list.def"
#undef PATH_KIND
    PATH_KIND_COUNT,
};

struct path_kind_description {
    const char *key;   /* in JSON */
    const char *title; /* on the screen */
    enum path_group group;
    enum account account; /* the nearest one of the ledger */
};

struct path_group_description {
    const char *key;
    const char *words;
};

extern const struct path_kind_description path_kinds[PATH_KIND_COUNT];

extern const struct path_group_description path_groups[PATH_GROUP_COUNT];

/* A piece of the path, on the trace's own clock. */
struct path_link {
    int64_t start_ns;
    int64_t end_ns;
    uint32_t track; /* the stream or thread; of a launch's latency the stream; NO_EVENT: between
                       threads */
    uint32_t event; /* in trace->device: the work, or what waits for its start; NO_EVENT: none */
    uint8_t kind;   /* enum path_kind; of a thread that did several things, what took longest */
};

/* All links of one kind, name and track, inside the steps. */
struct path_sum {
    int64_t total_ns;
    int64_t count;
    uint32_t name; /* in trace.strings; 0: the kind says all */
    uint32_t track;
    uint8_t kind;
};

struct steps_path {
    const struct trace_graph *graph; /* not owned */
    struct pinned_steps pinned;
    int64_t *slacks_ns;                   /* [tasks]: how much longer each could take */
    struct task_path pieces;              /* its links: in order of time, without gaps */
    int64_t (*kinds_ns)[PATH_KIND_COUNT]; /* [step_count]: each sums to the length of the step */
    struct path_sum *sums;                /* [sum_count] */
    size_t sum_count;
    struct hash_map sum_of; /* (name, track) and kind to the place in `sums` */
};

/* `path` must be zeroed; the graph, its trace and its ledger must outlive it. The graph must not be
 * circular. */
void find_steps_path(struct steps_path *path, const struct trace_graph *graph);

/* The path of the graph, which is found once where several share one: in `shared` (not NULL: zeroed
 * before the first asks), else in `own`. */
const struct steps_path *steps_path_of(struct steps_path *shared, struct steps_path *own,
                                       const struct trace_graph *graph);

/* pieces.pieces[index]. */
struct path_link steps_path_link(const struct steps_path *path, size_t index);

/* The sum that links of trace->device[event] are in; NO_VALUE: none of its name, stream and kind is
 * on the path. */
uint32_t steps_path_sum_of_event(const struct steps_path *path, uint32_t event);

/* How much of range_ns[0] to range_ns[1] lies inside the steps. `*last`: 0 at first, then where the
 * last question was answered, so that questions in order of time are cheap. */
int64_t time_in_steps_ns(const struct ledger *ledger, const int64_t range_ns[2], uint32_t *last);

void steps_path_clear(struct steps_path *path);

/* Stretches of one thread, in order of time; they do not overlap. */
struct host_intervals {
    const struct path_piece *pieces;
    const uint32_t *chosen; /* [count]: indices in `pieces` */
    size_t count;
    int64_t base_ns; /* what times of pieces count from */
    uint32_t track;
};

/* A part of pieces[piece]. Its class is the first of those open (enum host_class is in that order);
 * `event` is the innermost open event of that class, in trace->host, NO_EVENT where none is. */
struct host_part {
    int64_t start_ns;
    int64_t end_ns;
    uint32_t piece;
    uint32_t event;
    enum host_class class;
    bool is_first; /* of that event, or of where none is */
};

struct host_part_visitor {
    void (*visit)(void *context, const struct host_part *part);
    void *context;
};

/* Visits the parts of all stretches, those of one after the other; together they cover them. One
 * pass over the events of the thread. */
void split_host_intervals(struct host_activity *activity, const struct host_intervals *intervals,
                          const struct host_part_visitor *visitor);

/* How much longer work could take without the end of the steps moving, by name or by track. */

/* All pieces of work of one name, or of one stream or thread, that lie in the steps. */
struct slack_row {
    uint32_t id;       /* of the name in trace.strings, or of the track */
    int64_t count;     /* pieces of work; of threads: stretches between calls, and calls */
    int64_t total_ns;  /* their time in the steps */
    int64_t path_ns;   /* of it on the path */
    int64_t least_ns;  /* the least slack of one piece */
    int64_t median_ns; /* half of the pieces have no more */
};

/* Zeroed is empty. */
struct slack_rows {
    struct slack_row *rows; /* [count]: the longest total first, of equal ones by name, or by track
                             */
    size_t count;
};

/* `rows` must be zeroed. */
void slack_of_kernels(struct slack_rows *rows, const struct steps_path *path);
void slack_of_tracks(struct slack_rows *rows, const struct steps_path *path);

void slack_rows_clear(struct slack_rows *rows);

#endif
