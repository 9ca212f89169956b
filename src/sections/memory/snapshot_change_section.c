/* What grew and what shrank from one snapshot to another, at their peaks. */
#include "memory/snapshot_growth.h"
#include "memory/snapshot_layout.h"
#include "sections/memory/snapshot_sections.h"

#define TOTALS_COLUMNS(COLUMN)                                                       \
    COLUMN("what", "what", UNIT_TEXT, 0, BAR_NONE, value_text(title))                \
    COLUMN("before", "before", UNIT_BYTES, 0, BAR_NONE, value_bytes(before))         \
    COLUMN("after", "after", UNIT_BYTES, 0, BAR_NONE, value_bytes(after))            \
    COLUMN("change", "change", UNIT_BYTES, 0, BAR_NONE, value_bytes(after - before)) \
    COLUMN("relative", "change of it", UNIT_FRACTION, 1, BAR_NONE,                   \
           before > 0 ? value_fraction(share_of(after - before, before)) : value_none())

/* ---- totals ---- */

static void add_total(struct results *results, struct table *table, const char *title,
                      int64_t before, int64_t after)
{
    FILL_ROW(table_add_row(results, table, 0), TOTALS_COLUMNS);
}

/* Peaks are compared with peaks and ends with ends, although they are at different times of
 * the two runs: the same moment does not exist in both. What is stuck or
 * releasable is told of the end, where the layout is exact. */
static void snapshot_change_section_add_totals(struct results *results, struct section *section,
                                               const struct snapshot_replay *before,
                                               const struct snapshot_replay *after)
{
    struct table *table =
        section_add_table(results, section, "totals", "Total", COLUMNS_OF(TOTALS_COLUMNS));
    struct memory_layout one = {0};
    struct memory_layout other = {0};

    lay_out_end(&one, before);
    lay_out_end(&other, after);
    add_total(results, table, "peak", before->live_bytes[before->peak_moment],
              after->live_bytes[after->peak_moment]);
    add_total(results, table, "reserved at the peak", before->reserved_bytes[before->peak_moment],
              after->reserved_bytes[after->peak_moment]);
    add_total(results, table, "allocated when the trace begins", before->base_bytes,
              after->base_bytes);
    add_total(results, table, "allocated when it ends", before->live_bytes[before->event_count],
              after->live_bytes[after->event_count]);
    add_total(results, table, "reserved when it ends", one.reserved_bytes, other.reserved_bytes);
    add_total(results, table, "free, but stuck", one.stuck_bytes, other.stuck_bytes);
    add_total(results, table, "free, and releasable", one.releasable_bytes, other.releasable_bytes);
    memory_layout_clear(&one);
    memory_layout_clear(&other);
}

/* ---- by place and module ---- */

/* A place without its line number, which moves when the file is edited. */
static const char *function_label(struct results *results, const struct snapshot_places *places,
                                  uint32_t id)
{
    const struct snapshot_place *place = &places->places[id];
    const struct snapshot_frame *frame;

    if (place->frame == SNAPSHOT_NONE)
        return place_label(results, places, id);
    frame = &places->snapshot->frames[place->frame];
    return results_format(results, "%s %s",
                          short_path(snapshot_text(places->snapshot, frame->file)),
                          snapshot_text(places->snapshot, frame->name));
}

/* By label, since ids of places are those of one snapshot. */
static void snapshot_change_section_take_places(struct results *results,
                                                struct memory_change *change, enum change_side side,
                                                const struct snapshot_view *view)
{
    struct memory_shares shares = shares_by_place(view, view->replay->peak_moment);

    for (uint32_t i = 0; i < shares.count; i++)
        memory_change_add(change, side, function_label(results, view->places, shares.shares[i].key),
                          shares.shares[i].bytes, shares.shares[i].blocks);
    memory_shares_clear(&shares);
}

static void collect_modules(struct memory_change *change, enum change_side side,
                            const struct snapshot_view *view)
{
    struct memory_shares shares = shares_by_module(view, view->replay->peak_moment);

    for (uint32_t i = 0; i < shares.count; i++) {
        const char *name = owner_name(view->owners, shares.shares[i].key);

        memory_change_add(change, side, name[0] ? name : "(none)", shares.shares[i].bytes,
                          shares.shares[i].blocks);
    }
    memory_shares_clear(&shares);
}

#define CHANGE_COLUMNS(COLUMN)                                                               \
    COLUMN("what", title->of_what, UNIT_TEXT, 0, BAR_NONE,                                   \
           value_text(results_text(results, string_pool_text(&change->names, share->name)))) \
    COLUMN("change", "change", UNIT_BYTES, 0, BAR_NONE,                                      \
           value_bytes(share->after_bytes - share->before_bytes))                            \
    COLUMN("before", "before", UNIT_BYTES, 1, BAR_NONE, value_bytes(share->before_bytes))    \
    COLUMN("after", "after", UNIT_BYTES, 1, BAR_NONE, value_bytes(share->after_bytes))       \
    COLUMN("blocks_before", "blocks before", UNIT_COUNT, 2, BAR_NONE,                        \
           value_count(share->before_blocks))                                                \
    COLUMN("blocks_after", "blocks after", UNIT_COUNT, 2, BAR_NONE,                          \
           value_count(share->after_blocks))

/* How a table of changes is called. */
struct change_title {
    const char *key;
    const char *title;
    const char *of_what;
};

/* Sorted by change, so rows without one are at the end. */
static void snapshot_change_section_add_changes(struct results *results, struct section *section,
                                                uint32_t top, const struct change_title *title,
                                                struct memory_change *change)
{
    struct table *table =
        section_add_table(results, section, title->key, title->title, COLUMNS_OF(CHANGE_COLUMNS));

    memory_change_sort(change);
    for (uint32_t i = 0; i < change->count; i++) {
        const struct changed_share *share = &change->shares[i];
        struct value *cells;

        if (share->after_bytes == share->before_bytes)
            break; /* they are the last */
        table->rows_in_all++;
        if (i >= top)
            continue;
        cells = table_add_row(results, table, 0);
        FILL_ROW(cells, CHANGE_COLUMNS);
    }
}

/* By function, not by line: lines move when a file is edited between the two, functions keep
 * their names. */
struct section *describe_snapshot_change(struct results *results,
                                         const struct snapshot_view *before,
                                         const struct snapshot_view *after)
{
    static const struct change_title by_function = {
        "by_function", "At the peaks, by function (lines move when a file is edited)",
        "allocated by"};
    static const struct change_title by_module = {"by_module", "At the peaks, by module", "module"};
    struct section *section =
        section_new(results, "snapshot_change", "What changed",
                    "The peak of each snapshot, beside each other: what grew and what shrank.");
    struct memory_change places = {0};
    struct memory_change modules = {0};

    snapshot_change_section_add_totals(results, section, before->replay, after->replay);
    snapshot_change_section_take_places(results, &places, CHANGE_BEFORE, before);
    snapshot_change_section_take_places(results, &places, CHANGE_AFTER, after);
    snapshot_change_section_add_changes(results, section, after->top, &by_function, &places);
    if (before->owners->has_tags || after->owners->has_tags) {
        collect_modules(&modules, CHANGE_BEFORE, before);
        collect_modules(&modules, CHANGE_AFTER, after);
        snapshot_change_section_add_changes(results, section, after->top, &by_module, &modules);
    }
    memory_change_clear(&places);
    memory_change_clear(&modules);
    return section;
}
