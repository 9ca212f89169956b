/* How much longer work could take without the end of the steps moving, by name or by track. */
#include "base/core/invariant.h"
#include "base/core/large_array.h"
#include "base/core/percentile.h"
#include "critical_path/steps_path.h"

#include <stdlib.h>
#include <string.h>

/* What becomes of one id. */
struct growing_row {
    int64_t total_ns;
    int64_t least_ns;
    size_t count;
    size_t next; /* where its next slack goes */
};

struct slack_sums {
    const struct steps_path *path;
    bool is_by_name;
    const int64_t *event_slacks_ns; /* [device_count] */
    struct growing_row *of_id;      /* [id_count] */
    uint32_t step;                  /* where the last piece was */
    int64_t *slacks_ns;             /* of all pieces, by id; NULL while they are counted */
};

/* Of each of trace->device, the slack of its work: that of its own task, or of the task that stands
 * for it until it leaves room for others. INT64_MAX: not in the graph.
 * large_array_free() it. The least of the two tasks counts: the kernel may be late by no more
 * than what is behind either of them. */
static int64_t *slack_of_events(const struct steps_path *path)
{
    const struct trace_graph *graph = path->graph;
    uint32_t count = graph->trace->device_count;
    int64_t *slacks_ns = large_array_new((count + (size_t)1) * sizeof *slacks_ns);

    for (uint32_t i = 0; i < count; i++)
        slacks_ns[i] = INT64_MAX;
    for (size_t i = 0; i < graph->graph.task_count; i++) {
        const struct trace_task *task = &graph->tasks[i];

        if ((task->kind == TASK_DEVICE || task->kind == TASK_ROOM) &&
            path->slacks_ns[i] < slacks_ns[task->whose])
            slacks_ns[task->whose] = path->slacks_ns[i];
    }
    return slacks_ns;
}

/* Called twice for all pieces, first to count, then to fill: the slacks of one id lie side by
 * side then, in one block and without a list per id. A piece outside of all steps has no time
 * in them and does not count. */
static void path_slack_take_piece(struct slack_sums *sums, uint32_t id, int64_t slack_ns,
                                  const int64_t range_ns[2])
{
    int64_t ns = time_in_steps_ns(sums->path->graph->ledger, range_ns, &sums->step);
    struct growing_row *row = &sums->of_id[id];

    if (ns == 0)
        return;
    if (sums->slacks_ns) {
        sums->slacks_ns[row->next++] = slack_ns;
        return;
    }
    row->total_ns += ns;
    if (row->count++ == 0 || slack_ns < row->least_ns)
        row->least_ns = slack_ns;
}

/* By the recorded times of the event, not those of its task: a kernel that leaves room is two
 * tasks and one kernel. */
static void collect_device_pieces(struct slack_sums *sums)
{
    const struct trace *trace = sums->path->graph->trace;

    for (uint32_t i = 0; i < trace->device_count; i++) {
        const struct event *event = &trace->device[i];

        if (sums->event_slacks_ns[i] != INT64_MAX)
            path_slack_take_piece(sums, sums->is_by_name ? event->name : event->track,
                                  sums->event_slacks_ns[i],
                                  (int64_t[2]){event->start_ns, event_end_ns(event)});
    }
}

/* Host tasks have no event of their own: their pieces are where the pinned graph has them.
 * Durations of 0 are hand-overs, which nobody sees on a track. */
static void collect_host_pieces(struct slack_sums *sums)
{
    const struct steps_path *path = sums->path;
    const struct trace_graph *graph = path->graph;

    for (size_t i = 0; i < graph->graph.task_count; i++) {
        int64_t end_ns = graph->start_ns + path->pinned.ends_ns[i];
        uint32_t track = trace_task_track(&graph->tasks[i]);

        if (track != NO_EVENT && path->pinned.durations_ns[i] > 0)
            path_slack_take_piece(sums, track, path->slacks_ns[i],
                                  (int64_t[2]){end_ns - path->pinned.durations_ns[i], end_ns});
    }
}

static void collect_pieces(struct slack_sums *sums)
{
    collect_device_pieces(sums);
    if (!sums->is_by_name)
        collect_host_pieces(sums);
}

/* Whose rows are sorted. */
struct slack_names {
    const struct trace *trace; /* NULL: rows are of tracks */
};

