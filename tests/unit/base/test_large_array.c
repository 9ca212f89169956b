/* Large arrays: the same in memory and in files, which take no memory of the process. */
#include "base/core/large_array.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const char *const budgets_mib[] = {"0", "1", "1000"};
enum { BUDGET_COUNT = sizeof budgets_mib / sizeof *budgets_mib };

static void set_budget(const char *mib)
{
    assert_int_equal(setenv(LARGE_ARRAY_MEMORY_VARIABLE, mib, 1), 0);
}

static void arrays_are_zeroed_and_keep_what_is_written(void **state)
{
    for (int budget = 0; budget < BUDGET_COUNT; budget++) {
        set_budget(budgets_mib[budget]);
        for (size_t count = 1; count < 2000000; count = count * 7 + 1) {
            uint32_t *numbers = large_array_new(count * sizeof *numbers);

            assert_int_equal((uintptr_t)numbers % 16, 0);
            for (size_t i = 0; i < count; i++) {
                assert_int_equal(numbers[i], 0);
                numbers[i] = (uint32_t)i + 1;
            }
            for (size_t i = 0; i < count; i++)
                assert_int_equal(numbers[i], i + 1);
            large_array_free(numbers);
        }
    }
}

static void growing_keeps_the_content(void **state)
{
    for (int budget = 0; budget < BUDGET_COUNT; budget++) {
        uint64_t *numbers = NULL;

        set_budget(budgets_mib[budget]);
        assert_int_equal(large_array_bytes(NULL), 0);
        for (size_t i = 0; i < 400000; i++) {
            if ((i + 1) * sizeof *numbers > large_array_bytes(numbers)) {
                numbers = large_array_grown(numbers, (i + 1) * sizeof *numbers);
                assert_true(large_array_bytes(numbers) >= (i + 1) * sizeof *numbers);
                assert_int_equal(numbers[i], 0);
            }
            numbers[i] = i * i;
        }
        for (size_t i = 0; i < 400000; i++)
            assert_int_equal(numbers[i], i * i);
        assert_ptr_equal(large_array_grown(numbers, 1), numbers);
        large_array_free(numbers);
    }
}

static void what_is_put_aside_keeps_its_content(void **state)
{
    for (int budget = 0; budget < BUDGET_COUNT; budget++) {
        const size_t bytes = (size_t)3 << 20;
        unsigned char *array;

        set_budget(budgets_mib[budget]);
        array = large_array_in_memory(bytes);
        for (size_t i = 0; i < bytes; i++)
            array[i] = (unsigned char)(i * 31);
        array = large_array_put_aside(array);
        for (size_t i = 0; i < bytes; i++)
            assert_int_equal(array[i], (unsigned char)(i * 31));
        large_array_free(array);
    }
}

/* Without what is mapped from files, and only that. */
static void count_resident(size_t *own_bytes, size_t *file_bytes)
{
    FILE *statm = fopen("/proc/self/statm", "r");
    const size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    unsigned long all = 0;
    unsigned long resident = 0;
    unsigned long shared = 0;

    assert_non_null(statm);
    assert_int_equal(fscanf(statm, "%lu %lu %lu", &all, &resident, &shared), 3);
    (void)fclose(statm);
    *own_bytes = (resident - shared) * page_bytes;
    *file_bytes = shared * page_bytes;
}

/* Skipped where no folder for temporary files is on a disk. */
static void files_take_no_memory_of_the_process(void **state)
{
    const size_t bytes = (size_t)128 << 20;
    size_t own_before, files_before, own_after, files_after;
    char *array;

    set_budget("0");
    count_resident(&own_before, &files_before);
    array = large_array_new(bytes);
    memset(array, 1, bytes);
    count_resident(&own_after, &files_after);
    large_array_free(array);
    if (own_after >= own_before + bytes)
        skip();
    assert_true(own_after < own_before + ((size_t)1 << 20));
    assert_true(files_after > files_before + bytes / 2); /* the kernel may have taken some back */
}

static void nothing_is_freed_without_harm(void **state)
{
    large_array_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arrays_are_zeroed_and_keep_what_is_written),
        cmocka_unit_test(growing_keeps_the_content),
        cmocka_unit_test(what_is_put_aside_keeps_its_content),
        cmocka_unit_test(files_take_no_memory_of_the_process),
        cmocka_unit_test(nothing_is_freed_without_harm),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
