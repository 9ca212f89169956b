/* Each time that memory ran out in a snapshot: what asked for how much, what held the memory, and
 * what would have made it fit. */
#include "base/text/format.h"
#include "memory/snapshot_layout.h"
#include "sections/memory/snapshot_sections.h"

/* One of them, and the memory at that time. */
struct oom {
    const struct snapshot_event *event;
    uint32_t moment;
    struct memory_layout layout;
    bool is_laid_out;
};

/* The event's address holds what the device had free; larger than any memory means that the
 * recorder did not know. */
static int64_t device_free_bytes(const struct oom *oom)
{
    return oom->event->address > (uint64_t)INT64_MAX / 4 ? -1 : (int64_t)oom->event->address;
}

static void lay_out_oom(struct oom *oom, const struct snapshot_replay *replay, uint32_t event)
{
    oom->event = &replay->events[event];
    oom->moment = event + 1;
    oom->is_laid_out = lay_out_moment(&oom->layout, replay, oom->moment);
}

/* ---- what would have made it fit ---- */

struct oom_answer {
    const char *what;
    const char *try_this;
};

/* Expandable segments are the remedy for stuck memory; where they are on already, only the
 * order of allocations is left. */
static struct oom_answer fit_of_stuck(const struct memory_layout *layout)
{
    bool is_expandable = layout->count > 0 && layout->segments[0].is_expandable;

    return (struct oom_answer){
        "it would have fit without fragmentation: what is free, but stuck between blocks in use, "
        "and what the device had free are enough together",
        is_expandable ? "allocate what lives long before what lives short"
                      : "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, or allocate what lives "
                        "long before what lives short"};
}

static struct oom_answer shortage(struct results *results, int64_t missing)
{
    return (struct oom_answer){
        results_format(results,
                       "%s were missing, even with all free memory in one piece: less has to be "
                       "allocated at that time",
                       format_bytes(missing).text),
        "a smaller batch or sequence, activation checkpointing of the modules that hold the most, "
        "or sharding of optimizer state and parameters; the table shows what held the memory"};
}

/* The cheapest thing that would have been enough. Remedies are tried from the cheapest on, each
 * added to what the ones before would have freed: the first sum that is enough is the answer. A
 * free block that was large enough and not taken belongs to another pool. */
static struct oom_answer answer_of(struct results *results, const struct oom *oom)
{
    const struct memory_layout *layout = &oom->layout;
    int64_t asked = oom->event->size_bytes;
    int64_t device_free = device_free_bytes(oom);
    /* What is not known counts as nothing free: a remedy is then promised too late, never too
     * early. */
    int64_t available = device_free < 0 ? 0 : device_free;

    if (!oom->is_laid_out)
        return (struct oom_answer){"not known: the trace has too many events of segments", NULL};
    if (layout->largest_free_bytes >= asked)
        return (struct oom_answer){
            results_format(results,
                           "a free block of %s was there, but not for this allocation: it belongs "
                           "to another stream, to a private pool (CUDA graphs, MemPool) or to a "
                           "segment that may not be split (max_split_size)",
                           format_bytes(layout->largest_free_bytes).text),
            "torch.cuda.empty_cache() before it; the table of pools names who holds it"};
    available += layout->releasable_bytes;
    if (available >= asked)
        return (struct oom_answer){"it would have fit, had the unused segments been given back to "
                                   "the device before",
                                   "torch.cuda.empty_cache() before it, or "
                                   "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"};
    available += layout->stuck_bytes;
    if (available >= asked)
        return fit_of_stuck(layout);
    if (available + layout->pending_bytes >= asked)
        return (struct oom_answer){"it would have fit, had the memory that waits for other streams "
                                   "been free already",
                                   "synchronize the stream that uses it (record_stream), or free "
                                   "it earlier"};
    /* All remedies together are not enough by what is known; the device's own rest might have
     * been. */
    if (device_free < 0)
        return (struct oom_answer){"not known: needs what the device had free, which this snapshot "
                                   "does not tell",
                                   NULL};
    return shortage(results, asked - available);
}

/* ---- the section ---- */

static const char *asker_of(struct results *results, const struct snapshot_view *view,
                            const struct oom *oom)
{
    uint32_t stack = oom->event->stack;

    return stack == SNAPSHOT_NONE
               ? "(no stack recorded)"
               : place_label(results, view->places, view->places->of_stack[stack]);
}

static struct value bytes_if_known(int64_t bytes)
{
    return bytes < 0 ? value_not_known("needs device_free, which this snapshot does not tell")
                     : value_bytes(bytes);
}

