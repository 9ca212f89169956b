/* Finds the launches of each capture, and what they lie in.
 *
 * A capture is what runs between cudaStreamBeginCapture and cudaStreamEndCapture (HIP alike): calls
 * of the thread that began it, and of others while no second capture runs (autograd's thread
 * launches a captured backward). A launch that ran a kernel at once belongs to none.
 *
 * CUPTI's calls do not name their kernels. What ran at once does, by its kernel: so the warm-up
 * before a capture tells what the same operators, with the same shapes and values, launch in it. */
#include "trace/graphs/captured_graphs.h"

#include "base/core/array.h"
#include "base/core/hash_mix.h"
#include "base/core/invariant.h"
#include "base/core/search.h"
#include "base/core/sort.h"
#include "base/text/prefix.h"
#include "trace/trace_builder.h"

#include <stdlib.h>
#include <string.h>

/* So many events may lie around a launch. */
enum { DEPTH_MAX = 512 };

enum call_role { CALL_OTHER, CALL_BEGIN, CALL_END, CALL_KERNEL, CALL_COPY, CALL_WAIT };

struct capture_window {
    int64_t start_ns;
    int64_t end_ns;
    uint32_t track;
    uint32_t graph; /* of captured_graphs.graphs */
};

struct open_event {
    uint32_t host;
    uint32_t event;    /* of captured_graphs.events, or NO_EVENT until it is needed */
    uint32_t launches; /* right in it, so far */
};

struct capture_search {
    struct captured_graphs *graphs;
    struct trace *trace;
    const struct trace *capture;
    uint8_t *roles;   /* by name of the capture: enum call_role */
    uint32_t *ran;    /* by host event: the name of the work that it launched at once; 0: none */
    bool is_learning; /* names, from what ran */
    struct hash_map launched; /* by operators and number in them: the name of the kernel in the
                                 replaying trace, or SYMBOL_UNKNOWN where they differ */
    uint32_t *details;
    struct capture_window *windows;
    size_t window_count;
    size_t first_launch;
    struct open_event open[DEPTH_MAX];
    size_t depth;
};

/* ---- calls and windows ---------------------------------------------------------------------- */

/* By parts of names: CUDA and HIP, and versions of calls (_ptsz, _v10000), differ around them. */
static enum call_role role_of_name(const char *name)
{
    if (strstr(name, "StreamBeginCapture"))
        return CALL_BEGIN;
    if (strstr(name, "StreamEndCapture"))
        return CALL_END;
    if (strstr(name, "StreamWaitEvent"))
        return CALL_WAIT;
    if (strstr(name, "Launch") && strstr(name, "Kernel"))
        return CALL_KERNEL;
    return strstr(name, "MemcpyAsync") || strstr(name, "MemsetAsync") || strstr(name, "MemcpyPeer")
               ? CALL_COPY
               : CALL_OTHER;
}

/* Roles are of names, of which there are few; calls are many. What a call ran while it was not
 * captured tells the kernel that it will run in a graph. */
static void find_call_roles(struct capture_search *search)
{
    const struct trace *capture = search->capture;
    size_t names = string_pool_count(&capture->strings);

    search->roles = require_memory(calloc(names + 1, 1));
    search->ran = require_memory(calloc(capture->host_count + (size_t)1, sizeof *search->ran));
    for (size_t i = 0; i < names; i++)
        search->roles[i] = (uint8_t)role_of_name(trace_text(capture, (uint32_t)i));
    for (uint32_t i = 0; i < capture->device_count; i++)
        if (capture->launch[i] != NO_EVENT)
            search->ran[capture->launch[i]] = capture->device[i].name;
}

static void add_window(struct capture_search *search, struct capture_window window)
{
    ARRAY_ADD(search->windows, search->window_count, window);
}

/* A begin without an end before the next begin was cut: its window ends there. One that is
 * open at the end of the trace is open-ended. */
