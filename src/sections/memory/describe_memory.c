/* The peak of a recorded run: when it is reached, what it consists of, and how each step compares.
 */
#include "base/text/format.h"
#include "output/results/metrics.h"
#include "sections/memory/memory_sections.h"

#include <stddef.h>
#include <string.h>

enum { TIMELINE_SLICES = 20 };

/* ---- numbers --------------------------------------------------------------------------------- */

/* A block that was there before the recording has no start, no step and no operator: the peak
 * is then said to be older than the trace. */
static void add_place_of_peak(struct results *results, struct section *section,
                              const struct memory_view *view, const struct memory_peak *peak)
{
    const struct memory_run *run = view->run;
    /* The peak is behind this change: the allocation that reached it. */
    uint32_t change = peak->change_count ? peak->change_count - 1 : 0;
    uint32_t step = memory_step_of(run, change);
    const struct memory_block *block =
        peak->block == NO_VALUE ? NULL : &run->blocks.blocks[peak->block];
    const char *op = block ? memory_block_op(run, block) : "";

    if (!block || block->start_ns == INT64_MIN) {
        section_add_value(results, section, "peak_phase", "reached",
                          value_text("before the recording"));
        return;
    }
    if (step == NO_EVENT)
        section_add_value(results, section, "peak_step", "in step",
                          value_not_known("needs marks of steps"));
    else
        section_add_value(results, section, "peak_step", "in step",
                          value_count(run->steps[step].number));
    section_add_value(results, section, "peak_phase", "in its",
                      value_text(memory_phase_title((enum memory_phase)block->phase)));
    if (step != NO_EVENT)
        section_add_value(results, section, "peak_time", "after the start of the step",
                          value_time_ns(block->start_ns - run->steps[step].start_ns));
    section_add_number(
        results, section,
        (struct number){
            "peak_op", "reached by", value_text(results_text(results, *op ? op : "(no op)")),
            results_text(results, memory_module_label(memory_block_module(run, block)))});
}

/* -1: no event of this device tells what is reserved, as on a CPU. */
int64_t memory_most_reserved(const struct memory_view *view)
{
    const struct memory_list *memory = &view->run->trace->memory;
    int64_t most = -1;

    for (size_t i = 0; i < memory->count; i++)
        if (memory->events[i].device == view->device && memory->events[i].reserved_bytes > most)
            most = memory->events[i].reserved_bytes;
    return most;
}

/* The most that marks tell of the view's device by `figure`; -1: they do not. */
static int64_t most_marked(const struct memory_view *view,
                           int64_t (*figure)(const struct marked_device *device))
{
    int64_t most = -1;

    for (uint32_t i = 0; i < view->run->side->mark_count; i++) {
        const struct memory_mark *mark = &view->run->side->marks[i];

        for (uint32_t d = 0; d < mark->device_count; d++)
            if (mark->devices[d].device == view->device && figure(&mark->devices[d]) > most)
                most = figure(&mark->devices[d]);
    }
    return most;
}

static int64_t outside_torch(const struct marked_device *device)
{
    return device->used_bytes < 0 || device->reserved_bytes < 0
               ? -1
               : device->used_bytes - device->reserved_bytes;
}

static int64_t inactive_split(const struct marked_device *device)
{
    return device->inactive_split_bytes;
}

static int64_t allocation_retries(const struct marked_device *device)
{
    return device->allocation_retries;
}

int64_t memory_most_outside_torch(const struct memory_view *view)
{
    return most_marked(view, outside_torch);
}

/* What the allocator keeps and nobody uses is reserve, not demand; outside PyTorch is what the
 * driver says is used less what PyTorch reserved, known at marks only. */
