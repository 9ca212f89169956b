/* The lanes of a timeline and what lies in them. */
#include "base/core/invariant.h"
#include "cost/modules/host_context.h"
#include "cost/modules/module_tree.h"
#include "ledger/idle_gap.h"
#include "sections/timeline/timeline_parts.h"
#include "sections/timeline/timeline_walk.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ---- lanes of modules ------------------------------------------------------------------------ */

/* Which module a host thread was in when: the lane of modules of a timeline. */

enum { MODULE_ROWS = 12 };

/* The stretches of a backward that are open: of each depth the module, and until when. */
struct module_walk {
    const struct timeline_lanes *lanes;
    const struct piece_sink *sink;
    uint32_t lane;
    uint32_t first_class;
    struct timeline_piece open[MODULE_ROWS];
    uint32_t open_count;
};

/* A range of a module, or an autograd node of one. Marks are ranges that hooks of modules write;
 * in the backward there are none, and the autograd node tells the module of the forward that
 * made it. Operators inside a node belong to it and are not asked again: of them is_node
 * is false. */
static bool reports_module(const struct timeline_lanes *lanes, uint32_t event, bool *is_mark)
{
    const struct host_contexts *contexts = &lanes->costs->contexts;

    if (module_of_host(contexts, event) == NO_MODULE)
        return false;
    *is_mark = is_module_mark(lanes->trace, &lanes->trace->host[event]);
    return *is_mark || contexts->is_node[event];
}

/* Rows that the modules of a thread need; 0: it is in none. Deeper modules than MODULE_ROWS are
 * left out rather than squeezed: their time shows in the modules around them. */
static uint32_t timeline_module_rows(const struct timeline_lanes *lanes, uint32_t track_index)
{
    const struct track *track = &lanes->trace->tracks[track_index];
    const struct module_tree *tree = &lanes->costs->tree;
    uint32_t rows = 0;

    if (tree->count == 0)
        return 0;
    for (uint32_t i = track->first_event; i < track->first_event + track->event_count; i++) {
        bool is_mark;
        uint32_t depth;

        if (!reports_module(lanes, i, &is_mark))
            continue;
        depth = tree->modules[module_of_host(&lanes->costs->contexts, i)].depth;
        if (depth + 1 > rows)
            rows = depth + 1;
    }
    return rows < MODULE_ROWS ? rows : MODULE_ROWS;
}

/* Ends the open stretches from a depth on. Deeper stretches end with the one they lie in: the
 * open ones are a path of the tree at any time. */
static void close_from(struct module_walk *walk, uint32_t depth)
{
    for (uint32_t i = depth; i < walk->open_count; i++)
        walk->sink->take(walk->sink->context, &walk->open[i]);
    if (depth < walk->open_count)
        walk->open_count = depth;
}

/* The depth cuts the stack: what was open below or at it has ended, as modules of a thread
 * nest. Its phase picks the color, hence the class is counted from the first of the phases. */
static void open_at(struct module_walk *walk, uint32_t depth, uint32_t module, uint32_t event)
{
    const struct event *node = &walk->lanes->trace->host[event];

    walk->open[depth] = (struct timeline_piece){.start_ns = node->start_ns,
                                                .duration_ns = node->duration_ns,
                                                .module = module,
                                                .class = walk->first_class +
                                                         walk->lanes->costs->contexts.phases[event],
                                                .launch = NO_EVENT,
                                                .lane = walk->lane,
                                                .row = depth};
    walk->open_count = depth + 1;
}

/* A node of a module: the stretches of the modules around it go on, others end. Autograd nodes
 * come one after the other, and each belongs to a leaf of the tree. The path from the root to it
 * is compared with the open one: as far as both agree, the stretches are prolonged; below, the
 * old ones end and new ones begin. So a layer of a hundred nodes becomes one stretch. Pauses
 * between nodes of one module are in the stretch: they are its own. */
static void collect_node(struct module_walk *walk, uint32_t event)
{
    const struct module_tree *tree = &walk->lanes->costs->tree;
    int64_t end_ns = event_end_ns(&walk->lanes->trace->host[event]);
    uint32_t path[MODULE_ROWS] = {0};
    uint32_t module = module_of_host(&walk->lanes->costs->contexts, event);
    uint32_t count = tree->modules[module].depth + 1;
    uint32_t depth = 0;

    for (; module != NO_MODULE; module = tree->modules[module].parent)
        if (tree->modules[module].depth < MODULE_ROWS)
            path[tree->modules[module].depth] = module;
    if (count > MODULE_ROWS)
        count = MODULE_ROWS;
    while (depth < count && depth < walk->open_count && walk->open[depth].module == path[depth]) {
        if (end_ns > walk->open[depth].start_ns + walk->open[depth].duration_ns)
            walk->open[depth].duration_ns = end_ns - walk->open[depth].start_ns;
        depth++;
    }
    close_from(walk, depth);
    for (; depth < count; depth++)
        open_at(walk, depth, path[depth], event);
}

