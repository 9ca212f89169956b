/* What the numbers in Nsight Systems' tables mean. */
#ifndef FLOPLEDGER_READERS_NSYS_NSYS_IDS_H
#define FLOPLEDGER_READERS_NSYS_NSYS_IDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* NVTX_EVENTS.eventType; the second two are those of an imported text file. */
enum nvtx_event_type {
    NVTX_MARK = 34,
    NVTX_PUSH_POP = 59,
    NVTX_START_END = 60,
    NVTX_TEXT_PUSH_POP = 70,
    NVTX_TEXT_START_END = 71,
    NVTX_DOMAIN_CREATE = 75,
};

static inline bool nvtx_is_push_pop(int64_t event_type)
{
    return event_type == NVTX_PUSH_POP || event_type == NVTX_TEXT_PUSH_POP;
}

static inline bool nvtx_is_range(int64_t event_type)
{
    return nvtx_is_push_pop(event_type) || event_type == NVTX_START_END ||
           event_type == NVTX_TEXT_START_END;
}

/* A globalTid holds host, process and thread; a globalPid is one with thread 0. */
static inline int64_t nsys_pid(int64_t global_id)
{
    return global_id >> 24 & 0xffffff;
}

static inline int64_t nsys_tid(int64_t global_id)
{
    return global_id & 0xffffff;
}

/* Host and process without the thread: equal for a globalPid and the globalTids of its threads. */
static inline int64_t nsys_process(int64_t global_id)
{
    return (int64_t)((uint64_t)global_id & ~(uint64_t)0xffffff);
}

/* Without the version at its end: "cudaLaunchKernel_v7000" is "cudaLaunchKernel". */
static inline size_t nsys_api_name_length(const char *name)
{
    size_t length = strlen(name);

    return length >= 6 && name[length - 6] == '_' && name[length - 5] == 'v' ? length - 6 : length;
}

/* Columns of a kernel: how it was launched, in this order. */
#define NSYS_LAUNCH_COLUMNS                                                        \
    "gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ", "registersPerThread", \
        "staticSharedMemory", "dynamicSharedMemory"

#endif
