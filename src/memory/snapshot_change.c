/* What differs between two snapshots at their peaks. */
#include "memory/snapshot_change.h"

#include "base/core/array.h"

#include <stdlib.h>
#include <string.h>

static void snapshot_change_grow_to(struct memory_change *change, uint32_t count)
{
    ARRAY_RESERVE(change->shares, change->capacity, count);
    while (change->count < count) {
        change->shares[change->count] = (struct changed_share){.name = change->count};
        change->count++;
    }
}

void memory_change_add(struct memory_change *change, enum change_side side, const char *name,
                       int64_t bytes, int64_t blocks)
{
    uint32_t id = string_pool_add(&change->names, name, strlen(name));
    struct changed_share *share;

    snapshot_change_grow_to(change, id + 1);
    share = &change->shares[id];
    if (side == CHANGE_BEFORE) {
        share->before_bytes += bytes;
        share->before_blocks += blocks;
    } else {
        share->after_bytes += bytes;
        share->after_blocks += blocks;
    }
}

static int by_change(const void *a, const void *b, void *names)
{
    const struct changed_share *one = a;
    const struct changed_share *other = b;
    int64_t one_change = llabs(one->after_bytes - one->before_bytes);
    int64_t other_change = llabs(other->after_bytes - other->before_bytes);

    if (one_change != other_change)
        return one_change < other_change ? 1 : -1;
    return strcmp(string_pool_text(names, one->name), string_pool_text(names, other->name));
}

void memory_change_sort(struct memory_change *change)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < change->count; i++) /* the empty text is in every pool */
        if (change->shares[i].before_blocks || change->shares[i].after_blocks)
            change->shares[count++] = change->shares[i];
    change->count = count;
    if (change->count)
        qsort_r(change->shares, change->count, sizeof *change->shares, by_change, &change->names);
}

void memory_change_clear(struct memory_change *change)
{
    if (!change)
        return;
    free(change->shares);
    string_pool_clear(&change->names);
    *change = (struct memory_change){0};
}
