/* All ranks of a run together: made of their digests, in whatever order and wherever they came. */
#ifndef FLOPLEDGER_RANKS_ALL_RANKS_H
#define FLOPLEDGER_RANKS_ALL_RANKS_H

#include "ranks/call_join.h"
#include "ranks/digest_set.h"
#include "ranks/rank_clocks.h"
#include "ranks/rank_digest.h"
#include "ranks/rank_layout.h"

#include <stdbool.h>
#include <stdint.h>

/* They sum to the account of exposed communication. */
struct exposed_parts {
    int64_t waiting_ns;  /* no open call is past the moment at which the last rank came */
    int64_t bubble_ns;   /* of it: in a send or receive */
    int64_t transfer_ns; /* at least one is */
    int64_t unknown_ns;  /* calls that no other rank's trace shows */
};

/* What communication cost a rank, in its steps. */
struct rank_communication {
    int64_t kernel_ns;   /* its communication kernels that start in a step, summed */
    int64_t waiting_ns;  /* of that: before the last rank came */
    int64_t transfer_ns; /* of that: after it */
    int64_t unknown_ns;  /* of that: not known */
    struct exposed_parts exposed;
    uint32_t late_count;     /* collectives in the steps that it came to last */
    uint32_t joined_count;   /* collectives in the steps that joined */
    int64_t caused_ns;       /* kernel time of others that waited for it, as the last to come */
    int64_t root_ns;         /* ... whose waiting began with it: see all_ranks.c */
    int64_t root_exposed_ns; /* of that: exposed */
};

struct rank_in_run {
    const struct rank_digest *digest;
    int32_t coordinates[AXIS_COUNT]; /* -1: not known */
    struct rank_communication communication;
    struct exposed_parts *steps; /* [digest->step_count] */
};

struct all_ranks {
    struct rank_digest *digests; /* [count] */
    const struct rank_digest **digest_list;
    struct rank_in_run *ranks; /* [count]: by rank; those without a number behind */
    uint32_t count;
    struct shared_texts *texts; /* which the digests point into */
    struct rank_layout layout;
    int64_t world_size; /* of the layout or as the traces say; -1: not known */
    int64_t *missing; /* [missing_count]: ranks of the world without a digest, the first of them */
    uint32_t missing_count;
    int64_t missing_in_all;
    const struct rank_digest **doubles; /* digests of a rank that another digest is of, too */
    uint32_t double_count;
    struct call_joins joins;
    const char *other_runs; /* why these are not ranks of one run; NULL: nothing is against it */
    bool are_windows;       /* but what one process did at several times, by time */
    struct rank_clocks clocks;
};

/* Zeroed before. Sorts `set`; does not need it afterwards. `layout` may be NULL. */
void all_ranks_init(struct all_ranks *run, struct digest_set *set,
                    const struct rank_layout *layout);
void all_ranks_clear(struct all_ranks *run);

/* "rank 3", or the file's name; lives as long as the run and the buffer. */
enum { RANK_LABEL_BYTES = 128 };
const char *all_ranks_label(const struct all_ranks *run, uint32_t index,
                            char label[RANK_LABEL_BYTES]);

/* The rank (index in `digests`) with which the waiting of a joined call began: the one that came
 * last, or whom that one had waited for before. See all_ranks.c. */
uint32_t find_wait_root(const struct rank_digest *const *digests, const struct call_joins *joins,
                        struct join_member call);

#endif
