/* Executes another process instruction by instruction from one SIGUSR1 of its to the next, and
 * prints how many there were: count_instructions PID TIMES. Neither the process nor this machine's
 * processor needs counters for that. */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

/* Lets the thread go on until it stops; the signal that stopped it, 0: it has ended. */
static int go_on(int how, pid_t pid, int with)
{
    int status;

    if (ptrace(how, pid, 0, with) != 0 || waitpid(pid, &status, __WALL) != pid)
        return 0;
    return WIFSTOPPED(status) ? WSTOPSIG(status) : 0;
}

/* Until its next SIGUSR1, which it does not get; how many stops there were, -1: it has ended. */
static long until_mark(int how, pid_t pid)
{
    int with = 0;

    for (long count = 1;; count++) {
        int stopped_by = go_on(how, pid, with);

        if (stopped_by == 0)
            return -1;
        if (stopped_by == SIGUSR1)
            return count;
        with = stopped_by == SIGTRAP ? 0 : stopped_by;
    }
}

int main(int count, char **arguments)
{
    pid_t pid = count == 3 ? atoi(arguments[1]) : 0;
    cpu_set_t first;

    CPU_ZERO(&first);
    CPU_SET(0, &first);
    (void)sched_setaffinity(0, sizeof first, &first);
    if (pid <= 0 || ptrace(PTRACE_SEIZE, pid, 0, 0) != 0 ||
        ptrace(PTRACE_INTERRUPT, pid, 0, 0) != 0 || waitpid(pid, NULL, __WALL) != pid)
        return 1;
    if (until_mark(PTRACE_CONT, pid) < 0)
        return 1;
    for (int i = atoi(arguments[2]); i > 0; i--) {
        long counted = until_mark(PTRACE_SINGLESTEP, pid);

        if (counted < 0)
            return 1;
        printf("%ld\n", counted);
    }
    return ptrace(PTRACE_DETACH, pid, 0, 0) == 0 ? 0 : 1;
}
