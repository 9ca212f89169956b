/* Remembers what is half written. */
#include "base/io/unfinished.h"

#include "base/core/invariant.h"
#include "base/core/out_of_memory.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct unfinished {
    struct unfinished *earlier;
    char path[];
};

static struct unfinished *newest;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Takes no memory, and waits for nobody: a thread that holds the lock may be the one that ends. No
 * memory is taken under the lock, so that this is next to never so. */
static void remove_all(void)
{
    if (pthread_mutex_trylock(&lock) != 0)
        return;
    for (const struct unfinished *one = newest; one; one = one->earlier)
        (void)remove(one->path);
}

void unfinished_begin(const char *path)
{
    size_t bytes = strlen(path) + 1;
    struct unfinished *one = require_memory(malloc(sizeof *one + bytes));

    memcpy(one->path, path, bytes);
    pthread_mutex_lock(&lock);
    one->earlier = newest;
    newest = one;
    out_of_memory_cleanup(remove_all);
    pthread_mutex_unlock(&lock);
}

void unfinished_end(const char *path)
{
    struct unfinished *found = NULL;

    pthread_mutex_lock(&lock);
    for (struct unfinished **one = &newest; *one && !found; one = &(*one)->earlier)
        if (strcmp((*one)->path, path) == 0) {
            found = *one;
            *one = found->earlier;
            break;
        }
    pthread_mutex_unlock(&lock);
    free(found);
}
