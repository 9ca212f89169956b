/* Finds the captured graph that a launch replays.
 *
 * A launch replays a captured graph where the names of its kernels, in their order, are those of
 * all launches of the capture: by a hash of each captured graph, then compared, so in linear time.
 * Copies and memsets are part of the order; where a profiler leaves them out, they are left out of
 * the capture too. Where the kernels run on several streams, their order is not that of the
 * capture: then the same kernels, each as often, are enough, and equal ones are told apart only if
 * it makes no difference. A launch that has a few kernels less than a capture, or a few more, is
 * matched by what can lie where.
 *
 * What holds: nothing is guessed. Where several captured graphs fit, or several places in one, a
 * kernel is given what is the same in all of them, and no more. */
#include "base/core/array.h"
#include "base/core/hash_mix.h"
#include "base/core/invariant.h"
#include "base/core/search.h"
#include "base/core/sort.h"
#include "trace/graphs/graph_matching.h"

#include <stdlib.h>
#include <string.h>

/* How sequences are compared. */
enum sequence_form {
    FORM_ALL,       /* in order */
    FORM_NO_COPIES, /* in order, without copies and memsets */
    FORM_BAG,       /* in any order */
    FORM_BAG_NO_COPIES
};
enum { FORM_COUNT = FORM_BAG_NO_COPIES + 1 };

/* Symbols, and what each stands for: a place in a launch, or a captured launch. */
struct sequence {
    uint32_t *symbols;
    uint32_t *places;
    uint64_t *sizes; /* of the launches, 0: not told; only where they are in order */
    uint32_t count;
};

static bool leaves_copies_out(enum sequence_form form)
{
    return form == FORM_NO_COPIES || form == FORM_BAG_NO_COPIES;
}

static struct sequence sequence_new(size_t count)
{
    return (struct sequence){.symbols = require_memory(calloc(count + 1, sizeof(uint32_t))),
                             .places = require_memory(calloc(count + 1, sizeof(uint32_t))),
                             .sizes = require_memory(calloc(count + 1, sizeof(uint64_t)))};
}

static void sequence_clear(struct sequence *sequence)
{
    free(sequence->symbols);
    free(sequence->places);
    free(sequence->sizes);
}

static void sequence_add(struct sequence *sequence, uint32_t symbol, uint32_t place, uint64_t size,
                         enum sequence_form form)
{
    if (symbol == SYMBOL_COPY && leaves_copies_out(form))
        return;
    sequence->symbols[sequence->count] = symbol;
    sequence->sizes[sequence->count] = size;
    sequence->places[sequence->count++] = place;
}

static int compare_symbol_places(const void *a, const void *b)
{
    const uint64_t *left = a;
    const uint64_t *right = b;

    return ORDER_OF(*left, *right);
}

/* By symbol; equal ones stay in their order. Equal symbols keep their order, since the index is
 * in the key's lower half. */
static void sequence_sort(struct sequence *sequence)
{
    uint64_t *keys = require_memory(malloc((sequence->count + (size_t)1) * sizeof *keys));

    for (uint32_t i = 0; i < sequence->count; i++)
        keys[i] = pair_key(sequence->symbols[i], i);
    qsort(keys, sequence->count, sizeof *keys, compare_symbol_places);
    for (uint32_t i = 0; i < sequence->count; i++) {
        sequence->symbols[i] = (uint32_t)keys[i]; /* its place, for now */
    }
    for (uint32_t i = 0; i < sequence->count; i++) {
        uint32_t place = sequence->places[sequence->symbols[i]];

        sequence->symbols[i] = place;
    }
    memcpy(sequence->places, sequence->symbols, sequence->count * sizeof *sequence->places);
    for (uint32_t i = 0; i < sequence->count; i++)
        sequence->symbols[i] = (uint32_t)(keys[i] >> 32);
    free(keys);
}

/* In a bag the order does not count: sorted, equal bags are equal sequences. */
static struct sequence sequence_of_launch(const struct graph_launches *launches,
                                          const struct graph_launch *launch,
                                          const struct trace *trace, enum sequence_form form)
{
    struct sequence sequence = sequence_new(launch->count);

    for (uint32_t i = 0; i < launch->count; i++) {
        uint32_t event = launches->events[launch->first + i];

        sequence_add(&sequence, graph_symbol_of(trace, event), i,
                     size_of_launch(trace, trace->device[event].detail), form);
    }
    if (form >= FORM_BAG)
        sequence_sort(&sequence);
    return sequence;
}

