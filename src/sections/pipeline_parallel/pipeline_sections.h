/* What stragglers cost a job of pipelines, in sections of a report. */
#ifndef FLOPLEDGER_SECTIONS_PIPELINE_PARALLEL_PIPELINE_SECTIONS_H
#define FLOPLEDGER_SECTIONS_PIPELINE_PARALLEL_PIPELINE_SECTIONS_H

#include "output/results/results.h"
#include "replay/pipeline_replay.h"

#include <stdbool.h>
#include <stdint.h>

/* All that the sections tell; see find_pipeline_costs. */
struct pipeline_costs {
    struct step_times recorded;
    struct step_times replayed; /* without delays of the host: how well the graph explains the steps
                                 */
    struct step_times usual;    /* with the usual times for all operations */
    double bubble;              /* of the replay with the recorded times */
    double usual_bubble;        /* of that with the usual ones */
};

/* Past this difference between recorded and replayed steps no estimate is given. */
#define REPLAY_ERROR_MAX 0.02

/* `costs` must be zeroed. */
void find_pipeline_costs(struct pipeline_costs *costs, struct pipeline_replay *simulation);
void pipeline_costs_clear(struct pipeline_costs *costs);

/* "a step takes 1.97 times as long as ..." */
const char *pipeline_headline(struct results *results, const struct pipeline_replay *simulation,
                              const struct pipeline_costs *costs);

/* The whole: step times, the price of stragglers, the bubble. */
struct section *describe_pipeline(struct results *results, const struct pipeline_replay *simulation,
                                  const struct pipeline_costs *costs);

/* Who they are: by data rank, stage, kind of operation and worker. Replays once for each row and
 * column; NULL where the error is too large. */
struct section *describe_stragglers(struct results *results, struct pipeline_replay *simulation,
                                    const struct pipeline_costs *costs, uint32_t top);

/* The critical path of the steps, and the slack of the rest; NULL likewise. */
struct section *describe_pipeline_path(struct results *results, struct pipeline_replay *simulation,
                                       const struct pipeline_costs *costs, uint32_t top);

#endif
