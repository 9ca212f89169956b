/* What `flopledger inspect` says of a trace: the file, its events, devices, threads and streams. */
#include "sections/inspect/inspect_sections.h"

#include "base/text/format.h"

#include <stdlib.h>
#include <time.h>

/* Points in time count as well: an event without length is recorded. */
struct recorded_time recorded_time_of(const struct track_sum *sums, uint32_t track_count)
{
    struct recorded_time time = {.start_ns = INT64_MAX, .end_ns = INT64_MIN};
    struct interval span;

    for (uint32_t i = 0; i < track_count; i++) {
        if (!time_set_span(&sums[i].times, &span))
            continue;
        time.start_ns = span.start_ns < time.start_ns ? span.start_ns : time.start_ns;
        time.end_ns = span.end_ns > time.end_ns ? span.end_ns : time.end_ns;
    }
    return time;
}

static void inspect_sections_add_text(struct results *results, struct section *section,
                                      const char *key, const char *title, const char *text)
{
    section_add_value(results, section, key, title, value_text(text));
}

/* A string of the trace as a line of the section. */
struct fact {
    const char *key;
    const char *title;
    uint32_t string; /* 0: not given */
};

static void inspect_sections_add_facts(struct results *results, struct section *section,
                                       const struct trace *trace, const struct fact *facts,
                                       size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (facts[i].string != 0)
            inspect_sections_add_text(results, section, facts[i].key, facts[i].title,
                                      results_text(results, trace_text(trace, facts[i].string)));
    }
}

static const char *date_text(struct results *results, int64_t ns)
{
    time_t seconds = (time_t)(ns / 1000000000);
    struct tm calendar;
    char text[40];

    if (!gmtime_r(&seconds, &calendar) ||
        strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &calendar) == 0)
        return "";
    return results_text(results, text);
}

/* Times before this (2001-09-09) do not count from 1970: they are on a clock of the machine's own.
 */
static const int64_t earliest_date_ns = INT64_C(1000000000) * 1000000000;

/* A begin before the earliest date that can be is a clock that counts from the machine's
 * start, and is not shown as a date of 1970. */
static void add_file_numbers(struct results *results, struct section *section,
                             const struct trace *trace, struct recorded_time time)
{
    const struct read_account *read = &trace->read;

    inspect_sections_add_text(results, section, "format", "format",
                              results_text(results, read->format));
    if (read->recorder[0])
        inspect_sections_add_text(results, section, "recorder", "recorder",
                                  results_text(results, read->recorder));
    inspect_sections_add_text(results, section, "compression", "compression",
                              results_text(results, read->compression));
    section_add_value(results, section, "file_size", "size of the file",
                      read->file_bytes < 0 ? value_not_known("it came through a pipe")
                                           : value_bytes(read->file_bytes));
    section_add_value(results, section, "text_size", "size of its text",
                      value_bytes(read->text_bytes));
    section_add_value(results, section, "events", "events", value_count(read->events));
    if (time.end_ns >= time.start_ns) {
        int64_t begin_ns = trace->facts.base_time_ns + time.start_ns;

        section_add_value(results, section, "recorded_time", "recorded time",
                          value_time_ns(time.end_ns - time.start_ns));
        if (begin_ns >= earliest_date_ns)
            inspect_sections_add_text(results, section, "begins", "begins",
                                      date_text(results, begin_ns));
    }
}

/* Rank and world size are numbers and have no text to be empty, so that they are asked for
 * their sign: 0 is a rank, and -1 is one that the file does not tell. */
