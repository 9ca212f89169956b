/* Sends and receives that their partner has not called.
 *
 * Each process counts its point-to-point operations for itself, so their numbers don't join them.
 * But between two ranks of a group they match in the order of the calls: of those that are not
 * complete, the first send belongs to the first receive, and so on. */
#include "base/core/array.h"
#include "base/core/hash_map.h"
#include "base/core/invariant.h"
#include "ranks/hang/flight_stalls.h"

#include <stdlib.h>
#include <string.h>

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

/* ---- counting, then finding the first that is not answered ---- */

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
void flight_find_p2p_stalls(struct flight_stalls *found, const struct flight_join *join)
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