static void find_windows_of(struct capture_search *search, uint32_t track_index)
{
    const struct track *track = &search->capture->tracks[track_index];
    int64_t begin_ns = INT64_MIN;

    for (uint32_t i = track->first_event; i < track->first_event + track->event_count; i++) {
        const struct event *event = &search->capture->host[i];
        uint8_t role = event->kind == EVENT_RUNTIME_CALL ? search->roles[event->name] : CALL_OTHER;

        if (role == CALL_END || (role == CALL_BEGIN && begin_ns != INT64_MIN)) {
            add_window(search, (struct capture_window){begin_ns, event->start_ns, track_index, 0});
            begin_ns = INT64_MIN;
        }
        if (role == CALL_BEGIN)
            begin_ns = event_end_ns(event);
    }
    if (begin_ns != INT64_MIN)
        add_window(search, (struct capture_window){begin_ns, INT64_MAX, track_index, 0});
}

static int compare_windows_of_capture(const void *a, const void *b)
{
    const struct capture_window *left = a;
    const struct capture_window *right = b;

    return left->end_ns != right->end_ns ? ORDER_OF(left->end_ns, right->end_ns)
                                         : ORDER_OF(left->start_ns, right->start_ns);
}

/* Windows in the order in which they end, and a graph for each. */
static void find_capture_windows(struct capture_search *search)
{
    struct captured_graphs *graphs = search->graphs;

    for (uint32_t i = 0; i < search->capture->track_count; i++)
        if (!search->capture->tracks[i].is_device)
            find_windows_of(search, i);
    if (search->window_count > 1)
        qsort(search->windows, search->window_count, sizeof *search->windows,
              compare_windows_of_capture);
    for (size_t i = 0; i < search->window_count; i++) {
        struct capture_window *window = &search->windows[i];

        window->graph = (uint32_t)graphs->graph_count;
        ARRAY_ADD(graphs->graphs, graphs->graph_count,
                  (struct captured_graph){
                      .capture = (uint32_t)graphs->capture_count,
                      .number = (uint32_t)i + 1,
                      .is_cut = window->start_ns == INT64_MIN || window->end_ns == INT64_MAX,
                  });
    }
}

/* The graph that a call of this thread goes into, or NO_EVENT: its own thread's, else the only one
 * that is being captured. */
static uint32_t graph_at(const struct capture_search *search, uint32_t track, int64_t time_ns)
{
    const struct capture_window *windows = search->windows;
    size_t first = LOWER_BOUND(i, 0, search->window_count, windows[i].end_ns <= time_ns);
    uint32_t found = NO_EVENT, count = 0;

    for (size_t i = first; i < search->window_count && i < first + DEPTH_MAX; i++) {
        const struct capture_window *window = &windows[i];

        if (window->start_ns > time_ns)
            continue;
        if (window->track == track)
            return window->graph;
        found = window->graph;
        count++;
    }
    return count == 1 ? found : NO_EVENT;
}

/* ---- names and details of the capture, in the trace that replays ----------------------------- */

/* Launches seen in the trace itself have their strings there already. */
static uint32_t copied_string(struct capture_search *search, uint32_t string)
{
    const struct string_pool *from = &search->capture->strings;

    if (search->capture == search->trace)
        return string;
    return string ? string_pool_add(&search->trace->strings, string_pool_text(from, string),
                                    string_pool_length(from, string))
                  : 0;
}

/* Eight bytes at a time; what is compared are arrays of such words. */
static uint64_t hash_of_bytes(const void *bytes, size_t length)
{
    const unsigned char *at = bytes;
    uint64_t hash = length;

    for (size_t i = 0; i + 8 <= length; i += 8) {
        uint64_t word;

        memcpy(&word, at + i, sizeof word);
        hash = hash_mix(hash ^ word, HASH_MULTIPLIER) + 1;
    }
    return hash;
}

/* Equal details become one; 0 stays 0. Details of the capture become the trace's own, by hash
 * and then by bytes, so that costs are looked up once for both. */
