/* What the peak of a recorded run consists of, by module, kind and phase at once. */
#include "analyses/memory_sections.h"
#include "base/hash_map.h"
#include "base/invariant.h"

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

static uint64_t part_key(const struct memory_block *block)
{
    bool is_from_before = block->start_ns == INT64_MIN;
    uint32_t phase = is_from_before ? MEMORY_PHASE_COUNT : block->phase;

    return pair_key(block->module, block->kind * (uint32_t)(MEMORY_PHASE_COUNT + 1) + phase);
}

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

static int compare_parts(const void *a, const void *b)
{
    const struct part *left = a;
    const struct part *right = b;

    if (left->bytes != right->bytes)
        return left->bytes > right->bytes ? -1 : 1;
    return left->example->start < right->example->start ? -1 : 1;
}

static void add_part(struct results *results, struct table *table, const struct memory_view *view,
                     const struct part *part, int64_t total)
{
    const struct memory_block *block = part->example;
    struct value *cells = table_add_row(results, table, 0);

    cells[0] = value_text(
        results_text(results, memory_module_label(memory_block_module(view->run, block))));
    cells[1] = value_text(memory_kind_title((enum memory_kind)block->kind));
    cells[2] = value_text(
        part->is_from_before ? "before" : memory_phase_title((enum memory_phase)block->phase));
    cells[3] = value_bytes(part->bytes);
    cells[4] = value_fraction(total > 0 ? (double)part->bytes / (double)total : 0);
    cells[5] = value_count(part->blocks);
}

void add_memory_composition(struct results *results, struct section *section,
                            const struct memory_view *view)
{
    static const struct column columns[] = {
        {"module", "module itself", UNIT_TEXT, 0, false},
        {"kind", "kind", UNIT_TEXT, 0, false},
        {"phase", "allocated in", UNIT_TEXT, 1, false},
        {"bytes", "at the peak", UNIT_BYTES, 0, false},
        {"share", "share", UNIT_FRACTION, 1, true},
        {"blocks", "blocks", UNIT_COUNT, 2, false},
    };
    struct parts parts = {0};
    struct table *table =
        section_add_table(results, section, "composition", "By module, kind and phase", columns,
                          sizeof columns / sizeof *columns);
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
