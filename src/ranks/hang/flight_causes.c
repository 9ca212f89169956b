/* Who holds up the job. */
#include "ranks/hang/flight_causes.h"

#include "base/core/array.h"
#include "base/core/invariant.h"
#include "base/core/search.h"

#include <stdlib.h>
#include <string.h>

/* ---- mismatches ------------------------------------------------------------------------------ */

/* Calls in which the ranks of a group do not do the same. */

enum compared_size { SIZE_OF_INPUT, SIZE_OF_OUTPUT, SIZE_OF_EXCHANGE, SIZE_OF_NEITHER };

enum {
    CALLS_LOOKED_AT = 8, /* to tell a shift from a different call */
    KINDS_MAX = 16,      /* ways to differ in one call: more are not counted apart */
};

/* Which size all ranks of a collective must have in common is a matter of the operation: the
 * list says it for each. */
static enum compared_size compared_size_of(const char *name)
{
    static const struct {
        const char *name;
        enum compared_size size;
    } ops[] = {
#define OP(name, which) {#name, SIZE_OF_##which},
#include "ranks/hang/flight_op_list.def"
#undef OP
    };

    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (strcmp(ops[i].name, name) == 0)
            return ops[i].size;
    return SIZE_OF_NEITHER;
}

/* A size that a dump does not tell differs from none. */
static bool sizes_differ(enum compared_size size, const struct flight_entry *a,
                         const struct flight_entry *b)
{
    if (size == SIZE_OF_INPUT)
        return a->input_elements >= 0 && b->input_elements >= 0 &&
               a->input_elements != b->input_elements;
    return size == SIZE_OF_OUTPUT && a->output_elements >= 0 && b->output_elements >= 0 &&
           a->output_elements != b->output_elements;
}

/* Whether the member differs from `usual` in that way. The operation, then the type, then the
 * size: the first difference is the one to tell, since the others follow from it. */
static bool flight_members_differ(const struct flight_join *join,
                                  const struct flight_member *member,
                                  const struct flight_member *usual,
                                  enum flight_difference *difference)
{
    const struct flight_entry *a = flight_entry_of(join, member);
    const struct flight_entry *b = flight_entry_of(join, usual);
    enum compared_size size = compared_size_of(flight_text(join->dumps, b->name));

    if (a->name != b->name)
        *difference = FLIGHT_OTHER_OPERATION;
    else if (size == SIZE_OF_NEITHER)
        return false;
    else if (a->dtypes != b->dtypes && a->dtypes && b->dtypes)
        *difference = FLIGHT_OTHER_TYPE;
    else if (sizes_differ(size, a, b))
        *difference = FLIGHT_OTHER_SIZE;
    else
        return false;
    return true;
}

/* ---- one call ---- */

/* Members that agree, by the first of them. */
struct kind {
    size_t member;
    size_t count;
};

/* The first member of the kind that the most ranks agree on; of two as many, the lower rank's. */
static size_t usual_member(const struct flight_join *join, const struct flight_call *call)
{
    struct kind kinds[KINDS_MAX] = {{.member = call->first}};
    size_t kind_count = 0;
    size_t best = 0;

    for (size_t i = call->first; i < call->first + call->count; i++) {
        enum flight_difference ignored;
        size_t k = 0;

        while (k < kind_count && flight_members_differ(join, &join->members[i],
                                                       &join->members[kinds[k].member], &ignored))
            k++;
        if (k == KINDS_MAX)
            continue;
        if (k == kind_count)
            kinds[kind_count++] = (struct kind){.member = i};
        kinds[k].count++;
    }
    for (size_t k = 1; k < kind_count; k++)
        if (kinds[k].count > kinds[best].count)
            best = k;
    return kinds[best].member;
}

/* All-to-all with uneven parts: the ranks may differ, but together they receive what they
 * send. Only where every rank is here does a sum mean anything. */
static bool check_exchange(const struct flight_join *join, const struct flight_call *call,
                           struct flight_mismatch *mismatch)
{
    const struct flight_group *group = &join->dumps->groups[call->group];
    int64_t sent = 0;
    int64_t received = 0;

