/* What stragglers cost a job of pipelines. */
#include "replay/pipeline_replay.h"

#include "base/core/array.h"
#include "base/core/invariant.h"
#include "replay/pipeline_job.h"
#include "replay/task_graph.h"

#include <stdlib.h>
#include <string.h>

/* ---- the graph ------------------------------------------------------------------------------- */

/* Which operation of a pipelined step waits for which. */

/* Clocks and rounding: what starts so little later still counts as before. */
enum { TOLERANCE_NS = 50000 };

#define NO_PAIR UINT32_MAX

/* Tasks have the numbers of their operations, which are ordered by worker (step, data rank, stage)
 * and kind: so those of a worker and kind lie side by side. */
struct pipeline_builder {
    struct task_graph *graph;
    const struct pipeline_job *job;
    uint32_t *first;        /* [workers * kinds + 1]: the first operation of each */
    uint32_t *pair_numbers; /* [ops]: of sends and receives that cross to another worker, the how
                               manieth of its kind; NO_PAIR */
};

/* Operations of one kind of a worker. */
struct op_run {
    uint32_t first;
    uint32_t count;
};

static size_t worker_index(const struct pipeline_job *job, size_t step, uint32_t data_rank,
                           uint32_t stage)
{
    return (step * job->data_rank_count + data_rank) * job->stage_count + stage;
}

static struct op_run pipeline_graph_run_of(const struct pipeline_builder *builder, size_t worker,
                                           enum pipeline_kind kind)
{
    size_t at = worker * PIPELINE_KIND_COUNT + (size_t)kind;

    return (struct op_run){builder->first[at], builder->first[at + 1] - builder->first[at]};
}

/* Prefix positions over (worker, kind), as operations are sorted so: one pass, and a run is
 * two numbers. */
static void pipeline_graph_find_runs(struct pipeline_builder *builder)
{
    const struct pipeline_job *job = builder->job;
    size_t runs = job->step_count * job->data_rank_count * job->stage_count * PIPELINE_KIND_COUNT;
    size_t at = 0;

    builder->first = require_memory(calloc(runs + 1, sizeof *builder->first));
    for (size_t i = 0; i < job->op_count; i++) {
        const struct pipeline_op *op = &job->ops[i];
        size_t run =
            worker_index(job, op->step, op->data_rank, op->stage) * PIPELINE_KIND_COUNT + op->kind;

        while (at < run)
            builder->first[++at] = (uint32_t)i;
    }
    while (at < runs)
        builder->first[++at] = (uint32_t)job->op_count;
}

static int64_t pipeline_graph_start_of(const struct pipeline_builder *builder, uint32_t op)
{
    return builder->job->ops[op].start_ns;
}

static int64_t pipeline_graph_end_of(const struct pipeline_builder *builder, uint32_t op)
{
    return builder->job->ops[op].start_ns + builder->job->ops[op].duration_ns;
}

static void need(const struct pipeline_builder *builder, uint32_t op, uint32_t needed)
{
    task_graph_need(builder->graph, op, needed);
}

/* ---- what runs one after the other ---- */

/* The operations of two kinds by their start, each after the one before. A merge of two sorted
 * runs: the recorded order is kept, since a schedule is a program's choice and no need of the
 * data. */
static void chain(const struct pipeline_builder *builder, struct op_run a, struct op_run b)
{
    uint32_t before = UINT32_MAX;

    while (a.count + b.count > 0) {
        bool takes_a =
            b.count == 0 || (a.count > 0 && pipeline_graph_start_of(builder, a.first) <=
                                                pipeline_graph_start_of(builder, b.first));
        struct op_run *from = takes_a ? &a : &b;

        if (before != UINT32_MAX)
            need(builder, from->first, before);
        before = from->first++;
        from->count--;
    }
}

/* ---- sends and receives of a worker ---- */

struct direction {
    enum pipeline_kind compute;
    enum pipeline_kind send;
    enum pipeline_kind receive;
    int step; /* to the stage that it sends to */
};

/* A forward goes to the next stage, a backward to the one before. */
static const struct direction directions[] = {
    {PIPELINE_FORWARD_COMPUTE, PIPELINE_FORWARD_SEND, PIPELINE_FORWARD_RECV, 1},
    {PIPELINE_BACKWARD_COMPUTE, PIPELINE_BACKWARD_SEND, PIPELINE_BACKWARD_RECV, -1},
};

