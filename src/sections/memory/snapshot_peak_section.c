/* The peak of a snapshot: how much, when, and what it consisted of. */
#include "base/core/hash_map.h"
#include "base/core/invariant.h"
#include "base/text/format.h"
#include "memory/snapshot_owners.h"
#include "sections/memory/snapshot_sections.h"

#include <stdlib.h>

static const char needs_events[] =
    "needs events: call torch.cuda.memory._record_memory_history() before the model is built";
static const char needs_tags[] =
    "needs tags, which the program sets with torch.cuda.memory's _set_memory_metadata";

/* ---- how much, and when ---- */

static const char *annotation_at(const struct snapshot_view *view, uint32_t moment)
{
    const uint32_t *of_moment = view->owners->annotation_of_moment;

    return of_moment && of_moment[moment] ? owner_name(view->owners, of_moment[moment]) : NULL;
}

/* Both the time and the number of the event: times of many events are the same, and only the
 * number says which of them it was. */
static void add_moment(struct results *results, struct section *section,
                       const struct snapshot_view *view)
{
    const struct snapshot_replay *replay = view->replay;
    uint32_t peak = replay->peak_moment;
    const char *annotation = annotation_at(view, peak);
    struct short_text duration = format_time(moment_time_ns(replay, replay->event_count));
    const char *time_note = results_format(results, "of %s in the trace%s%s%s", duration.text,
                                           annotation ? ", inside '" : "",
                                           annotation ? annotation : "", annotation ? "'" : "");
    const char *event_note =
        results_format(results, "of %s", format_count(replay->event_count).text);

    section_add_number(results, section,
                       (struct number){.key = "peak_time",
                                       .title = "reached after",
                                       .value = value_time_ns(moment_time_ns(replay, peak)),
                                       .note = time_note});
    section_add_number(results, section,
                       (struct number){.key = "peak_event",
                                       .title = "by event",
                                       .value = value_count(peak),
                                       .note = event_note});
}

/* The most reserved is told apart from what was reserved at the peak: the allocator keeps
 * segments, so that the two moments need not be the same. */
static void snapshot_peak_add_totals(struct results *results, struct section *section,
                                     const struct snapshot_view *view)
{
    const struct snapshot_replay *replay = view->replay;
    uint32_t peak = replay->peak_moment;
    const struct number numbers[] = {
        {.key = "reserved_at_peak",
         .title = "reserved then",
         .value = value_bytes(replay->reserved_bytes[peak]),
         .note = "taken from the device, used or not"},
        {.key = "pending_at_peak",
         .title = "waiting to be free then",
         .value = value_bytes(pending_bytes_at(replay, peak)),
         .note = "given back, but another stream may still use it (record_stream)"},
        {.key = "start_bytes",
         .title = "allocated when the trace begins",
         .value = value_bytes(replay->base_bytes)},
        {.key = "end_bytes",
         .title = "allocated when it ends",
         .value = value_bytes(replay->live_bytes[replay->event_count])},
        {.key = "reserved_peak",
         .title = "most reserved",
         .value = value_bytes(replay->reserved_bytes[replay->reserved_peak_moment])},
    };

    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        section_add_number(results, section, numbers[i]);
}

/* ---- what it consisted of ---- */

enum { DEPTH_SHOWN_MAX = 10 };

#define CALLS_COLUMNS(COLUMN)                                                               \
    COLUMN("call", "call", UNIT_TEXT, 0, BAR_NONE,                                          \
           value_text(frame ? frame_label(results, snapshot, frame)                         \
                            : place_label(results, view->places, node->place)))             \
    COLUMN("bytes", "allocated inside", UNIT_BYTES, 0, BAR_NONE, value_bytes(node->bytes))  \
    COLUMN("share", "share", UNIT_FRACTION, 0, BAR,                                         \
           value_fraction(share_of(node->bytes, tree.bytes)))                               \
    COLUMN("blocks", "blocks", UNIT_COUNT, 1, BAR_NONE, value_count(node->blocks))          \
    COLUMN("caller", "called by", UNIT_TEXT, 2, BAR_NONE,                                   \
           frame && node->parent != SNAPSHOT_NONE                                           \
               ? value_text(frame_label(results, snapshot,                                  \
                                        &snapshot->frames[tree.nodes[node->parent].frame])) \
               : value_none())                                                              \
    COLUMN("file", "file", UNIT_TEXT, PRIORITY_FOR_PROGRAMS, BAR_NONE,                      \
           frame ? value_text(results_text(results, snapshot_text(snapshot, frame->file)))  \
                 : value_none())

