/* The ledger: each nanosecond of each step booked to one account.
 *
 * The device's timeline says which classes of work run from one change to the next. Over each such
 * stretch of a step, work goes to the first class that is open, by a fixed order (compute before
 * communication before copies), so that what runs side by side is counted once; a stretch in which
 * nothing runs is a gap and goes to its causes (ledger/idle_gap).
 *
 * What holds, and is checked in every build: no account of a step is negative, and the accounts of
 * a step sum to its duration, to the nanosecond. O(changes + gaps log n): the cursor into the
 * timeline only moves forward. */
#include "base/core/array.h"
#include "base/core/invariant.h"
#include "base/core/large_array.h"
#include "base/text/prefix.h"
#include "ledger/class_timeline.h"
#include "ledger/host_activity.h"
#include "ledger/idle_gap.h"
#include "ledger/kernel_class.h"
#include "ledger/step_ledger.h"
#include "trace/name_answers.h"
#include "trace/optimizer_time.h"
#include "trace/trace.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ---- work of the device ---------------------------------------------------------------------- */

/* What a device runs when: its kernels, or on a CPU its operators, as one timeline of classes. */

/* What an event of a CPU thread can be beside the classes of the ledger. */
enum {
    NO_WORK = LEDGER_CLASS_COUNT,
    NO_STEP_WORK, /* in the data loader, or compiling: idle for the step, whatever runs in it */
};

/* Loaders that pin memory copy on a thread of their own, others inside the step's own loading
 * range: either says that the copy brings a batch. Without its launch a copy stays a plain
 * copy. */
static bool is_input_copy(struct host_activity *activity, uint32_t index, uint32_t step_thread)
{
    const struct trace *trace = activity->trace;
    const struct event *event = &trace->device[index];
    const struct event *launch;
    uint32_t data = (uint32_t)1 << HOST_DATA;

    if (event->kind != EVENT_MEMCPY || trace->launch[index] == NO_EVENT)
        return false;
    if (!strstr(trace_text(trace, event->name), "HtoD"))
        return false;
    launch = &trace->host[trace->launch[index]];
    return host_activity_is_open(activity, launch->track, data, launch->start_ns) ||
           host_activity_is_open(activity, step_thread, data, launch->start_ns);
}

/* Kernels, copies and memsets of `device`. `classes`: of each of trace->device. Copies to the
 * device that were launched inside data loading (on their own thread or on `step_thread`) get the
 * class LEDGER_DATA_COPY. */
static void build_device_timeline(struct class_timeline *timeline, struct host_activity *activity,
                                  const uint8_t *classes, int32_t device, uint32_t step_thread)
{
    const struct trace *trace = activity->trace;

    for (uint32_t i = 0; i < trace->device_count; i++) {
        const struct event *event = &trace->device[i];
        unsigned class = classes[i];

        if (trace->tracks[event->track].device != device)
            continue;
        if (is_input_copy(activity, i, step_thread))
            class = LEDGER_DATA_COPY;
        class_timeline_add(timeline, class, event->start_ns, event_end_ns(event));
    }
    class_timeline_finish(timeline);
}

/* A stretch of one thread in which one operator is the innermost. */
struct interval {
    int64_t start_ns;
    int64_t end_ns;
    unsigned class;
};

struct intervals {
    struct interval *items;
    size_t count;
};

/* Data loading gets no interval: the step is idle in it, and the gap's cause says why. */
static void device_timeline_add_interval(struct intervals *intervals, struct interval interval)
{
    if (interval.start_ns >= interval.end_ns || interval.class == NO_STEP_WORK)
        return;
    ARRAY_ADD(intervals->items, intervals->count, interval);
}

/* Operators inside each other on one thread: deeper ones count to the one around them. */
enum { OPEN_OPERATORS_MAX = 512 };

/* The operators open on one thread, outermost first. */
struct open_operators {
    int64_t end_ns[OPEN_OPERATORS_MAX];
    unsigned class[OPEN_OPERATORS_MAX];
    unsigned depth;
    int64_t reached_ns; /* all before is cut into stretches */
};

