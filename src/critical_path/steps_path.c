/* The critical path through the recorded steps. */
#include "critical_path/steps_path.h"

#include "base/core/array.h"
#include "base/core/invariant.h"
#include "base/core/large_array.h"
#include "ledger/step_finder.h"

#include <stdlib.h>

/* ---- intervals of the host ------------------------------------------------------------------- */

/* What a host thread was in during certain stretches of time, event by event: the time of each
 * moment belongs to one recorded event, or to none. */

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

/* The first stretch that ends after `time_ns` is the next one. Intervals are in order of time
 * and disjoint: `first` moves forward alone, so a whole thread is split in O(events +
 * intervals). */
static void pass_intervals(struct splitting *splitting, int64_t time_ns)
{
    const struct host_intervals *all = splitting->intervals;

    while (splitting->first < all->count && splitting->next_ns[1] <= time_ns)
        if (++splitting->first < all->count) {
            splitting->next_ns[0] = all->base_ns + piece_at(all, splitting->first)->start_ns;
            splitting->next_ns[1] = all->base_ns + piece_at(all, splitting->first)->end_ns;
        }
}

/* Hands the time from what is given out to `until_ns` to the event, cut where intervals begin
 * and end: an event may lie in several of them, and an interval across several events. Time
 * outside of the intervals goes to nobody. */
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

/* The class of lowest number explains most (as in host_activity_walk): an operator inside of a
 * data loader's range is still loading. Then the time is that of the outer event, which
 * `owner` finds, so that one event is counted once however many lie in it. */
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

/* Intervals and events both come by start, so that one walk splits all of them: before an
 * event begins, the time up to it goes to whatever is open. The first event is the thread's
 * first, since one that began long before may still be open. */
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
        /* An event that ends before the next interval begins explains nothing of it, and
         * neither does what lies in it. */
        if (splitting.first < intervals->count && event_end_ns(event) > splitting.next_ns[0])
            open_event(&splitting, activity, index);
    }
    go_on(&splitting, intervals->base_ns + piece_at(intervals, intervals->count - 1)->end_ns);
    free(splitting.open);
}

/* ---- kinds of segments ----------------------------------------------------------------------- */

/* What a link of the critical path is: which work, or which wait. */

