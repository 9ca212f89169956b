/* Arrays that hold something for each event of a trace: memory while they are few, and beyond that
 * files without a name. */
#include "base/core/large_array.h"

#include "base/core/invariant.h"
#include "base/core/memory_limit.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

enum array_place { IN_HEAP, IN_MEMORY, IN_FILE };

/* Stands in front of the array, on a line of its own. */
struct array_head {
    size_t bytes; /* of the whole mapping, this included */
    enum array_place place;
    struct filed_array *filed; /* where it is IN_FILE */
};

enum {
    HEAD_BYTES = 64,
    PAGE_BYTES = 4096,
    HEAP_BYTES_MAX = 64 * 1024,
    FILE_BYTES_MIN = 512 * 1024, /* smaller ones are not worth a file */
};
_Static_assert(sizeof(struct array_head) <= HEAD_BYTES, "the head fits in front of the array");

static const size_t mebibyte = (size_t)1 << 20;

/* Large pages: the kernel hands out and zeroes 2 MiB at a time, and a fault costs as much as one of
 * 4 KiB. */
static const size_t large_page_bytes = (size_t)2 << 20;

/* Of those IN_MEMORY. */
static atomic_size_t bytes_in_memory;

/* There was an array in a file: this run is not one that fits into memory. From then on less of it
 * is kept there, so that at its peak it does not need more than one that just fits. */
static atomic_bool has_used_files;
enum { SHARE_WITH_FILES = 3 };

static size_t memory_allowed(void)
{
    const char *wanted = getenv(LARGE_ARRAY_MEMORY_VARIABLE);
    unsigned long long mib = LARGE_ARRAY_MEMORY_MIB;
    /* a quarter: there are texts, too, and what the analyses make */
    unsigned long long limit = (unsigned long long)memory_limit_bytes() / mebibyte / 4;

    if (wanted && *wanted >= '0' && *wanted <= '9') {
        char *end;
        unsigned long long number = strtoull(wanted, &end, 10);

        if (!*end && number <= SIZE_MAX / mebibyte)
            mib = number;
    }
    if (limit > 0 && mib > limit)
        mib = limit;
    return (size_t)mib * mebibyte / (atomic_load(&has_used_files) ? SHARE_WITH_FILES : 1);
}

/* ---- memory --------------------------------------------------------------------------------- */

static char *map_memory(size_t bytes)
{
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return require_memory(memory == MAP_FAILED ? NULL : memory);
}

/* Memory that begins where a large page does. */
static char *map_large_pages(size_t bytes)
{
    char *memory = map_memory(bytes + large_page_bytes);
    size_t in_front = (large_page_bytes - (uintptr_t)memory % large_page_bytes) % large_page_bytes;

    if (in_front)
        munmap(memory, in_front);
    if (in_front < large_page_bytes)
        munmap(memory + in_front + bytes, large_page_bytes - in_front);
    (void)madvise(memory + in_front, bytes, MADV_HUGEPAGE);
    return memory + in_front;
}

static struct array_head *new_in_memory(size_t bytes)
{
    char *memory = bytes < large_page_bytes ? map_memory(bytes) : map_large_pages(bytes);
    struct array_head *head = (struct array_head *)(void *)memory;

    head->place = IN_MEMORY;
    atomic_fetch_add(&bytes_in_memory, bytes);
    return head;
}

/* ---- resident memory of files --------------------------------------------------------------- */

/* What is known of an array IN_FILE without touching it. */
struct filed_array {
    void *memory;
    size_t bytes;
    int file; /* of one that grows; else -1: the mapping alone keeps it */
    struct filed_array *next;
    struct filed_array *previous;
};

static const size_t resident_bytes_max = (size_t)48 << 20;
static const struct timespec look_interval = {.tv_nsec = 2000000};

static pthread_mutex_t filed_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filed_appeared = PTHREAD_COND_INITIALIZER;
static struct filed_array *filed; /* guarded by filed_lock */
static int statm = -1;            /* likewise; open while there is a keeper */

/* How much of files (libraries too) is in this process's memory: the third number of statm. */
static size_t resident_file_bytes(void)
{
    char text[128];
    char *at = text;
    ssize_t length = statm < 0 ? 0 : pread(statm, text, sizeof text - 1, 0);

    text[length > 0 ? length : 0] = '\0';
    for (int number = 0; number < 2; number++)
        (void)strtoull(at, &at, 10);
    return strtoull(at, &at, 10) * PAGE_BYTES;
}

/* Nothing is lost: the pages are the files', and come back when they are touched. True where there
 * was something to take out. */
static bool evict_pages(void)
{
    if (!filed || resident_file_bytes() <= resident_bytes_max)
        return false;
    for (const struct filed_array *array = filed; array; array = array->next)
        (void)madvise(array->memory, array->bytes, MADV_DONTNEED);
    return true;
}

