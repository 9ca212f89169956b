/* One step record as the events of one attempt of a job. */
#ifndef FLOPLEDGER_PIPELINE_RECORDED_ATTEMPT_H
#define FLOPLEDGER_PIPELINE_RECORDED_ATTEMPT_H

#include "base/core/attributes.h"
#include "base/core/error.h"
#include "readers/step_record/read_step_record.h"
#include "trace/job/job.h"

enum { LOADED_MAX = 8 }; /* checkpoints that one attempt may load before its first step */

struct recorded_attempt {
    const char *path;
    struct step_record_header header;
    int64_t resumed_after; /* steps made before, as the optimizer counts; -1: not known */
    int64_t loaded_unix_ns[LOADED_MAX]; /* when what it loaded at its start had been written */
    int loaded_count;
    /* recorded_attempt_measure: */
    int64_t steps;
    int64_t ended_ns; /* when its last step or the process ended, by the monotonic clock */
};

/* One that an attempt has written. */
struct saved_checkpoint {
    int64_t start_unix_ns;
    int64_t end_unix_ns;
    int64_t after_step; /* of the job */
};

/* Zeroed: none. */
struct saved_checkpoints {
    struct saved_checkpoint *list; /* [count], in the order of time */
    size_t count;
};

void saved_checkpoints_clear(struct saved_checkpoints *saved);

struct attempt_outcome {
    int64_t entries;
    int64_t damaged;
    int64_t lost;
    int64_t last_step;  /* of the job, as far as it is known */
    bool is_base_known; /* at which step it went on */
};

/* Reads the header, and how the attempt began. `path` must live as long as it. */
MUST_USE bool recorded_attempt_look(struct recorded_attempt *attempt, const char *path,
                                    struct error *error);

/* Counts its steps, and takes the time of the first and of the last; a record that cannot be read
 * has none. */
void recorded_attempt_measure(struct recorded_attempt *attempt);

/* What the job was before an attempt. */
struct attempt_before {
    const struct recorded_attempt *first; /* where both ran in one boot of one machine, the
                                             monotonic clock tells the time between them, whatever
                                             the wall clock did */
    int64_t reached; /* the step that the attempt before came to: counts where this one does not
                        tell where it goes on */
    struct saved_checkpoints *saved; /* by attempts before; takes in this one's */
};

/* Adds its events to the job, after job_begin_source. */
MUST_USE bool recorded_attempt_add(struct job *job, const struct recorded_attempt *attempt,
                                   const struct attempt_before *before,
                                   struct attempt_outcome *outcome, struct error *error);

#endif
