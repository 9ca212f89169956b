/* Which operators take time on the host, and on the device through the kernels they launch? As
 * torch's key_averages(). */
#include "base/core/array.h"
#include "base/core/hash_map.h"
#include "base/core/large_array.h"
#include "base/core/saturated.h"
#include "base/text/prefix.h"
#include "sections/analysis.h"
#include "sections/chosen_events.h"
#include "sections/tally.h"
#include "trace/recorder_words.h"
#include "trace/trace.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ---- calls of operators ---------------------------------------------------------------------- */

/* Every call of an operator with its self and total times, by the rules of torch's key_averages().
 */

/* An event of a host thread that takes part in the nesting: an operator, a named range or a runtime
 * call. A call belongs to the innermost call of its thread that holds it wholly; one that overlaps
 * another only in part is not inside it. */
struct operator_call {
    uint32_t parent; /* index in the array, or NO_EVENT */
    uint32_t child_count;
    bool is_counted;         /* takes part in the nesting, and is not merged into its parent */
    int64_t self_cpu_ns;     /* its duration less those of its children */
    int64_t self_device_ns;  /* durations of the device events that it launched itself */
    int64_t total_device_ns; /* ... or that its children launched */
};

/* A stretch of a thread: trace->host[first .. first + count). */
struct thread_interval {
    uint32_t first;
    uint32_t count;
};

/* By string id: names that torch.profiler leaves out of its tables, as if they had not been
 * recorded. free() it. */
static bool *find_left_out_names(const struct trace *trace)
{
    static const char *const names[] = {"[memory]",
                                        "[OutOfMemory]",
                                        "profiler::_record_function_enter",
                                        "profiler::_record_function_enter_new",
                                        "profiler::_record_function_exit",
                                        "aten::is_leaf",
                                        "aten::output_nr",
                                        "aten::_version"};
    bool *is_left_out = zeroed_array(string_pool_count(&trace->strings), sizeof *is_left_out);

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        uint32_t id = string_pool_find(&trace->strings, names[i], strlen(names[i]));

        if (id != UINT32_MAX)
            is_left_out[id] = true;
    }
    return is_left_out;
}

static bool takes_part(const struct event *event, const bool *is_left_out)
{
    return (event->kind == EVENT_OPERATOR || event->kind == EVENT_ANNOTATION ||
            event->kind == EVENT_RUNTIME_CALL) &&
           !is_left_out[event->name];
}

/* Finds each call's parent: the stack of open calls runs along the parents. What does not lie
 * wholly in the innermost open call closes it: so a call that overlaps another has the one
 * around both as its parent. Each call is opened and closed once: O(n). */
static void operator_calls_find_parents(struct operator_call *calls, const struct event *events,
                                        uint32_t count, const bool *is_left_out)
{
    uint32_t top = NO_EVENT;

    for (uint32_t i = 0; i < count; i++) {
        calls[i] = (struct operator_call){.parent = NO_EVENT};
        if (!takes_part(&events[i], is_left_out))
            continue;
        while (top != NO_EVENT && (events[i].start_ns >= event_end_ns(&events[top]) ||
                                   event_end_ns(&events[i]) > event_end_ns(&events[top])))
            top = calls[top].parent;
        calls[i].parent = top;
        calls[i].is_counted = true;
        if (top != NO_EVENT)
            calls[top].child_count++;
        top = i;
    }
}

/* Merges only children of the same name into their parents; parents come before their children. A
 * merged call keeps in `parent` the call that it became part of. */
static void merge_same_names(struct operator_call *calls, const struct event *events,
                             uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t parent = calls[i].parent;

        if (!calls[i].is_counted || parent == NO_EVENT)
            continue;
        if (!calls[parent].is_counted) /* was merged itself */
            parent = calls[i].parent = calls[parent].parent;
        if (calls[parent].child_count != 1 || events[parent].name != events[i].name ||
            events[parent].kind != events[i].kind)
            continue;
        calls[i].is_counted = false;
        calls[parent].child_count = calls[i].child_count;
    }
}

static void operator_calls_add_device_time(struct operator_call *call, int64_t device_ns)
{
    call->total_device_ns = saturated_sum(call->total_device_ns, device_ns);
}

