/* The timeline of a trace, for reports that can draw one. */
#include "sections/timeline/make_timeline.h"

#include "base/core/invariant.h"
#include "ledger/step_outliers.h"
#include "sections/timeline/timeline_lanes.h"
#include "sections/timeline/timeline_path.h"
#include "sections/timeline/timeline_plan.h"
#include "sections/timeline/timeline_rows.h"
#include "sections/timeline/timeline_series.h"

#include <stdlib.h>
#include <string.h>

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
