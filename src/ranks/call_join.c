/* Which calls of different ranks are one collective.
 *
 * Calls are put into groups by the process group's name and ranks (sends and receives by their
 * peers, too). In a group the k-th call of one rank is the k-th of every other: that is what a
 * communicator demands. So where the calls carry a sequence number, calls with the same number are
 * one. Where they do not, they are counted, and since a trace may begin or end some calls earlier
 * than another, each rank's count is shifted against that of the rank with most calls: the shift by
 * which fewest kinds and sizes disagree, then the one with which the ends scatter least once the
 * clocks are set to each other (a wrong shift compares other calls, whose ends have nothing to do
 * with each other), then the one that sets the clocks least apart. Without a reason, none is
 * shifted.
 *
 * What holds: a call is in one join at most, and a join has at most one call of each rank; calls of
 * different kinds or sizes are joined and marked as mismatched, never dropped. O(c log c) for c
 * calls, and SHIFT_MAX times SAMPLES_MAX comparisons for each rank of a group without numbers. */
#include "ranks/call_join.h"

#include "base/core/array.h"
#include "base/core/hash_map.h"
#include "base/core/invariant.h"
#include "base/core/percentile.h"
#include "base/core/string_pool.h"

#include <stdlib.h>
#include <string.h>

/* How many calls more or less one rank's trace may begin with than another's. */
enum { SHIFT_MAX = 64, SAMPLES_MAX = 512, SAMPLES_MIN = 8 };
/* Ends that lie so close together need no other shift. */
static const int64_t close_ns = 100000;

/* A call on its way into a join. */
struct join_entry {
    uint32_t group;
    uint32_t rank;
    uint32_t call;
    uint32_t turn; /* of calls with the same index on one rank */
    int64_t index; /* the same on all ranks: the sequence number, or the place in order */
};

struct joiner {
    struct call_joins *joins;
    const struct rank_digest *const *digests;
    struct join_entry *entries; /* by group, rank and call */
    size_t entry_count;
    struct string_pool texts;
    struct hash_map number_of;     /* by where a text lies: its number in `texts` */
    struct hash_map pair_of_texts; /* name and ranks: a number */
    struct hash_map pair_of_peers; /* source and destination: a number from 1 on */
    struct hash_map group_of;
};

bool ends_together(enum collective_kind kind)
{
    return kind == COLLECTIVE_ALL_REDUCE || kind == COLLECTIVE_REDUCE_SCATTER ||
           kind == COLLECTIVE_ALL_GATHER || kind == COLLECTIVE_ALL_TO_ALL ||
           kind == COLLECTIVE_BARRIER;
}

/* ---- groups --------------------------------------------------------------------------------- */

/* Ranks of a group have its texts in common: each is looked at once, not for every call. */
static uint32_t text_number(struct joiner *joiner, const char *text)
{
    uint32_t number = hash_map_find(&joiner->number_of, (uintptr_t)text);

    if (number == NO_VALUE) {
        number = string_pool_add(&joiner->texts, text, strlen(text));
        (void)hash_map_set(&joiner->number_of, (uintptr_t)text, number);
    }
    return number;
}

/* A communicator is told by name and ranks where the recorder has them; without both by the
 * stream's place, as NCCL gives a communicator a stream of its own. Sends and receives match
 * per pair and direction, so these are groups of their own. */
static uint32_t call_join_find_group(struct joiner *joiner, const struct digest_group *group,
                                     const struct digest_call *call)
{
    struct call_joins *joins = joiner->joins;
    bool is_pair = call->kind == COLLECTIVE_SEND_RECEIVE;
    uint32_t texts, peers = 0, index;

    if (*group->name || *group->ranks)
        texts = hash_map_add(
            &joiner->pair_of_texts,
            pair_key(text_number(joiner, group->name), text_number(joiner, group->ranks)),
            (uint32_t)joiner->pair_of_texts.count);
    else
        /* UINT32_MAX is the number of no text, so that streams and names do not meet in one
         * key. */
        texts = hash_map_add(&joiner->pair_of_texts, pair_key(UINT32_MAX, (uint32_t)group->stream),
                             (uint32_t)joiner->pair_of_texts.count);
    if (is_pair)
        /* 0 is "no pair": a collective of the same group is another group here. */
        peers = 1 + hash_map_add(&joiner->pair_of_peers,
                                 pair_key((uint32_t)call->source, (uint32_t)call->destination),
                                 (uint32_t)joiner->pair_of_peers.count);
    index = hash_map_add(&joiner->group_of, pair_key(texts, peers), joins->group_count);
    if (index < joins->group_count)
        return index;
    ARRAY_ADD(joins->groups, joins->group_count,
              (struct joint_group){.name = group->name,
                                   .ranks = group->ranks,
                                   .size = is_pair ? 2 : group->size,
                                   .stream = group->stream,
                                   .source = is_pair ? call->source : -1,
                                   .destination = is_pair ? call->destination : -1});
    return index;
}

