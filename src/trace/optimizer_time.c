/* When a thread is in its optimizer. */
#include "trace/optimizer_time.h"

#include "base/core/array.h"
#include "base/core/invariant.h"
#include "base/core/search.h"
#include "base/text/prefix.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum name_kind { NAME_OTHER, NAME_OPTIMIZER_STEP, NAME_BACKWARD, NAME_MODULE };

/* A backward node, whichever thread runs it. */
struct node_time {
    int64_t start_ns;
    int64_t end_ns; /* of it or of one that began before */
};

struct closure_search {
    const struct trace *trace;
    struct optimizer_time *time;
    uint8_t *kinds;          /* by name: enum name_kind */
    struct node_time *nodes; /* by start; ends never fall */
    size_t node_count;
};

bool is_autograd_node(const char *name)
{
    size_t length = strlen(name);

    while (length > 0 && isdigit((unsigned char)name[length - 1]))
        length--;
    return length > 8 && memcmp(name + length - 8, "Backward", 8) == 0 && !strstr(name, "::");
}

static enum name_kind kind_of_name(const char *name)
{
    if (has_prefix(name, "Optimizer.step"))
        return NAME_OPTIMIZER_STEP;
    if (has_prefix(name, "autograd::engine::evaluate_function") || is_autograd_node(name))
        return NAME_BACKWARD;
    return has_prefix(name, "nn.Module: ") || has_prefix(name, "nn:") ? NAME_MODULE : NAME_OTHER;
}

/* Names alone would take an operator called "...Backward" of the program's own for a node. */
static enum name_kind optimizer_time_kind_of(const struct closure_search *search,
                                             const struct event *event)
{
    enum name_kind kind = (enum name_kind)search->kinds[event->name];

    if (kind == NAME_OPTIMIZER_STEP && event->kind != EVENT_ANNOTATION)
        return NAME_OTHER;
    if (kind == NAME_BACKWARD && event->kind == EVENT_PYTHON_FUNCTION)
        return NAME_OTHER;
    return kind;
}

static int compare_nodes(const void *left, const void *right)
{
    const struct node_time *a = left;
    const struct node_time *b = right;

    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    return a->end_ns < b->end_ns ? -1 : a->end_ns > b->end_ns;
}

/* Ends made rising: the last node that started before a time then has the largest end of all
 * before it. */
static void find_nodes(struct closure_search *search)
{
    const struct trace *trace = search->trace;

    for (uint32_t i = 0; i < trace->host_count; i++) {
        if (search->kinds[trace->host[i].name] != NAME_BACKWARD ||
            optimizer_time_kind_of(search, &trace->host[i]) != NAME_BACKWARD)
            continue; /* names alone say no to nearly all */
        ARRAY_ADD(search->nodes, search->node_count,
                  (struct node_time){trace->host[i].start_ns, event_end_ns(&trace->host[i])});
    }
    if (search->node_count)
        qsort(search->nodes, search->node_count, sizeof *search->nodes, compare_nodes);
    for (size_t i = 1; i < search->node_count; i++)
        if (search->nodes[i].end_ns < search->nodes[i - 1].end_ns)
            search->nodes[i].end_ns = search->nodes[i - 1].end_ns;
}

/* How many nodes start before `time_ns`. */
static size_t nodes_before(const struct closure_search *search, int64_t time_ns)
{
    return LOWER_BOUND(i, 0, search->node_count, search->nodes[i].start_ns < time_ns);
}

/* A backward starts in [start_ns, end_ns). */
static bool has_backward(const struct closure_search *search, int64_t start_ns, int64_t end_ns)
{
    return nodes_before(search, start_ns) < nodes_before(search, end_ns);
}

static void optimizer_time_add_interval(struct closure_search *search,
                                        struct optimizer_interval interval)
{
    struct optimizer_time *time = search->time;

    if (interval.start_ns >= interval.end_ns)
        return;
    ARRAY_ADD(time->intervals, time->count, interval);
}

/* The closure while the events of one range are walked over. */
struct closure {
    bool is_open;
    int64_t start_ns;
    int64_t reached_ns; /* the end of what is known to be part of it */
};