    /* A rank that is not here may have sent what is missing. */
    if (call->count < group->rank_count || !group->are_ranks_known)
        return false;
    for (size_t i = 0; i < call->count; i++) {
        const struct flight_entry *entry = flight_entry_of(join, &join->members[call->first + i]);

        if (compared_size_of(flight_text(join->dumps, entry->name)) != SIZE_OF_EXCHANGE ||
            entry->input_elements < 0 || entry->output_elements < 0 ||
            __builtin_add_overflow(sent, entry->input_elements, &sent) ||
            __builtin_add_overflow(received, entry->output_elements, &received))
            return false;
    }
    mismatch->difference = FLIGHT_UNEVEN_EXCHANGE;
    mismatch->odd = mismatch->usual = call->first;
    mismatch->odd_count = call->count;
    mismatch->sent = sent;
    mismatch->received = received;
    return sent != received;
}

/* Against what most members have: with a single rank at odds, it is the one that is named, not
 * the others. */
static bool flight_mismatch_check_call(const struct flight_join *join,
                                       const struct flight_call *call,
                                       struct flight_mismatch *mismatch)
{
    enum flight_difference difference;

    *mismatch = (struct flight_mismatch){.call = (size_t)(call - join->calls)};
    if (call->count < 2)
        return false;
    mismatch->usual = usual_member(join, call);
    for (size_t i = 0; i < call->count; i++) {
        size_t member = call->first + i;

        if (!flight_members_differ(join, &join->members[member], &join->members[mismatch->usual],
                                   &difference))
            continue;
        if (mismatch->odd_count++ > 0)
            continue;
        mismatch->odd = member;
        mismatch->difference = difference;
    }
    return mismatch->odd_count > 0 || check_exchange(join, call, mismatch);
}

/* ---- how the calls lie against each other ---- */

/* Entries of one rank and of another, some calls on. */
struct rank_pair {
    const struct flight_join *join;
    const struct flight_call *call;
    uint32_t odd_rank;
    uint32_t usual_rank;
};

/* Whether the odd rank's call `odd_offset` further on is the usual one's at `usual_offset`; -1: one
 * of them is not recorded. Offset by offset in the sequence of one group: a rank that skipped a
 * collective does the usual one's next at its own place. */
static int same_call(const struct rank_pair *pair, uint32_t odd_offset, uint32_t usual_offset)
{
    const struct flight_join *join = pair->join;
    const struct flight_call *odd =
        flight_find_call(join, pair->call->group, pair->call->sequence + odd_offset, 0);
    const struct flight_call *usual =
        flight_find_call(join, pair->call->group, pair->call->sequence + usual_offset, 0);
    const struct flight_member *a = odd ? flight_member_of(join, odd, pair->odd_rank) : NULL;
    const struct flight_member *b = usual ? flight_member_of(join, usual, pair->usual_rank) : NULL;
    enum flight_difference difference;

    if (!a || !b)
        return -1;
    return !flight_members_differ(join, a, b, &difference);
}

/* Whether the calls fit with the offsets given, at as many places as are recorded; at least two.
 * Two places at least, as one could agree by chance: training repeats few operations. */
static bool flight_mismatch_fits(const struct rank_pair *pair, uint32_t odd_offset,
                                 uint32_t usual_offset)
{
    int fitting = 0;

    for (uint32_t i = 0; i < CALLS_LOOKED_AT; i++) {
        int same = same_call(pair, odd_offset + i, usual_offset + i);

        if (same == 0)
            return false;
        fitting += same == 1;
    }
    return fitting >= 2;
}

/* One rank that skipped a call, or made one more, is at odds with all that follow: the
 * neighbors of the call are compared, and what explains it by one step is said. Swapped is
 * tried first, as it would look like both of the others. */