const struct path_kind_description path_kinds[PATH_KIND_COUNT] = {
#define PATH_KIND(id, group_, key_, title_, account_) \
    [PATH_##id] = {.group = PATH_GROUP_##group_,      \
                   .key = (key_),                     \
                   .title = (title_),                 \
                   .account = ACCOUNT_##account_},
#include "critical_path/path_kind_list.def"
#undef PATH_KIND
};

const struct path_group_description path_groups[PATH_GROUP_COUNT] = {
#define PATH_GROUP(id, key_, words_) [PATH_GROUP_##id] = {.key = (key_), .words = (words_)},
#include "critical_path/path_kind_list.def"
#undef PATH_GROUP
};

/* The same order as the accounts of the ledger, so that a kind's time on the path can be held
 * against its account. */
static enum path_kind path_kind_of_device(enum kernel_class class)
{
    if (class == KERNEL_COMMUNICATION)
        return PATH_COMMUNICATION;
    if (class == KERNEL_COPY || class == KERNEL_MEMSET)
        return PATH_COPY;
    return kernel_class_is_matrix(class) ? PATH_MATRIX : PATH_OTHER_COMPUTE;
}

static enum path_kind path_kind_of_host(enum host_class class)
{
    static const enum path_kind kinds[HOST_CLASS_COUNT] = {
        [HOST_COMPILATION] = PATH_COMPILATION,
        [HOST_DATA] = PATH_DATA,
        [HOST_SYNC] = PATH_SYNC,
        [HOST_ALLOCATOR] = PATH_ALLOCATOR,
        [HOST_GARBAGE] = PATH_GARBAGE,
        [HOST_CAPTURE] = PATH_RUNTIME,
        [HOST_RUNTIME] = PATH_RUNTIME,
        [HOST_SYSTEM] = PATH_SYSTEM,
        [HOST_OPERATOR] = PATH_OPERATOR,
        [HOST_ANNOTATION] = PATH_ANNOTATION,
        [HOST_PYTHON] = PATH_PYTHON,
        [HOST_NOTHING] = PATH_NOTHING,
    };

    return kinds[class];
}

/* ---- steps path ------------------------------------------------------------------------------ */

/* The device's own hand-over from work to work, and what a launch may take beyond its usual time,
 * are shorter; what is longer nothing explains. As in replay/device_links.c. */
static const int64_t longest_hand_over_ns = 10000;

enum { SUMS_SEEN = 1024 };

/* The piece of a thread that is split at the moment. */
struct split_piece {
    int64_t longest_ns; /* its longest part so far */
    uint32_t index;     /* in path->pieces */
    uint32_t track;
    uint8_t task_kind; /* enum trace_task_kind */
};

struct finding_path {
    struct steps_path *path;
    const struct trace *trace;
    const struct ledger *ledger;
    struct host_activity activity;
    struct split_piece split;
    uint32_t step;            /* where the last stretch was booked */
    uint32_t seen[SUMS_SEEN]; /* by a few bits of what they sum: their place in path->sums */
};

/* ---- sums ---- */

/* The first step that ends after `time_ns`. `*last`: where the last question was answered.
 * Pieces come nearly in order of time: mostly the last answer is right, and two comparisons
 * tell; else a binary search. */
static uint32_t step_ending_after(const struct ledger *ledger, int64_t time_ns, uint32_t *last)
{
    if (*last >= ledger->step_count || ledger->steps[*last].window.end_ns <= time_ns ||
        (*last > 0 && ledger->steps[*last - 1].window.end_ns > time_ns))
        *last = first_step_after(ledger, time_ns);
    return *last;
}

static bool is_inside(const struct ledger *ledger, uint32_t step, const int64_t range_ns[2])
{
    return step < ledger->step_count && ledger->steps[step].window.start_ns <= range_ns[0] &&
           ledger->steps[step].window.end_ns >= range_ns[1];
}

static int64_t steps_path_shared_ns(const struct step_window *window, const int64_t range_ns[2])
{
    int64_t start_ns = window->start_ns > range_ns[0] ? window->start_ns : range_ns[0];
    int64_t end_ns = window->end_ns < range_ns[1] ? window->end_ns : range_ns[1];

    return end_ns > start_ns ? end_ns - start_ns : 0;
}

/* What is asked for lies in one step nearly always; the loop is for what crosses a boundary or
 * lies between two. */
int64_t time_in_steps_ns(const struct ledger *ledger, const int64_t range_ns[2], uint32_t *last)
{
    int64_t sum_ns = 0;

    if (is_inside(ledger, *last, range_ns))
        return range_ns[1] - range_ns[0];
    for (uint32_t step = step_ending_after(ledger, range_ns[0], last);
         step < ledger->step_count && ledger->steps[step].window.start_ns < range_ns[1]; step++)
        sum_ns += steps_path_shared_ns(&ledger->steps[step].window, range_ns);
    return sum_ns;
}

/* Both numbers fit into 32 bits (a trace has fewer tracks than events), and PATH_KIND_COUNT
 * kinds a track keep track and kind apart. */
static uint64_t sum_key(enum path_kind kind, uint32_t name, uint32_t track)
{
    return pair_key(name, track * PATH_KIND_COUNT + (uint32_t)kind);
}

uint32_t steps_path_sum_of_event(const struct steps_path *path, uint32_t event)
{
    const struct event *work = &path->graph->trace->device[event];
    enum kernel_class class = (enum kernel_class)path->graph->ledger->classes[event];

    return hash_map_find(&path->sum_of,
                         sum_key(path_kind_of_device(class), work->name, work->track));
}

/* Sums are found by number, never by address, as the array moves when it grows. */
static struct path_sum *steps_path_sum_of(struct steps_path *path, enum path_kind kind,
                                          uint32_t name, uint32_t track)
{
    uint32_t place =
        hash_map_add(&path->sum_of, sum_key(kind, name, track), (uint32_t)path->sum_count);

    if (place == path->sum_count) {
        ARRAY_ADD(path->sums, path->sum_count,
                  (struct path_sum){.name = name, .track = track, .kind = (uint8_t)kind});
    }
    return &path->sums[place];
}

/* The same, without asking the map where the sum was used a short while ago. A path has some ten
 * kinds of segments again and again: a small table in front of the map, where a wrong guess
 * costs a look into the map and nothing else. */
static struct path_sum *seen_sum(struct finding_path *finding, enum path_kind kind, uint32_t name,
                                 uint32_t track)
{
    struct steps_path *path = finding->path;
    uint32_t *seen = &finding->seen[(name * PATH_KIND_COUNT + (uint32_t)kind + track) % SUMS_SEEN];
    const struct path_sum *last = *seen < path->sum_count ? &path->sums[*seen] : NULL;

    if (!last || last->name != name || last->track != track || last->kind != (uint8_t)kind)
        *seen = (uint32_t)(steps_path_sum_of(path, kind, name, track) - path->sums);
    return &path->sums[*seen];
}

/* A stretch of the path, and what it is booked to. */
struct attribution {
    int64_t range_ns[2];
    uint32_t name;
    uint32_t track;
    enum path_kind kind;
    bool is_counted; /* not a further part of what was counted */
};

/* Books it to each step that it lies in. */
static void attribute_in_parts(struct finding_path *finding, const struct attribution *attribution)
{
    const struct ledger *ledger = finding->ledger;
    struct path_sum *sum = NULL;

    for (uint32_t step = step_ending_after(ledger, attribution->range_ns[0], &finding->step);
         step < ledger->step_count &&
         ledger->steps[step].window.start_ns < attribution->range_ns[1];
         step++) {
        int64_t ns = steps_path_shared_ns(&ledger->steps[step].window, attribution->range_ns);

        if (ns == 0)
            continue;
        if (!sum) {
            sum = seen_sum(finding, attribution->kind, attribution->name, attribution->track);
            sum->count += attribution->is_counted;
        }
        sum->total_ns += ns;
        finding->path->kinds_ns[step][attribution->kind] += ns;
    }
}

/* Books it to the steps that it lies in, most often one. */
static void steps_path_attribute(struct finding_path *finding,
                                 const struct attribution *attribution)
{
    int64_t ns = attribution->range_ns[1] - attribution->range_ns[0];
    struct path_sum *sum;

    if (!is_inside(finding->ledger, finding->step, attribution->range_ns)) {
        attribute_in_parts(finding, attribution);
        return;
    }
    sum = seen_sum(finding, attribution->kind, attribution->name, attribution->track);
    sum->count += attribution->is_counted;
    sum->total_ns += ns;
    finding->path->kinds_ns[finding->step][attribution->kind] += ns;
}

/* ---- links ---- */

/* What a piece that waits for its start waited in. */
static enum path_kind kind_of_wait(const struct trace_graph *graph, const struct path_piece *piece)
{
    if (piece->part == PIECE_FLOOR || piece->end_ns - piece->start_ns > longest_hand_over_ns)
        return PATH_UNEXPLAINED;
    return graph->tasks[piece->other].kind == TASK_DELAY ? PATH_LAUNCH_LATENCY : PATH_DEVICE_GAP;
}

/* From a call to its work. What lies in the call of a copy before the copy starts is told apart:
 * the call copies to a buffer of its own first, or waits. */
static enum path_kind kind_of_latency(const struct trace_graph *graph,
                                      const struct path_piece *piece)
{
    const struct trace_task *task = &graph->tasks[piece->other];
    bool is_copy = graph->trace->device[task->whose].kind == EVENT_MEMCPY;

    return is_copy && piece->end_ns - piece->start_ns > longest_hand_over_ns ? PATH_COPY_DELAY
                                                                             : PATH_LAUNCH_LATENCY;
}

/* Of pieces of threads: what they are before they are split. */
static enum path_kind kind_of_piece(const struct trace_graph *graph, const struct path_piece *piece)
{
    const struct trace_task *task = &graph->tasks[piece->task];

    if (piece->part != PIECE_WORK)
        return kind_of_wait(graph, piece);
    if (task->kind == TASK_DELAY)
        return kind_of_latency(graph, piece);
    if (trace_task_event(task) != NO_EVENT)
        return path_kind_of_device((enum kernel_class)graph->ledger->classes[task->whose]);
    return PATH_HAND_OVER;
}

/* A delay has no event of its own: it is shown with the kernel that it holds up. */
struct path_link steps_path_link(const struct steps_path *path, size_t index)
{
    const struct trace_graph *graph = path->graph;
    const struct path_piece *piece = &path->pieces.pieces[index];
    const struct trace_task *task = &graph->tasks[piece->task];
    struct path_link link = {.start_ns = graph->start_ns + piece->start_ns,
                             .end_ns = graph->start_ns + piece->end_ns,
                             .track = trace_task_track(task),
                             .event = trace_task_event(task),
                             .kind = piece->kind};

    if (task->kind == TASK_DELAY)
        link.event = trace_task_event(&graph->tasks[piece->other]);
    if (link.event != NO_EVENT)
        link.track = graph->trace->device[link.event].track;
    return link;
}

static bool is_work_of_thread(const struct steps_path *path, size_t index)
{
    const struct path_piece *piece = &path->pieces.pieces[index];

    return piece->part == PIECE_WORK &&
           trace_task_track(&path->graph->tasks[piece->task]) != NO_EVENT;
}

/* Threads' own work is left to split_threads, which needs its pieces in order of the thread;
 * the rest is known from the piece itself. Times are added to sums by name and track, and to
 * each step's kinds. */
static void attribute_links(struct finding_path *finding)
{
    struct steps_path *path = finding->path;

    for (size_t i = 0; i < path->pieces.count; i++) {
        struct path_piece *piece = &path->pieces.pieces[i];
        struct path_link link;
        bool is_named;

        piece->kind = (uint8_t)kind_of_piece(path->graph, piece);
        if (is_work_of_thread(path, i))
            continue;
        link = steps_path_link(path, i);
        is_named = piece->part == PIECE_WORK &&
                   trace_task_event(&path->graph->tasks[piece->task]) != NO_EVENT;
        steps_path_attribute(
            finding,
            &(struct attribution){.range_ns = {link.start_ns, link.end_ns},
                                  .name = is_named ? finding->trace->device[link.event].name : 0,
                                  .track = link.track,
                                  .kind = (enum path_kind)link.kind,
                                  .is_counted = true});
    }
}

/* ---- links of threads ---- */

/* The runtime's call is a launch where it launched something that the path waits for, a
 * synchronization where it waited; other calls of the runtime are overhead. */
static enum path_kind kind_of_part(const struct split_piece *piece, enum host_class class)
{
    if (class == HOST_RUNTIME && piece->task_kind == TASK_CALL)
        return PATH_LAUNCH_CALL;
    if (class == HOST_RUNTIME && piece->task_kind == TASK_SYNC)
        return PATH_SYNC;
    return path_kind_of_host(class);
}

/* A piece of a thread is drawn in one color: that of the kind that it was in for the longest
 * single part. */
static void steps_path_take_part(void *context, const struct host_part *part)
{
    struct finding_path *finding = context;
    struct split_piece *piece = &finding->split;
    struct attribution attribution = {.range_ns = {part->start_ns, part->end_ns},
                                      .is_counted = part->is_first};

    if (part->piece != piece->index) {
        const struct steps_path *path = finding->path;
        const struct trace_task *task = &path->graph->tasks[path->pieces.pieces[part->piece].task];

        *piece = (struct split_piece){
            .index = part->piece, .track = trace_task_track(task), .task_kind = task->kind};
    }
    attribution.kind = kind_of_part(piece, part->class);
    attribution.track = piece->track;
    attribution.name = part->event == NO_EVENT ? 0 : finding->trace->host[part->event].name;
    steps_path_attribute(finding, &attribution);
    if (part->end_ns - part->start_ns > piece->longest_ns) {
        piece->longest_ns = part->end_ns - part->start_ns;
        finding->path->pieces.pieces[part->piece].kind = (uint8_t)attribution.kind;
    }
}

/* Pieces of threads by thread: those of `track` end before first[track + 1]; free() both. A
 * counting sort: pieces of one thread stay in their order, which is that of time. first[track]
 * counts up to the end of the track while they are placed, and so is its beginning once all are. */
static uint32_t *sort_by_thread(const struct steps_path *path, size_t **first)
{
    const struct trace_graph *graph = path->graph;
    size_t tracks = graph->trace->track_count, *next;
    uint32_t *sorted = require_memory(calloc(path->pieces.count + 1, sizeof *sorted));

    *first = require_memory(calloc(tracks + 2, sizeof **first));
    next = *first + 1;
    for (size_t i = 0; i < path->pieces.count; i++)
        if (is_work_of_thread(path, i))
            next[graph->tasks[path->pieces.pieces[i].task].whose + 1]++;
    for (size_t track = 1; track <= tracks; track++)
        next[track] += next[track - 1];
    for (size_t i = 0; i < path->pieces.count; i++)
        if (is_work_of_thread(path, i))
            sorted[next[graph->tasks[path->pieces.pieces[i].task].whose]++] = (uint32_t)i;
    return sorted;
}

/* Asks what each thread did in its links. */
static void split_threads(struct finding_path *finding)
{
    const struct steps_path *path = finding->path;
    struct host_part_visitor visitor = {steps_path_take_part, finding};
    size_t *first;
    uint32_t *sorted = sort_by_thread(path, &first);

    for (uint32_t track = 0; track < finding->trace->track_count; track++)
        split_host_intervals(&finding->activity,
                             &(struct host_intervals){.pieces = path->pieces.pieces,
                                                      .chosen = &sorted[first[track]],
                                                      .count = first[track + 1] - first[track],
                                                      .base_ns = path->graph->start_ns,
                                                      .track = track},
                             &visitor);
    free(sorted);
    free(first);
}

/* Time of a step before the first link or after the last: nothing tells of it. By subtraction,
 * so that the kinds of a step sum to its duration, as the accounts of the ledger do. */
static void attribute_rest(struct finding_path *finding)
{
    const struct ledger *ledger = finding->ledger;

    for (uint32_t step = 0; step < ledger->step_count; step++) {
        const struct step_window *window = &ledger->steps[step].window;
        struct path_sum *sum;
        int64_t rest_ns = window->end_ns - window->start_ns;

        for (int kind = 0; kind < PATH_KIND_COUNT; kind++)
            rest_ns -= finding->path->kinds_ns[step][kind];
        if (rest_ns <= 0)
            continue;
        sum = steps_path_sum_of(finding->path, PATH_UNEXPLAINED, 0, NO_EVENT);
        sum->count++;
        sum->total_ns += rest_ns;
        finding->path->kinds_ns[step][PATH_UNEXPLAINED] += rest_ns;
    }
}

/* ---- all ---- */

/* The path is found in the pinned graph (pinned_steps.c), thus in recorded times: it says what
 * decided the end of this run. Marks of steps are left out of the host's activity, since they
 * lie around everything and explain nothing. */
void find_steps_path(struct steps_path *path, const struct trace_graph *graph)
{
    const struct ledger *ledger = graph->ledger;
    struct finding_path finding = {
        .path = path, .trace = graph->trace, .ledger = ledger, .split = {.index = UINT32_MAX}};
    struct timed_tasks tasks;

    path->graph = graph;
    path->kinds_ns = require_memory(calloc(ledger->step_count + (size_t)1, sizeof *path->kinds_ns));
    path->slacks_ns = large_array_new((graph->graph.task_count + 1) * sizeof *path->slacks_ns);
    pin_steps(&path->pinned, graph);
    /* Slack and path are of the same times, so that links of the path have a slack of zero. */
    tasks = pinned_tasks(&path->pinned);
    find_task_slack(path->slacks_ns, &tasks);
    find_task_path(&path->pieces, &tasks);
    host_activity_init(&finding.activity, graph->trace);
    for (uint32_t i = 0; i < ledger->step_count; i++)
        host_activity_leave_out(&finding.activity, ledger->steps[i].window.name);
    attribute_links(&finding);
    split_threads(&finding);
    attribute_rest(&finding);
    host_activity_clear(&finding.activity);
}

/* Several analyses ask for the path of one rank: it is found once and shared. */
const struct steps_path *steps_path_of(struct steps_path *shared, struct steps_path *own,
                                       const struct trace_graph *graph)
{
    struct steps_path *path = shared ? shared : own;

    if (!path->graph)
        find_steps_path(path, graph);
    return path;
}

void steps_path_clear(struct steps_path *path)
{
    pinned_steps_clear(&path->pinned);
    task_path_clear(&path->pieces);
    hash_map_clear(&path->sum_of);
    large_array_free(path->slacks_ns);
    free(path->kinds_ns);
    free(path->sums);
    *path = (struct steps_path){0};
}