/* Cuts the time up to `time_ns` into stretches, closing the operators that end on the way. */
static void advance(struct open_operators *open, int64_t time_ns, struct intervals *intervals)
{
    while (open->depth) {
        unsigned top = open->depth - 1;
        int64_t until_ns = open->end_ns[top] < time_ns ? open->end_ns[top] : time_ns;

        device_timeline_add_interval(
            intervals, (struct interval){open->reached_ns, until_ns, open->class[top]});
        if (until_ns > open->reached_ns)
            open->reached_ns = until_ns;
        if (open->end_ns[top] > time_ns)
            break;
        open->depth--;
    }
    if (time_ns > open->reached_ns)
        open->reached_ns = time_ns;
}

/* The class of a range or operator on a CPU, or NO_WORK where the event is no work at all.
 * `inside`: the class of what encloses it, or NO_WORK. */
static unsigned cpu_class(struct name_answers *compiles, const struct trace *trace,
                          const struct event *event, unsigned inside)
{
    const char *name = trace_text(trace, event->name);
    enum kernel_class class;

    if (event->kind != EVENT_OPERATOR && event->kind != EVENT_ANNOTATION)
        return NO_WORK;
    if (has_prefix(name, "ProfilerStep"))
        return NO_WORK;
    if (inside == NO_STEP_WORK || is_data_loading(name) ||
        name_answer(compiles, trace, event->name))
        return NO_STEP_WORK;
    class = host_event_class(trace, event);
    /* On a CPU the processor itself moves the bytes: that is work, no copy beside it. */
    if (class == KERNEL_COPY)
        class = KERNEL_INDEXING;
    if (class == KERNEL_MEMSET)
        class = KERNEL_ELEMENTWISE;
    if (event->kind == EVENT_ANNOTATION)
        return class == KERNEL_COMMUNICATION ? (unsigned)class : (unsigned)NO_WORK;
    if (inside == KERNEL_COMMUNICATION || kernel_class_is_matrix(class))
        return inside == KERNEL_COMMUNICATION ? inside : (unsigned)class;
    /* What a matrix operator calls to do its work is part of it, as what an optimizer calls. */
    if (inside < NO_WORK && class == KERNEL_COMPUTE_OTHER)
        return inside;
    return class;
}

/* gloo and MPI transfer and reduce on the processor: what runs inside their ranges is of the
 * transfer. A range of another backend only lies around the calls that launch it on a device. */
static bool transfers_on_the_processor(const char *range)
{
    return has_prefix(range, "gloo:") || has_prefix(range, "mpi:");
}

/* A range that is called like a collective and holds other operators is of the program. */
static bool holds_operators(const struct trace *trace, uint32_t thread, uint32_t range)
{
    const struct track *track = &trace->tracks[thread];
    int64_t end_ns = event_end_ns(&trace->host[track->first_event + range]);

    for (uint32_t i = range + 1; i < track->event_count; i++) {
        const struct event *event = &trace->host[track->first_event + i];

        if (event->start_ns >= end_ns)
            break;
        if (event->kind == EVENT_OPERATOR)
            return host_event_class(trace, event) != KERNEL_COMMUNICATION;
    }
    return false;
}

/* Each instant of a thread goes to its innermost operator: events come sorted by start with
 * the outer first, so a stack of the open ones suffices, and each is pushed and closed once.
 * O(events). An event that begins before the last reached moment (clocks of a damaged file)
 * adds nothing, since reached_ns only grows. */
