/* Pieces of text that one thread fills from an input_source while another takes them. */
#include "base/io/input_ring.h"

#include "base/core/invariant.h"
#include "base/io/input_padding.h"
#include "base/io/input_source.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { PIECES = 8 };

struct input_ring {
    struct input_source *source;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    uint64_t filled;   /* pieces filled since the beginning */
    uint64_t returned; /* pieces given back */
    bool is_at_end;    /* the piece filled last is the end */
    bool is_stopped;
    struct input_piece pieces[PIECES];
};

/* False: the ring is to be freed. */
static bool wait_for_room(struct input_ring *ring)
{
    bool goes_on;

    pthread_mutex_lock(&ring->mutex);
    while (!ring->is_stopped && ring->filled - ring->returned == PIECES)
        pthread_cond_wait(&ring->changed, &ring->mutex);
    goes_on = !ring->is_stopped;
    pthread_mutex_unlock(&ring->mutex);
    return goes_on;
}

static void *fill_pieces(void *argument)
{
    struct input_ring *ring = argument;
    bool is_at_end = false;

    while (!is_at_end && wait_for_room(ring)) {
        struct input_piece *piece = &ring->pieces[ring->filled % PIECES];

        if (!piece->memory)
            piece->memory =
                require_memory(malloc(INPUT_RING_HEADROOM + INPUT_PIECE_BYTES + INPUT_PADDING));
        piece->length =
            input_source_read(ring->source, input_piece_bytes(piece), INPUT_PIECE_BYTES);
        memset(input_piece_bytes(piece) + piece->length, 0, INPUT_PADDING);
        is_at_end = piece->length == 0;
        pthread_mutex_lock(&ring->mutex);
        ring->filled++;
        ring->is_at_end = is_at_end;
        pthread_cond_broadcast(&ring->changed);
        pthread_mutex_unlock(&ring->mutex);
    }
    return NULL;
}

struct input_ring *input_ring_new(struct input_source *source)
{
    struct input_ring *ring = require_memory(calloc(1, sizeof *ring));

    ring->source = source;
    pthread_mutex_init(&ring->mutex, NULL);
    pthread_cond_init(&ring->changed, NULL);
    if (pthread_create(&ring->thread, NULL, fill_pieces, ring) == 0)
        return ring;
    pthread_mutex_destroy(&ring->mutex);
    pthread_cond_destroy(&ring->changed);
    free(ring);
    return NULL;
}

struct input_piece *input_ring_take(struct input_ring *ring)
{
    struct input_piece *piece;

    pthread_mutex_lock(&ring->mutex);
    while (ring->filled == ring->returned && !ring->is_at_end)
        pthread_cond_wait(&ring->changed, &ring->mutex);
    piece = &ring->pieces[(ring->filled == ring->returned ? ring->filled - 1 : ring->returned) %
                          PIECES];
    pthread_mutex_unlock(&ring->mutex);
    return piece;
}

void input_ring_give_back(struct input_ring *ring)
{
    pthread_mutex_lock(&ring->mutex);
    if (ring->returned < ring->filled)
        ring->returned++;
    pthread_cond_broadcast(&ring->changed);
    pthread_mutex_unlock(&ring->mutex);
}

void input_ring_free(struct input_ring *ring)
{
    if (!ring)
        return;
    pthread_mutex_lock(&ring->mutex);
    ring->is_stopped = true;
    pthread_cond_broadcast(&ring->changed);
    pthread_mutex_unlock(&ring->mutex);
    pthread_join(ring->thread, NULL);
    pthread_mutex_destroy(&ring->mutex);
    pthread_cond_destroy(&ring->changed);
    for (size_t i = 0; i < PIECES; i++)
        free(ring->pieces[i].memory);
    free(ring);
}
