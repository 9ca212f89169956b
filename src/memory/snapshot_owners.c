/* Who owns an allocation of a snapshot, as far as the program said so itself. */
#include "memory/snapshot_owners.h"

#include "base/core/invariant.h"

#include <stdlib.h>
#include <string.h>

/* ---- shares ---------------------------------------------------------------------------------- */

/* What held a device's memory at one moment of a snapshot, added up by something that each
 * allocation has: its place in the program, its tag, its stream. */

static int by_bytes(const void *a, const void *b)
{
    const struct memory_share *one = a;
    const struct memory_share *other = b;

    if (one->bytes != other->bytes)
        return one->bytes < other->bytes ? 1 : -1;
    return (one->key > other->key) - (one->key < other->key);
}

void share_memory(struct memory_shares *shares, const struct snapshot_replay *replay,
                  uint32_t moment, struct share_key key)
{
    shares->shares = require_memory(calloc((size_t)key.limit + 1, sizeof *shares->shares));
    for (uint32_t i = 0; i < replay->life_count; i++) {
        const struct memory_life *life = &replay->lives[i];
        struct memory_share *share;

        if (!is_alive(life, moment))
            continue;
        share = &shares->shares[key.of_life(life, key.context)];
        share->bytes += life->bytes;
        share->blocks++;
        if (life->bytes > share->largest_bytes)
            share->largest_bytes = life->bytes;
        shares->bytes += life->bytes;
    }
    for (uint32_t i = 0; i < key.limit; i++)
        if (shares->shares[i].blocks) {
            shares->shares[shares->count] = shares->shares[i];
            shares->shares[shares->count++].key = i;
        }
    qsort(shares->shares, shares->count, sizeof *shares->shares, by_bytes);
}

int64_t share_of_key(const struct memory_shares *shares, uint32_t key)
{
    for (uint32_t i = 0; i < shares->count; i++)
        if (shares->shares[i].key == key)
            return shares->shares[i].bytes;
    return 0;
}

void memory_shares_clear(struct memory_shares *shares)
{
    free(shares->shares);
    *shares = (struct memory_shares){0};
}

/* ---- snapshot owners ------------------------------------------------------------------------- */

enum { OPEN_MAX = 256 };

static uint32_t snapshot_owners_name_id(struct snapshot_owners *owners, const char *text,
                                        size_t length)
{
    return string_pool_add(&owners->names, text, length);
}

static void split_tag(struct snapshot_owners *owners, uint32_t tag, const char *text)
{
    const char *bar = strchr(text, '|');

    if (tag == 0 || owners->module_of_tag[tag] || owners->phase_of_tag[tag])
        return;
    if (bar && bar > text) {
        owners->phase_of_tag[tag] = snapshot_owners_name_id(owners, text, (size_t)(bar - text));
        owners->has_phases = true;
    }
    if (bar)
        text = bar + 1;
    owners->module_of_tag[tag] = snapshot_owners_name_id(owners, text, strlen(text));
}

static int snapshot_owners_by_time(const void *a, const void *b)
{
    const struct snapshot_annotation *one = *(const struct snapshot_annotation *const *)a;
    const struct snapshot_annotation *other = *(const struct snapshot_annotation *const *)b;

    if (one->time_ns != other->time_ns)
        return one->time_ns < other->time_ns ? -1 : 1;
    return (one > other) - (one < other); /* as they stand in the file */
}

/* Annotations that are open, the innermost last. */
struct open_annotations {
    uint32_t names[OPEN_MAX]; /* texts of the snapshot */
    uint32_t count;
};

static void collect_annotation(struct open_annotations *open,
                               const struct snapshot_annotation *annotation)
{
    if (!annotation->is_end) {
        if (open->count < OPEN_MAX)
            open->names[open->count++] = annotation->name;
        return;
    }
    for (uint32_t i = open->count; i > 0; i--)
        if (open->names[i - 1] == annotation->name) {
            memmove(&open->names[i - 1], &open->names[i], (open->count - i) * sizeof *open->names);
            open->count--;
            return;
        }
}

/* The annotations of the device by time; free() it. */
static const struct snapshot_annotation **sort_annotations(const struct snapshot_replay *replay,
                                                           uint32_t *count)
{
    const struct memory_snapshot *snapshot = replay->snapshot;
    const struct snapshot_annotation **sorted =
        require_memory(calloc((size_t)snapshot->annotation_count + 1, sizeof(void *)));

    *count = 0;
    for (uint32_t i = 0; i < snapshot->annotation_count; i++)
        if (snapshot->annotations[i].device == (int64_t)replay->device)
            sorted[(*count)++] = &snapshot->annotations[i];
    qsort(sorted, *count, sizeof *sorted, snapshot_owners_by_time);
    return sorted;
}

static void find_annotations(struct snapshot_owners *owners, const struct snapshot_replay *replay)
{
    uint32_t count;
    const struct snapshot_annotation **sorted = sort_annotations(replay, &count);
    struct open_annotations open = {0};
    uint32_t next = 0;

    if (count > 0)
        owners->annotation_of_moment = require_memory(
            calloc((size_t)replay->event_count + 1, sizeof *owners->annotation_of_moment));
    for (uint32_t i = 0; count > 0 && i < replay->event_count; i++) {
        const char *name;

        while (next < count && sorted[next]->time_ns <= replay->events[i].time_ns)
            collect_annotation(&open, sorted[next++]);
        if (open.count == 0)
            continue;
        name = snapshot_text(replay->snapshot, open.names[open.count - 1]);
        owners->annotation_of_moment[i + 1] = snapshot_owners_name_id(owners, name, strlen(name));
    }
    free(sorted);
}

void find_snapshot_owners(struct snapshot_owners *owners, const struct snapshot_replay *replay)
{
    size_t texts = string_pool_count(&replay->snapshot->strings);

    (void)snapshot_owners_name_id(owners, "", 0);
    owners->phase_of_tag = require_memory(calloc(texts, sizeof *owners->phase_of_tag));
    owners->module_of_tag = require_memory(calloc(texts, sizeof *owners->module_of_tag));
    for (uint32_t i = 0; i < replay->life_count; i++) {
        uint32_t tag = replay->lives[i].tag;

        owners->has_tags = owners->has_tags || tag != 0;
        split_tag(owners, tag, snapshot_text(replay->snapshot, tag));
    }
    find_annotations(owners, replay);
}

const char *owner_name(const struct snapshot_owners *owners, uint32_t id)
{
    return string_pool_text(&owners->names, id);
}

void snapshot_owners_clear(struct snapshot_owners *owners)
{
    if (!owners)
        return;
    string_pool_clear(&owners->names);
    free(owners->phase_of_tag);
    free(owners->module_of_tag);
    free(owners->annotation_of_moment);
    *owners = (struct snapshot_owners){0};
}
