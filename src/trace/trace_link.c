/* Joins kernels with the calls that launched them, and with the operators that did.
 *
 * A launch carries a correlation id, and so does the work that it puts on the device. Ids mostly
 * count up, so the calls are indexed by id in an array, and by a hash table where ids lie far
 * apart. The operator is the innermost one that is open when the call is made: the events of a
 * thread nest and are sorted by start, so one walk with a stack of the open ones finds it for all
 * calls of the thread. Work whose call lies in no operator is given the one that its external id
 * names.
 *
 * What holds: the result does not depend on the order of the file, since of several calls with one
 * id the earliest, longest, first one counts; work without a call is counted by its reason, never
 * dropped. O(events), two threads at most. */
#include "base/core/array.h"
#include "base/core/hash_map.h"
#include "base/core/large_array.h"
#include "base/core/worker_threads.h"
#include "trace/trace_finish_parts.h"

#include <stdlib.h>

/* From an id to the index of a host event; several with one id: the one that starts first, then the
 * longest, then the first in the order of the trace, so that it does not matter how the file is
 * ordered. */
struct id_index {
    const struct event *host;
    int64_t first_id;
    int64_t least_number; /* of the ids, as in the file; INT64_MAX: there are none */
    uint32_t *direct;     /* by id - first_id, where ids are dense: [range]; 1 more, 0 is none */
    uint64_t range;
    struct hash_map by_id; /* else */
};

/* Which host events are looked up, and by what. */
struct id_choice {
    enum event_kind kind;
    int32_t (*id)(const struct event *);
};

static int32_t correlation_of(const struct event *event)
{
    return event->correlation;
}

static int32_t external_id_of(const struct event *event)
{
    return event->external_id;
}

/* Of several host events with one number the outermost is meant: it starts first, or of two
 * that start together lasts longer. The place decides last, so that the order of reading does
 * not. */
static bool is_better(const struct event *host, uint32_t candidate, uint32_t holder)
{
    const struct event *a = &host[candidate];
    const struct event *b = &host[holder];

    if (holder == NO_EVENT)
        return true;
    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns;
    if (a->duration_ns != b->duration_ns)
        return a->duration_ns > b->duration_ns;
    return candidate < holder;
}

/* Numbers that lie close together have a table, others a hash map. */
static void index_add(struct id_index *index, int64_t id, uint32_t event)
{
    if (index->direct) {
        uint32_t *place = &index->direct[(uint64_t)id - (uint64_t)index->first_id];

        if (is_better(index->host, event, *place - 1))
            *place = event + 1;
    } else {
        uint32_t known = hash_map_add(&index->by_id, (uint64_t)id, event);

        if (known != event && is_better(index->host, event, known))
            hash_map_set(&index->by_id, (uint64_t)id, event);
    }
}

_Static_assert(NO_VALUE == NO_EVENT && NO_EVENT + 1 == 0, "what no id leads to is no event");

static uint32_t index_find(const struct id_index *index, int64_t id)
{
    if (index->direct) {
        uint64_t place = (uint64_t)id - (uint64_t)index->first_id;

        return place < index->range ? index->direct[place] - 1 : NO_EVENT;
    }
    return hash_map_find(&index->by_id, (uint64_t)id); /* NO_VALUE is NO_EVENT */
}

/* Ids of one process mostly count up; of hashes or two processes they do not. */
static void index_make_room(struct id_index *index, uint32_t count, int64_t last_id)
{
    uint64_t range = (uint64_t)last_id - (uint64_t)index->first_id;

    if (hash_map_is_larger(count, range, sizeof *index->direct)) {
        index->range = range + 1;
        index->direct = large_array_new(index->range * sizeof *index->direct);
        return;
    }
    hash_map_reserve(&index->by_id, count);
}

/* Two passes: the range of ids decides the form. */
static struct id_index index_new(const struct trace *trace, const struct id_choice *choice)
{
    struct id_index index = {.host = trace->host, .first_id = INT64_MAX, .least_number = INT64_MAX};
    int64_t last_id = INT64_MIN;
    uint32_t count = 0;

    for (uint32_t i = 0; i < trace->host_count; i++) {
        int64_t number;
        int32_t id;

        if (trace->host[i].kind != choice->kind || (id = choice->id(&trace->host[i])) == NO_ID)
            continue;
        count++;
        number = event_id_number(&trace->wide_ids, id);
        if (number < index.least_number)
            index.least_number = number;
        if (id < index.first_id)
            index.first_id = id;
        if (id > last_id)
            last_id = id;
    }
    if (!count)
        return index;
    index_make_room(&index, count, last_id);
    for (uint32_t i = 0; i < trace->host_count; i++) {
        int32_t id = choice->id(&trace->host[i]);

        if (trace->host[i].kind == choice->kind && id != NO_ID)
            index_add(&index, id, i);
    }
    return index;
}

