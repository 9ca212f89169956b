/* The critical path of each step of a job of pipelines. */
#include "critical_path/pipeline_path.h"

#include "base/core/invariant.h"
#include "base/core/percentile.h"
#include "critical_path/task_path.h"

#include <stdlib.h>

struct following {
    struct pipeline_path *out;
    const struct pipeline_replay *simulation;
    const struct pipeline_job *job;
    struct timed_tasks tasks;
    uint32_t *last_of_step; /* [steps]: the operation that ends last */
    int64_t *deadlines_ns;  /* [ops]: the end of its step */
    int64_t *slacks_ns;     /* [ops] */
};

/* A worker is one stage of one data-parallel rank: rows are by (data rank, stage), stages of
 * one rank side by side. */
static size_t worker_of(const struct pipeline_job *job, const struct pipeline_op *op)
{
    return (size_t)op->data_rank * job->stage_count + op->stage;
}

/* Each step is measured by itself: its path ends with its own last operation, and an
 * operation's slack is towards the end of its step, as work of the next step cannot make up
 * for a late one. Of operations that end together the first in the file counts. */
static void pipeline_path_find_ends(struct following *following)
{
    const struct pipeline_job *job = following->job;
    const int64_t *ends_ns = following->simulation->ends_ns;

    following->last_of_step =
        require_memory(calloc(job->step_count + 1, sizeof *following->last_of_step));
    following->deadlines_ns =
        require_memory(calloc(job->op_count + 1, sizeof *following->deadlines_ns));
    for (size_t i = 0; i < job->step_count; i++)
        following->last_of_step[i] = NO_TASK;
    for (size_t i = 0; i < job->op_count; i++) {
        uint32_t *last = &following->last_of_step[job->ops[i].step];

        if (*last == NO_TASK || ends_ns[i] > ends_ns[*last])
            *last = (uint32_t)i;
    }
    for (size_t i = 0; i < job->op_count; i++)
        following->deadlines_ns[i] = ends_ns[following->last_of_step[job->ops[i].step]];
}

/* Operations begin at the start of their step at the earliest: what of the path lies before it is
 * another step's. */
static void follow_step(struct following *following, uint32_t step)
{
    const struct pipeline_job *job = following->job;
    struct timed_tasks tasks = following->tasks;
    struct task_path path = {.count = 0};

    tasks.measured = &following->last_of_step[step];
    tasks.measured_count = following->last_of_step[step] != NO_TASK;
    find_task_path(&path, &tasks);
    for (size_t i = 0; i < path.count; i++) {
        const struct path_piece *piece = &path.pieces[i];
        const struct pipeline_op *op = &job->ops[piece->task];
        int64_t ns = piece->end_ns - piece->start_ns;

        if (piece->part != PIECE_WORK || op->step != step)
            continue;
        following->out->length_ns += ns;
        following->out->kinds[op->kind].path_ns += ns;
        following->out->workers[worker_of(job, op)].path_ns += ns;
    }
    task_path_clear(&path);
}

static void sum_op(struct pipeline_path_row *row, int64_t duration_ns)
{
    row->total_ns += duration_ns;
    row->count++;
}

/* The slacks of the operations that `row_of` gives the same row, side by side; rows know how many
 * they are. */
static void find_slacks(struct pipeline_path_row *rows, size_t row_count,
                        const struct following *following,
                        size_t (*row_of)(const struct pipeline_job *job,
                                         const struct pipeline_op *op))
{
    const struct pipeline_job *job = following->job;
    size_t *next = require_memory(calloc(row_count + 1, sizeof *next));
    int64_t *slacks_ns = require_memory(calloc(job->op_count + 1, sizeof *slacks_ns));

    for (size_t row = 1; row < row_count; row++)
        next[row] = next[row - 1] + rows[row - 1].count;
    for (size_t i = 0; i < job->op_count; i++)
        slacks_ns[next[row_of(job, &job->ops[i])]++] = following->slacks_ns[i];
    for (size_t row = 0; row < row_count; row++) {
        int64_t *first = &slacks_ns[next[row] - rows[row].count];

        rows[row].least_ns = percentile_of(first, rows[row].count, 0);
        rows[row].median_ns = percentile_of(first, rows[row].count, 50);
    }
    free(next);
    free(slacks_ns);
}

static size_t pipeline_path_kind_of(const struct pipeline_job *job, const struct pipeline_op *op)
{
    (void)job;
    return op->kind;
}

static void pipeline_path_fill_rows(struct following *following)
{
    const struct pipeline_job *job = following->job;
    size_t workers = (size_t)job->data_rank_count * job->stage_count;

    following->tasks.deadlines_ns = following->deadlines_ns;
    following->slacks_ns = require_memory(calloc(job->op_count + 1, sizeof(int64_t)));
    find_task_slack(following->slacks_ns, &following->tasks);
    for (size_t i = 0; i < job->op_count; i++) {
        sum_op(&following->out->kinds[job->ops[i].kind], job->ops[i].duration_ns);
        sum_op(&following->out->workers[worker_of(job, &job->ops[i])], job->ops[i].duration_ns);
    }
    find_slacks(following->out->kinds, PIPELINE_KIND_COUNT, following, pipeline_path_kind_of);
    find_slacks(following->out->workers, workers, following, worker_of);
}

/* The critical path of the replay with recorded durations, in which waits are those that the
 * order of the pipeline demands: what is left of a step beside its path is bubbles, and of
 * operations off the path the slack says how much longer they could take. O(operations) per
 * step, since following a path looks at its own tasks only. */
void find_pipeline_path(struct pipeline_path *path, struct pipeline_replay *simulation)
{
    static const struct op_choice everything = {.data_rank = -1, .stage = -1};
    const struct pipeline_job *job = simulation->job;
    size_t workers = (size_t)job->data_rank_count * job->stage_count;
    struct following following = {.out = path, .simulation = simulation, .job = job};
    struct step_times times = {0};

    replayed_step_times(simulation, &everything, simulation->recorded_ns, simulation->recorded_ns,
                        &times);
    /* Replayed for what it leaves in `simulation` (starts and ends), not for the step times. */
    step_times_clear(&times);
    path->kinds = require_memory(calloc(PIPELINE_KIND_COUNT, sizeof *path->kinds));
    path->workers = require_memory(calloc(workers + 1, sizeof *path->workers));
    following.tasks = (struct timed_tasks){.graph = &simulation->graph,
                                           .durations_ns = simulation->recorded_ns,
                                           .starts_ns = simulation->starts_ns,
                                           .ends_ns = simulation->ends_ns};
    pipeline_path_find_ends(&following);
    for (uint32_t step = 0; step < job->step_count; step++)
        follow_step(&following, step);
    pipeline_path_fill_rows(&following);
    free(following.last_of_step);
    free(following.deadlines_ns);
    free(following.slacks_ns);
}

void pipeline_path_clear(struct pipeline_path *path)
{
    free(path->kinds);
    free(path->workers);
    *path = (struct pipeline_path){0};
}
