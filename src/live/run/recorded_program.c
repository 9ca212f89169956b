/* Starts a program and waits for it, while signals go through. */
#include "base/core/memory_limit.h"
#include "live/run/run_parts.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Signals by which batch systems and terminals end or warn a job: the program gets them as if
 * it had been started alone. */
static const int forwarded[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

/* They are blocked and awaited, not handled: between a check and a wait no signal can be lost. */
static sigset_t awaited_signals(void)
{
    sigset_t signals;

    sigemptyset(&signals);
    sigaddset(&signals, SIGCHLD);
    for (size_t i = 0; i < sizeof forwarded / sizeof *forwarded; i++)
        sigaddset(&signals, forwarded[i]);
    return signals;
}

/* With the signals as this process had them. posix_spawn, not fork: this process may have much
 * memory mapped. The limit on memory is ours, not the program's. */
static int recorded_program_start(pid_t *child, char *const *words, const sigset_t *signals)
{
    posix_spawnattr_t attributes;
    sigset_t defaults;
    int failure;

    sigemptyset(&defaults);
    sigaddset(&defaults, SIGPIPE);
    sigaddset(&defaults, SIGXFSZ);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setsigmask(&attributes, signals);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    memory_limit_suspend();
    failure = posix_spawnp(child, words[0], NULL, &attributes, words, environ);
    memory_limit_resume();
    posix_spawnattr_destroy(&attributes);
    return failure;
}

/* A signal from the terminal goes to all of its programs; one that somebody sent came here only. */
static void pass_on(pid_t child, const siginfo_t *signal)
{
    if (signal->si_code <= 0) /* SI_USER, SI_QUEUE, ...: sent by a process */
        kill(child, signal->si_signo);
}

/* Signals are blocked and taken by sigwaitinfo, so none is lost between a test and a wait. 128
 * + N is what shells make of a signal. */
static int wait_for(pid_t child, const sigset_t *awaited)
{
    siginfo_t signal;
    int status;

    for (;;) {
        pid_t ended = waitpid(child, &status, WNOHANG);

        if (ended == child)
            return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
        if (ended < 0 && errno != EINTR)
            return 1;
        if (sigwaitinfo(awaited, &signal) > 0 && signal.si_signo != SIGCHLD)
            pass_on(child, &signal);
    }
}

bool run_program(char *const *words, int *status, struct error *error)
{
    sigset_t awaited = awaited_signals();
    sigset_t before;
    pid_t child;
    int failure;

    fflush(stdout);
    signal(SIGCHLD, SIG_DFL); /* whoever started us may have had it ignored: then none could be
                                 waited for */
    sigprocmask(SIG_BLOCK, &awaited, &before);
    failure = recorded_program_start(&child, words, &before);
    if (failure == 0)
        *status = wait_for(child, &awaited);
    sigprocmask(SIG_SETMASK, &before, NULL);
    if (failure != 0)
        return error_set(error, ERROR_USAGE, "cannot run '%s': %s", words[0], strerror(failure));
    return true;
}
