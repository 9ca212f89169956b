/* How much communication and copying hides behind compute? */
#include "output/results/metrics.h"
#include "sections/analysis.h"
#include "sections/chosen_events.h"
#include "sections/tally.h"

/* Union times of one or all steps. */
struct overlap_times {
    int64_t step_ns;
    int64_t compute_ns;
    int64_t communication_ns;
    int64_t hidden_communication_ns;
    int64_t copy_ns;        /* copies and memsets */
    int64_t hidden_copy_ns; /* ... while a kernel of any kind runs */
};

/* By union, not by sum: two streams that compute at once count once. Of each stretch the mask
 * says which kinds run; a stretch is in at most one term of each figure. */
static void overlap_add_interval(struct overlap_times *times, uint32_t mask, int64_t length_ns)
{
    const uint32_t communication = 1u << KERNEL_COMMUNICATION;
    const uint32_t copies = 1u << KERNEL_COPY | 1u << KERNEL_MEMSET | 1u << LEDGER_DATA_COPY;
    uint32_t compute = mask & ledger_compute_mask();

    if (compute)
        times->compute_ns += length_ns;
    if (mask & communication) {
        times->communication_ns += length_ns;
        if (compute)
            times->hidden_communication_ns += length_ns;
    }
    if (mask & copies) {
        times->copy_ns += length_ns;
        if (compute || (mask & communication))
            times->hidden_copy_ns += length_ns;
    }
}

/* Steps come in order, so the cursor only moves on: O(steps log + changes) over all of them. */
static struct overlap_times measure_step(const struct ledger *ledger,
                                         const struct step_window *window, size_t *cursor)
{
    const struct class_timeline *timeline = &ledger->timeline;
    struct overlap_times times = {.step_ns = window->end_ns - window->start_ns};
    size_t i = class_timeline_at(timeline, window->start_ns, *cursor);

    if (i == SIZE_MAX)
        i = 0;
    *cursor = i;
    for (; i + 1 < timeline->count && timeline_start_ns(timeline, i) < window->end_ns; i++) {
        int64_t start_ns = timeline_start_ns(timeline, i),
                end_ns = timeline_start_ns(timeline, i + 1);

        if (start_ns < window->start_ns)
            start_ns = window->start_ns;
        if (end_ns > window->end_ns)
            end_ns = window->end_ns;
        if (end_ns > start_ns)
            overlap_add_interval(&times, timeline_mask(timeline, i), end_ns - start_ns);
    }
    return times;
}

static void overlap_add_times(struct overlap_times *sum, const struct overlap_times *step)
{
    sum->step_ns += step->step_ns;
    sum->compute_ns += step->compute_ns;
    sum->communication_ns += step->communication_ns;
    sum->hidden_communication_ns += step->hidden_communication_ns;
    sum->copy_ns += step->copy_ns;
    sum->hidden_copy_ns += step->hidden_copy_ns;
}

/* A kind of work that does not occur gets no rows: a fraction of nothing hidden is no figure,
 * and "0 %" would read like a fault. */
static void overlap_add_numbers(struct results *results, struct section *section,
                                const struct overlap_times *all)
{
    section_add_number(
        results, section,
        (struct number){"compute", "compute", value_time_ns(all->compute_ns), "all steps"});
    if (all->communication_ns > 0) {
        const struct number numbers[] = {
            {"communication", "communication", value_time_ns(all->communication_ns), "all steps"},
            {"hidden_communication", "hidden behind compute",
             value_time_ns(all->hidden_communication_ns), NULL},
            {"exposed_communication", "exposed",
             value_time_ns(all->communication_ns - all->hidden_communication_ns), NULL},
            {METRIC_NAMES(COMMUNICATION_HIDDEN),
             value_fraction(fraction_of(all->hidden_communication_ns, all->communication_ns)),
             "of the communication is hidden"},
        };

        for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
            section_add_number(results, section, numbers[i]);
    }
    if (all->copy_ns > 0) {
        section_add_number(results, section,
                           (struct number){"copies", "copies and memsets",
                                           value_time_ns(all->copy_ns), "all steps"});
        section_add_number(
            results, section,
            (struct number){"copy_overlap", "hidden copies",
                            value_fraction(fraction_of(all->hidden_copy_ns, all->copy_ns)),
                            "of their time a kernel runs, too"});
    }
}

