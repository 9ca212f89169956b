/* How far the clocks of the ranks are apart.
 *
 * A collective in which nobody can be done before all have come (all-reduce, reduce-scatter, ...)
 * ends on all its ranks at nearly the same time, so the recorded ends differ by what the clocks do.
 * One collective says little: its ends may be apart for other reasons. So a clock is the median
 * over all collectives that tie it to others, which a few bad ones do not move.
 *
 * From the first rank outwards: whoever shares a collective with a rank whose clock is known gets
 * the median of the differences to it, until nobody new is reached; kinds that need not end
 * together are used for those alone that no other reaches (the stages of a pipeline). Then,
 * REFINEMENTS times, each clock moves by the median of how far its ends lie behind the middle end
 * of their collectives, so that an error made on the way outwards does not stay. What is left is
 * told as the residual.
 *
 * What holds: the first rank's clock is the one that all are given by; shifting a recorded clock by
 * any amount shifts its offset by just that. O(c log c) for c calls, times the ranks' distance. */
#include "ranks/rank_clocks.h"

#include "base/core/invariant.h"
#include "base/core/percentile.h"

#include <stdlib.h>

/* The middle of the ends moves with the clocks, hence more than one round. */
enum { REFINEMENTS = 3 };

/* By how much the end of a call of `rank` lies behind the others'. */
struct end_difference {
    uint32_t rank;
    int64_t ns;
};

struct aligner {
    struct rank_clock *clocks;
    const struct rank_digest *const *digests;
    const struct call_joins *joins;
    struct end_difference *differences; /* [member_count] */
    size_t difference_count;
    int64_t *ends_ns; /* [member_count]: of one collective, which may have a rank twice */
    bool takes_all;   /* also kinds that need not end together: the stages of a pipeline share
                         nothing else */
};

/* Of ends, not starts: ranks come to a collective at any time, and leave it together. */
static int64_t recorded_end(const struct aligner *aligner, const struct join_member *member)
{
    const struct digest_call *call = &aligner->digests[member->rank]->calls[member->call];

    return call->start_ns + call->duration_ns;
}

static bool reports_time(const struct aligner *aligner, const struct joined_call *join)
{
    const struct join_member *first = &aligner->joins->members[join->first];
    const struct digest_call *call = &aligner->digests[first->rank]->calls[first->call];

    return join->count >= 2 && !join->is_mismatched &&
           (aligner->takes_all || ends_together((enum collective_kind)call->kind));
}

static int compare_differences(const void *left, const void *right)
{
    const struct end_difference *a = left;
    const struct end_difference *b = right;

    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    return a->ns < b->ns ? -1 : a->ns > b->ns;
}

/* The middle one of each rank's differences becomes its offset, or is added to it. */
static void collect_medians(struct aligner *aligner)
{
    struct end_difference *differences = aligner->differences;

    qsort(differences, aligner->difference_count, sizeof *differences, compare_differences);
    for (size_t i = 0; i < aligner->difference_count;) {
        struct rank_clock *clock = &aligner->clocks[differences[i].rank];
        size_t end = i;

        while (end < aligner->difference_count && differences[end].rank == differences[i].rank)
            end++;
        /* The lower middle of an even number: an offset is then always one that was measured,
         * not a mean of two. */
        clock->offset_ns += differences[i + (end - i - 1) / 2].ns;
        clock->is_known = true;
        i = end;
    }
}

/* One step outwards: ranks that share a collective with a rank whose clock is known. False where
 * there is none any more. */