/* Whether the chunk of the model that the compute belongs to has a neighbour so far on. Chunks
 * and stages together number the model's pieces from first to last: piece chunk * stages +
 * stage. Beyond either end nothing is sent. */
static bool has_neighbour(const struct pipeline_builder *builder, uint32_t compute, int step)
{
    const struct pipeline_op *op = &builder->job->ops[compute];
    int64_t chunk = (int64_t)op->chunk * builder->job->stage_count + op->stage + step;

    return chunk >= 0 && chunk < (int64_t)builder->job->chunk_count * builder->job->stage_count;
}

/* Receives are matched to computes by order. What starts after the last compute receives for
 * nobody (the recorder's tail) and is left out. */
static void tie_receives(const struct pipeline_builder *builder, size_t worker,
                         const struct direction *direction)
{
    struct op_run computes = pipeline_graph_run_of(builder, worker, direction->compute);
    struct op_run receives = pipeline_graph_run_of(builder, worker, direction->receive);
    int64_t last_start = INT64_MIN;
    uint32_t valid = 0;
    uint32_t pairs = 0;
    uint32_t offset;

    if (computes.count > 0)
        last_start = pipeline_graph_start_of(builder, computes.first + computes.count - 1);
    while (valid < receives.count &&
           pipeline_graph_start_of(builder, receives.first + valid) <= last_start + TOLERANCE_NS)
        valid++;
    offset = valid + 1 == computes.count; /* the first chunk of the first stage receives nothing */
    for (uint32_t i = 0; i < valid && i + offset < computes.count; i++) {
        uint32_t receive = receives.first + i;
        uint32_t compute = computes.first + i + offset;

        need(builder, compute, receive);
        if (i + offset > 0)
            need(builder, receive, compute - 1);
        if (has_neighbour(builder, compute, -direction->step))
            builder->pair_numbers[receive] = pairs++;
    }
}

/* Sends that ended before any compute had are not of this step's data. */
static void tie_sends(const struct pipeline_builder *builder, size_t worker,
                      const struct direction *direction)
{
    struct op_run computes = pipeline_graph_run_of(builder, worker, direction->compute);
    struct op_run sends = pipeline_graph_run_of(builder, worker, direction->send);
    int64_t first_end = INT64_MAX;
    uint32_t compute = 0;
    uint32_t pairs = 0;

    for (uint32_t i = 0; i < computes.count; i++)
        if (pipeline_graph_end_of(builder, computes.first + i) < first_end)
            first_end = pipeline_graph_end_of(builder, computes.first + i);
    for (uint32_t i = 0; i < sends.count && compute < computes.count; i++) {
        uint32_t send = sends.first + i;

        if (pipeline_graph_end_of(builder, send) < first_end - TOLERANCE_NS)
            continue; /* recorded, and not launched */
        need(builder, send, computes.first + compute);
        if (has_neighbour(builder, computes.first + compute, direction->step))
            builder->pair_numbers[send] = pairs++;
        compute++;
    }
}

/* The first backward send and receive are called before the last forward of the warm-up. */
static void tie_first_backward(const struct pipeline_builder *builder, size_t worker)
{
    static const enum pipeline_kind kinds[] = {PIPELINE_BACKWARD_RECV, PIPELINE_BACKWARD_SEND};
    struct op_run forward = pipeline_graph_run_of(builder, worker, PIPELINE_FORWARD_COMPUTE);
    struct op_run backward = pipeline_graph_run_of(builder, worker, PIPELINE_BACKWARD_COMPUTE);
    uint32_t before = 0;

    while (backward.count > 0 && before < forward.count &&
           pipeline_graph_start_of(builder, forward.first + before) <=
               pipeline_graph_start_of(builder, backward.first))
        before++;
    if (before < 2)
        return;
    for (size_t i = 0; i < 2; i++) {
        struct op_run run = pipeline_graph_run_of(builder, worker, kinds[i]);

        if (run.count > 0)
            need(builder, run.first, forward.first + before - 2);
    }
}

/* ---- before the first compute and after the last ---- */

