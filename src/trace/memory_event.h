/* What was allocated and freed while a trace was recorded: [memory] of torch.profiler. */
#ifndef FLOPLEDGER_TRACE_MEMORY_EVENT_H
#define FLOPLEDGER_TRACE_MEMORY_EVENT_H

#include <stddef.h>
#include <stdint.h>

/* The memory of the host, as memory_event.device. */
#define HOST_MEMORY (-1)

struct memory_event {
    int64_t time_ns; /* on the trace's own clock */
    uint64_t address;
    int64_t bytes;           /* allocated; negative: freed */
    int64_t allocated_bytes; /* of the device from then on, counted since recording began on the
                                host; -1: not told */
    int64_t reserved_bytes;  /* what the device's allocator holds; -1: not told */
    uint32_t track;          /* index in trace.tracks: the thread */
    int32_t device;          /* HOST_MEMORY, or the number of a device */
};

/* A list that grows; zeroed is empty. */
struct memory_list {
    struct memory_event *events; /* [count] */
    size_t count;
    int64_t set_aside; /* events without an address, or of no possible size */
};

/* No single block is larger: sums of millions of them fit into 64 bits. */
#define MEMORY_BLOCK_BYTES_MAX ((int64_t)1 << 40)

/* No time of an event is further from zero: differences fit into 64 bits. */
#define MEMORY_TIME_NS_MAX ((int64_t)1 << 61)

/* Ends the program when memory is out. */
void memory_list_add(struct memory_list *list, const struct memory_event *event);

/* By time; events of one time keep their order. */
void memory_list_sort(struct memory_list *list);

void memory_list_clear(struct memory_list *list);

#endif
