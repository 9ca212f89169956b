/* Steps of a timeline in which operations of a worker are missing. */
#ifndef FLOPLEDGER_REPLAY_PIPELINE_GAPS_H
#define FLOPLEDGER_REPLAY_PIPELINE_GAPS_H

#include "replay/pipeline_job.h"

/* Drops the steps in which a data-parallel rank lacks operations that another one has, and those
 * without a rank that other steps have; tells of them in job->gap_... . Where none would be left,
 * all stay. */
void pipeline_job_drop_gaps(struct pipeline_job *job);

#endif
