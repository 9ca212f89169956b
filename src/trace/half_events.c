/* Phases B and E become timed events. */
#include "base/core/invariant.h"
#include "trace/trace_finish_parts.h"

#include <stdlib.h>
#include <string.h>

static int half_events_compare_numbers(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

/* By track and time; at one time first the ends of what began before, then the begins, then the
 * other ends: so an event of no length is found, and one event may follow the other at once. */
static int compare_halves(const void *a, const void *b, void *argument)
{
    const struct trace_builder *builder = argument;
    const struct half_event *left = a;
    const struct half_event *right = b;
    int order;

    if (left->event.track != right->event.track)
        return left->event.track < right->event.track ? -1 : 1;
    if (left->event.start_ns != right->event.start_ns)
        return left->event.start_ns < right->event.start_ns ? -1 : 1;
    if (left->is_begin != right->is_begin)
        return left->is_begin ? 1 : -1;
    order = strcmp(string_pool_text(&builder->strings, left->event.name),
                   string_pool_text(&builder->strings, right->event.name));
    if (!order)
        order = half_events_compare_numbers(left->event.kind, right->event.kind);
    if (!order)
        order = half_events_compare_numbers(left->event.correlation, right->event.correlation);
    return order ? order
                 : half_events_compare_numbers(left->event.external_id, right->event.external_id);
}

/* An end looks no deeper than this for the begin of its name: no program nests deeper, and time
 * stays linear. */
enum { NESTING_MAX = 1024 };

struct matcher {
    struct trace_builder *builder;
    uint32_t *open; /* indices of begins, the innermost last */
    uint32_t depth;
    uint32_t *waiting; /* ends at the time of now that found no earlier begin */
    uint32_t waiting_count;
};

/* Closes the begin that `end` belongs to; false where none is open. By name from the innermost
 * outwards, as ends may come out of order (coroutines); an end without a name closes the
 * innermost. */
static bool close_begin(struct matcher *matcher, const struct half_event *end)
{
    const struct half_event *halves = matcher->builder->halves;
    uint32_t place = matcher->depth;
    uint32_t lowest = place > NESTING_MAX ? place - NESTING_MAX : 0;
    struct found_event event;

    if (!matcher->depth)
        return false;
    while (place > lowest && end->event.name &&
           halves[matcher->open[place - 1]].event.name != end->event.name)
        place--;
    if (place == lowest && end->event.name)
        return false;
    place--;
    event = halves[matcher->open[place]].event;
    event.duration_ns = end->event.start_ns - event.start_ns;
    if (!event.detail)
        event.detail = end->event.detail;
    memmove(matcher->open + place, matcher->open + place + 1,
            (matcher->depth - place - 1) * sizeof *matcher->open);
    matcher->depth--;
    trace_builder_add(matcher->builder, &event);
    return true;
}

/* The ends that came before the begins of the same time. */
static void close_waiting(struct matcher *matcher)
{
    for (uint32_t i = 0; i < matcher->waiting_count; i++) {
        if (!close_begin(matcher, &matcher->builder->halves[matcher->waiting[i]]))
            matcher->builder->read.unmatched_ends++;
    }
    matcher->waiting_count = 0;
}

/* O(n log n) for the sort; an end looks at NESTING_MAX begins at most. What finds no partner
 * is counted. */
void half_events_match(struct trace_builder *builder)
{
    uint32_t count = builder->half_count;
    struct matcher matcher = {.builder = builder};

    if (!count)
        return;
    matcher.open = require_memory(calloc(count, sizeof *matcher.open));
    matcher.waiting = require_memory(calloc(count, sizeof *matcher.waiting));
    qsort_r(builder->halves, count, sizeof *builder->halves, compare_halves, builder);
    for (uint32_t i = 0; i < count; i++) {
        const struct half_event *half = &builder->halves[i];
        const struct half_event *before = i ? half - 1 : half;

        if (half->event.track != before->event.track ||
            half->event.start_ns != before->event.start_ns)
            close_waiting(&matcher);
        if (half->event.track != before->event.track) {
            builder->read.unmatched_begins += matcher.depth;
            matcher.depth = 0;
        }
        /* An end that finds no begin waits for those of the same moment, which may stand
         * behind it in the file. */
        if (half->is_begin)
            matcher.open[matcher.depth++] = i;
        else if (!close_begin(&matcher, half))
            matcher.waiting[matcher.waiting_count++] = i;
    }
    close_waiting(&matcher);
    builder->read.unmatched_begins += matcher.depth;
    free(matcher.open);
    free(matcher.waiting);
}
