/* What `flopledger inspect` says of threads and streams, and of the time in which none of them
 * recorded anything. */
#include "base/core/array.h"
#include "base/core/large_array.h"
#include "base/core/large_sort.h"
#include "base/core/out_of_memory.h"
#include "sections/inspect/inspect_sections.h"

#include <stdlib.h>
#include <string.h>

struct interval {
    int64_t start_ns;
    int64_t end_ns;
};

/* What one track holds. */
struct track_summary {
    uint32_t track;
    int64_t events;
    int64_t first_ns;
    int64_t last_ns;
    int64_t covered_ns; /* at least one event was open */
};

/* The union of a track's events: what is covered already counts once, as events come by start. */
static void inspect_tracks_take_event(struct track_summary *summary, const struct event *event)
{
    int64_t end_ns = event_end_ns(event);

    if (summary->events++ == 0) {
        summary->first_ns = event->start_ns;
        summary->last_ns = event->start_ns;
    }
    if (end_ns > summary->last_ns) { /* events come by start */
        summary->covered_ns +=
            end_ns - (event->start_ns > summary->last_ns ? event->start_ns : summary->last_ns);
        summary->last_ns = end_ns;
    }
}

static int inspect_tracks_by_events(const void *a, const void *b)
{
    const struct track_summary *first = a;
    const struct track_summary *second = b;

    if (first->events != second->events)
        return first->events > second->events ? -1 : 1;
    return first->track < second->track ? -1 : 1;
}

/* One for each track, those with the most events first; free() it. Events of `device` and
 * `device_notes` that share a track are merged by start. */
static struct track_summary *summarise_tracks(const struct trace *trace)
{
    struct track_summary *summaries = calloc(trace->track_count + 1, sizeof *summaries);
    uint32_t note = 0;

    if (!summaries)
        end_out_of_memory();
    for (uint32_t i = 0; i < trace->track_count; i++)
        summaries[i].track = i;
    for (uint32_t i = 0; i < trace->host_count; i++)
        inspect_tracks_take_event(&summaries[trace->host[i].track], &trace->host[i]);
    for (uint32_t i = 0; i < trace->device_count; i++) {
        for (; note < trace->device_note_count &&
               trace->device_notes[note].start_ns <= trace->device[i].start_ns;
             note++)
            inspect_tracks_take_event(&summaries[trace->device_notes[note].track],
                                      &trace->device_notes[note]);
        inspect_tracks_take_event(&summaries[trace->device[i].track], &trace->device[i]);
    }
    for (; note < trace->device_note_count; note++)
        inspect_tracks_take_event(&summaries[trace->device_notes[note].track],
                                  &trace->device_notes[note]);
    for (uint32_t i = 0; i < trace->track_count; i++)
        summaries[i].events += trace->tracks[i].joined_events;
    qsort(summaries, trace->track_count, sizeof *summaries, inspect_tracks_by_events);
    return summaries;
}

/* The stream's number is preferred on a device: names of device rows differ between profilers.
 * A name without its process would be ambiguous, since workers of a loader are called alike. */
static const char *track_title(struct results *results, const struct trace *trace,
                               const struct track *track)
{
    const char *process = trace_text(trace, track->process);
    const char *thread = trace_text(trace, track->thread);

    if (track->is_device && track->stream >= 0)
        return results_format(results, "device %d, stream %lld", track->device,
                              (long long)track->stream);
    if (track->is_device)
        return results_format(results, "device %d, %s", track->device, thread);
    if (track->thread_name != 0)
        return results_format(results, "%s, process %s", trace_text(trace, track->thread_name),
                              process);
    return results_format(results, "thread %s, process %s", thread, process);
}

#define TRACKS_COLUMNS(COLUMN)                                                                 \
    COLUMN("track", "thread or stream", UNIT_TEXT, 0, BAR_NONE,                                \
           value_text(track_title(results, trace, &trace->tracks[summaries[i].track])))        \
    COLUMN("events", "events", UNIT_COUNT, 0, BAR_NONE, value_count(summaries[i].events))      \
    COLUMN("covered", "time covered", UNIT_TIME_NS, 1, BAR_NONE,                               \
           value_time_ns(summaries[i].covered_ns))                                             \
    COLUMN("share", "of all", UNIT_FRACTION, 1, BAR,                                           \
           length_ns > 0 ? value_fraction((double)summaries[i].covered_ns / (double)length_ns) \
                         : value_none())                                                       \
    COLUMN("first", "first at", UNIT_TIME_NS, 3, BAR_NONE,                                     \
           value_time_ns(summaries[i].first_ns - time.start_ns))                               \
    COLUMN("last", "last ends at", UNIT_TIME_NS, 3, BAR_NONE,                                  \
           value_time_ns(summaries[i].last_ns - time.start_ns))

