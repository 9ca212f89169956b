/* Runs this program once more, and keeps what it prints. */
#include "mcp/child_program.h"

#include "base/core/array.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { OUTPUT_BYTES_MAX = 256 * 1024 * 1024, READ_BYTES = 64 * 1024 };

extern char **environ;

struct child {
    pid_t process;
    int output; /* read from; -1: its end was reached */
    int errors;
};

static bool child_start(struct child *child, char *const words[], struct error *error)
{
    posix_spawn_file_actions_t actions;
    int output[2], errors[2];
    int problem;

    if (pipe2(output, O_CLOEXEC) != 0)
        return error_set(error, ERROR_FAILURE, "cannot make a pipe: %s", strerror(errno));
    if (pipe2(errors, O_CLOEXEC) != 0) {
        (void)close(output[0]);
        (void)close(output[1]);
        return error_set(error, ERROR_FAILURE, "cannot make a pipe: %s", strerror(errno));
    }
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, output[1], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, errors[1], STDERR_FILENO);
    problem = posix_spawn(&child->process, "/proc/self/exe", &actions, NULL, words, environ);
    posix_spawn_file_actions_destroy(&actions);
    (void)close(output[1]);
    (void)close(errors[1]);
    child->output = output[0];
    child->errors = errors[0];
    if (problem == 0)
        return true;
    (void)close(output[0]);
    (void)close(errors[0]);
    return error_set(error, ERROR_FAILURE, "cannot run /proc/self/exe: %s", strerror(problem));
}

static int64_t child_now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Takes up what there is to read; false at the end of the pipe. */
static bool read_output(int pipe, struct child_answer *answer)
{
    ssize_t got;

    answer->output = array_resize(answer->output, answer->length + READ_BYTES + 1, 1);
    got = read(pipe, answer->output + answer->length, READ_BYTES);
    answer->length += got > 0 ? (size_t)got : 0;
    answer->output[answer->length] = '\0';
    return got > 0 || (got < 0 && errno == EINTR);
}

static bool read_errors(int pipe, struct child_answer *answer)
{
    char bytes[sizeof answer->errors];
    size_t length = strlen(answer->errors);
    ssize_t got = read(pipe, bytes, sizeof bytes);
    size_t room = sizeof answer->errors - 1 - length;

    if (got > 0) {
        memcpy(answer->errors + length, bytes, (size_t)got < room ? (size_t)got : room);
        answer->errors[length + ((size_t)got < room ? (size_t)got : room)] = '\0';
    }
    return got > 0 || (got < 0 && errno == EINTR);
}

/* The words of an error, without the program's name before them and the line's end behind. */
static void tidy_errors(struct child_answer *answer)
{
    static const char name[] = "flopledger: ";
    size_t skipped = strncmp(answer->errors, name, sizeof name - 1) == 0 ? sizeof name - 1 : 0;
    size_t length = strlen(answer->errors) - skipped;

    memmove(answer->errors, answer->errors + skipped, length + 1);
    while (length > 0 && answer->errors[length - 1] == '\n')
        answer->errors[--length] = '\0';
}

/* Reads both pipes to their ends. */
static bool child_await(struct child *child, int seconds, struct child_answer *answer,
                        struct error *error)
{
    int64_t deadline_ms = child_now_ms() + (int64_t)seconds * 1000;
    struct pollfd pipes[2] = {{.fd = child->output, .events = POLLIN},
                              {.fd = child->errors, .events = POLLIN}};

    while (pipes[0].fd >= 0 || pipes[1].fd >= 0) {
        int64_t left_ms = deadline_ms - child_now_ms();

        if (left_ms <= 0)
            return error_set(error, ERROR_FAILURE,
                             "there was no answer within %d seconds (--time-limit allows more)",
                             seconds);
        if (answer->length > OUTPUT_BYTES_MAX)
            return error_set(error, ERROR_FAILURE, "the answer is longer than %d MiB",
                             OUTPUT_BYTES_MAX / 1024 / 1024);
        if (poll(pipes, 2, left_ms < 1000 ? (int)left_ms : 1000) <= 0)
            continue;
        if (pipes[0].revents && !read_output(pipes[0].fd, answer))
            pipes[0].fd = -1;
        if (pipes[1].revents && !read_errors(pipes[1].fd, answer))
            pipes[1].fd = -1;
    }
    return true;
}

bool child_program_run(char *const words[], int seconds, struct child_answer *answer,
                       struct error *error)
{
    struct child child = {.output = -1, .errors = -1};
    int status = 0;
    bool is_done;

    if (!child_start(&child, words, error))
        return false;
    is_done = child_await(&child, seconds, answer, error);
    if (!is_done)
        (void)kill(child.process, SIGKILL);
    while (waitpid(child.process, &status, 0) < 0 && errno == EINTR) {
    }
    (void)close(child.output);
    (void)close(child.errors);
    tidy_errors(answer);
    if (is_done && WIFSIGNALED(status))
        return error_set(error, ERROR_FAILURE, "the command was ended by signal %d (%s)",
                         WTERMSIG(status), strsignal(WTERMSIG(status)));
    return is_done;
}

void child_answer_clear(struct child_answer *answer)
{
    free(answer->output);
    *answer = (struct child_answer){0};
}