static uint32_t copied_detail(struct capture_search *search, uint32_t index)
{
    struct trace *trace = search->trace;
    struct event_detail detail = search->capture->details[index];
    uint64_t hash;
    uint32_t known;

    if (search->capture == search->trace)
        return index;
    if (index == 0 || search->details[index])
        return search->details[index];
    detail.input_shapes = copied_string(search, detail.input_shapes);
    detail.input_types = copied_string(search, detail.input_types);
    detail.concrete_inputs = copied_string(search, detail.concrete_inputs);
    detail.call_stack = 0; /* where it was called says nothing of what it is */
    detail.work = copied_string(search, detail.work);
    detail.phase = copied_string(search, detail.phase);
    detail.kernel_name = copied_string(search, detail.kernel_name);
    detail.code = copied_string(search, detail.code);
    detail.settings = copied_string(search, detail.settings);
    detail.lines = copied_string(search, detail.lines);
    detail.collective_name = copied_string(search, detail.collective_name);
    detail.element_type = copied_string(search, detail.element_type);
    detail.group_name = copied_string(search, detail.group_name);
    detail.group_ranks = copied_string(search, detail.group_ranks);
    hash = hash_of_bytes(&detail, sizeof detail);
    known = hash_map_add(&search->graphs->details, hash, trace->detail_count);
    if (known == trace->detail_count || event_detail_compare(&trace->details[known], &detail)) {
        known = trace->detail_count;
        trace->details =
            array_resize(trace->details, array_room_of(known + (size_t)1), sizeof detail);
        trace->details[trace->detail_count++] = detail;
    }
    return search->details[index] = known;
}

/* ---- what a launch lies in ------------------------------------------------------------------ */

/* The kind of an event around a launch: marks of modules come as operators, too, and are none. */
static uint8_t kind_around(const struct trace *capture, const struct event *event)
{
    return event->kind == EVENT_OPERATOR && has_prefix(trace_text(capture, event->name), "nn:")
               ? EVENT_ANNOTATION
               : event->kind;
}

/* Marks of steps and of the capture itself lie around everything and belong to no kernel. */
static bool is_kept(const struct trace *capture, const struct event *event)
{
    const char *name = trace_text(capture, event->name);

    if (event->kind == EVENT_PYTHON_FUNCTION)
        return has_prefix(name, "nn.Module: ");
    if (kind_around(capture, event) == EVENT_ANNOTATION)
        return has_prefix(name, "nn:") || has_prefix(name, "Optimizer.") ||
               has_prefix(name, "## Call CompiledFxGraph");
    return event->kind == EVENT_OPERATOR && !has_prefix(name, "ProfilerStep");
}

/* Grid and block: ROCm tells other numbers in its graphs, so there sizes say nothing. */
uint64_t size_of_launch(const struct trace *trace, uint32_t detail)
{
    const struct event_detail *sizes = &trace->details[detail];
    uint64_t hash = 0;

    if (detail == 0 || trace->facts.is_rocm == 1 || sizes->grid[0] < 1 || sizes->block[0] < 1)
        return 0;
    for (int i = 0; i < 3; i++)
        hash = hash_mix(hash ^ pair_key((uint32_t)sizes->grid[i], (uint32_t)sizes->block[i]),
                        HASH_MULTIPLIER) +
               1;
    return hash;
}

static uint64_t own_hash(uint32_t name, uint32_t detail)
{
    return hash_mix(pair_key(name, detail), HASH_MULTIPLIER) + 1;
}

/* Each event carries hashes of the chain above it: two places are equal where the hashes are,
 * without walking. */
