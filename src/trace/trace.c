/* The one event model, and the numbers over time that a trace has beside its events. */
#include "trace/trace.h"

#include "base/core/array.h"
#include "base/core/large_array.h"
#include "base/text/owned_text.h"
#include "trace/event_sums.h"

#include <stdbool.h>
#include <stdlib.h>

/* Linear: a trace has some dozen series. */
uint32_t series_list_find(struct series_list *list, const struct series *series)
{
    for (uint32_t i = 0; i < list->count; i++) {
        const struct series *other = &list->series[i];

        if (other->kind == series->kind && other->name == series->name &&
            other->unit == series->unit && other->device == series->device &&
            other->number == series->number)
            return i;
    }
    ARRAY_ROOM(list->series, list->count);
    list->series[list->count] = (struct series){.kind = series->kind,
                                                .name = series->name,
                                                .unit = series->unit,
                                                .device = series->device,
                                                .number = series->number};
    return list->count++;
}

const char *trace_file_name(const struct trace *trace)
{
    return trace->name ? trace->name : path_name(trace_text(trace, trace->path));
}

void series_add(struct series *series, const struct series_sample *sample)
{
    ARRAY_ADD(series->samples, series->count, *sample);
}

int64_t series_samples(const struct series_list *list)
{
    int64_t samples = 0;

    for (uint32_t i = 0; i < list->count; i++)
        if (list->series[i].kind == SERIES_METRIC)
            samples += (int64_t)list->series[i].count + list->series[i].set_aside;
    return samples;
}

/* Ties by value, so that the order is the same wherever the pieces of the file were cut. */
static int compare_samples(const void *a, const void *b)
{
    const struct series_sample *left = a;
    const struct series_sample *right = b;

    if (left->time_ns != right->time_ns)
        return left->time_ns < right->time_ns ? -1 : 1;
    return (left->value > right->value) - (left->value < right->value);
}

static bool series_is_sorted(const struct series *series)
{
    for (size_t i = 1; i < series->count; i++)
        if (compare_samples(&series->samples[i - 1], &series->samples[i]) > 0)
            return false;
    return true;
}

void series_list_sort(struct series_list *list)
{
    for (uint32_t i = 0; i < list->count; i++)
        if (!series_is_sorted(&list->series[i]))
            qsort(list->series[i].samples, list->series[i].count, sizeof(struct series_sample),
                  compare_samples);
}

void series_list_clear(struct series_list *list)
{
    for (uint32_t i = 0; i < list->count; i++)
        free(list->series[i].samples);
    free(list->series);
    *list = (struct series_list){0};
}

/* ---- replays of graphs ----------------------------------------------------------------------- */

/* What is known of the CUDA or HIP graphs that a trace replays: which kernels of theirs were given
 * the operators of a capture, and why the others were not. */

const char *graph_fate_text(enum graph_fate fate)
{
    static const char *const texts[GRAPH_FATE_COUNT] = {
        [GRAPH_WITHOUT_PLACE] = "module not known", [GRAPH_NO_CAPTURE] = "no capture found",
        [GRAPH_NO_NAMES] = "capture without names", [GRAPH_NO_MATCH] = "in no capture",
        [GRAPH_AMBIGUOUS] = "several fit",          [GRAPH_NO_OPERATOR] = "no operator around",
    };

    return texts[fate];
}

/* free()s it too; NULL is left alone. */
static void graph_replays_free(struct graph_replays *replays)
{
    if (!replays)
        return;
    free(replays->captures);
    free(replays->kinds);
    free(replays->copies);
    large_array_free(replays->host_of);
    free(replays);
}

/* ---- trace ----------------------------------------------------------------------------------- */

uint32_t trace_operator_of(const struct trace *trace, uint32_t device_event)
{
    return trace->launch_operator ? trace->launch_operator[device_event] : NO_EVENT;
}

uint32_t trace_origin_of(const struct trace *trace, uint32_t device_event)
{
    if (trace->graphs && trace->graphs->host_of[device_event] != NO_EVENT)
        return trace->graphs->host_of[device_event];
    return trace->launch[device_event] != NO_EVENT ? trace->launch[device_event]
                                                   : trace_operator_of(trace, device_event);
}

/* Copies of captured events stand behind all that was recorded. */
uint32_t trace_recorded_host_count(const struct trace *trace)
{
    return trace->graphs && trace->graphs->copy_count ? trace->graphs->copies[0].first
                                                      : trace->host_count;
}

void trace_clear(struct trace *trace)
{
    if (!trace)
        return;
    string_pool_clear(&trace->strings);
    large_array_free(trace->host);
    large_array_free(trace->device);
    large_array_free(trace->launch);
    large_array_free(trace->launch_operator);
    large_array_free(trace->device_notes);
    wide_ids_clear(&trace->wide_ids);
    track_sums_free(trace->sums, trace->track_count);
    free(trace->tracks);
    free(trace->details);
    free(trace->devices);
    memory_list_clear(&trace->memory);
    series_list_clear(&trace->series);
    graph_replays_free(trace->graphs);
    *trace = (struct trace){0};
}

int64_t trace_unix_ns(const struct trace *trace, int64_t time_ns)
{
    /* an earlier time is that of a clock which began when the machine did */
    const int64_t year_2000_ns = INT64_C(946684800) * 1000000000;
    int64_t unix_ns;

    if (__builtin_add_overflow(trace->facts.base_time_ns, time_ns, &unix_ns) ||
        unix_ns < year_2000_ns)
        return -1;
    return unix_ns;
}
