/* How much of a trace, and of its critical path, a timeline can hold. */
#include "base/core/array.h"
#include "base/core/invariant.h"
#include "critical_path/steps_path.h"
#include "ledger/step_outliers.h"
#include "sections/timeline/timeline_parts.h"

#include <stdlib.h>
#include <string.h>

/* Of the budget, so many hundredths may go to stretches that are shown in full. */
enum { DETAIL_PERCENT = 50 };

static unsigned timeline_plan_bits_of(int64_t number)
{
    return number > 0 ? 64U - (unsigned)__builtin_clzll((unsigned long long)number) : 0;
}

static unsigned shift_of(unsigned index)
{
    return PLAN_SHIFT_FIRST + index * PLAN_SHIFT_STEP;
}

static int64_t plan_bin_ns(const struct timeline_counts *counts)
{
    return (counts->end_ns - counts->start_ns) / PLAN_BINS + 1;
}

static size_t bin_of(const struct timeline_counts *counts, int64_t time_ns)
{
    int64_t bin = (time_ns - counts->start_ns) / plan_bin_ns(counts);

    return bin < 0 ? 0 : bin >= PLAN_BINS ? PLAN_BINS - 1 : (size_t)bin;
}

/* 0xff in all bytes is -1: a bucket that no piece has. */
static void timeline_plan_make_room(struct timeline_counts *counts, uint32_t row)
{
    size_t known = counts->row_capacity;

    if (row < known)
        return;
    ARRAY_RESERVE(counts->last, counts->row_capacity, row + (size_t)1);
    memset(counts->last + known, 0xff, (counts->row_capacity - known) * sizeof *counts->last);
}

/* How many blocks a resolution makes is counted for all resolutions in one pass, before any block
 * is made: a trace may have millions of pieces, a page holds some ten thousand. At resolution 2^k a
 * piece at least that long is a block of its own, and all shorter ones that begin in one bucket of
 * 2^k ns are one block together. A bucket of a level lies in one of the next, so that the walk
 * upwards ends at the first level whose bucket is the one counted last: O(1) a piece, amortized. */
void timeline_counts_add(struct timeline_counts *counts, uint32_t row,
                         const struct timeline_piece *piece)
{
    int64_t start_ns = piece->start_ns - counts->start_ns;
    unsigned bits = timeline_plan_bits_of(piece->duration_ns);
    unsigned index = bits <= PLAN_SHIFT_FIRST
                         ? 0
                         : (bits - PLAN_SHIFT_FIRST + PLAN_SHIFT_STEP - 1) / PLAN_SHIFT_STEP;
    uint32_t step = step_finder_at(&counts->finder, piece->start_ns);

    if (!counts->step_pieces)
        counts->step_pieces = require_memory(
            calloc((size_t)counts->finder.ledger->step_count + 1, sizeof *counts->step_pieces));
    timeline_plan_make_room(counts, row);
    counts->piece_count++;
    counts->longer[bits]++;
    counts->bins[bin_of(counts, piece->start_ns)]++;
    if (step != NO_STEP)
        counts->step_pieces[step]++;
    for (; index < PLAN_SHIFTS; index++) {
        int64_t bucket = start_ns >> shift_of(index);

        if (counts->last[row][index] == bucket)
            return; /* a bucket of a coarser level holds it whole */
        counts->last[row][index] = bucket;
        counts->buckets[index]++;
    }
}

void timeline_counts_clear(struct timeline_counts *counts)
{
    free(counts->step_pieces);
    free(counts->last);
    counts->step_pieces = NULL;
    counts->last = NULL;
}

/* Blocks where pieces shorter than 2^shift are merged. Merged blocks and long pieces. Exact for
 * powers of two: a piece whose duration has more bits than the shift is at least as long as the
 * resolution, and all others were counted in buckets. */
static int64_t blocks_at(const struct timeline_counts *counts, unsigned index)
{
    int64_t blocks = counts->buckets[index];

    for (unsigned bits = shift_of(index) + 1; bits < 64; bits++)
        blocks += counts->longer[bits];
    return blocks;
}

/* The finest resolution that fits; the coarsest where none does. If all pieces fit, nothing is
 * merged: resolution 0. The number of blocks falls with each coarser level, so that the first
 * that fits is the finest. */
static int64_t finest_resolution(const struct timeline_counts *counts, int64_t block_budget)
{
    if (counts->piece_count <= block_budget)
        return 0;
    for (unsigned index = 0; index < PLAN_SHIFTS; index++)
        if (blocks_at(counts, index) <= block_budget)
            return (int64_t)1 << shift_of(index);
    return (int64_t)1 << shift_of(PLAN_SHIFTS - 1);
}

/* A merged timeline hides single kernels; so some slices are shown in full. They begin in the
 * middle of a step, because its ends are what is least like the rest (data loading, the optimizer).
 */