/* Sorted by events, so the first track without any ends the list. */
struct section *describe_tracks(struct results *results, const struct trace *trace,
                                struct recorded_time time, uint32_t top)
{
    struct section *section = section_new(results, "tracks", "Threads and streams", NULL);
    struct table *table =
        section_add_table(results, section, "tracks", NULL, COLUMNS_OF(TRACKS_COLUMNS));
    struct track_summary *summaries = summarise_tracks(trace);
    int64_t length_ns = time.end_ns - time.start_ns;

    for (uint32_t i = 0; i < trace->track_count && summaries[i].events > 0; i++) {
        struct value *row;

        table->rows_in_all++;
        if (i >= top)
            continue;
        row = table_add_row(results, table, 0);
        FILL_ROW(row, TRACKS_COLUMNS);
    }
    free(summaries);
    return section;
}

/* Stretches in which something is recorded, one track after the other. */
struct interval_list {
    struct interval *intervals;
    size_t count;
};

/* Joined on the way where events come in order, which keeps the list short: a track of a
 * million nested events is a few stretches. */
static void inspect_tracks_add_interval(struct interval_list *list, int64_t start_ns,
                                        int64_t end_ns, bool may_join)
{
    struct interval *last = list->count > 0 ? &list->intervals[list->count - 1] : NULL;

    if (may_join && last && start_ns >= last->start_ns && start_ns <= last->end_ns) {
        if (end_ns > last->end_ns)
            last->end_ns = end_ns;
        return;
    }
    LARGE_ARRAY_ADD(list->intervals, list->count, (struct interval){start_ns, end_ns});
}

/* For each track, whether it is the profiler's own span over the whole recording: it would hide
 * every gap. free() it. */
static bool *spans_of_profiler(const struct trace *trace)
{
    bool *is_span = require_memory(calloc((size_t)trace->track_count + 1, sizeof *is_span));

    for (uint32_t i = 0; i < trace->track_count; i++) {
        const char *process = trace_text(trace, trace->tracks[i].process);

        is_span[i] = strcmp(process, "Spans") == 0 || strcmp(process, "Traces") == 0;
    }
    return is_span;
}

static void add_events(struct interval_list *list, const bool *is_left_out,
                       const struct event *events, uint32_t count)
{
    int64_t from_ns = 0, until_ns = INT64_MIN; /* of the last: most events lie in it */

    for (uint32_t i = 0; i < count; i++) {
        int64_t start_ns = events[i].start_ns, end_ns = event_end_ns(&events[i]);

        if (is_left_out[events[i].track] || (start_ns >= from_ns && end_ns <= until_ns))
            continue;
        inspect_tracks_add_interval(list, start_ns, end_ns, i > 0);
        from_ns = list->intervals[list->count - 1].start_ns;
        until_ns = list->intervals[list->count - 1].end_ns;
    }
}

static int inspect_tracks_by_start(const void *a, const void *b, void *argument)
{
    const struct interval *first = a;
    const struct interval *second = b;

    (void)argument;
    return (first->start_ns > second->start_ns) - (first->start_ns < second->start_ns);
}

/* Equal ones in the order of time, so that the same trace gives the same table. */
static int inspect_tracks_longest_first(const void *a, const void *b, void *argument)
{
    const struct interval *first = a;
    const struct interval *second = b;
    int64_t difference = (second->end_ns - second->start_ns) - (first->end_ns - first->start_ns);

    if (difference != 0)
        return difference > 0 ? 1 : -1;
    return inspect_tracks_by_start(a, b, argument);
}

/* The stretches between those of `recorded`, which is sorted by start on the way. Sorted by
 * start, then one pass with the end of what is covered so far. O(n log n). */
static struct interval_list gaps_between(struct interval_list *recorded)
{
    struct interval_list gaps = {0};
    int64_t covered_to_ns = INT64_MAX;

