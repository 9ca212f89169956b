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

/* What the times of a timeline count from whose masks are apart. */
static const int64_t earliest_ns = INT64_MIN;

/* Times and masks no longer fit into one word: from here on each has its own. */
static void part_masks(struct class_timeline *timeline)
{
    uint32_t *masks = NULL;

    LARGE_ARRAY_RESERVE(masks, timeline->capacity);
    for (size_t i = 0; i < timeline->count; i++) {
        masks[i] = timeline_mask(timeline, i);
        timeline->changes[i] = (uint64_t)timeline_start_ns(timeline, i) - (uint64_t)earliest_ns;
    }
    timeline->masks = masks;
    timeline->origin_ns = earliest_ns;
    timeline->shift = 0;
}

static void set_change(struct class_timeline *timeline, size_t i, int64_t start_ns, uint32_t mask)
{
    uint64_t since_ns = (uint64_t)start_ns - (uint64_t)timeline->origin_ns;

    if (i == timeline->capacity) {
        LARGE_ARRAY_RESERVE(timeline->changes, i + 1);
        timeline->capacity = large_array_bytes(timeline->changes) / sizeof *timeline->changes;
        if (timeline->masks)
            LARGE_ARRAY_RESERVE(timeline->masks, timeline->capacity);
    }
    if (!timeline->masks && since_ns >> (64 - TIMELINE_CLASSES_MAX)) {
        part_masks(timeline);
        since_ns = (uint64_t)start_ns - (uint64_t)timeline->origin_ns;
    }
    if (timeline->masks) {
        timeline->changes[i] = since_ns;
        timeline->masks[i] = mask;
    } else {
        timeline->changes[i] = since_ns << TIMELINE_CLASSES_MAX | mask;
    }
    timeline->last_ns = start_ns;
    timeline->last_mask = mask;
}

static void append_change(struct class_timeline *timeline, int64_t start_ns, uint32_t mask)
{
    /* Two changes at one moment are one: only the mask that holds after it is seen, and where that
     * is the mask before it, there was no change at all. */
    if (timeline->count > 0 && timeline->last_ns == start_ns && --timeline->count > 0) {
        timeline->last_ns = timeline_start_ns(timeline, timeline->count - 1);
        timeline->last_mask = timeline_mask(timeline, timeline->count - 1);
    }
    if (timeline->count > 0 && timeline->last_mask == mask)
        return;
    if (timeline->count == 0) {
        timeline->origin_ns = start_ns;
        timeline->shift = TIMELINE_CLASSES_MAX;
    }
    set_change(timeline, timeline->count, start_ns, mask);
    timeline->count++;
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
    large_array_free(timeline->masks);
    *timeline = (struct class_timeline){0};
}

/* The largest word of a change at or before `time_ns`, which is not before the first. */
static uint64_t word_of_time(const struct class_timeline *timeline, int64_t time_ns)
{
    uint64_t since_ns = (uint64_t)time_ns - (uint64_t)timeline->origin_ns;

    if (since_ns >= UINT64_MAX >> timeline->shift)
        return UINT64_MAX;
    return ((since_ns + 1) << timeline->shift) - 1;
}

size_t class_timeline_at(const struct class_timeline *timeline, int64_t time_ns, size_t hint)
{
    const uint64_t *changes = timeline->changes;
    size_t low = 0;
    size_t high = timeline->count;
    uint64_t word;

    if (!timeline->count || timeline_start_ns(timeline, 0) > time_ns)
        return SIZE_MAX;
    word = word_of_time(timeline, time_ns);
    if (hint < timeline->count && changes[hint] <= word) {
        /* Galloping: whoever walks over the steps asks for moments that are near each other, so
         * the doubling steps end after a few, where a search of all changes would miss the cache
         * a dozen times. */
        size_t step = 1;

        low = hint;
        while (low + step < timeline->count && changes[low + step] <= word) {
            low += step;
            step *= 2;
        }
        high = low + step < timeline->count ? low + step : timeline->count;
    }
    return LOWER_BOUND(i, low + 1, high, changes[i] <= word) - 1;
}

/* How long changes `from` to `to` are free in all, up to the start of `to`. */
static int64_t free_in_changes(const struct free_time *time, size_t from, size_t to)
{
    int64_t start_ns = timeline_start_ns(time->timeline, from);
    int64_t sum_ns = 0;

    for (size_t i = from; i < to; i++) {
        int64_t end_ns = timeline_start_ns(time->timeline, i + 1);

        if (!(timeline_mask(time->timeline, i) & time->classes))
            sum_ns += end_ns - start_ns;
        start_ns = end_ns;
    }
    return sum_ns;
}

/* Sums over the changes: the time of any range is then two searches, a few changes and a
 * difference, where each collective of each step asks for ranges of its own. O(changes) once, half
 * a byte a change. */
void free_time_init(struct free_time *time, const struct class_timeline *timeline, uint32_t classes)
{
    size_t sums = timeline->count / FREE_TIME_CHANGES + 1;

    *time = (struct free_time){.timeline = timeline, .classes = classes};
    time->before_ns = large_array_new(sums * sizeof *time->before_ns);
    for (size_t i = 1; i * FREE_TIME_CHANGES < timeline->count; i++)
        time->before_ns[i] =
            time->before_ns[i - 1] +
            free_in_changes(time, (i - 1) * FREE_TIME_CHANGES, i * FREE_TIME_CHANGES);
}

void free_time_clear(struct free_time *time)
{
    large_array_free(time->before_ns);
    *time = (struct free_time){0};
}

/* From the first change to change `at`. */
static int64_t free_before(const struct free_time *time, size_t at)
{
    return time->before_ns[at / FREE_TIME_CHANGES] +
           free_in_changes(time, at - at % FREE_TIME_CHANGES, at);
}

/* From the first change to `time_ns`; before the first change nothing runs: then below 0. */
static int64_t free_until(struct free_time *time, int64_t time_ns)
{
    const struct class_timeline *timeline = time->timeline;
    size_t at = class_timeline_at(timeline, time_ns, time->hint);

    if (at == SIZE_MAX)
        return timeline->count ? time_ns - timeline_start_ns(timeline, 0) : time_ns;
    time->hint = at;
    if (timeline_mask(timeline, at) & time->classes)
        return free_before(time, at);
    return free_before(time, at) + time_ns - timeline_start_ns(timeline, at);
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