/* The first forward of each chunk waits for the last all-gather of its parameters. */
static void tie_parameters(const struct pipeline_builder *builder, size_t worker)
{
    struct op_run gathers = pipeline_graph_run_of(builder, worker, PIPELINE_PARAMS_ALL_GATHER);
    struct op_run forward = pipeline_graph_run_of(builder, worker, PIPELINE_FORWARD_COMPUTE);

    for (uint32_t i = 0; i < gathers.count; i++) {
        int32_t chunk = builder->job->ops[gathers.first + i].chunk;
        bool is_last = true;

        for (uint32_t k = i + 1; k < gathers.count; k++)
            is_last &= builder->job->ops[gathers.first + k].chunk != chunk;
        for (uint32_t k = 0; is_last && k < forward.count; k++)
            if (builder->job->ops[forward.first + k].chunk == chunk) {
                need(builder, forward.first + k, gathers.first + i);
                break;
            }
    }
}

/* Where it overlaps: the first reduce-scatter of a chunk waits for its last backward. */
static void tie_gradients(const struct pipeline_builder *builder, size_t worker)
{
    struct op_run scatters = pipeline_graph_run_of(builder, worker, PIPELINE_GRADS_REDUCE_SCATTER);
    struct op_run backward = pipeline_graph_run_of(builder, worker, PIPELINE_BACKWARD_COMPUTE);

    for (uint32_t i = 0; i < scatters.count; i++) {
        int32_t chunk = builder->job->ops[scatters.first + i].chunk;
        bool is_first = true;

        for (uint32_t k = 0; k < i; k++)
            is_first &= builder->job->ops[scatters.first + k].chunk != chunk;
        for (uint32_t k = backward.count; is_first && k-- > 0;)
            if (builder->job->ops[backward.first + k].chunk == chunk) {
                need(builder, scatters.first + i, backward.first + k);
                break;
            }
    }
}

/* The compute that ends last; UINT32_MAX: there is none. Either direction: schedules end with a
 * backward, but a forward-only step has none. */
static uint32_t last_compute(const struct pipeline_builder *builder, size_t worker)
{
    uint32_t last = UINT32_MAX;

    for (size_t d = 0; d < 2; d++) {
        struct op_run run = pipeline_graph_run_of(builder, worker, directions[d].compute);

        for (uint32_t i = run.first; i < run.first + run.count; i++)
            if (last == UINT32_MAX ||
                pipeline_graph_end_of(builder, i) > pipeline_graph_end_of(builder, last))
                last = i;
    }
    return last;
}

/* Each operation of the kind after *last, which becomes the last of them. */
static void follow(const struct pipeline_builder *builder, size_t worker, enum pipeline_kind kind,
                   uint32_t *last)
{
    struct op_run run = pipeline_graph_run_of(builder, worker, kind);

    for (uint32_t i = 0; i < run.count; i++) {
        if (*last != UINT32_MAX)
            need(builder, run.first + i, *last);
        *last = run.first + i;
    }
}

/* In the order in which Megatron-LM ends a step: gradients of norms and embeddings, the
 * reduction where it does not overlap, clipping, the optimizer. Each waits for the one before
 * on its worker. */
static void tie_end(const struct pipeline_builder *builder, size_t worker, bool overlaps)
{
    struct op_run scatters = pipeline_graph_run_of(builder, worker, PIPELINE_GRADS_REDUCE_SCATTER);
    struct op_run norms =
        pipeline_graph_run_of(builder, worker, PIPELINE_LAYERNORM_GRADS_ALL_REDUCE);
    uint32_t last = last_compute(builder, worker);

    follow(builder, worker, PIPELINE_GARBAGE_COLLECTION, &last);
    if (overlaps && scatters.count > 0 && norms.count > 0)
        need(builder, norms.first, scatters.first + scatters.count - 1);
    follow(builder, worker, PIPELINE_LAYERNORM_GRADS_ALL_REDUCE, &last);
    follow(builder, worker, PIPELINE_EMBEDDING_GRADS_ALL_REDUCE, &last);
    if (overlaps)
        follow(builder, worker, PIPELINE_SEPARATE_GRADS_ALL_REDUCE, &last);
    else
        follow(builder, worker, PIPELINE_GRADS_REDUCE_SCATTER, &last);
    follow(builder, worker, PIPELINE_CLIP_GRADS, &last);
    follow(builder, worker, PIPELINE_OPTIMIZER, &last);
}