/* Of a call that joins: sends and receives in a larger group need to know the peer. */
static bool is_joinable(const struct rank_digest *digest, const struct digest_call *call)
{
    return call->kind != COLLECTIVE_SEND_RECEIVE || (call->source >= 0 && call->destination >= 0) ||
           digest->groups[call->group].size == 2;
}

/* By group, so that each group is one run of the array; within it by rank, whose calls are
 * then in their own order. */
static int compare_entries(const void *left, const void *right)
{
    const struct join_entry *a = left;
    const struct join_entry *b = right;

    if (a->group != b->group)
        return a->group < b->group ? -1 : 1;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    return a->call < b->call ? -1 : a->call > b->call;
}

/* Sorted by group, number and rank, members of one collective come to lie next to each other. */
static void list_entries(struct joiner *joiner, uint32_t digest_count)
{
    size_t count = 0;

    for (uint32_t rank = 0; rank < digest_count; rank++)
        count += joiner->digests[rank]->call_count;
    joiner->entries = require_memory(calloc(count + 1, sizeof *joiner->entries));
    for (uint32_t rank = 0; rank < digest_count; rank++) {
        const struct rank_digest *digest = joiner->digests[rank];

        for (uint32_t i = 0; i < digest->call_count; i++) {
            const struct digest_call *call = &digest->calls[i];

            if (is_joinable(digest, call))
                joiner->entries[joiner->entry_count++] = (struct join_entry){
                    .group = call_join_find_group(joiner, &digest->groups[call->group], call),
                    .rank = rank,
                    .call = i,
                    .index = call->sequence};
        }
    }
    qsort(joiner->entries, joiner->entry_count, sizeof *joiner->entries, compare_entries);
}

/* ---- the place of a call in the order of its group ------------------------------------------ */

/* The calls of one rank in one group. */
struct rank_calls {
    struct join_entry *entries;
    size_t count;
};

static const struct digest_call *call_join_call_of(const struct joiner *joiner,
                                                   const struct join_entry *entry)
{
    return &joiner->digests[entry->rank]->calls[entry->call];
}

static int64_t call_join_end_of(const struct digest_call *call)
{
    return call->start_ns + call->duration_ns;
}

/* They may be one collective, as far as kind and size tell. Gather, scatter and all-to-all may
 * differ in size by rank, so sizes say nothing there; a size that is not known fits any. */
static bool may_be_one(const struct digest_call *a, const struct digest_call *b)
{
    bool has_one_size = a->kind == COLLECTIVE_ALL_REDUCE || a->kind == COLLECTIVE_ALL_GATHER ||
                        a->kind == COLLECTIVE_REDUCE_SCATTER || a->kind == COLLECTIVE_BROADCAST;

    return a->kind == b->kind &&
           (!has_one_size || a->bytes < 0 || b->bytes < 0 || a->bytes == b->bytes);
}

/* How badly the calls fit where call k of `some` is call k + shift of `all`. */
struct shift_fit {
    size_t mismatches;
    size_t samples;
    int64_t spread_ns; /* between the ends, once the clocks are set to each other */
    int64_t offset_ns; /* between the clocks, as a size */
};

/* At most SAMPLES_MAX calls from the beginning: what agrees so long agrees. The spread is from
 * p10 to p90, so that stragglers at one or two calls do not hide the right shift. */
static struct shift_fit measure_shift(const struct joiner *joiner, const struct rank_calls *all,
                                      const struct rank_calls *some, int64_t shift)
{
    int64_t differences_ns[SAMPLES_MAX];
    size_t count = 0;
    struct shift_fit fit = {0};

    for (size_t k = 0; k < some->count && count < SAMPLES_MAX; k++) {
        int64_t place = (int64_t)k + shift;
        const struct digest_call *a, *b;

        if (place < 0 || place >= (int64_t)all->count)
            continue;
        a = call_join_call_of(joiner, &all->entries[place]);
        b = call_join_call_of(joiner, &some->entries[k]);
        fit.mismatches += !may_be_one(a, b);
        differences_ns[count++] = call_join_end_of(b) - call_join_end_of(a);
    }
    if (2 * count < some->count) { /* too few to tell */
        fit.mismatches = SIZE_MAX;
        return fit;
    }
    fit.samples = count;
    fit.spread_ns =
        percentile_of(differences_ns, count, 90) - percentile_of(differences_ns, count, 10);
    fit.offset_ns = llabs(percentile_of(differences_ns, count, 50));
    return fit;
}