/* Numbers of names depend on the order of the events in the file. Numbers of names depend on the
 * order of the events in the file, so equals are sorted by the text. */
static int path_slack_longest_first(const void *left, const void *right, void *context)
{
    const struct slack_row *a = left, *b = right;
    const struct slack_names *names = context;

    if (a->total_ns != b->total_ns)
        return a->total_ns > b->total_ns ? -1 : 1;
    if (names->trace)
        return strcmp(trace_text(names->trace, a->id), trace_text(names->trace, b->id));
    return (a->id > b->id) - (a->id < b->id);
}

/* Time on the path of each name of work of the device, or of each track; free() it. */
static int64_t *path_time_of(const struct steps_path *path, bool is_by_name, size_t id_count)
{
    const struct trace *trace = path->graph->trace;
    int64_t *times_ns = require_memory(calloc(id_count + 1, sizeof *times_ns));

    for (size_t i = 0; i < path->sum_count; i++) {
        const struct path_sum *sum = &path->sums[i];

        if (sum->track == NO_EVENT)
            continue;
        if (trace->tracks[sum->track].is_device ? sum->name != 0 : !is_by_name)
            times_ns[is_by_name ? sum->name : sum->track] += sum->total_ns;
    }
    return times_ns;
}

/* Puts the slacks of each id side by side; large_array_free() them. `next` of an id ends where
 * the next id begins: after the second pass next - count is its first. */
static void sort_slacks(struct slack_sums *sums, size_t id_count)
{
    size_t place = 0;

    for (size_t id = 0; id < id_count; id++) {
        sums->of_id[id].next = place;
        place += sums->of_id[id].count;
    }
    sums->slacks_ns = large_array_new((place + 1) * sizeof *sums->slacks_ns);
    collect_pieces(sums);
}

/* The slacks of one row lie next to each other, placed there by counting first: the median
 * needs no copy. */
static void path_slack_fill_rows(struct slack_rows *rows, const struct slack_sums *sums,
                                 const int64_t *path_ns, size_t id_count)
{
    struct slack_names names = {.trace = sums->is_by_name ? sums->path->graph->trace : NULL};

    rows->rows = require_memory(calloc(id_count + 1, sizeof *rows->rows));
    for (size_t id = 0; id < id_count; id++) {
        const struct growing_row *row = &sums->of_id[id];
        int64_t *slacks_ns = &sums->slacks_ns[row->next - row->count];

        if (row->count > 0)
            rows->rows[rows->count++] =
                (struct slack_row){.id = (uint32_t)id,
                                   .count = (int64_t)row->count,
                                   .total_ns = row->total_ns,
                                   .path_ns = path_ns[id],
                                   .least_ns = row->least_ns,
                                   .median_ns = percentile_of(slacks_ns, row->count, 50)};
    }
    qsort_r(rows->rows, rows->count, sizeof *rows->rows, path_slack_longest_first, &names);
}

/* Per row the least and the median: the least says how soon a speed-up of others makes it
 * critical, the median whether that is so for all of its calls or for one. */
static void make_rows(struct slack_rows *rows, const struct steps_path *path, bool is_by_name)
{
    const struct trace *trace = path->graph->trace;
    size_t id_count = is_by_name ? string_pool_count(&trace->strings) : trace->track_count;
    int64_t *path_ns = path_time_of(path, is_by_name, id_count);
    int64_t *event_slacks_ns = slack_of_events(path);
    struct slack_sums sums = {.path = path,
                              .is_by_name = is_by_name,
                              .event_slacks_ns = event_slacks_ns,
                              .of_id = require_memory(calloc(id_count + 1, sizeof *sums.of_id))};

    collect_pieces(&sums);
    sort_slacks(&sums, id_count);
    path_slack_fill_rows(rows, &sums, path_ns, id_count);
    large_array_free(sums.slacks_ns);
    free(sums.of_id);
    large_array_free(event_slacks_ns);
    free(path_ns);
}

void slack_of_kernels(struct slack_rows *rows, const struct steps_path *path)
{
    make_rows(rows, path, true);
}

void slack_of_tracks(struct slack_rows *rows, const struct steps_path *path)
{
    make_rows(rows, path, false);
}

void slack_rows_clear(struct slack_rows *rows)
{
    free(rows->rows);
    *rows = (struct slack_rows){0};
}
