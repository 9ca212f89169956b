/* A snapshot's memory over time, and what grows in it. */
#include "base/text/format.h"
#include "memory/snapshot_growth.h"
#include "sections/memory/snapshot_sections.h"

#include <string.h>

enum { SLICES_MIN = 24, SLICES_MAX = 240 };

/* ---- the timeline ---- */

static uint32_t slice_count(const struct snapshot_view *view)
{
    uint32_t count = view->top < SLICES_MIN ? SLICES_MIN : view->top;

    if (count > SLICES_MAX)
        count = SLICES_MAX;
    return count < view->replay->event_count ? count : view->replay->event_count;
}

#define SLICES_COLUMNS(COLUMN)                                                                  \
    COLUMN("from", "from", UNIT_TIME_NS, 0, BAR_NONE, value_time_ns(from_ns))                   \
    COLUMN("most", "most allocated", UNIT_BYTES, 0, BAR_NONE,                                   \
           value_bytes(replay->live_bytes[most]))                                               \
    COLUMN("share_of_peak", "of the peak", UNIT_FRACTION, 0, BAR,                               \
           value_fraction(share_of(replay->live_bytes[most], peak)))                            \
    COLUMN("least", "least", UNIT_BYTES, 2, BAR_NONE, value_bytes(replay->live_bytes[least]))   \
    COLUMN("reserved", "reserved", UNIT_BYTES, 1, BAR_NONE,                                     \
           value_bytes(replay->reserved_bytes[most]))                                           \
    COLUMN("events", "events", UNIT_COUNT, 3, BAR_NONE, value_count(last - first))              \
    COLUMN("annotation", "inside", UNIT_TEXT, 2, BAR_NONE,                                      \
           (annotations && annotations[most])                                                   \
               ? value_text(results_text(results, owner_name(view->owners, annotations[most]))) \
               : value_none())

/* Of the moments from `first` to `last`, without it. */
static uint32_t moment_of_most(const struct snapshot_replay *replay, uint32_t first, uint32_t last)
{
    uint32_t most = first;

    for (uint32_t moment = first; moment < last; moment++)
        if (replay->live_bytes[moment] > replay->live_bytes[most])
            most = moment;
    return most;
}

static uint32_t moment_of_least(const struct snapshot_replay *replay, uint32_t first, uint32_t last)
{
    uint32_t least = first;

    for (uint32_t moment = first; moment < last; moment++)
        if (replay->live_bytes[moment] < replay->live_bytes[least])
            least = moment;
    return least;
}

/* Slices of equal time, each from its first moment to the next one's. Each moment is in one
 * slice; slices in which nothing happened are left out. */
static void add_slices(struct results *results, struct table *table,
                       const struct snapshot_view *view)
{
    const struct snapshot_replay *replay = view->replay;
    const uint32_t *annotations = view->owners->annotation_of_moment;
    int64_t peak = replay->live_bytes[replay->peak_moment];
    int64_t duration_ns = moment_time_ns(replay, replay->event_count);
    uint32_t count = slice_count(view);
    uint32_t first = 0;

    for (uint32_t i = 0; i < count; i++) {
        int64_t from_ns = duration_ns / count * i;
        uint32_t last = i + 1 == count ? replay->event_count + 1
                                       : moment_at(replay, duration_ns / count * (i + 1));
        uint32_t most = moment_of_most(replay, first, last);
        uint32_t least = moment_of_least(replay, first, last);

        if (last <= first)
            continue; /* nothing happened */
        FILL_ROW(table_add_row(results, table, 0), SLICES_COLUMNS);
        first = last;
    }
}

/* A slice shows the most within it, not a value at its edge: a peak is often shorter than a
 * slice. */
struct section *describe_snapshot_timeline(struct results *results,
                                           const struct snapshot_view *view)
{
    struct section *section;
    struct table *table;

    if (view->replay->event_count == 0)
        return NULL;
    section = section_new(results, "snapshot_timeline", "Memory over time",
                          "The most that was allocated in each slice of the trace's time.");
    table = section_add_table(results, section, "slices", "Memory over time",
                              COLUMNS_OF(SLICES_COLUMNS));
    add_slices(results, table, view);
    return section;
}