static void cut_thread(const struct trace *trace, uint32_t thread, struct name_answers *compiles,
                       const struct optimizer_time *optimizer, struct intervals *intervals)
{
    const struct track *track = &trace->tracks[thread];
    struct open_operators open = {.reached_ns = INT64_MIN};

    for (uint32_t i = 0; i < track->event_count; i++) {
        const struct event *event = &trace->host[track->first_event + i];
        unsigned inside = NO_WORK;
        unsigned class;

        advance(&open, event->start_ns, intervals);
        if (open.depth)
            inside = open.class[open.depth - 1];
        class = cpu_class(compiles, trace, event, inside);
        if (event->kind == EVENT_ANNOTATION && class == KERNEL_COMMUNICATION &&
            !transfers_on_the_processor(trace_text(trace, event->name)) &&
            holds_operators(trace, thread, i))
            continue;
        if (class == NO_WORK || open.depth == OPEN_OPERATORS_MAX)
            continue;
        /* As for kernels (classify_device_events): the optimizer's own matmuls (Muon, Shampoo)
         * stay matmuls, since their FLOPs are counted as such. */
        if (class < KERNEL_COMMUNICATION && !kernel_class_is_matrix((enum kernel_class) class) &&
            is_optimizer_time(optimizer, thread, event->start_ns))
            class = KERNEL_OPTIMIZER;
        open.end_ns[open.depth] = event_end_ns(event);
        open.class[open.depth++] = class;
    }
    advance(&open, INT64_MAX, intervals);
}

static int compare_intervals(const void *left, const void *right)
{
    const struct interval *a = left;
    const struct interval *b = right;

    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    return a->end_ns < b->end_ns ? -1 : a->end_ns > b->end_ns;
}

/* CPU only: the threads that execute operators are the device. Each instant of a thread has the
 * class of its innermost operator; operators inside data loading and compiling are no work of the
 * step and leave it idle. */
static void build_cpu_timeline(struct class_timeline *timeline, const struct trace *trace)
{
    struct intervals intervals = {0};
    struct optimizer_time optimizer = {0};
    struct name_answers compiles = {.ask = is_compilation};

    find_optimizer_time(&optimizer, trace);
    for (uint32_t i = 0; i < trace->track_count; i++) {
        if (!trace->tracks[i].is_device)
            cut_thread(trace, i, &compiles, &optimizer, &intervals);
    }
    free(compiles.answers);
    optimizer_time_clear(&optimizer);
    /* The timeline wants its events in order of their starts, and each thread gave its own. */
    if (intervals.count)
        qsort(intervals.items, intervals.count, sizeof(*intervals.items), compare_intervals);
    for (size_t i = 0; i < intervals.count; i++)
        class_timeline_add(timeline, intervals.items[i].class, intervals.items[i].start_ns,
                           intervals.items[i].end_ns);
    class_timeline_finish(timeline);
    free(intervals.items);
}

/* ---- gap events ------------------------------------------------------------------------------ */

/* Which event of the host explains a gap: of the events that make its main account, the one that
 * was innermost for the longest part of it. */

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

/* From the launch on, the gap is the launch's latency, which no event of the host explains. */
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

/* Only events of the gap's own account are watched, and those that lie around them: a gap is
 * explained by the one that had most of it. Nested ones are kept on a stack, so that time goes
 * to the innermost; deeper than the stack, it stays with the one around. */
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

/* `watched`: the gaps of one thread, in order; they do not overlap. A sweep of events and gaps,
 * both in order of their starts: gaps that ended before an event can meet no later one, so
 * `first` only moves forward, and an event is shown to the gaps that it reaches into alone. */
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

/* Fills in host_event of each gap, as step_ledger.h defines it. One pass over the threads that the
 * gaps name. */
static void find_gap_events(struct host_activity *activity, struct idle_gap *gaps, uint32_t count)
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
    /* Thread by thread: gaps of one thread are answered by one walk over its events. */
    for (size_t from = 0, to; from < kept; from = to) {
        for (to = from + 1; to < kept && watched[to].gap->thread == watched[from].gap->thread;)
            to++;
        watch_thread(activity, &watched[from], to - from);
    }
    free(watched);
}

/* ---- attribute steps ------------------------------------------------------------------------- */

/* Everything that booking needs, while it goes on. */
struct attribution {
    const struct trace *trace;
    struct ledger *ledger;
    struct host_activity *activity; /* ledger->activity */
    struct device_work work;
    size_t cursor; /* in ledger->timeline */
};

