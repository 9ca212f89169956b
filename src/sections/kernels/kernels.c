/* Which kernels take the device's time? By name, and by the kind of work. */
#include "base/core/hash_map.h"
#include "base/core/saturated.h"
#include "cost/efficiency/matrix_calls.h"
#include "output/results/metrics.h"
#include "sections/analysis.h"
#include "sections/chosen_events.h"
#include "sections/tally.h"

#include <stdlib.h>
#include <string.h>

/* All launches of kernels of one name. */
struct kernel_group {
    struct tally tally;
    uint32_t name;
    uint8_t class;
    uint32_t operator_name; /* the commonest launching operator's; 0 = none known */
    uint32_t operator_count;
    double occupancy_ns; /* occupancy (0...1) times duration, summed */
    int64_t known_occupancy_ns;
    int32_t registers;
    int32_t shared_memory_bytes;
};

struct kernel_groups {
    struct kernel_group *groups;
    uint32_t count;
    struct hash_map by_name;
    struct hash_map by_operator; /* (group, operator name) to an index in operator_counts */
    uint32_t *operator_counts;
    struct tally classes[KERNEL_CLASS_COUNT];
    struct tally all;
};

/* The commonest is kept on the way: counts only grow, so whichever is ahead last is the
 * commonest. */
static void count_operator(struct kernel_groups *groups, uint32_t group, const struct trace *trace,
                           uint32_t index)
{
    uint32_t operator_event = trace_operator_of(trace, index);
    uint32_t name = operator_event == NO_EVENT ? 0 : trace->host[operator_event].name;
    uint32_t slot = hash_map_add(&groups->by_operator, pair_key(group, name),
                                 (uint32_t)groups->by_operator.count);
    struct kernel_group *kernel = &groups->groups[group];

    groups->operator_counts[slot]++;
    if (groups->operator_counts[slot] > kernel->operator_count) {
        kernel->operator_count = groups->operator_counts[slot];
        kernel->operator_name = name;
    }
}

/* Occupancy is weighted by time, and only over launches that tell it; registers and shared
 * memory are the largest of any launch, since one name may have several variants. */
static void kernels_add_kernel(struct kernel_groups *groups, const struct trace *trace,
                               uint32_t index, uint8_t class)
{
    const struct event *event = &trace->device[index];
    const struct event_detail *detail = &trace->details[event->detail];
    uint32_t group = hash_map_add(&groups->by_name, event->name, groups->count);
    struct kernel_group *kernel = &groups->groups[group];

    /* The class is that of the first launch; -1 stays where no launch tells registers or
     * memory. */
    if (group == groups->count) {
        groups->count++;
        *kernel = (struct kernel_group){
            .name = event->name, .class = class, .registers = -1, .shared_memory_bytes = -1};
    }
    tally_add(&kernel->tally, event->duration_ns);
    tally_add(&groups->classes[class], event->duration_ns);
    tally_add(&groups->all, event->duration_ns);
    count_operator(groups, group, trace, index);
    if (detail->occupancy_percent >= 0) {
        kernel->occupancy_ns +=
            (double)detail->occupancy_percent / 100.0 * (double)event->duration_ns;
        kernel->known_occupancy_ns = saturated_sum(kernel->known_occupancy_ns, event->duration_ns);
    }
    if (detail->registers_per_thread > kernel->registers)
        kernel->registers = detail->registers_per_thread;
    if (detail->shared_memory_bytes > kernel->shared_memory_bytes)
        kernel->shared_memory_bytes = detail->shared_memory_bytes;
}

/* A kernel is counted in the step in which it begins, and whole. */
static void kernels_collect(struct kernel_groups *groups, const struct analysis_input *input)
{
    const struct trace *trace = input->trace;
    struct step_finder finder = {.ledger = input->ledger};

    groups->groups = zeroed_array(string_pool_count(&trace->strings), sizeof *groups->groups);
    groups->operator_counts = zeroed_array(trace->device_count, sizeof *groups->operator_counts);
    for (uint32_t i = 0; i < trace->device_count; i++)
        if (trace->device[i].kind == EVENT_KERNEL && is_chosen_device_event(&finder, trace, i))
            kernels_add_kernel(groups, trace, i, input->ledger->classes[i]);
}

static void kernels_clear(struct kernel_groups *groups)
{
    free(groups->groups);
    free(groups->operator_counts);
    hash_map_clear(&groups->by_name);
    hash_map_clear(&groups->by_operator);
}