static bool reach_further(struct aligner *aligner)
{
    const struct call_joins *joins = aligner->joins;

    aligner->difference_count = 0;
    for (uint32_t i = 0; i < joins->join_count; i++) {
        const struct joined_call *join = &joins->joins[i];
        const struct join_member *members = &joins->members[join->first];
        uint32_t known = 0;

        if (!reports_time(aligner, join))
            continue;
        /* The first known rank of the collective will do: all of them were found the same way,
         * and the rounds of refinement look at all. */
        while (known < join->count && !aligner->clocks[members[known].rank].is_known)
            known++;
        if (known == join->count)
            continue;
        for (uint32_t k = 0; k < join->count; k++)
            if (!aligner->clocks[members[k].rank].is_known)
                aligner->differences[aligner->difference_count++] = (struct end_difference){
                    members[k].rank, recorded_end(aligner, &members[k]) -
                                         recorded_end(aligner, &members[known]) +
                                         aligner->clocks[members[known].rank].offset_ns};
    }
    collect_medians(aligner);
    return aligner->difference_count > 0;
}

/* Collects the ends of those members whose clock is known, by the first rank's clock. One
 * collective may have a rank twice (two devices of one process), so ends are listed, not looked
 * up by rank. */
static size_t aligned_ends(struct aligner *aligner, const struct joined_call *join)
{
    const struct join_member *members = &aligner->joins->members[join->first];
    size_t count = 0;

    for (uint32_t k = 0; k < join->count; k++)
        if (aligner->clocks[members[k].rank].is_known)
            aligner->ends_ns[count++] =
                recorded_end(aligner, &members[k]) - aligner->clocks[members[k].rank].offset_ns;
    return count;
}

/* By how much each end lies behind the middle one of its collective. */
static void compare_with_all(struct aligner *aligner)
{
    const struct call_joins *joins = aligner->joins;

    aligner->difference_count = 0;
    for (uint32_t i = 0; i < joins->join_count; i++) {
        const struct joined_call *join = &joins->joins[i];
        const struct join_member *members = &joins->members[join->first];
        int64_t middle_ns;
        size_t count;

        if (!reports_time(aligner, join))
            continue;
        count = aligned_ends(aligner, join);
        /* With one known clock there is nothing to compare it with. */
        if (count < 2)
            continue;
        middle_ns = percentile_of(aligner->ends_ns, count, 50);
        for (uint32_t k = 0; k < join->count; k++) {
            const struct rank_clock *clock = &aligner->clocks[members[k].rank];

            if (clock->is_known)
                aligner->differences[aligner->difference_count++] =
                    (struct end_difference){members[k].rank, recorded_end(aligner, &members[k]) -
                                                                 clock->offset_ns - middle_ns};
        }
    }
}

/* Reaches all ranks that joins tie to the first: by kinds that end together as far as they go.
 * Kinds that end together are exhausted first, so that a clock that could be set by an
 * all-reduce is never set by a receive. One round of other kinds at a time: what it reaches may
 * tie further ranks by good kinds again. */
static void reach_all(struct aligner *aligner)
{
    bool needs_all = false;

    aligner->clocks[0].is_known = true;
    for (;;) {
        aligner->takes_all = false;
        while (reach_further(aligner))
            continue;
        aligner->takes_all = true;
        if (!reach_further(aligner))
            break;
        needs_all = true;
    }
    aligner->takes_all = needs_all;
}

/* All clocks move at once (Jacobi, not Gauss-Seidel), so the order of ranks has no influence;
 * then all are shifted back so that the first rank's stays 0. */
static void refine(struct aligner *aligner, uint32_t digest_count)
{
    int64_t first_ns;

    compare_with_all(aligner);
    collect_medians(aligner);
    first_ns = aligner->clocks[0].offset_ns;
    for (uint32_t rank = 0; rank < digest_count; rank++)
        if (aligner->clocks[rank].is_known)
            aligner->clocks[rank].offset_ns -= first_ns;
}

/* What is left after the offsets is jitter or drift: its median and maximum say what a time of
 * one rank is worth on another's clock. */
