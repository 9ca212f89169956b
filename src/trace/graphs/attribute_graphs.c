/* Gives the kernels of graphs the operators of their captures.
 *
 * Everything else asks for the operator of a kernel, and for what lies around that: so each launch
 * of a graph gets a copy of the events around its captured launches, on a thread of its own, one
 * nanosecond from each begin or end to the next. Such a copy says what ran, not how long a host
 * took. */
#include "base/core/array.h"
#include "base/core/invariant.h"
#include "base/core/large_array.h"
#include "base/core/sort.h"
#include "trace/graphs/graph_matching.h"
#include "trace/name_answers.h"

#include <stdlib.h>
#include <string.h>

/* Sequence numbers of captures are moved so far from those of the trace, and of each other. */
#define SEQUENCE_SPAN (INT64_C(1) << 40)

/* A captured event that has begun on the thread of copies. */
struct begun_event {
    uint32_t captured; /* of captured_graphs.events */
    uint32_t host;     /* its copy */
};

struct copying {
    struct trace *trace;
    const struct captured_graphs *graphs;
    const struct graph_launches *launches;
    struct graph_replays *replays;
    uint32_t track;
    int64_t now_ns;
    struct begun_event *begun;
    size_t depth;
    uint32_t *chain; /* of a kernel, innermost first */
    size_t chain_count;
};

/* Asked before captures are looked for: most traces have no graphs, and a folder may hold many
 * files. */
bool has_graph_launches(const struct trace *trace)
{
    struct name_answers launching = {.ask = is_name_of_graph_launch};
    bool is_found = false;

    for (uint32_t i = 0; i < trace->device_count && !is_found; i++)
        is_found = trace->launch[i] != NO_EVENT &&
                   name_answer(&launching, trace, trace->host[trace->launch[i]].name);
    free(launching.answers);
    return is_found;
}

/* ---- copies --------------------------------------------------------------------------------- */

/* A thread of its own: copies of operators must not lie among the recorded events of any
 * thread, which nest. */
static void add_copy_thread(struct copying *copying)
{
    static const char name[] = "operators of graphs, from their captures";
    struct trace *trace = copying->trace;
    const struct graph_launch *first = &copying->launches->launches[0];
    uint32_t text = string_pool_add(&trace->strings, name, sizeof name - 1);
    struct track track = trace->tracks[trace->host[first->call].track];

    track.thread = text;
    track.thread_name = text;
    track.is_captured = true;
    track.first_event = trace->host_count;
    track.event_count = 0;
    copying->track = trace->track_count;
    trace->tracks = array_resize(trace->tracks, trace->track_count + (size_t)1, sizeof track);
    trace->tracks[trace->track_count++] = track;
}

/* Autograd pairs by sequence number: numbers of a capture must not meet those of the run, nor
 * of another capture. What does not fit has none. */
static int64_t moved_sequence(const struct captured_graphs *graphs, const struct captured_graph *of,
                              uint32_t captured)
{
    int64_t number = graphs->events[captured].sequence_number;
    int64_t moved;

    if (number == NO_ID ||
        __builtin_add_overflow(number, SEQUENCE_SPAN * (1 + (int64_t)(of->capture % 4096)), &moved))
        return NO_ID;
    return moved;
}

/* One nanosecond for each begin and end keeps the copies nested and apart, and claims no time
 * of the host. */
static void begin_copy(struct copying *copying, const struct captured_graph *of, uint32_t captured)
{
    struct trace *trace = copying->trace;
    const struct captured_event *event = &copying->graphs->events[captured];

    ARRAY_ROOM(copying->begun, copying->depth);
    copying->begun[copying->depth++] = (struct begun_event){captured, trace->host_count};
    LARGE_ARRAY_ADD(trace->host, trace->host_count,
                    (struct event){.start_ns = copying->now_ns++,
                                   .sequence_number =
                                       event_id_of(&trace->wide_ids,
                                                   moved_sequence(copying->graphs, of, captured)),
                                   .external_id = NO_ID,
                                   .name = event->name,
                                   .track = copying->track & EVENT_TRACK_MAX,
                                   .detail = event->detail,
                                   .kind = event->kind});
    trace->tracks[copying->track].event_count++;
}

static void end_copies(struct copying *copying, size_t depth)
{
    while (copying->depth > depth) {
        struct event *event = &copying->trace->host[copying->begun[--copying->depth].host];

        event->duration_ns = copying->now_ns++ - event->start_ns;
    }
}

/* What lies around a captured launch, innermost first; without modules where the place is not
 * known. */
