/* What stragglers cost a job of pipelines. */
#include "replay/pipeline_replay.h"

#include "base/core/invariant.h"
#include "replay/pipeline_graph.h"

#include <stdlib.h>
#include <string.h>

static int64_t *zeroed_times(size_t count)
{
    return require_memory(calloc(count + 1, sizeof(int64_t)));
}

/* ---- usual times ---- */

static int compare_times(const void *one, const void *other)
{
    int64_t a = *(const int64_t *)one;
    int64_t b = *(const int64_t *)other;

    return (a > b) - (a < b);
}

/* Of two in the middle their mean. Sorts them. */
static int64_t pipeline_replay_median_of(int64_t *times, size_t count)
{
    qsort(times, count, sizeof *times, compare_times);
    return count % 2 ? times[count / 2] : (times[count / 2 - 1] + times[count / 2] + 1) / 2;
}

static int64_t pipeline_replay_mean_of(const int64_t *times, size_t count)
{
    double sum = 0;

    for (size_t i = 0; i < count; i++)
        sum += (double)times[i];
    return (int64_t)(sum / (double)count + 0.5);
}

static void pipeline_replay_find_usual_times(struct pipeline_replay *simulation)
{
    const struct pipeline_job *job = simulation->job;
    int64_t *times = zeroed_times(job->op_count);

    for (int kind = 0; kind < PIPELINE_KIND_COUNT; kind++) {
        size_t count = 0;
        int64_t usual;

        for (size_t i = 0; i < job->op_count; i++)
            if (job->ops[i].kind == kind)
                times[count++] = job->ops[i].duration_ns;
        if (count == 0)
            continue;
        usual = pipeline_kind_communicates((enum pipeline_kind)kind)
                    ? pipeline_replay_median_of(times, count)
                    : pipeline_replay_mean_of(times, count);
        for (size_t i = 0; i < job->op_count; i++)
            if (job->ops[i].kind == kind)
                simulation->usual_ns[i] = usual;
    }
    free(times);
}

/* ---- beginning ---- */

static void find_step_starts(struct pipeline_replay *simulation)
{
    const struct pipeline_job *job = simulation->job;

    for (size_t i = 0; i < job->step_count; i++)
        simulation->step_starts_ns[i] = INT64_MAX;
    for (size_t i = 0; i < job->op_count; i++)
        if (job->ops[i].start_ns < simulation->step_starts_ns[job->ops[i].step])
            simulation->step_starts_ns[job->ops[i].step] = job->ops[i].start_ns;
    for (size_t i = 0; i < job->op_count; i++)
        simulation->floors_ns[i] = simulation->step_starts_ns[job->ops[i].step];
}

static bool fail_on_circle(const struct pipeline_job *job, uint32_t stuck, struct error *error)
{
    const struct pipeline_op *op = &job->ops[stuck];

    return error_set(
        error, ERROR_INPUT,
        "the operations of step %lld wait for each other in a circle (%s of data rank "
        "%u, stage %u, is one of them): their order is not that of a pipeline schedule "
        "known here",
        (long long)job->steps[op->step], pipeline_kind_name((enum pipeline_kind)op->kind),
        op->data_rank, op->stage);
}

bool pipeline_replay_begin(struct pipeline_replay *simulation, const struct pipeline_job *job,
                           struct error *error)
{
    uint32_t stuck = 0;

    simulation->job = job;
    simulation->recorded_ns = zeroed_times(job->op_count);
    simulation->usual_ns = zeroed_times(job->op_count);
    simulation->step_starts_ns = zeroed_times(job->step_count);
    simulation->floors_ns = zeroed_times(job->op_count);
    simulation->starts_ns = zeroed_times(job->op_count);
    simulation->ends_ns = zeroed_times(job->op_count);
    for (size_t i = 0; i < job->op_count; i++)
        simulation->recorded_ns[i] = job->ops[i].duration_ns;
    pipeline_replay_find_usual_times(simulation);
    find_step_starts(simulation);
    build_pipeline_graph(&simulation->graph, job);
    return task_graph_finish(&simulation->graph, &stuck) || fail_on_circle(job, stuck, error);
}

/* ---- step times ---- */

