/* A snapshot's memory over time, for reports that can draw it. */
#include "base/core/hash_map.h"
#include "base/core/invariant.h"
#include "base/text/format.h"
#include "sections/memory/memory_sections.h"
#include "sections/timeline/timeline_parts.h"

#include <stdlib.h>
#include <string.h>

/* ---- the map --------------------------------------------------------------------------------- */

/* A map of the memory that an allocator has reserved, for reports that can draw it: what lies where
 * in each segment when the snapshot was taken, and what is free between it. */

enum {
    ROWS_MAX = 120,           /* segments of a lane; the smallest ones are left out */
    PIECES_OF_LONGEST = 4000, /* shorter neighbours of one kind are merged */
};

/* Classes behind those of places, and labels before those of places. */
enum map_class { MAP_FREE, MAP_PENDING, MAP_CLASS_COUNT };

struct mapping {
    struct results *results;
    const struct snapshot_view *view;
    struct timeline *map;
    struct place_classes places;
    uint32_t *label_of_place; /* 0: none yet */
    const char **names;       /* of labels: those of the places */
    int64_t least_bytes;
};

/* The largest first. */
static int compare_segments(const void *left, const void *right)
{
    const struct snapshot_segment *a = *(const struct snapshot_segment *const *)left;
    const struct snapshot_segment *b = *(const struct snapshot_segment *const *)right;

    if (a->total_bytes != b->total_bytes)
        return a->total_bytes > b->total_bytes ? -1 : 1;
    return (a->address > b->address) - (a->address < b->address);
}

/* The device's segments of small or of large blocks; free() them. */
static const struct snapshot_segment **find_segments(const struct mapping *mapping, bool is_small,
                                                     size_t *count)
{
    const struct memory_snapshot *snapshot = mapping->view->replay->snapshot;
    const struct snapshot_segment **found =
        require_memory(calloc(snapshot->segment_count + (size_t)1, sizeof *found));

    *count = 0;
    for (uint32_t i = 0; i < snapshot->segment_count; i++) {
        const struct snapshot_segment *segment = &snapshot->segments[i];

        if (segment->device == (int64_t)mapping->view->replay->device &&
            segment->is_small == is_small && segment->total_bytes > 0)
            found[(*count)++] = segment;
    }
    qsort(found, *count, sizeof *found, compare_segments);
    return found;
}

/* Label 0 is free memory, 1 what waits to be free, 2 what has no stack; then places. */
enum { LABEL_NO_STACK = MAP_CLASS_COUNT, LABELS_FIXED };

/* Names are made when the first block of a place is drawn: most places of a snapshot have none
 * in its end state. */
static uint32_t label_of_block(struct mapping *mapping, const struct snapshot_block *block)
{
    const struct snapshot_places *places = mapping->view->places;
    struct timeline *map = mapping->map;
    uint32_t place;

    if (block->state == SNAPSHOT_INACTIVE)
        return MAP_FREE;
    if (block->state == SNAPSHOT_PENDING)
        return MAP_PENDING;
    if (block->stack == SNAPSHOT_NONE)
        return LABEL_NO_STACK;
    place = places->of_stack[block->stack];
    if (!mapping->label_of_place[place]) {
        uint32_t label = (uint32_t)map->label_count++;

        mapping->label_of_place[place] = label;
        mapping->names[label] = place_label(mapping->results, places, place);
        map->labels[label] =
            (struct timeline_label){.name = label, .class = mapping->places.class_of_place[place]};
    }
    return mapping->label_of_place[place];
}

/* Short neighbours of one label become one block. False where `block` stands for itself. A piece
 * grows to twice the least length at most, so that what is drawn stays true to that length. */
static bool joins(struct timeline_block *last, const struct timeline_block *block,
                  int64_t least_bytes)
{
    if (last->label != block->label || block->duration_ns >= least_bytes ||
        last->duration_ns >= 2 * least_bytes)
        return false;
    last->duration_ns += block->duration_ns;
    last->filled_ns += block->duration_ns;
    last->count++;
    return true;
}

/* On a map the axis is the address: bytes stand where a timeline has nanoseconds. Blocks too
 * small to see are joined with the one before. */