#define EVENTS_COLUMNS(COLUMN)                                                                 \
    COLUMN("time", "after", UNIT_TIME_NS, 1, BAR_NONE,                                         \
           value_time_ns(moment_time_ns(replay, oom->moment)))                                 \
    COLUMN("asked_by", "asked by", UNIT_TEXT, 0, BAR_NONE,                                     \
           value_text(asker_of(results, view, oom)))                                           \
    COLUMN("asked", "asked for", UNIT_BYTES, 0, BAR_NONE, value_bytes(oom->event->size_bytes)) \
    COLUMN("device_free", "device had free", UNIT_BYTES, 1, BAR_NONE,                          \
           bytes_if_known(device_free_bytes(oom)))                                             \
    COLUMN("reserved", "reserved", UNIT_BYTES, 1, BAR_NONE,                                    \
           value_bytes(replay->reserved_bytes[oom->moment]))                                   \
    COLUMN("allocated", "allocated", UNIT_BYTES, 0, BAR_NONE,                                  \
           value_bytes(replay->live_bytes[oom->moment]))                                       \
    COLUMN("stuck", "stuck", UNIT_BYTES, 1, BAR_NONE,                                          \
           oom->is_laid_out ? value_bytes(oom->layout.stuck_bytes) : value_none())             \
    COLUMN("releasable", "releasable", UNIT_BYTES, 2, BAR_NONE,                                \
           oom->is_laid_out ? value_bytes(oom->layout.releasable_bytes) : value_none())        \
    COLUMN("pending", "waiting", UNIT_BYTES, 3, BAR_NONE,                                      \
           oom->is_laid_out ? value_bytes(oom->layout.pending_bytes) : value_none())           \
    COLUMN("largest_free", "largest free", UNIT_BYTES, 1, BAR_NONE,                            \
           oom->is_laid_out ? value_bytes(oom->layout.largest_free_bytes) : value_none())

static void fill_row(struct results *results, const struct snapshot_view *view, struct value *cells,
                     const struct oom *oom)
{
    const struct snapshot_replay *replay = view->replay;

    FILL_ROW(cells, EVENTS_COLUMNS);
}

static struct table *add_event_table(struct results *results, struct section *section)
{
    return section_add_table(results, section, "events", "Out of memory",
                             COLUMNS_OF(EVENTS_COLUMNS));
}

/* Who asked and for how much comes first: the line of code is what a reader knows. */
static void add_answer(struct results *results, struct section *section,
                       const struct snapshot_view *view, const struct oom *oom)
{
    struct oom_answer answer = answer_of(results, oom);

    section_add_warning(
        results, section,
        results_format(results, "%s asked for %s after %s: %s", asker_of(results, view, oom),
                       format_bytes(oom->event->size_bytes).text,
                       format_time(moment_time_ns(view->replay, oom->moment)).text, answer.what),
        NULL, answer.try_this);
}

/* What held the memory the last time. */
static void add_holders(struct results *results, struct section *section,
                        const struct snapshot_view *view, uint32_t moment)
{
    static const struct share_table places = {"by_place",
                                              "What held the memory the last time, by line of code",
                                              "allocated by", label_place};
    static const struct share_table modules = {
        "by_module", "What held the memory the last time, by module", "module", label_owner};
    struct memory_shares shares = shares_by_place(view, moment);

    add_share_table(results, section, view, &places, &shares);
    memory_shares_clear(&shares);
    if (!view->owners->has_tags)
        return;
    shares = shares_by_module(view, moment);
    add_share_table(results, section, view, &modules, &shares);
    memory_shares_clear(&shares);
}

/* The memory is laid out for each, which takes as long as there are blocks. */
enum { LAID_OUT_MAX = 100 };

/* Only the first are laid out: each needs the layout of the whole memory at its moment, and a
 * program that goes on after a failed allocation may fail in each step. */
struct section *describe_snapshot_oom(struct results *results, const struct snapshot_view *view)
{
    const struct snapshot_replay *replay = view->replay;
    struct section *section = NULL;
    struct table *table = NULL;
    uint32_t count = 0;
    uint32_t last = 0;

    for (uint32_t i = 0; i < replay->event_count; i++) {
        struct oom oom = {0};

        if (replay->events[i].action != SNAPSHOT_OOM)
            continue;
        if (!section) {
            section = section_new(results, "snapshot_oom", "Out of memory",
                                  "Each allocation that failed, and what would have made it fit.");
            table = add_event_table(results, section);
        }
        last = i + 1;
        if (++count > snapshot_rows(view, LAID_OUT_MAX))
            continue;
        lay_out_oom(&oom, replay, i);
        fill_row(results, view, table_add_row(results, table, 0), &oom);
        add_answer(results, section, view, &oom);
        memory_layout_clear(&oom.layout);
    }
    if (!section)
        return NULL;
    table->rows_in_all = count;
    add_holders(results, section, view, last);
    return section;
}
