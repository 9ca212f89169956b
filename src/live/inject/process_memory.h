/* What lies where in the memory of another process, as /proc/PID/maps tells. */
#ifndef FLOPLEDGER_LIVE_INJECT_PROCESS_MEMORY_H
#define FLOPLEDGER_LIVE_INJECT_PROCESS_MEMORY_H

#include "base/core/arena.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct memory_region {
    uint64_t start;
    uint64_t end;
    uint64_t offset; /* in the file */
    bool is_code;    /* may be executed */
    bool is_written;
    const char *path; /* as that process sees it; "[stack]" and the like; "": none */
};

struct process_memory {
    long pid;
    struct memory_region *regions; /* [count], by address, in the arena */
    size_t count;
};

/* False where it may not be read, or the process has none any more. */
bool process_memory_read(struct process_memory *memory, struct arena *arena, long pid);

/* NULL: nothing is there. */
const struct memory_region *memory_region_at(const struct process_memory *memory, uint64_t address);

/* Where the file of this region begins in memory: its first page. */
uint64_t memory_file_base(const struct process_memory *memory, const char *path);

/* `bytes` (whole pages) that are free, far from what grows; 0: none. */
uint64_t memory_find_room(const struct process_memory *memory, uint64_t bytes);

/* A file of the process, as this one can open it, whatever that one sees as its root. */
const char *process_path(struct arena *arena, long pid, const char *path);

#endif
