/* What runs when: for each instant the set of classes that have at least one event open. */
#ifndef FLOPLEDGER_LEDGER_CLASS_TIMELINE_H
#define FLOPLEDGER_LEDGER_CLASS_TIMELINE_H

#include <stddef.h>
#include <stdint.h>

enum { TIMELINE_CLASSES_MAX = 22 };

/* From a change's start on, until the next change, the classes of its mask are open: bit c for
 * class c. There are about two for each event of a thread, so that both are in one word: the time
 * since the first change above the mask, which is enough for 73 minutes. In a longer timeline the
 * words are the times, and masks are a list of their own. Zeroed is an empty timeline. */
struct class_timeline {
    uint64_t *changes; /* sorted by start; neighbors have different masks; the last has mask 0 */
    uint32_t *masks;   /* NULL: in the changes */
    size_t count;
    int64_t origin_ns; /* what the times of changes count from */
    unsigned shift;    /* bits below them */
    /* while it is built */
    size_t capacity;
    int64_t last_ns; /* the last change */
    uint32_t last_mask;
    uint32_t open_mask;
    int64_t open_until_ns[TIMELINE_CLASSES_MAX];
    int64_t first_end_ns; /* no open class ends before it */
};

static inline int64_t timeline_start_ns(const struct class_timeline *timeline, size_t change)
{
    return (int64_t)((uint64_t)timeline->origin_ns +
                     (timeline->changes[change] >> timeline->shift));
}

static inline uint32_t timeline_mask(const struct class_timeline *timeline, size_t change)
{
    return timeline->masks
               ? timeline->masks[change]
               : (uint32_t)timeline->changes[change] & (((uint32_t)1 << TIMELINE_CLASSES_MAX) - 1);
}

/* The classes that are open from change `at` on; none before the first, SIZE_MAX. */
static inline uint32_t timeline_mask_at(const struct class_timeline *timeline, size_t at)
{
    return at == SIZE_MAX ? 0 : timeline_mask(timeline, at);
}

/* Of the change after `at`, or of the first for SIZE_MAX; INT64_MAX where there is none. */
static inline int64_t timeline_next_ns(const struct class_timeline *timeline, size_t at)
{
    return at + 1 < timeline->count ? timeline_start_ns(timeline, at + 1) : INT64_MAX;
}

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

/* A walk from change to change. */
struct timeline_walk {
    const struct class_timeline *timeline; /* NULL: nothing is ever open */
    size_t at;                             /* SIZE_MAX: before the first change */
    uint32_t mask;                         /* what is open */
    int64_t next_ns;                       /* when that changes; INT64_MAX: never */
};

/* `hint`: as of class_timeline_at. */
static inline struct timeline_walk timeline_walk_from(const struct class_timeline *timeline,
                                                      int64_t time_ns, size_t hint)
{
    size_t at = class_timeline_at(timeline, time_ns, hint);

    return (struct timeline_walk){timeline, at, timeline_mask_at(timeline, at),
                                  timeline_next_ns(timeline, at)};
}

/* Over the next change, if it is at `time_ns`. */
static inline void timeline_walk_to(struct timeline_walk *walk, int64_t time_ns)
{
    if (walk->next_ns > time_ns || walk->next_ns == INT64_MAX)
        return;
    walk->at++; /* from SIZE_MAX to the first */
    walk->mask = timeline_mask(walk->timeline, walk->at);
    walk->next_ns = timeline_next_ns(walk->timeline, walk->at);
}

/* The hint for another walk from there on. */
static inline size_t timeline_walk_cursor(const struct timeline_walk *walk)
{
    return walk->at == SIZE_MAX ? 0 : walk->at;
}

enum { FREE_TIME_CHANGES = 16 };

/* Zeroed is empty. */
struct free_time {
    const struct class_timeline *timeline;
    uint32_t classes;   /* those that must not run, as a mask of the timeline's bits */
    int64_t *before_ns; /* of every FREE_TIME_CHANGES-th change: free time from the first to it */
    size_t hint;        /* where the last question was answered */
};

/* Keeps `timeline`, which must not change any more. */
void free_time_init(struct free_time *time, const struct class_timeline *timeline,
                    uint32_t classes);
void free_time_clear(struct free_time *time);

/* In [start_ns, end_ns). Cheap for questions in order of time. */
int64_t free_time_between(struct free_time *time, int64_t start_ns, int64_t end_ns);

#endif