/* The calls that lead to the peak; those with a hundredth of it or more. A hundredth of the
 * peak: below that the tree has thousands of rows. */
static void snapshot_peak_add_calls(struct results *results, struct section *section,
                                    const struct snapshot_view *view)
{
    struct table *table = section_add_table(results, section, "calls", "At the peak, by call",
                                            COLUMNS_OF(CALLS_COLUMNS));
    const struct memory_snapshot *snapshot = view->replay->snapshot;
    struct call_tree tree = {0};
    struct call_row *rows;
    uint32_t count;

    build_call_tree(&tree, view->replay, view->places, view->replay->peak_moment);
    rows = call_tree_rows(&tree, view->top == UINT32_MAX ? 0 : tree.bytes / 100, &count);
    for (uint32_t i = 0; i < count; i++) {
        const struct call_node *node = &tree.nodes[rows[i].node];
        const struct snapshot_frame *frame =
            node->frame == SNAPSHOT_NONE ? NULL : &snapshot->frames[node->frame];
        int depth = rows[i].depth < DEPTH_SHOWN_MAX ? rows[i].depth : DEPTH_SHOWN_MAX;

        FILL_ROW(table_add_row(results, table, depth), CALLS_COLUMNS);
    }
    free(rows);
    call_tree_clear(&tree);
}

static uint32_t phase_key(const struct memory_life *life, const void *context)
{
    const struct snapshot_view *view = context;

    return view->owners->phase_of_tag[life->tag];
}

static uint32_t annotation_key(const struct memory_life *life, const void *context)
{
    const struct snapshot_view *view = context;

    return life->born == 0 ? 0 : view->owners->annotation_of_moment[life->born];
}

/* Tags of phase and module are set by a program or by our recorder; annotations are shown only
 * where some of the memory was allocated inside one. */
static void add_by_owner(struct results *results, struct section *section,
                         const struct snapshot_view *view)
{
    static const struct share_table modules = {"by_module", "At the peak, by module", "module",
                                               label_owner};
    static const struct share_table phases = {"by_phase", "At the peak, by phase", "phase",
                                              label_owner};
    static const struct share_table annotations = {
        "by_annotation", "At the peak, by the annotation it was allocated in", "annotation",
        label_owner};
    uint32_t names = (uint32_t)string_pool_count(&view->owners->names);
    uint32_t peak = view->replay->peak_moment;

    if (view->owners->has_tags) {
        struct memory_shares shares = shares_by_module(view, peak);

        add_share_table(results, section, view, &modules, &shares);
        memory_shares_clear(&shares);
    } else {
        section_add_value(results, section, "modules", "modules", value_not_known(needs_tags));
    }
    if (view->owners->has_phases) {
        struct memory_shares shares = {0};

        share_memory(&shares, view->replay, peak, (struct share_key){phase_key, view, names});
        add_share_table(results, section, view, &phases, &shares);
        memory_shares_clear(&shares);
    }
    if (view->owners->annotation_of_moment) {
        struct memory_shares shares = {0};

        share_memory(&shares, view->replay, peak, (struct share_key){annotation_key, view, names});
        /* Key 0 is "in no annotation": all of it there would make a table of one row. */
        if (share_of_key(&shares, 0) < shares.bytes)
            add_share_table(results, section, view, &annotations, &shares);
        memory_shares_clear(&shares);
    }
}

