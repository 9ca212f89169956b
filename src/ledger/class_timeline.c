/* What runs when, and when certain classes of work do not run: built in one pass over events sorted
 * by start, without sorting their ends. */
#include "ledger/class_timeline.h"

#include "base/core/array.h"
#include "base/core/invariant.h"
#include "base/core/large_array.h"
#include "base/core/search.h"

#include <stdlib.h>

/* What runs when: built in one pass over events sorted by start, without sorting their ends.
 *
 * Of each class only the latest end of what is open is kept: the class is open until then, however
 * many events overlap. Before an event that starts at t is added, classes that end by t are closed
 * in the order of their ends, each with a change of the mask. There are 32 classes at most, so
 * closing takes a walk over the open bits, and no heap.
 *
 * What holds: changes are sorted by time, no two of one time, no two next to each other with the
 * same mask. O(events + changes * classes that are open); finding a moment O(log changes), or near
 * the hint O(log of the distance). */

static void append_change(struct class_timeline *timeline, int64_t start_ns, uint32_t mask)
{
    if (timeline->count) {
        struct timeline_change *last = &timeline->changes[timeline->count - 1];

        /* Two changes at one moment are one: only the mask that holds after it is seen, and
         * where that is the mask before it, there was no change at all. */
        if (last->start_ns == start_ns) {
            last->mask = mask;
            if (timeline->count > 1 && last[-1].mask == mask)
                timeline->count--;
            return;
        }
        if (last->mask == mask)
            return;
    }
    LARGE_ARRAY_ADD(timeline->changes, timeline->count,
                    (struct timeline_change){.start_ns = start_ns, .mask = mask});
}

/* Closes the classes whose last event ends at or before `time_ns`, in the order of their ends. */
static void close_until(struct class_timeline *timeline, int64_t time_ns)
{
    if (time_ns < timeline->first_end_ns)
        return;
    while (timeline->open_mask) {
        int64_t first_end_ns = INT64_MAX;

        for (uint32_t left = timeline->open_mask; left; left &= left - 1) {
            int64_t end_ns = timeline->open_until_ns[__builtin_ctz(left)];

            if (end_ns < first_end_ns)
                first_end_ns = end_ns;
        }
        timeline->first_end_ns = first_end_ns;
        if (first_end_ns > time_ns)
            return;
        for (uint32_t left = timeline->open_mask; left; left &= left - 1) {
            /* All that end at one moment are closed by one change. */
            if (timeline->open_until_ns[__builtin_ctz(left)] == first_end_ns)
                timeline->open_mask &= ~(left & (~left + 1));
        }
        append_change(timeline, first_end_ns, timeline->open_mask);
    }
}

void class_timeline_add(struct class_timeline *timeline, unsigned class_number, int64_t start_ns,
                        int64_t end_ns)
{
    uint32_t bit = (uint32_t)1 << class_number;

    /* An event without a duration opens nothing; closing it before it opens would break the
     * order of changes. */
    if (end_ns <= start_ns)
        return;
    close_until(timeline, start_ns);
    if (timeline->open_mask & bit) {
        if (end_ns > timeline->open_until_ns[class_number])
            timeline->open_until_ns[class_number] = end_ns;
        return;
    }
    if (!timeline->open_mask || end_ns < timeline->first_end_ns)
        timeline->first_end_ns = end_ns;
    timeline->open_until_ns[class_number] = end_ns;
    timeline->open_mask |= bit;
    append_change(timeline, start_ns, timeline->open_mask);
}

void class_timeline_finish(struct class_timeline *timeline)
{
    close_until(timeline, INT64_MAX);
}

void class_timeline_clear(struct class_timeline *timeline)
{
    large_array_free(timeline->changes);
    *timeline = (struct class_timeline){0};
}

size_t class_timeline_at(const struct class_timeline *timeline, int64_t time_ns, size_t hint)
{
    const struct timeline_change *changes = timeline->changes;
    size_t low = 0;
    size_t high = timeline->count;

    if (!timeline->count || changes[0].start_ns > time_ns)
        return SIZE_MAX;
    if (hint < timeline->count && changes[hint].start_ns <= time_ns) {
        /* Galloping: whoever walks over the steps asks for moments that are near each other, so
         * the doubling steps end after a few, where a search of all changes would miss the cache
         * a dozen times. */
        size_t step = 1;

        low = hint;
        while (low + step < timeline->count && changes[low + step].start_ns <= time_ns) {
            low += step;
            step *= 2;
        }
        high = low + step < timeline->count ? low + step : timeline->count;
    }
    return LOWER_BOUND(i, low + 1, high, changes[i].start_ns <= time_ns) - 1;
}

/* Prefix sums over the changes: the time of any range is then two searches and a difference,
 * where each collective of each step asks for ranges of its own. O(changes) once, 8 bytes a
 * change. */
void free_time_init(struct free_time *time, const struct class_timeline *timeline, uint32_t classes)
{
    *time = (struct free_time){.timeline = timeline, .classes = classes};
    time->before_ns = large_array_new((timeline->count + 1) * sizeof *time->before_ns);
    for (size_t i = 1; i < timeline->count; i++) {
        const struct timeline_change *from = &timeline->changes[i - 1];

        time->before_ns[i] = time->before_ns[i - 1];
        if (!(from->mask & classes))
            time->before_ns[i] += timeline->changes[i].start_ns - from->start_ns;
    }
}

void free_time_clear(struct free_time *time)
{
    large_array_free(time->before_ns);
    *time = (struct free_time){0};
}

/* From the first change to `time_ns`; before the first change nothing runs: then below 0. */
static int64_t free_until(struct free_time *time, int64_t time_ns)
{
    const struct class_timeline *timeline = time->timeline;
    size_t at = class_timeline_at(timeline, time_ns, time->hint);

    if (at == SIZE_MAX)
        return timeline->count ? time_ns - timeline->changes[0].start_ns : time_ns;
    time->hint = at;
    if (timeline->changes[at].mask & time->classes)
        return time->before_ns[at];
    return time->before_ns[at] + time_ns - timeline->changes[at].start_ns;
}

int64_t free_time_between(struct free_time *time, int64_t start_ns, int64_t end_ns)
{
    int64_t before_ns = free_until(time, start_ns);
    size_t hint = time->hint;
    int64_t free_ns = free_until(time, end_ns) - before_ns;

    /* The end of one range lies far ahead of the next one's start where ranges overlap; the
     * start moves steadily, so it is the better hint. */
    time->hint = hint;
    return free_ns;
}