/* From the ends of the operations. */
static void collect_step_times(const struct pipeline_replay *simulation, const int64_t *ends_ns,
                               struct step_times *times)
{
    const struct pipeline_job *job = simulation->job;
    double sum = 0;

    times->steps_ns = zeroed_times(job->step_count);
    for (size_t i = 0; i < job->op_count; i++) {
        uint32_t step = job->ops[i].step;
        int64_t length = ends_ns[i] - simulation->step_starts_ns[step];

        if (length > times->steps_ns[step])
            times->steps_ns[step] = length;
    }
    for (size_t i = 0; i < job->step_count; i++)
        sum += (double)times->steps_ns[i];
    times->mean_ns = sum / (double)job->step_count;
}

void recorded_step_times(const struct pipeline_replay *simulation, struct step_times *times)
{
    const struct pipeline_job *job = simulation->job;
    int64_t *ends = zeroed_times(job->op_count);

    for (size_t i = 0; i < job->op_count; i++)
        ends[i] = job->ops[i].start_ns + job->ops[i].duration_ns;
    collect_step_times(simulation, ends, times);
    free(ends);
}

static bool pipeline_replay_is_chosen(const struct pipeline_op *op, const struct op_choice *choice)
{
    return (choice->data_rank < 0 || choice->data_rank == (int64_t)op->data_rank) &&
           (choice->stage < 0 || choice->stage == (int64_t)op->stage) &&
           (!choice->label ||
            strcmp(choice->label, pipeline_kind_label((enum pipeline_kind)op->kind)) == 0);
}

void replayed_step_times(struct pipeline_replay *simulation, const struct op_choice *choice,
                         const int64_t *of_choice, const int64_t *of_others,
                         struct step_times *times)
{
    const struct pipeline_job *job = simulation->job;
    int64_t *durations = zeroed_times(job->op_count);
    struct replay replay = {
        .durations_ns = durations,
        .floors_ns = simulation->floors_ns,
        .starts_ns = simulation->starts_ns,
        .ends_ns = simulation->ends_ns,
    };

    for (size_t i = 0; i < job->op_count; i++)
        durations[i] =
            pipeline_replay_is_chosen(&job->ops[i], choice) ? of_choice[i] : of_others[i];
    task_graph_replay(&simulation->graph, &replay);
    collect_step_times(simulation, simulation->ends_ns, times);
    free(durations);
}

/* ---- the bubble ---- */

static bool is_compute(const struct pipeline_op *op)
{
    return op->kind == PIPELINE_FORWARD_COMPUTE || op->kind == PIPELINE_BACKWARD_COMPUTE;
}

double replayed_bubble(const struct pipeline_replay *simulation)
{
    const struct pipeline_job *job = simulation->job;
    int64_t *first = zeroed_times(job->step_count);
    int64_t *last = zeroed_times(job->step_count);
    double computing = 0;
    double running = 0;

    for (size_t i = 0; i < job->step_count; i++)
        first[i] = INT64_MAX;
    for (size_t i = 0; i < job->op_count; i++) {
        uint32_t step = job->ops[i].step;

        if (!is_compute(&job->ops[i]))
            continue;
        computing += (double)(simulation->ends_ns[i] - simulation->starts_ns[i]);
        first[step] =
            simulation->starts_ns[i] < first[step] ? simulation->starts_ns[i] : first[step];
        last[step] = simulation->ends_ns[i] > last[step] ? simulation->ends_ns[i] : last[step];
    }
    for (size_t i = 0; i < job->step_count; i++)
        running += last[i] > first[i] ? (double)(last[i] - first[i]) : 0;
    free(first);
    free(last);
    running *= (double)job->data_rank_count * job->stage_count;
    return running > 0 ? 1 - computing / running : 0;
}

void step_times_clear(struct step_times *times)
{
    free(times->steps_ns);
    memset(times, 0, sizeof *times);
}

void pipeline_replay_clear(struct pipeline_replay *simulation)
{
    task_graph_clear(&simulation->graph);
    free(simulation->recorded_ns);
    free(simulation->usual_ns);
    free(simulation->step_starts_ns);
    free(simulation->floors_ns);
    free(simulation->starts_ns);
    free(simulation->ends_ns);
    memset(simulation, 0, sizeof *simulation);
}