/* The events from `first` on, of which `end` is the end of the thread's, up to where no call is
 * open: no call of what comes then has a parent in the stretch. Events are sorted. */
static struct thread_interval next_interval(const struct trace *trace, uint32_t first, uint32_t end,
                                            const bool *is_left_out)
{
    struct thread_interval interval = {.first = first};
    int64_t open_until_ns = INT64_MIN;

    for (uint32_t i = first; i < end; i++) {
        const struct event *event = &trace->host[i];

        if (takes_part(event, is_left_out)) {
            if (i > first && event->start_ns >= open_until_ns)
                break;
            if (event_end_ns(event) > open_until_ns)
                open_until_ns = event_end_ns(event);
        }
        interval.count++;
    }
    return interval;
}

/* The calls of `interval`: one for each of its events, [count]; `calls` must have room for them.
 * `device_ns`: for each of trace->host the summed durations of the device
 * events that belong to it. `is_left_out`: for each of trace->strings, as find_left_out_names gives
 * it.
 *
 * An operator that is the only child of an operator of the same name is one call with it (as in
 * torch): it is not counted, and its device time goes to its parent. */
static void measure_operator_calls(struct operator_call *calls, const struct trace *trace,
                                   struct thread_interval interval, const int64_t *device_ns,
                                   const bool *is_left_out)
{
    uint32_t first = interval.first, count = interval.count;
    const struct event *events = &trace->host[first];

    operator_calls_find_parents(calls, events, count, is_left_out);
    merge_same_names(calls, events, count);
    for (uint32_t i = 0; i < count; i++) {
        struct operator_call *call = &calls[i];
        struct operator_call *parent = call->parent == NO_EVENT ? NULL : &calls[call->parent];

        if (call->is_counted) {
            call->self_cpu_ns = saturated_sum(call->self_cpu_ns, events[i].duration_ns);
            call->self_device_ns = saturated_sum(call->self_device_ns, device_ns[first + i]);
            if (parent)
                parent->self_cpu_ns = saturated_sum(parent->self_cpu_ns, -events[i].duration_ns);
        } else if (parent) { /* merged into it */
            parent->self_device_ns = saturated_sum(parent->self_device_ns, device_ns[first + i]);
        }
    }
    for (uint32_t i = count; i-- > 0;) { /* children before their parents */
        if (!calls[i].is_counted)
            continue;
        operator_calls_add_device_time(&calls[i], calls[i].self_device_ns);
        if (calls[i].parent != NO_EVENT)
            operator_calls_add_device_time(&calls[calls[i].parent], calls[i].total_device_ns);
    }
}

/* ---- operators ------------------------------------------------------------------------------- */

/* All calls of one name (and one list of input shapes). */
struct operator_group {
    int64_t calls;
    uint32_t name;
    uint32_t shapes;
    uint32_t open; /* calls open at the moment: only the outermost adds to the totals */
    bool is_range;
    int64_t self_cpu_ns;
    int64_t total_cpu_ns;
    int64_t max_cpu_ns;
    int64_t self_device_ns;
    int64_t total_device_ns;
};

struct operator_groups {
    bool by_shape; /* operators of one name and other shapes have rows of their own */
    const struct analysis_input *input;
    struct step_finder finder;
    struct operator_group *groups;
    uint32_t count;
    struct hash_map by_key;
    uint32_t *by_name; /* [2 * name + is a range]: index of the group + 1 */
    bool *is_left_out;
    int64_t *device_ns;  /* by trace->host: device time that belongs to it */
    uint32_t step_name;  /* the first ProfilerStep#n met stands for all of them */
    int64_t self_cpu_ns; /* of all operators */
    int64_t self_device_ns;
    int64_t calls;
    bool has_shapes; /* the trace tells shapes of some operators */
};

/* The calls of a stretch of a thread, walked in order. */
struct thread_walk {
    struct operator_call *calls; /* [capacity] */
    uint32_t *group_of;          /* by call: its group, NO_EVENT where it is not counted */
    uint32_t capacity;
    uint32_t top; /* the innermost open call */
};

