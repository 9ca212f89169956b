/* Operations that ranks are in and that are not complete, and the ranks they wait for. */
#include "ranks/hang/flight_stalls.h"

#include "base/core/array.h"
#include "base/core/hash_map.h"
#include "base/core/invariant.h"

#include <stdlib.h>
#include <string.h>

static struct flight_stall *flight_stall_add(struct flight_stalls *found, uint32_t group,
                                             size_t call)
{
    ARRAY_ROOM(found->stalls, found->count);
    found->stalls[found->count] = (struct flight_stall){.group = group, .call = call};
    return &found->stalls[found->count++];
}

static void flight_stall_add_missing(struct flight_stall *stall, uint32_t rank, bool has_dump)
{
    ARRAY_ADD(stall->missing, stall->missing_count,
              (struct flight_missing){.rank = rank, .has_dump = has_dump});
}

static void flight_stall_add_waiting(struct flight_stall *stall, struct flight_member member)
{
    ARRAY_ADD(stall->waiting, stall->waiting_count, member);
}

/* ---- collectives ---- */

/* "Overwritten" is neither here nor missing: the ring buffer of that rank is too short to
 * tell, and to blame it would be a guess. */
static void flight_stalls_find_missing(struct flight_stall *stall, const struct flight_join *join,
                                       const struct flight_call *call)
{
    const struct flight_group *group = &join->dumps->groups[call->group];

    for (size_t i = 0; i < group->rank_count; i++)
        switch (flight_absence_of(join, call, group->ranks[i])) {
        case FLIGHT_CALLED:
            break;
        case FLIGHT_OVERWRITTEN:
            stall->unknown_count++;
            break;
        case FLIGHT_NOT_REACHED:
            flight_stall_add_missing(stall, group->ranks[i], true);
            break;
        case FLIGHT_NO_DUMP:
            flight_stall_add_missing(stall, group->ranks[i], false);
            break;
        }
}

/* Adds the call where it is the first incomplete one for some rank. `waits` holds the ranks that
 * wait in an earlier call of this group. */
static void flight_stalls_check_call(struct flight_stalls *found, const struct flight_join *join,
                                     size_t index, struct hash_map *waits)
{
    const struct flight_call *call = &join->calls[index];
    struct flight_stall *stall = NULL;
    size_t completed = 0;

    for (size_t i = 0; i < call->count; i++) {
        struct flight_member member = join->members[call->first + i];
        uint64_t key = pair_key(call->group, member.dump);

        if (flight_entry_of(join, &member)->state == FLIGHT_COMPLETED) {
            completed++;
            continue;
        }
        /* This rank waits in an earlier call already: this one it has only queued. */
        if (hash_map_find(waits, key) != NO_VALUE)
            continue;
        hash_map_set(waits, key, 1);
        if (!stall)
            stall = flight_stall_add(found, call->group, index);
        flight_stall_add_waiting(stall, member);
    }
    if (!stall)
        return;
    stall->completed_count = completed;
    flight_stalls_find_missing(stall, join, call);
}

/* ---- sends and receives ----
 *
 * Each process counts its point-to-point operations for itself, so their numbers don't join them.
 * But between two ranks of a group they match in the order of the calls: of those that are not
 * complete, the first send belongs to the first receive, and so on. */

/* What is open between two ranks of a group in one direction. */
struct channel {
    uint32_t group;
    int32_t source; /* ranks in the group */
    int32_t target;
    size_t sends;
    size_t receives;
    struct flight_member first_send; /* of those that no receive answers, once counted */
    struct flight_member first_receive;
};

struct channels {
    const struct flight_join *join;
    struct channel *channels; /* [count] */
    size_t count;
    struct hash_map by_pair; /* of group and pair of ranks, mixed; see channel_of */
};

static bool is_open(const struct flight_entry *entry)
{
    return entry->is_p2p && entry->source >= 0 && entry->state != FLIGHT_COMPLETED;
}

/* Whether this rank sends: it is the one at the source. */
static bool is_send(const struct channels *all, const struct flight_entry *entry)
{
    return strcmp(flight_text(all->join->dumps, entry->name), "send") == 0;
}

/* A channel is one direction between two ranks of a group: sends and receives of the other are
 * counted apart. */
static struct channel *channel_of(struct channels *all, const struct flight_entry *entry)
{
    const struct flight_group *group = &all->join->dumps->groups[entry->group];
    uint32_t width = (uint32_t)group->rank_count + 1;
    uint32_t pair = (uint32_t)entry->source * width + (uint32_t)entry->target;
    uint32_t index =
        hash_map_add(&all->by_pair, pair_key(entry->group, pair), (uint32_t)all->count);

    if (index == all->count) {
        ARRAY_ADD(all->channels, all->count,
                  (struct channel){
                      .group = entry->group, .source = entry->source, .target = entry->target});
    }
    return &all->channels[index];
}

static bool is_member(const struct channels *all, const struct flight_entry *entry)
{
    const struct flight_group *group = &all->join->dumps->groups[entry->group];

    return (size_t)entry->source < group->rank_count && (size_t)entry->target < group->rank_count;
}