/* Operations of a kind are a chain on their worker; what ties different kinds is added by
 * those that know them. */
static void tie_worker(const struct pipeline_builder *builder, size_t worker, bool overlaps)
{
    static const struct op_run none = {0, 0};

    chain(builder, pipeline_graph_run_of(builder, worker, PIPELINE_FORWARD_COMPUTE),
          pipeline_graph_run_of(builder, worker, PIPELINE_BACKWARD_COMPUTE));
    chain(builder, pipeline_graph_run_of(builder, worker, PIPELINE_PARAMS_ALL_GATHER),
          pipeline_graph_run_of(builder, worker, PIPELINE_GRADS_REDUCE_SCATTER));
    for (size_t d = 0; d < 2; d++) {
        chain(builder, pipeline_graph_run_of(builder, worker, directions[d].send), none);
        chain(builder, pipeline_graph_run_of(builder, worker, directions[d].receive), none);
        tie_receives(builder, worker, &directions[d]);
        tie_sends(builder, worker, &directions[d]);
    }
    tie_first_backward(builder, worker);
    tie_parameters(builder, worker);
    if (overlaps)
        tie_gradients(builder, worker);
    tie_end(builder, worker, overlaps);
}

/* ---- what begins together ---- */

/* The next one that crosses to another worker; the end where there is none. */
static uint32_t next_pair(const struct pipeline_builder *builder, struct op_run run, uint32_t from)
{
    while (from < run.first + run.count && builder->pair_numbers[from] == NO_PAIR)
        from++;
    return from;
}

/* The sends of one worker with the receives of its neighbour, in their order. A send and its
 * receive begin together, as NCCL's do: neither side moves bytes before the other is there. */
static void pipeline_graph_pair_up(const struct pipeline_builder *builder, struct op_run sends,
                                   struct op_run receives)
{
    uint32_t send = next_pair(builder, sends, sends.first);
    uint32_t receive = next_pair(builder, receives, receives.first);

    while (send < sends.first + sends.count && receive < receives.first + receives.count) {
        uint32_t group = task_graph_add_group(builder->graph);

        task_graph_join(builder->graph, send, group);
        task_graph_join(builder->graph, receive, group);
        send = next_pair(builder, sends, send + 1);
        receive = next_pair(builder, receives, receive + 1);
    }
}

/* With wrap-around: stage s of the last chunk sends to stage 0 of the next one in interleaved
 * schedules; pair_numbers leave out what crosses no boundary. */
static void pair_stages(const struct pipeline_builder *builder, size_t step, uint32_t data_rank)
{
    const struct pipeline_job *job = builder->job;

    for (uint32_t stage = 0; stage < job->stage_count; stage++)
        for (size_t d = 0; d < 2; d++) {
            uint32_t neighbour =
                (stage + job->stage_count + (uint32_t)directions[d].step) % job->stage_count;

            pipeline_graph_pair_up(
                builder,
                pipeline_graph_run_of(builder, worker_index(job, step, data_rank, stage),
                                      directions[d].send),
                pipeline_graph_run_of(builder, worker_index(job, step, data_rank, neighbour),
                                      directions[d].receive));
        }
}

/* The operations of one kind of several workers, the first of all together, and so on. `groups`
 * grows as needed. */
struct joint {
    uint32_t *groups;
    uint32_t count;
};

static void join_run(const struct pipeline_builder *builder, struct joint *joint, struct op_run run)
{
    for (uint32_t i = 0; i < run.count; i++) {
        if (i == joint->count)
            ARRAY_ADD(joint->groups, joint->count, task_graph_add_group(builder->graph));
        task_graph_join(builder->graph, run.first + i, joint->groups[i]);
    }
}

/* Of `count` workers, each `apart` behind the one before. */
static void join_workers(const struct pipeline_builder *builder, size_t first, size_t apart,
                         size_t count, enum pipeline_kind kind)
{
    struct joint joint = {0};

    for (size_t i = 0; i < count; i++)
        join_run(builder, &joint, pipeline_graph_run_of(builder, first + i * apart, kind));
    free(joint.groups);
}

