/* What `flopledger inspect` says of threads and streams, and of the time in which none of them
 * recorded anything. */
#include "base/core/array.h"
#include "base/core/out_of_memory.h"
#include "base/core/saturated.h"
#include "base/core/spare_pages.h"
#include "sections/inspect/inspect_sections.h"

#include <stdlib.h>
#include <string.h>

/* What one track holds. */
struct track_summary {
    uint32_t track;
    int64_t events;
    struct interval span;
    int64_t covered_ns; /* at least one event was open */
};

static void sum_events(struct track_sum *sums, const struct event *events, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        track_sum_add(&sums[events[i].track], (enum event_kind)events[i].kind, events[i].start_ns,
                      events[i].duration_ns);
}

/* Readers that keep events give no sums. These take their memory of the heap, which has no use for
 * the pages that reading left. */
struct track_sum *sums_of_tracks(const struct trace *trace)
{
    struct track_sum *sums = require_memory(calloc((size_t)trace->track_count + 1, sizeof *sums));
    uint32_t note = 0;

    (void)spare_pages_release();
    sum_events(sums, trace->host, trace->host_count);
    /* Notes and work of a device share its tracks: by start, in which order they are quickest. */
    for (uint32_t i = 0; i < trace->device_count; i++) {
        uint32_t first = note;

        while (note < trace->device_note_count &&
               trace->device_notes[note].start_ns <= trace->device[i].start_ns)
            note++;
        sum_events(sums, trace->device_notes + first, note - first);
        sum_events(sums, trace->device + i, 1);
    }
    sum_events(sums, trace->device_notes + note, trace->device_note_count - note);
    for (uint32_t i = 0; i < trace->track_count; i++)
        time_set_complete(&sums[i].times);
    return sums;
}

static int inspect_tracks_by_events(const void *a, const void *b)
{
    const struct track_summary *first = a;
    const struct track_summary *second = b;

    if (first->events != second->events)
        return first->events > second->events ? -1 : 1;
    return first->track < second->track ? -1 : 1;
}

/* One for each track, those with the most events first; free() it. */
static struct track_summary *summarise_tracks(const struct track_sum *sums, uint32_t count)
{
    struct track_summary *summaries = require_memory(calloc((size_t)count + 1, sizeof *summaries));

    for (uint32_t i = 0; i < count; i++) {
        summaries[i] = (struct track_summary){.track = i,
                                              .events = sums[i].events,
                                              .covered_ns = time_set_covered_ns(&sums[i].times)};
        (void)time_set_span(&sums[i].times, &summaries[i].span);
    }
    qsort(summaries, count, sizeof *summaries, inspect_tracks_by_events);
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
           value_time_ns(summaries[i].span.start_ns - time.start_ns))                          \
    COLUMN("last", "last ends at", UNIT_TIME_NS, 3, BAR_NONE,                                  \
           value_time_ns(summaries[i].span.end_ns - time.start_ns))

