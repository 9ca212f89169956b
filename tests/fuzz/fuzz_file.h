/* Bytes as a file, for what opens files by their names. */
#ifndef FLOPLEDGER_TESTS_FUZZ_FILE_H
#define FLOPLEDGER_TESTS_FUZZ_FILE_H

#include "base/core/invariant.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* A name that lasts: SQLite looks behind links, and finds nothing behind those of a file without a
 * name. In memory, where the system has a folder there. */
struct fuzz_file {
    int descriptor;
    char path[64];
};

static inline struct fuzz_file fuzz_file_of(const void *bytes, size_t size)
{
    struct fuzz_file file = {.descriptor = -1};
    const char *folder = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";

    (void)snprintf(file.path, sizeof file.path, "%s/flopledger-fuzz-%ld", folder, (long)getpid());
    file.descriptor = open(file.path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file.descriptor < 0 || write(file.descriptor, bytes, size) != (ssize_t)size)
        abort();
    return file;
}

/* Also checks that there was a file of that name: else nothing would be tried, and nothing would
 * fail. An error says nothing of it, as it quotes what stands in the file. */
static inline void fuzz_file_close(struct fuzz_file *file)
{
    require_invariant(access(file->path, R_OK) == 0, "that the file can be opened");
    (void)close(file->descriptor);
    (void)unlink(file->path);
}

#endif
