/* Arrays that hold something for each event of a trace: memory while they are few, and beyond that
 * files without a name. */
#include "base/core/large_array.h"

#include "base/core/invariant.h"
#include "base/core/memory_limit.h"
#include "base/core/page_size.h"
#include "base/core/spare_pages.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

/* Small arrays are the heap's; large ones have pages of their own, which go back to the system
 * when they are freed, and beyond the limit of memory they lie in a file. */
enum array_place { IN_HEAP, IN_MEMORY, IN_FILE };

/* Stands in front of the array, on a line of its own. */
struct array_head {
    size_t bytes; /* of the whole mapping, this included */
    enum array_place place;
    int file; /* of one IN_FILE that grows; else -1: the mapping alone keeps it */
};

enum {
    HEAD_BYTES = 64,
    HEAP_BYTES_MAX = 64 * 1024,
    FILE_BYTES_MIN = 512 * 1024, /* smaller ones are not worth a file */
};
_Static_assert(sizeof(struct array_head) <= HEAD_BYTES, "the head fits in front of the array");

static const size_t mebibyte = (size_t)1 << 20;

/* Large pages: the kernel hands out and zeroes 2 MiB at a time, and a fault costs as much as one of
 * 4 KiB. */
static const size_t large_page_bytes = (size_t)2 << 20;

/* Of what the process may take, texts and what the analyses make need a little always and the half
 * of the rest at most. */
static size_t memory_allowed(void)
{
    const unsigned long long reserve_mib = 128;
    const char *wanted = getenv(LARGE_ARRAY_MEMORY_VARIABLE);
    unsigned long long limit = (unsigned long long)memory_limit_bytes() / mebibyte;
    unsigned long long half = limit > reserve_mib ? (limit - reserve_mib) / 2 : 0;
    unsigned long long mib = limit > 0 ? half : LARGE_ARRAY_MEMORY_MIB;

    if (wanted && *wanted >= '0' && *wanted <= '9') {
        char *end;
        unsigned long long number = strtoull(wanted, &end, 10);

        if (!*end && number <= SIZE_MAX / mebibyte)
            mib = number;
    }
    if (limit > 0 && mib > half)
        mib = half;
    return (size_t)mib * mebibyte;
}

/* ---- memory --------------------------------------------------------------------------------- */

static char *map_memory(size_t bytes)
{
    char *memory;

    do
        memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    while (memory == MAP_FAILED && spare_pages_release());
    return require_memory(memory == MAP_FAILED ? NULL : memory);
}

/* Memory that begins where a large page does. More than is needed is mapped and both ends are
 * given back, since mmap promises the alignment of a small page only. MADV_HUGEPAGE is a wish. */
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

/* What an array is for. */
struct array_use {
    bool grows;
    bool is_filled; /* at once: nobody asks what stands there before */
};

static struct array_head *new_in_memory(size_t bytes, struct array_use use)
{
    char *memory = spare_pages_take(bytes, use.grows);
    struct array_head *head;

    if (memory) {
        memset(memory, 0, use.is_filled ? HEAD_BYTES : bytes);
    } else {
        memory = bytes < large_page_bytes ? map_memory(bytes) : map_large_pages(bytes);
        spare_pages_count(bytes);
    }
    head = (struct array_head *)(void *)memory;
    head->place = IN_MEMORY;
    return head;
}

/* ---- files ---------------------------------------------------------------------------------- */

/* On a disk (not in memory, not across a network), and after `bytes` more not full. Half of what
 * is free at most: others write to the disk as well. tmpfs is memory, so that a file there would
 * save none; a network would be slower than reading the trace again. */
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

/* O_TMPFILE has no name: nothing is left behind, however the process ends. */
int large_array_open_file(size_t bytes)
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

bool large_array_write_file(int file, const char *content, size_t bytes)
{
    static const char zeros[64 * 1024];

    for (size_t done = 0; done < bytes;) {
        size_t left = bytes - done;
        size_t piece = content || left < sizeof zeros ? left : sizeof zeros;
        ssize_t count = write(file, content ? content + done : zeros, piece);

        if (count <= 0)
            return false;
        done += (size_t)count;
    }
    return true;
}

/* Makes it longer by `bytes` zeros for which the disk has room, so that no access can fail for want
 * of it. A mapping of a hole that the disk cannot fill ends the process by SIGBUS at the first
 * access, far from where anything could be told: the room is taken now. */
static bool lengthen_file(int file, size_t had_bytes, size_t bytes)
{
    if (fallocate(file, 0, (off_t)had_bytes, (off_t)bytes) == 0)
        return true;
    return errno == EOPNOTSUPP && lseek(file, (off_t)had_bytes, SEEK_SET) >= 0 &&
           large_array_write_file(file, NULL, bytes);
}

/* The parts of a new array in a file. */
struct file_array {
    size_t bytes;        /* of the whole mapping */
    const char *content; /* the mapping whose content it takes; NULL: zeros */
    bool grows;
};

/* NULL where no disk takes it. The mapping keeps the file; only what will grow needs the
 * descriptor once more. */
static struct array_head *new_in_file(const struct file_array *wanted)
{
    int file = large_array_open_file(wanted->bytes);
    void *memory = MAP_FAILED;
    struct array_head *head;

