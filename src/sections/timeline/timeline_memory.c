/* The memory of a recorded run over time, by kind. */
#include "sections/timeline/timeline_parts.h"

#include <math.h>

enum { LINE_RESERVED = MEMORY_KIND_COUNT, LINES_MAX = MEMORY_KIND_COUNT + 1 };

/* ---- what is alive ---- */

struct memory_lines {
    const char *keys[LINES_MAX];
    const char *titles[LINES_MAX];
    size_t count;
};

/* The kinds, and on a device whose allocator says so what it reserved. */
static const struct memory_lines *lines_of(struct results *results, const struct memory_view *view)
{
    struct memory_lines *lines = results_allocate(results, sizeof *lines);

    for (int kind = 0; kind < MEMORY_KIND_COUNT; kind++) {
        lines->keys[kind] = memory_kind_key((enum memory_kind)kind);
        lines->titles[kind] = memory_kind_title((enum memory_kind)kind);
    }
    lines->count = MEMORY_KIND_COUNT;
    if (memory_most_reserved(view) > 0) {
        lines->keys[LINE_RESERVED] = "reserved";
        lines->titles[LINE_RESERVED] = "reserved by the allocator";
        lines->count++;
    }
    return lines;
}

/* Reserved bytes as the last event up to a moment told them; NAN before the first. */
struct reserved_walk {
    const struct memory_list *memory;
    int32_t device;
    size_t next;
    double bytes;
};

/* A cursor that only goes forward: changes come by time. */
static double reserved_at(struct reserved_walk *walk, int64_t time_ns)
{
    while (walk->next < walk->memory->count &&
           walk->memory->events[walk->next].time_ns <= time_ns) {
        const struct memory_event *event = &walk->memory->events[walk->next++];

        if (event->device == walk->device && event->reserved_bytes >= 0)
            walk->bytes = (double)event->reserved_bytes;
    }
    return walk->bytes;
}

/* A running sum for each kind: bytes of a kind after each change. Blocks that were there
 * before the recording began have no time and stand at its start. What is reserved is no sum:
 * the allocator told it with each event. */
void timeline_add_memory(struct results *results, struct timeline *timeline,
                         const struct memory_view *view)
{
    const struct memory_blocks *blocks = &view->run->blocks;
    const struct memory_lines *lines = lines_of(results, view);
    struct timeline_series *series = timeline_add_series(
        results, timeline,
        &(struct timeline_series){
            .key = "memory",
            .title = view->device == HOST_MEMORY
                         ? "memory of the host"
                         : results_format(results, "memory of device %d", view->device),
            .unit = "bytes",
            .is_stacked = true,
            .line_keys = lines->keys,
            .line_titles = lines->titles,
            .line_count = lines->count,
            .summed_count = MEMORY_KIND_COUNT});
    struct series_thinner thinner = {.series = series,
                                     .start_ns = timeline->base_ns,
                                     .end_ns = timeline->base_ns + timeline->duration_ns};
    struct reserved_walk reserved = {
        .memory = &view->run->trace->memory, .device = view->device, .bytes = NAN};
    double bytes[LINES_MAX] = {[LINE_RESERVED] = NAN};

    for (uint32_t i = 0; i < blocks->change_count; i++) {
        const struct memory_change *change = &blocks->changes[i];
        const struct memory_block *block = &blocks->blocks[change->block];
        bool is_known;

        if (block->device != view->device)
            continue;
        bytes[block->kind] += (double)(change->is_free ? -block->bytes : block->bytes);
        is_known = change->time_ns != INT64_MIN;
        if (is_known && lines->count > MEMORY_KIND_COUNT)
            bytes[LINE_RESERVED] = reserved_at(&reserved, change->time_ns);
        series_thinner_take(&thinner, is_known ? change->time_ns : timeline->base_ns, bytes);
    }
}

/* ---- a timeline of it alone ---- */

static const struct timeline_class phase_classes[MEMORY_PHASE_COUNT] = {
    [MEMORY_OUTSIDE] = {"phase_outside", "outside", NULL},
    [MEMORY_FORWARD] = {"phase_forward", "forward", NULL},
    [MEMORY_BACKWARD] = {"phase_backward", "backward", NULL},
    [MEMORY_RECOMPUTE] = {"phase_recompute", "recomputed", NULL},
    [MEMORY_OPTIMIZER] = {"phase_optimizer", "optimizer", NULL},
};
static const char *const no_texts[] = {""};

/* First and last moment of the recording: changes, and the steps they lie in. Without a change
 * of known time there is nothing to draw, and the steps alone make no span. */
static bool timeline_memory_find_span(const struct memory_run *run, int64_t *start_ns,
                                      int64_t *end_ns)
{
    *start_ns = INT64_MAX;
    *end_ns = INT64_MIN;
    for (uint32_t i = 0; i < run->blocks.change_count; i++) {
        int64_t time_ns = run->blocks.changes[i].time_ns;

        if (time_ns == INT64_MIN)
            continue;
        *start_ns = time_ns < *start_ns ? time_ns : *start_ns;
        *end_ns = time_ns > *end_ns ? time_ns : *end_ns;
    }
    for (uint32_t i = 0; i < run->step_count && *end_ns != INT64_MIN; i++) {
        *start_ns = run->steps[i].start_ns < *start_ns ? run->steps[i].start_ns : *start_ns;
        *end_ns = run->steps[i].end_ns > *end_ns ? run->steps[i].end_ns : *end_ns;
    }
    return *end_ns > *start_ns;
}