/* Only what is not complete counts: a send that is has met its receive. */
static void count_dump(struct channels *all, uint32_t dump)
{
    const struct flight_dump *entries = &all->join->dumps->dumps[dump];

    for (size_t i = 0; i < entries->entry_count; i++) {
        const struct flight_entry *entry = &entries->entries[i];
        struct channel *channel;

        if (!is_open(entry) || !is_member(all, entry))
            continue;
        channel = channel_of(all, entry);
        if (is_send(all, entry))
            channel->sends++;
        else
            channel->receives++;
    }
}

/* The answered ones are passed by counting down. */
struct answered {
    size_t *sends; /* [channels]: still to pass */
    size_t *receives;
};

/* Those that the other side answers are the first ones, as both match in order: after passing
 * as many as the other side has, the next one is not answered. */
static void find_first(struct channels *all, uint32_t dump, struct answered *answered)
{
    const struct flight_dump *entries = &all->join->dumps->dumps[dump];

    for (size_t i = 0; i < entries->entry_count; i++) {
        const struct flight_entry *entry = &entries->entries[i];
        struct flight_member member = {.dump = dump, .entry = (uint32_t)i};
        struct channel *channel;
        size_t index;
        size_t *left;

        if (!is_open(entry) || !is_member(all, entry))
            continue;
        channel = channel_of(all, entry);
        index = (size_t)(channel - all->channels);
        left = is_send(all, entry) ? &answered->sends[index] : &answered->receives[index];
        if (*left == 0 && is_send(all, entry))
            channel->first_send = member;
        else if (*left == 0)
            channel->first_receive = member;
        if (*left != SIZE_MAX)
            (*left)--; /* from 0 it goes to SIZE_MAX: found */
    }
}

/* As many sends as receives are open: they match, and the transfer itself is under way. */
static void add_stall(struct flight_stalls *found, const struct channels *all,
                      const struct channel *channel)
{
    const struct flight_dumps *dumps = all->join->dumps;
    const struct flight_group *group = &dumps->groups[channel->group];
    bool waits_for_receive = channel->sends > channel->receives;
    uint32_t partner = group->ranks[waits_for_receive ? channel->target : channel->source];
    struct flight_stall *stall;

    if (channel->sends == channel->receives)
        return;
    stall = flight_stall_add(found, channel->group, SIZE_MAX);
    flight_stall_add_waiting(stall,
                             waits_for_receive ? channel->first_send : channel->first_receive);
    flight_stall_add_missing(stall, partner, flight_dump_of(dumps, partner) != NULL);
}

/* Channels were found in the order of dumps: sorted, the report does not depend on it. */
static int compare_channels(const void *one, const void *other)
{
    const struct channel *a = one;
    const struct channel *b = other;

    if (a->group != b->group)
        return a->group < b->group ? -1 : 1;
    if (a->source != b->source)
        return a->source < b->source ? -1 : 1;
    return (a->target > b->target) - (a->target < b->target);
}

/* Sends and receives of a pair have no common number, but both keep their order: the n-th send
 * answers the n-th receive. So those that are open on both sides answer each other, as many as
 * the fewer of both, and the first beyond is what waits. */
static void find_p2p_stalls(struct flight_stalls *found, const struct flight_join *join)
{
    struct channels all = {.join = join};
    struct answered answered;

    for (size_t i = 0; i < join->dumps->dump_count; i++)
        count_dump(&all, (uint32_t)i);
    answered.sends = require_memory(calloc(all.count + 1, sizeof *answered.sends));
    answered.receives = require_memory(calloc(all.count + 1, sizeof *answered.receives));
    for (size_t i = 0; i < all.count; i++) {
        /* Of the open sends as many are answered as there are open receives on the other side,
         * and the other way round. */
        answered.sends[i] = all.channels[i].receives;
        answered.receives[i] = all.channels[i].sends;
    }
    for (size_t i = 0; i < join->dumps->dump_count; i++)
        find_first(&all, (uint32_t)i, &answered);
    if (all.count > 0)
        qsort(all.channels, all.count, sizeof *all.channels, compare_channels);
    for (size_t i = 0; i < all.count; i++)
        add_stall(found, &all, &all.channels[i]);
    free(answered.sends);
    free(answered.receives);
    free(all.channels);
    hash_map_clear(&all.by_pair);
}

/* ---- both ---- */

/* Calls are in the order of group and sequence, so the first that a rank has not completed is
 * the one it waits in; later ones are queued behind it and say nothing new. O(members). */
void flight_find_stalls(struct flight_stalls *found, const struct flight_join *join)
{
    struct hash_map waits = {0};

    for (size_t i = 0; i < join->call_count; i++)
        flight_stalls_check_call(found, join, i, &waits);
    hash_map_clear(&waits);
    find_p2p_stalls(found, join);
}

static void stall_clear(struct flight_stall *stall)
{
    free(stall->waiting);
    free(stall->missing);
}

void flight_stalls_clear(struct flight_stalls *found)
{
    for (size_t i = 0; i < found->count; i++)
        stall_clear(&found->stalls[i]);
    free(found->stalls);
    memset(found, 0, sizeof *found);
}