static struct sequence sequence_of_graph(const struct captured_graphs *graphs, uint32_t index,
                                         enum sequence_form form)
{
    const struct captured_graph *graph = &graphs->graphs[index];
    struct sequence sequence = sequence_new(graph->count);

    for (uint32_t i = graph->first; i < graph->first + graph->count; i++)
        sequence_add(&sequence, graphs->launches[i].symbol, i, graphs->launches[i].size, form);
    if (form >= FORM_BAG)
        sequence_sort(&sequence);
    return sequence;
}

static uint64_t hash_of_sequence(const struct sequence *sequence)
{
    uint64_t hash = sequence->count;

    for (uint32_t i = 0; i < sequence->count; i++)
        hash = hash_mix(hash ^ sequence->symbols[i], HASH_MULTIPLIER) + 1;
    return hash;
}

static bool sequences_are_equal(const struct sequence *a, const struct sequence *b)
{
    return a->count == b->count && a->count > 0 &&
           memcmp(a->symbols, b->symbols, a->count * sizeof *a->symbols) == 0;
}

/* Kernels of one name in graphs of two sizes of a batch differ in their blocks. */
static bool launch_sizes_differ(const struct sequence *a, uint32_t i, const struct sequence *b,
                                uint32_t k)
{
    return a->symbols[i] != SYMBOL_COPY && a->sizes[i] && b->sizes[k] && a->sizes[i] != b->sizes[k];
}

static bool sequences_are_alike(const struct sequence *a, const struct sequence *b,
                                enum sequence_form form)
{
    if (!sequences_are_equal(a, b))
        return false;
    for (uint32_t i = 0; i < a->count && form < FORM_BAG; i++)
        if (launch_sizes_differ(a, i, b, i))
            return false;
    return true;
}

/* ---- candidates ----------------------------------------------------------------------------- */

/* Captured graphs by the hash of one form: the first of each, and the next of the same. */
struct graph_index {
    struct hash_map first;
    uint32_t *next;
    bool is_made;
};

/* From the last to the first, so that each chain has its graphs in their order. */
static void index_graphs(struct graph_index *index, const struct captured_graphs *graphs,
                         enum sequence_form form)
{
    index->next = require_memory(calloc(graphs->graph_count + 1, sizeof *index->next));
    index->is_made = true;
    for (uint32_t i = (uint32_t)graphs->graph_count; i-- > 0;) {
        struct sequence sequence = sequence_of_graph(graphs, i, form);
        uint32_t before = hash_map_set(&index->first, hash_of_sequence(&sequence), i);

        index->next[i] = before;
        sequence_clear(&sequence);
    }
}

/* Graphs that were cut, or have launches of unknown kernels, never fit exactly. */
static void find_candidates(struct launch_kind *kind, const struct sequence *wanted,
                            const struct graph_index *index, const struct captured_graphs *graphs,
                            enum sequence_form form)
{
    for (uint32_t i = hash_map_find(&index->first, hash_of_sequence(wanted)); i != NO_VALUE;
         i = index->next[i]) {
        struct sequence sequence = sequence_of_graph(graphs, i, form);

        if (sequences_are_alike(wanted, &sequence, form) && !graphs->graphs[i].is_cut &&
            !graphs->graphs[i].has_unknown)
            ARRAY_ADD(kind->candidates, kind->candidate_count, i);
        sequence_clear(&sequence);
    }
    kind->leaves_copies = leaves_copies_out(form);
    kind->is_reordered = form >= FORM_BAG;
}

/* ---- a few kernels less or more -------------------------------------------------------------- */

/* Kernels that must agree for each one that is in one of the two only. Graphs of other sizes of a
 * batch differ in kernels, too (a sum after a product that is split): so few may, and in a small
 * graph none. */
enum { KERNELS_FOR_EACH_MISSING = 64 };

/* Where each symbol of a part can lie in the whole: at `first`, at `last`, or between. */
struct symbol_room {
    uint32_t *first; /* [count of the part] */
    uint32_t *last;
};

