/* A thread that is made to call something is as it was before. */
#include "live/inject/injection.h"
#include "live/inject/process_memory.h"
#include "live/inject/tracing.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#if defined(__x86_64__)

enum { TIMES = 200, LANES = 8 };

struct shared {
    volatile uint64_t calls;
    volatile uint64_t sum; /* of all arguments */
    volatile uint64_t rounds;
    volatile uint64_t wrong;
};

static struct shared *shared;

/* What the other process is made to call: it changes what a function may change. */
/* NOLINTNEXTLINE(readability-function-size): as many as a call takes */
static void called(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f)
{
    shared->calls++;
    shared->sum += a + b + c + d + e + f;
    __asm__ volatile("pcmpeqd %%xmm0, %%xmm0\n pcmpeqd %%xmm7, %%xmm7\n pcmpeqd %%xmm15, %%xmm15\n"
                     "mov $-1, %%rax\n mov $-1, %%r11\n"
                     :
                     :
                     : "xmm0", "xmm7", "xmm15", "rax", "r11");
}

/* Registers that no call may have touched in between, again and again. */
static uint64_t spin(uint64_t seed)
{
    uint64_t a = seed;
    uint64_t b = seed * 3;
    double x = (double)seed;
    double y = (double)seed * 0.5;

    for (int i = 0; i < 20000; i++)
        __asm__ volatile("add $1, %0\n sub $1, %0\n addsd %3, %2\n subsd %3, %2\n xor %1, %0\n"
                         "xor %1, %0\n"
                         : "+r"(a), "+r"(b), "+x"(x), "+x"(y));
    return a == seed && b == seed * 3 && x == (double)seed && y == (double)seed * 0.5 ? 0 : 1;
}

/* Computes, and waits in calls of the system with and without a limit of time. */
static void work_for_ever(int pipe_end)
{
    const struct timespec pause = {.tv_nsec = 300000};

    for (uint64_t i = 1;; i++) {
        shared->wrong += spin(i);
        if (i % 4 == 0)
            shared->wrong += nanosleep(&pause, NULL) != 0;
        if (i % 7 == 0) {
            char byte;

            shared->wrong += read(pipe_end, &byte, 1) != 1;
        }
        shared->rounds++;
    }
}

static bool is_unsafe_here(const void *context, uint64_t address)
{
    (void)context;
    (void)address;
    return false;
}

/* Where the library of C ends the handler of a signal. */
static uint64_t find_signal_return(struct arena *arena)
{
    static const unsigned char code[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
    struct process_memory memory;

    assert_true(process_memory_read(&memory, arena, getpid()));
    for (size_t i = 0; i < memory.count; i++) {
        struct elf_file file;
        uint64_t found;

        if (!strstr(memory.regions[i].path, "libc.so") ||
            !elf_file_open(&file, memory.regions[i].path))
            continue;
        found = elf_find_code(&file, code, sizeof code);
        elf_file_clear(&file);
        return found ? memory_file_base(&memory, memory.regions[i].path) + found : 0;
    }
    return 0;
}

static struct traced_call call_of(uint64_t signal_return, uint64_t number)
{
    return (struct traced_call){.function = (uint64_t)(uintptr_t)called,
                                .arguments = {number, 1, 2, 3, 4, 5},
                                .signal_return = signal_return};
}

static void a_thread_is_as_it_was(void **state)
{
    struct arena arena = {0};
    uint64_t signal_return = find_signal_return(&arena);
    int ends[2];
    pid_t child;
    uint64_t expected = 0;

    if (!signal_return)
        skip();
    assert_int_equal(pipe(ends), 0);
    child = fork();
    if (child == 0)
        work_for_ever(ends[0]);
    for (uint64_t i = 0; i < TIMES; i++) {
        const struct timespec pause = {.tv_nsec = 500000};
        struct traced_thread thread;
        struct traced_call call = call_of(signal_return, i);
        struct error error;

        assert_int_equal(write(ends[1], "xxxx", 4), 4);
        assert_true(traced_thread_attach(&thread, child, &error));
        assert_int_equal(traced_thread_stop(&thread, is_unsafe_here, NULL, 5000), TRACED_DONE);
        assert_int_equal(traced_thread_call(&thread, &call, 5000), TRACED_DONE);
        traced_thread_clear(&thread);
        expected += i + 15;
        assert_int_equal(shared->calls, i + 1);
        assert_int_equal(shared->sum, expected);
        (void)nanosleep(&pause, NULL);
    }
    assert_true(shared->rounds > 0);
    assert_int_equal(shared->wrong, 0);
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    arena_clear(&arena);
}

static void one_that_has_ended_is_told(void **state)
{
    struct traced_thread thread;
    struct error error;
    pid_t child = fork();

    if (child == 0)
        _exit(0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_false(traced_thread_attach(&thread, child, &error));
    assert_non_null(strstr(error.message, "has ended"));
}

static bool is_unsafe_anywhere(const void *context, uint64_t address)
{
    (void)context;
    (void)address;
    return true;
}

static void count_for_ever(void)
{
    while (true)
        shared->rounds++;
}

/* One that never is where it may be called is another matter than one that is killed meanwhile. */
static void why_one_does_not_stop_is_told(void **state)
{
    struct traced_thread thread;
    struct error error;
    pid_t child;

    shared->rounds = 0;
    child = fork();
    if (child == 0)
        count_for_ever();
    while (shared->rounds == 0) {
    }
    assert_true(traced_thread_attach(&thread, child, &error));
    assert_int_equal(traced_thread_stop(&thread, is_unsafe_anywhere, NULL, 30), TRACED_STUCK);
    assert_false(injection_process_has_ended(child));
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(traced_thread_stop(&thread, is_unsafe_anywhere, NULL, 5000), TRACED_GONE);
    assert_true(injection_process_has_ended(child));
    traced_thread_clear(&thread);
    (void)waitpid(child, NULL, 0);
    assert_true(injection_process_has_ended(child));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thread_is_as_it_was),
        cmocka_unit_test(why_one_does_not_stop_is_told),
        cmocka_unit_test(one_that_has_ended_is_told),
    };

    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
    return 0;
}

#endif