    if (recorded->count > 0)
        sort_large(recorded->intervals, recorded->count,
                   &(struct large_order){.element_bytes = sizeof *recorded->intervals,
                                         .compare = inspect_tracks_by_start});
    for (size_t i = 0; i < recorded->count; i++) {
        const struct interval *interval = &recorded->intervals[i];

        if (interval->start_ns > covered_to_ns)
            inspect_tracks_add_interval(&gaps, covered_to_ns, interval->start_ns, false);
        if (i == 0 || interval->end_ns > covered_to_ns)
            covered_to_ns = interval->end_ns;
    }
    return gaps;
}

/* The longest `top` come first, in their order; the rest stands behind them in any. Of a million
 * gaps a table shows ten: those are inserted one by one, where there are not too many of them. */
static void bring_longest_first(struct interval_list *gaps, uint32_t top)
{
    const uint32_t few = 64;
    size_t sorted = gaps->count < top || top > few ? gaps->count : top;

    if (sorted > 0)
        sort_large(gaps->intervals, sorted,
                   &(struct large_order){.element_bytes = sizeof *gaps->intervals,
                                         .compare = inspect_tracks_longest_first});
    for (size_t i = sorted; i < gaps->count && sorted > 0; i++) {
        struct interval *interval = &gaps->intervals[i];

        for (size_t at = sorted;
             at > 0 && inspect_tracks_longest_first(interval, &gaps->intervals[at - 1], NULL) < 0;
             at--) {
            struct interval longer = *interval;

            *interval = gaps->intervals[at - 1];
            gaps->intervals[at - 1] = longer;
            interval = &gaps->intervals[at - 1];
        }
    }
}

#define GAPS_COLUMNS(COLUMN)                                                        \
    COLUMN("start", "begins at", UNIT_TIME_NS, 0, BAR_NONE,                         \
           value_time_ns(gaps->intervals[i].start_ns - time.start_ns))              \
    COLUMN("length", "length", UNIT_TIME_NS, 0, BAR_NONE, value_time_ns(length_ns)) \
    COLUMN("share", "of all", UNIT_FRACTION, 0, BAR,                                \
           value_fraction((double)length_ns / (double)(time.end_ns - time.start_ns)))

static void add_gap_rows(struct results *results, struct section *section,
                         const struct interval_list *gaps, struct recorded_time time, uint32_t top)
{
    struct table *table =
        section_add_table(results, section, "gaps", "The longest", COLUMNS_OF(GAPS_COLUMNS));

    table->rows_in_all = gaps->count;
    for (size_t i = 0; i < gaps->count && i < top; i++) {
        int64_t length_ns = gaps->intervals[i].end_ns - gaps->intervals[i].start_ns;

        FILL_ROW(table_add_row(results, table, 0), GAPS_COLUMNS);
    }
}

/* Spans that a profiler writes around its whole recording would fill every gap; they are left
 * out. */
struct section *describe_gaps(struct results *results, const struct trace *trace,
                              struct recorded_time time, uint32_t top)
{
    struct section *section = section_new(
        results, "gaps", "Gaps", "Stretches in which no thread and no stream recorded anything.");
    struct interval_list recorded = {0};
    struct interval_list gaps;
    bool *is_span = spans_of_profiler(trace);
    int64_t total_ns = 0;

    add_events(&recorded, is_span, trace->host, trace->host_count);
    add_events(&recorded, is_span, trace->device, trace->device_count);
    /* Notes count as recorded, although they are no work: a stretch with a note is no gap of
     * the recorder. */
    add_events(&recorded, is_span, trace->device_notes, trace->device_note_count);
    free(is_span);
    gaps = gaps_between(&recorded);
    bring_longest_first(&gaps, top);
    /* Of all gaps, also of those that the table below cuts off. */
    for (size_t i = 0; i < gaps.count; i++)
        total_ns += gaps.intervals[i].end_ns - gaps.intervals[i].start_ns;
    section_add_value(results, section, "count", "gaps", value_count((int64_t)gaps.count));
    section_add_value(results, section, "total", "total", value_time_ns(total_ns));
    if (gaps.count > 0)
        add_gap_rows(results, section, &gaps, time, top);
    large_array_free(recorded.intervals);
    large_array_free(gaps.intervals);
    return section;
}