/* Never ends: waits while there is no array in a file. */
static void *keep_resident_small(void *unused)
{
    (void)unused;
    for (;;) {
        bool has_worked;

        pthread_mutex_lock(&filed_lock);
        while (!filed)
            pthread_cond_wait(&filed_appeared, &filed_lock);
        has_worked = evict_pages();
        pthread_mutex_unlock(&filed_lock);
        if (!has_worked)
            (void)nanosleep(&look_interval, NULL);
    }
    return NULL;
}

/* With all signals blocked: they are for the threads that know what to do with them. */
static void start_keeper(void)
{
    sigset_t all;
    sigset_t before;
    pthread_t thread;

    statm = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    if (statm < 0)
        return;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    if (pthread_create(&thread, NULL, keep_resident_small, NULL) == 0)
        pthread_detach(thread);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void large_array_rest(void)
{
    pthread_mutex_lock(&filed_lock);
    (void)evict_pages();
    pthread_mutex_unlock(&filed_lock);
}

static struct filed_array *note_filed(void *memory, size_t bytes, int file)
{
    struct filed_array *array = require_memory(malloc(sizeof *array));

    *array = (struct filed_array){.memory = memory, .bytes = bytes, .file = file};
    pthread_mutex_lock(&filed_lock);
    array->next = filed;
    if (filed)
        filed->previous = array;
    filed = array;
    if (statm < 0)
        start_keeper();
    pthread_cond_signal(&filed_appeared);
    pthread_mutex_unlock(&filed_lock);
    return array;
}

static void forget_filed(struct filed_array *array)
{
    pthread_mutex_lock(&filed_lock);
    if (array->next)
        array->next->previous = array->previous;
    if (array->previous)
        array->previous->next = array->next;
    else
        filed = array->next;
    pthread_mutex_unlock(&filed_lock);
    if (array->file >= 0)
        close(array->file);
    free(array);
}

/* ---- files ---------------------------------------------------------------------------------- */

/* On a disk (not in memory, not across a network), and after `bytes` more not full. */
static bool large_array_has_room(int file, size_t bytes)
{
    static const long no_disks[] = {0x01021994 /* tmpfs */, 0x858458f6 /* ramfs */,
                                    0x6969 /* NFS */};
    struct statfs state;

    if (fstatfs(file, &state) != 0)
        return false;
    for (size_t i = 0; i < sizeof no_disks / sizeof *no_disks; i++) {
        if ((uint32_t)state.f_type == (uint32_t)no_disks[i])
            return false;
    }
    return (uint64_t)state.f_bavail * (uint64_t)state.f_bsize / 2 > bytes;
}

/* A file that nobody else sees, and that is gone when its mapping is; -1: none. */
static int large_array_open_file(size_t bytes)
{
    const char *const folders[] = {getenv("TMPDIR"), "/var/tmp", "/tmp"};

    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        int file = folders[i] && *folders[i]
                       ? open(folders[i], O_TMPFILE | O_RDWR | O_CLOEXEC, S_IRUSR | S_IWUSR)
                       : -1;

        if (file >= 0 && large_array_has_room(file, bytes))
            return file;
        if (file >= 0)
            close(file);
    }
    return -1;
}

/* Writes `bytes` of `content`, or zeros where that is NULL. */
static bool fill_file(int file, const char *content, size_t bytes)
{
    static const char zeros[64 * 1024];

    for (size_t done = 0; done < bytes;) {
        size_t left = bytes - done;
        size_t piece = left < sizeof zeros ? left : sizeof zeros;
        ssize_t count = write(file, content ? content + done : zeros, piece);

        if (count <= 0)
            return false;
        done += (size_t)count;
    }
    return true;
}

/* The parts of a new array in a file. */
struct file_array {
    size_t bytes;        /* of the whole mapping */
    const char *content; /* the mapping whose content it takes; NULL: zeros */
    bool grows;
};

/* What it holds is written, zeros too, so that the disk has room for all of it, and no access can
 * fail for want of it. NULL where no disk takes it. */
static struct array_head *new_in_file(const struct file_array *wanted)
{
    int file = large_array_open_file(wanted->bytes);
    void *memory = MAP_FAILED;
    struct array_head *head;

    if (file < 0)
        return NULL;
    if (fill_file(file, wanted->content, wanted->bytes))
        memory = mmap(NULL, wanted->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (memory == MAP_FAILED || !wanted->grows) {
        close(file);
        file = -1;
    }
    if (memory == MAP_FAILED)
        return NULL;
    head = memory;
    head->place = IN_FILE;
    head->bytes = wanted->bytes;
    head->filed = note_filed(head, wanted->bytes, file);
    atomic_store(&has_used_files, true);
    return head;
}

/* Makes the file longer, and moves the mapping where it must. NULL where the disk is full: all is
 * as before. */
static struct array_head *grow_file(struct array_head *head, size_t bytes)
{
    struct filed_array *array = head->filed;
    void *memory = MAP_FAILED;