static void index_free(struct id_index *index)
{
    large_array_free(index->direct);
    hash_map_clear(&index->by_id);
}

/* By correlation number. What has none is told apart by why: launched before the recording
 * began, a page that was moved, or lost; each has another remedy. */
static void link_launches(struct trace *trace)
{
    const struct id_choice calls = {EVENT_RUNTIME_CALL, correlation_of};
    struct id_index index = index_new(trace, &calls);

    trace->launch = large_array_new(trace->device_count * sizeof *trace->launch);
    for (uint32_t i = 0; i < trace->device_count; i++) {
        const struct event *event = &trace->device[i];
        uint32_t launch =
            event->correlation == NO_ID ? NO_EVENT : index_find(&index, event->correlation);

        trace->launch[i] = launch;
        if (launch == NO_EVENT &&
            is_launched_before(event_id_number(&trace->wide_ids, event->correlation),
                               index.least_number))
            trace->read.earlier_device_events++;
        else if (launch == NO_EVENT && event->kind == EVENT_MEMCPY &&
                 name_is_page_move(trace_text(trace, event->name)))
            trace->read.page_moves++;
        else if (launch == NO_EVENT)
            trace->read.unlinked_device_events++;
        else if (event->start_ns < trace->host[launch].start_ns)
            trace->read.early_device_events++;
    }
    index_free(&index);
}

/* The operators open on a thread, outermost first. */
struct open_operators {
    uint32_t *events;
};

static void push(struct open_operators *open, size_t depth, uint32_t event)
{
    LARGE_ARRAY_RESERVE(open->events, depth + (size_t)1);
    open->events[depth] = event;
}

/* For each runtime call of one thread, the innermost operator open when it starts. */
static void find_enclosing(const struct trace *trace, const struct track *track,
                           struct open_operators *open, uint32_t *operator_of)
{
    size_t depth = 0;

    for (uint32_t i = track->first_event; i < track->first_event + track->event_count; i++) {
        const struct event *event = &trace->host[i];

        if (event->kind != EVENT_OPERATOR && event->kind != EVENT_RUNTIME_CALL)
            continue;
        while (depth && event_end_ns(&trace->host[open->events[depth - 1]]) <= event->start_ns)
            depth--;
        if (event->kind == EVENT_OPERATOR)
            push(open, depth++, i);
        else
            operator_of[i] = depth ? open->events[depth - 1] : NO_EVENT;
    }
}

/* The operator whose own id the device event carries. An id that equals the event's correlation is
 * none: some versions of the profiler write the correlation there. */
static void find_by_external_id(struct trace *trace)
{
    const struct id_choice operators = {EVENT_OPERATOR, external_id_of};
    struct id_index index = {0};
    bool is_made = false;

    for (uint32_t i = 0; i < trace->device_count; i++) {
        const struct event *event = &trace->device[i];

        if (trace->launch_operator[i] != NO_EVENT || event->external_id == NO_ID ||
            event->external_id == 0 || event->external_id == event->correlation)
            continue;
        if (!is_made)
            index = index_new(trace, &operators);
        is_made = true;
        trace->launch_operator[i] = index_find(&index, event->external_id);
    }
    index_free(&index);
}

/* For each host event that is a runtime call: the operator around it. */
static uint32_t *find_all_enclosing(const struct trace *trace)
{
    uint32_t *operator_of = large_array_new(trace->host_count * sizeof *operator_of);
    struct open_operators open = {0};

    for (uint32_t i = 0; i < trace->track_count; i++)
        find_enclosing(trace, &trace->tracks[i], &open, operator_of);
    large_array_free(open.events);
    return operator_of;
}

struct linking {
    struct trace *trace;
    uint32_t *operator_of; /* of host events */
};

static void link_piece(void *argument, size_t index)
{
    struct linking *linking = argument;

    if (index == 0)
        link_launches(linking->trace);
    else
        linking->operator_of = find_all_enclosing(linking->trace);
}

/* Launches and operators are found side by side, as neither needs the other; their join does. */
void trace_link(struct trace *trace, unsigned threads, bool with_operators)
{
    struct linking linking = {.trace = trace};

    if (!with_operators) {
        link_launches(trace);
        return;
    }
    trace->launch_operator = large_array_new(trace->device_count * sizeof *trace->launch_operator);
    run_side_by_side(threads, 2, link_piece, &linking);
    for (uint32_t i = 0; i < trace->device_count; i++)
        trace->launch_operator[i] =
            trace->launch[i] == NO_EVENT ? NO_EVENT : linking.operator_of[trace->launch[i]];
    large_array_free(linking.operator_of);
    find_by_external_id(trace);
}