/* By the operator that launched the work itself; what stands around that operator gets it by
 * the nesting of calls. */
static void sum_device_time(struct operator_groups *groups)
{
    const struct trace *trace = groups->input->trace;

    groups->device_ns = large_array_new(trace->host_count * sizeof *groups->device_ns);
    for (uint32_t i = 0; i < trace->device_count; i++) {
        uint32_t operator_event = trace_operator_of(trace, i);

        if (operator_event != NO_EVENT &&
            trace->tracks[trace->device[i].track].device == groups->input->ledger->device)
            groups->device_ns[operator_event] =
                saturated_sum(groups->device_ns[operator_event], trace->device[i].duration_ns);
    }
}

static uint32_t new_group(struct operator_groups *groups, struct operator_group group)
{
    ARRAY_ADD(groups->groups, groups->count, group);
    return groups->count - 1;
}

/* Steps are ranges, although torch 1.8 wrote them as operators, and all of them share a row. */
static struct operator_group describe_group(struct operator_groups *groups,
                                            const struct event *event)
{
    struct operator_group group = {.name = event->name,
                                   .is_range = event->kind == EVENT_ANNOTATION};

    if (has_prefix(trace_text(groups->input->trace, event->name), "ProfilerStep#")) {
        if (!groups->step_name)
            groups->step_name = event->name;
        group.name = groups->step_name;
        group.is_range = true;
    }
    return group;
}

/* Events of one name and kind share a row, and one look at a small table finds it. */
static uint32_t find_group_by_name(struct operator_groups *groups, const struct event *event)
{
    uint32_t *known = &groups->by_name[2 * event->name + (event->kind == EVENT_ANNOTATION)];

    if (*known == 0) {
        struct operator_group group = describe_group(groups, event);
        uint64_t key = pair_key(group.name, 0) | (uint64_t)group.is_range << 63;
        uint32_t index = hash_map_add(&groups->by_key, key, groups->count);

        *known = 1 + (index == groups->count ? new_group(groups, group) : index);
    }
    return *known - 1;
}

/* Ranges have no shapes to tell apart, and an operator without recorded shapes is one of its
 * name. */
static uint32_t operators_find_group(struct operator_groups *groups, const struct event *event)
{
    uint32_t shapes = groups->input->trace->details[event->detail].input_shapes;
    uint32_t index;

    if (!groups->by_shape || event->kind == EVENT_ANNOTATION || shapes == 0)
        return find_group_by_name(groups, event);
    index = hash_map_add(&groups->by_key, pair_key(event->name, shapes), groups->count);
    return index == groups->count
               ? new_group(groups, (struct operator_group){.name = event->name, .shapes = shapes})
               : index;
}

/* Closes the calls that are not around the next one, whose parent is `parent`. */
static void close_calls(struct operator_groups *groups, struct thread_walk *walk, uint32_t parent)
{
    for (; walk->top != parent && walk->top != NO_EVENT; walk->top = walk->calls[walk->top].parent)
        if (walk->group_of[walk->top] != NO_EVENT)
            groups->groups[walk->group_of[walk->top]].open--;
}

/* Self times of all calls add up; totals would count an inner call of the same name twice, so
 * only the outermost open one adds. */
static void count_call(struct operator_groups *groups, const struct operator_call *call,
                       uint32_t index, int64_t duration_ns)
{
    struct operator_group *group = &groups->groups[index];

    group->calls++;
    group->self_cpu_ns = saturated_sum(group->self_cpu_ns, call->self_cpu_ns);
    group->self_device_ns = saturated_sum(group->self_device_ns, call->self_device_ns);
    if (duration_ns > group->max_cpu_ns)
        group->max_cpu_ns = duration_ns;
    if (group->open++ == 0) {
        group->total_cpu_ns = saturated_sum(group->total_cpu_ns, duration_ns);
        group->total_device_ns = saturated_sum(group->total_device_ns, call->total_device_ns);
    }
    if (group->is_range)
        return;
    groups->calls++;
    groups->self_cpu_ns = saturated_sum(groups->self_cpu_ns, call->self_cpu_ns);
    groups->self_device_ns = saturated_sum(groups->self_device_ns, call->self_device_ns);
}

