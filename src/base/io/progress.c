/* A progress bar on standard error for work that takes more than a second. Any thread may advance
 * it; the one that finds the next picture due draws it. */
#include "base/io/progress.h"

#include "base/core/out_of_memory.h"
#include "base/text/display_text.h"
#include "base/text/format.h"
#include "base/text/terminal.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* Work that is done within a second draws nothing: a bar that flashes by tells nobody anything.
 * Ten pictures a second look like motion. */
enum { FIRST_PICTURE_NS = 1000000000, PICTURE_NS = 100000000, BAR_COLUMNS = 30 };

struct progress {
    atomic_llong done_bytes;
    atomic_llong next_picture_ns;
    long long total_bytes;
    pthread_mutex_t drawing;
    char title[64]; /* guarded by drawing */
    bool is_visible;
};

static long long now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

/* Only on a terminal, and the first picture only after a while: what is done by then needs no
 * bar. */
struct progress *progress_new(const char *title, int64_t total_bytes, bool is_wanted)
{
    struct progress *progress;

    if (!is_wanted || !is_terminal(stderr))
        return NULL;
    progress = calloc(1, sizeof *progress);
    if (!progress)
        end_out_of_memory();
    pthread_mutex_init(&progress->drawing, NULL);
    progress->total_bytes = total_bytes;
    progress_title(progress, title);
    atomic_init(&progress->done_bytes, 0);
    atomic_init(&progress->next_picture_ns, now_ns() + FIRST_PICTURE_NS);
    return progress;
}

static void draw(struct progress *progress, long long done)
{
    char bar[BAR_COLUMNS + 1];
    double fraction = progress->total_bytes > 0 ? (double)done / (double)progress->total_bytes : 0;
    int filled = fraction >= 1 ? BAR_COLUMNS : (int)(fraction * BAR_COLUMNS);

    if (progress->total_bytes <= 0) {
        /* Of a pipe the size is not known: bytes done, and no bar. */
        fprintf(stderr, "\r\033[K%s: %s", progress->title, format_bytes(done).text);
    } else {
        for (int i = 0; i < BAR_COLUMNS; i++)
            bar[i] = i < filled ? '#' : '.';
        bar[BAR_COLUMNS] = '\0';
        fprintf(stderr, "\r\033[K%s: [%s] %3.0f %% of %s", progress->title, bar,
                fraction > 1 ? 100 : fraction * 100, format_bytes(progress->total_bytes).text);
    }
    fflush(stderr);
    progress->is_visible = true;
}

void progress_advance(struct progress *progress, int64_t bytes)
{
    long long done;
    long long due;
    long long now;

    if (!progress)
        return;
    done = atomic_fetch_add(&progress->done_bytes, bytes) + bytes;
    due = atomic_load(&progress->next_picture_ns);
    /* Whoever moves the next time due on has won the right to draw: other threads see the new
     * time and go on. They never wait for the terminal, which may be slow. */
    now = now_ns();
    if (now < due ||
        !atomic_compare_exchange_strong(&progress->next_picture_ns, &due, now + PICTURE_NS))
        return;
    /* The one before may still be drawing, where a terminal takes longer than a picture lasts:
     * then this picture is left out. */
    if (pthread_mutex_trylock(&progress->drawing) != 0)
        return;
    draw(progress, done);
    pthread_mutex_unlock(&progress->drawing);
}

/* Under the lock, since another thread may be drawing the title. A name of a file is cut and
 * shown without control characters, which would move the cursor. */
void progress_title(struct progress *progress, const char *title)
{
    if (!progress)
        return;
    pthread_mutex_lock(&progress->drawing);
    snprintf(progress->title, sizeof progress->title, "%.*s", (int)sizeof progress->title - 1,
             show_text(title).text);
    pthread_mutex_unlock(&progress->drawing);
}

/* The line is taken away from the terminal: what is printed next begins where the bar stood. */
void progress_free(struct progress *progress)
{
    if (!progress)
        return;
    if (progress->is_visible)
        fputs("\r\033[K", stderr);
    pthread_mutex_destroy(&progress->drawing);
    free(progress);
}