static enum flight_shift flight_mismatch_find_shift(const struct flight_join *join,
                                                    const struct flight_mismatch *mismatch)
{
    struct rank_pair pair = {
        .join = join,
        .call = &join->calls[mismatch->call],
        .odd_rank = flight_rank_of(join, &join->members[mismatch->odd]),
        .usual_rank = flight_rank_of(join, &join->members[mismatch->usual]),
    };

    if (mismatch->difference == FLIGHT_UNEVEN_EXCHANGE)
        return FLIGHT_NO_SHIFT;
    if (same_call(&pair, 0, 1) == 1 && same_call(&pair, 1, 0) == 1)
        return FLIGHT_SWAPPED;
    if (flight_mismatch_fits(&pair, 0, 1))
        return FLIGHT_SKIPPED_ONE;
    return flight_mismatch_fits(&pair, 1, 0) ? FLIGHT_EXTRA_ONE : FLIGHT_NO_SHIFT;
}

/* ---- all of them ---- */

static void add_mismatch(struct flight_mismatches *found, const struct flight_mismatch *mismatch)
{
    ARRAY_ADD(found->mismatches, found->count, *mismatch);
}

/* Only the first of a group is told in full: after it the ranks are out of step, and every
 * later call differs by that. */
void flight_find_mismatches(struct flight_mismatches *found, const struct flight_join *join)
{
    for (size_t i = 0; i < join->call_count; i++) {
        const struct flight_call *call = &join->calls[i];
        struct flight_mismatch *last = found->count ? &found->mismatches[found->count - 1] : NULL;
        struct flight_mismatch mismatch;

        if (!flight_mismatch_check_call(join, call, &mismatch))
            continue;
        if (last && join->calls[last->call].group == call->group) {
            last->later++;
            continue;
        }
        mismatch.shift = flight_mismatch_find_shift(join, &mismatch);
        add_mismatch(found, &mismatch);
    }
}

void flight_mismatches_clear(struct flight_mismatches *found)
{
    free(found->mismatches);
    memset(found, 0, sizeof *found);
}

/* ---- flight causes --------------------------------------------------------------------------- */

/* A rank and an operation that it waits in, or that lacks it. The rank is an index in the world. */
struct wait {
    size_t rank;
    size_t stall;
};

struct wait_graph {
    const struct flight_stalls *stalls;
    const struct flight_join *join;
    struct wait *waits; /* [wait_count], by rank */
    size_t wait_count;
    struct wait *blocks; /* [block_count], by rank: stalls in which it is missing */
    size_t block_count;
};

static size_t world_index(const struct flight_dumps *dumps, uint32_t rank)
{
    return LOWER_BOUND(i, 0, dumps->world_count, dumps->world[i] < rank);
}

static int compare_waits(const void *one, const void *other)
{
    const struct wait *a = one;
    const struct wait *b = other;

    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    return (a->stall > b->stall) - (a->stall < b->stall);
}

/* Ranks by their place in the world and both lists sorted by rank: who waits where and who is
 * missing where are then binary searches. */
static void build_graph(struct wait_graph *graph)
{
    const struct flight_dumps *dumps = graph->join->dumps;
    size_t waiting = 0;
    size_t missing = 0;

    for (size_t i = 0; i < graph->stalls->count; i++) {
        waiting += graph->stalls->stalls[i].waiting_count;
        missing += graph->stalls->stalls[i].missing_count;
    }
    graph->waits = require_memory(calloc(waiting + 1, sizeof *graph->waits));
    graph->blocks = require_memory(calloc(missing + 1, sizeof *graph->blocks));
    for (size_t i = 0; i < graph->stalls->count; i++) {
        const struct flight_stall *stall = &graph->stalls->stalls[i];

        for (size_t k = 0; k < stall->waiting_count; k++)
            graph->waits[graph->wait_count++] = (struct wait){
                .rank = world_index(dumps, flight_rank_of(graph->join, &stall->waiting[k])),
                .stall = i};
        for (size_t k = 0; k < stall->missing_count; k++)
            graph->blocks[graph->block_count++] =
                (struct wait){.rank = world_index(dumps, stall->missing[k].rank), .stall = i};
    }
    if (graph->wait_count > 0)
        qsort(graph->waits, graph->wait_count, sizeof *graph->waits, compare_waits);
    if (graph->block_count > 0)
        qsort(graph->blocks, graph->block_count, sizeof *graph->blocks, compare_waits);
}

/* The first of the rank's; count where it has none. */
static size_t first_of(const struct wait *waits, size_t count, size_t rank)
{
    size_t low = LOWER_BOUND(i, 0, count, waits[i].rank < rank);

    return low < count && waits[low].rank == rank ? low : count;
}