/* ---- by stream ---- */

/* Streams by the order in which they first appear among the lives. */
struct stream_ids {
    struct hash_map ids;
};

static uint32_t stream_key(const struct memory_life *life, const void *context)
{
    const struct stream_ids *streams = context;

    return hash_map_find(&streams->ids, (uint64_t)life->stream);
}

#define BY_STREAM_COLUMNS(COLUMN)                                                         \
    COLUMN("stream", "stream", UNIT_COUNT, 0, BAR_NONE, value_count(numbers[share->key])) \
    COLUMN("bytes", "allocated", UNIT_BYTES, 0, BAR_NONE, value_bytes(share->bytes))      \
    COLUMN("share", "share", UNIT_FRACTION, 0, BAR,                                       \
           value_fraction(share_of(share->bytes, shares.bytes)))                          \
    COLUMN("blocks", "blocks", UNIT_COUNT, 1, BAR_NONE, value_count(share->blocks))

/* Only where there are several in the trace. The map gives streams small numbers, by which
 * shares are summed in an array. */
static void add_by_stream(struct results *results, struct section *section,
                          const struct snapshot_view *view)
{
    const struct snapshot_replay *replay = view->replay;
    struct stream_ids streams = {0};
    struct memory_shares shares = {0};
    int64_t *numbers = require_memory(calloc((size_t)replay->life_count + 1, sizeof *numbers));

    for (uint32_t i = 0; i < replay->life_count; i++) {
        uint32_t next = (uint32_t)streams.ids.count;

        if (hash_map_add(&streams.ids, (uint64_t)replay->lives[i].stream, next) == next)
            numbers[next] = replay->lives[i].stream;
    }
    share_memory(&shares, replay, replay->peak_moment,
                 (struct share_key){stream_key, &streams, (uint32_t)streams.ids.count});
    if (streams.ids.count > 1) {
        struct table *table = section_add_table(
            results, section, "by_stream", "At the peak, by stream", COLUMNS_OF(BY_STREAM_COLUMNS));

        for (uint32_t i = 0; i < snapshot_rows(view, shares.count); i++) {
            const struct memory_share *share = &shares.shares[i];

            FILL_ROW(table_add_row(results, table, 0), BY_STREAM_COLUMNS);
        }
        table->rows_in_all = shares.count;
    }
    memory_shares_clear(&shares);
    hash_map_clear(&streams.ids);
    free(numbers);
}

/* ---- the largest allocations ---- */

/* Allocations of one size and place at the peak, as models of equal layers have them. */
struct alike {
    const struct memory_life *first; /* the largest, earliest one */
    uint32_t place;
    uint32_t count;
    uint32_t last_died;
};

/* The place before the size: equal ones stand next to each other when sorted. */
static int by_likeness(const void *a, const void *b)
{
    const struct alike *one = a;
    const struct alike *other = b;

    if (one->first->bytes != other->first->bytes)
        return one->first->bytes < other->first->bytes ? 1 : -1;
    if (one->place != other->place)
        return one->place < other->place ? -1 : 1;
    if (one->first->tag != other->first->tag)
        return one->first->tag < other->first->tag ? -1 : 1;
    return (one->first > other->first) - (one->first < other->first);
}

/* Those that live at the peak, alike ones as one; free() it. Sorted so that alike ones follow
 * each other, then merged in one pass. */
static struct alike *find_alike(const struct snapshot_view *view, uint32_t *count)
{
    const struct snapshot_replay *replay = view->replay;
    struct alike *all = require_memory(calloc((size_t)replay->life_count + 1, sizeof *all));
    uint32_t living = 0;