static void snapshot_map_fill_row(struct mapping *mapping, struct timeline_row *row,
                                  const struct snapshot_segment *segment)
{
    const struct memory_snapshot *snapshot = mapping->view->replay->snapshot;
    struct timeline_block *blocks =
        results_allocate(mapping->results, (segment->block_count + (size_t)1) * sizeof *blocks);
    size_t count = 0;

    for (uint32_t i = 0; i < segment->block_count; i++) {
        const struct snapshot_block *from = &snapshot->blocks[segment->first_block + i];
        struct timeline_block block = {.start_ns = (int64_t)(from->address - segment->address),
                                       .duration_ns = from->size_bytes,
                                       .filled_ns = from->size_bytes,
                                       .launch_delay_ns = TIMELINE_NO_LAUNCH,
                                       .label = label_of_block(mapping, from),
                                       .count = 1};

        if (count == 0 || !joins(&blocks[count - 1], &block, mapping->least_bytes))
            blocks[count++] = block;
    }
    *row = (struct timeline_row){.blocks = blocks, .count = count};
}

/* Small and large blocks have segments of their own in the allocator, and so in the map. */
static void snapshot_map_add_lane(struct mapping *mapping, bool is_small)
{
    size_t count;
    const struct snapshot_segment **segments = find_segments(mapping, is_small, &count);
    struct timeline *map = mapping->map;
    struct timeline_lane *lane = &map->lanes[map->lane_count];

    if (count > 0) {
        *lane = (struct timeline_lane){
            .kind = TIMELINE_SEGMENTS,
            .title = is_small ? "segments of small blocks" : "segments of large blocks",
            .row_count = count < ROWS_MAX ? count : ROWS_MAX,
            .hidden_count = count < ROWS_MAX ? 0 : (int64_t)count - ROWS_MAX};
        lane->rows = results_allocate(mapping->results, lane->row_count * sizeof *lane->rows);
        for (size_t i = 0; i < lane->row_count; i++) {
            snapshot_map_fill_row(mapping, &lane->rows[i], segments[i]);
            lane->event_count += segments[i]->block_count;
            map->block_count += (int64_t)lane->rows[i].count;
        }
        map->event_count += lane->event_count;
        map->lane_count++;
    }
    free(segments);
}

static int64_t longest_segment(const struct snapshot_view *view)
{
    const struct memory_snapshot *snapshot = view->replay->snapshot;
    int64_t longest = 0;

    for (uint32_t i = 0; i < snapshot->segment_count; i++)
        if (snapshot->segments[i].device == (int64_t)view->replay->device &&
            snapshot->segments[i].total_bytes > longest)
            longest = snapshot->segments[i].total_bytes;
    return longest;
}

/* Classes of the places, then those of the map; room for a label of each place. */
static void set_classes(struct mapping *mapping)
{
    static const struct timeline_class own[MAP_CLASS_COUNT] = {
        [MAP_FREE] = {"map_free", "free", NULL},
        [MAP_PENDING] = {"map_pending", "waiting to be free", NULL},
    };
    static const char *const no_texts[] = {""};
    struct timeline *map = mapping->map;
    uint32_t first = mapping->places.count;
    size_t labels = mapping->view->places->count + (size_t)LABELS_FIXED;
    struct timeline_class *classes =
        results_allocate(mapping->results, (first + (size_t)MAP_CLASS_COUNT) * sizeof *classes);

    for (uint32_t i = 0; i < first; i++)
        classes[i] = mapping->places.classes[i];
    map->labels = results_allocate(mapping->results, labels * sizeof *map->labels);
    mapping->names = results_allocate(mapping->results, labels * sizeof *mapping->names);
    mapping->label_of_place = results_allocate(mapping->results, labels * sizeof(uint32_t));
    for (uint32_t i = 0; i < LABELS_FIXED; i++) {
        bool is_own = i < MAP_CLASS_COUNT;

        if (is_own)
            classes[first + i] = own[i];
        map->labels[i] = (struct timeline_label){.class = is_own ? first + i : first - 1};
        mapping->names[i] = "";
    }
    map->classes = classes;
    map->class_count = first + (size_t)MAP_CLASS_COUNT;
    map->label_count = LABELS_FIXED;
    map->modules = no_texts;
    map->module_count = 1;
}

/* Addresses stand where a timeline has times: the pages draw both alike. */
struct timeline *make_snapshot_map(struct results *results, const struct snapshot_view *view)
{
    struct mapping mapping = {.results = results, .view = view};
    int64_t longest = longest_segment(view);
    struct timeline *map;

