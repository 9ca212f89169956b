/* What a host thread was in during certain stretches of time, event by event. */
#include "critical_path/host_intervals.h"

#include "base/core/array.h"

#include <stdlib.h>

/* An event that is open, and what it makes of its time. */
struct open_event {
    int64_t end_ns;
    uint32_t event; /* that the class is of: itself, or one around it */
    enum host_class class;
    size_t owner;   /* the place in `open` of `event` */
    bool has_parts; /* of `event`, where it is its own */
};

/* One thread while its events go by in the order of their starts. */
struct splitting {
    const struct host_intervals *intervals;
    size_t first;            /* those before have ended */
    int64_t next_ns[2];      /* from when to when it is */
    int64_t reached_ns;      /* all before is given out */
    struct open_event *open; /* [depth] */
    size_t depth;
    size_t capacity;
    const struct host_part_visitor *visitor;
};

static const struct path_piece *piece_at(const struct host_intervals *intervals, size_t at)
{
    return &intervals->pieces[intervals->chosen[at]];
}

/* The first stretch that ends after `time_ns` is the next one. */
static void pass_intervals(struct splitting *splitting, int64_t time_ns)
{
    const struct host_intervals *all = splitting->intervals;

    while (splitting->first < all->count && splitting->next_ns[1] <= time_ns)
        if (++splitting->first < all->count) {
            splitting->next_ns[0] = all->base_ns + piece_at(all, splitting->first)->start_ns;
            splitting->next_ns[1] = all->base_ns + piece_at(all, splitting->first)->end_ns;
        }
}

static void give_out(struct splitting *splitting, struct open_event *open, int64_t until_ns)
{
    int64_t from_ns = splitting->reached_ns;

    if (until_ns <= from_ns)
        return;
    splitting->reached_ns = until_ns;
    for (pass_intervals(splitting, from_ns);
         splitting->first < splitting->intervals->count && splitting->next_ns[0] < until_ns;
         pass_intervals(splitting, from_ns)) {
        int64_t end_ns = until_ns < splitting->next_ns[1] ? until_ns : splitting->next_ns[1];

        splitting->visitor->visit(
            splitting->visitor->context,
            &(struct host_part){.start_ns = from_ns > splitting->next_ns[0] ? from_ns
                                                                            : splitting->next_ns[0],
                                .end_ns = end_ns,
                                .piece = splitting->intervals->chosen[splitting->first],
                                .event = open ? open->event : NO_EVENT,
                                .class = open ? open->class : HOST_NOTHING,
                                .is_first = !open || !open->has_parts});
        if (open)
            open->has_parts = true;
        from_ns = end_ns;
        if (end_ns == until_ns)
            break;
    }
}

/* All time up to `until_ns` goes to the events open, closing those that end on the way. */
static void go_on(struct splitting *splitting, int64_t until_ns)
{
    while (splitting->depth > 0) {
        const struct open_event *top = &splitting->open[splitting->depth - 1];
        int64_t end_ns = top->end_ns;

        give_out(splitting, &splitting->open[top->owner], end_ns < until_ns ? end_ns : until_ns);
        if (end_ns > until_ns)
            return;
        splitting->depth--;
    }
    give_out(splitting, NULL, until_ns);
}

static void open_event(struct splitting *splitting, struct host_activity *activity, uint32_t index)
{
    const struct event *event = &activity->trace->host[index];
    enum host_class class = host_activity_class(activity, event);
    struct open_event opened = {
        .end_ns = event_end_ns(event), .event = index, .class = class, .owner = splitting->depth};

    if (class == HOST_NOTHING)
        return;
    if (splitting->depth > 0 && splitting->open[splitting->depth - 1].class < class) {
        opened.class = splitting->open[splitting->depth - 1].class;
        opened.owner = splitting->open[splitting->depth - 1].owner;
    }
    ARRAY_RESERVE(splitting->open, splitting->capacity, splitting->depth + 1);
    splitting->open[splitting->depth++] = opened;
}

void split_host_intervals(struct host_activity *activity, const struct host_intervals *intervals,
                          const struct host_part_visitor *visitor)
{
    const struct trace *trace = activity->trace;
    const struct track *thread = &trace->tracks[intervals->track];
    struct splitting splitting = {.intervals = intervals, .visitor = visitor};

    if (intervals->count == 0)
        return;
    splitting.next_ns[0] = intervals->base_ns + piece_at(intervals, 0)->start_ns;
    splitting.next_ns[1] = intervals->base_ns + piece_at(intervals, 0)->end_ns;
    splitting.reached_ns = splitting.next_ns[0];
    for (uint32_t i = 0; i < thread->event_count && splitting.first < intervals->count; i++) {
        uint32_t index = thread->first_event + i;
        const struct event *event = &trace->host[index];

        if (event->start_ns > splitting.reached_ns)
            go_on(&splitting, event->start_ns);
        if (splitting.first < intervals->count && event_end_ns(event) > splitting.next_ns[0])
            open_event(&splitting, activity, index);
    }
    go_on(&splitting, intervals->base_ns + piece_at(intervals, intervals->count - 1)->end_ns);
    free(splitting.open);
}
