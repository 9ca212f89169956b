/* The order of events in a trace: by time, and where times are equal by what the events say. */
#include "base/core/large_array.h"
#include "base/core/large_sort.h"
#include "base/core/radix_sort.h"
#include "trace/trace_builder.h"
#include "trace/trace_finish_parts.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static int event_order_compare_numbers(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int compare_ids(const struct trace *trace, int32_t a, int32_t b)
{
    return event_order_compare_numbers(event_id_number(&trace->wide_ids, a),
                                       event_id_number(&trace->wide_ids, b));
}

static int compare_texts(const struct trace *trace, uint32_t a, uint32_t b)
{
    return a == b ? 0 : strcmp(trace_text(trace, a), trace_text(trace, b));
}

/* Details as bytes, with texts in place of string ids. Ids differ by the order of the file,
 * texts do not: the order of events must be that of their content. */
static int compare_details(const struct trace *trace, uint32_t a, uint32_t b)
{
    struct event_detail left;
    struct event_detail right;
    int order = 0;

    if (a == b)
        return 0;
    left = trace->details[a];
    right = trace->details[b];
/* Texts that were compared are set to zero on both sides, so that all that is left compares as
 * bytes. */
#define COMPARE(field)                                             \
    do {                                                           \
        if (!order)                                                \
            order = compare_texts(trace, left.field, right.field); \
        left.field = 0;                                            \
        right.field = 0;                                           \
    } while (0)
    COMPARE(input_shapes);
    COMPARE(input_types);
    COMPARE(concrete_inputs);
    COMPARE(call_stack);
    COMPARE(work);
    COMPARE(kernel_name);
    COMPARE(code);
    COMPARE(settings);
    COMPARE(lines);
    COMPARE(collective_name);
    COMPARE(element_type);
    COMPARE(group_name);
    COMPARE(group_ranks);
#undef COMPARE
    return order ? order : event_detail_compare(&left, &right);
}

static int compare_rest(const struct trace *trace, const struct event *a, const struct event *b)
{
    int order = compare_ids(trace, a->external_id, b->external_id);

    return order ? order : compare_details(trace, a->detail, b->detail);
}

/* Longer first at one start: what encloses comes before what it encloses, as all walks with a
 * stack of open events need. */
int compare_host_events(const struct trace *trace, const struct event *a, const struct event *b)
{
    int order = event_order_compare_numbers(a->start_ns, b->start_ns);

    if (!order)
        order = event_order_compare_numbers(b->duration_ns, a->duration_ns);
    if (!order)
        order = event_order_compare_numbers(a->kind, b->kind);
    if (!order)
        order = compare_texts(trace, a->name, b->name);
    if (!order)
        order = compare_ids(trace, a->correlation, b->correlation);
    return order ? order : compare_rest(trace, a, b);
}

/* Shorter first: on a device nothing encloses. Device and stream before correlation, so that
 * streams stay in order. */
int compare_device_events(const struct trace *trace, const struct event *a, const struct event *b)
{
    const struct track *left = &trace->tracks[a->track];
    const struct track *right = &trace->tracks[b->track];
    int order = event_order_compare_numbers(a->start_ns, b->start_ns);

    if (!order)
        order = event_order_compare_numbers(a->duration_ns, b->duration_ns);
    if (!order)
        order = event_order_compare_numbers(a->kind, b->kind);
    if (!order)
        order = event_order_compare_numbers(left->device, right->device);
    if (!order)
        order = event_order_compare_numbers(left->stream, right->stream);
    if (!order)
        order = compare_ids(trace, a->correlation, b->correlation);
    if (!order)
        order = compare_texts(trace, a->name, b->name);
    if (!order)
        order = event_order_compare_numbers(a->track, b->track);
    return order ? order : compare_rest(trace, a, b);
}

struct ordering {
    const struct trace *trace;
    const struct event *events;
    uint64_t index_mask;
    int (*compare)(const struct trace *, const struct event *, const struct event *);
};

static int compare_keys(const void *a, const void *b, void *argument)
{
    const struct ordering *order = argument;
    uint64_t left = *(const uint64_t *)a & order->index_mask;
    uint64_t right = *(const uint64_t *)b & order->index_mask;

    return order->compare(order->trace, &order->events[left], &order->events[right]);
}

/* Orders a run of keys whose times are equal, as far as the keys hold them. Runs of equal times
 * are a few events mostly: insertion sort beats a call of qsort_r up to some two dozen. */
static void sort_ties(uint64_t *keys, size_t count, struct ordering *order)
{
    if (count > 24) {
        qsort_r(keys, count, sizeof *keys, compare_keys, order);
        return;
    }
    for (size_t i = 1; i < count; i++) {
        uint64_t key = keys[i];
        size_t j = i;

        for (; j > 0 && compare_keys(&keys[j - 1], &key, order) > 0; j--)
            keys[j] = keys[j - 1];
        keys[j] = key;
    }
}

/* Puts events[order[i]] at i, in place; the order is used up. Cycle by cycle: each event moves
 * once, and no second array of events is needed, which would double the memory. */
static void permute(struct event *events, uint64_t *order, size_t count, uint64_t index_mask)
{
    for (size_t i = 0; i < count; i++) {
        size_t to = i;
        size_t from = order[i] & index_mask;
        struct event first;

        if (from == i)
            continue;
        first = events[i];
        while (from != i) {
            events[to] = events[from];
            order[to] = to;
            to = from;
            from = order[to] & index_mask;
        }
        events[to] = first;
        order[to] = to;
    }
}