/* Spreads within a power of two, from 2 µs on, are alike: then steps repeat so exactly that only
 * the clocks can tell, and the shift that sets them least apart is taken. */
static int spread_class(int64_t spread_ns)
{
    return 64 - __builtin_clzll((unsigned long long)spread_ns / 2000 + 1);
}

/* A wrong shift compares other calls, so that ends scatter: where there are enough calls to see
 * that, and by a class or more, `margin` more. Else clocks decide. */
static bool fits_better(const struct shift_fit *a, const struct shift_fit *b, int margin)
{
    int a_class = spread_class(a->spread_ns), b_class = spread_class(b->spread_ns);

    if (a->mismatches != b->mismatches)
        return a->mismatches < b->mismatches;
    if (a->samples >= SAMPLES_MIN && b->samples >= SAMPLES_MIN && a_class != b_class)
        return a_class + margin < b_class;
    return a->offset_ns < b->offset_ns;
}

/* From 0 outwards and better only strictly: of shifts that fit alike the smallest is taken. */
static int64_t call_join_find_shift(const struct joiner *joiner, const struct rank_calls *all,
                                    const struct rank_calls *some)
{
    struct shift_fit best = measure_shift(joiner, all, some, 0);
    bool is_as_long = all->count == some->count && best.mismatches == 0;
    int64_t best_shift = 0;

    if (is_as_long && best.spread_ns < close_ns)
        return 0;
    for (int64_t size = 1; size <= SHIFT_MAX; size++) {
        for (int sign = 1; sign >= -1; sign -= 2) {
            struct shift_fit fit = measure_shift(joiner, all, some, sign * size);
            bool is_first = best_shift == 0 && is_as_long; /* as many calls: no shift is likely */

            if (fits_better(&fit, &best, is_first ? 1 : 0)) {
                best = fit;
                best_shift = sign * size;
            }
        }
    }
    return best_shift;
}

static struct rank_calls calls_of_rank(struct join_entry *entries, size_t count)
{
    struct rank_calls calls = {.entries = entries};

    while (calls.count < count && entries[calls.count].rank == entries->rank)
        calls.count++;
    return calls;
}

/* Against the rank with most calls, as its trace holds what the others have. One pairwise
 * comparison a rank, not all pairs. */
static void number_by_order(struct joiner *joiner, struct join_entry *entries, size_t count)
{
    struct rank_calls longest = {0};

    for (size_t i = 0; i < count;) {
        struct rank_calls calls = calls_of_rank(entries + i, count - i);

        if (calls.count > longest.count)
            longest = calls;
        i += calls.count;
    }
    for (size_t i = 0; i < count;) {
        struct rank_calls calls = calls_of_rank(entries + i, count - i);
        int64_t shift =
            calls.entries == longest.entries ? 0 : call_join_find_shift(joiner, &longest, &calls);

        for (size_t k = 0; k < calls.count; k++)
            calls.entries[k].index = (int64_t)k + shift;
        i += calls.count;
    }
}

/* Several calls may share a number, as those of one coalesced group do. */
static void number_turns(struct join_entry *entries, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (entries[i].rank == entries[i - 1].rank && entries[i].index == entries[i - 1].index)
            entries[i].turn = entries[i - 1].turn + 1;
}

/* One call without a number makes the numbers of the group worthless: two ways of counting
 * would not meet. Numbers of sends and receives count all of a communicator's, so pairs are
 * counted by order. */
static void number_group(struct joiner *joiner, struct join_entry *entries, size_t count)
{
    struct joint_group *group = &joiner->joins->groups[entries->group];
    bool has_numbers = group->source < 0;

    for (size_t i = 0; i < count; i++) {
        has_numbers = has_numbers && entries[i].index >= 0;
        group->rank_count += i == 0 || entries[i].rank != entries[i - 1].rank;
    }
    group->is_joined_by_order = !has_numbers;
    if (has_numbers)
        number_turns(entries, count);
    else
        number_by_order(joiner, entries, count);
}

/* ---- joins ---------------------------------------------------------------------------------- */

/* The same place in the sequence of each rank is one call: index first, and rank last. */
static int call_join_compare_places(const void *left, const void *right)
{
    const struct join_entry *a = left;
    const struct join_entry *b = right;

    if (a->index != b->index)
        return a->index < b->index ? -1 : 1;
    if (a->turn != b->turn)
        return a->turn < b->turn ? -1 : 1;
    return a->rank < b->rank ? -1 : a->rank > b->rank;
}