static void timeline_memory_add_block(struct timeline_row *row, int64_t start_ns, int64_t end_ns,
                                      uint32_t phase)
{
    row->blocks[row->count++] = (struct timeline_block){.start_ns = start_ns,
                                                        .duration_ns = end_ns - start_ns,
                                                        .filled_ns = end_ns - start_ns,
                                                        .launch_delay_ns = TIMELINE_NO_LAUNCH,
                                                        .label = phase,
                                                        .count = 1};
}

/* A phase lasts from its first change to the first of another phase. Changes of an unknown time
 * do not start a phase; two changes at one moment leave no block of no length. */
static void fill_phases(struct timeline_row *row, const struct memory_run *run, int64_t base_ns,
                        int64_t end_ns)
{
    enum memory_phase phase = MEMORY_OUTSIDE;
    int64_t since_ns = base_ns;

    for (uint32_t i = 0; i < run->blocks.change_count; i++) {
        int64_t time_ns = run->blocks.changes[i].time_ns;
        enum memory_phase next = memory_phase_at(run, i);

        if (time_ns == INT64_MIN || next == phase)
            continue;
        if (time_ns > since_ns)
            timeline_memory_add_block(row, since_ns - base_ns, time_ns - base_ns, (uint32_t)phase);
        phase = next;
        since_ns = time_ns;
    }
    if (end_ns > since_ns)
        timeline_memory_add_block(row, since_ns - base_ns, end_ns - base_ns, (uint32_t)phase);
}

/* Room for one block more than there are changes of phase, and one for the time before the
 * first: fill_phases skips some and never makes more. */
static uint32_t count_phases(const struct memory_run *run)
{
    uint32_t count = 2;

    for (uint32_t i = 1; i < run->blocks.change_count; i++)
        count += memory_phase_at(run, i) != memory_phase_at(run, i - 1);
    return count;
}

/* One row, as phases of a run follow each other and never overlap. Each label is a phase, so
 * that the number of a phase is its label's too. */
static void add_phase_lane(struct results *results, struct timeline *timeline,
                           const struct memory_run *run)
{
    struct timeline_lane *lane = results_allocate(results, sizeof *lane);
    struct timeline_row *row = results_allocate(results, sizeof *row);
    struct timeline_label *labels = results_allocate(results, MEMORY_PHASE_COUNT * sizeof *labels);

    for (uint32_t phase = 0; phase < MEMORY_PHASE_COUNT; phase++)
        labels[phase] = (struct timeline_label){.class = phase};
    row->blocks = results_allocate(results, count_phases(run) * sizeof *row->blocks);
    fill_phases(row, run, timeline->base_ns, timeline->base_ns + timeline->duration_ns);
    *lane = (struct timeline_lane){.kind = TIMELINE_PHASES,
                                   .title = "phases",
                                   .rows = row,
                                   .row_count = 1,
                                   .event_count = (int64_t)row->count};
    timeline->lanes = lane;
    timeline->lane_count = 1;
    timeline->labels = labels;
    timeline->label_count = MEMORY_PHASE_COUNT;
    timeline->event_count = timeline->block_count = (int64_t)row->count;
}

/* None is marked as an outlier: that is a judgment of the ledger, which a recording of memory
 * does not have. */
static void timeline_memory_add_steps(struct results *results, struct timeline *timeline,
                                      const struct memory_run *run)
{
    timeline->steps =
        results_allocate(results, (run->step_count + (size_t)1) * sizeof *timeline->steps);
    timeline->step_count = run->step_count;
    for (uint32_t i = 0; i < run->step_count; i++)
        timeline->steps[i] =
            (struct timeline_step){.number = run->steps[i].number,
                                   .start_ns = run->steps[i].start_ns - timeline->base_ns,
                                   .end_ns = run->steps[i].end_ns - timeline->base_ns};
}

/* One region of resolution 0: phases are few, so that nothing is merged. */
struct timeline *make_memory_timeline(struct results *results, const struct memory_view *view)
{
    struct timeline *timeline = results_allocate(results, sizeof *timeline);
    int64_t start_ns;
    int64_t end_ns;

    if (!timeline_memory_find_span(view->run, &start_ns, &end_ns))
        return NULL;
    *timeline = (struct timeline){.base_ns = start_ns,
                                  .duration_ns = end_ns - start_ns,
                                  .names = no_texts,
                                  .name_count = 1,
                                  .modules = no_texts,
                                  .module_count = 1,
                                  .classes = phase_classes,
                                  .class_count = MEMORY_PHASE_COUNT,
                                  .step_word = "step"};
    timeline->regions = results_allocate(results, sizeof *timeline->regions);
    timeline->regions[0] = (struct timeline_region){.end_ns = timeline->duration_ns + 1};
    timeline->region_count = 1;
    add_phase_lane(results, timeline, view->run);
    timeline_memory_add_steps(results, timeline, view->run);
    timeline_add_memory(results, timeline, view);
    return timeline;
}
