/* Files in which the kernel tells its counters: read whole, and line by line. */
#ifndef FLOPLEDGER_LIVE_KERNEL_FILE_H
#define FLOPLEDGER_LIVE_KERNEL_FILE_H

#include <stdbool.h>
#include <stdint.h>

/* A file below `root`. Zeroed: none. */
struct kernel_file {
    char *text;
    char *rest; /* what has not been handed out as a line */
};

/* False where it is not there or may not be read. Clear it in any case. */
bool kernel_file_read(struct kernel_file *file, const char *root, const char *path);

/* The next line, without its end; NULL at the end. */
char *kernel_file_line(struct kernel_file *file);

void kernel_file_clear(struct kernel_file *file);

/* The number that a file holds alone; -1 where there is none. */
int64_t kernel_number(const char *root, const char *path);

#endif