/* Widens a stretch from the middle of a step to both sides as long as its pieces fit. Grows to
 * both sides in turn, so that it stays around the middle; a side stops at the border of the step
 * or where the next bin does not fit, and the other side may go on. */
static struct timeline_region widest_slice(const struct timeline_counts *counts,
                                           const struct step_window *window, int64_t block_budget)
{
    int64_t bin_ns = plan_bin_ns(counts);
    size_t first = bin_of(counts, window->start_ns);
    size_t end = bin_of(counts, window->end_ns);
    size_t low = first + (end - first) / 2;
    size_t high = low; /* without it */
    bool goes_on = true;

    while (goes_on) {
        goes_on = false;
        if (high < end && counts->bins[high] <= block_budget) {
            block_budget -= counts->bins[high++];
            goes_on = true;
        }
        if (low > first && counts->bins[low - 1] <= block_budget) {
            block_budget -= counts->bins[--low];
            goes_on = true;
        }
    }
    return (struct timeline_region){.start_ns = counts->start_ns + (int64_t)low * bin_ns,
                                    .end_ns = counts->start_ns + (int64_t)high * bin_ns};
}

static int timeline_plan_compare_starts(const void *left, const void *right)
{
    const struct timeline_region *a = left;
    const struct timeline_region *b = right;

    return (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

/* The favourites that fit, by start; their pieces are added to *used. Greedy in the order of
 * favor: a step that does not fit is passed over, and a later, smaller one may still fit. If not
 * even one step fits, a slice of the first favorite is shown: without any detail a page shows no
 * single kernel at all. */
static size_t choose_detailed(const struct timeline_counts *counts, int64_t block_budget,
                              const uint32_t *favourites, size_t favourite_count,
                              struct timeline_region *chosen)
{
    const struct ledger *ledger = counts->finder.ledger;
    int64_t left = block_budget;
    size_t count = 0;

    for (size_t i = 0; counts->step_pieces && i < favourite_count; i++) {
        const struct step_window *window = &ledger->steps[favourites[i]].window;
        int64_t pieces = counts->step_pieces[favourites[i]];

        if (pieces > left)
            continue;
        left -= pieces;
        chosen[count++] =
            (struct timeline_region){.start_ns = window->start_ns, .end_ns = window->end_ns};
    }
    if (count == 0 && favourite_count > 0) {
        chosen[0] = widest_slice(counts, &ledger->steps[favourites[0]].window, block_budget);
        count = chosen[0].end_ns > chosen[0].start_ns;
    }
    qsort(chosen, count, sizeof *chosen, timeline_plan_compare_starts);
    return count;
}

/* Neighbors of one resolution become one region, so that steps that follow each other in full
 * have no border. */
static void add_region(struct timeline_region *regions, size_t *count, int64_t start_ns,
                       int64_t end_ns, int64_t resolution_ns)
{
    struct timeline_region *last = *count ? &regions[*count - 1] : NULL;

    if (end_ns <= start_ns)
        return;
    if (last && last->resolution_ns == resolution_ns)
        last->end_ns = end_ns;
    else
        regions[(*count)++] = (struct timeline_region){start_ns, end_ns, resolution_ns};
}

/* Half of the budget for stretches in full, half for the rest at the finest resolution that
 * then fits. Regions cover the whole time without gap or overlap: each piece belongs to the
 * one it begins in. At most two for each favorite, and one at the end. */
struct timeline_region *plan_timeline(const struct timeline_counts *counts, int64_t block_budget,
                                      const uint32_t *favourites, size_t favourite_count,
                                      size_t *region_count)
{
    struct timeline_region *detailed =
        require_memory(calloc(favourite_count + 1, sizeof *detailed));
    struct timeline_region *regions =
        require_memory(calloc(2 * favourite_count + 3, sizeof *regions));
    int64_t detail_budget = block_budget * DETAIL_PERCENT / 100;
    int64_t resolution_ns = finest_resolution(counts, block_budget);
    int64_t time_ns = counts->start_ns;
    size_t detailed_count = 0;

    *region_count = 0;
    if (resolution_ns > 0) {
        detailed_count =
            choose_detailed(counts, detail_budget, favourites, favourite_count, detailed);
        resolution_ns = finest_resolution(counts, block_budget - detail_budget);
    }
    for (size_t i = 0; i < detailed_count; i++) {
        add_region(regions, region_count, time_ns, detailed[i].start_ns, resolution_ns);
        add_region(regions, region_count, detailed[i].start_ns, detailed[i].end_ns, 0);
        time_ns = detailed[i].end_ns;
    }
    add_region(regions, region_count, time_ns, counts->end_ns + 1, resolution_ns);
    free(detailed);
    return regions;
}

/* ---- the critical path ----------------------------------------------------------------------- */

/* The critical path on a timeline: where it runs in the typical step. */

enum { LINKS_MAX = 4000 }; /* about what a screen can show; more are merged */

/* Links of the step while they are put together. */
struct gathering {
    struct timeline_link *links; /* [count] */
    size_t count;
    int64_t longest_ns;  /* of what was merged into the last one */
    int64_t shortest_ns; /* shorter ones of one lane are merged */
};

/* Links that touch on one lane are joined where they are of one kind, or together too short to
 * draw; the joined one has the kind of the longest in it. */
static void timeline_path_gather(struct gathering *gathering, struct timeline_link link)
{
    struct timeline_link *last = gathering->count ? &gathering->links[gathering->count - 1] : NULL;

    if (last && last->lane == link.lane && last->start_ns + last->duration_ns == link.start_ns &&
        (last->kind == link.kind ||
         last->duration_ns + link.duration_ns < gathering->shortest_ns)) {
        last->duration_ns += link.duration_ns;
        if (link.duration_ns > gathering->longest_ns)
            last->kind = link.kind;
        if (link.duration_ns > gathering->longest_ns)
            gathering->longest_ns = link.duration_ns;
        return;
    }
    gathering->links[gathering->count++] = link;
    gathering->longest_ns = link.duration_ns;
}

static size_t count_links(const struct steps_path *path, const struct step_window *window)
{
    int64_t start_ns = window->start_ns - path->graph->start_ns;
    int64_t end_ns = window->end_ns - path->graph->start_ns;
    size_t count = 0;

    for (size_t i = 0; i < path->pieces.count; i++)
        count +=
            path->pieces.pieces[i].end_ns > start_ns && path->pieces.pieces[i].start_ns < end_ns;
    return count;
}

/* Links are cut at the step's ends: a chain goes on into its neighbors. */
static void gather_step(struct gathering *gathering, const struct steps_path *path,
                        const struct step_window *window, const uint32_t *lane_of_track)
{
    gathering->count = 0;
    for (size_t i = 0; i < path->pieces.count; i++) {
        struct path_link link = steps_path_link(path, i);

        if (link.end_ns <= window->start_ns || link.start_ns >= window->end_ns)
            continue;
        if (link.start_ns < window->start_ns)
            link.start_ns = window->start_ns;
        if (link.end_ns > window->end_ns)
            link.end_ns = window->end_ns;
        timeline_path_gather(
            gathering, (struct timeline_link){
                           .start_ns = link.start_ns,
                           .duration_ns = link.end_ns - link.start_ns,
                           .lane = link.track == NO_EVENT ? UINT32_MAX : lane_of_track[link.track],
                           .kind = link.kind});
    }
}

/* Titles for people, keys of accounts for the page, which colors by them. */
static const char *const *kind_texts(struct results *results, bool is_key)
{
    const char **texts = results_allocate(results, PATH_KIND_COUNT * sizeof *texts);

    for (int kind = 0; kind < PATH_KIND_COUNT; kind++)
        texts[kind] =
            is_key ? account_descriptions[path_kinds[kind].account].key : path_kinds[kind].title;
    return texts;
}

/* The same as the section on the critical path chooses. */
static const struct step_window *typical_window(const struct ledger *ledger)
{
    struct step_spread spread = measure_step_spread(ledger);
    uint32_t step = typical_step(&spread, ledger->step_count);

    free(spread.steps);
    return &ledger->steps[step].window;
}

/* Links shorter than the smallest that can be drawn are joined, so that a step of a million of
 * them stays a page. */
void timeline_add_path(struct results *results, struct timeline *timeline,
                       const struct analysis_input *input, const uint32_t *lane_of_track)
{
    const struct step_window *window;
    SCOPED(steps_path) own = {.graph = NULL};
    const struct steps_path *path;
    struct gathering gathering = {.count = 0};

    if (!input->simulation || input->simulation->is_refused)
        return;
    window = typical_window(input->simulation->graph.ledger);
    gathering.shortest_ns = (window->end_ns - window->start_ns) / LINKS_MAX;
    path = steps_path_of(input->path, &own, &input->simulation->graph);
    gathering.links =
        results_allocate(results, (count_links(path, window) + 1) * sizeof *gathering.links);
    gather_step(&gathering, path, window, lane_of_track);
    for (size_t i = 0; i < gathering.count; i++)
        gathering.links[i].start_ns -= timeline->base_ns;
    timeline->path = gathering.links;
    timeline->path_count = gathering.count;
    timeline->path_step = window->number;
    timeline->path_kinds = kind_texts(results, false);
    timeline->path_accounts = kind_texts(results, true);
    timeline->path_kind_count = PATH_KIND_COUNT;
}
