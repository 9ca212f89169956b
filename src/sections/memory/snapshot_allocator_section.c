/* What is reserved when a snapshot was taken, and how much of it is of no use. */
#include "base/core/invariant.h"
#include "base/text/format.h"
#include "base/text/prefix.h"
#include "memory/snapshot_layout.h"
#include "sections/memory/snapshot_sections.h"

#include <stdlib.h>
#include <string.h>

/* What the allocator was told, as a remark. */
static const char *settings_note(struct results *results, const struct memory_snapshot *snapshot)
{
    for (uint32_t i = 0; i < snapshot->setting_count; i++) {
        const char *name = snapshot_text(snapshot, snapshot->settings[i].name);
        const char *value = snapshot_text(snapshot, snapshot->settings[i].value);

        if (has_prefix(name, "PYTORCH_") && strstr(name, "ALLOC_CONF"))
            return results_format(results, "taken from the device; %s is %s", name,
                                  value[0] ? value : "not set");
    }
    return "taken from the device";
}

/* Free memory is told in two parts, as only one of them helps anybody: whole segments go back
 * to the device, pieces between blocks in use fit what fits in. */
static void snapshot_allocator_add_totals(struct results *results, struct section *section,
                                          const struct snapshot_view *view,
                                          const struct memory_layout *layout)
{
    const struct number numbers[] = {
        {.key = "reserved",
         .title = "reserved",
         .value = value_bytes(layout->reserved_bytes),
         .note = settings_note(results, view->replay->snapshot)},
        {.key = "allocated",
         .title = "allocated",
         /* A pending block was given back by the program: it is used, and not allocated. */
         .value = value_bytes(layout->used_bytes - layout->pending_bytes),
         .note = "blocks in use, as the allocator rounds them up"},
        {.key = "requested",
         .title = "requested",
         .value = value_bytes(layout->requested_bytes),
         .note = "of them; the rest is lost to rounding"},
        {.key = "pending",
         .title = "waiting to be free",
         .value = value_bytes(layout->pending_bytes),
         .note = "given back, but another stream may still use it"},
        {.key = "stuck",
         .title = "free, but stuck",
         .value = value_bytes(layout->stuck_bytes),
         .note = "inactive split blocks, between blocks in use: only what fits in can use it"},
        {.key = "releasable",
         .title = "free, and releasable",
         .value = value_bytes(layout->releasable_bytes),
         .note = "whole segments: torch.cuda.empty_cache() gives them back to the device"},
        {.key = "largest_free",
         .title = "largest free block",
         .value = value_bytes(layout->largest_free_bytes)},
        {.key = "segments", .title = "segments", .value = value_count(layout->count)},
    };

    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        section_add_number(results, section, numbers[i]);
}

/* ---- by pool ---- */

static bool same_pool(const struct laid_segment *a, const struct laid_segment *b)
{
    return a->pool == b->pool && a->is_small == b->is_small && a->stream == b->stream &&
           a->is_expandable == b->is_expandable;
}

/* Equal pools stand next to each other, so one pass sums them; the address makes the order
 * total. */
static int by_pool(const void *a, const void *b)
{
    const struct laid_segment *one = a;
    const struct laid_segment *other = b;

    if (one->pool != other->pool)
        return one->pool < other->pool ? -1 : 1;
    if (one->is_small != other->is_small)
        return one->is_small ? 1 : -1;
    if (one->stream != other->stream)
        return one->stream < other->stream ? -1 : 1;
    if (one->is_expandable != other->is_expandable)
        return one->is_expandable ? 1 : -1;
    return (one->address > other->address) - (one->address < other->address);
}

static const char *pool_label(struct results *results, const struct snapshot_view *view,
                              const struct laid_segment *segment)
{
    struct snapshot_pool pool = view->replay->snapshot->pools[segment->pool];
    const char *size = segment->is_small ? "small blocks" : "large blocks";
    const char *expandable = segment->is_expandable ? ", expandable" : "";

    if (pool.a == 0 && pool.b == 0)
        return results_format(results, "%s%s", size, expandable);
    return results_format(results, "private pool (%lld, %lld), %s%s", (long long)pool.a,
                          (long long)pool.b, size, expandable);
}

#define POOLS_COLUMNS(COLUMN)                                                                    \
    COLUMN("pool", "pool", UNIT_TEXT, 0, BAR_NONE, value_text(pool_label(results, view, first))) \
    COLUMN("stream", "stream", UNIT_COUNT, 1, BAR_NONE, value_count(first->stream))              \
    COLUMN("segments", "segments", UNIT_COUNT, 2, BAR_NONE, value_count(sum->count))             \
    COLUMN("reserved", "reserved", UNIT_BYTES, 0, BAR_NONE, value_bytes(sum->reserved_bytes))    \
    COLUMN("allocated", "in use", UNIT_BYTES, 0, BAR_NONE, value_bytes(sum->used_bytes))         \
    COLUMN("stuck", "stuck", UNIT_BYTES, 0, BAR_NONE, value_bytes(sum->stuck_bytes))             \
    COLUMN("releasable", "releasable", UNIT_BYTES, 0, BAR_NONE,                                  \
           value_bytes(sum->releasable_bytes))                                                   \
    COLUMN("largest_free", "largest free", UNIT_BYTES, 2, BAR_NONE,                              \
           value_bytes(sum->largest_free_bytes))