/* A mark of the forward (or of a recomputed one, in the middle of a backward) interrupts what
 * is open: nothing may overlap in a row. */
static void timeline_modules_take_mark(struct module_walk *walk, uint32_t event)
{
    const struct host_contexts *contexts = &walk->lanes->costs->contexts;
    const struct event *mark = &walk->lanes->trace->host[event];
    uint32_t module = module_of_host(contexts, event);
    uint32_t depth = walk->lanes->costs->tree.modules[module].depth;
    struct timeline_piece piece = {.start_ns = mark->start_ns,
                                   .duration_ns = mark->duration_ns,
                                   .module = module,
                                   .class = walk->first_class + contexts->phases[event],
                                   .launch = NO_EVENT,
                                   .lane = walk->lane,
                                   .row = depth};

    close_from(walk, 0);
    if (depth < MODULE_ROWS)
        walk->sink->take(walk->sink->context, &piece);
}

void timeline_walk_modules(const struct timeline_lanes *lanes, uint32_t lane, uint32_t first_class,
                           const struct piece_sink *sink)
{
    const struct track *track = &lanes->trace->tracks[lanes->lanes[lane].track];
    struct module_walk walk = {
        .lanes = lanes, .sink = sink, .lane = lane, .first_class = first_class};

    for (uint32_t i = track->first_event; i < track->first_event + track->event_count; i++) {
        bool is_mark;

        if (!reports_module(lanes, i, &is_mark))
            continue;
        if (is_mark)
            timeline_modules_take_mark(&walk, i);
        else
            collect_node(&walk, i);
    }
    close_from(&walk, 0);
}

/* ---- find timeline lanes --------------------------------------------------------------------- */

enum {
    STREAMS_MAX = 32,
    THREADS_MAX = 24,
    STREAM_ROWS = 4, /* work of one stream that overlaps, which it should not */
    THREAD_ROWS = 16,
    PYTHON_ROWS = 24,
};

static const struct timeline_class host_classes[HOST_CLASS_COUNT] = {
    [HOST_DATA] = {"host_data", "data loading", NULL},
    [HOST_SYNC] = {"host_sync", "call that waits for the device", NULL},
    [HOST_ALLOCATOR] = {"host_allocator", "allocator call", NULL},
    [HOST_COMPILATION] = {"host_compilation", "compilation", NULL},
    [HOST_CAPTURE] = {"host_capture", "graph capture", NULL},
    [HOST_GARBAGE] = {"host_garbage", "garbage collection", NULL},
    [HOST_RUNTIME] = {"host_runtime", "runtime call", NULL},
    [HOST_OPERATOR] = {"host_operator", "operator", NULL},
    [HOST_ANNOTATION] = {"host_range", "named range", NULL},
    [HOST_PYTHON] = {"host_python", "Python frame", NULL},
    [HOST_NOTHING] = {"host_other", "other", NULL},
};

static const struct timeline_class phase_classes[PHASE_COUNT] = {
    [PHASE_FORWARD] = {"phase_forward", "forward", NULL},
    [PHASE_BACKWARD] = {"phase_backward", "backward", NULL},
    [PHASE_RECOMPUTE] = {"phase_recompute", "recomputed", NULL},
    [PHASE_OPTIMIZER] = {"phase_optimizer", "optimizer", NULL},
};

/* One list of classes for all lanes, group after group: the class of a piece is an offset and
 * the enumeration of its own kind. */