static struct symbol_room symbol_room_new(uint32_t count)
{
    return (struct symbol_room){
        .first = require_memory(calloc(count + (size_t)1, sizeof(uint32_t))),
        .last = require_memory(calloc(count + (size_t)1, sizeof(uint32_t))),
    };
}

static void symbol_room_clear(struct symbol_room *room)
{
    free(room->first);
    free(room->last);
}

/* False where `part` does not lie in `whole` in its order. In linear time. */
static bool find_room(const struct sequence *part, const struct sequence *whole,
                      struct symbol_room *room)
{
    uint32_t found = 0, left = part->count;

    for (uint32_t i = 0; i < whole->count && found < part->count; i++)
        if (whole->symbols[i] == part->symbols[found])
            room->first[found++] = i;
    if (found < part->count)
        return false;
    for (uint32_t i = whole->count; i-- > 0 && left > 0;)
        if (whole->symbols[i] == part->symbols[left - 1])
            room->last[--left] = i;
    return true;
}

/* Sizes are compared where a kernel has one place alone: elsewhere it is not known which
 * launch it would be. */
static bool sequences_are_near(const struct sequence *a, const struct sequence *b)
{
    const struct sequence *part = a->count < b->count ? a : b;
    const struct sequence *whole = part == a ? b : a;
    struct symbol_room room;
    bool is_near;

    if ((uint64_t)(whole->count - part->count) * KERNELS_FOR_EACH_MISSING > part->count)
        return false;
    room = symbol_room_new(part->count);
    is_near = find_room(part, whole, &room);
    for (uint32_t i = 0; i < part->count && is_near; i++)
        is_near =
            room.first[i] != room.last[i] || !launch_sizes_differ(part, i, whole, room.first[i]);
    symbol_room_clear(&room);
    return is_near;
}

/* Only where one order is known on both sides: that of a stream, or of the nodes' numbers. */
static void find_near_candidates(struct launch_kind *kind, const struct sequence *wanted,
                                 const struct captured_graphs *graphs, enum sequence_form form)
{
    for (uint32_t i = 0; i < graphs->graph_count; i++) {
        const struct captured_graph *graph = &graphs->graphs[i];
        struct sequence captured;

        if (graph->is_cut || graph->has_unknown || (graph->is_branched && !kind->has_nodes))
            continue;
        if (graph->count + graph->count / KERNELS_FOR_EACH_MISSING < wanted->count)
            continue; /* too small, with its copies */
        captured = sequence_of_graph(graphs, i, form);
        if (sequences_are_near(wanted, &captured)) {
            ARRAY_ADD(kind->candidates, kind->candidate_count, i);
            kind->missing = (int64_t)captured.count - wanted->count;
        }
        sequence_clear(&captured);
    }
    kind->leaves_copies = leaves_copies_out(form);
    kind->is_near = kind->candidate_count > 0;
}

static void match_nearly(struct graph_launches *launches, struct launch_kind *kind,
                         const struct trace *trace, const struct captured_graphs *graphs)
{
    for (int form = FORM_ALL; form <= FORM_NO_COPIES && kind->candidate_count == 0; form++) {
        struct sequence wanted = sequence_of_launch(launches, &launches->launches[kind->example],
                                                    trace, (enum sequence_form)form);

        if (wanted.count >= KERNELS_FOR_EACH_MISSING) /* else none may be missing */
            find_near_candidates(kind, &wanted, graphs, (enum sequence_form)form);
        sequence_clear(&wanted);
    }
}

/* From the strictest form to the loosest, each only where the ones before found nothing.
 * Indexes are made when first needed. */
static void match_kinds(struct graph_launches *launches, const struct trace *trace,
                        const struct captured_graphs *graphs)
{
    struct graph_index indexes[FORM_COUNT] = {{.is_made = false}};

    for (size_t k = 0; k < launches->kind_count; k++) {
        struct launch_kind *kind = &launches->kinds[k];

        for (int form = 0; form < FORM_COUNT && kind->candidate_count == 0; form++) {
            struct sequence wanted;

            if (form >= FORM_BAG && !kind->is_parallel)
                break;
            if (!indexes[form].is_made)
                index_graphs(&indexes[form], graphs, (enum sequence_form)form);
            wanted = sequence_of_launch(launches, &launches->launches[kind->example], trace,
                                        (enum sequence_form)form);
            find_candidates(kind, &wanted, &indexes[form], graphs, (enum sequence_form)form);
            sequence_clear(&wanted);
        }
        if (kind->candidate_count == 0 && !kind->is_parallel)
            match_nearly(launches, kind, trace, graphs);
    }
    for (int form = 0; form < FORM_COUNT; form++) {
        hash_map_clear(&indexes[form].first);
        free(indexes[form].next);
    }
}

