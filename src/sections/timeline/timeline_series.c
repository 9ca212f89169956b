/* The series of a timeline. */
#include "sections/timeline/timeline_parts.h"

#include <string.h>

/* More than can be told apart on a page; a recording of hardware counters may have hundreds. */
enum { SERIES_MAX = 64 };

/* The list is copied with each new one, which is quadratic in at most SERIES_MAX and a few
 * more. A pointer that was handed out before points into an older copy: each series is filled
 * before the next is added. */
struct timeline_series *timeline_add_series(struct results *results, struct timeline *timeline,
                                            const struct timeline_series *description)
{
    struct timeline_series *all;
    struct timeline_series *added;

    all = results_allocate(results, (timeline->series_count + 1) * sizeof *all);
    if (timeline->series_count)
        memcpy(all, timeline->series, timeline->series_count * sizeof *all);
    timeline->series = all;
    added = &all[timeline->series_count++];
    *added = *description;
    added->times_ns = results_allocate(results, SERIES_POINTS_MAX * sizeof *added->times_ns);
    added->values =
        results_allocate(results, SERIES_POINTS_MAX * added->line_count * sizeof *added->values);
    return added;
}

static double timeline_series_sum_of(const double *values, size_t count)
{
    double sum = 0;

    for (size_t i = 0; i < count; i++)
        sum += values[i];
    return sum;
}

void series_thinner_take(struct series_thinner *thinner, int64_t time_ns, const double *values)
{
    struct timeline_series *series = thinner->series;
    /* Of the samples that fall into one column of the page the largest is kept, not the mean: a
     * peak of memory that lasts a microsecond is what is looked for, and must not be averaged
     * away. */
    int64_t bucket_ns = (thinner->end_ns - thinner->start_ns) / SERIES_POINTS_MAX + 1;
    int64_t bucket = (time_ns - thinner->start_ns) / bucket_ns;
    double sum = timeline_series_sum_of(values, series->summed_count);

    series->merged_count++;
    /* Counters may be sampled before the first event and after the last. */
    bucket = bucket < 0 ? 0 : bucket >= SERIES_POINTS_MAX ? SERIES_POINTS_MAX - 1 : bucket;
    if (series->point_count > 0 && thinner->bucket == bucket) {
        if (sum <= thinner->most)
            return;
        series->point_count--;
    }
    thinner->bucket = bucket;
    thinner->most = sum;
    series->times_ns[series->point_count] = time_ns - thinner->start_ns;
    memcpy(&series->values[series->point_count * series->line_count], values,
           series->line_count * sizeof *values);
    series->point_count++;
}

/* A counter of thousands of samples is thinned to what a chart can show, by the times of the
 * timeline: all series of a page then share one axis. */
static void add_counter(struct results *results, struct timeline *timeline,
                        const struct trace *trace, const struct series *counter, int64_t start_ns)
{
    const char *name = results_text(results, trace_text(trace, counter->name));
    const char *title = counter->device == SERIES_OF_HOST
                            ? name
                            : results_format(results, "%s, device %d", name, counter->device);
    const char **texts = results_allocate(results, sizeof *texts);
    struct series_thinner thinner = {.start_ns = start_ns,
                                     .end_ns = start_ns + timeline->duration_ns};

    texts[0] = name;
    thinner.series = timeline_add_series(
        results, timeline,
        &(struct timeline_series){.key = "counter",
                                  .title = title,
                                  .unit = results_text(results, trace_text(trace, counter->unit)),
                                  .line_keys = texts,
                                  .line_titles = texts,
                                  .line_count = 1,
                                  .summed_count = 1});
    for (size_t i = 0; i < counter->count; i++)
        series_thinner_take(&thinner, counter->samples[i].time_ns, &counter->samples[i].value);
}

/* In the order in which the file names them; what is beyond SERIES_MAX is left out. */
void timeline_add_counters(struct results *results, struct timeline *timeline,
                           const struct trace *trace, int64_t start_ns)
{
    for (uint32_t i = 0; i < trace->series.count && timeline->series_count < SERIES_MAX; i++)
        if (trace->series.series[i].count > 0)
            add_counter(results, timeline, trace, &trace->series.series[i], start_ns);
}