/* By the kernel's name alone. */
static const char *unit_word(enum matrix_unit_use use)
{
    switch (use) {
    case MATRIX_UNIT_USED:
        return "yes";
    case MATRIX_UNIT_NOT_USED:
        return "no";
    case MATRIX_UNIT_NOT_TOLD:
        break;
    }
    return "not told";
}

static const char *account_key_of_class(unsigned class)
{
    return account_descriptions[ledger_account_of_class(class)].key;
}

#define BY_NAME_COLUMNS(COLUMN)                                                                \
    COLUMN("kernel", "kernel", UNIT_TEXT, 0, BAR_NONE,                                         \
           value_text(results_text(results, trace_text(trace, kernel->name))))                 \
    COLUMN("count", "count", UNIT_COUNT, 0, BAR_NONE, value_count(kernel->tally.count))        \
    COLUMN("total", "total", UNIT_TIME_NS, 0, BAR_NONE, value_time_ns(kernel->tally.total_ns)) \
    COLUMN("share", "of kernel time", UNIT_FRACTION, 0, BAR,                                   \
           value_fraction(fraction_of(kernel->tally.total_ns, groups->all.total_ns)))          \
    COLUMN("mean", "mean", UNIT_TIME_NS, 1, BAR_NONE,                                          \
           value_time_ns(tally_mean_ns(&kernel->tally)))                                       \
    COLUMN("min", "min", UNIT_TIME_NS, 4, BAR_NONE, value_time_ns(kernel->tally.min_ns))       \
    COLUMN("max", "max", UNIT_TIME_NS, 3, BAR_NONE, value_time_ns(kernel->tally.max_ns))       \
    COLUMN("class", "class", UNIT_TEXT, 2, BAR_NONE,                                           \
           value_text(kernel_class_title((enum kernel_class)kernel->class)))                   \
    COLUMN("operator", "launched by", UNIT_TEXT, 3, BAR_NONE,                                  \
           kernel->operator_name                                                               \
               ? value_text(results_text(results, trace_text(trace, kernel->operator_name)))   \
               : value_not_known("needs its launch call and operators in the trace"))          \
    COLUMN("occupancy", "occupancy", UNIT_FRACTION, 4, BAR_NONE,                               \
           kernel->known_occupancy_ns > 0                                                      \
               ? value_fraction(kernel->occupancy_ns / (double)kernel->known_occupancy_ns)     \
               : value_not_known("not in this trace"))                                         \
    COLUMN("registers", "registers", UNIT_COUNT, PRIORITY_FOR_PROGRAMS, BAR_NONE,              \
           kernel->registers >= 0 ? value_count(kernel->registers)                             \
                                  : value_not_known("not in this trace"))                      \
    COLUMN("shared_memory", "shared memory", UNIT_BYTES, PRIORITY_FOR_PROGRAMS, BAR_NONE,      \
           kernel->shared_memory_bytes >= 0 ? value_bytes(kernel->shared_memory_bytes)         \
                                            : value_not_known("not in this trace"))            \
    COLUMN("class_key", "class", UNIT_TEXT, PRIORITY_FOR_PROGRAMS, BAR_NONE,                   \
           value_text(kernel_class_key((enum kernel_class)kernel->class)))                     \
    COLUMN("matrix_unit", "on matrix units", UNIT_TEXT, PRIORITY_FOR_PROGRAMS, BAR_NONE,       \
           value_text(unit_word(matrix_unit_of_name(trace_text(trace, kernel->name)))))        \
    COLUMN("account_key", "account", UNIT_TEXT, PRIORITY_FOR_PROGRAMS, BAR_NONE,               \
           value_text(account_key_of_class(kernel->class)))

static void kernels_fill_row(struct results *results, struct value *cells,
                             const struct trace *trace, const struct kernel_groups *groups,
                             const struct kernel_group *kernel)
{
    FILL_ROW(cells, BY_NAME_COLUMNS);
}

/* All groups are sorted, then cut: the order is the user's (--sort), and the rows left out are
 * those at its end. */
