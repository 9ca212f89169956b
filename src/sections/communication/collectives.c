/* Which collectives run, how large are they, and how fast? */
#include "base/core/hash_map.h"
#include "base/core/saturated.h"
#include "ledger/collective_call.h"
#include "output/results/metrics.h"
#include "sections/analysis.h"
#include "sections/chosen_events.h"
#include "sections/tally.h"
#include "trace/recorder_words.h"

#include <inttypes.h>
#include <stdlib.h>

/* Collectives of one kind, group size and element type, and of about one size. */
struct collective_group {
    struct collective_call call; /* elements: not used */
    struct tally tally;
    int64_t bytes; /* -1: not known */
};

struct collective_groups {
    struct collective_group *groups;
    uint32_t count;
    struct hash_map by_key;
    struct tally all;
};

/* Sizes of one power of two share a row: buckets differ in a few bytes, and a row for each
 * would hide what they have in common. */
static void add_collective(struct collective_groups *groups, const struct trace *trace,
                           uint32_t index)
{
    struct collective_call call = describe_collective(trace, index);
    int64_t bytes = collective_bytes(&call);
    uint32_t kind = (uint32_t)call.kind | (uint32_t)(call.element_type + 1) << 8 |
                    message_size_class(bytes) << 16;
    uint32_t group_size =
        call.group_size > 0 && call.group_size < UINT32_MAX ? (uint32_t)call.group_size : 0;
    uint32_t key = hash_map_add(&groups->by_key, pair_key(kind, group_size), groups->count);
    struct collective_group *group = &groups->groups[key];

    if (key == groups->count) {
        groups->count++;
        *group = (struct collective_group){.call = call, .bytes = bytes < 0 ? -1 : 0};
    }
    tally_add(&group->tally, trace->device[index].duration_ns);
    tally_add(&groups->all, trace->device[index].duration_ns);
    if (bytes >= 0)
        group->bytes = saturated_sum(group->bytes, bytes);
}

/* Counted first, so that the groups are allocated once: there cannot be more of them than
 * communication kernels. */
static void collectives_collect(struct collective_groups *groups,
                                const struct analysis_input *input)
{
    const struct trace *trace = input->trace;
    struct step_finder finder = {.ledger = input->ledger};
    uint32_t kernels = 0;

    for (uint32_t i = 0; i < trace->device_count; i++)
        kernels += input->ledger->classes[i] == KERNEL_COMMUNICATION;
    groups->groups = zeroed_array(kernels, sizeof *groups->groups);
    for (uint32_t i = 0; i < trace->device_count; i++)
        if (input->ledger->classes[i] == KERNEL_COMMUNICATION &&
            is_chosen_device_event(&finder, trace, i))
            add_collective(groups, trace, i);
}

#define BY_KIND_COLUMNS(COLUMN)                                                                    \
    COLUMN("collective", "collective", UNIT_TEXT, 0, BAR_NONE,                                     \
           value_text(collective_kind_title(call->kind)))                                          \
    COLUMN("group_size", "ranks", UNIT_COUNT, 1, BAR_NONE,                                         \
           call->group_size > 0 ? value_count(call->group_size) : value_not_known(no_group))       \
    COLUMN("element_type", "type", UNIT_TEXT, 3, BAR_NONE,                                         \
           call->element_type >= 0 ? value_text(element_type_title(call->element_type))            \
                                   : value_not_known(words->element_type))                         \
    COLUMN(METRIC_KEY(COLLECTIVE_COUNT), METRIC_TITLE(COLLECTIVE_COUNT),                           \
           METRIC_UNIT(COLLECTIVE_COUNT), 0, BAR_NONE, value_count(group->tally.count))            \
    COLUMN("message", "message", UNIT_BYTES, 0, BAR_NONE,                                          \
           group->bytes >= 0 ? value_bytes(group->bytes / group->tally.count)                      \
                             : value_not_known(no_size))                                           \
    COLUMN("bytes", "bytes", UNIT_BYTES, 3, BAR_NONE,                                              \
           group->bytes >= 0 ? value_bytes(group->bytes) : value_not_known(no_size))               \
    COLUMN(METRIC_KEY(COLLECTIVE_TIME), METRIC_TITLE(COLLECTIVE_TIME),                             \
           METRIC_UNIT(COLLECTIVE_TIME), 0, BAR_NONE, value_time_ns(group->tally.total_ns))        \
    COLUMN("share", "of this time", UNIT_FRACTION, 4, BAR,                                         \
           value_fraction(fraction_of(group->tally.total_ns, all_ns)))                             \
    COLUMN("mean", "mean", UNIT_TIME_NS, 2, BAR_NONE, value_time_ns(tally_mean_ns(&group->tally))) \
    COLUMN("min", "min", UNIT_TIME_NS, 5, BAR_NONE, value_time_ns(group->tally.min_ns))            \
    COLUMN("max", "max", UNIT_TIME_NS, 4, BAR_NONE, value_time_ns(group->tally.max_ns))            \
    COLUMN("algorithm_bandwidth", "algorithm bw", UNIT_BYTES_PER_SECOND, 2, BAR_NONE,              \
           is_sized ? value_bytes_per_second(rate) : value_not_known(no_size))                     \
    COLUMN("bus_bandwidth", "bus bw", UNIT_BYTES_PER_SECOND, 1, BAR_NONE,                          \
           (call->kind != COLLECTIVE_BARRIER && call->kind != COLLECTIVE_OTHER)                    \
               ? !is_sized                              ? value_not_known(no_size)                 \
                 : needs_group && call->group_size <= 0 ? value_not_known(no_group)                \
                                                        : value_bytes_per_second(rate * factor)    \
               : value_none())                                                                     \
    COLUMN(METRIC_KEY(COLLECTIVE_KIND), METRIC_TITLE(COLLECTIVE_KIND),                             \
           METRIC_UNIT(COLLECTIVE_KIND), PRIORITY_FOR_PROGRAMS, BAR_NONE,                          \
           value_text(collective_kind_key(call->kind)))

