/* Runs a few pieces of work side by side. */
#include "base/core/worker_threads.h"

#include "base/core/invariant.h"

#include <stdatomic.h>
#include <stdlib.h>

struct shared_work {
    void (*work)(void *argument, size_t index);
    void *argument;
    size_t count;
    atomic_size_t next;
};

static void *parse_work(void *shared)
{
    struct shared_work *work = shared;

    for (;;) {
        /* Pieces are of very different lengths (files, streams): each thread takes the next one
         * when it has done its own, so none is given a long list in advance. */
        size_t index = atomic_fetch_add(&work->next, 1);

        if (index >= work->count)
            return NULL;
        work->work(work->argument, index);
    }
}

void run_side_by_side(unsigned threads, size_t count, void (*work)(void *argument, size_t index),
                      void *argument)
{
    struct shared_work shared = {.work = work, .argument = argument, .count = count};
    size_t others = count < threads ? count : threads;
    pthread_t *started;
    size_t started_count = 0;

    others = others > 0 ? others - 1 : 0;
    started = require_memory(calloc(others + 1, sizeof *started));
    while (started_count < others &&
           pthread_create(&started[started_count], NULL, parse_work, &shared) == 0)
        started_count++;
    /* The caller works too. Where no thread can be started it does all of it, slower but to the
     * same end. */
    parse_work(&shared);
    for (size_t i = 0; i < started_count; i++)
        pthread_join(started[i], NULL);
    free(started);
}

static void *work_aside(void *side)
{
    struct side_work *begun = side;

    begun->work(begun->argument);
    return NULL;
}

/* Without a thread it is done here: whoever waits finds it done, a little later than it would have
 * been. */
void side_work_begin(struct side_work *side, unsigned threads, void (*work)(void *argument),
                     void *argument)
{
    *side = (struct side_work){.work = work, .argument = argument};
    pthread_mutex_init(&side->lock, NULL);
    side->has_thread = threads > 1 && pthread_create(&side->thread, NULL, work_aside, side) == 0;
    if (!side->has_thread)
        work(argument);
}

/* The lock is held while the first waits: whoever comes meanwhile waits as well. */
void side_work_end(struct side_work *side)
{
    if (!side->work)
        return;
    pthread_mutex_lock(&side->lock);
    if (side->has_thread)
        pthread_join(side->thread, NULL);
    side->has_thread = false;
    pthread_mutex_unlock(&side->lock);
}
