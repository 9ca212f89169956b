/* Bytes as a file, for what opens files by their names. */
#ifndef FLOPLEDGER_TESTS_FUZZ_FILE_H
#define FLOPLEDGER_TESTS_FUZZ_FILE_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

struct fuzz_file {
    int descriptor;
    char path[32]; /* "/proc/self/fd/7" */
};

static inline struct fuzz_file fuzz_file_of(const void *bytes, size_t size)
{
    struct fuzz_file file = {.descriptor = memfd_create("fuzz", MFD_CLOEXEC)};

    if (file.descriptor < 0 || write(file.descriptor, bytes, size) != (ssize_t)size)
        abort();
    (void)snprintf(file.path, sizeof file.path, "/proc/self/fd/%d", file.descriptor);
    return file;
}

#endif
