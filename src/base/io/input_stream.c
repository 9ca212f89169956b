/* The bytes of a file, a pipe or a piece of memory, window by window, unpacked where they are
 * packed. */
#include "base/io/input_stream.h"

#include "base/core/invariant.h"
#include "base/io/files_seen.h"
#include "base/io/input_padding.h"
#include "base/io/input_source.h"
#include "base/io/progress.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- the ring of pieces ---------------------------------------------------------------------- */

/* Pieces of text that one thread fills from an input_source while another takes them. Private to
 * input_stream. */

/* Room before a piece for what the reader left over of the one before, so that a window is one
 * stretch of text without copying the piece. */
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

/* Enough that the two threads seldom wait for each other. */
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

/* False: the ring is to be freed. Full when as many pieces as there are have been filled and not
 * given back. */
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

/* Pieces are filled outside the lock: between its numbers, `filled` belongs to this thread,
 * `returned` to the other. */
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

/* Begins to read `source` in a thread, which alone may touch it until input_ring_free. NULL where
 * no thread can be started. */
static struct input_ring *input_ring_new(struct input_source *source)
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

/* Waits for the next piece; at the end one of length 0, again and again. At the end the empty
 * piece filled last is given again and again. */
static struct input_piece *input_ring_take(struct input_ring *ring)
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

/* The piece taken may be filled again. */
static void input_ring_give_back(struct input_ring *ring)
{
    pthread_mutex_lock(&ring->mutex);
    if (ring->returned < ring->filled)
        ring->returned++;
    pthread_cond_broadcast(&ring->changed);
    pthread_mutex_unlock(&ring->mutex);
}

/* Stops the thread, whether it is at the end or not. The reader may stop early: the thread is
 * told, woken and waited for. */
static void input_ring_free(struct input_ring *ring)
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

/* ---- input stream ---------------------------------------------------------------------------- */

/* gzip: RFC 1952; zstd: RFC 8878. By content, since names are often wrong. */
static enum compression known_from(const unsigned char *head, size_t length)
{
    static const unsigned char gzip[] = {0x1f, 0x8b};
    static const unsigned char zstd[] = {0x28, 0xb5, 0x2f, 0xfd};

    if (length >= sizeof gzip && memcmp(head, gzip, sizeof gzip) == 0)
        return COMPRESSION_GZIP;
    if (length >= sizeof zstd && memcmp(head, zstd, sizeof zstd) == 0)
        return COMPRESSION_ZSTD;
    /* a skippable frame of zstd before the first one */
    if (length >= 4 && (head[0] & 0xf0) == 0x50 && memcmp(head + 1, "\x2a\x4d\x18", 3) == 0)
        return COMPRESSION_ZSTD;
    return COMPRESSION_NONE;
}

/* For messages and inspect: "none" is told as well, since a user may not know that a file was
 * packed. */
const char *compression_name(enum compression compression)
{
    switch (compression) {
    case COMPRESSION_GZIP:
        return "gzip";
    case COMPRESSION_ZSTD:
        return "zstd";
    case COMPRESSION_NONE:
        break;
    }
    return "none";
}

/* A pipe that was looked at before goes on from its beginning. False where more of it was read.
 * A pipe that was only looked at goes on from its beginning, by what was kept. */
static bool parse_pipe(struct input_source *source, const char *path, bool *is_taken,
                       struct error *error)
{
    bool is_standard_input = strcmp(path, "-") == 0;
    struct stat facts;
    struct input_pipe pipe;

    *is_taken = false;
    if ((is_standard_input ? fstat(STDIN_FILENO, &facts) : stat(path, &facts)) != 0 ||
        (S_ISREG(facts.st_mode) && !is_standard_input) ||
        !input_pipe_take(&pipe, facts.st_dev, facts.st_ino))
        return true;
    if (pipe.is_lost)
        return error_set(error, ERROR_INPUT,
                         "'%s' is a pipe, and was read already: its bytes come only once; write "
                         "them to a file, and name that",
                         path);
    source->pipe = require_memory(malloc(sizeof *source->pipe));
    *source->pipe = pipe;
    source->file = pipe.file;
    source->is_file_owned = pipe.is_file_owned;
    source->file_bytes = -1;
    *is_taken = true;
    return true;
}