static void add_run_facts(struct results *results, struct section *section,
                          const struct trace *trace)
{
    const struct run_facts *run = &trace->facts;
    const struct fact facts[] = {
        {"backend", "communication", run->backend},
        {"hostname", "host", run->hostname},
        {"torch_version", "torch", run->torch_version},
        {"runtime_version",
         run->is_rocm == 1                ? "ROCm"
         : run->platform == PLATFORM_CUDA ? "CUDA"
                                          : "runtime",
         run->cuda_version},
        {"trace_name", "name of the trace", run->trace_name},
    };

    if (trace->read.merged_processes > 1)
        section_add_value(results, section, "merged_recordings", "merged recordings",
                          value_count(trace->read.merged_processes));
    if (run->rank >= 0)
        section_add_value(results, section, "rank", "rank", value_count(run->rank));
    if (run->world_size > 0)
        section_add_value(results, section, "world_size", "ranks in the run",
                          value_count(run->world_size));
    inspect_sections_add_facts(results, section, trace, facts, sizeof facts / sizeof facts[0]);
}

/* Something that was counted while the file was read. */
struct oddity {
    int64_t count;
    const char *what;
};

/* A cut file and a damaged one are told apart: the first ends too early and what is there is
 * whole, the second may lack events anywhere. */
static void inspect_sections_add_damage(struct results *results, struct section *section,
                                        const struct trace *trace)
{
    const struct read_account *read = &trace->read;

    if (read->is_truncated)
        section_add_warning(results, section,
                            "the file is cut: what is printed is of its complete events",
                            results_text(results, read->truncation), NULL);
    if (read->ending != ENDING_CLEAN)
        section_add_warning(results, section,
                            read->ending == ENDING_FOLLOWED
                                ? "something else stands behind the end of the trace"
                                : "the file is damaged behind its last event",
                            results_text(results, read->ending_message), NULL);
    for (uint32_t i = 0; i < read->damage_count; i++)
        section_add_warning(results, section,
                            results_format(results, "byte %lld: damaged, bytes skipped: %lld",
                                           (long long)read->damages[i].byte,
                                           (long long)read->damages[i].length),
                            results_text(results, read->damages[i].message), NULL);
}

/* Each is a counter that the reader raised where it had to set something aside: what is not
 * listed was read as it stands. */
static void add_oddities(struct results *results, struct section *section,
                         const struct trace *trace)
{
    const struct read_account *read = &trace->read;
    const struct oddity oddities[] = {
        {read->damaged_events, "pieces of the text that are no event, skipped"},
        {read->negative_durations, "events with a negative duration, set aside"},
        {read->overflowing_durations, "events with a duration longer than can be, set aside"},
        {read->missing_times, "timed events without a time or duration, set aside"},
        {read->clamped_durations, "slices cut short by the writer, taken as long as the GPU says"},
        {read->ambiguous_slices, "slices that begin when another ends, taken as following it: the "
                                 "file has all begins before all ends"},
        {read->unmatched_begins, "begin events without their end"},
        {read->unmatched_ends, "end events without their begin"},
        {read->replaced_names, "names with control characters or bytes that are not UTF-8"},
        {read->lost_names, "events with a number for a name that the file does not tell"},
        {read->mended_events, "events that are no JSON, read but for what is missing in them"},
        {read->unlinked_device_events, "device events without a launch call"},
        {read->earlier_device_events, "device events launched before the recording began"},
        {read->page_moves, "pages of unified memory moved without a call"},
        {read->early_device_events, "device events that start before their launch call"},
    };

    for (size_t i = 0; i < sizeof oddities / sizeof oddities[0]; i++) {
        if (oddities[i].count > 0)
            section_add_warning(
                results, section,
                results_format(results, "%s: %lld", oddities[i].what, (long long)oddities[i].count),
                NULL, NULL);
    }
}

#define UNUSED_COLUMNS(COLUMN)                                                   \
    COLUMN("name", "part of the file", UNIT_TEXT, 0, BAR_NONE, value_text(name)) \
    COLUMN("count", "records in it", UNIT_COUNT, 0, BAR_NONE, value_count(read->unused[i].count))

/* Names of what is not used are listed up to a limit, the rest is counted: a user sees what a
 * figure is not made of, whatever a newer profiler writes. */