static void add_table_by_name(struct results *results, struct section *section,
                              const struct analysis_input *input,
                              const struct kernel_groups *groups)
{
    struct table *table = section_add_table(results, section, "by_name", "Kernels by name",
                                            COLUMNS_OF(BY_NAME_COLUMNS));
    struct sorted_row *rows = zeroed_array(groups->count, sizeof *rows);
    size_t shown = rows_to_show(input->options, groups->count);

    for (uint32_t i = 0; i < groups->count; i++)
        rows[i] = (struct sorted_row){.tally = groups->groups[i].tally,
                                      .name = trace_text(input->trace, groups->groups[i].name),
                                      .group = i};
    sort_rows(rows, groups->count, input->options->sort);
    for (size_t i = 0; i < shown; i++)
        kernels_fill_row(results, table_add_row(results, table, 0), input->trace, groups,
                         &groups->groups[rows[i].group]);
    table->rows_in_all = groups->count;
    free(rows);
}

#define BY_CLASS_COLUMNS(COLUMN)                                                               \
    COLUMN("class", "kind of work", UNIT_TEXT, 0, BAR_NONE, value_text(rows[i].name))          \
    COLUMN(METRIC_KEY(KERNEL_COUNT), METRIC_TITLE(KERNEL_COUNT), METRIC_UNIT(KERNEL_COUNT), 0, \
           BAR_NONE, value_count(rows[i].tally.count))                                         \
    COLUMN(METRIC_KEY(KERNEL_TIME), METRIC_TITLE(KERNEL_TIME), METRIC_UNIT(KERNEL_TIME), 0,    \
           BAR_NONE, value_time_ns(rows[i].tally.total_ns))                                    \
    COLUMN("share", "of kernel time", UNIT_FRACTION, 0, BAR,                                   \
           value_fraction(fraction_of(rows[i].tally.total_ns, groups->all.total_ns)))          \
    COLUMN("mean", "mean", UNIT_TIME_NS, 1, BAR_NONE,                                          \
           value_time_ns(tally_mean_ns(&rows[i].tally)))                                       \
    COLUMN(METRIC_KEY(KERNEL_CLASS), METRIC_TITLE(KERNEL_CLASS), METRIC_UNIT(KERNEL_CLASS),    \
           PRIORITY_FOR_PROGRAMS, BAR_NONE,                                                    \
           value_text(kernel_class_key((enum kernel_class)rows[i].group)))                     \
    COLUMN("account_key", "account", UNIT_TEXT, PRIORITY_FOR_PROGRAMS, BAR_NONE,               \
           value_text(account_key_of_class(rows[i].group)))

/* Always by time, whatever order the user chose for names: the classes are few, and the
 * largest is what is asked for. Classes without a kernel are left out. */
static void add_table_by_class(struct results *results, struct section *section,
                               const struct kernel_groups *groups)
{
    struct table *table = section_add_table(results, section, "by_class", "Kernels by kind of work",
                                            COLUMNS_OF(BY_CLASS_COLUMNS));
    struct sorted_row rows[KERNEL_CLASS_COUNT];
    size_t count = 0;

    for (int c = 0; c < KERNEL_CLASS_COUNT; c++)
        if (groups->classes[c].count > 0)
            rows[count++] = (struct sorted_row){.tally = groups->classes[c],
                                                .name = kernel_class_title((enum kernel_class)c),
                                                .group = (uint32_t)c};
    sort_rows(rows, count, SORT_TIME);
    for (size_t i = 0; i < count; i++)
        FILL_ROW(table_add_row(results, table, 0), BY_CLASS_COLUMNS);
}

static bool has_kernels(const struct analysis_input *input)
{
    return has_chosen_event(input->trace, input->ledger, 1U << EVENT_KERNEL, UINT32_MAX);
}

/* The sum of durations is not the time of the device: kernels that run beside each other count
 * each. That they do is said with the number. */
static struct section *list_kernels(struct results *results, const struct analysis_input *input)
{
    struct kernel_groups groups = {0};
    struct section *section = NULL;

    kernels_collect(&groups, input);
    if (groups.all.count > 0) {
        section =
            section_new(results, "kernels", "Kernels", chosen_events_text(results, input->ledger));
        section_add_value(results, section, "count", "kernels", value_count(groups.all.count));
        section_add_number(results, section,
                           (struct number){"total", "their time, summed",
                                           value_time_ns(groups.all.total_ns),
                                           "kernels that run at once count each"});
        section_add_value(results, section, "mean", "mean duration",
                          value_time_ns(tally_mean_ns(&groups.all)));
        add_table_by_class(results, section, &groups);
        add_table_by_name(results, section, input, &groups);
    }
    kernels_clear(&groups);
    return section;
}

const struct analysis kernels_analysis = {
    .name = "kernels",
    .summary = "Which kernels take the device's time?",
    .run = list_kernels,
    .has_section = has_kernels,
};