/* Threads are walked one by one with the same room, which grows to that of the largest and is
 * not kept in between: its content need not be copied. */
static void operators_make_room(struct thread_walk *walk, uint32_t count)
{
    if (count <= walk->capacity)
        return;
    large_array_free(walk->calls);
    large_array_free(walk->group_of);
    walk->capacity = count > UINT32_MAX / 2 ? count : 2 * count;
    walk->calls = large_array_new(walk->capacity * sizeof *walk->calls);
    walk->group_of = large_array_new(walk->capacity * sizeof *walk->group_of);
}

/* Runtime calls take part in the nesting, since their time is not the operator's own, and have
 * no row. */
static void operators_add_interval(struct operator_groups *groups, struct thread_walk *walk,
                                   struct thread_interval interval)
{
    const struct event *events = &groups->input->trace->host[interval.first];
    bool is_copy = groups->input->trace->tracks[events->track].is_captured;

    operators_make_room(walk, interval.count);
    measure_operator_calls(walk->calls, groups->input->trace, interval, groups->device_ns,
                           groups->is_left_out);
    walk->top = NO_EVENT;
    for (uint32_t i = 0; i < interval.count; i++) {
        struct operator_call *call = &walk->calls[i];

        walk->group_of[i] = NO_EVENT;
        if (!call->is_counted)
            continue;
        close_calls(groups, walk, call->parent);
        walk->top = i;
        if (events[i].kind == EVENT_RUNTIME_CALL ||
            step_finder_of_host(&groups->finder, events[i].start_ns) == NO_STEP)
            continue;
        walk->group_of[i] = operators_find_group(groups, &events[i]);
        if (is_copy) /* of a capture: it took no time of a host */
            call->self_cpu_ns = 0;
        count_call(groups, call, walk->group_of[i], is_copy ? 0 : events[i].duration_ns);
    }
    close_calls(groups, walk, NO_EVENT);
}

/* Stretch by stretch, so that no more calls are held than lie in the longest of them. */
static void add_thread(struct operator_groups *groups, struct thread_walk *walk, uint32_t track)
{
    const struct trace *trace = groups->input->trace;
    uint32_t end = trace->tracks[track].first_event + trace->tracks[track].event_count;
    struct thread_interval interval;

    for (uint32_t i = trace->tracks[track].first_event; i < end; i += interval.count) {
        interval = next_interval(trace, i, end, groups->is_left_out);
        operators_add_interval(groups, walk, interval);
    }
}

/* Thread by thread: calls nest within a thread only. */
static void operators_collect(struct operator_groups *groups)
{
    const struct trace *trace = groups->input->trace;
    struct thread_walk walk = {0};

    sum_device_time(groups);
    for (uint32_t i = 0; i < trace->detail_count && !groups->has_shapes; i++)
        groups->has_shapes = trace->details[i].input_shapes != 0;
    groups->is_left_out = find_left_out_names(trace);
    groups->by_name = zeroed_array(2 * string_pool_count(&trace->strings), sizeof *groups->by_name);
    for (uint32_t t = 0; t < trace->track_count; t++)
        if (!trace->tracks[t].is_device && trace->tracks[t].event_count > 0)
            add_thread(groups, &walk, t);
    large_array_free(walk.calls);
    large_array_free(walk.group_of);
}

static void operators_clear(struct operator_groups *groups)
{
    free(groups->groups);
    free(groups->is_left_out);
    free(groups->by_name);
    large_array_free(groups->device_ns);
    hash_map_clear(&groups->by_key);
}

/* In a trace with shapes an operator without them has no inputs to tell of. */
static struct value shapes_value(struct results *results, const struct operator_groups *groups,
                                 const struct operator_group *group)
{
    const struct trace *trace = groups->input->trace;

    if (group->shapes)
        return value_text(results_text(results, trace_text(trace, group->shapes)));
    return groups->has_shapes ? value_none()
                              : value_not_known(recorder_words_for(trace)->needs_shapes);
}

