/* The rank that holds up the others, and what it spends that time on. */
#ifndef FLOPLEDGER_SECTIONS_RANKS_RANKS_CULPRIT_H
#define FLOPLEDGER_SECTIONS_RANKS_RANKS_CULPRIT_H

#include "sections/ranks/ranks_tables.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The account of which the rank has most more than the others, per step. */
struct ranks_culprit {
    size_t rank; /* SIZE_MAX: none stands out */
    bool has_cause;
    enum account cause;
    int64_t own_ns;
    int64_t others_ns; /* the median of the others; of two ranks the other one */
};

struct ranks_culprit find_ranks_culprit(const struct all_ranks *run,
                                        const struct ranks_spread *spread);

/* The median of a time of all ranks but one. */
int64_t median_of_others_ns(const struct all_ranks *run, size_t rank,
                            int64_t (*measure)(const struct rank_in_run *rank, unsigned account),
                            unsigned account);

/* "idles 22.8 ms per step with nothing recorded, the other rank 20.0 µs"; NULL where `rank` is not
 * the culprit or has no cause. */
const char *culprit_cause(struct results *results, const struct all_ranks *run,
                          const struct ranks_culprit *culprit, size_t rank);

/* Time of a step that each of the other ranks loses, on average, to the straggler. */
int64_t caused_exposed_ns_per_step(const struct all_ranks *run, size_t straggler);

/* What to do about `rank`: by its cause, where it is the culprit. */
const char *culprit_advice(const struct ranks_culprit *culprit, size_t rank);

/* What the report of the job comes to, in one sentence. */
const char *job_headline(struct results *results, const struct all_ranks *run,
                         const struct ranks_spread *spread, const struct ranks_culprit *culprit);

#endif