const struct timeline_class *timeline_classes(struct results *results, size_t *count)
{
    struct timeline_class *classes = results_allocate(results, CLASSES_IN_ALL * sizeof *classes);

    for (unsigned i = 0; i < ACCOUNT_COUNT; i++)
        classes[CLASS_OF_ACCOUNTS + i] =
            (struct timeline_class){account_descriptions[i].key, account_descriptions[i].title,
                                    account_descriptions[i].key};
    for (unsigned i = 0; i < KERNEL_CLASS_COUNT; i++)
        classes[CLASS_OF_KERNELS + i] = (struct timeline_class){
            kernel_class_key((enum kernel_class)i), kernel_class_title((enum kernel_class)i),
            account_descriptions[ledger_account_of_class(i)].key};
    for (unsigned i = 0; i < HOST_CLASS_COUNT; i++) {
        classes[CLASS_OF_HOST + i] = host_classes[i];
        classes[CLASS_OF_HOST + i].account =
            account_descriptions[account_of_host_class((enum host_class)i)].key;
    }
    memcpy(&classes[CLASS_OF_PHASES], phase_classes, sizeof phase_classes);
    *count = CLASSES_IN_ALL;
    return classes;
}

/* ---- which lanes there are ---- */

/* How many events of its own kind of lane an event lies in; those that mark modules have a lane of
 * their own and count for none. A parent stands before its children in the list, so that one
 * pass suffices: a child begins with what its parent counted. Two counts for each event, since
 * Python frames and operators lie in each other but are drawn in lanes of their own. Marks count
 * for neither, or every module would push its operators one row down; they are told by
 * DEPTH_OF_MARK here, and asked for once. */
static void find_depths(struct timeline_lanes *lanes)
{
    const struct trace *trace = lanes->trace;
    const uint32_t *parents = lanes->costs->contexts.parents;
    uint8_t(*both)[2] = require_memory(calloc((size_t)trace->host_count + 1, sizeof *both));

    lanes->depths = require_memory(calloc((size_t)trace->host_count + 1, 1));
    for (uint32_t i = 0; i < trace->host_count; i++) {
        const struct event *event = &trace->host[i];
        bool python = timeline_lanes_is_python(event);

        if (parents[i] != NO_EVENT)
            memcpy(both[i], both[parents[i]], sizeof both[i]);
        lanes->depths[i] = both[i][python];
        if (event->kind <= EVENT_OPERATOR && is_module_mark(trace, event))
            lanes->depths[i] = DEPTH_OF_MARK;
        else if (both[i][python] + 1 < DEPTH_OF_MARK)
            both[i][python]++;
    }
    free(both);
}

/* Of a stream, work that begins before what lies in a row has ended goes to the next row. First
 * fit over events by start: the work goes to the first row whose last piece has ended. Kernels
 * of a stream follow each other, so that nearly all are in row 0; graphs and some recorders give
 * overlaps, and of more than STREAM_ROWS at once the last row takes what is left, drawn one over
 * the other. */
static void find_device_rows(struct timeline_lanes *lanes)
{
    const struct trace *trace = lanes->trace;
    int64_t(*ends_ns)[STREAM_ROWS] =
        require_memory(malloc(((size_t)trace->track_count + 1) * sizeof *ends_ns));

    for (uint32_t i = 0; i < trace->track_count; i++)
        for (unsigned row = 0; row < STREAM_ROWS; row++)
            ends_ns[i][row] = INT64_MIN;
    lanes->device_rows = require_memory(calloc((size_t)trace->device_count + 1, 1));
    for (uint32_t i = 0; i < trace->device_count; i++) {
        const struct event *event = &trace->device[i];
        uint8_t row = 0;

        while (row + 1 < STREAM_ROWS && ends_ns[event->track][row] > event->start_ns)
            row++;
        if (event_end_ns(event) > ends_ns[event->track][row])
            ends_ns[event->track][row] = event_end_ns(event);
        lanes->device_rows[i] = row;
    }
    free(ends_ns);
}

static void timeline_lanes_add_lane(struct timeline_lanes *lanes, enum timeline_lane_kind kind,
                                    uint32_t track, uint32_t row_count)
{
    if (kind == TIMELINE_STREAM || kind == TIMELINE_THREAD)
        lanes->lane_of_track[track] = (uint32_t)lanes->count;
    lanes->lanes[lanes->count++] =
        (struct lane_source){.kind = kind, .track = track, .row_count = row_count};
}

/* A track, and what decides its place. */
struct ranked_track {
    uint32_t track;
    uint32_t event_count;
    bool is_first;
    int32_t device;
    int64_t stream;
};

/* Streams by device and number, as numbered by the driver; threads by events, since a busy
 * thread is what is looked for. The index of the track makes the order total. */
