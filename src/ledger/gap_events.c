/* Which event of the host explains a gap: of the events that make its main account, the one that
 * was innermost for the longest part of it. */
#include "ledger/gap_events.h"

#include "base/core/invariant.h"
#include "ledger/idle_gap.h"

#include <stdbool.h>
#include <stdlib.h>

/* One gap while the events of its thread go by, in the order of their starts: those open now, as a
 * stack. */
struct watched_gap {
    struct idle_gap *gap;
    int64_t until_ns; /* the launch, or the end of the gap: what the host's events explain ends here
                       */
    uint32_t open[64];
    unsigned depth;
    int64_t reached_ns; /* all before is credited */
    int64_t best_ns;
};

/* Credits the time up to `until_ns` to the innermost event open, closing those that end on the way.
 */
static void credit(struct watched_gap *watched, const struct event *events, int64_t until_ns)
{
    while (watched->depth) {
        uint32_t top = watched->open[watched->depth - 1];
        int64_t end_ns = event_end_ns(&events[top]);
        int64_t stop_ns = end_ns < until_ns ? end_ns : until_ns;

        if (stop_ns - watched->reached_ns > watched->best_ns) {
            watched->best_ns = stop_ns - watched->reached_ns;
            watched->gap->host_event = top;
        }
        if (stop_ns > watched->reached_ns)
            watched->reached_ns = stop_ns;
        if (end_ns > until_ns)
            break;
        watched->depth--;
    }
    if (until_ns > watched->reached_ns)
        watched->reached_ns = until_ns;
}

static int64_t host_part_end_ns(const struct trace *trace, const struct idle_gap *gap)
{
    if (gap->launch != NO_EVENT && trace->host[gap->launch].start_ns < gap->end_ns)
        return trace->host[gap->launch].start_ns;
    return gap->end_ns;
}

static int gap_events_compare_gaps(const void *left, const void *right)
{
    const struct watched_gap *a = left;
    const struct watched_gap *b = right;

    if (a->gap->thread != b->gap->thread)
        return a->gap->thread < b->gap->thread ? -1 : 1;
    return (a->gap->start_ns > b->gap->start_ns) - (a->gap->start_ns < b->gap->start_ns);
}

/* What else was recorded on the thread explains no account, but it tells what the host was in where
 * nothing closer is known. */
static bool has_more(const struct event *event, enum account account)
{
    return event->kind == EVENT_HOST_OTHER &&
           (account == ACCOUNT_IDLE_NOTHING || account == ACCOUNT_IDLE_ANNOTATION ||
            account == ACCOUNT_IDLE_PYTHON);
}

static void show_event(struct host_activity *activity, struct watched_gap *watched, uint32_t index)
{
    const struct event *events = activity->trace->host;
    const struct event *event = &events[index];
    enum host_class class;

    if (event_end_ns(event) <= watched->gap->start_ns || event->start_ns >= watched->until_ns)
        return;
    class = host_activity_class(activity, event);
    if ((class == HOST_NOTHING || account_of_host_class(class) != watched->gap->main_account) &&
        !has_more(event, watched->gap->main_account))
        return;
    if (event->start_ns > watched->gap->start_ns)
        credit(watched, events, event->start_ns);
    if (watched->depth < sizeof(watched->open) / sizeof(watched->open[0]))
        watched->open[watched->depth++] = index;
}

/* `watched`: the gaps of one thread, in order; they do not overlap. */
static void watch_thread(struct host_activity *activity, struct watched_gap *watched, size_t count)
{
    const struct trace *trace = activity->trace;
    const struct track *track = &trace->tracks[watched[0].gap->thread];
    size_t first = 0;

    for (uint32_t i = 0; i < track->event_count && first < count; i++) {
        const struct event *event = &trace->host[track->first_event + i];
        int64_t end_ns = event_end_ns(event);

        while (first < count && watched[first].until_ns <= event->start_ns)
            first++;
        for (size_t at = first; at < count && watched[at].gap->start_ns < end_ns; at++)
            show_event(activity, &watched[at], track->first_event + i);
    }
    for (size_t at = 0; at < count; at++)
        credit(&watched[at], trace->host, watched[at].until_ns);
}

void find_gap_events(struct host_activity *activity, struct idle_gap *gaps, uint32_t count)
{
    struct watched_gap *watched = require_memory(calloc((size_t)count + 1, sizeof(*watched)));
    size_t kept = 0;

    for (uint32_t i = 0; i < count; i++) {
        gaps[i].host_event = NO_EVENT;
        if (gaps[i].thread != NO_EVENT)
            watched[kept++] = (struct watched_gap){
                .gap = &gaps[i],
                .until_ns = host_part_end_ns(activity->trace, &gaps[i]),
                .reached_ns = gaps[i].start_ns,
            };
    }
    qsort(watched, kept, sizeof(*watched), gap_events_compare_gaps);
    for (size_t from = 0, to; from < kept; from = to) {
        for (to = from + 1; to < kept && watched[to].gap->thread == watched[from].gap->thread;)
            to++;
        watch_thread(activity, &watched[from], to - from);
    }
    free(watched);
}
