/* When host threads were inside events of a kind. */
#include "replay/marked_time.h"

#include "base/core/invariant.h"
#include "base/core/search.h"

#include <stdbool.h>
#include <stdlib.h>

void find_marked_time(struct marked_time *time, const struct trace *trace, const uint8_t *is_marked)
{
    size_t count = 0;

    for (uint32_t i = 0; is_marked && i < trace->host_count; i++)
        count += is_marked[i];
    time->intervals = require_memory(calloc(count + 1, sizeof *time->intervals));
    for (uint32_t i = 0; is_marked && i < trace->host_count; i++) {
        const struct event *event = &trace->host[i];
        struct marked_interval *last = time->count ? &time->intervals[time->count - 1] : NULL;

        if (!is_marked[i])
            continue;
        if (last && last->track == event->track && event->start_ns <= last->end_ns) {
            if (event_end_ns(event) > last->end_ns)
                last->end_ns = event_end_ns(event);
            continue;
        }
        time->intervals[time->count++] =
            (struct marked_interval){event->track, event->start_ns, event_end_ns(event)};
    }
}

/* The first stretch that ends after `time_ns` on the track, or lies behind it. */
static size_t first_after(const struct marked_time *time, uint32_t track, int64_t time_ns)
{
    const struct marked_interval *intervals = time->intervals;

    return LOWER_BOUND(i, 0, time->count,
                       intervals[i].track != track ? intervals[i].track < track
                                                   : intervals[i].end_ns <= time_ns);
}

int64_t marked_ns(const struct marked_time *time, uint32_t track, const int64_t range_ns[2])
{
    int64_t sum_ns = 0;

    for (size_t i = first_after(time, track, range_ns[0]); i < time->count; i++) {
        const struct marked_interval *interval = &time->intervals[i];
        int64_t start_ns = interval->start_ns > range_ns[0] ? interval->start_ns : range_ns[0];
        int64_t end_ns = interval->end_ns < range_ns[1] ? interval->end_ns : range_ns[1];

        if (interval->track != track || interval->start_ns >= range_ns[1])
            break;
        sum_ns += end_ns - start_ns;
    }
    return sum_ns;
}

void marked_time_clear(struct marked_time *time)
{
    free(time->intervals);
    *time = (struct marked_time){0};
}
