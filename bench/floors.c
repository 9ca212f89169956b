/* What this machine can do at best, for the page on benchmarks:
 *     floors memory        reads 256 MB of memory over and over
 *     floors read FILE     reads a file through one small buffer, as a streaming reader must
 *     floors unpack FILE   reads and unpacks a file (gzip, zstd) with the project's own input
 * stream, and drops the text Prints bytes and seconds. */
#include "base/io/input_stream.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { WINDOW_BYTES = 256 * 1024, MEMORY_WORDS = 32 * 1024 * 1024, MEMORY_ROUNDS = 8 };

static double now_seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void print_floor(int64_t bytes, double seconds)
{
    printf("%lld %.6f\n", (long long)bytes, seconds);
}

static bool measure_memory(void)
{
    uint64_t *words = malloc(sizeof(*words) * MEMORY_WORDS);
    volatile uint64_t sink;
    uint64_t sum = 0;

    if (!words)
        return false;
    for (size_t i = 0; i < MEMORY_WORDS; i++)
        words[i] = i;
    double start = now_seconds();
    for (int round = 0; round < MEMORY_ROUNDS; round++)
        for (size_t i = 0; i < MEMORY_WORDS; i++)
            sum += words[i] ^ (uint64_t)round;
    sink = sum;
    (void)sink;
    print_floor((int64_t)sizeof(*words) * MEMORY_WORDS * MEMORY_ROUNDS, now_seconds() - start);
    free(words);
    return true;
}

static bool measure_read(const char *path)
{
    static char window[WINDOW_BYTES];
    int64_t bytes = 0;
    ssize_t got;
    int file = open(path, O_RDONLY | O_CLOEXEC);

    if (file < 0) {
        fprintf(stderr, "floors: cannot open '%s': %s\n", path, strerror(errno));
        return false;
    }
    double start = now_seconds();
    while ((got = read(file, window, sizeof(window))) > 0)
        bytes += got;
    print_floor(bytes, now_seconds() - start);
    close(file);
    return got == 0;
}

static bool measure_unpack(const char *path)
{
    struct input_stream stream = {0};
    struct input_window window;
    struct error error = {0};
    double start = now_seconds();

    if (!input_stream_open(&stream, path, false, &error)) {
        fprintf(stderr, "floors: cannot open '%s'\n", path);
        return false;
    }
    while (input_stream_next(&stream, 0, &window))
        continue;
    print_floor(stream.text_bytes, now_seconds() - start);
    bool is_whole = !stream.is_broken;
    input_stream_clear(&stream);
    return is_whole;
}

int main(int argument_count, char **arguments)
{
    bool is_done = false;

    if (argument_count == 2 && strcmp(arguments[1], "memory") == 0)
        is_done = measure_memory();
    else if (argument_count == 3 && strcmp(arguments[1], "read") == 0)
        is_done = measure_read(arguments[2]);
    else if (argument_count == 3 && strcmp(arguments[1], "unpack") == 0)
        is_done = measure_unpack(arguments[2]);
    else
        fputs("usage: floors memory | read FILE | unpack FILE\n", stderr);
    return is_done ? EXIT_SUCCESS : EXIT_FAILURE;
}
