/* The timeline of a trace, for reports that can draw one. */
#include "base/core/array.h"
#include "base/core/hash_map.h"
#include "base/core/hash_mix.h"
#include "base/core/invariant.h"
#include "cost/modules/module_tree.h"
#include "critical_path/steps_path.h"
#include "ledger/step_outliers.h"
#include "output/results/results.h"
#include "output/results/timeline.h"
#include "sections/analysis.h"
#include "sections/timeline/timeline_parts.h"
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
    int64_t class_ns[TIMELINE_CLASSES_IN_ALL_MAX];
    struct timeline_piece first;
    uint32_t count;
    bool is_of_one_name; /* all have the name, module and class of the first */
};

/* A row while it grows. */
struct growing_row {
    struct timeline_block *blocks; /* [count] */
    size_t count;
    size_t region; /* of the last piece */
    struct merged_pieces merged;
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
    uint32_t seen[LABELS_SEEN]; /* by a few bits of a label: 1 + where it is in `labels`, or 0 */
    struct timeline_label *labels;
    size_t label_count;
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

static uint32_t label_index(struct timeline_rows *rows, const struct timeline_label *label)
{
    uint64_t key = pair_key(label->name, (label->module << 7) | label->class);
    uint32_t *seen = &rows->seen[(key * HASH_MULTIPLIER >> 32) % LABELS_SEEN];
    const struct timeline_label *last = *seen ? &rows->labels[*seen - 1] : NULL;

    if (last && last->name == label->name && last->module == label->module &&
        last->class == label->class)
        return *seen - 1;
    *seen = 1 + hash_map_add(&rows->label_of, key, (uint32_t)rows->label_count);
    if (*seen > rows->label_count)
        ARRAY_ADD(rows->labels, rows->label_count, *label);
    return *seen - 1;
}

static uint32_t label_of_piece(struct timeline_rows *rows, const struct timeline_piece *piece)
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

static void timeline_rows_append(struct growing_row *row, const struct timeline_block *block)
{
    ARRAY_ADD(row->blocks, row->count, *block);
}

static void append_piece(struct timeline_rows *rows, struct growing_row *row,
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
    timeline_rows_append(row, &block);
}

static uint32_t main_class(const struct merged_pieces *merged)
{
    uint32_t best = merged->first.class;

    for (uint32_t class = 0; class < TIMELINE_CLASSES_IN_ALL_MAX; class ++)
        if (merged->class_ns[class] > merged->class_ns[best])
            best = class;
    return best;
}

static void flush(struct timeline_rows *rows, struct growing_row *row)
{
    struct merged_pieces *merged = &row->merged;
    struct timeline_block block;

    if (merged->count == 0)
        return;
    if (merged->count == 1) {
        append_piece(rows, row, &merged->first);
    } else {
        block = (struct timeline_block){
            .start_ns = merged->start_ns - rows->start_ns,
            .duration_ns = merged->end_ns - merged->start_ns,
            .filled_ns = merged->filled_ns,
            .launch_delay_ns = TIMELINE_NO_LAUNCH,
            .count = merged->count,
            .label = merged->is_of_one_name
                         ? label_of_piece(rows, &merged->first)
                         : label_index(rows, &(struct timeline_label){.class = main_class(merged)}),
        };
        timeline_rows_append(row, &block);
    }
    *merged = (struct merged_pieces){0};
}

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

/* A piece_sink's take; `context` is the rows. */
static void timeline_rows_take(void *context, const struct timeline_piece *piece)
{
    struct timeline_rows *rows = context;
    struct growing_row *row = &rows->rows[rows->first_row[piece->lane] + piece->row];
    int64_t resolution_ns;
    int64_t bucket;

    while (row->region + 1 < rows->region_count &&
           piece->start_ns >= rows->regions[row->region].end_ns) {
        flush(rows, row);
        row->region++;
    }
    resolution_ns = rows->regions[row->region].resolution_ns;
    if (piece->duration_ns >= resolution_ns) {
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

static void *moved(struct results *results, const void *list, size_t bytes)
{
    void *copy = results_allocate(results, bytes + 1);

    if (bytes)
        memcpy(copy, list, bytes);
    return copy;
}

static void move_row(struct timeline_rows *rows, struct growing_row *from, struct timeline_row *to)
{
    to->count = from->count;
    to->blocks = moved(rows->results, from->blocks, from->count * sizeof *from->blocks);
    free(from->blocks);
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
            move_row(rows, &rows->rows[rows->first_row[i] + j], &lane->rows[j]);
            timeline->block_count += (int64_t)lane->rows[j].count;
        }
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
        free(rows->rows[i].blocks);
    free(rows->rows);
    free(rows->labels);
    hash_map_clear(&rows->label_of);
    text_list_clear(&rows->names);
    text_list_clear(&rows->modules);
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

/* Adds the links of the path in the typical one of the steps that it was followed through, short
 * ones of one lane merged where there are many. `lane_of_track`: NO_EVENT where a track is not
 * drawn. Adds nothing where the trace has no path. */
static void timeline_add_path(struct results *results, struct timeline *timeline,
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

static void count_events(struct timeline *timeline)
{
    for (size_t i = 0; i < timeline->lane_count; i++) {
        struct timeline_lane *lane = &timeline->lanes[i];

        for (size_t j = 0; j < lane->row_count; j++)
            for (size_t k = 0; k < lane->rows[j].count; k++)
                lane->event_count += lane->rows[j].blocks[k].count;
        timeline->event_count += lane->event_count;
    }
}

static void make_timeline_fill_rows(struct making *making, struct timeline *timeline)
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
    };
    struct piece_sink sink = {.take = timeline_rows_take, .context = &rows};

    timeline_rows_init(&rows);
    timeline_lanes_walk(&making->lanes, &sink);
    set_lanes(making, timeline);
    timeline_rows_finish(&rows, timeline);
    timeline_rows_clear(&rows);
}

static struct timeline *fill_timeline(struct making *making)
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
    make_timeline_fill_rows(making, timeline);
    count_events(timeline);
    set_steps(making, timeline);
    set_regions(making, timeline);
    timeline_add_counters(making->results, timeline, making->input->trace, making->counts.start_ns);
    return timeline;
}

static void making_clear(struct making *making)
{
    timeline_lanes_clear(&making->lanes);
    timeline_counts_clear(&making->counts);
    free(making->first_row);
    free(making->regions);
    free(making->favourites);
}

struct timeline *make_timeline(struct results *results, const struct analysis_input *input,
                               const struct rank_results *rank, int64_t block_budget)
{
    struct making making = {
        .results = results,
        .input = input,
        .lanes = {.trace = input->trace, .ledger = input->ledger, .costs = input->costs},
        .counts = {.finder = {.ledger = input->ledger}}};
    struct piece_sink counter = {.take = count_piece, .context = &making};
    struct timeline *timeline;

    if (input->ledger->step_count == 0)
        return NULL;
    make_timeline_find_span(&making);
    timeline_lanes_find(&making.lanes);
    number_rows(&making);
    timeline_lanes_walk(&making.lanes, &counter);
    choose_favourites(&making, rank);
    making.regions = plan_timeline(&making.counts, block_budget, making.favourites,
                                   making.favourite_count, &making.region_count);
    timeline = fill_timeline(&making);
    timeline_add_path(results, timeline, input, making.lanes.lane_of_track);
    making_clear(&making);
    return timeline;
}
