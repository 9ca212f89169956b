/* The timeline of a trace, for reports that can draw one. */
#include "base/core/arena.h"
#include "base/core/array.h"
#include "base/core/attributes.h"
#include "base/core/hash_map.h"
#include "base/core/hash_mix.h"
#include "base/core/invariant.h"
#include "cost/modules/module_tree.h"
#include "ledger/step_outliers.h"
#include "output/results/results.h"
#include "output/results/timeline.h"
#include "sections/analysis.h"
#include "sections/timeline/timeline_parts.h"
#include "sections/timeline/timeline_walk.h"
#include "trace/trace.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ---- rows ------------------------------------------------------------------------------------ */

/* The blocks of a timeline: pieces in order of time, short ones merged where the plan says so. */

enum { TIMELINE_CLASSES_IN_ALL_MAX = 96, LABELS_SEEN = 1024 };

/* Short pieces of one row that become one block. */
struct merged_pieces {
    int64_t bucket;
    int64_t start_ns;
    int64_t end_ns;
    int64_t filled_ns;
    int64_t class_ns[TIMELINE_CLASSES_IN_ALL_MAX]; /* zeroed but for `classes` */
    uint8_t classes[TIMELINE_CLASSES_IN_ALL_MAX];  /* [class_count]: of the pieces */
    uint32_t class_count;
    struct timeline_piece first;
    uint32_t count;
    bool is_of_one_name; /* all have the name, module and class of the first */
};

/* A row while it grows. */
struct growing_row {
    struct packed_row blocks;
    int64_t event_count;
    size_t region; /* of the last piece */
    struct merged_pieces merged;
};

/* What a label was made of, and 1 + where it is in the labels; 0: nothing yet. */
struct seen_label {
    uint64_t name_and_module; /* as in a piece */
    uint32_t class;
    uint32_t label;
};

/* A list of texts, each once. */
struct text_list {
    const char **texts; /* [count]; the first is "" */
    uint32_t *index_of; /* by id; 0: not yet in the list */
    size_t count;
    size_t bytes;
};

struct timeline_rows {
    struct results *results;
    const struct trace *trace;
    const struct module_tree *tree;
    const uint32_t *lane_of_track;         /* where a launch call is drawn; NO_EVENT: nowhere */
    int64_t start_ns;                      /* of the timeline */
    const struct timeline_region *regions; /* on the trace's own clock */
    size_t region_count;
    const size_t *first_row; /* [lane_count]: of each lane, in rows */
    struct growing_row *rows;
    size_t row_count;
    struct text_list names;
    struct text_list modules;
    struct hash_map label_of;
    struct seen_label seen[LABELS_SEEN]; /* by a few bits of what it was made of */
    struct timeline_label *labels;
    size_t label_count;
    int64_t room; /* blocks that may still be added; negative: there were more */
};

/* A longer name is cut, and beyond so many bytes of names no more are kept. */
enum { NAME_BYTES_MAX = 200, NAMES_BYTES_MAX = 1 << 20 };

static const char cut_mark[] = "...";
static const char no_name[] = "(name left out)";

static void text_list_init(struct text_list *list, size_t ids)
{
    *list = (struct text_list){0};
    list->index_of = require_memory(calloc(ids + 1, sizeof *list->index_of));
    ARRAY_ADD(list->texts, list->count, "");
}

static void text_list_clear(struct text_list *list)
{
    free(list->texts);
    free(list->index_of);
    *list = (struct text_list){0};
}

/* C++ templates make names of kernels of some thousand bytes. The cut goes back to the first
 * byte of a character (bytes 10xxxxxx continue one in UTF-8): half a character is no valid
 * text, and a page with it would not be either. */