/* Data-parallel collectives join one stage over all data ranks; embeddings' gradients join
 * first and last stage of one pipeline; clipping needs the norm of all. */
static void join_step(const struct pipeline_builder *builder, size_t step)
{
    static const enum pipeline_kind of_data_ranks[] = {PIPELINE_PARAMS_ALL_GATHER,
                                                       PIPELINE_GRADS_REDUCE_SCATTER,
                                                       PIPELINE_SEPARATE_GRADS_ALL_REDUCE};
    const struct pipeline_job *job = builder->job;
    size_t first = worker_index(job, step, 0, 0);

    for (uint32_t stage = 0; stage < job->stage_count; stage++)
        for (size_t i = 0; i < sizeof of_data_ranks / sizeof *of_data_ranks; i++)
            join_workers(builder, first + stage, job->stage_count, job->data_rank_count,
                         of_data_ranks[i]);
    for (uint32_t rank = 0; rank < job->data_rank_count; rank++) {
        pair_stages(builder, step, rank);
        join_workers(builder, worker_index(job, step, rank, 0), 1, job->stage_count,
                     PIPELINE_EMBEDDING_GRADS_ALL_REDUCE);
    }
    join_workers(builder, first, 1, (size_t)job->data_rank_count * job->stage_count,
                 PIPELINE_CLIP_GRADS);
}

/* Adds a task for each operation of the job, in its order, and what they wait for:
 *
 * - on one stage forward and backward compute run one after the other, sends and receives of one
 *   kind likewise, and so do the collectives of the data-parallel group;
 * - a receive comes before its compute and after the one before it; a send after its compute; a
 * send and the receive of the neighbour begin together;
 * - the first forward of a chunk of the model waits for its parameters;
 * - after the last compute: garbage collection, all-reduce of norms' gradients, of embeddings'
 *   gradients (first and last stage together), reduce-scatter of gradients (or before it, where it
 *   overlaps), clipping (all stages together), optimizer;
 * - collectives of the data-parallel group begin together on all its ranks.
 *
 * After "Understanding Stragglers in Large Model Training Using What-if Analysis",
 * OSDI 2025, section 3. `graph` must be zeroed; finish it. */
static void build_pipeline_graph(struct task_graph *graph, const struct pipeline_job *job)
{
    struct pipeline_builder builder = {.graph = graph, .job = job};
    size_t workers = job->step_count * job->data_rank_count * job->stage_count;
    bool overlaps = false;

    builder.pair_numbers = require_memory(calloc(job->op_count + 1, sizeof *builder.pair_numbers));
    for (size_t i = 0; i < job->op_count; i++) {
        (void)task_graph_add(graph);
        builder.pair_numbers[i] = NO_PAIR;
        overlaps |= job->ops[i].kind == PIPELINE_SEPARATE_GRADS_ALL_REDUCE;
    }
    pipeline_graph_find_runs(&builder);
    for (size_t worker = 0; worker < workers; worker++)
        tie_worker(&builder, worker, overlaps);
    for (size_t step = 0; step < job->step_count; step++)
        join_step(&builder, step);
    free(builder.first);
    free(builder.pair_numbers);
}

/* ---- pipeline replay ------------------------------------------------------------------------- */

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

/* As the paper does: the mean for compute, whose spread is the work itself (sequence lengths),
 * the median for communication, whose long tail is waiting. */
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

/* No operation begins before its step did in the recording: steps follow each other by the
 * host, which the timeline does not have. */
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

/* An unknown schedule: better no answer than one with edges left out. */
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

/* A circle among the operations (damaged order) is found when the graph is sorted, and named
 * by one task of it. */
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

/* From the ends of the operations. A step ends with its last operation on any worker. */
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

/* By the same sum as replayed times, so that the two differ by the replay alone. */
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

/* The what-if of the paper: durations of the chosen operations from one array, of the others
 * from another. The graph stays; only durations change, so that O(operations) a question. */
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

/* 1 - computing / (workers * time from the first compute to the last): the share in which a
 * worker has nothing to compute. Ideal 1F1B gives (stages - 1) / (micro-batches + stages - 1). */
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