/* Opens the file and learns what it is; false with `error` set where it cannot be read at all. */
static bool input_stream_open_file(struct input_source *source, const char *path,
                                   struct error *error)
{
    struct stat facts;
    bool is_taken;

    if (!parse_pipe(source, path, &is_taken, error))
        return false;
    if (is_taken)
        return true;
    files_seen_note(path);
    source->file = strcmp(path, "-") == 0 ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (source->file < 0 && errno == ENOENT)
        return error_set(error, ERROR_INPUT, "'%s': no such file, check the path", path);
    if (source->file < 0)
        return error_set(error, ERROR_INPUT, "cannot open '%s': %s", path, strerror(errno));
    source->is_file_owned = source->file != STDIN_FILENO;
    if (fstat(source->file, &facts) != 0)
        return error_set(error, ERROR_INPUT, "cannot read '%s': %s", path, strerror(errno));
    if (S_ISDIR(facts.st_mode))
        return error_set(error, ERROR_INPUT, "'%s' is a folder, name a trace file in it", path);
    /* Of `flopledger report - < file` only what follows the place where the file stands is ours. */
    source->is_seekable =
        S_ISREG(facts.st_mode) && (source->is_file_owned || lseek(source->file, 0, SEEK_CUR) == 0);
    source->file_bytes = source->is_seekable ? (int64_t)facts.st_size : -1;
    if (!source->is_seekable) {
        source->pipe = require_memory(calloc(1, sizeof *source->pipe));
        *source->pipe = (struct input_pipe){.device = facts.st_dev,
                                            .inode = facts.st_ino,
                                            .file = source->file,
                                            .is_file_owned = source->is_file_owned};
    }
    return true;
}

/* By the first bytes, not by the name: traces are packed and renamed. A ring with a thread of
 * its own is worth it only where something has to be unpacked. */
static void input_stream_begin(struct input_stream *stream, struct input_source *source,
                               bool has_own_thread)
{
    stream->source = source;
    stream->file_bytes = source->file_bytes;
    stream->compression = known_from(source->raw, input_source_look_ahead(source));
    if (stream->compression != COMPRESSION_NONE)
        source->unpacker =
            unpacker_new(stream->compression == COMPRESSION_GZIP ? UNPACKER_GZIP : UNPACKER_ZSTD);
    source->packing = compression_name(stream->compression);
    source->wants_ring = has_own_thread && stream->compression != COMPRESSION_NONE;
}

/* The source is freed here where it could not be opened: the stream does not own it before it
 * begins. */
bool input_stream_open(struct input_stream *stream, const char *path, bool has_own_thread,
                       struct error *error)
{
    struct input_source *source = input_source_new();

    if (!input_stream_open_file(source, path, error)) {
        input_source_free(source);
        return false;
    }
    *stream = (struct input_stream){.name = strcmp(path, "-") == 0 ? "standard input" : path};
    input_stream_begin(stream, source, has_own_thread);
    return true;
}

/* The bytes stay the caller's and are not copied; memory can be read from any place, as a file
 * can. */
void input_stream_open_memory(struct input_stream *stream, const void *bytes, size_t length)
{
    struct input_source *source = input_source_new();

    source->memory = bytes;
    source->file_bytes = (int64_t)length;
    source->is_seekable = true;
    *stream = (struct input_stream){.name = "memory"};
    input_stream_begin(stream, source, false);
}

bool input_stream_can_seek(const struct input_stream *stream)
{
    return stream->source && stream->source->is_seekable && stream->compression == COMPRESSION_NONE;
}

/* Shares the file and owns none of it: many of these read parts of one file side by side, by
 * pread. */
void input_stream_open_at(struct input_stream *stream, const struct input_stream *whole,
                          int64_t offset)
{
    struct input_source *source = input_source_new();

    source->file = whole->source->file;
    source->memory = whole->source->memory;
    source->file_bytes = whole->source->file_bytes;
    source->is_seekable = true;
    source->offset = offset;
    source->packing = "none";
    *stream = (struct input_stream){
        .name = whole->name,
        .file_bytes = whole->file_bytes,
        .progress = whole->progress,
        .source = source,
    };
}

bool input_stream_can_begin_again(const struct input_stream *stream)
{
    return stream->source && stream->source->is_seekable;
}

void input_stream_begin_again(struct input_stream *stream, const struct input_stream *whole)
{
    input_stream_open_at(stream, whole, 0);
    input_stream_begin(stream, stream->source, whole->source->wants_ring);
}

