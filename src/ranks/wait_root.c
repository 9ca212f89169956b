/* Where a wait began.
 *
 * A waits in a collective J for L, which came last. Since A and L were together before, L may have
 * stalled in other collectives, in which A is not, and waited there for others. Had M come to
 * these in time, L would have left them that much earlier: if what L lost to M is at least half of
 * A's wait, the wait is M's doing and not L's, and the same is asked of M. Only what L exposed
 * counts: while it computes beside a collective, it is not held up. Collectives in which all ranks
 * end together count alone, since a receive that waits is what a pipeline is made of; and only
 * those of one step.
 *
 * Each wait has one root, so all roots' waits sum to all waiting. The search goes back in time from
 * rank to rank, DEPTH_MAX times at most, and looks at CALLS_MAX calls of each: most often at one,
 * as ranks that wait for each other are together often. */
#include "ranks/wait_root.h"

#include "base/core/search.h"

#include <stdbool.h>

enum { DEPTH_MAX = 32, CALLS_MAX = 512, CULPRITS_MAX = 16 };

struct root_search {
    const struct rank_digest *const *digests;
    const struct call_joins *joins;
};

static const struct digest_call *called_by(const struct root_search *search,
                                           struct join_member call)
{
    return &search->digests[call.rank]->calls[call.call];
}

static const struct joined_call *join_of_call(const struct root_search *search,
                                              struct join_member call)
{
    uint32_t join = search->joins->join_of[call.rank][call.call];

    return join == NO_JOIN ? NULL : &search->joins->joins[join];
}

/* The call of `rank` in a collective; false where it is not in it. Members are in order of rank. */
static bool find_call_of_rank(struct join_member *member, const struct root_search *search,
                              const struct joined_call *join, uint32_t rank)
{
    const struct join_member *members = &search->joins->members[join->first];
    uint32_t place = LOWER_BOUND(i, 0, join->count, members[i].rank < rank);

    if (place == join->count || members[place].rank != rank)
        return false;
    *member = members[place];
    return true;
}

/* How much of [start_ns, end_ns) is exposed communication of the rank. */
static int64_t exposed_within_ns(const struct rank_digest *digest, int64_t start_ns, int64_t end_ns)
{
    uint32_t first =
        LOWER_BOUND(i, 0, digest->exposed_count, digest->exposed[i].end_ns <= start_ns);
    int64_t sum_ns = 0;

    for (uint32_t i = first; i < digest->exposed_count && digest->exposed[i].start_ns < end_ns;
         i++) {
        const struct digest_interval *interval = &digest->exposed[i];
        int64_t from_ns = interval->start_ns > start_ns ? interval->start_ns : start_ns;
        int64_t until_ns = interval->end_ns < end_ns ? interval->end_ns : end_ns;

        sum_ns += until_ns - from_ns;
    }
    return sum_ns;
}

/* How long the rank stalled in the call until the last came; 0 where it did not, or nothing
 * tells. */
static int64_t held_up_ns(const struct root_search *search, struct join_member call)
{
    const struct rank_digest *digest = search->digests[call.rank];
    const struct digest_call *own = called_by(search, call);
    int64_t waiting_ns;

    if (!join_of_call(search, call) || !ends_together((enum collective_kind)own->kind))
        return 0;
    waiting_ns = waiting_of_call(digest, call.rank, call.call, search->joins);
    return waiting_ns <= 0 ? 0
                           : exposed_within_ns(digest, own->start_ns, own->start_ns + waiting_ns);
}

/* Whom a rank has waited for, and how long in all. */
struct culprits {
    struct culprit_of_wait {
        struct join_member call; /* its own, in the latest such collective */
        int64_t held_up_ns;
    } list[CULPRITS_MAX];
    unsigned count;
};

static void add_culprit(struct culprits *culprits, const struct root_search *search,
                        struct join_member call)
{
    int64_t ns = held_up_ns(search, call);
    const struct joined_call *join = join_of_call(search, call);
    unsigned place = 0;

    if (ns == 0 || !join || join->late == call.rank)
        return;
    while (place < culprits->count && culprits->list[place].call.rank != join->late)
        place++;
    if (place == CULPRITS_MAX)
        return;
    if (place == culprits->count) {
        if (!find_call_of_rank(&culprits->list[place].call, search, join, join->late))
            return;
        culprits->list[place].held_up_ns = 0;
        culprits->count++;
    }
    culprits->list[place].held_up_ns += ns;
}

/* Whom the last to come had waited for since it was together with the waiter. */
static struct culprits find_culprits(const struct root_search *search, struct join_member late,
                                     uint32_t waiter)
{
    const struct digest_call *own = called_by(search, late);
    struct culprits found = {.count = 0};
    uint32_t last = late.call > CALLS_MAX ? late.call - CALLS_MAX : 0;

    for (uint32_t i = late.call; i > last; i--) {
        struct join_member before = {.rank = late.rank, .call = i - 1}, together;
        const struct digest_call *call = called_by(search, before);
        const struct joined_call *join = join_of_call(search, before);

        if (call->step != own->step)
            break;
        if (!join || call->start_ns + call->duration_ns > own->start_ns)
            continue;
        if (find_call_of_rank(&together, search, join, waiter))
            break;
        add_culprit(&found, search, before);
    }
    return found;
}

static const struct culprit_of_wait *worst_of(const struct culprits *culprits)
{
    const struct culprit_of_wait *worst = NULL;

    for (unsigned i = 0; i < culprits->count; i++)
        if (!worst || culprits->list[i].held_up_ns > worst->held_up_ns)
            worst = &culprits->list[i];
    return worst;
}

uint32_t find_wait_root(const struct rank_digest *const *digests, const struct call_joins *joins,
                        struct join_member call)
{
    const struct root_search search = {.digests = digests, .joins = joins};
    const struct joined_call *join = join_of_call(&search, call);
    int64_t waiting_ns = waiting_of_call(digests[call.rank], call.rank, call.call, joins);
    uint32_t waiter = call.rank;
    struct join_member late;

    if (!join || waiting_ns <= 0 || !find_call_of_rank(&late, &search, join, join->late))
        return call.rank;
    if (!ends_together((enum collective_kind)called_by(&search, call)->kind))
        return late.rank;
    for (int depth = 0; depth < DEPTH_MAX; depth++) {
        struct culprits culprits = find_culprits(&search, late, waiter);
        const struct culprit_of_wait *worst = worst_of(&culprits);

        if (!worst || worst->held_up_ns < waiting_ns - worst->held_up_ns)
            break;
        waiter = late.rank;
        waiting_ns = worst->held_up_ns;
        late = worst->call;
    }
    return late.rank;
}
