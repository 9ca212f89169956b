/* Whether traces are of the ranks of one run, of one recording, or of one process at several
 * times. */
#ifndef FLOPLEDGER_RANKS_ONE_RUN_H
#define FLOPLEDGER_RANKS_ONE_RUN_H

#include "ranks/call_join.h"
#include "ranks/rank_digest.h"

#include <stdbool.h>
#include <stdint.h>

/* At least two traces, of which [count] are of different ranks. */
struct run_question {
    const struct rank_digest *const *digest_list; /* [count] */
    uint32_t count;
    const struct call_joins *joins;
    int64_t world_size; /* -1: not known */
    bool are_copies;    /* where count is 1: the others hold its recording once more */
};

/* Why they are not of one run; NULL: nothing is against it. */
const char *sign_of_other_runs(const struct run_question *run);

/* By the trace or its file's name. */
bool has_known_rank(const struct rank_digest *digest);

/* Whether two traces are of one recording, which stands in a folder twice: as a copy, in the form
 * of another program, or within a file that several were merged into. Equal are the device and, to
 * the nanosecond, all steps and calls; where both tell a process or a rank, these are, too. Traces
 * without a step are never. */
bool is_same_recording(const struct rank_digest *a, const struct rank_digest *b);

/* Windows of one process: its profiler recorded several times, and each time wrote a trace. Whether
 * `later` is what the process of `first` did afterwards. */
bool is_later_window(const struct rank_digest *first, const struct rank_digest *later);

/* Sorts the digests by start, and says whether each is a later window of the one before; false of
 * less than two. */
bool are_windows_of_one(const struct rank_digest **digests, uint32_t count);

#endif
