/* How places, tags and shares of a snapshot are written: what its sections have in common. */
#include "sections/memory/snapshot_sections.h"

const char *frame_label(struct results *results, const struct memory_snapshot *snapshot,
                        const struct snapshot_frame *frame)
{
    return results_format(results, "%s:%u %s", file_name(snapshot_text(snapshot, frame->file)),
                          frame->line, snapshot_text(snapshot, frame->name));
}

/* Memory without a line is still told apart by why it has none: from autograd, from native
 * code, from before the trace, or recorded without stacks. In brackets, so that no file can be
 * mistaken for it. */
const char *place_label(struct results *results, const struct snapshot_places *places, uint32_t id)
{
    const struct snapshot_place *place = &places->places[id];
    const char *name = string_pool_text(&places->names, place->name);

    switch (place->kind) {
    case PLACE_USER_LINE:
    case PLACE_LIBRARY_LINE:
        return frame_label(results, places->snapshot, &places->snapshot->frames[place->frame]);
    case PLACE_BACKWARD:
        return results_format(results, "%s (autograd)", name);
    case PLACE_NATIVE:
        return results_text(results, name);
    case PLACE_BEFORE:
        return "(allocated before the trace)";
    case PLACE_NO_STACK:
        break;
    }
    return "(no stack recorded)";
}

/* The module says more than the phase. */
const char *tag_label(const struct snapshot_view *view, uint32_t tag)
{
    const struct snapshot_owners *owners = view->owners;
    uint32_t name =
        owners->module_of_tag[tag] ? owners->module_of_tag[tag] : owners->phase_of_tag[tag];

    return owner_name(owners, name);
}

static uint32_t place_key(const struct memory_life *life, const void *context)
{
    return place_of_life(context, life);
}

struct memory_shares shares_by_place(const struct snapshot_view *view, uint32_t moment)
{
    struct memory_shares shares = {0};

    share_memory(&shares, view->replay, moment,
                 (struct share_key){place_key, view->places, view->places->count});
    return shares;
}

static uint32_t module_key(const struct memory_life *life, const void *context)
{
    const struct snapshot_owners *owners = context;

    return owners->module_of_tag[life->tag];
}

struct memory_shares shares_by_module(const struct snapshot_view *view, uint32_t moment)
{
    struct memory_shares shares = {0};

    share_memory(&shares, view->replay, moment,
                 (struct share_key){module_key, view->owners,
                                    (uint32_t)string_pool_count(&view->owners->names)});
    return shares;
}

uint32_t snapshot_rows(const struct snapshot_view *view, uint32_t count)
{
    return count < view->top ? count : view->top;
}

double share_of(int64_t part, int64_t whole)
{
    return whole > 0 ? (double)part / (double)whole : 0.0;
}

const char *label_place(struct results *results, const struct snapshot_view *view, uint32_t key)
{
    return place_label(results, view->places, key);
}

const char *label_owner(struct results *results, const struct snapshot_view *view, uint32_t key)
{
    return key ? results_text(results, owner_name(view->owners, key)) : "(none)";
}

#define LABEL_COLUMNS(COLUMN)                                                        \
    COLUMN("what", what->of_what, UNIT_TEXT, 0, BAR_NONE,                            \
           value_text(what->label(results, view, share->key)))                       \
    COLUMN("bytes", "allocated", UNIT_BYTES, 0, BAR_NONE, value_bytes(share->bytes)) \
    COLUMN("share", "share", UNIT_FRACTION, 0, BAR,                                  \
           value_fraction(share_of(share->bytes, shares->bytes)))                    \
    COLUMN("blocks", "blocks", UNIT_COUNT, 1, BAR_NONE, value_count(share->blocks))  \
    COLUMN("largest", "largest", UNIT_BYTES, 2, BAR_NONE, value_bytes(share->largest_bytes))

void add_share_table(struct results *results, struct section *section,
                     const struct snapshot_view *view, const struct share_table *what,
                     const struct memory_shares *shares)
{
    struct table *table =
        section_add_table(results, section, what->key, what->title, COLUMNS_OF(LABEL_COLUMNS));
    uint32_t rows = snapshot_rows(view, shares->count);

    for (uint32_t i = 0; i < rows; i++) {
        const struct memory_share *share = &shares->shares[i];

        FILL_ROW(table_add_row(results, table, 0), LABEL_COLUMNS);
    }
    table->rows_in_all = shares->count;
}
