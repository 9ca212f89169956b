/* Work that all-to-all calls move between ranks in unequal parts. */
#include "ranks/routed_work.h"

#include "base/core/search.h"
#include "ledger/collective_call.h"

/* What the call sends and receives; NULL: it does not tell. Exchanges are in order of their
 * calls. */
static const struct digest_exchange *exchange_of(const struct rank_digest *digest, uint32_t call)
{
    uint32_t low = LOWER_BOUND(i, 0, digest->exchange_count, digest->exchanges[i].call < call);

    return low < digest->exchange_count && digest->exchanges[low].call == call
               ? &digest->exchanges[low]
               : NULL;
}

static const struct digest_exchange *exchange_of_member(const struct all_ranks *run,
                                                        const struct join_member *member)
{
    return exchange_of(run->ranks[member->rank].digest, member->call);
}

/* The largest less the smallest part; false where a member does not tell its own, or is outside of
 * the steps. */
static bool routed_work_measure_spread(const struct all_ranks *run, const struct joined_call *join,
                                       int64_t *sent, int64_t *received)
{
    int64_t most_sent = 0, most_received = 0, least_sent = INT64_MAX, least_received = INT64_MAX;

    for (uint32_t i = 0; i < join->count; i++) {
        const struct join_member *member = &run->joins.members[join->first + i];
        const struct digest_exchange *exchange = exchange_of_member(run, member);

        if (!exchange || run->ranks[member->rank].digest->calls[member->call].step < 0)
            return false;
        most_sent = exchange->sent_bytes > most_sent ? exchange->sent_bytes : most_sent;
        least_sent = exchange->sent_bytes < least_sent ? exchange->sent_bytes : least_sent;
        most_received =
            exchange->received_bytes > most_received ? exchange->received_bytes : most_received;
        least_received =
            exchange->received_bytes < least_received ? exchange->received_bytes : least_received;
    }
    *sent = most_sent - least_sent;
    *received = most_received - least_received;
    return true;
}

/* Whichever side differs more between the ranks is the routed one: tokens are sent in unequal
 * parts to experts (received differ) and come back (sent differ), and both are the same work
 * of the experts. */
static void routed_work_add_join(int64_t *bytes, const struct all_ranks *run,
                                 const struct joined_call *join)
{
    int64_t sent, received;

    if (join->count < 2 || join->is_mismatched ||
        !routed_work_measure_spread(run, join, &sent, &received))
        return;
    for (uint32_t i = 0; i < join->count; i++) {
        const struct join_member *member = &run->joins.members[join->first + i];
        const struct digest_exchange *exchange = exchange_of_member(run, member);
        int64_t part = received >= sent ? exchange->received_bytes : exchange->sent_bytes;
        int64_t *sum = &bytes[member->rank];

        if (*sum < 0)
            *sum = 0;
        if (__builtin_add_overflow(*sum, part, sum))
            *sum = INT64_MAX;
    }
}

void sum_routed_bytes(int64_t *bytes, const struct all_ranks *run)
{
    for (uint32_t i = 0; i < run->count; i++)
        bytes[i] = -1;
    for (uint32_t i = 0; i < run->joins.join_count; i++)
        routed_work_add_join(bytes, run, &run->joins.joins[i]);
}

bool has_all_to_all(const struct all_ranks *run)
{
    for (uint32_t i = 0; i < run->count; i++)
        for (uint32_t call = 0; call < run->ranks[i].digest->call_count; call++)
            if (run->ranks[i].digest->calls[call].kind == COLLECTIVE_ALL_TO_ALL)
                return true;
    return false;
}