static void add_allocator(struct results *results, struct section *section,
                          const struct memory_view *view, int64_t peak_bytes)
{
    int64_t reserved = memory_most_reserved(view);
    int64_t outside = memory_most_outside_torch(view);
    int64_t stuck = most_marked(view, inactive_split);
    int64_t retries = most_marked(view, allocation_retries);

    if (view->device == HOST_MEMORY) {
        section_add_value(results, section, METRIC_NAMES(MEMORY_RESERVED_PEAK),
                          value_not_known("the host's allocator keeps no reserve"));
        return;
    }
    section_add_value(results, section, METRIC_NAMES(MEMORY_RESERVED_PEAK),
                      reserved < 0 ? value_not_known("needs Total Reserved in the trace")
                                   : value_bytes(reserved));
    /* Not known is -1; less than what lies in it is a fault of the trace. No negative reserve
     * is shown. */
    if (reserved >= peak_bytes)
        section_add_number(results, section,
                           (struct number){"reserved_unused", "of that not in use at the peak",
                                           value_bytes(reserved - peak_bytes),
                                           "blocks that are cached or split (inactive)"});
    if (stuck >= 0)
        section_add_number(
            results, section,
            (struct number){"inactive_split", "inactive split memory (fragmentation), max",
                            value_bytes(stuck), "at the marks; the allocator cannot give it back"});
    /* None is the usual case and not worth a line. */
    if (retries > 0)
        section_add_number(results, section,
                           (struct number){"allocation_retries", "allocation retries",
                                           value_count(retries),
                                           "the allocator gave its reserve back and tried again"});
    section_add_number(results, section,
                       (struct number){"outside_torch", "outside PyTorch, most",
                                       outside < 0
                                           ? value_not_known("needs 'flopledger run --memory'")
                                           : value_bytes(outside),
                                       "the device's context, NCCL, other programs"});
}

/* How much of the activations and gradients has a module's name, or is of the loss. The loss
 * lies outside of any module, so it has no name by right and is told apart. */
static void add_named_share(struct results *results, struct section *section,
                            const struct memory_view *view)
{
    int64_t all = 0;
    int64_t named = 0;
    int64_t loss = 0;
    const char *note = NULL;

    for (uint32_t i = 0; i < view->run->blocks.count; i++) {
        const struct memory_block *block = &view->run->blocks.blocks[i];

        if (block->device != view->device ||
            (block->kind != MEMORY_ACTIVATION && block->kind != MEMORY_GRADIENT))
            continue;
        all += block->bytes;
        named += *memory_block_module(view->run, block) ? block->bytes : 0;
        loss += memory_block_is_of_loss(block) ? block->bytes : 0;
    }
    if (all == 0)
        return;
    if ((double)loss > 0.0005 * (double)all)
        note = results_format(results, "with %s of the loss, outside of the model",
                              format_fraction((double)loss / (double)all).text);
    section_add_number(results, section,
                       (struct number){"named_fraction", "activations and gradients with a module",
                                       value_fraction((double)named / (double)all), note});
}

/* ---- kinds ----------------------------------------------------------------------------------- */

/* The changes made at the last mark of this point in a step; NO_CHANGE where there is none. */
static uint32_t changes_at(const struct memory_run *run, uint32_t step, enum memory_point point)
{
    uint32_t found = NO_CHANGE;

    if (step == NO_EVENT)
        return found;
    for (uint32_t i = 0; i < run->blocks.moment_count; i++) {
        const struct memory_moment *moment = &run->blocks.moments[i];
        const struct memory_mark *mark = &run->side->marks[moment->mark];

        if (mark->point == point && mark->step == run->steps[step].number)
            found = moment->change_count;
    }
    return found;
}

/* What is alive at one of the marks of a step. */
struct alive_at_mark {
    enum memory_point point;
    bool is_known;
    struct memory_sums sums;
};

/* Of one kind; of all where `kind` is MEMORY_KIND_COUNT. */
static struct value alive_at(const struct alive_at_mark *mark, int kind)
{
    if (!mark->is_known)
        return value_not_known("needs 'flopledger run --memory'");
    return value_bytes(kind == MEMORY_KIND_COUNT ? mark->sums.total : mark->sums.bytes[kind]);
}

#define KINDS_COLUMNS(COLUMN)                                                                     \
    COLUMN(METRIC_KEY(MEMORY_KIND), METRIC_TITLE(MEMORY_KIND), METRIC_UNIT(MEMORY_KIND), 0,       \
           BAR_NONE, value_text(is_all ? "total" : memory_kind_title((enum memory_kind)kind)))    \
    COLUMN(METRIC_KEY(MEMORY_AT_PEAK), METRIC_TITLE(MEMORY_AT_PEAK), METRIC_UNIT(MEMORY_AT_PEAK), \
           0, BAR_NONE, value_bytes(bytes))                                                       \
    COLUMN("share", "share", UNIT_FRACTION, 1, BAR,                                               \
           at_peak.total > 0 ? value_fraction((double)bytes / (double)at_peak.total)              \
                             : value_none())                                                      \
    COLUMN("forward_end", "forward end", UNIT_BYTES, 2, BAR_NONE, alive_at(&points[0], kind))     \
    COLUMN("backward_end", "backward end", UNIT_BYTES, 3, BAR_NONE, alive_at(&points[1], kind))   \
    COLUMN("step_end", "step end", UNIT_BYTES, 4, BAR_NONE, alive_at(&points[2], kind))