static int timeline_lanes_compare_tracks(const void *left, const void *right)
{
    const struct ranked_track *a = left;
    const struct ranked_track *b = right;

    if (a->is_first != b->is_first)
        return a->is_first ? -1 : 1;
    if (a->device != b->device)
        return a->device < b->device ? -1 : 1;
    if (a->device < 0 && a->event_count != b->event_count)
        return a->event_count > b->event_count ? -1 : 1;
    if (a->stream != b->stream)
        return a->stream < b->stream ? -1 : 1;
    return (a->track > b->track) - (a->track < b->track);
}

/* The streams, those of the ledger's device first; or the threads, that of the steps first and then
 * the busiest. [*count]; free() them. */
static struct ranked_track *rank_tracks(const struct timeline_lanes *lanes, bool is_device,
                                        const uint32_t *event_counts, size_t *count)
{
    const struct trace *trace = lanes->trace;
    const struct ledger *ledger = lanes->ledger;
    uint32_t step_track = ledger->step_count ? ledger->steps[0].window.track : NO_EVENT;
    struct ranked_track *ranked =
        require_memory(calloc((size_t)trace->track_count + 1, sizeof *ranked));

    *count = 0;
    for (uint32_t i = 0; i < trace->track_count; i++) {
        const struct track *track = &trace->tracks[i];

        if (track->is_device != is_device || event_counts[i] == 0)
            continue;
        ranked[(*count)++] = (struct ranked_track){
            .track = i,
            .event_count = event_counts[i],
            .is_first = is_device ? track->device == ledger->device : i == step_track,
            .device = is_device ? track->device : -1,
            .stream = track->stream};
    }
    qsort(ranked, *count, sizeof *ranked, timeline_lanes_compare_tracks);
    return ranked;
}

static void leave_out(struct timeline_lanes *lanes, const struct ranked_track *track)
{
    lanes->left_out_tracks++;
    lanes->left_out_events += track->event_count;
}

/* A trace of many devices has more streams than fit: those left out are counted and named on
 * the page, not silently missing. */
static void add_stream_lanes(struct timeline_lanes *lanes)
{
    const struct trace *trace = lanes->trace;
    uint32_t *counts = require_memory(calloc((size_t)trace->track_count + 1, sizeof *counts));
    uint32_t *rows = require_memory(calloc((size_t)trace->track_count + 1, sizeof *rows));
    struct ranked_track *ranked;
    size_t count;

    for (uint32_t i = 0; i < trace->device_count; i++) {
        uint32_t track = trace->device[i].track;

        counts[track]++;
        if (lanes->device_rows[i] + 1U > rows[track])
            rows[track] = lanes->device_rows[i] + 1U;
    }
    ranked = rank_tracks(lanes, true, counts, &count);
    for (size_t i = 0; i < count; i++) {
        if (i < STREAMS_MAX)
            timeline_lanes_add_lane(lanes, TIMELINE_STREAM, ranked[i].track, rows[ranked[i].track]);
        else
            leave_out(lanes, &ranked[i]);
    }
    free(ranked);
    free(rows);
    free(counts);
}

/* How many rows the lanes of a thread need. */
struct thread_rows {
    uint32_t operators;
    uint32_t python;
};

/* Python's frames have a lane of their own, so that its depth does not push the operators
 * down. */
static struct thread_rows rows_of_thread(const struct timeline_lanes *lanes, uint32_t index)
{
    const struct track *track = &lanes->trace->tracks[index];
    struct thread_rows rows = {0};

    for (uint32_t i = track->first_event; i < track->first_event + track->event_count; i++) {
        const struct event *event = &lanes->trace->host[i];
        uint32_t needed = lanes->depths[i] + 1U;

        if (timeline_lanes_is_python(event))
            rows.python = needed > rows.python ? needed : rows.python;
        else if (lanes->depths[i] != DEPTH_OF_MARK)
            rows.operators = needed > rows.operators ? needed : rows.operators;
    }
    return rows;
}

static uint32_t at_most(uint32_t number, uint32_t limit)
{
    return number < limit ? number : limit;
}

/* Modules above operators above Python frames: from the coarse to the fine. */
static void add_lanes_of_thread(struct timeline_lanes *lanes, uint32_t track)
{
    struct thread_rows rows = rows_of_thread(lanes, track);
    uint32_t module_rows = timeline_module_rows(lanes, track);

    if (module_rows > 0)
        timeline_lanes_add_lane(lanes, TIMELINE_MODULES, track, module_rows);
    if (rows.operators > 0)
        timeline_lanes_add_lane(lanes, TIMELINE_THREAD, track,
                                at_most(rows.operators, THREAD_ROWS));
    if (rows.python > 0)
        timeline_lanes_add_lane(lanes, TIMELINE_PYTHON, track, at_most(rows.python, PYTHON_ROWS));
}

