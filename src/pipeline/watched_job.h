/* A running job and its machine, looked at again and again: what `top` shows and `serve` tells. */
#ifndef FLOPLEDGER_PIPELINE_WATCHED_JOB_H
#define FLOPLEDGER_PIPELINE_WATCHED_JOB_H

#include "base/core/attributes.h"
#include "base/core/error.h"
#include "cost/efficiency/peak_choice.h"
#include "live/live_source.h"
#include "readers/step_record/job_records.h"

#include <stdbool.h>
#include <stddef.h>

/* A rule of --on that has asked for windows. */
struct watched_rule {
    const char *text;
    int64_t window_count;
};

/* Zeroed is closed. */
struct watched_job {
    struct arena arena;
    const char *capture; /* NULL: the machine alone */
    struct job_records records;
    struct live_machine machine;
    struct peak_settings peaks;
    const char *ras; /* the address of NCCL's RAS; NULL: it is not asked */
    struct ras_watch *ras_watch;
    struct watched_rule *rules; /* [rule_count] that have asked for windows, in the arena */
    size_t rule_count;
    int64_t window_count;   /* that they have asked for */
    const char *newest_why; /* of these; NULL: none */
    int64_t newest_step;
    char *trace;           /* that the model's FLOPs were last counted from */
    int64_t ideal_step_ns; /* what they take at the device's peak; 0: not known */
    const char *mfu_needs; /* why the MFU is not known; NULL where it is */
};

/* `given` as of find_running_capture; where it is NULL and there is no capture, the machine alone
 * is watched. `root` stands before /proc and /sys. */
MUST_USE bool watched_job_open(struct watched_job *job, const char *given, const char *root,
                               struct error *error);

/* Fills `samples`, which must be zeroed, with all there is now. A new trace in the capture is read
 * once, to count the FLOPs of a step. */
void watched_job_look(struct watched_job *job, struct live_samples *samples);

void watched_job_clear(struct watched_job *job);

#endif