    *count = 0;
    for (uint32_t i = 0; i < replay->life_count; i++)
        if (is_alive(&replay->lives[i], replay->peak_moment))
            all[living++] = (struct alike){.first = &replay->lives[i],
                                           .place = place_of_life(view->places, &replay->lives[i]),
                                           .count = 1,
                                           .last_died = replay->lives[i].died};
    qsort(all, living, sizeof *all, by_likeness);
    for (uint32_t i = 0; i < living; i++) {
        struct alike *last = *count ? &all[*count - 1] : NULL;

        if (last && last->place == all[i].place && last->first->bytes == all[i].first->bytes &&
            last->first->tag == all[i].first->tag) {
            last->count++;
            if (all[i].last_died > last->last_died)
                last->last_died = all[i].last_died;
        } else {
            all[(*count)++] = all[i];
        }
    }
    return all;
}

#define LARGEST_COLUMNS(COLUMN)                                                                   \
    COLUMN("bytes", "bytes", UNIT_BYTES, 0, BAR_NONE, value_bytes(life->bytes))                   \
    COLUMN("blocks", "blocks", UNIT_COUNT, 0, BAR_NONE, value_count(alike->count))                \
    COLUMN("total", "together", UNIT_BYTES, 1, BAR_NONE, value_bytes(life->bytes * alike->count)) \
    COLUMN("where", "allocated by", UNIT_TEXT, 0, BAR_NONE,                                       \
           value_text(place_label(results, view->places, alike->place)))                          \
    COLUMN("born", "first one after", UNIT_TIME_NS, 2, BAR_NONE,                                  \
           life->born == 0 ? value_text("before")                                                 \
                           : value_time_ns(moment_time_ns(view->replay, life->born)))             \
    COLUMN("died", "last one freed after", UNIT_TIME_NS, 3, BAR_NONE,                             \
           alike->last_died == LIFE_NEVER                                                         \
               ? value_text("not in the trace")                                                   \
               : value_time_ns(moment_time_ns(view->replay, alike->last_died)))                   \
    COLUMN("tag", "module", UNIT_TEXT, 1, BAR_NONE,                                               \
           life->tag ? value_text(results_text(results, tag_label(view, life->tag)))              \
                     : value_none())                                                              \
    COLUMN("stream", "stream", UNIT_COUNT, 3, BAR_NONE, value_count(life->stream))                \
    COLUMN("address", "address of the first", UNIT_TEXT, PRIORITY_FOR_PROGRAMS, BAR_NONE,         \
           value_text(results_format(results, "0x%llx", (unsigned long long)life->address)))

static void fill_alike(struct results *results, const struct snapshot_view *view,
                       struct value *cells, const struct alike *alike)
{
    const struct memory_life *life = alike->first;

    FILL_ROW(cells, LARGEST_COLUMNS);
}

/* Allocations of one place, size and tag are one row: a model of 48 equal layers would else
 * fill the table with one layer's weights. */
static void add_largest(struct results *results, struct section *section,
                        const struct snapshot_view *view)
{
    struct table *table =
        section_add_table(results, section, "largest", "The largest allocations at the peak",
                          COLUMNS_OF(LARGEST_COLUMNS));
    uint32_t count;
    struct alike *alike = find_alike(view, &count);
    uint32_t rows = snapshot_rows(view, count);

    for (uint32_t i = 0; i < rows; i++)
        fill_alike(results, view, table_add_row(results, table, 0), &alike[i]);
    table->rows_in_all = count;
    free(alike);
}

/* ---- what is wrong with it ---- */