static bool waits(const struct wait_graph *graph, size_t rank)
{
    return first_of(graph->waits, graph->wait_count, rank) < graph->wait_count;
}

/* ---- how many a rank holds up ---- */

/* Marks the ranks that wait for `rank`, directly or through others; returns how many. Breadth
 * first over "lacks this rank": each rank is queued once, so O(waits). The marks make cycles
 * end. */
static size_t count_held(const struct wait_graph *graph, const uint32_t *ranks, size_t count)
{
    const struct flight_dumps *dumps = graph->join->dumps;
    bool *is_held = require_memory(calloc(dumps->world_count + 1, sizeof *is_held));
    size_t *queue = require_memory(calloc(dumps->world_count + count + 1, sizeof *queue));
    size_t used = 0;
    size_t held = 0;

    for (size_t i = 0; i < count; i++)
        queue[used++] = world_index(dumps, ranks[i]);
    for (size_t next = 0; next < used; next++) {
        size_t rank = queue[next];
        size_t at = first_of(graph->blocks, graph->block_count, rank);

        for (; at < graph->block_count && graph->blocks[at].rank == rank; at++) {
            const struct flight_stall *stall = &graph->stalls->stalls[graph->blocks[at].stall];

            for (size_t k = 0; k < stall->waiting_count; k++) {
                size_t waiter = world_index(dumps, flight_rank_of(graph->join, &stall->waiting[k]));

                if (is_held[waiter])
                    continue;
                is_held[waiter] = true;
                held++;
                queue[used++] = waiter;
            }
        }
    }
    free(queue);
    free(is_held);
    return held;
}

/* ---- the causes ---- */

static struct flight_cause *add_cause(struct flight_causes *found, enum flight_cause_kind kind,
                                      size_t stall)
{
    ARRAY_ADD(found->causes, found->count, (struct flight_cause){.kind = kind, .stall = stall});
    return &found->causes[found->count - 1];
}

static void flight_causes_add_rank(struct flight_cause *cause, uint32_t rank)
{
    ARRAY_ADD(cause->ranks, cause->rank_count, rank);
}

/* When the first of those that wait called it. */
static int64_t began_ns(const struct wait_graph *graph, size_t stall)
{
    const struct flight_stall *found = &graph->stalls->stalls[stall];
    int64_t began = INT64_MAX;

    for (size_t i = 0; i < found->waiting_count; i++) {
        int64_t called = flight_entry_of(graph->join, &found->waiting[i])->created_ns;

        if (called < began)
            began = called;
    }
    return began;
}

/* Of the operations that lack the rank of graph->blocks[at], and of the places behind it, the one
 * that has waited longest. A rank is missing in several operations often; the one that was
 * called first is where it stopped. */
static size_t longest_wait(const struct wait_graph *graph, size_t at)
{
    size_t rank = graph->blocks[at].rank;
    size_t longest = graph->blocks[at].stall;

    for (; at < graph->block_count && graph->blocks[at].rank == rank; at++)
        if (began_ns(graph, graph->blocks[at].stall) < began_ns(graph, longest))
            longest = graph->blocks[at].stall;
    return longest;
}

/* Ranks that the same operation lacks longest, and that end the chain, are one cause. A rank
 * that is missing and waits nowhere itself ends the chain: all that wait for it wait for
 * whatever it does. One that left a dump has stopped outside of collectives; one without a dump
 * is silent. */
static void flight_causes_find_ends(struct flight_causes *found, const struct wait_graph *graph)
{
    const struct flight_dumps *dumps = graph->join->dumps;

    for (size_t i = 0; i < graph->block_count; i++) {
        size_t rank = graph->blocks[i].rank;
        size_t stall;
        enum flight_cause_kind kind =
            flight_dump_of(dumps, dumps->world[rank]) ? FLIGHT_STOPPED_RANK : FLIGHT_SILENT_RANK;
        struct flight_cause *cause = NULL;

        if ((i > 0 && graph->blocks[i - 1].rank == rank) || waits(graph, rank))
            continue;
        stall = longest_wait(graph, i);
        for (size_t k = 0; k < found->count && !cause; k++)
            if (found->causes[k].stall == stall && found->causes[k].kind == kind)
                cause = &found->causes[k];
        if (!cause)
            cause = add_cause(found, kind, stall);
        flight_causes_add_rank(cause, dumps->world[rank]);
    }
}