static void measure_residuals(struct aligner *aligner)
{
    struct end_difference *differences = aligner->differences;

    compare_with_all(aligner);
    for (size_t i = 0; i < aligner->difference_count; i++)
        differences[i].ns = llabs(differences[i].ns);
    qsort(differences, aligner->difference_count, sizeof *differences, compare_differences);
    for (size_t i = 0; i < aligner->difference_count;) {
        struct rank_clock *clock = &aligner->clocks[differences[i].rank];
        size_t end = i;

        while (end < aligner->difference_count && differences[end].rank == differences[i].rank)
            end++;
        clock->residual_ns = differences[i + (end - i - 1) / 2].ns;
        clock->residual_max_ns = differences[end - 1].ns;
        clock->call_count = (uint32_t)(end - i);
        i = end;
    }
}

/* Only of collectives all of whose members have a known clock: with one left out the spread
 * would look smaller than it is. */
static struct end_skew measure_skew(struct aligner *aligner)
{
    const struct call_joins *joins = aligner->joins;
    int64_t *skews_ns = require_memory(calloc((size_t)joins->join_count + 1, sizeof *skews_ns));
    struct end_skew skew = {.least_ns = INT64_MAX};

    for (uint32_t i = 0; i < joins->join_count; i++) {
        const struct joined_call *join = &joins->joins[i];
        int64_t first_ns, last_ns;

        if (!reports_time(aligner, join) || aligned_ends(aligner, join) < join->count)
            continue;
        first_ns = last_ns = aligner->ends_ns[0];
        for (uint32_t k = 1; k < join->count; k++) {
            if (aligner->ends_ns[k] < first_ns)
                first_ns = aligner->ends_ns[k];
            if (aligner->ends_ns[k] > last_ns)
                last_ns = aligner->ends_ns[k];
        }
        skews_ns[skew.count++] = last_ns - first_ns;
        if (last_ns - first_ns < skew.least_ns)
            skew.least_ns = last_ns - first_ns;
    }
    skew.median_ns = percentile_of(skews_ns, skew.count, 50);
    skew.most_ns = percentile_of(skews_ns, skew.count, 100);
    if (skew.count == 0)
        skew.least_ns = 0;
    free(skews_ns);
    return skew;
}

/* The same with all offsets at 0, for comparison: what alignment gained is told by the two. */
static struct end_skew measure_recorded_skew(const struct aligner *aligner, uint32_t digest_count)
{
    struct aligner as_recorded = *aligner;
    struct end_skew skew;

    as_recorded.clocks =
        require_memory(calloc((size_t)digest_count + 1, sizeof(struct rank_clock)));
    for (uint32_t rank = 0; rank < digest_count; rank++)
        as_recorded.clocks[rank].is_known = true;
    skew = measure_skew(&as_recorded);
    free(as_recorded.clocks);
    return skew;
}

/* Rank 0 of the list is the reference. Drift is not modeled: profiles are of seconds, in which
 * clocks of a node drift apart by less than the residual (some parts per million). */
void align_clocks(struct rank_clocks *clocks, const struct rank_digest *const *digests,
                  const struct call_joins *joins)
{
    uint32_t digest_count = joins->digest_count;
    struct aligner aligner = {.digests = digests, .joins = joins};

    if (digest_count == 0)
        return;
    clocks->clocks = require_memory(calloc((size_t)digest_count, sizeof *clocks->clocks));
    aligner.clocks = clocks->clocks;
    aligner.differences =
        require_memory(calloc((size_t)joins->member_count + 1, sizeof *aligner.differences));
    aligner.ends_ns =
        require_memory(calloc((size_t)joins->member_count + 1, sizeof *aligner.ends_ns));
    reach_all(&aligner);
    for (int i = 0; i < REFINEMENTS; i++)
        refine(&aligner, digest_count);
    measure_residuals(&aligner);
    clocks->aligned = measure_skew(&aligner);
    /* Before and after: a reader sees whether the recorder's clocks were good already. */
    clocks->as_recorded = measure_recorded_skew(&aligner, digest_count);
    free(aligner.differences);
    free(aligner.ends_ns);
}

void rank_clocks_clear(struct rank_clocks *clocks)
{
    free(clocks->clocks);
    *clocks = (struct rank_clocks){0};
}