/* A copy or memset beside compute is counted here, too, though its account is compute: the
 * sums of communication and copies are of all their time, of which the accounts have the
 * exposed part. */
static const uint32_t communication_mask = (uint32_t)1 << KERNEL_COMMUNICATION;
static const uint32_t copy_mask = (uint32_t)1 << KERNEL_COPY | (uint32_t)1 << LEDGER_DATA_COPY;
static const uint32_t memset_mask = (uint32_t)1 << KERNEL_MEMSET;

uint32_t ledger_compute_mask(void)
{
    return ((uint32_t)1 << (KERNEL_COMPUTE_OTHER + 1)) - 1;
}

/* The order of the classes is the order of the accounts, see attribute_work: the lowest bit of
 * a mask decides for the whole stretch. */
enum account ledger_account_of_class(unsigned class)
{
    if (class == LEDGER_DATA_COPY)
        return ACCOUNT_DATA_COPY;
    if (kernel_class_is_matrix((enum kernel_class) class))
        return ACCOUNT_MATRIX;
    if (kernel_class_is_compute((enum kernel_class) class))
        return ACCOUNT_OTHER_COMPUTE;
    return class == KERNEL_COMMUNICATION ? ACCOUNT_COMMUNICATION : ACCOUNT_COPY;
}

/* Books a stretch of a step in which the classes of `mask`, at least one, run on the device. */
static void attribute_work(struct step_ledger *step, uint32_t mask, int64_t ns)
{
    unsigned class = (unsigned)__builtin_ctz(mask);

    /* The lowest class that is open: compute, then communication, then copies. What runs
     * beside it is hidden behind it, and each nanosecond has one account only. */
    step->account_ns[ledger_account_of_class(class)] += ns;
    step->class_ns[class == LEDGER_DATA_COPY ? KERNEL_COPY : class] += ns;
    step->busy_ns += ns;
    if (mask & communication_mask) {
        step->communication_ns += ns;
        if (mask & ledger_compute_mask())
            step->hidden_communication_ns += ns;
    }
    if (mask & copy_mask)
        step->copy_ns += ns;
    if (mask & memset_mask)
        step->memset_ns += ns;
}

/* Longest first, then the earliest: which of equal gaps are kept must not hang on the heap's
 * order. */
static bool is_worse(const struct idle_gap *a, const struct idle_gap *b)
{
    int64_t a_ns = a->end_ns - a->start_ns;
    int64_t b_ns = b->end_ns - b->start_ns;

    return a_ns != b_ns ? a_ns > b_ns : a->start_ns < b->start_ns;
}

/* The worst of those kept is at the top, which the next better one replaces. */
static void sink(struct idle_gap *heap, uint32_t count, uint32_t at)
{
    for (uint32_t child = 2 * at + 1; child < count; child = 2 * at + 1) {
        struct idle_gap swap = heap[at];

        if (child + 1 < count && is_worse(&heap[child], &heap[child + 1]))
            child++;
        if (!is_worse(&heap[at], &heap[child]))
            return;
        heap[at] = heap[child];
        heap[child] = swap;
        at = child;
    }
}

/* Keeps the longest gaps: a heap with the shortest of them on top, once it is full. */
static void keep_gap(struct ledger *ledger, const struct idle_gap *gap)
{
    ledger->gap_count++;
    if (ledger->worst_gap_count < WORST_GAPS_MAX) {
        ledger->worst_gaps[ledger->worst_gap_count++] = *gap;
        if (ledger->worst_gap_count == WORST_GAPS_MAX) {
            /* A heap at once, in O(n), rather than one insertion after the other: traces with
             * few gaps never pay for it. */
            for (uint32_t at = WORST_GAPS_MAX / 2; at-- > 0;)
                sink(ledger->worst_gaps, WORST_GAPS_MAX, at);
        }
        return;
    }
    if (!is_worse(gap, &ledger->worst_gaps[0]))
        return;
    ledger->worst_gaps[0] = *gap;
    sink(ledger->worst_gaps, WORST_GAPS_MAX, 0);
}