static const char *shortened(struct results *results, const char *text)
{
    size_t length = strlen(text);
    char *copy;

    if (length <= NAME_BYTES_MAX)
        return results_text(results, text);
    length = NAME_BYTES_MAX;
    while (length > 0 && ((unsigned char)text[length] & 0xc0) == 0x80)
        length--; /* not inside a character */
    copy = results_allocate(results, length + sizeof cut_mark);
    memcpy(copy, text, length);
    memcpy(copy + length, cut_mark, sizeof cut_mark);
    return copy;
}

/* By id, not by comparing text: equal texts have one id in a trace. Once a megabyte of names
 * is kept, further ones share one text; the page stays small whatever was recorded. */
static uint32_t text_index(struct text_list *list, struct results *results, uint32_t id,
                           const char *text)
{
    if (list->index_of[id])
        return list->index_of[id];
    ARRAY_ROOM(list->texts, list->count);
    if (list->bytes > NAMES_BYTES_MAX)
        list->texts[list->count] = no_name;
    else
        list->texts[list->count] = shortened(results, text);
    list->bytes += strlen(list->texts[list->count]);
    list->index_of[id] = (uint32_t)list->count;
    return (uint32_t)list->count++;
}

/* The key is exact: 7 bits hold every class (TIMELINE_CLASSES_IN_ALL_MAX). */
static uint32_t label_index(struct timeline_rows *rows, const struct timeline_label *label)
{
    uint64_t key = pair_key(label->name, (label->module << 7) | label->class);
    uint32_t index = hash_map_add(&rows->label_of, key, (uint32_t)rows->label_count);

    if (index == rows->label_count)
        ARRAY_ADD(rows->labels, rows->label_count, *label);
    return index;
}

static uint32_t new_label_of_piece(struct timeline_rows *rows, const struct timeline_piece *piece)
{
    struct timeline_label label = {.class = piece->class};

    if (piece->name)
        label.name = text_index(&rows->names, rows->results, piece->name,
                                trace_text(rows->trace, piece->name));
    if (piece->module != NO_MODULE)
        label.module = text_index(&rows->modules, rows->results, piece->module,
                                  rows->tree->modules[piece->module].name);
    return label_index(rows, &label);
}

/* Called for each block, and blocks that follow each other have mostly labels seen a moment
 * before: a small table at a few bits of the hash answers these without the map. */
ALWAYS_INLINE uint32_t label_of_piece(struct timeline_rows *rows,
                                      const struct timeline_piece *piece)
{
    uint64_t key = pair_key(piece->name, piece->module);
    uint64_t hash = (key ^ piece->class) * HASH_MULTIPLIER;
    struct seen_label *seen = &rows->seen[(hash >> 32) % LABELS_SEEN];

    if (!seen->label || seen->name_and_module != key || seen->class != piece->class)
        *seen = (struct seen_label){key, piece->class, 1 + new_label_of_piece(rows, piece)};
    return seen->label - 1;
}

/* Beyond the budget of blocks nothing more is kept: the caller sees that room fell below zero,
 * and draws by a plan instead. */
ALWAYS_INLINE void timeline_rows_append(struct timeline_rows *rows, struct growing_row *row,
                                        const struct timeline_block *block)
{
    if (--rows->room < 0)
        return; /* there were more */
    timeline_pack(&row->blocks, block);
    row->event_count += block->count;
}

/* A launch after its kernel's start is clocks that do not agree: no arrow goes back in time. In
 * line, for where a trace is drawn in full this is all that is done with a piece. */
ALWAYS_INLINE void append_piece(struct timeline_rows *rows, struct growing_row *row,
                                const struct timeline_piece *piece)
{
    struct timeline_block block = {.start_ns = piece->start_ns - rows->start_ns,
                                   .duration_ns = piece->duration_ns,
                                   .filled_ns = piece->duration_ns,
                                   .launch_delay_ns = TIMELINE_NO_LAUNCH,
                                   .label = label_of_piece(rows, piece),
                                   .count = 1};

    if (piece->launch != NO_EVENT) {
        const struct event *launch = &rows->trace->host[piece->launch];
        uint32_t lane = rows->lane_of_track[launch->track];

        if (lane != NO_EVENT && launch->start_ns <= piece->start_ns) {
            block.launch_delay_ns = piece->start_ns - launch->start_ns;
            block.launch_lane = lane;
        }
    }
    timeline_rows_append(rows, row, &block);
}

