/* Where the course of host threads is cut: calls, and hand-overs from thread to thread. */
#include "replay/host_cuts.h"

#include "base/core/array.h"
#include "base/core/invariant.h"
#include "base/core/large_array.h"
#include "base/core/search.h"

#include <stdlib.h>
#include <string.h>

/* Silence shorter than this is part of what the thread does. */
static const int64_t shortest_silence_ns = 20000;

static void add_cut(struct host_cuts *cuts, struct host_cut cut)
{
    LARGE_ARRAY_ADD(cuts->cuts, cuts->count, cut);
}

static int compare_cuts(const void *left, const void *right)
{
    const struct host_cut *a = left, *b = right;

    if (a->track != b->track)
        return a->track < b->track ? -1 : 1;
    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    if (a->end_ns != b->end_ns)
        return a->end_ns > b->end_ns ? -1 : 1;
    return (a->kind > b->kind) - (a->kind < b->kind);
}

static void sort_cuts(struct host_cuts *cuts)
{
    if (cuts->count > 0)
        qsort(cuts->cuts, cuts->count, sizeof *cuts->cuts, compare_cuts);
}

/* ---- calls ---- */

static void host_cuts_add_calls(struct host_cuts *cuts, struct host_activity *activity,
                                const int64_t range_ns[2], const uint8_t *is_launch)
{
    const struct trace *trace = activity->trace;

    for (uint32_t i = 0; i < trace->host_count; i++) {
        const struct event *event = &trace->host[i];
        bool is_sync =
            event->kind == EVENT_RUNTIME_CALL && host_activity_class(activity, event) == HOST_SYNC;

        if (event->start_ns < range_ns[0] || event->start_ns >= range_ns[1])
            continue;
        if (is_launch[i] || is_sync)
            add_cut(cuts, (struct host_cut){.start_ns = event->start_ns,
                                            .end_ns = event_end_ns(event),
                                            .track = event->track,
                                            .host_event = i,
                                            .partner = NO_EVENT,
                                            .kind = is_launch[i] ? CUT_LAUNCH : CUT_SYNC});
    }
}

/* ---- hand-overs ---- */

struct busy_interval {
    int64_t start_ns;
    int64_t end_ns;
};

/* When a thread does anything that is recorded. */
struct busy_thread {
    uint32_t track;
    struct busy_interval *intervals; /* [count] */
    size_t count;
};

struct busy_threads {
    struct busy_thread *threads; /* [count] */
    size_t count;
};

/* Ranges and Python frames say nothing: they are open while the thread waits for another. */
static bool is_doing(enum host_class class)
{
    return class != HOST_NOTHING && class != HOST_ANNOTATION && class != HOST_PYTHON;
}

static void note_busy(void *context, enum host_class class, int64_t start_ns, int64_t end_ns)
{
    struct busy_thread *thread = context;

    if (!is_doing(class))
        return;
    if (thread->count > 0 &&
        start_ns - thread->intervals[thread->count - 1].end_ns < shortest_silence_ns) {
        thread->intervals[thread->count - 1].end_ns = end_ns;
        return;
    }
    LARGE_ARRAY_ADD(thread->intervals, thread->count, (struct busy_interval){start_ns, end_ns});
}

static void find_busy_threads(struct busy_threads *busy, const struct host_cuts *cuts,
                              struct host_activity *activity, const int64_t range_ns[2])
{
    busy->threads =
        require_memory(calloc(activity->trace->track_count + (size_t)1, sizeof *busy->threads));
    for (size_t i = 0; i < cuts->count; i++) {
        uint32_t track = cuts->cuts[i].track;
        struct busy_thread *thread;

        if (busy->count > 0 && busy->threads[busy->count - 1].track == track)
            continue;
        thread = &busy->threads[busy->count++];
        thread->track = track;
        host_activity_walk(activity, track, NO_EVENT, range_ns,
                           &(struct host_piece_visitor){note_busy, thread});
    }
}

static void busy_threads_clear(struct busy_threads *busy)
{
    for (size_t i = 0; i < busy->count; i++)
        large_array_free(busy->threads[i].intervals);
    free(busy->threads);
}

/* When the thread last fell silent at or before `time_ns`; INT64_MIN where it is busy then, or was
 * never. */
static int64_t silent_since(const struct busy_thread *thread, int64_t time_ns)
{
    size_t low = LOWER_BOUND(i, 0, thread->count, thread->intervals[i].start_ns <= time_ns);

    if (low == 0 || thread->intervals[low - 1].end_ns > time_ns)
        return INT64_MIN;
    return thread->intervals[low - 1].end_ns;
}