/* ---- what the order of launches tells -------------------------------------------------------- */

static bool launch_fits(const struct graph_launches *launches, size_t launch, uint32_t graph)
{
    const struct launch_kind *kind = &launches->kinds[launches->launches[launch].kind];
    const uint32_t *candidates = kind->candidates;
    uint32_t place = LOWER_BOUND(i, 0, kind->candidate_count, candidates[i] < graph);

    return !kind->is_near && place < kind->candidate_count && candidates[place] == graph;
}

/* Pieces of a model are captured in the order in which they are replayed. Between two launches that
 * are known, as many apart as their captured graphs, and all fitting, the others are known too. */
static void resolve_between(struct graph_launches *launches, const struct captured_graphs *graphs,
                            size_t left, size_t right)
{
    uint32_t first = launches->kinds[launches->launches[left].kind].candidates[0];
    uint32_t last = launches->kinds[launches->launches[right].kind].candidates[0];

    if (last <= first || last - first != right - left ||
        graphs->graphs[first].capture != graphs->graphs[last].capture)
        return;
    for (size_t i = left + 1; i < right; i++)
        if (!launch_fits(launches, i, first + (uint32_t)(i - left)))
            return;
    for (size_t i = left + 1; i < right; i++)
        launches->launches[i].resolved = first + (uint32_t)(i - left);
}

/* Anchors are launches with one candidate; what lies between two of them is counted off. */
static void resolve_by_order(struct graph_launches *launches, const struct captured_graphs *graphs)
{
    size_t known = SIZE_MAX;

    for (size_t i = 0; i < launches->count; i++) {
        const struct launch_kind *kind = &launches->kinds[launches->launches[i].kind];

        if (kind->candidate_count != 1 || kind->is_near)
            continue;
        if (known != SIZE_MAX && i - known > 1)
            resolve_between(launches, graphs, known, i);
        known = i;
    }
}

void match_graph_launches(struct graph_launches *launches, const struct trace *trace,
                          const struct captured_graphs *graphs)
{
    match_kinds(launches, trace, graphs);
    resolve_by_order(launches, graphs);
}

/* ---- kernels -------------------------------------------------------------------------------- */

/* Everything at hand for one launch. */
struct origin_search {
    const struct captured_graphs *graphs;
    const struct launch_kind *kind;
    struct kernel_origin *origins; /* of the kernels of the launch */
    uint32_t count;
};

static uint64_t chain_of(const struct captured_graphs *graphs, uint32_t launch, bool with_place)
{
    uint32_t event = graphs->launches[launch].event;

    if (event == NO_EVENT)
        return 0;
    return with_place ? graphs->events[event].place : graphs->events[event].operators;
}

static void lower_to(struct kernel_origin *origin, enum graph_fate fate)
{
    if (origin->fate < fate)
        origin->fate = (uint8_t)fate;
}

/* Leaves a kernel what two launches of captures have in common. Chains by hash, see
 * captured_graphs.c: equal hashes are the same operators, or the same place. */
static void keep_common(const struct captured_graphs *graphs, struct kernel_origin *origin,
                        uint32_t other)
{
    if (origin->launch == NO_EVENT)
        return;
    if (chain_of(graphs, origin->launch, true) != chain_of(graphs, other, true))
        lower_to(origin, GRAPH_WITHOUT_PLACE);
    if (chain_of(graphs, origin->launch, false) != chain_of(graphs, other, false))
        lower_to(origin, GRAPH_AMBIGUOUS);
}

static enum sequence_form form_of_kind(const struct launch_kind *kind)
{
    if (kind->is_reordered)
        return kind->leaves_copies ? FORM_BAG_NO_COPIES : FORM_BAG;
    return kind->leaves_copies ? FORM_NO_COPIES : FORM_ALL;
}

