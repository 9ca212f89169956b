/* Pages of freed arrays: who gets them finds what is promised, and the kernel is asked for less. */
#include "base/core/attributes.h"
#include "base/core/large_array.h"
#include "base/core/page_size.h"
#include "base/core/spare_pages.h"
#include "base/core/worker_threads.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include <cmocka.h>

enum { ARRAYS = 12, TURNS = 3000, THREADS = 4 };

/* Instead of the library's: a kernel with pages of PAGE_BYTES_MOST, where the test asks for one. It
 * maps, moves and unmaps whole pages, and refuses what begins within one. */
static _Atomic int refused;
#ifndef HAS_SHADOW_MEMORY
static bool has_large_pages;

long sysconf(int name)
{
    if (name == _SC_PAGESIZE)
        return has_large_pages ? PAGE_BYTES_MOST : 4096;
    return name == _SC_NPROCESSORS_ONLN ? 2 : -1;
}

static bool is_refused(const void *memory)
{
    if ((uintptr_t)memory % page_bytes() == 0)
        return false;
    refused++;
    errno = EINVAL;
    return true;
}

int munmap(void *memory, size_t bytes)
{
    return is_refused(memory) ? -1 : (int)syscall(SYS_munmap, memory, whole_pages(bytes));
}

void *mmap(void *wish, size_t bytes, int protection, int flags, int file, off_t offset)
{
    size_t in_all = whole_pages(bytes) + (has_large_pages ? PAGE_BYTES_MOST : 0);
    char *memory = (char *)syscall(SYS_mmap, wish, in_all, protection, flags, file, offset);
    size_t in_front = (page_bytes() - (uintptr_t)memory % page_bytes()) % page_bytes();

    if (memory == MAP_FAILED || !has_large_pages)
        return memory;
    if (in_front)
        syscall(SYS_munmap, memory, in_front);
    if (in_front < PAGE_BYTES_MOST)
        syscall(SYS_munmap, memory + in_front + whole_pages(bytes), PAGE_BYTES_MOST - in_front);
    return memory + in_front;
}

void *mremap(void *memory, size_t had_bytes, size_t bytes, int flags, ...)
{
    void *moved = is_refused(memory)
                      ? MAP_FAILED
                      : mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    (void)flags;
    return moved == MAP_FAILED
               ? moved
               : (void *)syscall(SYS_mremap, memory, whole_pages(had_bytes), whole_pages(bytes),
                                 MREMAP_MAYMOVE | MREMAP_FIXED, moved);
}
#endif

/* An array, what was written to it, and how much of it must be zero. */
struct held {
    unsigned char *array;
    size_t bytes;
    unsigned char mark;
};

static uint32_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (uint32_t)(*state >> 33);
}

static size_t count_other(const unsigned char *array, size_t from, size_t to, unsigned char mark)
{
    size_t others = 0;

    for (size_t i = from; i < to; i++)
        others += array[i] != mark;
    return others;
}

/* Makes one, lets it grow, shortens it or frees it. Returns how many bytes were not as promised. */
static size_t take_turn(struct held *held, uint64_t *state)
{
    size_t bytes = (size_t)1 << (next_random(state) % 22);
    size_t had = held->bytes, wrong = 0;

    switch (held->array ? next_random(state) % 3 : 3) {
    case 0:
        large_array_free(held->array);
        *held = (struct held){.array = NULL};
        return 0;
    case 1:
        large_array_trim(held->array, had / 2);
        held->bytes = had / 2;
        return count_other(held->array, 0, had / 2, held->mark);
    case 2:
        if (bytes <= large_array_bytes(held->array))
            return count_other(held->array, 0, had, held->mark);
        held->array = large_array_grown(held->array, bytes);
        wrong = count_other(held->array, 0, had, held->mark);
        break;
    default:
        held->array = large_array_new(bytes);
        wrong = count_other(held->array, 0, bytes, 0);
        held->mark = (unsigned char)(next_random(state) | 1);
    }
    held->bytes = bytes;
    memset(held->array, held->mark, bytes);
    return wrong;
}

static void use_arrays(void *argument, size_t index)
{
    size_t *wrong = argument;
    struct held held[ARRAYS] = {{.array = NULL}};
    uint64_t state = index + 1;

    for (int turn = 0; turn < TURNS / THREADS; turn++)
        wrong[index] += take_turn(&held[next_random(&state) % ARRAYS], &state);
    for (int i = 0; i < ARRAYS; i++)
        large_array_free(held[i].array);
}

static void arrays_hold_what_is_theirs(void **state)
{
    size_t wrong[THREADS] = {0};

    run_side_by_side(THREADS, THREADS, use_arrays, wrong);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(wrong[i], 0);
    assert_int_equal(spare_pages_in_use(), 0);
    assert_int_equal(refused, 0);
}

static void large_pages_of_the_kernel_are_never_cut(void **state)
{
#ifdef HAS_SHADOW_MEMORY
    skip();
#else
    (void)spare_pages_release();
    has_large_pages = true;
    arrays_hold_what_is_theirs(state);
    (void)spare_pages_release();
    has_large_pages = false;
#endif
}

static void what_was_freed_is_used_again(void **state)
{
    const size_t bytes = (size_t)1 << 20;
    struct rusage before, after;

#ifdef HAS_SHADOW_MEMORY
    skip();
#endif
    assert_int_equal(getrusage(RUSAGE_SELF, &before), 0);
    for (int i = 0; i < 50; i++) {
        char *array = large_array_in_memory(bytes);

        memset(array, 1, bytes);
        large_array_free(array);
    }
    assert_int_equal(getrusage(RUSAGE_SELF, &after), 0);
    assert_true(after.ru_minflt - before.ru_minflt < 2 * (long)(bytes / 4096));
}

static void growing_takes_the_pages_behind(void **state)
{
    const size_t page = 4096;
    char *pages, *again;

#ifdef HAS_SHADOW_MEMORY
    skip();
#endif
    large_array_free(large_array_in_memory((size_t)4 << 20));
    pages = spare_pages_take(16 * page, true);
    assert_non_null(pages);
    assert_true(spare_pages_extend(pages + 16 * page, page));
    assert_false(spare_pages_extend(pages, page));
    spare_pages_keep(pages, 17 * page);
    again = spare_pages_take(17 * page, true);
    assert_ptr_equal(again, pages); /* one row again with those behind it */
    spare_pages_keep(again, 17 * page);
    assert_true(spare_pages_release());
    assert_false(spare_pages_release());
    assert_null(spare_pages_take(page, false));
    assert_int_equal(spare_pages_in_use(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arrays_hold_what_is_theirs),
        cmocka_unit_test(large_pages_of_the_kernel_are_never_cut),
        cmocka_unit_test(what_was_freed_is_used_again),
        cmocka_unit_test(growing_takes_the_pages_behind),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