static void find_chain(struct copying *copying, const struct kernel_origin *origin)
{
    const struct captured_event *events = copying->graphs->events;

    copying->chain_count = 0;
    for (uint32_t i = copying->graphs->launches[origin->launch].event; i != NO_EVENT;
         i = events[i].parent)
        if (origin->fate != GRAPH_WITHOUT_PLACE || events[i].kind == EVENT_OPERATOR)
            ARRAY_ADD(copying->chain, copying->chain_count, i);
}

/* The common beginning of two chains stays open: operators that launched several kernels are
 * copied once. */
static void copy_chain(struct copying *copying, const struct captured_graph *of)
{
    size_t same = 0;

    while (same < copying->depth && same < copying->chain_count &&
           copying->begun[same].captured == copying->chain[copying->chain_count - 1 - same])
        same++;
    end_copies(copying, same);
    for (size_t i = same; i < copying->chain_count; i++)
        begin_copy(copying, of, copying->chain[copying->chain_count - 1 - i]);
}

/* The innermost event around is the origin, the innermost operator among them the launch's
 * operator. */
static void name_origin(struct copying *copying, uint32_t device_event, bool is_with_operator)
{
    struct trace *trace = copying->trace;
    size_t depth = copying->depth;

    copying->replays->host_of[device_event] = depth ? copying->begun[depth - 1].host : NO_EVENT;
    while (depth && trace->host[copying->begun[depth - 1].host].kind != EVENT_OPERATOR)
        depth--;
    if (is_with_operator && depth)
        trace->launch_operator[device_event] = copying->begun[depth - 1].host;
}

/* ---- one launch ----------------------------------------------------------------------------- */

/* A kernel of a launch, in the order in which the capture's threads launched it. */
struct ordered_kernel {
    uint32_t track;
    uint32_t launch; /* of captured_graphs.launches */
    uint32_t place;  /* in the launch */
};

static int compare_ordered_kernels(const void *a, const void *b)
{
    const struct ordered_kernel *left = a;
    const struct ordered_kernel *right = b;

    return left->track != right->track ? ORDER_OF(left->track, right->track)
                                       : ORDER_OF(left->launch, right->launch);
}

static bool is_copied(const struct kernel_origin *origin)
{
    return origin->launch != NO_EVENT &&
           (origin->fate <= GRAPH_WITHOUT_PLACE || origin->fate == GRAPH_NO_OPERATOR);
}

/* By the capturing thread and the order in it, so that chains open and close as they did.
 * Copies of two launches never overlap, as now_ns only grows. */
static void copy_launch(struct copying *copying, const struct graph_launch *launch,
                        const struct kernel_origin *origins)
{
    const struct captured_graphs *graphs = copying->graphs;
    struct graph_replays *replays = copying->replays;
    struct graph_copy copy = {.call = launch->call, .first = copying->trace->host_count};
    struct ordered_kernel *order =
        require_memory(malloc((launch->count + (size_t)1) * sizeof *order));
    uint32_t count = 0;

    for (uint32_t i = 0; i < launch->count; i++)
        if (is_copied(&origins[i]))
            order[count++] = (struct ordered_kernel){graphs->launches[origins[i].launch].track,
                                                     origins[i].launch, i};
    qsort(order, count, sizeof *order, compare_ordered_kernels);
    if (copying->now_ns < copying->trace->host[launch->call].start_ns)
        copying->now_ns = copying->trace->host[launch->call].start_ns;
    for (uint32_t i = 0; i < count; i++) {
        const struct kernel_origin *origin = &origins[order[i].place];

        find_chain(copying, origin);
        copy_chain(copying, &graphs->graphs[graphs->launches[origin->launch].graph]);
        name_origin(copying, copying->launches->events[launch->first + order[i].place],
                    origin->fate <= GRAPH_WITHOUT_PLACE);
    }
    end_copies(copying, 0);
    free(order);
    copy.count = copying->trace->host_count - copy.first;
    if (copy.count > 0)
        ARRAY_ADD(replays->copies, replays->copy_count, copy);
}

/* Sums by kind of graph and over all, by what became of each kernel: that they add up is what
 * the section on graphs is checked by. */
