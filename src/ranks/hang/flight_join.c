/* The collectives of all ranks side by side. */
#include "ranks/hang/flight_join.h"

#include "base/core/invariant.h"
#include "base/core/search.h"

#include <stdlib.h>
#include <string.h>

const struct flight_entry *flight_entry_of(const struct flight_join *join,
                                           const struct flight_member *member)
{
    return &join->dumps->dumps[member->dump].entries[member->entry];
}

uint32_t flight_rank_of(const struct flight_join *join, const struct flight_member *member)
{
    return join->dumps->dumps[member->dump].rank;
}

/* ---- joining ---- */

/* A member with what it is ordered by. */
struct sorted_member {
    uint32_t group;
    uint32_t sequence;
    uint32_t ordinal;
    struct flight_member member;
};

static int flight_join_compare_u32(uint32_t a, uint32_t b)
{
    return (a > b) - (a < b);
}

static int flight_join_compare_calls(const struct sorted_member *a, const struct sorted_member *b)
{
    int order = flight_join_compare_u32(a->group, b->group);

    if (order == 0)
        order = flight_join_compare_u32(a->sequence, b->sequence);
    return order ? order : flight_join_compare_u32(a->ordinal, b->ordinal);
}

static int compare_members(const void *one, const void *other)
{
    const struct sorted_member *a = one;
    const struct sorted_member *b = other;
    int order = flight_join_compare_calls(a, b);

    return order ? order : flight_join_compare_u32(a->member.dump, b->member.dump);
}

/* "coalesced" entries close a group of operations that have entries of their own. */
static size_t flight_join_gather(struct sorted_member *sorted, const struct flight_dumps *dumps)
{
    uint32_t coalesced = string_pool_find(&dumps->strings, "coalesced", 9);
    size_t count = 0;

    for (size_t i = 0; i < dumps->dump_count; i++)
        for (size_t k = 0; k < dumps->dumps[i].entry_count; k++) {
            const struct flight_entry *entry = &dumps->dumps[i].entries[k];

            if (entry->is_p2p || entry->name == coalesced)
                continue;
            sorted[count++] = (struct sorted_member){
                .group = entry->group,
                .sequence = entry->sequence,
                .ordinal = entry->ordinal,
                .member = {.dump = (uint32_t)i, .entry = (uint32_t)k},
            };
        }
    return count;
}

/* Members are sorted by call, so that a new one begins wherever the order differs from the one
 * before. */
static void cut_into_calls(struct flight_join *join, const struct sorted_member *sorted,
                           size_t count)
{
    join->members = require_memory(calloc(count + 1, sizeof *join->members));
    join->calls = require_memory(calloc(count + 1, sizeof *join->calls));
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || flight_join_compare_calls(&sorted[i - 1], &sorted[i]) != 0)
            join->calls[join->call_count++] = (struct flight_call){
                .group = sorted[i].group,
                .sequence = sorted[i].sequence,
                .ordinal = sorted[i].ordinal,
                .first = i,
            };
        join->members[i] = sorted[i].member;
        join->calls[join->call_count - 1].count++;
    }
}

/* Sorted by group, sequence, ordinal and dump, equal ones side by side are one call: O(entries
 * log entries), and members are then in order of rank, as dumps are. */
void flight_join_calls(struct flight_join *join, const struct flight_dumps *dumps)
{
    struct sorted_member *sorted;
    size_t count = 0;

    *join = (struct flight_join){.dumps = dumps};
    for (size_t i = 0; i < dumps->dump_count; i++)
        count += dumps->dumps[i].entry_count;
    sorted = require_memory(calloc(count + 1, sizeof *sorted));
    count = flight_join_gather(sorted, dumps);
    if (count > 0)
        qsort(sorted, count, sizeof *sorted, compare_members);
    cut_into_calls(join, sorted, count);
    free(sorted);
}

/* ---- questions ---- */

static int compare_call(const struct flight_call *call, const struct sorted_member *wanted)
{
    struct sorted_member found = {
        .group = call->group, .sequence = call->sequence, .ordinal = call->ordinal};

    return flight_join_compare_calls(&found, wanted);
}

const struct flight_call *flight_find_call(const struct flight_join *join, uint32_t group,
                                           uint32_t sequence, uint32_t ordinal)
{
    struct sorted_member wanted = {.group = group, .sequence = sequence, .ordinal = ordinal};
    size_t found = LOWER_BOUND(i, 0, join->call_count, compare_call(&join->calls[i], &wanted) < 0);

    return found < join->call_count && compare_call(&join->calls[found], &wanted) == 0
               ? &join->calls[found]
               : NULL;
}

const struct flight_member *flight_member_of(const struct flight_join *join,
                                             const struct flight_call *call, uint32_t rank)
{
    size_t end = call->first + call->count;
    size_t found = LOWER_BOUND(i, call->first, end, flight_rank_of(join, &join->members[i]) < rank);

    return found < end && flight_rank_of(join, &join->members[found]) == rank
               ? &join->members[found]
               : NULL;
}

/* The highest number that the rank has called in the group; -1: none, as far as is known. The
 * process group's own status goes further than entries do, where the recorder writes it (PyTorch
 * >= 2.5); the entries, newest last, are walked from the end. */
static int64_t last_called(const struct flight_dump *dump, uint32_t group)
{
    int64_t last = group < dump->status_count ? dump->statuses[group].enqueued : -1;

    for (size_t i = dump->entry_count; i-- > 0;) {
        const struct flight_entry *entry = &dump->entries[i];

        if (entry->group == group && !entry->is_p2p)
            return (int64_t)entry->sequence > last ? (int64_t)entry->sequence : last;
    }
    return last;
}

/* A rank that has called a later number called this one, too, and its entry was overwritten in
 * the ring. Where it called nothing that is known and its ring is full, nothing can be said
 * either. */
enum flight_absence flight_absence_of(const struct flight_join *join,
                                      const struct flight_call *call, uint32_t rank)
{
    const struct flight_dump *dump;
    int64_t last;

    if (flight_member_of(join, call, rank))
        return FLIGHT_CALLED;
    dump = flight_dump_of(join->dumps, rank);
    if (!dump)
        return FLIGHT_NO_DUMP;
    last = last_called(dump, call->group);
    if (last >= (int64_t)call->sequence || (last < 0 && dump->is_wrapped))
        return FLIGHT_OVERWRITTEN;
    return FLIGHT_NOT_REACHED;
}

void flight_join_clear(struct flight_join *join)
{
    free(join->members);
    free(join->calls);
    memset(join, 0, sizeof *join);
}
