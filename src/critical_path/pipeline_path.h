/* The critical path of each step of a job of pipelines, in the replay of its operations as
 * recorded: from the last operation of the step back to its start, through workers and collectives.
 */
#ifndef FLOPLEDGER_CRITICAL_PATH_PIPELINE_PATH_H
#define FLOPLEDGER_CRITICAL_PATH_PIPELINE_PATH_H

#include "replay/pipeline_replay.h"

#include <stddef.h>
#include <stdint.h>

/* Operations of one kind, or of one worker. */
struct pipeline_path_row {
    int64_t path_ns;   /* on the path, in all steps */
    int64_t total_ns;  /* all of theirs */
    int64_t least_ns;  /* the least slack of one of them */
    int64_t median_ns; /* half of them have no more */
    size_t count;
};

struct pipeline_path {
    int64_t length_ns;                 /* of all steps as replayed: what the rows' times sum to */
    struct pipeline_path_row *kinds;   /* [PIPELINE_KIND_COUNT] */
    struct pipeline_path_row *workers; /* [data_rank_count * stage_count], the stages of a data rank
                                          side by side */
};

/* `path` must be zeroed. Replays `simulation` as recorded. */
void find_pipeline_path(struct pipeline_path *path, struct pipeline_replay *simulation);

void pipeline_path_clear(struct pipeline_path *path);

#endif