#define OPERATOR_COLUMNS(COLUMN)                                                                 \
    COLUMN(of_ranges ? "range" : "operator", of_ranges ? "range" : "operator", UNIT_TEXT, 0,     \
           BAR_NONE,                                                                             \
           value_text(is_step ? "ProfilerStep*"                                                  \
                              : results_text(results, trace_text(trace, group->name))))          \
    COLUMN("calls", "calls", UNIT_COUNT, 0, BAR_NONE, value_count(group->calls))                 \
    COLUMN("self_cpu", "self CPU", UNIT_TIME_NS, 0, BAR_NONE, value_time_ns(group->self_cpu_ns)) \
    COLUMN("total_cpu", "total CPU", UNIT_TIME_NS, 1, BAR_NONE,                                  \
           value_time_ns(group->total_cpu_ns))                                                   \
    COLUMN("mean_cpu", "CPU per call", UNIT_TIME_NS, 2, BAR_NONE,                                \
           value_time_ns(group->calls ? group->total_cpu_ns / group->calls : 0))                 \
    COLUMN("max_cpu", "longest", UNIT_TIME_NS, 3, BAR_NONE, value_time_ns(group->max_cpu_ns))    \
    COLUMN("self_device", "self device", UNIT_TIME_NS, for_self, BAR_NONE,                       \
           value_time_ns(group->self_device_ns))                                                 \
    COLUMN("total_device", "total device", UNIT_TIME_NS, for_total, BAR_NONE,                    \
           value_time_ns(group->total_device_ns))
#define OPERATOR_SHAPE_COLUMNS(COLUMN)                             \
    OPERATOR_COLUMNS(COLUMN)                                       \
    COLUMN("input_shapes", "input shapes", UNIT_TEXT, 0, BAR_NONE, \
           shapes_value(results, groups, group))

static void operators_fill_row(struct results *results, struct value *cells,
                               const struct operator_groups *groups,
                               const struct operator_group *group)
{
    const struct trace *trace = groups->input->trace;
    bool is_step = group->is_range && groups->step_name && group->name == groups->step_name;

    if (groups->by_shape && !group->is_range)
        FILL_ROW(cells, OPERATOR_SHAPE_COLUMNS);
    else
        FILL_ROW(cells, OPERATOR_COLUMNS);
}

/* Operators are ranked by their self time on the device where there is any, else on the host;
 * ranges by total time. As torch sorts its table: by what the operator itself took. */
static struct tally rank_by(const struct operator_groups *groups,
                            const struct operator_group *group)
{
    bool by_device = groups->self_device_ns > 0;
    int64_t self_ns = by_device ? group->self_device_ns : group->self_cpu_ns;
    int64_t total_ns = by_device ? group->total_device_ns : group->total_cpu_ns;
    bool by_total = groups->input->options->sort == SORT_TOTAL;

    return (struct tally){.count = group->calls,
                          .total_ns = group->is_range ? group->total_cpu_ns
                                      : by_total      ? total_ns
                                                      : self_ns,
                          .max_ns = group->max_cpu_ns};
}

/* On a CPU alone the columns of device time would be empty, so they are kept for programs;
 * ranges launch nothing themselves. */
static void operators_add_table(struct results *results, struct section *section,
                                const struct operator_groups *groups, bool of_ranges)
{
    bool has_device = groups->self_device_ns > 0, by_shape = groups->by_shape && !of_ranges;
    int for_self = has_device && !of_ranges ? 0 : PRIORITY_FOR_PROGRAMS;
    int for_total = has_device ? 1 : PRIORITY_FOR_PROGRAMS;
    const struct column columns[] = {OPERATOR_SHAPE_COLUMNS(COLUMN_DECLARED)};
    struct sorted_row *rows = zeroed_array(groups->count, sizeof *rows);
    size_t count = 0, shown;
    struct table *table;

    for (uint32_t i = 0; i < groups->count; i++) {
        const struct operator_group *group = &groups->groups[i];

        if (group->is_range == of_ranges)
            rows[count++] =
                (struct sorted_row){.tally = rank_by(groups, group),
                                    .name = trace_text(groups->input->trace, group->name),
                                    .detail = trace_text(groups->input->trace, group->shapes),
                                    .group = i};
    }
    /* After counting: ranges and operators share the list of groups, and each table shows its
     * own top. */
    shown = rows_to_show(groups->input->options, count);
    if (count > 0) {
        table = section_add_table(results, section,
                                  of_ranges                                       ? "ranges"
                                  : by_shape && !groups->input->options->by_shape ? "by_shape"
                                                                                  : "by_name",
                                  of_ranges  ? "Named ranges (record_function, profiler, framework)"
                                  : by_shape ? "Operators by name and input shapes"
                                             : "Operators by name",
                                  columns,
                                  by_shape ? COLUMN_COUNT_OF(OPERATOR_SHAPE_COLUMNS)
                                           : COLUMN_COUNT_OF(OPERATOR_COLUMNS));
        table->rows_in_all = count;
        sort_rows(rows, count, groups->input->options->sort);
        for (size_t i = 0; i < shown; i++)
            operators_fill_row(results, table_add_row(results, table, 0), groups,
                               &groups->groups[rows[i].group]);
    }
    free(rows);
}