    pthread_mutex_lock(&filed_lock);
    if (fill_file(array->file, NULL, bytes - array->bytes))
        memory = mremap(head, array->bytes, bytes, MREMAP_MAYMOVE);
    if (memory != MAP_FAILED) {
        head = memory;
        head->bytes = bytes;
        array->memory = memory;
        array->bytes = bytes;
    }
    pthread_mutex_unlock(&filed_lock);
    return memory == MAP_FAILED ? NULL : head;
}

/* ---- arrays --------------------------------------------------------------------------------- */

static struct array_head *head_of(void *array)
{
    return (struct array_head *)(void *)((char *)array - HEAD_BYTES);
}

static bool is_over_budget(size_t more_bytes)
{
    return atomic_load(&bytes_in_memory) + more_bytes > memory_allowed();
}

static size_t whole_pages(size_t bytes)
{
    require_invariant(bytes <= SIZE_MAX / 4, "that an array fits into memory");
    return (bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
}

static struct array_head *new_array(size_t bytes, bool grows)
{
    struct array_head *head = NULL;

    require_invariant(bytes <= SIZE_MAX / 4, "that an array fits into memory");
    bytes += HEAD_BYTES;
    if (bytes <= HEAP_BYTES_MAX) {
        head = require_memory(calloc(1, bytes));
    } else {
        bytes = whole_pages(bytes);
        if (bytes >= FILE_BYTES_MIN && is_over_budget(bytes))
            head = new_in_file(&(struct file_array){.bytes = bytes, .grows = grows});
        if (!head)
            head = new_in_memory(bytes);
    }
    head->bytes = bytes;
    return head;
}

static void *large_array_of(struct array_head *head)
{
    return (char *)head + HEAD_BYTES;
}

void *large_array_new(size_t bytes)
{
    return large_array_of(new_array(bytes, false));
}

size_t large_array_bytes(void *array)
{
    return array ? head_of(array)->bytes - HEAD_BYTES : 0;
}

/* Grows where it is, or where the kernel moves its pages to: nothing is copied. NULL where it
 * cannot be so. */
static struct array_head *grow_mapping(struct array_head *head, size_t bytes)
{
    size_t had_bytes = head->bytes;
    void *memory;

    if (head->place == IN_FILE)
        return head->filed->file < 0 ? NULL : grow_file(head, bytes);
    if (head->place != IN_MEMORY || (bytes >= FILE_BYTES_MIN && is_over_budget(bytes - had_bytes)))
        return NULL;
    memory = mremap(head, had_bytes, bytes, MREMAP_MAYMOVE);
    if (memory == MAP_FAILED)
        return NULL;
    atomic_fetch_add(&bytes_in_memory, bytes - had_bytes);
    head = memory;
    head->bytes = bytes;
    return head;
}

void *large_array_grown(void *array, size_t bytes)
{
    size_t had_bytes = large_array_bytes(array);
    size_t wanted = had_bytes < HEAP_BYTES_MAX ? 2 * had_bytes : had_bytes + had_bytes / 4;
    struct array_head *grown = NULL;

    if (array && bytes <= had_bytes)
        return array;
    require_invariant(bytes <= SIZE_MAX / 8, "that an array fits into memory");
    if (bytes < wanted)
        bytes = wanted;
    if (array)
        grown = grow_mapping(head_of(array), whole_pages(bytes + HEAD_BYTES));
    if (grown)
        return large_array_of(grown);
    grown = new_array(bytes < 1024 ? 1024 : bytes, true);
    if (array)
        memcpy(large_array_of(grown), array, had_bytes);
    large_array_free(array);
    return large_array_of(grown);
}

void *large_array_in_memory(size_t bytes)
{
    struct array_head *head;

    bytes = whole_pages(bytes + HEAD_BYTES);
    head = new_in_memory(bytes);
    head->bytes = bytes;
    return large_array_of(head);
}

void *large_array_put_aside(void *array)
{
    struct array_head *head = head_of(array);
    struct array_head *moved = NULL;

    if (head->place == IN_MEMORY && is_over_budget(0))
        moved =
            new_in_file(&(struct file_array){.bytes = head->bytes, .content = (const char *)head});
    if (!moved)
        return array;
    large_array_free(array);
    return large_array_of(moved);
}

void large_array_free(void *array)
{
    struct array_head *head;

    if (!array)
        return;
    head = head_of(array);
    if (head->place == IN_HEAP) {
        free(head);
        return;
    }
    if (head->place == IN_FILE)
        forget_filed(head->filed);
    else
        atomic_fetch_sub(&bytes_in_memory, head->bytes);
    munmap(head, head->bytes);
}