static uint32_t collect_captured_event(struct capture_search *search, uint32_t host,
                                       uint32_t parent)
{
    struct captured_graphs *graphs = search->graphs;
    const struct event *event = &search->capture->host[host];
    struct captured_event taken = {.name = copied_string(search, event->name),
                                   .detail = copied_detail(search, event->detail),
                                   .parent = parent,
                                   .top_operator = NO_EVENT,
                                   .sequence_number = NO_ID,
                                   .kind = kind_around(search->capture, event)};
    uint64_t own = own_hash(taken.name, taken.detail);

    if (parent != NO_EVENT) {
        taken.operators = graphs->events[parent].operators;
        taken.place = graphs->events[parent].place;
        taken.top_operator = graphs->events[parent].top_operator;
    }
    taken.place = hash_mix(taken.place ^ own, HASH_MULTIPLIER) + 1;
    if (taken.kind == EVENT_OPERATOR) {
        taken.sequence_number = event_id_number(&search->capture->wide_ids, event->sequence_number);
        taken.operators = hash_mix(taken.operators ^ own, HASH_MULTIPLIER) + 1;
        if (taken.top_operator == NO_EVENT)
            taken.top_operator = (uint32_t)graphs->event_count;
    }
    ARRAY_ADD(graphs->events, graphs->event_count, taken);
    return (uint32_t)graphs->event_count - 1;
}

/* The innermost event open, which is taken with all around it. */
static uint32_t collect_open(struct capture_search *search)
{
    uint32_t parent = NO_EVENT;

    for (size_t i = 0; i < search->depth; i++) {
        if (search->open[i].event == NO_EVENT)
            search->open[i].event = collect_captured_event(search, search->open[i].host, parent);
        parent = search->open[i].event;
    }
    return parent;
}

/* What tells a launch: the operators around it, and which of the innermost one's it is. 0 where it
 * lies in none. */
static uint64_t key_of_launch(struct capture_search *search)
{
    struct open_event *innermost = NULL;
    uint64_t key = 0;

    for (size_t i = 0; i < search->depth; i++) {
        const struct event *event = &search->capture->host[search->open[i].host];

        if (kind_around(search->capture, event) != EVENT_OPERATOR)
            continue;
        innermost = &search->open[i];
        key = hash_mix(key ^ own_hash(copied_string(search, event->name),
                                      copied_detail(search, event->detail)),
                       HASH_MULTIPLIER) +
              1;
    }
    return innermost ? hash_mix(key ^ ++innermost->launches, HASH_MULTIPLIER) + 1 : 0;
}

/* Of a launch that ran at once. */
static void learn_launch(struct capture_search *search, uint32_t host)
{
    uint32_t symbol = copied_string(search, search->ran[host]);
    uint64_t key = key_of_launch(search);

    if (key && hash_map_add(&search->launched, key, symbol) != symbol)
        hash_map_set(&search->launched, key, SYMBOL_UNKNOWN);
}

/* A launch that is captured runs nothing itself: where its call does not name the kernel, one
 * that ran with the same key tells it. */
static uint32_t symbol_of_launch(struct capture_search *search, uint32_t name)
{
    uint32_t learned;
    uint64_t key;

    if (name)
        return copied_string(search, name);
    if (search->launched.count == 0)
        return SYMBOL_UNKNOWN;
    key = key_of_launch(search);
    learned = key ? hash_map_find(&search->launched, key) : NO_VALUE;
    return learned == NO_VALUE ? SYMBOL_UNKNOWN : learned;
}

/* A call that ran its kernel at once is no capture's, even inside of a window (another
 * stream). */
static void collect_captured_call(struct capture_search *search, uint32_t host, uint32_t track)
{
    struct captured_graphs *graphs = search->graphs;
    const struct event *call = &search->capture->host[host];
    uint8_t role = search->roles[call->name];
    uint32_t name = search->capture->details[call->detail].kernel_name;
    uint32_t graph, symbol;

    if (search->is_learning && role == CALL_KERNEL && search->ran[host])
        learn_launch(search, host);
    if (search->is_learning || role < CALL_KERNEL || search->ran[host])
        return;
    graph = graph_at(search, track, call->start_ns);
    if (graph == NO_EVENT)
        return;
    if (role == CALL_WAIT) {
        /* A wait inside a capture joins another stream: between branches the order of the
         * calls is not that of the kernels. */
        graphs->graphs[graph].is_branched = true;
        return;
    }
    symbol = role == CALL_COPY ? SYMBOL_COPY : symbol_of_launch(search, name);
    graphs->graphs[graph].has_unknown |= symbol == SYMBOL_UNKNOWN;
    ARRAY_ADD(graphs->launches, graphs->launch_count,
              (struct captured_launch){.size = size_of_launch(search->capture, call->detail),
                                       .start_ns = call->start_ns,
                                       .graph = graph,
                                       .track = track,
                                       .symbol = symbol,
                                       .event = collect_open(search)});
}