/* Equal kernels of branches may have run in either order: each is given what all of them share. */
static void keep_common_of_equals(struct origin_search *search, const struct sequence *captured)
{
    struct hash_map first = {0};
    struct kernel_origin *common =
        require_memory(calloc(captured->count + (size_t)1, sizeof *common));

    for (uint32_t i = 0; i < captured->count; i++) {
        uint32_t of = hash_map_add(&first, captured->symbols[i], i);

        if (of == i)
            common[i] = (struct kernel_origin){captured->places[i], GRAPH_ATTRIBUTED};
        else
            keep_common(search->graphs, &common[of], captured->places[i]);
    }
    for (uint32_t i = 0; i < search->count; i++) {
        struct kernel_origin *origin = &search->origins[i];

        if (origin->launch != NO_EVENT)
            lower_to(
                origin,
                (enum graph_fate)
                    common[hash_map_find(&first, search->graphs->launches[origin->launch].symbol)]
                        .fate);
    }
    free(common);
    hash_map_clear(&first);
}

/* An operator is known for all of its kernels or for none, so that none counts twice. */
static void agree_by_operator(struct origin_search *search)
{
    const struct captured_graphs *graphs = search->graphs;
    struct hash_map worst = {0};

    for (int is_second = 0; is_second < 2; is_second++) {
        for (uint32_t i = 0; i < search->count; i++) {
            struct kernel_origin *origin = &search->origins[i];
            uint32_t event =
                origin->launch == NO_EVENT ? NO_EVENT : graphs->launches[origin->launch].event;
            uint32_t top = event == NO_EVENT ? NO_EVENT : graphs->events[event].top_operator;

            if (top == NO_EVENT)
                continue;
            if (is_second)
                lower_to(origin, (enum graph_fate)hash_map_find(&worst, top));
            else if (hash_map_add(&worst, top, origin->fate) < origin->fate)
                hash_map_set(&worst, top, origin->fate);
        }
    }
    hash_map_clear(&worst);
}

static void note_missing_operators(struct origin_search *search)
{
    const struct captured_graphs *graphs = search->graphs;

    for (uint32_t i = 0; i < search->count; i++) {
        struct kernel_origin *origin = &search->origins[i];
        uint32_t event =
            origin->launch == NO_EVENT ? NO_EVENT : graphs->launches[origin->launch].event;

        if (origin->launch != NO_EVENT && origin->fate <= GRAPH_WITHOUT_PLACE &&
            (event == NO_EVENT || graphs->events[event].top_operator == NO_EVENT))
            lower_to(origin, GRAPH_NO_OPERATOR);
    }
}

/* The first candidate gives the origin, every further one takes away what it does not share. */
static void collect_origins(struct origin_search *search, const struct sequence *wanted,
                            uint32_t graph, bool is_first)
{
    struct sequence captured = sequence_of_graph(search->graphs, graph, form_of_kind(search->kind));
    bool is_branched = !search->kind->has_nodes &&
                       (search->kind->is_parallel || search->graphs->graphs[graph].is_branched);

    for (uint32_t i = 0; i < captured.count && i < wanted->count; i++) {
        struct kernel_origin *origin = &search->origins[wanted->places[i]];

        if (is_first)
            *origin = (struct kernel_origin){captured.places[i], GRAPH_ATTRIBUTED};
        else
            keep_common(search->graphs, origin, captured.places[i]);
    }
    if (is_branched)
        keep_common_of_equals(search, &captured);
    sequence_clear(&captured);
}

static uint32_t call_of(const struct captured_graphs *graphs, uint32_t launch)
{
    uint32_t event = graphs->launches[launch].event;

    return event == NO_EVENT ? NO_EVENT : graphs->events[event].top_operator;
}

/* A kernel that can be several launches of the capture is known only where these belong to one call
 * of an operator: else it would not be known how many calls there were. */
static struct kernel_origin origin_in_room(const struct captured_graphs *graphs,
                                           const struct sequence *captured, uint32_t first,
                                           uint32_t last)
{
    uint32_t launch = captured->places[first];
    struct kernel_origin origin = {launch, GRAPH_ATTRIBUTED};

    for (uint32_t i = first + 1; i <= last; i++) {
        if (captured->symbols[i] != captured->symbols[first])
            continue;
        keep_common(graphs, &origin, captured->places[i]);
        if (call_of(graphs, launch) != call_of(graphs, captured->places[i]))
            lower_to(&origin, GRAPH_AMBIGUOUS);
    }
    return origin;
}