/* Calls count operators inside of operators, self times do not: the first is what a profiler's
 * table sums to, the second is what adds up to time. */
static void operators_add_numbers(struct results *results, struct section *section,
                                  const struct operator_groups *groups)
{
    section_add_number(results, section,
                       (struct number){"calls", "operator calls", value_count(groups->calls),
                                       "calls inside others, too"});
    section_add_number(results, section,
                       (struct number){"self_cpu", "their self CPU time, summed",
                                       value_time_ns(groups->self_cpu_ns), "over all threads"});
    if (groups->self_device_ns > 0)
        section_add_value(results, section, "self_device", "device time they launched",
                          value_time_ns(groups->self_device_ns));
}

/* Beside the rows by name: one for each input shape, where the trace has shapes. */
static void add_table_by_shape(struct results *results, struct section *section,
                               const struct analysis_input *input)
{
    struct operator_groups groups = {
        .by_shape = true, .input = input, .finder = {.ledger = input->ledger}};

    operators_collect(&groups);
    operators_add_table(results, section, &groups, false);
    operators_clear(&groups);
}

/* One right inside another of another name, with which it is not one call. */
static bool has_operators(const struct analysis_input *input)
{
    const struct trace *trace = input->trace;
    bool *is_left_out = find_left_out_names(trace);
    struct step_finder finder = {.ledger = input->ledger};
    bool has_one = false;

    for (uint32_t i = 1; i < trace->host_count && !has_one; i++) {
        const struct event *event = &trace->host[i], *around = &trace->host[i - 1];

        has_one = event->kind == EVENT_OPERATOR && event->name != around->name &&
                  event->track == around->track && event_end_ns(event) <= event_end_ns(around) &&
                  takes_part(event, is_left_out) && takes_part(around, is_left_out) &&
                  step_finder_of_host(&finder, event->start_ns) != NO_STEP;
    }
    free(is_left_out);
    return has_one;
}

/* Shapes have a table of their own unless they are the key already. Named ranges come last and
 * apart: they hold operators, so that in one table with them every second would be there
 * twice. */
static struct section *list_operators(struct results *results, const struct analysis_input *input)
{
    struct operator_groups groups = {
        .by_shape = input->options->by_shape, .input = input, .finder = {.ledger = input->ledger}};
    struct section *section = NULL;

    operators_collect(&groups);
    if (groups.count > 0) {
        section = section_new(
            results, "operators", "Operators",
            results_format(
                results,
                "%s Self time is without the operators, ranges and runtime calls inside; device "
                "time is that of the kernels, copies and memsets a call launched.",
                chosen_events_text(results, input->ledger)));
        operators_add_numbers(results, section, &groups);
        operators_add_table(results, section, &groups, false);
        if (input->options->also_by_shape && !groups.by_shape && groups.has_shapes)
            add_table_by_shape(results, section, input);
        operators_add_table(results, section, &groups, true);
    }
    operators_clear(&groups);
    return section;
}

const struct analysis operators_analysis = {
    .name = "operators",
    .summary = "Which operators take time, on the host and on the device?",
    .run = list_operators,
    .has_section = has_operators,
};
