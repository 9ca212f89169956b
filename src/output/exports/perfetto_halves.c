/* Begins and ends of a trace's events. */
#include "base/core/array.h"
#include "base/core/large_array.h"
#include "base/core/large_sort.h"
#include "output/exports/perfetto_parts.h"

#include <stdlib.h>

/* The events that are open on a lane, the outermost first. */
struct open_lane {
    const struct event **events;
    size_t depth;
    size_t room;
    uint32_t lane;
};

struct laying {
    struct perfetto_halves *halves;
    struct open_lane *open; /* [open_count]: of the track that is laid out */
    uint32_t open_count;
};

static void lay_half(struct laying *laying, const struct event *event, uint32_t lane, bool is_end)
{
    LARGE_ARRAY_ADD(laying->halves->halves, laying->halves->count,
                    (struct packet_half){is_end ? event_end_ns(event) : event->start_ns, event,
                                         lane, is_end, laying->halves->count});
}

/* Ends what ends at the time or before. The innermost first, as a stack ends; of events that end
 * together, too. */
static void close_slices_until(struct laying *laying, struct open_lane *lane, int64_t time_ns)
{
    while (lane->depth > 0 && event_end_ns(lane->events[lane->depth - 1]) <= time_ns)
        lay_half(laying, lane->events[--lane->depth], lane->lane, true);
}

/* The first lane of the track in which the event nests. Perfetto's slices of a track must nest,
 * and events of a stream may overlap (graphs, copies of two engines). First fit: the first lane
 * in which the event ends no later than the one it lies in; a new one where there is none. Every
 * lane is closed up to the event's start first, so that its innermost open event is one that
 * reaches beyond that. */
static struct open_lane *lane_for(struct laying *laying, uint32_t track, const struct event *event)
{
    for (uint32_t i = 0; i < laying->open_count; i++) {
        struct open_lane *lane = &laying->open[i];

        close_slices_until(laying, lane, event->start_ns);
        if (lane->depth == 0 || event_end_ns(event) <= event_end_ns(lane->events[lane->depth - 1]))
            return lane;
    }
    ARRAY_ADD(laying->open, laying->open_count,
              (struct open_lane){.lane = laying->halves->lane_count});
    ARRAY_ADD(laying->halves->lanes, laying->halves->lane_count, track);
    return &laying->open[laying->open_count - 1];
}

/* Events by start, the longest first of those that start together. Ends are laid when something
 * after them comes, so that halves are not in order of time over lanes: they are sorted at the
 * end. */
static void lay_track(struct laying *laying, uint32_t track, const struct event *const *events,
                      size_t count)
{
    laying->open_count = 0;
    for (size_t i = 0; i < count; i++) {
        struct open_lane *lane = lane_for(laying, track, events[i]);

        ARRAY_RESERVE(lane->events, lane->room, lane->depth + 1);
        lane->events[lane->depth++] = events[i];
        lay_half(laying, events[i], lane->lane, false);
    }
    for (uint32_t i = 0; i < laying->open_count; i++) {
        close_slices_until(laying, &laying->open[i], INT64_MAX);
        free(laying->open[i].events);
    }
    free(laying->open);
    laying->open = NULL;
    laying->open_count = 0;
}

/* The longest of those that start together is the outer one; the place in memory makes it
 * total. */
static int nesting_order(const void *left, const void *right)
{
    const struct event *a = *(const struct event *const *)left;
    const struct event *b = *(const struct event *const *)right;

    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    if (a->duration_ns != b->duration_ns)
        return a->duration_ns > b->duration_ns ? -1 : 1;
    return (a > b) - (a < b);
}

/* By time, then in the order of laying: an end before a begin at the same moment, where the
 * first slice is over, and the outer begin before the inner. */
static int half_order(const void *left, const void *right, void *nothing)
{
    const struct packet_half *a = left;
    const struct packet_half *b = right;

    (void)nothing;
    if (a->time_ns != b->time_ns)
        return a->time_ns < b->time_ns ? -1 : 1;
    return (a->order > b->order) - (a->order < b->order);
}

/* Device events of each track, one track behind the other: first[track] is where they begin. A
 * counting sort: count, sum, place. It keeps the order within a track, and is linear. */
static const struct event **device_events_by_track(const struct trace *trace, size_t *first)
{
    size_t total = (size_t)trace->device_count + trace->device_note_count;
    const struct event **events = large_array_new((total + 1) * sizeof *events);
    size_t *next = require_memory(calloc((size_t)trace->track_count + 1, sizeof *next));
    size_t at = 0;

    for (uint32_t i = 0; i < trace->device_count; i++)
        next[trace->device[i].track]++;
    for (uint32_t i = 0; i < trace->device_note_count; i++)
        next[trace->device_notes[i].track]++;
    for (uint32_t t = 0; t < trace->track_count; t++) {
        first[t] = at;
        at += next[t];
        next[t] = first[t];
    }
    first[trace->track_count] = at;
    for (uint32_t i = 0; i < trace->device_count; i++)
        events[next[trace->device[i].track]++] = &trace->device[i];
    for (uint32_t i = 0; i < trace->device_note_count; i++)
        events[next[trace->device_notes[i].track]++] = &trace->device_notes[i];
    free(next);
    return events;
}

/* Events of the host lie in the trace by track and nest already, in the order that lay_track
 * needs. */
static void lay_host(struct laying *laying, const struct trace *trace, uint32_t index)
{
    const struct track *track = &trace->tracks[index];
    const struct event **events =
        require_memory(malloc(((size_t)track->event_count + 1) * sizeof(const struct event *)));

    for (uint32_t i = 0; i < track->event_count; i++)
        events[i] = &trace->host[track->first_event + i];
    lay_track(laying, index, events, track->event_count);
    free(events);
}

/* Perfetto's end closes the innermost open slice of its track, so that each track is laid as
 * it nests before all halves are sorted by time. */
void find_perfetto_halves(struct perfetto_halves *halves, const struct trace *trace)
{
    struct laying laying = {.halves = halves};
    size_t *first = require_memory(calloc((size_t)trace->track_count + 1, sizeof *first));
    const struct event **device = device_events_by_track(trace, first);

    for (uint32_t t = 0; t < trace->track_count; t++) {
        if (trace->tracks[t].is_captured)
            continue;
        if (!trace->tracks[t].is_device)
            lay_host(&laying, trace, t);
        if (first[t + 1] > first[t]) {
            qsort(device + first[t], first[t + 1] - first[t], sizeof *device, nesting_order);
            lay_track(&laying, t, device + first[t], first[t + 1] - first[t]);
        }
    }
    large_array_free(device);
    free(first);
    sort_large(
        halves->halves, halves->count,
        &(struct large_order){.element_bytes = sizeof *halves->halves, .compare = half_order});
}

void perfetto_halves_clear(struct perfetto_halves *halves)
{
    if (!halves)
        return;
    large_array_free(halves->halves);
    free(halves->lanes);
    *halves = (struct perfetto_halves){0};
}
