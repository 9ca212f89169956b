/* The one way to end where memory is out. */
#include "base/core/out_of_memory.h"

#include "base/core/error.h"

#include <stdatomic.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

static int64_t limit_bytes; /* 0: none of ours */
static bool is_users_limit;
static void (*cleanup)(void);
static atomic_flag is_ending = ATOMIC_FLAG_INIT;

void out_of_memory_limit(int64_t bytes, bool is_users)
{
    limit_bytes = bytes;
    is_users_limit = is_users;
}

void out_of_memory_cleanup(void (*clean)(void))
{
    cleanup = clean;
}

/* What stands in the way; snprintf of whole numbers takes no memory. Which limit stands in the
 * way decides what helps: the shell's, ours, or none but the machine. */
static void describe_limit(char *to, size_t size)
{
    struct rlimit address_space;

    if (getrlimit(RLIMIT_AS, &address_space) == 0 && address_space.rlim_cur != RLIM_INFINITY &&
        (limit_bytes == 0 || address_space.rlim_cur <= (rlim_t)limit_bytes))
        (void)snprintf(to, size, "the shell's limit (ulimit -v) is %llu MiB; raise it",
                       (unsigned long long)(address_space.rlim_cur >> 20));
    else if (limit_bytes > 0)
        (void)snprintf(to, size, "the limit is %lld MiB%s; give more with --memory-limit",
                       (long long)(limit_bytes >> 20),
                       is_users_limit ? "" : ", 90 % of what was available");
    else
        (void)snprintf(to, size, "the machine has no more");
}

/* Nothing here may take memory: buffers are on the stack, and write() has none of its own.
 * _exit, since exit would flush streams that other threads may hold. Of several threads that
 * run out, the first tells and ends all. */
void end_out_of_memory(void)
{
    char limit[160];
    char message[320];
    int length;

    while (atomic_flag_test_and_set(&is_ending)) /* another thread ends the program already */
        (void)pause();
    describe_limit(limit, sizeof limit);
    length =
        snprintf(message, sizeof message,
                 "flopledger: out of memory: %s, or read smaller or fewer files at once\n", limit);
    if (length > 0 && write(STDERR_FILENO, message, (size_t)length) < 0)
        limit[0] = '\0'; /* there is nobody left to tell */
    if (cleanup)
        cleanup();
    _exit(ERROR_FAILURE);
}
