/* Runs a few pieces of work side by side. */
#ifndef FLOPLEDGER_BASE_CORE_WORKER_THREADS_H
#define FLOPLEDGER_BASE_CORE_WORKER_THREADS_H

#include <stddef.h>

/* Calls work(argument, i) for each i below `count`, up to `threads` of them at the same time (this
 * thread is one of them), and returns when all have returned. The order is from 0 on; where no
 * thread can be started this one does it all. */
void run_side_by_side(unsigned threads, size_t count, void (*work)(void *argument, size_t index),
                      void *argument);

#endif