#define GROWING_COLUMNS(COLUMN)                                                                  \
    COLUMN("where", "allocated by", UNIT_TEXT, 0, BAR_NONE,                                      \
           value_text(place_label(results, view->places, place->place)))                         \
    COLUMN("growth", "growth", UNIT_BYTES, 0, BAR_NONE, value_bytes(growth_bytes(place)))        \
    COLUMN("first_quarter", "least in the 1st quarter", UNIT_BYTES, 1, BAR_NONE,                 \
           value_bytes(place->least_bytes[0]))                                                   \
    COLUMN("second_quarter", "2nd", UNIT_BYTES, 2, BAR_NONE, value_bytes(place->least_bytes[1])) \
    COLUMN("third_quarter", "3rd", UNIT_BYTES, 2, BAR_NONE, value_bytes(place->least_bytes[2]))  \
    COLUMN("fourth_quarter", "4th", UNIT_BYTES, 1, BAR_NONE, value_bytes(place->least_bytes[3])) \
    COLUMN("steady", "steady", UNIT_TEXT, 1, BAR_NONE, value_text(place->is_steady ? "yes" : "no"))

/* ---- what grows ---- */

static void add_growth_rows(struct results *results, struct section *section,
                            const struct snapshot_view *view, const struct memory_growth *growth)
{
    struct table *table = section_add_table(results, section, "growing", "Growth by line of code",
                                            COLUMNS_OF(GROWING_COLUMNS));
    uint32_t rows = snapshot_rows(view, growth->count);

    for (uint32_t i = 0; i < rows; i++) {
        const struct place_growth *place = &growth->places[i];

        FILL_ROW(table_add_row(results, table, 0), GROWING_COLUMNS);
    }
    table->rows_in_all = growth->count;
}

/* Gradients come one after the other while the first backward runs: no leak. */
static bool is_gradient(const struct snapshot_view *view, uint32_t place)
{
    const struct snapshot_places *places = view->places;

    return strcmp(string_pool_text(&places->names, places->places[place].name), "AccumulateGrad") ==
           0;
}

/* What rises in every quarter, by a hundredth of the peak or more. The least of a quarter, not
 * the most: what is freed each step falls back, what leaks does not. */
static void add_leaks(struct results *results, struct section *section,
                      const struct snapshot_view *view, const struct memory_growth *growth)
{
    int64_t peak = view->replay->live_bytes[view->replay->peak_moment];

    for (uint32_t i = 0; i < growth->count; i++) {
        const struct place_growth *place = &growth->places[i];

        if (!place->is_steady || growth_bytes(place) < peak / 100 ||
            is_gradient(view, place->place))
            continue;
        section_add_note(results, section,
                         results_format(results, "%s holds more and more: %s more at the end",
                                        place_label(results, view->places, place->place),
                                        format_bytes(growth_bytes(place)).text),
                         "the least it held rises in each quarter of the trace",
                         "if the trace covers several steps, this is a leak: look for tensors "
                         "kept in a list, or a loss summed up without .item() or .detach()");
    }
}

/* The least of each quarter, not the most: what rises and falls with each step has the same
 * least, what is never given back raises it. */
struct section *describe_snapshot_growth(struct results *results, const struct snapshot_view *view)
{
    struct memory_growth growth = {0};
    struct section *section;

    if (view->replay->event_count == 0)
        return NULL;
    measure_growth(&growth, view->replay, view->places);
    section = section_new(
        results, "snapshot_growth", "Growth",
        "The least that each line of code held in each quarter of the trace: what rises was not "
        "given back.");
    section_add_value(results, section, "growth", "allocated, end less begin",
                      value_bytes(view->replay->live_bytes[view->replay->event_count] -
                                  view->replay->base_bytes));
    add_growth_rows(results, section, view, &growth);
    add_leaks(results, section, view, &growth);
    memory_growth_clear(&growth);
    return section;
}
