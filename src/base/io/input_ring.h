/* Pieces of text that one thread fills from an input_source while another takes them. Private to
 * input_stream. */
#ifndef FLOPLEDGER_BASE_IO_INPUT_RING_H
#define FLOPLEDGER_BASE_IO_INPUT_RING_H

#include <stddef.h>

struct input_ring; /* opaque */
struct input_source;

enum { INPUT_RING_HEADROOM = 32 * 1024 };

struct input_piece {
    size_t length; /* 0: the end */
    char *memory;  /* INPUT_RING_HEADROOM free bytes, then the piece, then INPUT_PADDING zero bytes
                    */
};

static inline char *input_piece_bytes(const struct input_piece *piece)
{
    return piece->memory + INPUT_RING_HEADROOM;
}

/* Begins to read `source` in a thread, which alone may touch it until input_ring_free. NULL where
 * no thread can be started. */
struct input_ring *input_ring_new(struct input_source *source);

/* Waits for the next piece; at the end one of length 0, again and again. */
struct input_piece *input_ring_take(struct input_ring *ring);

/* The piece taken may be filled again. */
void input_ring_give_back(struct input_ring *ring);

/* Stops the thread, whether it is at the end or not. */
void input_ring_free(struct input_ring *ring);

#endif