    if (longest == 0)
        return NULL;
    map = results_allocate(results, sizeof *map);
    mapping.map = map;
    mapping.least_bytes = longest / PIECES_OF_LONGEST;
    mapping.places = classes_of_places(results, view, view->replay->event_count);
    *map = (struct timeline){.is_map = true, .duration_ns = longest, .step_word = ""};
    map->lanes = results_allocate(results, 2 * sizeof *map->lanes);
    map->regions = results_allocate(results, sizeof *map->regions);
    map->regions[0] =
        (struct timeline_region){.end_ns = longest + 1, .resolution_ns = mapping.least_bytes};
    map->region_count = 1;
    set_classes(&mapping);
    snapshot_map_add_lane(&mapping, false);
    snapshot_map_add_lane(&mapping, true);
    map->names = mapping.names;
    map->name_count = map->label_count;
    return map;
}

/* ---- snapshot timeline ----------------------------------------------------------------------- */

enum {
    PLACES_SHOWN = 12,
    BLOCKS_MAX = 4000, /* allocations drawn one by one */
    BLOCK_ROWS = 32,
    EARLIER_ROWS = 8, /* of them for those from before the trace */
    NO_ROW = UINT8_MAX,
};

/* ---- classes ---- */

/* The places of most bytes at that moment have colors of their own in the pages, all others
 * share one. */
struct place_classes classes_of_places(struct results *results, const struct snapshot_view *view,
                                       uint32_t moment)
{
    size_t places = view->places->count;
    struct memory_shares shares = shares_by_place(view, moment);
    struct place_classes classes = {.count =
                                        shares.count < PLACES_SHOWN ? shares.count : PLACES_SHOWN};

    classes.classes =
        results_allocate(results, (classes.count + (size_t)1) * sizeof *classes.classes);
    classes.class_of_place = results_allocate(results, (places + 1) * sizeof(uint32_t));
    for (size_t i = 0; i < places; i++)
        classes.class_of_place[i] = classes.count;
    for (uint32_t i = 0; i < classes.count; i++) {
        classes.class_of_place[shares.shares[i].key] = i;
        classes.classes[i] = (struct timeline_class){
            .key = results_format(results, "place_%u", i),
            .title = place_label(results, view->places, shares.shares[i].key)};
    }
    classes.classes[classes.count++] =
        (struct timeline_class){.key = "place_other", .title = "all other places"};
    memory_shares_clear(&shares);
    return classes;
}

/* ---- what is live ---- */

/* At a moment a life begins or ends. */
struct life_change {
    uint32_t class;
    int64_t bytes;
};

/* The changes of each moment: those of moment m are [first[m], first[m + 1]). */
struct life_changes {
    size_t *first; /* [event_count + 2] */
    struct life_change *changes;
};

/* A counting sort by moment: lives begin and end at known moments, so two passes give each
 * moment its changes. O(lives + moments). */
static void snapshot_timeline_sort_changes(struct life_changes *sorted,
                                           const struct snapshot_view *view,
                                           const struct place_classes *classes)
{
    const struct snapshot_replay *replay = view->replay;
    size_t moments = (size_t)replay->event_count + 1;
    size_t *next;

    sorted->first = require_memory(calloc(moments + 2, sizeof *sorted->first));
    sorted->changes =
        require_memory(calloc(2 * (size_t)replay->life_count + 1, sizeof *sorted->changes));
    for (uint32_t i = 0; i < replay->life_count; i++) {
        sorted->first[replay->lives[i].born + 1]++;
        if (replay->lives[i].died != LIFE_NEVER)
            sorted->first[replay->lives[i].died + 1]++;
    }
    for (size_t i = 0; i < moments; i++)
        sorted->first[i + 1] += sorted->first[i];
    next = require_memory(malloc((moments + 1) * sizeof *next));
    memcpy(next, sorted->first, (moments + 1) * sizeof *next);
    for (uint32_t i = 0; i < replay->life_count; i++) {
        const struct memory_life *life = &replay->lives[i];
        uint32_t class = classes->class_of_place[place_of_life(view->places, life)];

        sorted->changes[next[life->born]++] = (struct life_change){class, life->bytes};
        if (life->died != LIFE_NEVER)
            sorted->changes[next[life->died]++] = (struct life_change){class, -life->bytes};
    }
    free(next);
}

/* What is reserved is one line more than the stack of classes: it is a bound around them, not
 * a part of the sum, hence `summed_count` leaves it out. */
