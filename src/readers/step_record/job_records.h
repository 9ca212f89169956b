/* All step records of a capture: one for each process that trained, in the order of ranks. */
#ifndef FLOPLEDGER_READERS_STEP_RECORD_JOB_RECORDS_H
#define FLOPLEDGER_READERS_STEP_RECORD_JOB_RECORDS_H

#include "base/core/arena.h"
#include "readers/step_record/read_step_record.h"

enum {
    RECENT_STEPS = 128, /* kept one by one */
    OPEN_SPANS = 64,    /* of one step; more are summed up without looking at overlaps */
};

/* What the time between the end of one step and the end of the next can be besides the step, by
 * priority: what is two things at once counts as the first of them. */
enum span_kind { SPAN_CHECKPOINT, SPAN_RESTORE, SPAN_EVALUATION, SPAN_RECORDING, SPAN_KINDS };

struct recent_step {
    int64_t step;
    int64_t end_ns;
    int64_t net_ns; /* without checkpoints, evaluation and our own work within it */
    int64_t data_wait_ns;
    int64_t tokens;
    bool is_profiled;
};

/* Who drew energy: the GPU that the rank uses; all processors of its machine, whoever runs there.
 */
enum energy_source { ENERGY_GPU, ENERGY_CPU, ENERGY_SOURCES };

/* What was drawn in some time, and the steps that ended in it. Zeroed: not known. */
struct rank_energy {
    double joules;
    int64_t steps;
    int64_t tokens; /* of these steps; -1: not known of one of them */
};

struct rank_span {
    enum span_kind kind;
    int64_t start_ns;
    int64_t end_ns;
};

/* All sums are of steps from the second on: the first one has compilation and warm-up in it, and
 * its start is often not known. -1: not known. */
struct rank_progress {
    struct step_reader reader;
    int64_t step;         /* the last one that ended; 0: none */
    int64_t first_end_ns; /* of step 1 */
    int64_t first_net_ns; /* of step 1, as far as its start was seen */
    int64_t last_end_ns;
    int64_t step_count; /* summed up */
    int64_t net_ns;
    int64_t data_wait_ns;    /* of steps that know it */
    int64_t data_wait_of_ns; /* what those steps took */
    int64_t forward_ns;
    int64_t backward_ns;
    int64_t optimizer_ns;
    int64_t split_of_ns; /* what the steps took whose forward, backward and optimizer are known */
    int64_t tokens;
    int64_t tokens_of_ns;
    int64_t samples;
    int64_t span_ns[SPAN_KINDS];
    int64_t span_count[SPAN_KINDS];
    int64_t skipped_count; /* steps without an update */
    int64_t lost_count;    /* entries that found no room */
    int64_t resumed_after; /* steps of earlier attempts; -1: not known */
    int64_t memory_bytes;  /* of the device */
    int64_t host_bytes;
    double loss; /* NaN: not known */
    int64_t loss_step;
    struct rank_energy energy[ENERGY_SOURCES];        /* of all looks together */
    struct rank_energy recent_energy[ENERGY_SOURCES]; /* of the newest look */
    struct rank_energy since_look;                    /* steps and tokens only */
    bool has_ended;
    bool ended_by_exception;
    struct recent_step recent[RECENT_STEPS]; /* a ring: the newest at (recent_count - 1) %
                                              * RECENT_STEPS
                                              */
    int64_t recent_count;
    struct rank_span spans[OPEN_SPANS]; /* since the last step */
    int span_open_count;
};

/* Opens the record; rank_progress_clear when done. */
MUST_USE bool rank_progress_open(struct rank_progress *progress, const char *path,
                                 struct error *error);

/* Takes in what was written since the last call. */
void rank_progress_update(struct rank_progress *progress);

/* The median of the newest steps (at most `count` of them), without those that the profiler slowed
 * down; 0 where there is none. */
int64_t rank_recent_step_ns(const struct rank_progress *progress, int count);

/* The i-th newest step, from 0; NULL where there is none. */
const struct recent_step *rank_recent_step(const struct rank_progress *progress, int i);

void rank_progress_clear(struct rank_progress *progress);

struct job_record {
    const char *path;
    bool is_newest; /* of its rank: the others are of attempts before */
    bool lives;     /* at the last look */
    struct rank_progress progress;
};

/* Zeroed: empty. */
struct job_records {
    struct arena arena;
    const char *capture;
    struct job_record **records; /* [count], by rank, then by when they were opened */
    size_t count;
    char **refused; /* [refused_count]: why a file of the folder could not be read */
    size_t refused_count;
};

/* Opens what is new in the folder `capture`/steps, and takes in what was written since the last
 * call. `capture` must be the same each time. */
void job_records_update(struct job_records *records, const char *capture);

void job_records_clear(struct job_records *records);

/* Whether the folder has records. */
bool has_step_records(const char *capture);

#endif