static void add_pool_row(struct results *results, struct table *table,
                         const struct snapshot_view *view, const struct laid_segment *first,
                         const struct memory_layout *sum)
{
    FILL_ROW(table_add_row(results, table, 0), POOLS_COLUMNS);
}

/* A segment without any block in use can be given back whole; free memory beside blocks in use
 * cannot. */
static void snapshot_allocator_add_to_sum(struct memory_layout *sum,
                                          const struct laid_segment *segment)
{
    sum->count++;
    sum->reserved_bytes += segment->total_bytes;
    sum->used_bytes += segment->used_bytes;
    if (segment->blocks == 0)
        sum->releasable_bytes += segment->total_bytes;
    else
        sum->stuck_bytes += segment->total_bytes - segment->used_bytes;
    if (segment->largest_free_bytes > sum->largest_free_bytes)
        sum->largest_free_bytes = segment->largest_free_bytes;
}

/* Blocks never move between pools and streams, so memory that is free in one is of no use to
 * another: hence the table. */
static void add_pools(struct results *results, struct section *section,
                      const struct snapshot_view *view, const struct memory_layout *layout)
{
    struct table *table = section_add_table(results, section, "pools", "By pool and stream",
                                            COLUMNS_OF(POOLS_COLUMNS));
    struct laid_segment *sorted = require_memory(calloc((size_t)layout->count + 1, sizeof *sorted));

    if (layout->count)
        memcpy(sorted, layout->segments, layout->count * sizeof *sorted);
    qsort(sorted, layout->count, sizeof *sorted, by_pool);
    for (uint32_t i = 0; i < layout->count;) {
        const struct laid_segment *first = &sorted[i];
        struct memory_layout sum = {0};

        for (; i < layout->count && same_pool(first, &sorted[i]); i++)
            snapshot_allocator_add_to_sum(&sum, &sorted[i]);
        add_pool_row(results, table, view, first, &sum);
    }
    free(sorted);
}

/* ---- advice ---- */

static bool has_expandable(const struct memory_layout *layout)
{
    for (uint32_t i = 0; i < layout->count; i++)
        if (layout->segments[i].is_expandable)
            return true;
    return false;
}

/* From a tenth stuck, and a quarter releasable: below that, changes cost more than they bring. */
static void snapshot_allocator_add_advice(struct results *results, struct section *section,
                                          const struct memory_layout *layout)
{
    int64_t reserved = layout->reserved_bytes;

    if (10 * layout->stuck_bytes > reserved)
        section_add_note(
            results, section,
            results_format(results, "%s of what is reserved (%s) is free, but stuck",
                           format_fraction(share_of(layout->stuck_bytes, reserved)).text,
                           format_bytes(layout->stuck_bytes).text),
            results_format(results,
                           "blocks in use keep their segments; the largest free "
                           "block is %s",
                           format_bytes(layout->largest_free_bytes).text),
            has_expandable(layout)
                ? "free what lives long before what lives short is allocated, or "
                  "allocate it first"
                : "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True");
    if (4 * layout->releasable_bytes > reserved)
        section_add_note(
            results, section,
            results_format(results, "%s of what is reserved (%s) is unused whole segments",
                           format_fraction(share_of(layout->releasable_bytes, reserved)).text,
                           format_bytes(layout->releasable_bytes).text),
            "PyTorch keeps them for itself; other processes on the device, NCCL "
            "and cuBLAS can't have them",
            "torch.cuda.empty_cache() between phases of different shapes");
}

/* The layout is of the end, as the snapshot itself lists the blocks and segments of that
 * moment: nothing of it is replayed, so it is exact. */
struct section *describe_snapshot_allocator(struct results *results,
                                            const struct snapshot_view *view)
{
    struct memory_layout layout = {0};
    struct section *section =
        section_new(results, "snapshot_allocator", "Reserved memory and fragmentation",
                    "When the snapshot was taken. Only what PyTorch's allocator took: the CUDA "
                    "context, NCCL and other libraries have memory of their own.");

    lay_out_end(&layout, view->replay);
    snapshot_allocator_add_totals(results, section, view, &layout);
    add_pools(results, section, view, &layout);
    snapshot_allocator_add_advice(results, section, &layout);
    memory_layout_clear(&layout);
    return section;
}