static void add_unused_parts(struct results *results, struct section *section,
                             const struct read_account *read)
{
    struct table *table;

    if (read->unused_count == 0)
        return;
    table = section_add_table(results, section, "unused", "Not used", COLUMNS_OF(UNUSED_COLUMNS));
    for (uint32_t i = 0; i < read->unused_count; i++) {
        const char *name = results_text(results, read->unused[i].name);

        FILL_ROW(table_add_row(results, table, 0), UNUSED_COLUMNS);
    }
    table->note = "Read over: no number of a report comes from it.";
    if (read->unused_more > 0)
        table->note = results_format(results, "%s records of further parts are not used, either.",
                                     format_count(read->unused_more).text);
}

/* A file without an event is readable and still of no use: that is said here, before what is
 * wrong with it in detail. */
struct section *describe_file(struct results *results, const struct trace *trace,
                              struct recorded_time time)
{
    struct section *section = section_new(results, "file", "File", NULL);

    add_file_numbers(results, section, trace, time);
    add_run_facts(results, section, trace);
    if (trace->read.events == 0)
        section_add_note(results, section, "no event in it", NULL, NULL);
    inspect_sections_add_damage(results, section, trace);
    add_oddities(results, section, trace);
    add_unused_parts(results, section, &trace->read);
    return section;
}

/* The letters of the Chrome trace format. Instants have three: "i", the older "I", and "R",
 * the mark of a navigation. */
static const char *phase_title(char phase)
{
    switch (phase) {
    case 'X':
        return "complete";
    case 'B':
        return "begin";
    case 'E':
        return "end";
    case 'i':
    case 'I':
    case 'R':
        return "instant";
    case 'C':
        return "counter";
    case 'M':
        return "metadata";
    case 's':
        return "flow start";
    case 't':
        return "flow step";
    case 'f':
        return "flow end";
    case 'b':
        return "async begin";
    case 'n':
        return "async instant";
    case 'e':
        return "async end";
    case 'N':
        return "object created";
    case 'O':
        return "object snapshot";
    case 'D':
        return "object gone";
    default:
        return "other";
    }
}

/* Ties by category and phase, so that the order is the same wherever the file was read. */
static int inspect_sections_by_events(const void *a, const void *b)
{
    const struct category_count *const *first = a;
    const struct category_count *const *second = b;

    if ((*first)->events != (*second)->events)
        return (*first)->events > (*second)->events ? -1 : 1;
    if ((*first)->category != (*second)->category)
        return (*first)->category < (*second)->category ? -1 : 1;
    return (*first)->phase - (*second)->phase;
}

#define CATEGORIES_COLUMNS(COLUMN)                                                                \
    COLUMN("category", "category", UNIT_TEXT, 0, BAR_NONE, value_text(name))                      \
    COLUMN("phase", "phase", UNIT_TEXT, 1, BAR_NONE,                                              \
           value_text(                                                                            \
               results_format(results, "%c, %s", category->phase, phase_title(category->phase)))) \
    COLUMN("count", "events", UNIT_COUNT, 0, BAR_NONE, value_count(category->events))             \
    COLUMN("share", "of all", UNIT_FRACTION, 2, BAR,                                              \
           value_fraction((double)category->events / (double)trace->read.events))                 \
    COLUMN("first", "first at", UNIT_TIME_NS, 2, BAR_NONE,                                        \
           (!(category->last_end_ns < category->first_start_ns || category->phase == 'M'))        \
               ? value_time_ns(category->first_start_ns - time.start_ns)                          \
               : value_none())                                                                    \
    COLUMN("last", "last ends at", UNIT_TIME_NS, 2, BAR_NONE,                                     \
           (!(category->last_end_ns < category->first_start_ns || category->phase == 'M'))        \
               ? value_time_ns(category->last_end_ns - time.start_ns)                             \
               : value_none())                                                                    \
    COLUMN("total", "total duration", UNIT_TIME_NS, 3, BAR_NONE,                                  \
           (!(category->last_end_ns < category->first_start_ns || category->phase == 'M'))        \
               ? category->phase == 'X' ? value_time_ns(category->total_duration_ns)              \
                                        : value_none()                                            \
               : value_none())