/* The first missing rank of the rank's first stall, as index in the world. */
static size_t next_in_chain(const struct wait_graph *graph, size_t rank, size_t *stall)
{
    size_t at = first_of(graph->waits, graph->wait_count, rank);

    *stall = graph->waits[at].stall;
    return world_index(graph->join->dumps, graph->stalls->stalls[*stall].missing[0].rank);
}

/* Where every rank that is missed waits itself, following the chain ends in a cycle. */
static void find_cycle(struct flight_causes *found, const struct wait_graph *graph)
{
    size_t world = graph->join->dumps->world_count;
    size_t *place = require_memory(calloc(world + 1, sizeof *place)); /* 1 + place in the path */
    size_t *path = require_memory(calloc(world + 1, sizeof *path));
    size_t *stalls = require_memory(calloc(world + 1, sizeof *stalls));
    size_t length = 0;
    size_t rank = graph->waits[0].rank;

    while (place[rank] == 0 && waits(graph, rank)) {
        path[length] = rank;
        place[rank] = length + 1;
        rank = next_in_chain(graph, rank, &stalls[length]);
        length++;
    }
    if (place[rank] > 0) {
        struct flight_cause *cause = add_cause(found, FLIGHT_CYCLE, stalls[place[rank] - 1]);

        cause->stalls = require_memory(calloc(length + 1, sizeof *cause->stalls));
        for (size_t i = place[rank] - 1; i < length; i++) {
            cause->stalls[cause->rank_count] = stalls[i];
            flight_causes_add_rank(cause, graph->join->dumps->world[path[i]]);
        }
    }
    free(stalls);
    free(path);
    free(place);
}

/* All came, and it is not complete: no rank is at fault, the operation is (network, or sizes
 * that differ). */
static void find_stuck_calls(struct flight_causes *found, const struct wait_graph *graph)
{
    for (size_t i = 0; i < graph->stalls->count; i++) {
        const struct flight_stall *stall = &graph->stalls->stalls[i];
        struct flight_cause *cause;

        if (stall->missing_count > 0)
            continue;
        cause = add_cause(found, FLIGHT_STUCK_CALL, i);
        for (size_t k = 0; k < stall->waiting_count; k++)
            flight_causes_add_rank(cause, flight_rank_of(graph->join, &stall->waiting[k]));
    }
}

/* Most held ranks first; then kind and place, so that the order is the same in each run. */
static int compare_causes(const void *one, const void *other)
{
    const struct flight_cause *a = one;
    const struct flight_cause *b = other;

    if (a->held_count != b->held_count)
        return a->held_count > b->held_count ? -1 : 1;
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    return (a->stall > b->stall) - (a->stall < b->stall);
}

/* The waits-for graph of deadlock detection: its sinks are causes; where every missing rank
 * waits itself there are none, and then a cycle exists, since each node has a successor in a
 * finite graph. */
void flight_find_causes(struct flight_causes *found, const struct flight_stalls *stalls,
                        const struct flight_join *join)
{
    struct wait_graph graph = {.stalls = stalls, .join = join};

    build_graph(&graph);
    flight_causes_find_ends(found, &graph);
    find_stuck_calls(found, &graph);
    if (found->count == 0 && graph.wait_count > 0)
        find_cycle(found, &graph);
    for (size_t i = 0; i < found->count; i++) {
        struct flight_cause *cause = &found->causes[i];

        cause->held_count = count_held(&graph, cause->ranks, cause->rank_count);
    }
    if (found->count > 0)
        qsort(found->causes, found->count, sizeof *found->causes, compare_causes);
    free(graph.waits);
    free(graph.blocks);
}

void flight_causes_clear(struct flight_causes *found)
{
    for (size_t i = 0; i < found->count; i++) {
        free(found->causes[i].ranks);
        free(found->causes[i].stalls);
    }
    free(found->causes);
    memset(found, 0, sizeof *found);
}
