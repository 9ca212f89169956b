/* What the peak of a recorded run consists of, by module, kind and phase at once. */
#include "base/core/hash_map.h"
#include "base/core/invariant.h"
#include "sections/memory/memory_sections.h"

#include <stddef.h>
#include <stdlib.h>

/* Blocks of one module, kind and phase. */
struct part {
    const struct memory_block *example;
    int64_t bytes;
    int64_t blocks;
    bool is_from_before;
};

struct parts {
    struct part *parts; /* [count] */
    uint32_t count;
};

/* Blocks from before the recording have no phase, and get a number of their own. */
static uint64_t part_key(const struct memory_block *block)
{
    bool is_from_before = block->start_ns == INT64_MIN;
    uint32_t phase = is_from_before ? MEMORY_PHASE_COUNT : block->phase;

    return pair_key(block->module, block->kind * (uint32_t)(MEMORY_PHASE_COUNT + 1) + phase);
}

/* Blocks that are alive at one moment, so that the parts add up to the peak to the byte. */
static void find_parts(struct parts *parts, const struct memory_view *view)
{
    const struct memory_blocks *blocks = &view->run->blocks;
    uint32_t changes = memory_view_peak(view).change_count;
    struct hash_map places = {0};

    parts->parts = require_memory(calloc(blocks->count + (size_t)1, sizeof *parts->parts));
    for (uint32_t i = 0; i < blocks->count; i++) {
        const struct memory_block *block = &blocks->blocks[i];
        uint32_t place;

        if (block->device != view->device || !memory_block_is_alive(block, changes))
            continue;
        place = hash_map_add(&places, part_key(block), parts->count);
        if (place == parts->count)
            parts->parts[parts->count++] =
                (struct part){.example = block, .is_from_before = block->start_ns == INT64_MIN};
        parts->parts[place].bytes += block->bytes;
        parts->parts[place].blocks++;
    }
    hash_map_clear(&places);
}

/* The earlier one first where two are equal: blocks begin at different changes, so the order
 * is total. */
static int compare_parts(const void *a, const void *b)
{
    const struct part *left = a;
    const struct part *right = b;

    if (left->bytes != right->bytes)
        return left->bytes > right->bytes ? -1 : 1;
    return left->example->start < right->example->start ? -1 : 1;
}

#define COMPOSITION_COLUMNS(COLUMN)                                                                \
    COLUMN("module", "module itself", UNIT_TEXT, 0, BAR_NONE,                                      \
           value_text(                                                                             \
               results_text(results, memory_module_label(memory_block_module(view->run, block))))) \
    COLUMN("kind", "kind", UNIT_TEXT, 0, BAR_NONE,                                                 \
           value_text(memory_kind_title((enum memory_kind)block->kind)))                           \
    COLUMN("phase", "allocated in", UNIT_TEXT, 1, BAR_NONE,                                        \
           value_text(part->is_from_before ? "before"                                              \
                                           : memory_phase_title((enum memory_phase)block->phase))) \
    COLUMN("bytes", "at the peak", UNIT_BYTES, 0, BAR_NONE, value_bytes(part->bytes))              \
    COLUMN("share", "share", UNIT_FRACTION, 1, BAR,                                                \
           value_fraction(total > 0 ? (double)part->bytes / (double)total : 0))                    \
    COLUMN("blocks", "blocks", UNIT_COUNT, 2, BAR_NONE, value_count(part->blocks))

static void add_part(struct results *results, struct table *table, const struct memory_view *view,
                     const struct part *part, int64_t total)
{
    const struct memory_block *block = part->example;

    FILL_ROW(table_add_row(results, table, 0), COMPOSITION_COLUMNS);
}

/* Module, kind and phase at once, each block in one row: rows add up to the peak. Modules are
 * taken without those inside them, else a block would count once for each level. */
void add_memory_composition(struct results *results, struct section *section,
                            const struct memory_view *view)
{
    struct parts parts = {0};
    struct table *table =
        section_add_table(results, section, "composition", "By module, kind and phase",
                          COLUMNS_OF(COMPOSITION_COLUMNS));
    int64_t total = memory_view_peak(view).bytes;

    find_parts(&parts, view);
    if (parts.count > 0)
        qsort(parts.parts, parts.count, sizeof *parts.parts, compare_parts);
    table->note = "Each without the modules in it; \"before\": before the recording.";
    table->rows_in_all = parts.count;
    for (uint32_t i = 0; i < parts.count && i < view->top; i++)
        add_part(results, table, view, &parts.parts[i], total);
    free(parts.parts);
}
