/* A map of the memory that an allocator has reserved. */
#include "sections/memory/snapshot_map.h"

#include "base/core/invariant.h"
#include "sections/memory/snapshot_timeline.h"

#include <stdlib.h>

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

/* Short neighbours of one label become one block. False where `block` stands for itself. */
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
