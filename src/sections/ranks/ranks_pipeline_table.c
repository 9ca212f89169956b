/* The bubble of a pipeline: how long its stages wait for each other, beside what the schedule
 * itself costs: (p - 1) / (m v + p - 1), with p stages, m micro-batches and v chunks on a rank. */
#include "base/core/apportion.h"
#include "sections/ranks/ranks_tables.h"
#include "sections/tally.h"

#include <inttypes.h>
#include <stdlib.h>

struct pipeline_stage {
    uint32_t ranks;
    int64_t step_ns; /* of all ranks, summed over steps, as all below */
    int64_t compute_ns;
    int64_t bubble_ns;
    int64_t idle_ns;
    int64_t steps;
};

struct pipeline {
    int32_t stage_count;
    struct pipeline_stage *stages;
    int64_t longest_step_ns; /* of the stages, the mean */
    int64_t passes;          /* m v; 0: not known */
    bool has_sends; /* false: nothing is sent in the traces, and all idle time counts as bubble */
};

/* From the layout if one was given, else as many as places are named by the traces: the last
 * stages may be missing, and then so is their part of the bubble. */
static int32_t count_stages(const struct all_ranks *run)
{
    int32_t count = run->layout.is_given ? run->layout.sizes[AXIS_PIPELINE] : 0;

    for (uint32_t i = 0; i < run->count && !run->layout.is_given; i++)
        if (run->ranks[i].coordinates[AXIS_PIPELINE] >= count)
            count = run->ranks[i].coordinates[AXIS_PIPELINE] + 1;
    return count;
}

/* Sends from the first stage to the second in a step: each micro-batch of each chunk is one.
 * Each micro-batch of each chunk crosses from the first stage to the second once in the forward:
 * the number of sends in this direction (source before destination, which leaves out the
 * gradients coming back) is m v. One rank of the first stage tells it for all. A number that is
 * not whole for a step means that the window cut a step, or that sends were missed: then nothing
 * is said. */
static int64_t count_passes(const struct all_ranks *run)
{
    const struct call_joins *joins = &run->joins;
    int64_t sends = 0, steps = 0;
    uint32_t first = 0;

    while (first < run->count && run->ranks[first].coordinates[AXIS_PIPELINE] != 0)
        first++;
    if (first == run->count)
        return 0;
    for (uint32_t i = 0; i < run->ranks[first].digest->call_count; i++) {
        uint32_t index = joins->join_of[first][i];
        const struct joined_call *join = index == NO_JOIN ? NULL : &joins->joins[index];
        const struct joint_group *group = join ? &joins->groups[join->group] : NULL;

        if (!join || join->count != 2 || group->source < 0 || group->source > group->destination ||
            run->ranks[first].digest->calls[i].step < 0)
            continue;
        for (uint32_t k = 0; k < 2; k++) {
            uint32_t other = joins->members[join->first + k].rank;

            sends += other != first && run->ranks[other].coordinates[AXIS_PIPELINE] == 1;
        }
    }
    steps = run->ranks[first].digest->step_count;
    return steps > 0 && sends % steps == 0 ? sends / steps : 0;
}

/* Sums over the ranks of a stage and their steps; means are taken when printing, of steps, as
 * stages may have different numbers of ranks here. */
static void ranks_pipeline_add_rank(struct pipeline *pipeline, const struct rank_in_run *rank)
{
    int32_t at = rank->coordinates[AXIS_PIPELINE];
    struct pipeline_stage *stage = &pipeline->stages[at];

    stage->ranks++;
    stage->steps += rank->digest->step_count;
    stage->step_ns += digest_total_ns(rank->digest);
    stage->bubble_ns += rank->communication.exposed.bubble_ns;
    for (unsigned account = 0; account < ACCOUNT_COUNT; account++) {
        int64_t ns = digest_account_ns(rank->digest, (enum account)account);

        if (account_descriptions[account].group == ACCOUNT_GROUP_COMPUTE)
            stage->compute_ns += ns;
        else if (account_descriptions[account].group == ACCOUNT_GROUP_IDLE)
            stage->idle_ns += ns;
    }
    for (uint32_t i = 0; i < rank->digest->call_count; i++)
        pipeline->has_sends =
            pipeline->has_sends || rank->digest->calls[i].kind == COLLECTIVE_SEND_RECEIVE;
}

/* Without sends a stage that ends early is idle until the slowest one has ended. */
static int64_t ranks_pipeline_whole_of(const struct pipeline *pipeline,
                                       const struct pipeline_stage *stage)
{
    return pipeline->has_sends ? stage->step_ns : pipeline->longest_step_ns * stage->steps;
}

/* With sends in the traces, the bubble is the time in which they wait. Without, a stage waits by
 * being idle, and after its end until the longest stage has ended. */
static int64_t bubble_of(const struct pipeline *pipeline, const struct pipeline_stage *stage)
{
    return pipeline->has_sends
               ? stage->bubble_ns
               : stage->idle_ns + ranks_pipeline_whole_of(pipeline, stage) - stage->step_ns;
}

/* Rounded up: the bubble of a stage is this times its steps less its time, and must not become
 * negative by a nanosecond of the stage that is the longest itself. */