/* Marks are those of the peak's own step: kinds change from step to step, and the last mark of
 * a point is the one behind all micro-batches. */
static void memory_sections_add_kinds(struct results *results, struct section *section,
                                      const struct memory_view *view,
                                      const struct memory_peak *peak)
{
    uint32_t step = memory_step_of(view->run, peak->change_count ? peak->change_count - 1 : 0);
    struct memory_sums at_peak = memory_alive(view->run, view->device, peak->change_count);
    struct alive_at_mark points[] = {
        {.point = POINT_FORWARD_END}, {.point = POINT_BACKWARD_END}, {.point = POINT_STEP_END}};
    struct table *table = section_add_table(results, section, "kinds", "What is alive, by kind",
                                            COLUMNS_OF(KINDS_COLUMNS));

    for (size_t i = 0; i < sizeof points / sizeof *points; i++) {
        uint32_t changes = changes_at(view->run, step, points[i].point);

        points[i].is_known = changes != NO_CHANGE;
        points[i].sums = memory_alive(view->run, view->device, points[i].is_known ? changes : 0);
    }
    table->note =
        step == NO_EVENT ? NULL : "At the marks: those of the peak's step, the last ones.";
    for (int kind = 0; kind <= MEMORY_KIND_COUNT; kind++) {
        bool is_all = kind == MEMORY_KIND_COUNT;
        int64_t bytes = is_all ? at_peak.total : at_peak.bytes[kind];

        FILL_ROW(table_add_row(results, table, 0), KINDS_COLUMNS);
    }
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* The most alive in each phase of changes [first, last). A phase's peak is the most that was
 * alive while it allocated; the walk begins at the very first change, since what is alive comes
 * from there. Recomputation runs inside the backward, so its peak is the backward's, too. */
static void phase_peaks(const struct memory_view *view, uint32_t first, uint32_t last,
                        int64_t most[MEMORY_PHASE_COUNT])
{
    const struct memory_blocks *blocks = &view->run->blocks;
    int64_t bytes = 0;

    for (int phase = 0; phase < MEMORY_PHASE_COUNT; phase++)
        most[phase] = -1;
    for (uint32_t i = 0; i < last; i++) {
        const struct memory_block *block = &blocks->blocks[blocks->changes[i].block];

        if (block->device != view->device)
            continue;
        bytes += blocks->changes[i].is_free ? -block->bytes : block->bytes;
        if (i >= first && !blocks->changes[i].is_free && bytes > most[block->phase])
            most[block->phase] = bytes;
    }
    if (most[MEMORY_RECOMPUTE] > most[MEMORY_BACKWARD])
        most[MEMORY_BACKWARD] = most[MEMORY_RECOMPUTE];
}

static struct value bytes_or_none(int64_t bytes)
{
    return bytes < 0 ? value_none() : value_bytes(bytes);
}

#define STEPS_COLUMNS(COLUMN)                                                      \
    COLUMN(METRIC_KEY(STEP), METRIC_TITLE(STEP), METRIC_UNIT(STEP), 0, BAR_NONE,   \
           value_count(step->number))                                              \
    COLUMN(METRIC_KEY(STEP_MEMORY_PEAK), METRIC_TITLE(STEP_MEMORY_PEAK),           \
           METRIC_UNIT(STEP_MEMORY_PEAK), 0, BAR_NONE, value_bytes(peak.bytes))    \
    COLUMN("forward", "in the forward", UNIT_BYTES, 1, BAR_NONE,                   \
           bytes_or_none(most[MEMORY_FORWARD]))                                    \
    COLUMN("backward", "in the backward", UNIT_BYTES, 1, BAR_NONE,                 \
           bytes_or_none(most[MEMORY_BACKWARD]))                                   \
    COLUMN("optimizer", "in the optimizer", UNIT_BYTES, 1, BAR_NONE,               \
           bytes_or_none(most[MEMORY_OPTIMIZER]))                                  \
    COLUMN("start", "at its start", UNIT_BYTES, 3, BAR_NONE,                       \
           value_bytes(memory_alive(run, view->device, step->first_change).total)) \
    COLUMN(METRIC_KEY(STEP_MEMORY_END), METRIC_TITLE(STEP_MEMORY_END),             \
           METRIC_UNIT(STEP_MEMORY_END), 2, BAR_NONE,                              \
           value_bytes(memory_alive(run, view->device, step->last_change).total))

static const enum metric metric_of_kind[MEMORY_KIND_COUNT] = {
    [MEMORY_PARAMETER] = METRIC_STEP_MEMORY_PARAMETERS,
    [MEMORY_BUFFER] = METRIC_STEP_MEMORY_BUFFERS,
    [MEMORY_GRADIENT] = METRIC_STEP_MEMORY_GRADIENTS,
    [MEMORY_OPTIMIZER_STATE] = METRIC_STEP_MEMORY_OPTIMIZER_STATE,
    [MEMORY_INPUT] = METRIC_STEP_MEMORY_INPUTS,
    [MEMORY_ACTIVATION] = METRIC_STEP_MEMORY_ACTIVATIONS,
    [MEMORY_TEMPORARY] = METRIC_STEP_MEMORY_TEMPORARIES,
    [MEMORY_OTHER] = METRIC_STEP_MEMORY_OTHER,
};

/* The kinds at the peak, not their own peaks: only what was alive at one moment adds up to it. */
static void memory_sections_add_steps(struct results *results, struct section *section,
                                      const struct memory_view *view)
{
    enum { FIXED = COLUMN_COUNT_OF(STEPS_COLUMNS) };
    struct column columns[FIXED + (int)MEMORY_KIND_COUNT] = {STEPS_COLUMNS(COLUMN_DECLARED)};
    const struct memory_run *run = view->run;
    struct table *table;

    if (run->step_count == 0)
        return;
    for (int kind = 0; kind < MEMORY_KIND_COUNT; kind++)
        /* For programs only: on a page the columns of all kinds would be wider than a
         * terminal. */
        columns[FIXED + kind] = (struct column){
            metric_declarations[metric_of_kind[kind]].key,
            results_format(results, "%s, at the peak", memory_kind_title((enum memory_kind)kind)),
            UNIT_BYTES, PRIORITY_FOR_PROGRAMS, BAR_NONE};
    table = section_add_table(results, section, "steps", "Peak of each step", columns,
                              sizeof columns / sizeof *columns);
    for (uint32_t i = 0; i < run->step_count; i++) {
        const struct memory_step *step = &run->steps[i];
        int64_t most[MEMORY_PHASE_COUNT];
        struct memory_peak peak =
            memory_peak_between(run, view->device, step->first_change, step->last_change);
        struct memory_sums at_peak = memory_alive(run, view->device, peak.change_count);
        struct value *cells = table_add_row(results, table, 0);

        phase_peaks(view, step->first_change, step->last_change, most);
        for (int kind = 0; kind < MEMORY_KIND_COUNT; kind++)
            cells[FIXED + kind] = value_bytes(at_peak.bytes[kind]);
        FILL_ROW(cells, STEPS_COLUMNS);
    }
}

#define TIMELINE_COLUMNS(COLUMN)                                                      \
    COLUMN("time", "from", UNIT_TIME_NS, 0, BAR_NONE,                                 \
           value_time_ns((length_ns / TIMELINE_SLICES) * slice))                      \
    COLUMN("phase", "phase", UNIT_TEXT, 0, BAR_NONE,                                  \
           value_text(memory_phase_title(                                             \
               memory_phase_at(run, most.change_count ? most.change_count - 1 : 0)))) \
    COLUMN("alive", "most alive", UNIT_BYTES, 0, BAR_NONE, value_bytes(most.bytes))   \
    COLUMN("share", "of the peak", UNIT_FRACTION, 1, BAR,                             \
           value_fraction((double)most.bytes / (double)peak->bytes))

/* ---- timeline -------------------------------------------------------------------------------- */

/* Slices of equal time; the last one takes what rounding leaves. */
static void add_timeline(struct results *results, struct section *section,
                         const struct memory_view *view, const struct memory_peak *peak)
{
    const struct memory_run *run = view->run;
    uint32_t index = memory_step_of(run, peak->change_count ? peak->change_count - 1 : 0);
    const struct memory_step *step = index == NO_EVENT ? NULL : &run->steps[index];
    struct table *table;
    uint32_t at;

    if (!step || peak->bytes <= 0 || step->end_ns <= step->start_ns)
        return;
    table = section_add_table(
        results, section, "timeline",
        results_format(results, "Step %lld in slices of time", (long long)step->number),
        COLUMNS_OF(TIMELINE_COLUMNS));
    at = step->first_change;
    for (int64_t slice = 0; slice < TIMELINE_SLICES; slice++) {
        int64_t length_ns = step->end_ns - step->start_ns;
        int64_t end_ns = step->start_ns + (length_ns / TIMELINE_SLICES) * (slice + 1);
        /* A slice without a change still has what was alive through it, which the peak between
         * counts. */
        uint32_t first = at;
        struct memory_peak most;

        while (at < step->last_change &&
               (run->blocks.changes[at].time_ns < end_ns || slice == TIMELINE_SLICES - 1))
            at++;
        most = memory_peak_between(run, view->device, first, at);
        FILL_ROW(table_add_row(results, table, 0), TIMELINE_COLUMNS);
    }
}

/* ---- doubts ---------------------------------------------------------------------------------- */

/* Without marks there is nothing that could disagree with them: the one doubt covers the
 * others. */
static void add_doubts(struct results *results, struct section *section,
                       const struct memory_view *view)
{
    const struct memory_run *run = view->run;
    const struct memory_blocks *blocks = &run->blocks;
    struct finding finding = {.cost_ns = -1, .is_warning = true};

    /* First, as it holds with and without marks. */
    if (run->trace->memory.set_aside > 0) {
        finding.what = results_format(
            results,
            "%lld [memory] events have no address or no possible size, and are in no figure",
            (long long)run->trace->memory.set_aside);
        finding.try_this = "see what wrote the trace";
        section_add_finding(results, section, finding);
    }
    if (run->side->mark_count == 0) {
        finding.what = "no marks of tensors stand beside the trace: what was alive before the "
                       "recording is missing, and kinds are not known";
        finding.try_this = "record with 'flopledger run --memory'";
        section_add_finding(results, section, finding);
        return;
    }
    if (blocks->missing_marks > 0) {
        finding.what = results_format(results, "%lld marks of the side file are not in the trace",
                                      (long long)blocks->missing_marks);
        finding.try_this = "keep a trace and its memory.json together";
        section_add_finding(results, section, finding);
    }
    if (blocks->unseen_frees > 0 && view->device == HOST_MEMORY) {
        finding.is_warning = false;
        finding.what = results_format(
            results,
            "%lld blocks (%lld bytes) from before the recording ended unseen, and count "
            "until the next mark: the first step may show more than there was",
            (long long)blocks->unseen_frees, (long long)blocks->unseen_bytes);
        finding.try_this = "the steps after the first are exact";
        section_add_finding(results, section, finding);
    }
    if (blocks->foreign_bytes > 0) {
        finding.is_warning = false;
        finding.what =
            results_format(results,
                           "%lld bytes of marked tensors lie in memory that torch did not allocate "
                           "(NumPy's, shared or mapped): they are in no figure",
                           (long long)blocks->foreign_bytes);
        finding.try_this = NULL;
        section_add_finding(results, section, finding);
    }
}

/* ---- all ------------------------------------------------------------------------------------- */

/* The sum is told in exact bytes beside the readable one, since it is checked against
 * torch.cuda.max_memory_allocated(). "At the start" is at the first moment that the recorder
 * marked, not before the first change. Doubts come last, as they are about all above. */
struct section *describe_memory_peak(struct results *results, const struct memory_view *view)
{
    const struct memory_run *run = view->run;
    struct memory_peak peak = memory_view_peak(view);
    const char *where = view->device == HOST_MEMORY
                            ? "memory of the host"
                            : results_format(results, "memory of device %d", view->device);
    struct section *section = section_new(
        results, "memory", "Memory",
        results_format(results,
                       "What PyTorch has allocated: %s. Sums are exact to the byte; a block counts "
                       "from its allocation to its release.",
                       where));

    section_add_number(
        results, section,
        (struct number){METRIC_NAMES(MEMORY_PEAK), value_bytes(peak.bytes),
                        results_format(results, "%s bytes", format_count(peak.bytes).text)});
    add_place_of_peak(results, section, view, &peak);
    section_add_value(
        results, section, "at_start", "alive at the start",
        value_bytes(memory_alive(run, view->device,
                                 run->blocks.moment_count ? run->blocks.moments[0].change_count : 0)
                        .total));
    section_add_value(results, section, "at_end", "alive at the end",
                      value_bytes(memory_alive(run, view->device, run->blocks.change_count).total));
    add_allocator(results, section, view, peak.bytes);
    add_named_share(results, section, view);
    memory_sections_add_kinds(results, section, view, &peak);
    memory_sections_add_steps(results, section, view);
    add_timeline(results, section, view, &peak);
    add_doubts(results, section, view);
    return section;
}

void describe_memory(struct results *results, struct rank_results *rank,
                     const struct memory_view *view)
{
    rank_add_section(results, rank, describe_memory_peak(results, view));
    rank_add_section(results, rank, describe_memory_modules(results, view));
    rank_add_section(results, rank, describe_memory_blocks(results, view));
    rank_add_section(results, rank, describe_memory_growth(results, view));
}