/* Bus bandwidth is defined as in nccl-tests (doc/PERFORMANCE.md): algorithm bandwidth times
 * what each link carries, such as 2(n-1)/n for an all-reduce; so it compares with the
 * hardware's. Kinds whose factor hangs on n need the group's size. */
static void collectives_fill_row(struct value *cells, const struct collective_group *group,
                                 int64_t all_ns, const struct recorder_words *words)
{
    const char *no_size = words->message_size;
    const char *no_group = words->group_size;
    const struct collective_call *call = &group->call;
    double factor = collective_bus_factor(call->kind, call->group_size);
    bool is_sized = group->bytes >= 0 && group->tally.total_ns > 0;
    double rate = is_sized ? (double)group->bytes * 1e9 / (double)group->tally.total_ns : 0;
    bool needs_group = /* some kinds move each byte once, whatever the group */
        collective_bus_factor(call->kind, 2) != collective_bus_factor(call->kind, 3);

    FILL_ROW(cells, BY_KIND_COLUMNS);
}

/* Sizes of one power of two share a row: variable batches would give each call its own. */
static void collectives_add_table(struct results *results, struct section *section,
                                  const struct analysis_input *input,
                                  const struct collective_groups *groups)
{
    struct table *table = section_add_table(
        results, section, "by_kind", "Collectives by kind and size", COLUMNS_OF(BY_KIND_COLUMNS));
    struct sorted_row *rows = zeroed_array(groups->count, sizeof *rows);
    size_t shown = rows_to_show(input->options, groups->count);

    table->note =
        "A kernel's time includes waiting for ranks that come late, so that the bandwidths are "
        "lower bounds: give "
        "the traces of several ranks to compare. message: the larger of input and output; sizes "
        "of one power of "
        "two share a row.";
    table->rows_in_all = groups->count;
    for (uint32_t i = 0; i < groups->count; i++)
        rows[i] = (struct sorted_row){.tally = groups->groups[i].tally,
                                      .name = collective_kind_title(groups->groups[i].call.kind),
                                      .group = i};
    sort_rows(rows, groups->count, input->options->sort);
    for (size_t i = 0; i < shown; i++)
        collectives_fill_row(table_add_row(results, table, 0), &groups->groups[rows[i].group],
                             groups->all.total_ns, recorder_words_for(input->trace));
    free(rows);
}

static bool has_collectives(const struct analysis_input *input)
{
    return has_chosen_event(input->trace, input->ledger, UINT32_MAX, 1U << KERNEL_COMMUNICATION);
}

/* No section without collectives, which nearly all traces of one rank are. */
static struct section *list_collectives(struct results *results, const struct analysis_input *input)
{
    struct collective_groups groups = {0};
    struct section *section = NULL;

    collectives_collect(&groups, input);
    if (groups.count > 0) {
        section = section_new(results, "collectives", "Collectives",
                              chosen_events_text(results, input->ledger));
        section_add_value(results, section, "count", "communication kernels",
                          value_count(groups.all.count));
        section_add_value(results, section, "total", "their time, summed",
                          value_time_ns(groups.all.total_ns));
        collectives_add_table(results, section, input, &groups);
    }
    free(groups.groups);
    hash_map_clear(&groups.by_key);
    return section;
}

const struct analysis collectives_analysis = {
    .name = "collectives",
    .summary = "Which collectives run, how large are they, and how fast?",
    .run = list_collectives,
    .has_section = has_collectives,
};
