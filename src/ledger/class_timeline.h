/* What runs when: for each instant the set of classes that have at least one event open. */
#ifndef FLOPLEDGER_LEDGER_CLASS_TIMELINE_H
#define FLOPLEDGER_LEDGER_CLASS_TIMELINE_H

#include <stddef.h>
#include <stdint.h>

enum { TIMELINE_CLASSES_MAX = 32 };

/* From `start_ns` on, until the next change, the classes of `mask` are open: bit c for class c. Of
 * 12 bytes, as there are about two for each event of a thread. */
struct __attribute__((packed, aligned(4))) timeline_change {
    int64_t start_ns;
    uint32_t mask;
};

/* Zeroed is an empty timeline. */
struct class_timeline {
    struct timeline_change *changes; /* sorted by start; neighbours have different masks; the last
                                        has mask 0 */
    size_t count;
    /* while it is built */
    uint32_t open_mask;
    int64_t open_until_ns[TIMELINE_CLASSES_MAX];
    int64_t first_end_ns; /* no open class ends before it */
};

/* Adds an event of `class_number`; events must come in the order of their starts. Events of no
 * length add nothing. */
void class_timeline_add(struct class_timeline *timeline, unsigned class_number, int64_t start_ns,
                        int64_t end_ns);
/* To be called once, after the last event. */
void class_timeline_finish(struct class_timeline *timeline);
void class_timeline_clear(struct class_timeline *timeline);

/* Index of the change that holds at `time_ns`, or SIZE_MAX before the first. `hint`: an index
 * returned for an earlier call; the search starts there, so walking forward in time costs O(1) a
 * step. */
size_t class_timeline_at(const struct class_timeline *timeline, int64_t time_ns, size_t hint);

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