/* Room for `length` bytes in the window, the last `keep` of the old one at its beginning. Half
 * of what is kept on top: a value that is longer than the window is kept again and again, and
 * each time only a constant part is copied anew. */
static char *input_stream_make_room(struct input_source *source, size_t keep, size_t length)
{
    char *window = source->window;
    const char *kept = keep ? source->window_text + source->window_length - keep : window;

    if (keep + length > source->window_size) {
        size_t size = keep + length + keep / 2;

        window = require_memory(malloc(size + INPUT_PADDING));
        if (keep)
            memcpy(window, kept, keep);
        free(source->window);
        source->window = window;
        source->window_size = size;
    } else if (keep && kept != window) {
        memmove(window, kept, keep);
    }
    return window;
}

/* Fills the window from the source itself: no thread between. INPUT_PADDING zeros behind the
 * text let readers look some bytes ahead, and end scans. */
static size_t fill_window(struct input_stream *stream, size_t keep)
{
    struct input_source *source = stream->source;
    char *window = input_stream_make_room(source, keep, source->piece_bytes);
    size_t got = input_source_read(source, window + keep, source->piece_bytes);

    source->window_text = window;
    source->window_length = keep + got;
    memset(window + source->window_length, 0, INPUT_PADDING);
    return got;
}

/* Takes the next piece of the ring; what is kept is put in front of it, where there is room for
 * it. What is kept is put into the free bytes before the next piece, so that text is not copied
 * but for its unfinished last event. Only a kept part that is longer is joined with the piece in
 * a window of its own. It has to be saved before its piece is given back. */
static size_t input_stream_take_piece(struct input_stream *stream, size_t keep)
{
    struct input_source *source = stream->source;
    const char *kept = keep ? source->window_text + source->window_length - keep : NULL;
    bool is_small = keep <= INPUT_RING_HEADROOM;
    struct input_piece *piece;

    if (!is_small || source->held) { /* the piece before is about to be reused */
        input_stream_make_room(source, keep, INPUT_PIECE_BYTES);
        kept = source->window;
    }
    if (source->held)
        input_ring_give_back(source->ring);
    piece = input_ring_take(source->ring);
    source->held = piece;
    if (is_small) {
        char *text = input_piece_bytes(piece) - keep;

        if (keep)
            memcpy(text, kept, keep);
        source->window_text = text;
    } else {
        memcpy(source->window + keep, input_piece_bytes(piece), piece->length);
        memset(source->window + keep + piece->length, 0, INPUT_PADDING);
        source->window_text = source->window;
    }
    source->window_length = keep + piece->length;
    return piece->length;
}

/* The thread is started at the first window that is asked for after a look: streams that are
 * only looked at have none. Only one thread at a time may touch the source. */
bool input_stream_next(struct input_stream *stream, size_t keep, struct input_window *window)
{
    struct input_source *source = stream->source;
    size_t got;

    if (stream->is_peeked) {
        stream->is_peeked = false;
        *window = (struct input_window){source->window_text, source->window_length};
        return source->window_length > 0;
    }
    require_invariant(keep <= source->window_length, "that only what is in the window is kept");
    if (!source->ring) /* else its thread reads it */
        source->progress = stream->progress;
    if (source->wants_ring && !source->ring) {
        source->ring = input_ring_new(source);
        source->wants_ring = source->ring != NULL;
    }
    got = source->ring ? input_stream_take_piece(stream, keep) : fill_window(stream, keep);
    stream->text_bytes += (int64_t)got;
    *window = (struct input_window){source->window_text, source->window_length};
    if (got == 0 && source->breakage[0]) {
        stream->is_broken = !source->is_followed;
        stream->is_followed = source->is_followed;
        memcpy(stream->breakage, source->breakage, sizeof stream->breakage);
    }
    return got > 0;
}

void input_stream_set_piece(struct input_stream *stream, size_t bytes)
{
    stream->source->piece_bytes = bytes;
}

struct input_window input_stream_peek(struct input_stream *stream)
{
    struct input_window window;

    input_stream_next(stream, 0, &window);
    stream->is_peeked = true;
    return window;
}

void input_stream_clear(struct input_stream *stream)
{
    if (!stream)
        return;
    if (stream->source) {
        input_ring_free(stream->source->ring);
        input_source_free(stream->source);
    }
    *stream = (struct input_stream){0};
}