/* That which fills most; of several the first piece's, else the first in the order of classes. */
static uint32_t main_class(const struct merged_pieces *merged)
{
    uint32_t best = merged->first.class;

    for (uint32_t i = 0; i < merged->class_count; i++) {
        uint32_t class = merged->classes[i];
        int64_t more_ns = merged->class_ns[class] - merged->class_ns[best];

        if (more_ns > 0 || (more_ns == 0 && best != merged->first.class && class < best))
            best = class;
    }
    return best;
}

/* A single piece stays itself; several that are too short to see become one block, of the
 * class that takes most of their time. Only the sums of classes that were met are cleared:
 * there are far more classes than a block has pieces. */
static void flush(struct timeline_rows *rows, struct growing_row *row)
{
    struct merged_pieces *merged = &row->merged;

    if (merged->count == 1) {
        append_piece(rows, row, &merged->first);
    } else if (merged->count > 1) {
        struct timeline_block block = {
            .start_ns = merged->start_ns - rows->start_ns,
            .duration_ns = merged->end_ns - merged->start_ns,
            .filled_ns = merged->filled_ns,
            .launch_delay_ns = TIMELINE_NO_LAUNCH,
            .count = merged->count,
            .label = merged->is_of_one_name
                         ? label_of_piece(rows, &merged->first)
                         : label_index(rows, &(struct timeline_label){.class = main_class(merged)}),
        };

        timeline_rows_append(rows, row, &block);
    }
    for (uint32_t i = 0; i < merged->class_count; i++)
        merged->class_ns[merged->classes[i]] = 0;
    merged->class_count = 0;
    merged->filled_ns = 0;
    merged->count = 0;
}

/* Filled time is kept beside the duration: ten kernels of 1 µs spread over 1 ms are drawn as a
 * block that is 1 % full. */
static void timeline_rows_merge(struct merged_pieces *merged, const struct timeline_piece *piece)
{
    int64_t end_ns = piece->start_ns + piece->duration_ns;

    if (merged->count == 0) {
        merged->first = *piece;
        merged->start_ns = piece->start_ns;
        merged->end_ns = end_ns;
        merged->is_of_one_name = true;
    }
    if (piece->name != merged->first.name || piece->module != merged->first.module ||
        piece->class != merged->first.class)
        merged->is_of_one_name = false;
    if (end_ns > merged->end_ns)
        merged->end_ns = end_ns;
    merged->filled_ns += piece->duration_ns;
    if (merged->class_ns[piece->class] == 0 && piece->duration_ns > 0)
        merged->classes[merged->class_count++] = (uint8_t)piece->class;
    merged->class_ns[piece->class] += piece->duration_ns;
    merged->count++;
}

/* Of the fields above, `results` to `row_count` are set (but for `rows`), the rest zeroed. */
static void timeline_rows_init(struct timeline_rows *rows)
{
    rows->rows = require_memory(calloc(rows->row_count + 1, sizeof *rows->rows));
    text_list_init(&rows->names, string_pool_count(&rows->trace->strings));
    text_list_init(&rows->modules, rows->tree->count);
}

/* A piece_sink's take; `context` is the rows. Relies on pieces of a row coming by start: then
 * regions, buckets and blocks only go forward, and one open merge for each row is enough.
 * Buckets are places in time, not runs of short pieces, so that one makes at most one merged
 * block between two long ones, as the plan counted. */