static struct timeline_series *snapshot_timeline_add_series(struct results *results,
                                                            struct timeline *timeline,
                                                            const struct place_classes *classes)
{
    size_t count = classes->count + (size_t)1;
    const char **keys = results_allocate(results, count * sizeof *keys);
    const char **titles = results_allocate(results, count * sizeof *titles);

    for (uint32_t i = 0; i < classes->count; i++) {
        keys[i] = classes->classes[i].key;
        titles[i] = classes->classes[i].title;
    }
    keys[classes->count] = "reserved";
    titles[classes->count] = "reserved by the allocator";
    return timeline_add_series(results, timeline,
                               &(struct timeline_series){.key = "memory",
                                                         .title = "allocated",
                                                         .unit = "bytes",
                                                         .is_stacked = true,
                                                         .line_keys = keys,
                                                         .line_titles = titles,
                                                         .line_count = count,
                                                         .summed_count = classes->count});
}

static void fill_series(struct results *results, struct timeline *timeline,
                        const struct snapshot_view *view, const struct place_classes *classes)
{
    const struct snapshot_replay *replay = view->replay;
    struct series_thinner thinner = {.end_ns = timeline->duration_ns};
    struct life_changes sorted = {0};
    double values[PLACES_SHOWN + 2] = {0};
    int64_t time_ns = 0;

    thinner.series = snapshot_timeline_add_series(results, timeline, classes);
    snapshot_timeline_sort_changes(&sorted, view, classes);
    for (uint32_t moment = 0; moment <= replay->event_count; moment++) {
        int64_t moment_ns = moment_time_ns(replay, moment);

        for (size_t i = sorted.first[moment]; i < sorted.first[moment + 1]; i++)
            values[sorted.changes[i].class] += (double)sorted.changes[i].bytes;
        values[classes->count] = (double)replay->reserved_bytes[moment];
        time_ns = moment_ns > time_ns ? moment_ns : time_ns; /* a clock that was set back */
        series_thinner_take(&thinner, time_ns, values);
    }
    free(sorted.first);
    free(sorted.changes);
}

/* ---- annotations ---- */

static uint32_t count_annotations(const struct snapshot_view *view)
{
    const uint32_t *of_moment = view->owners->annotation_of_moment;
    uint32_t count = 0;

    for (uint32_t i = 0; of_moment && i <= view->replay->event_count; i++)
        count += of_moment[i] && (i == 0 || of_moment[i] != of_moment[i - 1]);
    return count;
}

/* Names and labels of a timeline: each label has the name of the same index. */
struct label_list {
    const char **names; /* [count]; the first is "" */
    struct timeline_label *labels;
    uint32_t count;
};

static struct label_list new_labels(struct results *results, size_t capacity)
{
    struct label_list list = {
        .names = results_allocate(results, (capacity + 1) * sizeof *list.names),
        .labels = results_allocate(results, (capacity + 1) * sizeof *list.labels),
        .count = 1,
    };

    list.names[0] = "";
    return list;
}

static uint32_t add_label(struct label_list *list, const char *name, uint32_t class)
{
    list->names[list->count] = name;
    list->labels[list->count] = (struct timeline_label){.name = list->count, .class = class};
    return list->count++;
}

/* Clocks of a snapshot may repeat or go back: a length below zero is drawn as none. */
static struct timeline_block block_between(const struct snapshot_replay *replay, uint32_t first,
                                           uint32_t last)
{
    int64_t start_ns = moment_time_ns(replay, first);
    int64_t length_ns = moment_time_ns(replay, last) - start_ns;

    return (struct timeline_block){.start_ns = start_ns,
                                   .duration_ns = length_ns > 0 ? length_ns : 0,
                                   .filled_ns = length_ns > 0 ? length_ns : 0,
                                   .launch_delay_ns = TIMELINE_NO_LAUNCH,
                                   .count = 1};
}

static struct timeline_lane *snapshot_timeline_add_lane(struct timeline *timeline,
                                                        enum timeline_lane_kind kind,
                                                        const char *title)
{
    struct timeline_lane *lane = &timeline->lanes[timeline->lane_count++];

    *lane = (struct timeline_lane){.kind = kind, .title = title};
    return lane;
}

