/* Ends a program with SIGKILL at its FLOPLEDGER_TEST_KILL-th call of ptrace, or at that of number
 * FLOPLEDGER_TEST_KILL_TARGET the process that it traces; or makes all of them fail with the number
 * FLOPLEDGER_TEST_ERRNO: test_attach_inside.py loads it before the program. */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

long ptrace(int request, ...);

long ptrace(int request, ...)
{
    static int calls;
    const char *fails = getenv("FLOPLEDGER_TEST_ERRNO");
    const char *last = getenv("FLOPLEDGER_TEST_KILL");
    const char *last_of_target = getenv("FLOPLEDGER_TEST_KILL_TARGET");
    long result;
    va_list rest;
    long parts[3];

    va_start(rest, request);
    for (int i = 0; i < 3; i++)
        parts[i] = va_arg(rest, long);
    va_end(rest);
    if (fails) {
        errno = atoi(fails);
        return -1;
    }
    calls++;
    if (last && calls == atoi(last))
        kill(getpid(), SIGKILL);
    if (last_of_target && calls == atoi(last_of_target))
        kill((pid_t)parts[0], SIGKILL);
    result = syscall(SYS_ptrace, (long)request, parts[0], parts[1], parts[2]);
    return result;
}