static void timeline_rows_take(void *context, const struct timeline_piece *piece)
{
    struct timeline_rows *rows = context;
    struct growing_row *row = &rows->rows[rows->first_row[piece->lane] + piece->row];
    int64_t resolution_ns;
    int64_t bucket;

    if (rows->room < 0)
        return;
    while (row->region + 1 < rows->region_count &&
           piece->start_ns >= rows->regions[row->region].end_ns) {
        if (row->merged.count)
            flush(rows, row);
        row->region++;
    }
    resolution_ns = rows->regions[row->region].resolution_ns;
    if (piece->duration_ns >= resolution_ns) {
        if (row->merged.count)
            flush(rows, row);
        append_piece(rows, row, piece);
        return;
    }
    bucket = (piece->start_ns - rows->start_ns) / resolution_ns;
    if (row->merged.count && row->merged.bucket != bucket)
        flush(rows, row);
    timeline_rows_merge(&row->merged, piece);
    row->merged.bucket = bucket;
}

/* The same where no piece is merged. */
ALWAYS_INLINE void timeline_rows_take_in_full(void *context, const struct timeline_piece *piece)
{
    struct timeline_rows *rows = context;

    append_piece(rows, &rows->rows[rows->first_row[piece->lane] + piece->row], piece);
}

static void *moved(struct results *results, const void *list, size_t bytes)
{
    void *copy = results_allocate(results, bytes + 1);

    if (bytes)
        memcpy(copy, list, bytes);
    return copy;
}

/* A row is most of a timeline: it is handed on, not copied. */
static void move_row(struct timeline_rows *rows, struct growing_row *from, struct timeline_row *to)
{
    struct bytes *packed = &from->blocks.bytes;

    *to = (struct timeline_row){.count = from->blocks.count, .packed_bytes = packed->length};
    if (packed->length) {
        to->packed = array_resize(packed->bytes, packed->length, 1);
        arena_give(rows->results->arena, to->packed);
    }
    *from = (struct growing_row){0};
}

/* Merges what is still open and moves blocks, labels and names into `timeline`, whose lanes have
 * their row counts. */
static void timeline_rows_finish(struct timeline_rows *rows, struct timeline *timeline)
{
    struct results *results = rows->results;

    for (size_t i = 0; i < rows->row_count; i++)
        flush(rows, &rows->rows[i]);
    for (size_t i = 0; i < timeline->lane_count; i++) {
        struct timeline_lane *lane = &timeline->lanes[i];

        lane->rows = results_allocate(results, lane->row_count * sizeof *lane->rows + 1);
        for (size_t j = 0; j < lane->row_count; j++) {
            struct growing_row *row = &rows->rows[rows->first_row[i] + j];

            timeline->block_count += (int64_t)row->blocks.count;
            lane->event_count += row->event_count;
            move_row(rows, row, &lane->rows[j]);
        }
        timeline->event_count += lane->event_count;
    }
    timeline->names = moved(results, rows->names.texts, rows->names.count * sizeof(char *));
    timeline->name_count = rows->names.count;
    timeline->modules = moved(results, rows->modules.texts, rows->modules.count * sizeof(char *));
    timeline->module_count = rows->modules.count;
    timeline->labels = moved(results, rows->labels, rows->label_count * sizeof *rows->labels);
    timeline->label_count = rows->label_count;
}

static void timeline_rows_clear(struct timeline_rows *rows)
{
    for (size_t i = 0; rows->rows && i < rows->row_count; i++)
        bytes_clear(&rows->rows[i].blocks.bytes);
    free(rows->rows);
    free(rows->labels);
    hash_map_clear(&rows->label_of);
    text_list_clear(&rows->names);
    text_list_clear(&rows->modules);
}

/* ---- make timeline --------------------------------------------------------------------------- */

/* What a timeline is made of, while it is made. */
struct making {
    struct results *results;
    const struct analysis_input *input;
    struct timeline_lanes lanes;
    struct timeline_counts counts;
    size_t *first_row; /* [lanes.count] */
    size_t row_count;
    struct timeline_region *regions; /* on the trace's own clock */
    size_t region_count;
    uint32_t *favourites; /* [step_count] at most */
    size_t favourite_count;
    uint32_t typical_step;
};