static unsigned event_order_bits_of(uint64_t value)
{
    return value ? 64 - (unsigned)__builtin_clzll(value) : 0;
}

/* Time and index in one word: radix sort moves 8 bytes an event, and the index leads to the
 * event afterwards. O(n). */
static void sort_by_keys(struct event *events, size_t count, struct ordering *order)
{
    unsigned index_bits = event_order_bits_of(count - 1);
    uint64_t *keys = large_array_in_memory(count * sizeof *keys);
    uint64_t *scratch = large_array_in_memory(count * sizeof *scratch);
    int64_t first_ns = INT64_MAX, last_ns = INT64_MIN;
    unsigned range_bits, lost_bits;
    uint64_t *sorted;

    for (size_t i = 0; i < count; i++) {
        first_ns = events[i].start_ns < first_ns ? events[i].start_ns : first_ns;
        last_ns = events[i].start_ns > last_ns ? events[i].start_ns : last_ns;
    }
    range_bits = event_order_bits_of((uint64_t)last_ns - (uint64_t)first_ns);
    /* Times that need more bits than are left lose their lowest; events alike by then are ties. */
    lost_bits = range_bits + index_bits > 64 ? range_bits + index_bits - 64 : 0;
    order->events = events;
    order->index_mask = ((uint64_t)1 << index_bits) - 1;
    for (size_t i = 0; i < count; i++)
        keys[i] =
            ((uint64_t)events[i].start_ns - (uint64_t)first_ns) >> lost_bits << index_bits | i;
    sorted = radix_sort(keys, scratch, count, index_bits, index_bits + range_bits - lost_bits);
    for (size_t i = 0; i < count;) {
        size_t end = i + 1;

        while (end < count && sorted[end] >> index_bits == sorted[i] >> index_bits)
            end++;
        if (end - i > 1)
            sort_ties(sorted + i, end - i, order);
        i = end;
    }
    permute(events, sorted, count, order->index_mask);
    large_array_free(keys);
    large_array_free(scratch);
}

/* So few runs that are sorted each are merged: profilers write operators, then calls of the
 * runtime.
 */
enum { EVENT_RUNS_MAX = 8 };

static bool events_are_in_order(const struct ordering *order, const struct event *a,
                                const struct event *b)
{
    /* Mostly the times tell; only where they are equal the rest is looked at. */
    return a->start_ns < b->start_ns ||
           (a->start_ns == b->start_ns && order->compare(order->trace, a, b) <= 0);
}

/* Two sorted runs, `left` events and behind them `right`, become one: from the end, so that it is
 * the right one, mostly of fewer, that is moved away. */
static void merge_events(struct event *events, size_t left, size_t right,
                         const struct ordering *order)
{
    struct event *copy = large_array_in_memory(right * sizeof *copy);
    const struct event *first = events + left, *second = copy + right;
    struct event *to = events + left + right;

    memcpy(copy, events + left, right * sizeof *copy);
    while (first > events && second > copy)
        *--to = events_are_in_order(order, first - 1, second - 1) ? *--second : *--first;
    memcpy(events, copy, (size_t)(second - copy) * sizeof *copy);
    large_array_free(copy);
}

/* Pairs of neighbors until one run is left: the order of equal keys stays, as with any merge
 * sort. */
static void merge_event_runs(struct event *events, size_t *ends, size_t runs,
                             const struct ordering *order)
{
    for (; runs > 1; runs = (runs + 1) / 2)
        for (size_t i = 0; i < runs; i += 2) {
            size_t start = i ? ends[i / 2 - 1] : 0;

            if (i + 1 < runs)
                merge_events(events + start, ends[i] - start, ends[i + 1] - ends[i], order);
            ends[i / 2] = ends[i + 1 < runs ? i + 1 : i];
        }
}

/* Recorders write nearly in order: merging a few runs costs less than sorting, up to a number
 * of runs. */
static void event_order_sort_block(void *elements, size_t count, void *argument)
{
    struct event *events = elements;
    struct ordering *order = argument;
    size_t ends[EVENT_RUNS_MAX];
    size_t runs = 0;

    for (size_t i = 1; i < count; i++) {
        if (events_are_in_order(order, &events[i - 1], &events[i]))
            continue;
        if (runs == EVENT_RUNS_MAX - 1) {
            sort_by_keys(events, count, order);
            return;
        }
        ends[runs++] = i;
    }
    ends[runs++] = count;
    merge_event_runs(events, ends, runs, order);
}

static int compare_elements(const void *a, const void *b, void *argument)
{
    const struct ordering *order = argument;
    const struct event *left = a;
    const struct event *right = b;

    if (left->start_ns != right->start_ns)
        return left->start_ns < right->start_ns ? -1 : 1;
    return order->compare(order->trace, left, right);
}

void sort_events(const struct trace *trace, struct event *events, size_t count,
                 int (*compare)(const struct trace *, const struct event *, const struct event *))
{
    struct ordering ordering = {.trace = trace, .compare = compare};

    sort_large(events, count,
               &(struct large_order){.element_bytes = sizeof *events,
                                     .compare = compare_elements,
                                     .sort_block = event_order_sort_block,
                                     .argument = &ordering});
}