/* The rank with the shortest kernel came last: all end together, and who comes last waits for
 * nobody. So the shortest duration is the transfer, and what others took longer they waited.
 * This needs no clocks. Mismatched calls give no transfer: they are no one collective. */
static void call_join_add_join(struct joiner *joiner, const struct join_entry *entries,
                               size_t count)
{
    struct call_joins *joins = joiner->joins;
    struct joined_call *join = &joins->joins[joins->join_count];
    int64_t shortest_ns = INT64_MAX;

    *join = (struct joined_call){.group = entries->group,
                                 .first = joins->member_count,
                                 .count = (uint32_t)count,
                                 .transfer_ns = -1,
                                 .bytes = -1};
    for (size_t i = 0; i < count; i++) {
        const struct digest_call *call = call_join_call_of(joiner, &entries[i]);

        joins->members[joins->member_count++] =
            (struct join_member){.rank = entries[i].rank, .call = entries[i].call};
        joins->join_of[entries[i].rank][entries[i].call] = joins->join_count;
        join->is_mismatched =
            join->is_mismatched || !may_be_one(call_join_call_of(joiner, &entries[0]), call);
        /* Ranks that do not tell their bytes have -1: one that does is enough. */
        if (call->bytes > join->bytes)
            join->bytes = call->bytes;
        /* Of two as short, the first: the order is that of ranks. */
        if (call->duration_ns < shortest_ns) {
            shortest_ns = call->duration_ns;
            join->late = entries[i].rank;
        }
    }
    if (count >= 2 && !join->is_mismatched)
        join->transfer_ns = shortest_ns;
    joins->join_count++;
}

/* Sorted by place, the calls of all ranks that are one collective are neighbors. */
static void join_group(struct joiner *joiner, struct join_entry *entries, size_t count)
{
    number_group(joiner, entries, count);
    qsort(entries, count, sizeof *entries, call_join_compare_places);
    for (size_t i = 0; i < count;) {
        size_t end = i + 1;

        while (end < count && entries[end].index == entries[i].index &&
               entries[end].turn == entries[i].turn)
            end++;
        call_join_add_join(joiner, entries + i, end - i);
        i = end;
    }
}

/* A call is in one join at most, so the number of entries bounds members and joins. */
static void prepare_joins(struct call_joins *joins, const struct rank_digest *const *digests,
                          uint32_t digest_count, size_t entry_count)
{
    joins->members = require_memory(calloc(entry_count + 1, sizeof *joins->members));
    joins->joins = require_memory(calloc(entry_count + 1, sizeof *joins->joins));
    joins->join_of = require_memory(calloc((size_t)digest_count + 1, sizeof(uint32_t *)));
    joins->digest_count = digest_count;
    for (uint32_t rank = 0; rank < digest_count; rank++) {
        size_t bytes = ((size_t)digests[rank]->call_count + 1) * sizeof(uint32_t);

        joins->join_of[rank] = require_memory(malloc(bytes));
        memset(joins->join_of[rank], 0xFF, bytes); /* NO_JOIN */
    }
}

/* Calls are joined group by group, as numbers count within one: O(n log n) for the sort, and
 * linear after it. */
void join_calls(struct call_joins *joins, const struct rank_digest *const *digests,
                uint32_t digest_count)
{
    struct joiner joiner = {.joins = joins, .digests = digests};

    list_entries(&joiner, digest_count);
    prepare_joins(joins, digests, digest_count, joiner.entry_count);
    for (size_t i = 0; i < joiner.entry_count;) {
        size_t end = i + 1;

        while (end < joiner.entry_count && joiner.entries[end].group == joiner.entries[i].group)
            end++;
        join_group(&joiner, joiner.entries + i, end - i);
        i = end;
    }
    free(joiner.entries);
    string_pool_clear(&joiner.texts);
    hash_map_clear(&joiner.number_of);
    hash_map_clear(&joiner.pair_of_texts);
    hash_map_clear(&joiner.pair_of_peers);
    hash_map_clear(&joiner.group_of);
}

void call_joins_clear(struct call_joins *joins)
{
    for (uint32_t rank = 0; joins->join_of && rank < joins->digest_count; rank++)
        free(joins->join_of[rank]);
    free(joins->join_of);
    free(joins->groups);
    free(joins->members);
    free(joins->joins);
    *joins = (struct call_joins){0};
}

int64_t waiting_of_call(const struct rank_digest *digest, uint32_t rank, uint32_t call,
                        const struct call_joins *joins)
{
    uint32_t join = joins->join_of[rank][call];

    if (join == NO_JOIN || joins->joins[join].transfer_ns < 0)
        return -1;
    return digest->calls[call].duration_ns - joins->joins[join].transfer_ns;
}