/* What the profiler does itself may begin long before all else, and counts for nothing here. */
static bool reports_the_run(const struct event *event)
{
    return event->kind != EVENT_HOST_OTHER && event->kind != EVENT_OVERHEAD;
}

/* From the first event to the end of the last, the steps included. */
static void make_timeline_find_span(struct making *making)
{
    const struct trace *trace = making->input->trace;
    const struct ledger *ledger = making->input->ledger;
    int64_t start_ns = ledger->steps[0].window.start_ns;
    int64_t end_ns = ledger->steps[ledger->step_count - 1].window.end_ns;

    for (uint32_t i = 0; i < trace->host_count; i++) {
        const struct event *event = &trace->host[i];

        if (!reports_the_run(event))
            continue;
        start_ns = event->start_ns < start_ns ? event->start_ns : start_ns;
        end_ns = event_end_ns(event) > end_ns ? event_end_ns(event) : end_ns;
    }
    for (uint32_t i = 0; i < trace->device_count; i++) {
        const struct event *event = &trace->device[i];

        start_ns = event->start_ns < start_ns ? event->start_ns : start_ns;
        end_ns = event_end_ns(event) > end_ns ? event_end_ns(event) : end_ns;
    }
    making->counts.start_ns = start_ns;
    making->counts.end_ns = end_ns;
}

static void number_rows(struct making *making)
{
    making->first_row = require_memory(calloc(making->lanes.count + 1, sizeof *making->first_row));
    for (size_t i = 0; i < making->lanes.count; i++) {
        making->first_row[i] = making->row_count;
        making->row_count += making->lanes.lanes[i].row_count;
    }
}

static void count_piece(void *context, const struct timeline_piece *piece)
{
    struct making *making = context;

    timeline_counts_add(&making->counts, (uint32_t)making->first_row[piece->lane] + piece->row,
                        piece);
}

/* ---- the steps to show in full ---- */

static void add_favourite(struct making *making, bool *is_chosen, uint32_t step)
{
    if (is_chosen[step])
        return;
    is_chosen[step] = true;
    making->favourites[making->favourite_count++] = step;
}

static void add_steps_of_advice(struct making *making, bool *is_chosen,
                                const struct rank_results *rank)
{
    const struct ledger *ledger = making->input->ledger;

    for (size_t i = 0; rank && i < rank->section_count; i++) {
        const struct section *section = rank->sections[i];

        for (size_t j = 0; j < section->finding_count; j++) {
            const struct advice_estimate *estimate = section->findings[j].estimate;

            /* more than a few are no special ones */
            for (size_t k = 0; estimate && estimate->step_count <= 3 && k < estimate->step_count;
                 k++)
                for (uint32_t step = 0; step < ledger->step_count; step++)
                    if (ledger->steps[step].window.number == estimate->steps[k])
                        add_favourite(making, is_chosen, step);
        }
    }
}

/* In the order of what is worth showing in full, since the plan takes them as long as they
 * fit; each once. */
static void choose_favourites(struct making *making, const struct rank_results *rank)
{
    const struct ledger *ledger = making->input->ledger;
    struct step_spread spread = measure_step_spread(ledger);
    bool *is_chosen = require_memory(calloc((size_t)ledger->step_count + 1, sizeof *is_chosen));

    making->favourites =
        require_memory(calloc((size_t)ledger->step_count + 1, sizeof *making->favourites));
    making->typical_step = typical_step(&spread, ledger->step_count);
    add_favourite(making, is_chosen, making->typical_step);
    add_steps_of_advice(making, is_chosen, rank);
    for (uint32_t i = 0; i < ledger->step_count; i++)
        if (spread.steps[i].is_outlier)
            add_favourite(making, is_chosen, i);
    for (uint32_t i = 0; i < ledger->step_count; i++)
        add_favourite(making, is_chosen, i);
    free(is_chosen);
    free(spread.steps);
}

