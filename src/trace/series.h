/* Numbers over time that a trace has beside its events: what counters of a device said (how many
 * multiprocessors were active, how much of the memory's bandwidth was used), page faults. */
#ifndef FLOPLEDGER_TRACE_SERIES_H
#define FLOPLEDGER_TRACE_SERIES_H

#include <stddef.h>
#include <stdint.h>

struct series_sample {
    int64_t time_ns; /* on the trace's own clock */
    double value;
};

enum series_kind {
    SERIES_METRIC,      /* a counter of the device, sampled at regular moments */
    SERIES_OF_KERNELS,  /* what a counter counted in one kernel, at the moment when it began */
    SERIES_PAGE_FAULTS, /* how many faults of unified memory there were at a moment */
};

/* The device of what happened on the host. */
#define SERIES_OF_HOST (-1)

/* One counter of one device. */
struct series {
    enum series_kind kind;
    uint32_t name;                 /* "SMs Active", in the strings of the builder or trace */
    uint32_t unit;                 /* "Throughput %"; 0: not told */
    int32_t device;                /* its number, as of the device's streams; or SERIES_OF_HOST */
    uint32_t number;               /* what the file calls it by; tells two of one name apart */
    struct series_sample *samples; /* [count] */
    size_t count;
    int64_t set_aside; /* samples that are no measurement: negative, or without time or value */
};

/* A list that grows; zeroed is empty. */
struct series_list {
    struct series *series; /* [count], in the order of the file */
    uint32_t count;
};

/* Index of the counter with this kind, name, unit, device and number; added without samples where
 * it is not there yet. Ends the program when memory is out. */
uint32_t series_list_find(struct series_list *list, const struct series *series);

void series_add(struct series *series, const struct series_sample *sample);

/* The samples of each by time, then value. */
void series_list_sort(struct series_list *list);

void series_list_clear(struct series_list *list);

#endif
