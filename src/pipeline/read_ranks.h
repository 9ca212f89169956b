/* Reads all ranks of a run, from traces and from digests of them: a digest of each, and the full
 * results of those that are to be printed in full. One trace for each thread is in memory at a
 * time. */
#ifndef FLOPLEDGER_PIPELINE_READ_RANKS_H
#define FLOPLEDGER_PIPELINE_READ_RANKS_H

#include "base/core/attributes.h"
#include "base/core/error.h"
#include "output/results/results.h"
#include "pipeline/input_files.h"
#include "pipeline/mpi_world.h"
#include "pipeline/rank_sections.h"
#include "ranks/digest_set.h"
#include "ranks/rank_layout.h"
#include "replay/rank_replay_input.h"

#include <stdbool.h>
#include <stdint.h>

/* So many ranks are printed in full at most, where all are asked for; of more the lowest. */
enum { RANKS_IN_FULL_MAX = 64 };

/* So many ranks are replayed together at most where no change was asked for: it takes a few MB of
 * each. */
enum { RANKS_REPLAYED_MAX = 16 };

/* Which ranks get full results. */
enum ranks_in_full {
    NO_RANK_IN_FULL,
    ONE_RANK_IN_FULL,   /* rank_reading.rank, or the lowest */
    EVERY_RANK_IN_FULL, /* up to RANKS_IN_FULL_MAX; of more ranks one */
    EVERY_RANK_HOWEVER_MANY,
};

/* By whose clock the steps of the ranks were cut. */
struct rank_clocks_chosen {
    uint32_t count[2];  /* ranks by enum step_clock; only those with steps and work of a device */
    bool is_device_fit; /* each of those can have the device's: it has a window for each step */
};

struct rank_reading {
    unsigned threads; /* of this process; at least 1 */
    bool shows_progress;
    enum ranks_in_full in_full;
    int64_t rank; /* the one; -1: the lowest */
    const struct analysis_plan *plan;
    const struct rank_layout *layout; /* NULL: not said */
    const struct mpi_world *world;
    struct rank_replay_inputs *courses; /* of all traces, added in the first process, for replays of
                                     the plan's scenarios; NULL: none */
    const struct capture_choice *captures; /* of CUDA graphs; NULL: those beside each trace */
    struct rank_clocks_chosen *clocks;     /* filled in; NULL: nobody asks */
};

/* Adds the digests of `files` to `set`, and files that gave none as its problems; full results go
 * to `results`. In a world of several processes each reads a part of the traces, and all of it
 * arrives at the first one; the others end up with nothing. Where the ranks of one process choose
 * different clocks, they are read once more with one: the steps of a run are cut alike. False where
 * a message was lost. */
MUST_USE bool read_ranks(struct digest_set *set, struct results *results,
                         const struct input_files *files, const struct rank_reading *reading,
                         struct error *error);

/* Says what `set` is worth: false with the first problem where it has no digest at all. */
MUST_USE bool has_any_rank(const struct digest_set *set, struct error *error);

/* read_ranks, and then, in the first process, all that a page says of them: problems, the overview
 * of several ranks, results in full. Errors, too: nothing that can be used, no rank
 * `reading->rank`. */
MUST_USE bool read_run(struct digest_set *set, struct results *results,
                       const struct input_files *files, const struct rank_reading *reading,
                       struct error *error);

/* Says how well the input was read, once the rest is printed: true, or ERROR_PARTIAL. */
bool check_ranks_read(const struct digest_set *set, struct error *error);

#endif