static void attribute_gap(struct attribution *attribution, uint32_t step, int64_t start_ns,
                          int64_t end_ns)
{
    struct idle_gap gap = {
        .start_ns = start_ns, .end_ns = end_ns, .step = step, .host_event = NO_EVENT};

    attribute_idle_gap(&attribution->ledger->steps[step], &gap, &attribution->work,
                       attribution->activity);
    keep_gap(attribution->ledger, &gap);
}

/* One stretch after the other, as the device's timeline changes. */
static void attribute_step(struct attribution *attribution, uint32_t index)
{
    struct ledger *ledger = attribution->ledger;
    struct step_ledger *step = &ledger->steps[index];
    int64_t time_ns = step->window.start_ns;
    struct timeline_walk walk = timeline_walk_from(&ledger->timeline, time_ns, attribution->cursor);

    /* Each turn takes the time to the next change or to the step's end: it ends since changes
     * are strictly later than each other. The parts are disjoint and cover the window, which
     * is why the accounts sum to its duration (check_step). */
    while (time_ns < step->window.end_ns) {
        uint32_t mask = walk.mask;
        int64_t until_ns = walk.next_ns < step->window.end_ns ? walk.next_ns : step->window.end_ns;

        if (mask)
            attribute_work(step, mask, until_ns - time_ns);
        else
            attribute_gap(attribution, index, time_ns, until_ns);
        if (mask && ledger->pieces)
            account_pieces_add(
                ledger->pieces,
                (struct account_piece){time_ns, until_ns, index,
                                       ledger_account_of_class((unsigned)__builtin_ctz(mask))});
        time_ns = until_ns;
        timeline_walk_to(&walk, time_ns);
    }
    attribution->cursor = timeline_walk_cursor(&walk);
}

/* Asked in release builds, too: a ledger that does not add up must end the program rather than
 * be printed. */
static void check_step(const struct step_ledger *step)
{
    int64_t sum_ns = 0;

    for (unsigned account = 0; account < ACCOUNT_COUNT; account++) {
        require_invariant(step->account_ns[account] >= 0, "no account of a step is negative");
        sum_ns += step->account_ns[account];
    }
    require_invariant(sum_ns == step->window.end_ns - step->window.start_ns,
                      "the accounts of a step sum to its duration");
}

/* Time between the windows, and how much of it the device worked. */
static void attribute_between(struct attribution *attribution)
{
    struct ledger *ledger = attribution->ledger;

    for (uint32_t i = 1; i < ledger->step_count; i++) {
        int64_t time_ns = ledger->steps[i - 1].window.end_ns;
        int64_t end_ns = ledger->steps[i].window.start_ns;
        struct timeline_walk walk = timeline_walk_from(&ledger->timeline, time_ns, 0);

        ledger->between_steps_ns += end_ns - time_ns;
        while (time_ns < end_ns) {
            int64_t until_ns = walk.next_ns < end_ns ? walk.next_ns : end_ns;

            if (walk.mask)
                ledger->between_steps_busy_ns += until_ns - time_ns;
            time_ns = until_ns;
            timeline_walk_to(&walk, time_ns);
        }
    }
}

static int step_ledger_compare_gaps(const void *left, const void *right)
{
    return is_worse(left, right) ? -1 : is_worse(right, left) ? 1 : 0;
}

static void finish_worst_gaps(struct attribution *attribution)
{
    struct ledger *ledger = attribution->ledger;

    qsort(ledger->worst_gaps, ledger->worst_gap_count, sizeof(ledger->worst_gaps[0]),
          step_ledger_compare_gaps);
    find_gap_events(attribution->activity, ledger->worst_gaps, ledger->worst_gap_count);
}

/* Of several devices in one file (one process that drives two, or a merged trace) the one with
 * the most events is the one that is meant most likely; a tie goes to the first, as devices
 * are sorted. */