/* Moments of one annotation in a row are one block. */
static void add_annotations(struct results *results, struct timeline *timeline,
                            const struct snapshot_view *view, struct label_list *labels)
{
    const struct snapshot_replay *replay = view->replay;
    const uint32_t *of_moment = view->owners->annotation_of_moment;
    uint32_t count = count_annotations(view);
    struct timeline_lane *lane;
    struct timeline_row *row;

    if (count == 0 || count > BLOCKS_MAX)
        return;
    lane = snapshot_timeline_add_lane(timeline, TIMELINE_RANGES, "annotations");
    row = lane->rows = results_allocate(results, sizeof *lane->rows);
    lane->row_count = 1;
    row->blocks = results_allocate(results, count * sizeof *row->blocks);
    for (uint32_t first = 0, last; first <= replay->event_count; first = last) {
        uint32_t end;

        for (last = first + 1; last <= replay->event_count && of_moment[last] == of_moment[first];)
            last++;
        end = last <= replay->event_count ? last : replay->event_count;
        if (!of_moment[first])
            continue;
        row->blocks[row->count] = block_between(replay, first, end);
        row->blocks[row->count++].label =
            add_label(labels, results_text(results, owner_name(view->owners, of_moment[first])),
                      timeline->class_count > 0 ? (uint32_t)timeline->class_count - 1 : 0);
    }
    lane->event_count = (int64_t)row->count;
}

/* ---- the largest allocations ---- */

/* The least size of those that are drawn: about BLOCKS_MAX of the largest. By powers of two: a
 * count for each, from the largest down, while they fit. It is coarse, and needs no sort. */
static int64_t least_drawn(const struct snapshot_replay *replay)
{
    uint32_t of_bits[65] = {0};
    uint32_t count = 0;
    int bits = 63;

    for (uint32_t i = 0; i < replay->life_count; i++)
        if (replay->lives[i].bytes > 0)
            of_bits[64 - __builtin_clzll((unsigned long long)replay->lives[i].bytes)]++;
    while (bits > 1 && count + of_bits[bits] <= BLOCKS_MAX)
        count += of_bits[bits--];
    return (int64_t)1 << bits;
}

/* Rows of allocations: each lies in the first one that is free for as long as it lives. */
struct row_search {
    const struct snapshot_replay *replay;
    uint8_t *row_of;                /* [life_count] */
    uint32_t free_from[BLOCK_ROWS]; /* moments */
    uint32_t counts[BLOCK_ROWS];
    int64_t least_bytes;
    int64_t hidden;
    uint32_t earlier; /* lives from here on are from before the trace, and come first in time */
};

/* First fit: lives come in the order of their births, so a row is free where its last one has
 * died. */
static void find_row(struct row_search *search, uint32_t index, uint8_t row_count)
{
    const struct memory_life *life = &search->replay->lives[index];
    uint8_t row = 0;

    search->row_of[index] = NO_ROW;
    if (life->bytes < search->least_bytes || (life->born == 0 && life->died == LIFE_NEVER))
        return; /* one that lives all the time is no event */
    while (row < row_count && search->free_from[row] > life->born)
        row++;
    if (row == row_count) {
        search->hidden++;
        return;
    }
    search->free_from[row] = life->died;
    search->counts[row]++;
    search->row_of[index] = row;
}

/* Those from before the trace are first in time and last in the list; they get the first rows
 * only, so that they do not fill the picture. */
static void find_rows(struct row_search *search)
{
    const struct snapshot_replay *replay = search->replay;

    search->earlier = replay->life_count;
    while (search->earlier > 0 && replay->lives[search->earlier - 1].born == 0)
        search->earlier--;
    for (uint32_t i = search->earlier; i < replay->life_count; i++)
        find_row(search, i, EARLIER_ROWS);
    for (uint32_t i = 0; i < search->earlier; i++)
        find_row(search, i, BLOCK_ROWS);
}

/* Drawing of allocations: rows were found, blocks and labels are to be made. */
struct drawing {
    struct results *results;
    const struct snapshot_view *view;
    const struct place_classes *classes;
    const struct row_search *search;
    struct label_list *labels;
    struct hash_map known; /* from place and size to label */
};

/* Allocations of one place and size share a label, of which a loop makes thousands. */
static uint32_t label_of_life(struct drawing *drawing, const struct memory_life *life)
{
    uint32_t place = place_of_life(drawing->view->places, life);
    uint64_t key = (uint64_t)place << 40 ^ (uint64_t)life->bytes;
    uint32_t label = hash_map_add(&drawing->known, key, drawing->labels->count);

    if (label < drawing->labels->count)
        return label;
    return add_label(drawing->labels,
                     results_format(drawing->results, "%s  %s", format_bytes(life->bytes).text,
                                    place_label(drawing->results, drawing->view->places, place)),
                     drawing->classes->class_of_place[place]);
}

