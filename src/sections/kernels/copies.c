/* What is copied between host and device, how fast, and does it hide behind kernels? */
#include "base/core/apportion.h"
#include "base/core/hash_map.h"
#include "base/core/saturated.h"
#include "base/text/format.h"
#include "ledger/class_timeline.h"
#include "output/results/metrics.h"
#include "sections/analysis.h"
#include "sections/chosen_events.h"
#include "sections/tally.h"

#include <stdlib.h>
#include <string.h>

/* Copies (or memsets) of one name, such as "Memcpy HtoD (Pageable -> Device)". */
struct copy_group {
    struct tally tally;
    uint32_t name;
    int64_t bytes;    /* of the events that tell their size */
    int64_t sized_ns; /* their duration */
    int64_t sized_count;
    int64_t exposed_ns; /* while no kernel runs */
};

struct copy_groups {
    struct copy_group *groups;
    uint32_t count;
    struct hash_map by_name;
    struct free_time without_kernels;
};

static uint32_t kernel_mask(void)
{
    return ledger_compute_mask() | 1u << KERNEL_COMMUNICATION;
}

/* Sizes are summed with the time of those that tell them, so the bandwidth is of the same
 * copies. */
static void copies_add_copy(struct copy_groups *groups, const struct analysis_input *input,
                            const struct event *event)
{
    const struct event_detail *detail = &input->trace->details[event->detail];
    uint32_t group = hash_map_add(&groups->by_name, event->name, groups->count);
    struct copy_group *copy = &groups->groups[group];

    if (group == groups->count) {
        groups->count++;
        *copy = (struct copy_group){.name = event->name};
    }
    tally_add(&copy->tally, event->duration_ns);
    copy->exposed_ns +=
        free_time_between(&groups->without_kernels, event->start_ns, event_end_ns(event));
    if (detail->bytes >= 0 && event->detail != 0) {
        copy->bytes = saturated_sum(copy->bytes, detail->bytes);
        copy->sized_ns = saturated_sum(copy->sized_ns, event->duration_ns);
        copy->sized_count++;
    }
}

/* Strings are few beside events, so a table by the name's number needs no hashing. */
static void copies_collect(struct copy_groups *groups, const struct analysis_input *input)
{
    const struct trace *trace = input->trace;
    struct step_finder finder = {.ledger = input->ledger};

    free_time_init(&groups->without_kernels, &input->ledger->timeline, kernel_mask());
    groups->groups = zeroed_array(string_pool_count(&trace->strings), sizeof *groups->groups);
    for (uint32_t i = 0; i < trace->device_count; i++)
        if (trace->device[i].kind != EVENT_KERNEL && is_chosen_device_event(&finder, trace, i))
            copies_add_copy(groups, input, &trace->device[i]);
}

static void copies_clear(struct copy_groups *groups)
{
    free(groups->groups);
    free_time_clear(&groups->without_kernels);
    hash_map_clear(&groups->by_name);
}

static const char *why_not_sized(const struct copy_group *copy)
{
    return copy->sized_count > 0 ? "needs the size of each of them, which some lack here"
                                 : "needs the sizes, which this trace lacks";
}

#define BY_KIND_COLUMNS(COLUMN)                                                                    \
    COLUMN(METRIC_KEY(COPY_KIND), METRIC_TITLE(COPY_KIND), METRIC_UNIT(COPY_KIND), 0, BAR_NONE,    \
           value_text(results_text(results, trace_text(trace, copy->name))))                       \
    COLUMN("count", "count", UNIT_COUNT, 0, BAR_NONE, value_count(copy->tally.count))              \
    COLUMN(METRIC_KEY(COPY_BYTES), METRIC_TITLE(COPY_BYTES), METRIC_UNIT(COPY_BYTES), 0, BAR_NONE, \
           is_sized ? value_bytes(copy->bytes) : value_not_known(why_not_sized(copy)))             \
    COLUMN(METRIC_KEY(COPY_TIME), METRIC_TITLE(COPY_TIME), METRIC_UNIT(COPY_TIME), 0, BAR_NONE,    \
           value_time_ns(copy->tally.total_ns))                                                    \
    COLUMN("mean", "mean", UNIT_TIME_NS, 2, BAR_NONE, value_time_ns(tally_mean_ns(&copy->tally)))  \
    COLUMN("bandwidth", "bandwidth", UNIT_BYTES_PER_SECOND, 0, BAR_NONE,                           \
           copy->sized_ns > 0                                                                      \
               ? value_bytes_per_second((double)copy->bytes * 1e9 / (double)copy->sized_ns)        \
               : value_not_known(why_not_sized(copy)))                                             \
    COLUMN("exposed", "no kernel beside it", UNIT_TIME_NS, 2, BAR_NONE,                            \
           value_time_ns(copy->exposed_ns))                                                        \
    COLUMN("exposed_share", "exposed", UNIT_FRACTION, 1, BAR,                                      \
           value_fraction(fraction_of(copy->exposed_ns, copy->tally.total_ns)))

static void copies_fill_row(struct results *results, struct value *cells, const struct trace *trace,
                            const struct copy_group *copy)
{
    bool is_sized = copy->sized_count == copy->tally.count;

    FILL_ROW(cells, BY_KIND_COLUMNS);
}

/* Rows are sorted by what the user asked for (--sort) and only point at their group, so that
 * one way of sorting serves every table of kernels, copies and operators. */
static void copies_add_table(struct results *results, struct section *section,
                             const struct analysis_input *input, const struct copy_groups *groups)
{
    struct table *table = section_add_table(results, section, "by_kind", "Copies by kind",
                                            COLUMNS_OF(BY_KIND_COLUMNS));
    struct sorted_row *rows = zeroed_array(groups->count, sizeof *rows);

    for (uint32_t i = 0; i < groups->count; i++)
        rows[i] = (struct sorted_row){.tally = groups->groups[i].tally,
                                      .name = trace_text(input->trace, groups->groups[i].name),
                                      .group = i};
    sort_rows(rows, groups->count, input->options->sort);
    for (uint32_t i = 0; i < groups->count; i++)
        copies_fill_row(results, table_add_row(results, table, 0), input->trace,
                        &groups->groups[rows[i].group]);
    free(rows);
}

static bool has_copies(const struct analysis_input *input)
{
    return has_chosen_event(input->trace, input->ledger, ~(1U << EVENT_KERNEL), UINT32_MAX);
}

/* A run that copies nothing has no section: an empty table would make the reader look for what
 * went wrong. */
static struct section *list_copies(struct results *results, const struct analysis_input *input)
{
    struct copy_groups groups = {0};
    struct section *section = NULL;

    copies_collect(&groups, input);
    if (groups.count > 0) {
        section = section_new(results, "copies", "Copies and memsets",
                              chosen_events_text(results, input->ledger));
        copies_add_table(results, section, input, &groups);
    }
    copies_clear(&groups);
    return section;
}

const struct analysis copies_analysis = {
    .name = "copies",
    .summary = "What is copied between host and device, how fast, and is it hidden?",
    .run = list_copies,
    .has_section = has_copies,
};