#define STEPS_COLUMNS(COLUMN)                                                                     \
    COLUMN(METRIC_KEY(STEP), METRIC_TITLE(STEP), METRIC_UNIT(STEP), 0, BAR_NONE,                  \
           value_count(window->number))                                                           \
    COLUMN("compute", "compute", UNIT_TIME_NS, 1, BAR_NONE, value_time_ns(step->compute_ns))      \
    COLUMN(METRIC_KEY(STEP_COMMUNICATION), METRIC_TITLE(STEP_COMMUNICATION),                      \
           METRIC_UNIT(STEP_COMMUNICATION), 0, BAR_NONE, value_time_ns(step->communication_ns))   \
    COLUMN(METRIC_KEY(STEP_EXPOSED_COMMUNICATION), METRIC_TITLE(STEP_EXPOSED_COMMUNICATION),      \
           METRIC_UNIT(STEP_EXPOSED_COMMUNICATION), 0, BAR_NONE, value_time_ns(exposed_ns))       \
    COLUMN("exposed_share", "of the step", UNIT_FRACTION, 1, BAR_NONE,                            \
           value_fraction(fraction_of(exposed_ns, step->step_ns)))                                \
    COLUMN(METRIC_KEY(STEP_COMMUNICATION_HIDDEN), METRIC_TITLE(STEP_COMMUNICATION_HIDDEN),        \
           METRIC_UNIT(STEP_COMMUNICATION_HIDDEN), 0, BAR,                                        \
           step->communication_ns > 0 ? value_fraction(fraction_of(step->hidden_communication_ns, \
                                                                   step->communication_ns))       \
                                      : value_none())                                             \
    COLUMN("copies", "copies", UNIT_TIME_NS, 2, BAR_NONE, value_time_ns(step->copy_ns))           \
    COLUMN("hidden_copies", "hidden copies", UNIT_TIME_NS, 3, BAR_NONE,                           \
           value_time_ns(step->hidden_copy_ns))

static void overlap_fill_row(struct value *cells, const struct step_window *window,
                             const struct overlap_times *step)
{
    int64_t exposed_ns = step->communication_ns - step->hidden_communication_ns;

    FILL_ROW(cells, STEPS_COLUMNS);
}

static struct table *overlap_add_table(struct results *results, struct section *section)
{
    return section_add_table(results, section, "steps", "Overlap by step",
                             COLUMNS_OF(STEPS_COLUMNS));
}

/* Asked before the section is made; the first step that has any is answer enough. */
static bool has_overlap(const struct analysis_input *input)
{
    const struct ledger *ledger = input->ledger;
    size_t cursor = 0;

    for (uint32_t i = 0; i < ledger->step_count && !ledger->is_cpu_only; i++) {
        struct overlap_times step = measure_step(ledger, &ledger->steps[i].window, &cursor);

        if (step.communication_ns > 0 || step.copy_ns > 0)
            return true;
    }
    return false;
}

/* Measured twice, first for the sums, which tell whether there is a section at all, then for
 * the rows: the walk is cheap beside keeping the steps. */
static struct section *measure_overlap(struct results *results, const struct analysis_input *input)
{
    const struct ledger *ledger = input->ledger;
    struct overlap_times all = {0};
    struct section *section;
    struct table *table = NULL;
    size_t cursor = 0;

    for (uint32_t i = 0; i < ledger->step_count; i++) {
        struct overlap_times step = measure_step(ledger, &ledger->steps[i].window, &cursor);

        overlap_add_times(&all, &step);
    }
    if (ledger->is_cpu_only || all.communication_ns + all.copy_ns == 0)
        return NULL;
    section = section_new(
        results, "overlap", "Overlap of communication and copies with compute",
        "Times in which at least one such kernel runs, on whatever stream; clipped to the steps.");
    overlap_add_numbers(results, section, &all);
    cursor = 0;
    for (uint32_t i = 0; i < ledger->step_count && all.communication_ns > 0; i++) {
        struct overlap_times step = measure_step(ledger, &ledger->steps[i].window, &cursor);

        if (i == 0)
            table = overlap_add_table(results, section);
        /* Every step is measured, shown or not: the cursor goes on from one to the next. */
        if (i < rows_to_show(input->options, ledger->step_count))
            overlap_fill_row(table_add_row(results, table, 0), &ledger->steps[i].window, &step);
    }
    if (table)
        table->rows_in_all = ledger->step_count;
    return section;
}

const struct analysis overlap_analysis = {
    .name = "overlap",
    .summary = "How much communication and copying hides behind compute?",
    .run = measure_overlap,
    .has_section = has_overlap,
};
