/* Who holds up the job. */
#include "ranks/hang/flight_causes.h"

#include "base/core/array.h"
#include "base/core/invariant.h"
#include "base/core/search.h"

#include <stdlib.h>
#include <string.h>

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

/* Marks the ranks that wait for `rank`, directly or through others; returns how many. */
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
 * that has waited longest. */
static size_t longest_wait(const struct wait_graph *graph, size_t at)
{
    size_t rank = graph->blocks[at].rank;
    size_t longest = graph->blocks[at].stall;

    for (; at < graph->block_count && graph->blocks[at].rank == rank; at++)
        if (began_ns(graph, graph->blocks[at].stall) < began_ns(graph, longest))
            longest = graph->blocks[at].stall;
    return longest;
}

/* Ranks that the same operation lacks longest, and that end the chain, are one cause. */
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