static int64_t optimizer_time_earlier_of(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* The end of the backward that began in the closure before `time_ns`; INT64_MIN where none did.
 * Nodes of all threads count, since autograd runs them on its own. */
static int64_t backward_end_ns(const struct closure_search *search, const struct closure *closure,
                               int64_t time_ns)
{
    size_t count = nodes_before(search, time_ns);

    return count > nodes_before(search, closure->start_ns) ? search->nodes[count - 1].end_ns
                                                           : INT64_MIN;
}

/* Books the optimizer's own time up to the closure, and goes on behind it. The optimizer's time
 * is the range less its closure: before it, and again behind it. */
static void close_closure(struct closure_search *search, struct closure *closure,
                          struct optimizer_interval *own, int64_t until_ns)
{
    int64_t end_ns = backward_end_ns(search, closure, until_ns);

    if (end_ns < closure->reached_ns)
        end_ns = closure->reached_ns;
    optimizer_time_add_interval(
        search,
        (struct optimizer_interval){own->track, own->start_ns,
                                    optimizer_time_earlier_of(closure->start_ns, own->end_ns)});
    own->start_ns = optimizer_time_earlier_of(end_ns, own->end_ns);
    closure->is_open = false;
}

/* Forward or backward: what only a closure does in an optimizer. An operator with a sequence
 * number records for autograd; in an optimizer's own work nothing does. */
static bool is_of_closure(const struct closure_search *search, const struct event *event,
                          int64_t range_end_ns)
{
    enum name_kind kind = optimizer_time_kind_of(search, event);

    if (kind == NAME_BACKWARD || kind == NAME_MODULE)
        return true;
    return event->kind == EVENT_OPERATOR && event->sequence_number != NO_ID &&
           has_backward(search, event->start_ns, range_end_ns);
}

static void optimizer_time_take_event(struct closure_search *search, struct closure *closure,
                                      struct optimizer_interval *own, const struct event *event)
{
    bool is_inside = closure->is_open && event->start_ns < closure->reached_ns;

    if (is_of_closure(search, event, own->end_ns)) {
        if (!closure->is_open)
            *closure = (struct closure){true, event->start_ns, event->start_ns};
        if (event_end_ns(event) > closure->reached_ns)
            closure->reached_ns = event_end_ns(event);
        return;
    }
    if (!closure->is_open || is_inside || event->kind != EVENT_OPERATOR)
        return;
    /* behind the backward the optimizer goes on; before it, this is part of the forward */
    if (backward_end_ns(search, closure, event->start_ns) != INT64_MIN ||
        !has_backward(search, event->start_ns, own->end_ns))
        close_closure(search, closure, own, event->start_ns);
}

/* `first`: the range's place in trace->host. */
static void optimizer_time_take_range(struct closure_search *search, uint32_t first)
{
    const struct trace *trace = search->trace;
    const struct event *range = &trace->host[first];
    struct optimizer_interval own = {range->track, range->start_ns, event_end_ns(range)};
    struct closure closure = {0};

    for (uint32_t i = first + 1; i < trace->host_count; i++) {
        const struct event *event = &trace->host[i];

        if (event->track != range->track || event->start_ns >= event_end_ns(range))
            break;
        optimizer_time_take_event(search, &closure, &own, event);
    }
    if (closure.is_open)
        close_closure(search, &closure, &own, own.end_ns);
    optimizer_time_add_interval(search, own);
}

/* Optimizer.step(closure), as LBFGS needs it, runs forward and backward inside of its range:
 * without this their time would be the optimizer's. O(events + nodes log nodes). */
void find_optimizer_time(struct optimizer_time *time, const struct trace *trace)
{
    struct closure_search search = {.trace = trace, .time = time};
    size_t names = string_pool_count(&trace->strings);
    int64_t reached_ns = INT64_MIN;
    uint32_t track = NO_EVENT;
    bool has_optimizer = false;

    search.kinds = require_memory(calloc(names + 1, 1));
    for (size_t i = 0; i < names; i++) {
        search.kinds[i] = (uint8_t)kind_of_name(trace_text(trace, (uint32_t)i));
        has_optimizer = has_optimizer || search.kinds[i] == NAME_OPTIMIZER_STEP;
    }
    if (has_optimizer)
        find_nodes(&search);
    for (uint32_t i = 0; has_optimizer && i < trace->host_count; i++) {
        const struct event *event = &trace->host[i];

        if (search.kinds[event->name] != NAME_OPTIMIZER_STEP ||
            optimizer_time_kind_of(&search, event) != NAME_OPTIMIZER_STEP ||
            (event->track == track && event->start_ns < reached_ns))
            continue; /* a range inside a range is the same time */
        optimizer_time_take_range(&search, i);
        track = event->track;
        reached_ns = event_end_ns(event);
    }
    free(search.nodes);
    free(search.kinds);
}

void optimizer_time_clear(struct optimizer_time *time)
{
    free(time->intervals);
    *time = (struct optimizer_time){0};
}

bool is_optimizer_time(const struct optimizer_time *time, uint32_t track, int64_t time_ns)
{
    const struct optimizer_interval *intervals = time->intervals;
    /* the first stretch that starts behind it */
    size_t next = LOWER_BOUND(i, 0, time->count,
                              intervals[i].track != track ? intervals[i].track < track
                                                          : intervals[i].start_ns <= time_ns);

    return next > 0 && intervals[next - 1].track == track && time_ns < intervals[next - 1].end_ns;
}

/* Intervals are sorted by thread and time, and do not overlap: a binary search finds the
 * first, and the walk ends at the last that reaches into the range. */
int64_t optimizer_time_between(const struct optimizer_time *time, uint32_t track,
                               const int64_t range_ns[2])
{
    const struct optimizer_interval *intervals = time->intervals;
    int64_t sum_ns = 0;

    for (size_t at = LOWER_BOUND(i, 0, time->count,
                                 intervals[i].track != track ? intervals[i].track < track
                                                             : intervals[i].end_ns <= range_ns[0]);
         at < time->count && intervals[at].track == track && intervals[at].start_ns < range_ns[1];
         at++) {
        int64_t start_ns =
            intervals[at].start_ns > range_ns[0] ? intervals[at].start_ns : range_ns[0];
        int64_t end_ns = intervals[at].end_ns < range_ns[1] ? intervals[at].end_ns : range_ns[1];

        sum_ns += end_ns > start_ns ? end_ns - start_ns : 0;
    }
    return sum_ns;
}