/* ---- what is handed to the reports ---- */

/* Times count from the start of the timeline, not from the clock's zero: a chart's numbers
 * stay small enough for doubles of a browser to hold them exactly. */
static void set_steps(const struct making *making, struct timeline *timeline)
{
    const struct ledger *ledger = making->input->ledger;
    struct step_spread spread = measure_step_spread(ledger);

    timeline->steps = results_allocate(making->results,
                                       (ledger->step_count + (size_t)1) * sizeof *timeline->steps);
    timeline->step_count = ledger->step_count;
    for (uint32_t i = 0; i < ledger->step_count; i++) {
        const struct step_window *window = &ledger->steps[i].window;

        timeline->steps[i] =
            (struct timeline_step){.number = window->number,
                                   .start_ns = window->start_ns - making->counts.start_ns,
                                   .end_ns = window->end_ns - making->counts.start_ns,
                                   .is_outlier = spread.steps[i].is_outlier,
                                   .is_typical = i == making->typical_step};
    }
    free(spread.steps);
}

/* Times of the page count from the beginning of the drawn span: small numbers, and exact in a
 * browser's doubles. */
static void set_regions(const struct making *making, struct timeline *timeline)
{
    timeline->regions =
        results_allocate(making->results, (making->region_count + 1) * sizeof *timeline->regions);
    timeline->region_count = making->region_count;
    for (size_t i = 0; i < making->region_count; i++) {
        timeline->regions[i] = making->regions[i];
        timeline->regions[i].start_ns -= making->counts.start_ns;
        timeline->regions[i].end_ns -= making->counts.start_ns;
    }
}

/* Titles are made here once and copied into the results, which outlive the trace. */
static void set_lanes(struct making *making, struct timeline *timeline)
{
    struct timeline_lanes *lanes = &making->lanes;

    timeline->lanes =
        results_allocate(making->results, (lanes->count + 1) * sizeof *timeline->lanes);
    timeline->lane_count = lanes->count;
    for (size_t i = 0; i < lanes->count; i++)
        timeline->lanes[i] = (struct timeline_lane){
            .kind = lanes->lanes[i].kind,
            .title = timeline_lane_title(making->results, lanes, &lanes->lanes[i]),
            .row_count = lanes->lanes[i].row_count,
            .hidden_count = lanes->lanes[i].hidden_count,
        };
}

/* A block of a single event mostly takes so many bytes. */
enum { BLOCK_BYTES = 6 };

/* False where there would be more than `blocks_max` of them. */
static bool make_timeline_fill_rows(struct making *making, struct timeline *timeline,
                                    int64_t blocks_max)
{
    struct timeline_rows rows = {
        .results = making->results,
        .trace = making->input->trace,
        .tree = &making->input->costs->tree,
        .lane_of_track = making->lanes.lane_of_track,
        .start_ns = making->counts.start_ns,
        .regions = making->regions,
        .region_count = making->region_count,
        .first_row = making->first_row,
        .row_count = making->row_count,
        .room = blocks_max,
    };
    bool is_in_full = making->region_count == 1 && making->regions[0].resolution_ns == 0;
    struct piece_sink sink = {.take = timeline_rows_take, .context = &rows};
    bool is_filled;

    timeline_rows_init(&rows);
    for (size_t i = 0; i < making->lanes.count; i++) {
        for (uint32_t j = 0; j < making->lanes.lanes[i].row_count; j++)
            rows.rows[rows.first_row[i] + j].blocks.has_launches =
                making->lanes.lanes[i].kind == TIMELINE_STREAM;
        if (is_in_full) /* else it is not known how many blocks there will be */
            bytes_reserve(&rows.rows[rows.first_row[i]].blocks.bytes,
                          BLOCK_BYTES * timeline_lane_pieces(&making->lanes, (uint32_t)i));
    }
    if (is_in_full)
        walk_lanes(&making->lanes, timeline_rows_take_in_full, &rows);
    else
        timeline_lanes_walk(&making->lanes, &sink);
    is_filled = rows.room >= 0;
    if (is_filled) {
        set_lanes(making, timeline);
        timeline_rows_finish(&rows, timeline);
    }
    timeline_rows_clear(&rows);
    return is_filled;
}