/* Of each symbol of `wanted` what it is in a capture that has a few more of them, or a few less:
 * then only those are known that can lie in one place alone. */
static struct kernel_origin *find_near_origins(const struct captured_graphs *graphs,
                                               const struct sequence *wanted,
                                               const struct sequence *captured)
{
    bool is_part = wanted->count < captured->count;
    const struct sequence *part = is_part ? wanted : captured;
    struct symbol_room room = symbol_room_new(part->count);
    struct kernel_origin *origins =
        require_memory(calloc(wanted->count + (size_t)1, sizeof *origins));
    bool is_found = find_room(part, is_part ? captured : wanted, &room);

    for (uint32_t i = 0; i < wanted->count; i++)
        origins[i] = (struct kernel_origin){NO_EVENT, GRAPH_NO_MATCH};
    for (uint32_t i = 0; i < part->count && is_found; i++) {
        uint32_t first = room.first[i], last = room.last[i];

        if (is_part)
            origins[i] = origin_in_room(graphs, captured, first, last);
        else if (first == last)
            origins[first] = (struct kernel_origin){captured->places[i], GRAPH_ATTRIBUTED};
    }
    symbol_room_clear(&room);
    return origins;
}

/* As collect_origins, for a capture that nearly fits. */
static void collect_near_origins(struct origin_search *search, const struct sequence *wanted,
                                 uint32_t graph, bool is_first)
{
    struct sequence captured = sequence_of_graph(search->graphs, graph, form_of_kind(search->kind));
    struct kernel_origin *found = find_near_origins(search->graphs, wanted, &captured);

    for (uint32_t i = 0; i < wanted->count; i++) {
        struct kernel_origin *origin = &search->origins[wanted->places[i]];

        if (is_first) {
            *origin = found[i];
        } else if (found[i].launch == NO_EVENT || origin->launch == NO_EVENT) {
            *origin = (struct kernel_origin){NO_EVENT, GRAPH_AMBIGUOUS};
        } else {
            keep_common(search->graphs, origin, found[i].launch);
            lower_to(origin, (enum graph_fate)found[i].fate);
        }
    }
    free(found);
    sequence_clear(&captured);
}

/* The reason that the user can do something about: no capture, a capture without names, or
 * another one. */
static enum graph_fate fate_without_candidates(const struct captured_graphs *graphs)
{
    bool has_names = false;

    if (graphs->capture_count == 0)
        return GRAPH_NO_CAPTURE;
    for (size_t i = 0; i < graphs->graph_count; i++)
        has_names = has_names || (graphs->graphs[i].count > 0 && !graphs->graphs[i].has_unknown);
    return has_names ? GRAPH_NO_MATCH : GRAPH_NO_NAMES;
}

/* Where several captured graphs fit, only what all of them say of a kernel is kept: see
 * agree_by_operator. */
struct kernel_origin *find_kernel_origins(const struct graph_launches *launches,
                                          const struct graph_launch *launch,
                                          const struct trace *trace,
                                          const struct captured_graphs *graphs)
{
    const struct launch_kind *kind = &launches->kinds[launch->kind];
    struct origin_search search = {.graphs = graphs, .kind = kind, .count = launch->count};
    enum graph_fate missing =
        kind->candidate_count > 0 ? GRAPH_NO_MATCH : fate_without_candidates(graphs);
    struct sequence wanted = sequence_of_launch(launches, launch, trace, form_of_kind(kind));

    search.origins = require_memory(calloc(launch->count + (size_t)1, sizeof *search.origins));
    for (uint32_t i = 0; i < launch->count; i++)
        search.origins[i] = (struct kernel_origin){NO_EVENT, (uint8_t)missing};
    if (launch->resolved != NO_EVENT)
        collect_origins(&search, &wanted, launch->resolved, true);
    for (uint32_t i = 0; i < kind->candidate_count && launch->resolved == NO_EVENT; i++) {
        if (kind->is_near)
            collect_near_origins(&search, &wanted, kind->candidates[i], i == 0);
        else
            collect_origins(&search, &wanted, kind->candidates[i], i == 0);
    }
    agree_by_operator(&search);
    note_missing_operators(&search);
    sequence_clear(&wanted);
    return search.origins;
}
