/* A program through which a terminal shows a long page. */
#include "base/io/pager.h"

#include "base/core/memory_limit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Starts the program with `input` as its standard input; false where there is no such program. */
static bool pager_start_here(pid_t *process, char *const *words, int input)
{
    posix_spawn_file_actions_t actions;
    int failure;

    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
    memory_limit_suspend();
    failure = posix_spawnp(process, words[0], &actions, NULL, words, environ);
    memory_limit_resume();
    posix_spawn_file_actions_destroy(&actions);
    return failure == 0;
}

/* A pager's settings, for pagers that the user has not set up. */
static bool set_usual_settings(void)
{
    return setenv("LESS", "FRX", 0) == 0 && setenv("LV", "-c", 0) == 0;
}

static bool is_no_pager(const char *command)
{
    return command && (*command == '\0' || strcmp(command, "cat") == 0);
}

void pager_start(struct pager *pager)
{
    const char *command = getenv("PAGER");
    const char *terminal = getenv("TERM");
    char less[] = "less", shell[] = "sh", option[] = "-c";
    char *of_less[] = {less, NULL};
    char *of_shell[] = {shell, option, NULL, NULL};
    int ends[2];

    if (is_no_pager(command) || !terminal || strcmp(terminal, "dumb") == 0)
        return;
    if (!set_usual_settings() || pipe2(ends, O_CLOEXEC) != 0)
        return;
    of_shell[2] = command ? strdup(command) : NULL;
    fflush(stdout);
    if (pager_start_here(&pager->process, of_shell[2] ? of_shell : of_less, ends[0]))
        pager->stream = fdopen(ends[1], "w");
    free(of_shell[2]);
    close(ends[0]);
    if (!pager->stream) {
        close(ends[1]);
        return;
    }
    /* Ctrl-C and an early end of the pager are the pager's: this process only waits for it. */
    signal(SIGINT, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
}

void pager_clear(struct pager *pager)
{
    int status;

    if (!pager->stream)
        return;
    fclose(pager->stream);
    while (waitpid(pager->process, &status, 0) < 0 && errno == EINTR)
        ;
    *pager = (struct pager){0};
}