/* NULL where it would hold more than `blocks_max` blocks. */
static struct timeline *fill_timeline(struct making *making, int64_t blocks_max)
{
    struct timeline *timeline = results_allocate(making->results, sizeof *timeline);

    *timeline = (struct timeline){
        .base_ns = making->counts.start_ns,
        .duration_ns = making->counts.end_ns - making->counts.start_ns,
        .left_out_tracks = making->lanes.left_out_tracks,
        .left_out_events = making->lanes.left_out_events,
        .step_word = step_word(making->input->ledger),
    };
    timeline->classes = timeline_classes(making->results, &timeline->class_count);
    require_invariant(timeline->class_count <= TIMELINE_CLASSES_IN_ALL_MAX,
                      "merged pieces have room for all classes");
    if (!make_timeline_fill_rows(making, timeline, blocks_max))
        return NULL;
    set_steps(making, timeline);
    set_regions(making, timeline);
    timeline_add_counters(making->results, timeline, making->input->trace, making->counts.start_ns);
    return timeline;
}

/* The whole in every event; NULL where that is more than `block_budget` blocks, or looks so.
 * Half of the pieces, since module marks and deep frames are no blocks; if it was a wrong guess,
 * the walk ends early, at the first block too many. */
static struct timeline *fill_in_full(struct making *making, int64_t block_budget)
{
    const struct trace *trace = making->input->trace;
    int64_t pieces =
        (int64_t)trace->host_count + trace->device_count + (int64_t)making->lanes.accounts->count;

    if (pieces / 2 > block_budget)
        return NULL;
    making->regions = require_memory(calloc(1, sizeof *making->regions));
    making->regions[0] = (struct timeline_region){.start_ns = making->counts.start_ns,
                                                  .end_ns = making->counts.end_ns + 1};
    making->region_count = 1;
    return fill_timeline(making, block_budget);
}

/* What would be in it is counted first. */
static struct timeline *fill_as_planned(struct making *making, int64_t block_budget)
{
    struct piece_sink counter = {.take = count_piece, .context = making};

    free(making->regions);
    timeline_lanes_walk(&making->lanes, &counter);
    making->regions = plan_timeline(&making->counts, block_budget, making->favourites,
                                    making->favourite_count, &making->region_count);
    return fill_timeline(making, INT64_MAX);
}

static void making_clear(struct making *making)
{
    timeline_lanes_clear(&making->lanes);
    timeline_counts_clear(&making->counts);
    free(making->first_row);
    free(making->regions);
    free(making->favourites);
}

/* First all events as they are; only where they are more than the budget are they thinned by a
 * plan. */
struct timeline *make_timeline(struct results *results, const struct analysis_input *input,
                               const struct rank_results *rank, int64_t block_budget)
{
    struct making making = {
        .results = results,
        .input = input,
        .lanes = {.trace = input->trace, .ledger = input->ledger, .costs = input->costs},
        .counts = {.finder = {.ledger = input->ledger}}};
    struct timeline *timeline;

    if (input->ledger->step_count == 0)
        return NULL;
    make_timeline_find_span(&making);
    timeline_lanes_find(&making.lanes);
    number_rows(&making);
    choose_favourites(&making, rank);
    timeline = fill_in_full(&making, block_budget);
    if (!timeline)
        timeline = fill_as_planned(&making, block_budget);
    timeline_add_path(results, timeline, input, making.lanes.lane_of_track);
    making_clear(&making);
    return timeline;
}