/* A thread that begins again after a silence in which another fell silent was woken by that. */
static void add_hand_over(struct host_cuts *cuts, const struct busy_threads *busy, size_t woken,
                          const int64_t silence_ns[2])
{
    int64_t last_ns = INT64_MIN;
    uint32_t waker = NO_EVENT;

    for (size_t i = 0; i < busy->count; i++) {
        int64_t since_ns = i == woken ? INT64_MIN : silent_since(&busy->threads[i], silence_ns[1]);

        if (since_ns > silence_ns[0] && since_ns > last_ns) {
            last_ns = since_ns;
            waker = busy->threads[i].track;
        }
    }
    if (waker == NO_EVENT)
        return;
    add_cut(cuts, (struct host_cut){.start_ns = last_ns,
                                    .end_ns = last_ns,
                                    .track = waker,
                                    .host_event = NO_EVENT,
                                    .partner = NO_EVENT,
                                    .kind = CUT_HANDS_OVER});
    add_cut(cuts, (struct host_cut){.start_ns = silence_ns[1],
                                    .end_ns = silence_ns[1],
                                    .idle_since_ns = silence_ns[0],
                                    .track = busy->threads[woken].track,
                                    .host_event = NO_EVENT,
                                    .partner = waker,
                                    .kind = CUT_TAKES_OVER});
}

static void add_hand_overs(struct host_cuts *cuts, const struct busy_threads *busy, int64_t from_ns)
{
    for (size_t t = 0; t < busy->count; t++) {
        const struct busy_thread *thread = &busy->threads[t];

        for (size_t i = 0; i < thread->count; i++)
            add_hand_over(cuts, busy, t,
                          (int64_t[2]){i == 0 ? from_ns : thread->intervals[i - 1].end_ns,
                                       thread->intervals[i].start_ns});
    }
}

/* Until here partners are tracks, and the moment of the hand-over is the latest there. */
static void join_partners(struct host_cuts *cuts)
{
    for (size_t i = 0; i < cuts->count; i++) {
        struct host_cut *cut = &cuts->cuts[i];
        size_t low;

        if (cut->kind != CUT_TAKES_OVER)
            continue;
        low = LOWER_BOUND(k, 0, cuts->count,
                          cuts->cuts[k].track != cut->partner
                              ? cuts->cuts[k].track < cut->partner
                              : cuts->cuts[k].start_ns <= cut->start_ns);
        while (low > 0 && cuts->cuts[low - 1].kind != CUT_HANDS_OVER)
            low--;
        require_invariant(low > 0 && cuts->cuts[low - 1].track == cut->partner,
                          "who takes over has a partner who hands over");
        cut->partner = (uint32_t)low - 1;
    }
}

/* Of trace->host, whether it launched chosen work. */
static uint8_t *find_launches(const struct trace *trace, const uint8_t *is_chosen)
{
    uint8_t *is_launch = large_array_new(trace->host_count + (size_t)1);

    for (uint32_t i = 0; i < trace->device_count; i++)
        if (is_chosen[i] && trace->launch[i] != NO_EVENT)
            is_launch[trace->launch[i]] = 1;
    return is_launch;
}

static void host_cuts_add_end(struct host_cuts *cuts, const struct ledger *ledger)
{
    const struct step_window *last = &ledger->steps[ledger->step_count - 1].window;

    if (last->track != NO_EVENT)
        add_cut(cuts, (struct host_cut){.start_ns = last->end_ns,
                                        .end_ns = last->end_ns,
                                        .track = last->track,
                                        .host_event = NO_EVENT,
                                        .partner = NO_EVENT,
                                        .kind = CUT_END});
}

void find_host_cuts(struct host_cuts *cuts, const struct ledger *ledger,
                    struct host_activity *activity, const int64_t range_ns[2],
                    const uint8_t *is_chosen)
{
    uint8_t *is_launch = find_launches(activity->trace, is_chosen);
    struct busy_threads busy = {0};

    host_cuts_add_calls(cuts, activity, range_ns, is_launch);
    host_cuts_add_end(cuts, ledger);
    large_array_free(is_launch);
    sort_cuts(cuts);
    find_busy_threads(&busy, cuts, activity, range_ns);
    add_hand_overs(cuts, &busy, range_ns[0]);
    busy_threads_clear(&busy);
    sort_cuts(cuts);
    join_partners(cuts);
}

void host_cuts_clear(struct host_cuts *cuts)
{
    large_array_free(cuts->cuts);
    *cuts = (struct host_cuts){0};
}
