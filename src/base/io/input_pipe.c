/* Pipes that were looked at and are read later: their bytes come only once. */
#include "base/io/input_pipe.h"

#include "base/core/array.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct input_pipe *pipes; /* guarded by it; until the program ends */
static size_t pipe_count;

void input_pipe_keep(struct input_pipe *pipe, const void *bytes, size_t length)
{
    if (pipe->is_lost || length == 0)
        return;
    if (pipe->length + length > INPUT_PIPE_BYTES_MAX) {
        pipe->is_lost = true;
        free(pipe->bytes);
        pipe->bytes = NULL;
        pipe->length = 0;
        return;
    }
    ARRAY_RESERVE(pipe->bytes, pipe->capacity, pipe->length + length);
    memcpy(pipe->bytes + pipe->length, bytes, length);
    pipe->length += length;
}

void input_pipe_put(const struct input_pipe *pipe)
{
    pthread_mutex_lock(&mutex);
    ARRAY_ROOM(pipes, pipe_count);
    pipes[pipe_count] = *pipe;
    if (pipe->is_lost && pipe->is_file_owned) {
        (void)close(pipe->file);
        pipes[pipe_count].file = -1;
    }
    pipe_count++;
    pthread_mutex_unlock(&mutex);
}

bool input_pipe_take(struct input_pipe *pipe, dev_t device, ino_t inode)
{
    bool is_found = false;

    pthread_mutex_lock(&mutex);
    for (size_t i = 0; i < pipe_count && !is_found; i++) {
        if (pipes[i].device != device || pipes[i].inode != inode)
            continue;
        *pipe = pipes[i];
        is_found = true;
        if (!pipe->is_lost)
            pipes[i] = pipes[--pipe_count];
    }
    pthread_mutex_unlock(&mutex);
    return is_found;
}