static int32_t choose_device(const struct trace *trace, int32_t wanted)
{
    const struct device *best = NULL;

    if (wanted >= 0)
        return wanted;
    for (uint32_t i = 0; i < trace->device_list_count; i++) {
        const struct device *device = &trace->devices[i];

        if (device->event_count && (!best || device->event_count > best->event_count))
            best = device;
    }
    return best ? best->number : -1;
}

/* By number, as a user gives them, not by place: a trace of steps 100 to 110 has no step 0. */
static void step_ledger_choose_steps(struct ledger *ledger, const struct step_windows *windows,
                                     const struct ledger_options *options)
{
    ledger->steps = require_memory(calloc((size_t)windows->count + 1, sizeof(*ledger->steps)));
    for (uint32_t i = 0; i < windows->count; i++) {
        int64_t number = windows->windows[i].number;

        if (number >= options->first_step && number <= options->last_step)
            ledger->steps[ledger->step_count++].window = windows->windows[i];
    }
    ledger->source = windows->source;
}

static void build_timeline(struct attribution *attribution)
{
    struct ledger *ledger = attribution->ledger;
    const struct trace *trace = attribution->trace;
    /* Steps of one trace are marked by one thread (keep_one_thread), so the first one's stands
     * for all. */
    uint32_t step_thread = ledger->step_count ? ledger->steps[0].window.track : NO_EVENT;

    if (ledger->is_cpu_only) {
        build_cpu_timeline(&ledger->timeline, trace);
        attribution->work.main_thread = busiest_thread(trace);
        return;
    }
    build_device_timeline(&ledger->timeline, attribution->activity, ledger->classes, ledger->device,
                          step_thread);
}

/* A range that is a step explains no idle time in it. */
static void leave_out_steps(struct host_activity *activity, const struct step_windows *windows)
{
    for (uint32_t i = 0; i < windows->count; i++)
        host_activity_leave_out(activity, windows->windows[i].name);
}

/* Before steps are chosen by number: which clock fits is measured on all steps, so that a range of
 * steps is shown by the same clock as the whole. */
void find_ledger_steps(struct ledger *ledger, struct step_windows *windows,
                       const struct trace *trace, const struct ledger_options *options)
{
    ledger->device = choose_device(trace, options->device);
    ledger->is_cpu_only = ledger->device < 0;
    if (options->step_pattern)
        find_steps_by_pattern(windows, trace, options->step_pattern);
    else
        find_step_windows(windows, trace, options->choice, ledger->device);
    ledger->clocks = choose_step_clock(windows, trace, ledger->device, options->clock);
    step_ledger_choose_steps(ledger, windows, options);
}

void attribute_steps(struct ledger *ledger, const struct step_windows *windows,
                     const struct trace *trace, const struct ledger_options *options)
{
    struct attribution attribution = {.trace = trace, .ledger = ledger};

    ledger->classes = classify_device_events(trace);
    ledger->activity = require_memory(calloc(1, sizeof *ledger->activity));
    attribution.activity = ledger->activity;
    host_activity_init(ledger->activity, trace);
    if (windows->source == WINDOW_RANGES)
        leave_out_steps(ledger->activity, windows);
    device_work_init(&attribution.work, trace, ledger->device);
    if (options->keeps_pieces)
        ledger->pieces = require_memory(calloc(1, sizeof *ledger->pieces));
    attribution.work.pieces = ledger->pieces;
    build_timeline(&attribution);
    for (uint32_t i = 0; i < ledger->step_count; i++) {
        attribute_step(&attribution, i);
        check_step(&ledger->steps[i]);
    }
    attribute_between(&attribution);
    finish_worst_gaps(&attribution);
    device_work_clear(&attribution.work);
}

void ledger_clear(struct ledger *ledger)
{
    free(ledger->steps);
    large_array_free(ledger->classes);
    class_timeline_clear(&ledger->timeline);
    if (ledger->activity)
        host_activity_clear(ledger->activity);
    free(ledger->activity);
    if (ledger->pieces)
        free(ledger->pieces->pieces);
    free(ledger->pieces);
    *ledger = (struct ledger){0};
}