/* Events nest on a thread: a stack of the open ones, as everywhere. */
static void collect_calls_of(struct capture_search *search, uint32_t track_index)
{
    const struct trace *capture = search->capture;
    const struct track *track = &capture->tracks[track_index];

    search->depth = 0;
    for (uint32_t i = track->first_event; i < track->first_event + track->event_count; i++) {
        const struct event *event = &capture->host[i];

        while (search->depth &&
               event_end_ns(&capture->host[search->open[search->depth - 1].host]) <=
                   event->start_ns)
            search->depth--;
        if (event->kind == EVENT_RUNTIME_CALL)
            collect_captured_call(search, i, track_index);
        else if (search->depth < DEPTH_MAX && is_kept(capture, event))
            search->open[search->depth++] = (struct open_event){i, NO_EVENT, 0};
    }
}

static int compare_captured_launches(const void *a, const void *b)
{
    const struct captured_launch *left = a;
    const struct captured_launch *right = b;

    if (left->graph != right->graph)
        return ORDER_OF(left->graph, right->graph);
    return left->start_ns != right->start_ns ? ORDER_OF(left->start_ns, right->start_ns)
                                             : ORDER_OF(left->track, right->track);
}

/* From the end, so that `first` ends at the first launch of its graph. */
static void order_launches(struct capture_search *search)
{
    struct captured_graphs *graphs = search->graphs;
    size_t count = graphs->launch_count - search->first_launch;

    if (count > 1)
        qsort(graphs->launches + search->first_launch, count, sizeof *graphs->launches,
              compare_captured_launches);
    for (size_t i = graphs->launch_count; i-- > search->first_launch;) {
        struct captured_graph *graph = &graphs->graphs[graphs->launches[i].graph];

        graph->first = (uint32_t)i;
        graph->count++;
    }
}

/* Twice over the calls: what ran at once teaches names of kernels, then captured launches are
 * taken with them. */
void captured_graphs_add(struct captured_graphs *graphs, struct trace *trace,
                         const struct trace *capture)
{
    struct capture_search *search = require_memory(calloc(1, sizeof *search));

    search->graphs = graphs;
    search->trace = trace;
    search->capture = capture;
    search->first_launch = graphs->launch_count;
    if (trace->detail_count == 0)
        ARRAY_ADD(trace->details, trace->detail_count, event_detail_none());
    search->details = require_memory(calloc(capture->detail_count + (size_t)1, sizeof(uint32_t)));
    find_call_roles(search);
    find_capture_windows(search);
    for (int learns = 1; learns >= 0 && search->window_count > 0; learns--) {
        search->is_learning = learns;
        for (uint32_t i = 0; i < capture->track_count; i++)
            if (!capture->tracks[i].is_device)
                collect_calls_of(search, i);
    }
    order_launches(search);
    if (search->window_count > 0 || capture != trace)
        ARRAY_ADD(graphs->captures, graphs->capture_count, copied_string(search, capture->path));
    free(search->details);
    free(search->windows);
    free(search->roles);
    free(search->ran);
    hash_map_clear(&search->launched);
    free(search);
}

void captured_graphs_clear(struct captured_graphs *graphs)
{
    free(graphs->events);
    free(graphs->launches);
    free(graphs->graphs);
    free(graphs->captures);
    hash_map_clear(&graphs->details);
    *graphs = (struct captured_graphs){0};
}
