/* The critical path through all ranks: from call to call, and from rank to rank. */
#include "ranks/ranks_path.h"

#include "base/core/invariant.h"
#include "ranks/rank_clocks.h"

#include <stdlib.h>

/* Where the path is: at the end of a chain of a rank. */
struct path_place {
    uint32_t rank;
    uint32_t chain; /* index in digest->chains */
};

/* A clock that nothing ties to the others is taken as it is: better than leaving the rank out,
 * and the difference of lengths shows it. */
static int64_t aligned_ns(const struct all_ranks *run, uint32_t rank, int64_t time_ns)
{
    const struct rank_clock *clock = &run->clocks.clocks[rank];

    return time_ns - (clock->is_known ? clock->offset_ns : 0);
}

int64_t rank_path_share_ns(const struct rank_path_share *share)
{
    int64_t sum_ns = share->transfer_ns + share->unknown_ns;

    for (int part = 0; part < CHAIN_PART_COUNT; part++)
        sum_ns += share->parts_ns[part];
    return sum_ns;
}

/* The end of the rank that is done last; false where a rank's chains are not known. All ranks
 * must have chains, for any of them may be on the path. */
static bool find_end(struct ranks_path *path, const struct all_ranks *run, struct path_place *place)
{
    int64_t first_ns = INT64_MAX, last_ns = INT64_MIN;

    for (uint32_t i = 0; i < run->count; i++) {
        const struct rank_digest *digest = run->ranks[i].digest;
        int64_t start_ns = aligned_ns(run, i, digest->path_start_ns);
        int64_t end_ns = aligned_ns(run, i, digest->path_end_ns);

        if (digest->chain_count == 0) {
            path->lacking = i;
            return false;
        }
        first_ns = start_ns < first_ns ? start_ns : first_ns;
        if (end_ns > last_ns) {
            last_ns = end_ns;
            *place = (struct path_place){i, digest->chain_count - 1};
        }
    }
    path->recorded_ns = last_ns - first_ns;
    return run->count > 0;
}

static uint32_t call_of_member(const struct call_joins *joins, const struct joined_call *join,
                               uint32_t rank)
{
    for (uint32_t i = 0; i < join->count; i++)
        if (joins->members[join->first + i].rank == rank)
            return joins->members[join->first + i].call;
    return NO_JOIN;
}

/* Books the call that the chain came after, and goes on from the rank that came to it last. */
static struct path_place cross(struct ranks_path *path, const struct all_ranks *run, uint32_t rank,
                               uint32_t call)
{
    const struct digest_call *here = &run->ranks[rank].digest->calls[call];
    uint32_t index = run->joins.join_of[rank][call], late, late_call;
    const struct joined_call *join = index == NO_JOIN ? NULL : &run->joins.joins[index];
    int64_t end_ns = aligned_ns(run, rank, here->start_ns + here->duration_ns), start_ns;

    if (!join || join->transfer_ns < 0) {
        path->shares[rank].unknown_ns += here->duration_ns;
        return (struct path_place){rank, call};
    }
    late = join->late;
    late_call = call_of_member(&run->joins, join, late);
    require_invariant(late_call != NO_JOIN, "who comes last takes part");
    start_ns = aligned_ns(run, late, run->ranks[late].digest->calls[late_call].start_ns);
    path->shares[late].transfer_ns += end_ns > start_ns ? end_ns - start_ns : 0;
    path->shares[late].late_count++;
    return (struct path_place){late, late_call};
}

/* Walked backwards, from the end of the rank that is done last. Within a rank the chain before a
 * call is known from its digest; at a call the path goes on from the rank that came to it last,
 * for all others waited for that one: that is what makes it critical. Each call of each rank is
 * passed at most once, since time goes backwards, so places_left ends the walk even where clocks
 * or joins are wrong and it would go in a circle. The parts sum to the length of the path; what
 * clocks leave open shows as its difference from the recorded length. */
void find_ranks_path(struct ranks_path *path, const struct all_ranks *run)
{
    struct path_place place = {0, 0};
    uint64_t places_left = run->count;

    path->shares = require_memory(calloc(run->count + (size_t)1, sizeof *path->shares));
    if (!find_end(path, run, &place))
        return;
    for (uint32_t i = 0; i < run->count; i++)
        places_left += run->ranks[i].digest->call_count;
    for (; places_left > 0; places_left--) {
        const struct digest_chain *chain = &run->ranks[place.rank].digest->chains[place.chain];

        /* Set before each look, so that where the walk breaks off the rank is named that has
         * no more to tell. */
        path->lacking = place.rank;
        if (chain->call == CHAIN_NOT_KNOWN)
            return;
        for (int part = 0; part < CHAIN_PART_COUNT; part++)
            path->shares[place.rank].parts_ns[part] += chain->parts_ns[part];
        path->is_known = chain->call == CHAIN_FROM_START;
        if (path->is_known)
            break;
        place = cross(path, run, place.rank, (uint32_t)chain->call);
    }
    for (uint32_t i = 0; i < run->count; i++)
        path->length_ns += rank_path_share_ns(&path->shares[i]);
}

void ranks_path_clear(struct ranks_path *path)
{
    free(path->shares);
    *path = (struct ranks_path){0};
}
