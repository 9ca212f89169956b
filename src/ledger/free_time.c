/* Time in which certain classes of work do not run: sums along the timeline. */
#include "ledger/free_time.h"

#include "base/core/invariant.h"
#include "base/core/large_array.h"

#include <stdlib.h>

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
