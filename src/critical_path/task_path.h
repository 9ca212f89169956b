/* The chain of tasks that decides when a replay ends, and how much later the others could.
 *
 * Going back from the end: a task began when the latest of what it needs had ended; so that one
 * is the next on the path, and so on until a task that needs nothing. */
#ifndef FLOPLEDGER_CRITICAL_PATH_TASK_PATH_H
#define FLOPLEDGER_CRITICAL_PATH_TASK_PATH_H

#include "replay/task_graph.h"

#include <stddef.h>
#include <stdint.h>

#define NO_TASK UINT32_MAX

/* A finished graph and one replay of it; nothing here is owned. */
struct timed_tasks {
    const struct task_graph *graph;
    const int64_t *durations_ns; /* all [task_count] */
    const int64_t *delays_ns;    /* NULL: none */
    const int64_t *starts_ns;    /* as a replay fills them; NULL where the graph has no groups */
    const int64_t *ends_ns;
    const uint32_t *measured; /* [measured_count]: the tasks whose ends are the end */
    size_t measured_count;
    const int64_t *deadlines_ns; /* for slack: by when each must have ended; NULL: by the end */
};

enum piece_part {
    PIECE_WORK,  /* the task runs */
    PIECE_DELAY, /* between what it waited for and its start */
    PIECE_FLOOR, /* it waited for nothing: from the beginning until it could start */
};

/* A stretch of the path. */
struct path_piece {
    int64_t start_ns;
    int64_t end_ns;
    uint32_t task;
    uint32_t other; /* DELAY: the task that it waited for; WORK: the one of the path that waited for
                       this one, NO_TASK at its end */
    uint8_t part;   /* enum piece_part */
    uint8_t kind;   /* the caller's own */
};

/* Zeroed is empty. Pieces are in order of time; each begins where the one before it ends, none is
 * empty. */
struct task_path {
    struct path_piece *pieces; /* [count] */
    size_t count;
};

/* The path from 0 to the end of the measured task that ends last. `path` must be zeroed. Of tasks
 * that end at the same moment the first needed counts. */
void find_task_path(struct task_path *path, const struct timed_tasks *tasks);

/* How much longer each task could take without the end moving; of what nothing measured waits for,
 * until the end. Never negative; 0 for all tasks of the path with work in it. slacks_ns
 * [task_count]. */
void find_task_slack(int64_t *slacks_ns, const struct timed_tasks *tasks);

/* What it waited for: of those it needs the first that ended when it became ready; NO_TASK where it
 * needs nothing, or could not start earlier anyway. */
uint32_t task_waited_for(const struct timed_tasks *tasks, uint32_t task);

/* The measured task that ends last, NO_TASK where there is none; and its end. */
uint32_t timed_tasks_last(const struct timed_tasks *tasks);
int64_t timed_tasks_end_ns(const struct timed_tasks *tasks);

void task_path_clear(struct task_path *path);

#endif
