/* Numbers over time that a trace has beside its events. */
#include "trace/series.h"

#include "base/core/array.h"

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

void series_add(struct series *series, const struct series_sample *sample)
{
    ARRAY_ADD(series->samples, series->count, *sample);
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