/* What was never freed lasts to the end of the trace. A life without a row was too small to be
 * drawn and is counted by the search. */
static void draw_life(struct drawing *drawing, struct timeline_lane *lane, uint32_t index)
{
    const struct snapshot_replay *replay = drawing->view->replay;
    const struct memory_life *life = &replay->lives[index];
    uint32_t last = life->died == LIFE_NEVER ? replay->event_count : life->died;
    struct timeline_row *row;

    if (drawing->search->row_of[index] == NO_ROW)
        return;
    row = &lane->rows[drawing->search->row_of[index]];
    row->blocks[row->count] = block_between(replay, life->born, last);
    row->blocks[row->count++].label = label_of_life(drawing, life);
    lane->event_count++;
}

/* Each row's blocks are allocated once, by the counts of the search before, so that drawing
 * only fills them. Lives from before the trace are last in the list and first in time: drawn
 * first, so that the blocks of a row stand in the order of time. */
static void add_allocations(struct results *results, struct timeline *timeline,
                            const struct snapshot_view *view, const struct place_classes *classes,
                            struct label_list *labels)
{
    struct row_search search = {.replay = view->replay, .least_bytes = least_drawn(view->replay)};
    struct drawing drawing = {
        .results = results, .view = view, .classes = classes, .search = &search, .labels = labels};
    struct timeline_lane *lane;

    search.row_of = require_memory(malloc((size_t)view->replay->life_count + 1));
    find_rows(&search);
    lane = snapshot_timeline_add_lane(timeline, TIMELINE_ALLOCATIONS,
                                      results_format(results, "allocations of %s and more",
                                                     format_bytes(search.least_bytes).text));
    lane->hidden_count = search.hidden;
    lane->rows = results_allocate(results, BLOCK_ROWS * sizeof *lane->rows);
    while (lane->row_count < BLOCK_ROWS && search.counts[lane->row_count] > 0) {
        lane->rows[lane->row_count].blocks =
            results_allocate(results, search.counts[lane->row_count] * sizeof *lane->rows->blocks);
        lane->row_count++;
    }
    for (uint32_t i = search.earlier; i < view->replay->life_count; i++)
        draw_life(&drawing, lane, i);
    for (uint32_t i = 0; i < search.earlier; i++)
        draw_life(&drawing, lane, i);
    hash_map_clear(&drawing.known);
    free(search.row_of);
}

/* ---- all of it ---- */

static void set_labels(struct timeline *timeline, const struct label_list *labels)
{
    timeline->names = labels->names;
    timeline->name_count = labels->count;
    timeline->labels = labels->labels;
    timeline->label_count = labels->count;
    for (size_t i = 0; i < timeline->lane_count; i++)
        timeline->event_count += timeline->lanes[i].event_count;
    timeline->block_count = timeline->event_count;
}

/* Without time between its events (one event, or a clock that stands) there is nothing to
 * draw. */
struct timeline *make_snapshot_timeline(struct results *results, const struct snapshot_view *view)
{
    static const char *const no_texts[] = {""};
    int64_t duration_ns = moment_time_ns(view->replay, view->replay->event_count);
    struct timeline *timeline;
    struct place_classes classes;
    struct label_list labels;

    if (duration_ns <= 0)
        return NULL;
    timeline = results_allocate(results, sizeof *timeline);
    classes = classes_of_places(results, view, view->replay->peak_moment);
    labels = new_labels(results, 2 * (size_t)BLOCKS_MAX + BLOCKS_MAX);
    *timeline = (struct timeline){.duration_ns = duration_ns,
                                  .modules = no_texts,
                                  .module_count = 1,
                                  .classes = classes.classes,
                                  .class_count = classes.count,
                                  .step_word = "step"};
    timeline->lanes = results_allocate(results, 2 * sizeof *timeline->lanes);
    timeline->regions = results_allocate(results, sizeof *timeline->regions);
    timeline->regions[0] = (struct timeline_region){.end_ns = duration_ns + 1};
    timeline->region_count = 1;
    add_annotations(results, timeline, view, &labels);
    add_allocations(results, timeline, view, &classes, &labels);
    set_labels(timeline, &labels);
    fill_series(results, timeline, view, &classes);
    return timeline;
}
