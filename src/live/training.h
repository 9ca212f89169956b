/* A job's step records as live numbers. */
#ifndef FLOPLEDGER_LIVE_TRAINING_H
#define FLOPLEDGER_LIVE_TRAINING_H

#include "live/live_sample.h"
#include "readers/step_record/job_records.h"

enum { STEP_MEDIAN_OF = 20 };

/* Level A so far, of the lowest rank: of the time since its first process began. */
struct job_so_far {
    int64_t elapsed_ns;   /* of the wall clock; 0: nothing is known */
    int64_t kept_ns;      /* in steps that count, without checkpoints and the like within them */
    int64_t discarded_ns; /* in steps that a later attempt made again; estimated by the mean */
    int64_t startup_ns;   /* of the newest attempt: until its first step */
    int attempts;
    bool knows_discarded; /* every restart says where it went on */
};

struct job_so_far sum_up_job(const struct job_records *records);

/* What the model's FLOPs of one step take at the peak of the device; 0: not known. */
void sample_training(struct live_samples *samples, const struct job_records *records,
                     int64_t ideal_step_ns);

#endif