/* Each is a contradiction that the replay met: the sums are those of the trace, and say so. */
static void snapshot_peak_add_warnings(struct results *results, struct section *section,
                                       const struct snapshot_replay *replay)
{
    const struct memory_snapshot *snapshot = replay->snapshot;

    if (snapshot->unknown_actions > 0)
        section_add_warning(
            results, section,
            results_format(results,
                           "%s events of kinds that are not known here, the first is "
                           "'%s': they are passed over",
                           format_count(snapshot->unknown_actions).text,
                           snapshot_text(snapshot, snapshot->unknown_action)),
            "a newer PyTorch may have written them; if they allocate or free, the "
            "sums are off",
            NULL);
    /* The snapshot's blocks are the truth at the end; what lives on in the trace alone was
     * freed unseen. */
    if (replay->vanished_lives > 0)
        section_add_warning(
            results, section,
            results_format(results,
                           "%s allocations (%s) live at the end of the trace and are not in the "
                           "snapshot: memory was freed after the recording had stopped",
                           format_count(replay->vanished_lives).text,
                           format_bytes(replay->vanished_bytes).text),
            NULL,
            "take the snapshot first, and then call "
            "torch.cuda.memory._record_memory_history(enabled=None)");
    if (replay->reused_addresses > 0 || replay->changed_sizes > 0)
        section_add_warning(results, section,
                            results_format(results,
                                           "trace and blocks contradict each other: %s addresses "
                                           "allocated twice without a free, %s sizes that changed",
                                           format_count(replay->reused_addresses).text,
                                           format_count(replay->changed_sizes).text),
                            "the sums are those of the trace; the peak may be off by these", NULL);
    if (replay->impossible_moments > 0)
        section_add_warning(results, section,
                            results_format(results,
                                           "after %s of %s events more is allocated than reserved, "
                                           "which cannot be: the snapshot does not belong to its "
                                           "trace, or was made by hand",
                                           format_count(replay->impossible_moments).text,
                                           format_count(replay->event_count).text),
                            NULL, NULL);
}

/* More than a twentieth of the peak without a stack: below that a reader loses nothing by it. */
static void snapshot_peak_add_advice(struct results *results, struct section *section,
                                     const struct snapshot_view *view,
                                     const struct memory_shares *shares)
{
    int64_t without = 0;

    for (uint32_t i = 0; i < shares->count; i++)
        if (view->places->places[shares->shares[i].key].kind == PLACE_NO_STACK)
            without += shares->shares[i].bytes;
    if (20 * without > shares->bytes)
        section_add_note(results, section,
                         results_format(results, "%s of the peak (%s) carries no stack",
                                        format_fraction(share_of(without, shares->bytes)).text,
                                        format_bytes(without).text),
                         "the backward runs in a thread of its own, which has no Python stack",
                         "record with stacks=\"all\" to have the autograd node's name, or set "
                         "tags of phase and module");
}

/* Bytes as the program asked for them, without the allocator's rounding, which has numbers of
 * its own. A snapshot without history is shown as the moment in which it was taken. */
struct section *describe_snapshot_peak(struct results *results, const struct snapshot_view *view)
{
    static const struct share_table places = {"by_place", "At the peak, by line of code",
                                              "allocated by", label_place};
    const struct snapshot_replay *replay = view->replay;
    bool has_events = replay->event_count > 0;
    struct section *section = section_new(
        results, "snapshot_peak", "Peak memory",
        has_events ? "The most that was allocated at once, in bytes as the program asked for them, "
                     "with what stood there before the trace began."
                   : "The snapshot holds no history: what follows is the moment it was taken.");
    struct memory_shares shares = shares_by_place(view, replay->peak_moment);

    section_add_value(results, section, "device", "device", value_count(replay->device));
    section_add_number(
        results, section,
        (struct number){
            .key = "peak_bytes",
            .title = "peak",
            .value = has_events ? value_bytes(shares.bytes) : value_not_known(needs_events),
            .note = results_format(results, "%s bytes", format_count(shares.bytes).text)});
    /* Without events the one moment is its own peak, and "after" and "by event" mean nothing. */
    if (has_events)
        add_moment(results, section, view);
    snapshot_peak_add_totals(results, section, view);
    add_share_table(results, section, view, &places, &shares);
    snapshot_peak_add_calls(results, section, view);
    add_by_owner(results, section, view);
    add_by_stream(results, section, view);
    add_largest(results, section, view);
    snapshot_peak_add_warnings(results, section, replay);
    snapshot_peak_add_advice(results, section, view, &shares);
    memory_shares_clear(&shares);
    return section;
}
