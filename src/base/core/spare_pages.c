/* Pages of arrays that were freed, for the arrays to come. */
#include "base/core/spare_pages.h"

#include "base/core/attributes.h"
#include "base/core/page_size.h"

#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

/* Rows that touch are one; they need not be one mapping of the kernel's. */
struct page_row {
    char *pages;
    size_t bytes;
};

enum { PAGE_ROWS_MAX = 64 };

static struct {
    pthread_mutex_t lock;
    struct page_row rows[PAGE_ROWS_MAX]; /* [count], by address */
    size_t count;
    size_t bytes; /* of all rows */
    size_t in_use;
    size_t most_in_use;
} spare = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* A sanitizer finds what is used after it was freed only where it is gone. */
#ifdef HAS_SHADOW_MEMORY
static const bool keeps_pages = false;
#else
static const bool keeps_pages = true;
#endif

static void drop_page_row(size_t at)
{
    spare.count--;
    memmove(&spare.rows[at], &spare.rows[at + 1], (spare.count - at) * sizeof *spare.rows);
}

/* Gives back what is above: the highest addresses first. */
static void shrink_to(size_t bytes)
{
    while (spare.bytes > bytes) {
        struct page_row *last = &spare.rows[spare.count - 1];
        size_t over = whole_pages(spare.bytes - bytes); /* the kernel takes no part of one */

        if (over > last->bytes)
            over = last->bytes;
        last->bytes -= over;
        munmap(last->pages + last->bytes, over);
        spare.bytes -= over;
        if (last->bytes == 0)
            spare.count--;
    }
}

/* What may be kept: as much as would be in use at the peak, and of that a part. The peak counts
 * pages that were never touched, too, so that all of it would be too much. */
static size_t kept_bytes_max(void)
{
    const size_t always = (size_t)16 << 20;
    size_t below_peak = spare.most_in_use - spare.in_use;
    size_t part = always + spare.most_in_use / 4;

    return below_peak < part ? below_peak : part;
}

static void count_in_use(size_t bytes)
{
    spare.in_use += bytes;
    if (spare.in_use > spare.most_in_use)
        spare.most_in_use = spare.in_use;
    shrink_to(kept_bytes_max());
}

/* The shortest row that suffices, for what keeps its length; the longest, for what grows.
 * SIZE_MAX: none. */
static size_t find_page_row(size_t bytes, bool grows)
{
    size_t best = SIZE_MAX;

    for (size_t i = 0; i < spare.count; i++) {
        size_t here = spare.rows[i].bytes;

        if (here < bytes)
            continue;
        if (best == SIZE_MAX || (here < spare.rows[best].bytes) != grows)
            best = i;
    }
    return best;
}

/* From the front, which is where large pages begin, or, of what grows, so that it can grow. */
static char *front_of_row(size_t at, size_t bytes)
{
    struct page_row *row = &spare.rows[at];
    char *pages = row->pages;

    row->pages += bytes;
    row->bytes -= bytes;
    spare.bytes -= bytes;
    if (row->bytes == 0)
        drop_page_row(at);
    count_in_use(bytes);
    return pages;
}

char *spare_pages_take(size_t bytes, bool grows)
{
    char *pages;
    size_t at;

    pthread_mutex_lock(&spare.lock);
    at = find_page_row(bytes, grows);
    pages = at != SIZE_MAX ? front_of_row(at, bytes) : NULL;
    pthread_mutex_unlock(&spare.lock);
    return pages;
}

bool spare_pages_extend(char *end, size_t bytes)
{
    bool is_extended = false;

    pthread_mutex_lock(&spare.lock);
    for (size_t i = 0; i < spare.count && !is_extended; i++) {
        is_extended = spare.rows[i].pages == end && spare.rows[i].bytes >= bytes;
        if (is_extended)
            (void)front_of_row(i, bytes);
    }
    pthread_mutex_unlock(&spare.lock);
    return is_extended;
}

void spare_pages_count(size_t bytes)
{
    pthread_mutex_lock(&spare.lock);
    count_in_use(bytes);
    pthread_mutex_unlock(&spare.lock);
}

size_t spare_pages_in_use(void)
{
    size_t bytes;

    pthread_mutex_lock(&spare.lock);
    bytes = spare.in_use;
    pthread_mutex_unlock(&spare.lock);
    return bytes;
}

/* Joined to its neighbors. False: the list is full. */
static bool put_in(char *pages, size_t bytes)
{
    struct page_row *list = spare.rows;
    size_t at = 0;
    bool touches_before, touches_behind;

    while (at < spare.count && list[at].pages < pages)
        at++;
    touches_before = at > 0 && list[at - 1].pages + list[at - 1].bytes == pages;
    touches_behind = at < spare.count && pages + bytes == list[at].pages;
    if (touches_before) {
        list[at - 1].bytes += bytes + (touches_behind ? list[at].bytes : 0);
        if (touches_behind)
            drop_page_row(at);
    } else if (touches_behind) {
        list[at].pages = pages;
        list[at].bytes += bytes;
    } else {
        if (spare.count == PAGE_ROWS_MAX)
            return false;
        memmove(&list[at + 1], &list[at], (spare.count - at) * sizeof *list);
        list[at] = (struct page_row){pages, bytes};
        spare.count++;
    }
    spare.bytes += bytes;
    return true;
}

void spare_pages_keep(char *pages, size_t bytes)
{
    pthread_mutex_lock(&spare.lock);
    spare.in_use -= bytes;
    if (!keeps_pages || spare.bytes + bytes > kept_bytes_max() || !put_in(pages, bytes))
        munmap(pages, bytes);
    pthread_mutex_unlock(&spare.lock);
}

void spare_pages_give_back(char *pages, size_t bytes)
{
    pthread_mutex_lock(&spare.lock);
    spare.in_use -= bytes;
    munmap(pages, bytes);
    pthread_mutex_unlock(&spare.lock);
}

bool spare_pages_release(void)
{
    bool had_any;

    pthread_mutex_lock(&spare.lock);
    had_any = spare.bytes > 0;
    shrink_to(0);
    pthread_mutex_unlock(&spare.lock);
    return had_any;
}
