/* Runs a program and measures it: measured_run RESULT_FILE PROGRAM [ARGUMENT...]
 *
 * Writes wall seconds, CPU seconds and peak memory in KiB to RESULT_FILE, and ends as the program
 * ends. It exists because the peak memory of a process counts from its birth, when it still has its
 * parent's: the parent must be small. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double seconds_of(struct timeval time)
{
    return (double)time.tv_sec + (double)time.tv_usec * 1e-6;
}

static double now_seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

int main(int argument_count, char **arguments)
{
    struct rusage usage;
    int status;

    if (argument_count < 3) {
        fputs("usage: measured_run RESULT_FILE PROGRAM [ARGUMENT...]\n", stderr);
        return EXIT_FAILURE;
    }
    double start = now_seconds();
    pid_t child = fork();
    if (child == 0) {
        execvp(arguments[2], arguments + 2);
        perror(arguments[2]);
        _exit(127);
    }
    if (child < 0 || wait4(child, &status, 0, &usage) != child) {
        perror("measured_run");
        return EXIT_FAILURE;
    }
    double wall = now_seconds() - start;
    double cpu = seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);

    FILE *result = fopen(arguments[1], "w");
    if (!result) {
        perror(arguments[1]);
        return EXIT_FAILURE;
    }
    fprintf(result, "%.6f %.6f %ld\n", wall, cpu, usage.ru_maxrss);
    if (fclose(result) != 0) {
        perror(arguments[1]);
        return EXIT_FAILURE;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILURE;
}