    if (file < 0)
        return NULL;
    if (wanted->content ? large_array_write_file(file, wanted->content, wanted->bytes)
                        : lengthen_file(file, 0, wanted->bytes))
        memory = mmap(NULL, wanted->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (memory == MAP_FAILED || !wanted->grows) {
        close(file);
        file = -1;
    }
    if (memory == MAP_FAILED)
        return NULL;
    head = memory;
    *head = (struct array_head){.bytes = wanted->bytes, .place = IN_FILE, .file = file};
    return head;
}

/* Makes the file longer, and moves the mapping where it must. NULL where the disk is full: all is
 * as before. mremap may move the mapping: whoever grows an array takes its new address. */
static struct array_head *grow_file(struct array_head *head, size_t bytes)
{
    void *memory = MAP_FAILED;

    if (lengthen_file(head->file, head->bytes, bytes - head->bytes))
        memory = mremap(head, head->bytes, bytes, MREMAP_MAYMOVE);
    if (memory == MAP_FAILED)
        return NULL;
    head = memory;
    head->bytes = bytes;
    return head;
}

/* ---- arrays --------------------------------------------------------------------------------- */

static struct array_head *head_of(void *array)
{
    return (struct array_head *)(void *)((char *)array - HEAD_BYTES);
}

static bool is_over_budget(size_t more_bytes)
{
    return spare_pages_in_use() + more_bytes > memory_allowed();
}

/* Small arrays are from the heap, where they cost no page; from a page upwards they are
 * mapped, so that growing moves pages and not bytes. If no disk takes a file, memory is taken
 * after all: going on near the limit is better than ending. */
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
            head = new_in_memory(bytes, (struct array_use){.grows = grows});
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

/* Into spare pages behind it, by little: each of them is memory already, used or not. NULL where
 * there are none. */
static struct array_head *grow_into_spare(struct array_head *head, size_t bytes)
{
    size_t had_bytes = head->bytes;
    size_t least = whole_pages(had_bytes + had_bytes / 16);
    char *end = (char *)head + had_bytes;

    if (bytes < least)
        bytes = least;
    if (!spare_pages_extend(end, bytes - had_bytes))
        return NULL;
    memset(end, 0, bytes - had_bytes);
    head->bytes = bytes;
    return head;
}

/* Grows where it is, or where the kernel moves its pages to: nothing is copied. NULL where it
 * cannot be so. An array that is over the budget when it grows is copied into a file by the
 * caller. `needed`: less than `bytes`. */
static struct array_head *grow_mapping(struct array_head *head, size_t needed, size_t bytes)
{
    size_t had_bytes = head->bytes;
    struct array_head *grown;
    void *memory;

    if (head->place == IN_FILE)
        return head->file < 0 ? NULL : grow_file(head, bytes);
    if (head->place != IN_MEMORY || (bytes >= FILE_BYTES_MIN && is_over_budget(bytes - had_bytes)))
        return NULL;
    grown = grow_into_spare(head, needed);
    if (grown)
        return grown;
    memory = mremap(head, had_bytes, bytes, MREMAP_MAYMOVE);
    if (memory == MAP_FAILED)
        return NULL;
    spare_pages_count(bytes - had_bytes);
    head = memory;
    head->bytes = bytes;
    return head;
}

/* Doubling while small, then by a quarter: of a large array half unused would be much, and
 * growing a mapping copies nothing. */
void *large_array_grown(void *array, size_t bytes)
{
    size_t had_bytes = large_array_bytes(array);
    size_t wanted = had_bytes < HEAP_BYTES_MAX ? 2 * had_bytes : had_bytes + had_bytes / 4;
    struct array_head *grown = NULL;

    if (array && bytes <= had_bytes)
        return array;
    require_invariant(bytes <= SIZE_MAX / 8, "that an array fits into memory");
    if (wanted < bytes)
        wanted = bytes;
    if (array)
        grown = grow_mapping(head_of(array), whole_pages(bytes + HEAD_BYTES),
                             whole_pages(wanted + HEAD_BYTES));
    if (grown)
        return large_array_of(grown);
    grown = new_array(wanted < 1024 ? 1024 : wanted, true);
    if (array)
        memcpy(large_array_of(grown), array, had_bytes);
    large_array_free(array);
    return large_array_of(grown);
}

void *large_array_in_memory(size_t bytes)
{
    struct array_head *head;

    require_invariant(bytes <= SIZE_MAX / 4, "that an array fits into memory");
    bytes += HEAD_BYTES;
    if (bytes <= HEAP_BYTES_MAX) {
        head = require_memory(malloc(bytes));
        head->place = IN_HEAP;
    } else {
        bytes = whole_pages(bytes);
        head = new_in_memory(bytes, (struct array_use){.is_filled = true});
    }
    head->bytes = bytes;
    return large_array_of(head);
}

/* Whole pages only. */
void large_array_trim(void *array, size_t bytes)
{
    struct array_head *head = head_of(array);
    size_t kept_bytes = whole_pages(bytes + HEAD_BYTES);

    if (head->place != IN_MEMORY || kept_bytes >= head->bytes)
        return;
    spare_pages_keep((char *)head + kept_bytes, head->bytes - kept_bytes);
    head->bytes = kept_bytes;
}

/* For arrays that are not used for a while: those in memory go to a file if the budget is used
 * up. */
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

/* Where an array lies is in its head: a small one in the heap, a large one in pages of its
 * own, and beyond the limit of memory in a file without a name, which goes with its
 * descriptor. */
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
    if (head->place == IN_MEMORY) {
        spare_pages_keep((char *)head, head->bytes);
        return;
    }
    if (head->file >= 0)
        close(head->file);
    munmap(head, head->bytes);
}

void large_array_give_back(void *array)
{
    struct array_head *head = array ? head_of(array) : NULL;

    if (head && head->place == IN_MEMORY)
        spare_pages_give_back((char *)head, head->bytes);
    else
        large_array_free(array);
}
