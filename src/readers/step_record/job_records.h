/* All step records of a capture: one for each process that trained, in the order of ranks. */
#ifndef FLOPLEDGER_READERS_STEP_RECORD_JOB_RECORDS_H
#define FLOPLEDGER_READERS_STEP_RECORD_JOB_RECORDS_H

#include "base/core/arena.h"
#include "readers/step_record/rank_progress.h"

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