static void find_longest_step(struct pipeline *pipeline)
{
    for (int32_t i = 0; i < pipeline->stage_count; i++) {
        const struct pipeline_stage *stage = &pipeline->stages[i];
        int64_t mean_ns =
            stage->steps ? (stage->step_ns + stage->steps - 1) / stage->steps : 0; /* rounded up */

        if (mean_ns > pipeline->longest_step_ns)
            pipeline->longest_step_ns = mean_ns;
    }
}

/* (p - 1) / (m v + p - 1) is the part of a step that a 1F1B schedule with p stages, m
 * micro-batches and v chunks leaves idle where all passes take equally long: (p - 1) passes to
 * fill and empty, m v of work (Narayanan et al., "Efficient Large-Scale Language Model
 * Training on GPU Clusters Using Megatron-LM", 2021, gives (p - 1) / (m v) of the work). What
 * is more than that in the recording is imbalance, and can be repaired without another
 * schedule. m and v as given go before those counted. */
static void ranks_pipeline_add_numbers(struct results *results, struct section *section,
                                       const struct pipeline *pipeline, const struct all_ranks *run)
{
    int64_t bubble_ns = 0, step_ns = 0, passes = pipeline->passes;
    struct value ideal = value_not_known(
        "needs the micro-batches of a step: --layout pp=8,m=16, and v=2 for chunks on a rank");
    const char *note = NULL;

    for (int32_t i = 0; i < pipeline->stage_count; i++) {
        bubble_ns += bubble_of(pipeline, &pipeline->stages[i]);
        step_ns += ranks_pipeline_whole_of(pipeline, &pipeline->stages[i]);
    }
    if (run->layout.micro_batches > 0)
        passes = (int64_t)run->layout.micro_batches * run->layout.chunks_per_rank;
    if (passes > 0) {
        ideal = value_fraction(
            fraction_of(pipeline->stage_count - 1, passes + pipeline->stage_count - 1));
        note = results_format(results, "(p - 1) / (m v + p - 1): p = %d stages, m v = %" PRId64,
                              pipeline->stage_count, passes);
    }
    section_add_number(results, section,
                       (struct number){"bubble", "bubble of the pipeline",
                                       value_fraction(fraction_of(bubble_ns, step_ns)),
                                       pipeline->has_sends ? "waiting in sends and receives"
                                                           : "idle: no sends are in the traces"});
    section_add_number(results, section,
                       (struct number){"bubble_ideal", "the schedule's own", ideal, note});
}

#define PIPELINE_COLUMNS(COLUMN)                                                                  \
    COLUMN("stage", "stage", UNIT_COUNT, 0, BAR_NONE, value_count(i))                             \
    COLUMN("ranks", "ranks", UNIT_COUNT, 1, BAR_NONE, value_count(stage->ranks))                  \
    COLUMN("step_time_mean", "mean step", UNIT_TIME_NS, 0, BAR_NONE,                              \
           value_time_ns(rounded_mean(stage->step_ns, stage->steps)))                             \
    COLUMN("compute", "compute", UNIT_TIME_NS, 0, BAR_NONE,                                       \
           value_time_ns(rounded_mean(stage->compute_ns, stage->steps)))                          \
    COLUMN(                                                                                       \
        "compute_share", "compute", UNIT_FRACTION, 1, BAR_NONE,                                   \
        value_fraction(fraction_of(stage->compute_ns, ranks_pipeline_whole_of(pipeline, stage)))) \
    COLUMN("bubble", "bubble", UNIT_TIME_NS, 0, BAR_NONE,                                         \
           value_time_ns(rounded_mean(bubble_of(pipeline, stage), stage->steps)))                 \
    COLUMN("bubble_share", "bubble", UNIT_FRACTION, 0, BAR_NONE,                                  \
           value_fraction(                                                                        \
               fraction_of(bubble_of(pipeline, stage), ranks_pipeline_whole_of(pipeline, stage))))

/* A stage without steps is one whose ranks were not recorded; a bubble of 0 would be a lie
 * about it. */
static void ranks_pipeline_add_rows(struct results *results, struct section *section,
                                    const struct pipeline *pipeline)
{
    struct table *table = section_add_table(results, section, "pipeline", "Stages of the pipeline",
                                            COLUMNS_OF(PIPELINE_COLUMNS));

    for (int32_t i = 0; i < pipeline->stage_count; i++) {
        const struct pipeline_stage *stage = &pipeline->stages[i];
        struct value *cells;

        if (stage->steps == 0)
            continue;
        cells = table_add_row(results, table, 0);
        FILL_ROW(cells, PIPELINE_COLUMNS);
    }
}

/* One stage is no pipeline. Ranks without a place in the layout belong to no stage. */
void add_pipeline_table(struct results *results, struct section *section,
                        const struct all_ranks *run)
{
    struct pipeline pipeline = {.stage_count = count_stages(run)};

    if (pipeline.stage_count < 2)
        return;
    pipeline.stages = zeroed_array((size_t)pipeline.stage_count, sizeof *pipeline.stages);
    for (uint32_t i = 0; i < run->count; i++) {
        int32_t at = run->ranks[i].coordinates[AXIS_PIPELINE];

        if (at >= 0 && at < pipeline.stage_count)
            ranks_pipeline_add_rank(&pipeline, &run->ranks[i]);
    }
    find_longest_step(&pipeline);
    pipeline.passes = count_passes(run);
    ranks_pipeline_add_numbers(results, section, &pipeline, run);
    ranks_pipeline_add_rows(results, section, &pipeline);
    free(pipeline.stages);
}
