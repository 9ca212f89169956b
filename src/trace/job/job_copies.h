/* Which files of a job tell once more what another of them tells. */
#ifndef FLOPLEDGER_TRACE_JOB_JOB_COPIES_H
#define FLOPLEDGER_TRACE_JOB_JOB_COPIES_H

#include "trace/job/job.h"

/* Marks the sources that are copies, and adds a remark for each. Attempts must stand in the order
 * of their sources. O(n log n) of all steps. */
void job_leave_out_copies(struct job *job);

#endif