static void count_launch(struct copying *copying, const struct graph_launch *launch,
                         const struct kernel_origin *origins)
{
    struct graph_replays *replays = copying->replays;
    struct graph_kind *kind = &replays->kinds[launch->kind];

    kind->launches++;
    replays->launches++;
    for (uint32_t i = 0; i < launch->count; i++) {
        int64_t length_ns =
            copying->trace->device[copying->launches->events[launch->first + i]].duration_ns;

        kind->kernels++;
        kind->kernel_ns += length_ns;
        kind->fate_ns[origins[i].fate] += length_ns;
        replays->kernels++;
        replays->kernel_ns += length_ns;
        replays->fate_ns[origins[i].fate] += length_ns;
        replays->fate_kernels[origins[i].fate]++;
    }
}

/* ---- all ------------------------------------------------------------------------------------ */

/* A kind that several graphs fit is not named: which of them it was is not known. */
static void name_kinds(struct copying *copying)
{
    const struct captured_graphs *graphs = copying->graphs;

    for (size_t i = 0; i < copying->launches->kind_count; i++) {
        const struct launch_kind *kind = &copying->launches->kinds[i];
        struct graph_kind *named = &copying->replays->kinds[i];

        named->candidates = kind->candidate_count;
        if (kind->candidate_count == 0)
            continue;
        named->capture = graphs->captures[graphs->graphs[kind->candidates[0]].capture];
        if (kind->candidate_count == 1) {
            named->number = graphs->graphs[kind->candidates[0]].number;
            named->missing = kind->missing;
        }
    }
}

static int compare_graph_kinds(const void *a, const void *b)
{
    const struct graph_kind *left = a;
    const struct graph_kind *right = b;

    if (left->kernel_ns != right->kernel_ns)
        return left->kernel_ns > right->kernel_ns ? -1 : 1;
    return left->launches != right->launches ? ORDER_OF(right->launches, left->launches)
                                             : ORDER_OF(left->number, right->number);
}

/* Launches of a kind that nothing else resolves have the same origins: found once. */
static void copy_launches(struct copying *copying)
{
    const struct graph_launches *launches = copying->launches;
    struct kernel_origin **of_kind =
        require_memory(calloc(launches->kind_count + 1, sizeof(void *)));

    for (size_t i = 0; i < launches->count; i++) {
        const struct graph_launch *launch = &launches->launches[i];
        bool is_alone = launch->resolved != NO_EVENT;
        struct kernel_origin *origins = is_alone ? NULL : of_kind[launch->kind];

        if (!origins)
            origins = find_kernel_origins(launches, launch, copying->trace, copying->graphs);
        copy_launch(copying, launch, origins);
        count_launch(copying, launch, origins);
        if (is_alone)
            free(origins);
        else
            of_kind[launch->kind] = origins;
    }
    for (size_t i = 0; i < launches->kind_count; i++)
        free(of_kind[i]);
    free((void *)of_kind);
}

static void collect_captures(struct graph_replays *replays, const struct captured_graphs *graphs)
{
    for (size_t i = 0; i < graphs->capture_count; i++)
        ARRAY_ADD(replays->captures, replays->capture_count, graphs->captures[i]);
    for (size_t i = 0; i < graphs->graph_count; i++)
        replays->captured_graphs += graphs->graphs[i].count > 0;
}

/* Graphs of XLA (command buffers) are made by its compiler: nobody captures them, and their kernels
 * tell their ops themselves. O(kernels of graphs * depth): the trace grows by copies of host
 * events, which are few beside its own where graphs replace launches. */
void attribute_graphs(struct trace *trace, const struct captured_graphs *graphs)
{
    struct graph_launches launches = {0};
    struct copying copying = {
        .trace = trace, .graphs = graphs, .launches = &launches, .now_ns = INT64_MIN};

    if (trace->facts.platform != PLATFORM_JAX || graphs->graph_count > 0)
        find_graph_launches(&launches, trace);
    if (launches.count > 0) {
        struct graph_replays *replays = require_memory(calloc(1, sizeof *replays));

        match_graph_launches(&launches, trace, graphs);
        replays->kinds = require_memory(calloc(launches.kind_count + 1, sizeof *replays->kinds));
        replays->kind_count = launches.kind_count;
        replays->host_of = large_array_new((trace->device_count + (size_t)1) * sizeof(uint32_t));
        memset(replays->host_of, 0xff, (trace->device_count + (size_t)1) * sizeof(uint32_t));
        copying.replays = replays;
        collect_captures(replays, graphs);
        if (graphs->graph_count > 0)
            add_copy_thread(&copying);
        copy_launches(&copying);
        name_kinds(&copying);
        qsort(replays->kinds, replays->kind_count, sizeof *replays->kinds, compare_graph_kinds);
        trace->graphs = replays;
    }
    free(copying.begun);
    free(copying.chain);
    graph_launches_clear(&launches);
}
