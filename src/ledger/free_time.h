/* Time in which certain classes of work do not run: between any two moments, by one subtraction. */
#ifndef FLOPLEDGER_LEDGER_FREE_TIME_H
#define FLOPLEDGER_LEDGER_FREE_TIME_H

#include "ledger/class_timeline.h"

#include <stddef.h>
#include <stdint.h>

/* Zeroed is empty. */
struct free_time {
    const struct class_timeline *timeline;
    uint32_t classes;   /* those that must not run, as a mask of the timeline's bits */
    int64_t *before_ns; /* [timeline->count]: free time from the first change to this one */
    size_t hint;        /* where the last question was answered */
};

/* Keeps `timeline`, which must not change any more. */
void free_time_init(struct free_time *time, const struct class_timeline *timeline,
                    uint32_t classes);
void free_time_clear(struct free_time *time);

/* In [start_ns, end_ns). Cheap for questions in order of time. */
int64_t free_time_between(struct free_time *time, int64_t start_ns, int64_t end_ns);

#endif