/* The threads with the most events: data loaders may be hundreds, of which none says more than
 * another. */
static void add_thread_lanes(struct timeline_lanes *lanes)
{
    const struct trace *trace = lanes->trace;
    uint32_t *counts = require_memory(calloc((size_t)trace->track_count + 1, sizeof *counts));
    struct ranked_track *ranked;
    size_t count;

    for (uint32_t i = 0; i < trace->track_count; i++)
        counts[i] = trace->tracks[i].is_device ? 0 : trace->tracks[i].event_count;
    ranked = rank_tracks(lanes, false, counts, &count);
    for (size_t i = 0; i < count; i++) {
        if (i < THREADS_MAX)
            add_lanes_of_thread(lanes, ranked[i].track);
        else
            leave_out(lanes, &ranked[i]);
    }
    free(ranked);
    free(counts);
}

/* Depths and rows first: the number of rows that a lane needs is known from them. */
void timeline_lanes_find(struct timeline_lanes *lanes)
{
    const struct trace *trace = lanes->trace;
    size_t tracks = (size_t)trace->track_count + 1;

    lanes->lanes =
        require_memory(calloc(1 + STREAMS_MAX + 3 * (size_t)THREADS_MAX, sizeof *lanes->lanes));
    lanes->lane_of_track = require_memory(malloc(tracks * sizeof *lanes->lane_of_track));
    memset(lanes->lane_of_track, 0xff, tracks * sizeof *lanes->lane_of_track);
    find_depths(lanes);
    find_device_rows(lanes);
    if (!lanes->ledger->pieces)
        find_account_pieces(&lanes->own_accounts, trace, lanes->ledger);
    lanes->accounts = lanes->ledger->pieces ? lanes->ledger->pieces : &lanes->own_accounts;
    host_activity_init(&lanes->activity, trace);
    if (lanes->accounts->count > 0)
        timeline_lanes_add_lane(lanes, TIMELINE_ACCOUNTS, NO_EVENT, 1);
    add_stream_lanes(lanes);
    add_thread_lanes(lanes);
}

void timeline_lanes_clear(struct timeline_lanes *lanes)
{
    free(lanes->lanes);
    free(lanes->lane_of_track);
    free(lanes->depths);
    free(lanes->device_rows);
    account_pieces_clear(&lanes->own_accounts);
    host_activity_clear(&lanes->activity);
    *lanes = (struct timeline_lanes){0};
}

/* Threads are called by their name where they have one, since a number tells a reader nothing.
 * Modules and Python are lanes of their own of the same thread, so that the word before tells
 * them apart. */
const char *timeline_lane_title(struct results *results, const struct timeline_lanes *lanes,
                                const struct lane_source *lane)
{
    const struct trace *trace = lanes->trace;
    const struct track *track;
    const char *name;

    if (lane->track == NO_EVENT)
        return "accounts";
    track = &trace->tracks[lane->track];
    if (track->is_device && track->stream >= 0)
        return results_format(results, "stream %lld of device %d", (long long)track->stream,
                              track->device);
    name = results_text(results, trace_text(trace, track->thread_name));
    if (!*name)
        name = results_format(results, "%s %s", track->is_device ? "stream" : "thread",
                              trace_text(trace, track->thread));
    if (lane->kind == TIMELINE_MODULES)
        return results_format(results, "modules of %s", name);
    return lane->kind == TIMELINE_PYTHON ? results_format(results, "Python of %s", name) : name;
}

/* What its first row may hold; the rows of threads are many, and share their events. */
size_t timeline_lane_pieces(const struct timeline_lanes *lanes, uint32_t index)
{
    const struct lane_source *lane = &lanes->lanes[index];

    switch (lane->kind) {
    case TIMELINE_ACCOUNTS:
        return lanes->accounts->count;
    case TIMELINE_THREAD:
        return lanes->trace->tracks[lane->track].event_count / 2;
    case TIMELINE_STREAM:
    case TIMELINE_MODULES:
    case TIMELINE_PYTHON:
    case TIMELINE_PHASES:
    case TIMELINE_RANGES:
    case TIMELINE_ALLOCATIONS:
    case TIMELINE_SEGMENTS:
        break;
    }
    return 0;
}

/* By whatever function takes them. */
void timeline_lanes_walk(struct timeline_lanes *lanes, const struct piece_sink *sink)
{
    walk_lanes(lanes, sink->take, sink->context);
}