/* Sorted by events, so the first track without any ends the list. */
struct section *describe_tracks(struct results *results, const struct trace *trace,
                                const struct track_sum *sums, struct recorded_time time,
                                uint32_t top)
{
    struct section *section = section_new(results, "tracks", "Threads and streams", NULL);
    struct table *table =
        section_add_table(results, section, "tracks", NULL, COLUMNS_OF(TRACKS_COLUMNS));
    struct track_summary *summaries = summarise_tracks(sums, trace->track_count);
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

/* A profiler's own span over the whole recording would hide every gap. */
static bool is_span_of_profiler(const struct trace *trace, const struct track *track)
{
    const char *process = trace_text(trace, track->process);

    return strcmp(process, "Spans") == 0 || strcmp(process, "Traces") == 0;
}

/* Equal ones in the order of time, so that the same trace gives the same table. */
static int inspect_tracks_longest_first(const void *a, const void *b)
{
    const struct interval *first = a;
    const struct interval *second = b;
    int64_t difference = (second->end_ns - second->start_ns) - (first->end_ns - first->start_ns);

    if (difference != 0)
        return difference > 0 ? 1 : -1;
    return (first->start_ns > second->start_ns) - (first->start_ns < second->start_ns);
}

/* Where nothing is recorded; of a million of them a table shows ten. */
struct gap_list {
    struct interval *longest; /* [kept], in their order */
    size_t kept;
    size_t room;
    size_t count; /* of all */
    int64_t total_ns;
    int64_t least_ns; /* of those that may be among the longest: more than that */
};

/* Puts the longest first, and forgets what is not of the first `top`: no other may then be among
 * them that is not longer than the last of these. */
static void keep_longest(struct gap_list *gaps, uint32_t top)
{
    if (gaps->kept)
        qsort(gaps->longest, gaps->kept, sizeof *gaps->longest, inspect_tracks_longest_first);
    if (gaps->kept <= top)
        return;
    gaps->kept = top;
    gaps->least_ns = gaps->longest[top - 1].end_ns - gaps->longest[top - 1].start_ns;
}

/* Some more than are shown are collected between two times of sorting. */
static void note_gap(struct gap_list *gaps, int64_t start_ns, int64_t end_ns, uint32_t top)
{
    const size_t some = 256;
    int64_t length_ns = saturated_difference(end_ns, start_ns);

    gaps->count++;
    gaps->total_ns = saturated_sum(gaps->total_ns, length_ns);
    if (length_ns <= gaps->least_ns)
        return;
    if (gaps->kept >= some && gaps->kept / 2 >= top)
        keep_longest(gaps, top);
    ARRAY_RESERVE(gaps->longest, gaps->room, gaps->kept + 1);
    gaps->longest[gaps->kept++] = (struct interval){start_ns, end_ns};
}

/* Notes count, although they are no work: an interval with a note is no gap of the recorder. */
static struct gap_list find_gaps(const struct trace *trace, const struct track_sum *sums,
                                 uint32_t top)
{
    struct gap_list gaps = {0};
    struct time_sets_walk walk = {0};
    struct interval interval;
    int64_t covered_to_ns = 0;

    for (uint32_t i = 0; i < trace->track_count; i++)
        if (!is_span_of_profiler(trace, &trace->tracks[i]))
            time_sets_walk_add(&walk, &sums[i].times);
    for (bool is_first = true; time_sets_next(&walk, &interval); is_first = false) {
        if (!is_first && interval.start_ns > covered_to_ns)
            note_gap(&gaps, covered_to_ns, interval.start_ns, top);
        if (is_first || interval.end_ns > covered_to_ns)
            covered_to_ns = interval.end_ns;
    }
    keep_longest(&gaps, top);
    return gaps;
}

#define GAPS_COLUMNS(COLUMN)                                                        \
    COLUMN("start", "begins at", UNIT_TIME_NS, 0, BAR_NONE,                         \
           value_time_ns(gaps->longest[i].start_ns - time.start_ns))                \
    COLUMN("length", "length", UNIT_TIME_NS, 0, BAR_NONE, value_time_ns(length_ns)) \
    COLUMN("share", "of all", UNIT_FRACTION, 0, BAR,                                \
           value_fraction((double)length_ns / (double)(time.end_ns - time.start_ns)))

static void add_gap_rows(struct results *results, struct section *section,
                         const struct gap_list *gaps, struct recorded_time time)
{
    struct table *table =
        section_add_table(results, section, "gaps", "The longest", COLUMNS_OF(GAPS_COLUMNS));

    table->rows_in_all = gaps->count;
    for (size_t i = 0; i < gaps->kept; i++) {
        int64_t length_ns = gaps->longest[i].end_ns - gaps->longest[i].start_ns;

        FILL_ROW(table_add_row(results, table, 0), GAPS_COLUMNS);
    }
}

struct section *describe_gaps(struct results *results, const struct trace *trace,
                              const struct track_sum *sums, struct recorded_time time, uint32_t top)
{
    struct section *section = section_new(
        results, "gaps", "Gaps", "Stretches in which no thread and no stream recorded anything.");
    struct gap_list gaps = find_gaps(trace, sums, top);

    section_add_value(results, section, "count", "gaps", value_count((int64_t)gaps.count));
    section_add_value(results, section, "total", "total", value_time_ns(gaps.total_ns));
    if (gaps.count > 0)
        add_gap_rows(results, section, &gaps, time);
    free(gaps.longest);
    return section;
}
