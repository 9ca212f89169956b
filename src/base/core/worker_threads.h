/* Runs a few pieces of work side by side. */
#ifndef FLOPLEDGER_BASE_CORE_WORKER_THREADS_H
#define FLOPLEDGER_BASE_CORE_WORKER_THREADS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

/* Calls work(argument, i) for each i below `count`, up to `threads` of them at the same time (this
 * thread is one of them), and returns when all have returned. The order is from 0 on; where no
 * thread can be started this one does it all. */
void run_side_by_side(unsigned threads, size_t count, void (*work)(void *argument, size_t index),
                      void *argument);

/* One piece of work beside the caller's own. Zeroed: there is none. Not to be moved. */
struct side_work {
    void (*work)(void *argument);
    void *argument;
    pthread_mutex_t lock;
    pthread_t thread;
    bool has_thread; /* that nobody waited for yet */
};

/* Where `threads` is less than 2, or no thread can be started, it is done before this returns. */
void side_work_begin(struct side_work *side, unsigned threads, void (*work)(void *argument),
                     void *argument);

/* Waits for it. Any thread may call it, and each as often as it likes. */
void side_work_end(struct side_work *side);

#endif
