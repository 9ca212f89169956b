/* What stragglers cost a job of pipelines: its steps replayed with usual times in place of recorded
 * ones, for some operations or all. */
#ifndef FLOPLEDGER_REPLAY_PIPELINE_REPLAY_H
#define FLOPLEDGER_REPLAY_PIPELINE_REPLAY_H

#include "base/core/attributes.h"
#include "base/core/error.h"
#include "replay/pipeline_job.h"
#include "replay/task_graph.h"

#include <stddef.h>
#include <stdint.h>

struct pipeline_replay {
    const struct pipeline_job *job; /* not owned */
    struct task_graph graph;
    int64_t *recorded_ns; /* [ops]: durations */
    int64_t *usual_ns; /* [ops]: the mean of the kind over the job, of communication the median */
    int64_t *step_starts_ns; /* [steps] */
    int64_t *floors_ns;      /* [ops]: the start of the step */
    int64_t *starts_ns;      /* [ops]: of the last replay */
    int64_t *ends_ns;
};

/* Which operations: fields of -1 stand for any. */
struct op_choice {
    int64_t data_rank;
    int64_t stage;
    const char *label; /* of the kind; NULL: any */
};

/* Lengths of the steps, and their mean. */
struct step_times {
    int64_t *steps_ns; /* [steps]; owned */
    double mean_ns;
};

/* `simulation` must be zeroed; `job` must outlive it. Errors (ERROR_INPUT): the operations wait for
 * each other in a circle, so that the order of calls was not understood. */
MUST_USE bool pipeline_replay_begin(struct pipeline_replay *simulation,
                                    const struct pipeline_job *job, struct error *error);

/* As recorded: from the first operation of a step to the end of its last. */
void recorded_step_times(const struct pipeline_replay *simulation, struct step_times *times);

/* Replayed without delays of the host. Of operations in the choice the durations are `of_choice`,
 * of the others `of_others`. */
void replayed_step_times(struct pipeline_replay *simulation, const struct op_choice *choice,
                         const int64_t *of_choice, const int64_t *of_others,
                         struct step_times *times);

/* The share of a step's time in which stages do not compute while the pipeline runs, in the last
 * replay: mean over workers and steps, from the first compute of the step to the end of its last.
 */
double replayed_bubble(const struct pipeline_replay *simulation);

void step_times_clear(struct step_times *times);
void pipeline_replay_clear(struct pipeline_replay *simulation);

/* Steps of a timeline in which operations of a worker are missing. */

/* Drops the steps in which a data-parallel rank lacks operations that another one has, and those
 * without a rank that other steps have; tells of them in job->gap_... . Where none would be left,
 * all stay. */
void pipeline_job_drop_gaps(struct pipeline_job *job);

#endif