static void add_category_row(struct results *results, struct table *table,
                             const struct trace *trace, const struct category_count *category,
                             struct recorded_time time)
{
    const char *name = category->category == 0
                           ? "(none)"
                           : results_text(results, trace_text(trace, category->category));

    FILL_ROW(table_add_row(results, table, 0), CATEGORIES_COLUMNS);
}

/* Where no track has an event (counters, arrows alone), the first of these is the first. */
static int64_t first_start_ns(const struct trace *trace, struct recorded_time time)
{
    for (uint32_t i = 0; i < trace->read.category_count && time.end_ns < time.start_ns; i++) {
        const struct category_count *category = &trace->read.categories[i];
        int64_t first_ns = category->first_start_ns;

        if (category->phase != 'M' && category->last_end_ns >= first_ns)
            time.start_ns = first_ns < time.start_ns ? first_ns : time.start_ns;
    }
    return time.start_ns;
}

/* Categories beyond the room are summed up in one warning: a file with thousands of them is
 * not made by a profiler, but must not fail. */
struct section *describe_events(struct results *results, const struct trace *trace,
                                struct recorded_time time)
{
    struct section *section = section_new(results, "events", "Events", NULL);
    struct table *table = section_add_table(results, section, "categories", "By category and phase",
                                            COLUMNS_OF(CATEGORIES_COLUMNS));
    const struct category_count *sorted[READ_CATEGORIES_MAX];
    uint32_t count = trace->read.category_count;

    table->note = "Times count from the first timed event.";
    time.start_ns = first_start_ns(trace, time);
    for (uint32_t i = 0; i < count; i++)
        sorted[i] = &trace->read.categories[i];
    qsort(sorted, count, sizeof sorted[0], inspect_sections_by_events);
    for (uint32_t i = 0; i < count; i++)
        add_category_row(results, table, trace, sorted[i], time);
    if (trace->read.uncategorised_events > 0)
        section_add_warning(
            results, section,
            results_format(results, "%lld events of categories past the first %d are not listed",
                           (long long)trace->read.uncategorised_events, READ_CATEGORIES_MAX),
            NULL, NULL);
    return section;
}

#define DEVICES_COLUMNS(COLUMN)                                                                    \
    COLUMN("number", "device", UNIT_COUNT, 0, BAR_NONE, value_count(device->number))               \
    COLUMN("name", "name", UNIT_TEXT, 0, BAR_NONE,                                                 \
           value_text(device->name == 0 ? ""                                                       \
                                        : results_text(results, trace_text(trace, device->name)))) \
    COLUMN("memory", "memory", UNIT_BYTES, 1, BAR_NONE,                                            \
           device->memory_bytes >= 0 ? value_bytes(device->memory_bytes) : value_none())           \
    COLUMN("multiprocessors", "SMs", UNIT_COUNT, 1, BAR_NONE,                                      \
           device->multiprocessors >= 0 ? value_count(device->multiprocessors) : value_none())     \
    COLUMN("capability", "compute capability", UNIT_TEXT, 2, BAR_NONE,                             \
           device->compute_major >= 0                                                              \
               ? value_text(results_format(results, "%d.%d", device->compute_major,                \
                                           device->compute_minor))                                 \
               : value_none())                                                                     \
    COLUMN("events", "kernels, copies and memsets", UNIT_COUNT, 0, BAR_NONE,                       \
           value_count(device->event_count))

struct section *describe_devices(struct results *results, const struct trace *trace)
{
    struct section *section = section_new(results, "devices", "Devices", NULL);
    struct table *table =
        section_add_table(results, section, "devices", NULL, COLUMNS_OF(DEVICES_COLUMNS));

    for (uint32_t i = 0; i < trace->device_list_count; i++) {
        const struct device *device = &trace->devices[i];

        FILL_ROW(table_add_row(results, table, 0), DEVICES_COLUMNS);
    }
    return section;
}
