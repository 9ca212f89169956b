/* What grows over the trace of a snapshot. */
#include "memory/snapshot_growth.h"

#include "base/core/array.h"
#include "base/core/invariant.h"
#include "base/core/radix_sort.h"
#include "base/core/search.h"

#include <stdlib.h>
#include <string.h>

/* ---- what changed ---------------------------------------------------------------------------- */

/* What differs between two snapshots at their peaks, by what the program's lines, or its modules,
 * hold in each. */

static void snapshot_change_grow_to(struct memory_change *change, uint32_t count)
{
    ARRAY_RESERVE(change->shares, change->capacity, count);
    while (change->count < count) {
        change->shares[change->count] = (struct changed_share){.name = change->count};
        change->count++;
    }
}

/* Both sides are in one list by name, so that what only one of them has stands with a zero on
 * the other. */
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

/* By the size of the change in either direction; names decide between equals. */
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

/* ---- snapshot growth ------------------------------------------------------------------------- */

uint32_t moment_at(const struct snapshot_replay *replay, int64_t time_ns)
{
    return LOWER_BOUND(i, 0, replay->event_count + 1, moment_time_ns(replay, i) < time_ns);
}

/* Births and ends of lives by moment, as moment << 32 | life, where those of one moment are in the
 * order of the lives; free() it. Both numbers in one word, sorted by radix: millions of events,
 * in linear time, and stable. */
static uint64_t *sorted_changes(const struct snapshot_replay *replay, size_t *count)
{
    size_t most = 2 * (size_t)replay->life_count + 1;
    uint64_t *changes = require_memory(malloc(most * sizeof *changes));
    uint64_t *scratch = require_memory(malloc(most * sizeof *scratch));
    uint64_t *sorted;

    *count = 0;
    for (uint32_t i = 0; i < replay->life_count; i++) {
        changes[(*count)++] = (uint64_t)replay->lives[i].born << 32 | i;
        if (replay->lives[i].died != LIFE_NEVER)
            changes[(*count)++] = (uint64_t)replay->lives[i].died << 32 | i;
    }
    sorted = radix_sort(changes, scratch, *count, 32, 64);
    free(sorted == changes ? scratch : changes);
    return sorted;
}

/* What each place holds while the trace is walked through. */
struct growth_walk {
    const struct snapshot_replay *replay;
    const struct snapshot_places *places;
    int64_t *held; /* [places] */
    int64_t (*least)[GROWTH_PARTS];
};

static void begin_part(const struct growth_walk *walk, int part)
{
    for (uint32_t i = 0; i < walk->places->count; i++)
        walk->least[i][part] = walk->held[i];
}

static uint32_t moment_of(uint64_t change)
{
    return (uint32_t)(change >> 32);
}

/* A life that is born and dies at one moment is told apart by which of the two comes first, as
 * births are listed first. */
static void collect_change(const struct growth_walk *walk, uint64_t change, int part)
{
    const struct memory_life *life = &walk->replay->lives[(uint32_t)change];
    uint32_t place = place_of_life(walk->places, life);

    walk->held[place] += moment_of(change) == life->born ? life->bytes : -life->bytes;
    if (walk->held[place] < walk->least[place][part])
        walk->least[place][part] = walk->held[place];
}

/* The least that a place held in each part of the trace: steps come and go within a part, and
 * what grows from part to part beneath them is kept. A few large steps cannot hide it. */
static void walk_through(const struct growth_walk *walk, const uint32_t *part_ends)
{
    size_t count;
    uint64_t *changes = sorted_changes(walk->replay, &count);
    size_t next = 0;

    while (next < count && moment_of(changes[next]) == 0)
        collect_change(walk, changes[next++], 0);
    for (int part = 0; part < GROWTH_PARTS; part++) {
        begin_part(walk, part);
        while (next < count && moment_of(changes[next]) < part_ends[part])
            collect_change(walk, changes[next++], part);
    }
    free(changes);
}

static int by_growth(const void *a, const void *b)
{
    const struct place_growth *one = a;
    const struct place_growth *other = b;

    if (growth_bytes(one) != growth_bytes(other))
        return growth_bytes(one) < growth_bytes(other) ? 1 : -1;
    return (one->place > other->place) - (one->place < other->place);
}

/* Steady growth is more in each part than in the one before. */
static void keep_growing(struct memory_growth *growth, const struct growth_walk *walk)
{
    for (uint32_t i = 0; i < walk->places->count; i++) {
        struct place_growth place = {.place = i, .is_steady = true};

        for (int part = 0; part < GROWTH_PARTS; part++) {
            place.least_bytes[part] = walk->least[i][part];
            place.is_steady = place.is_steady &&
                              (part == 0 || place.least_bytes[part] > place.least_bytes[part - 1]);
        }
        if (growth_bytes(&place) > 0)
            growth->places[growth->count++] = place;
    }
    qsort(growth->places, growth->count, sizeof *growth->places, by_growth);
}

/* Parts of equal time, not of equal numbers of events: a slow phase is as long as a busy one. */
void measure_growth(struct memory_growth *growth, const struct snapshot_replay *replay,
                    const struct snapshot_places *places)
{
    struct growth_walk walk = {.replay = replay, .places = places};
    int64_t duration_ns = moment_time_ns(replay, replay->event_count);

    growth->places = require_memory(calloc((size_t)places->count + 1, sizeof *growth->places));
    if (replay->event_count == 0)
        return;
    for (int part = 0; part < GROWTH_PARTS; part++)
        growth->part_ends[part] = part == GROWTH_PARTS - 1
                                      ? replay->event_count + 1
                                      : moment_at(replay, duration_ns / GROWTH_PARTS * (part + 1));
    walk.held = require_memory(calloc((size_t)places->count + 1, sizeof *walk.held));
    walk.least = require_memory(calloc((size_t)places->count + 1, sizeof *walk.least));
    walk_through(&walk, growth->part_ends);
    keep_growing(growth, &walk);
    free(walk.held);
    free(walk.least);
}

void memory_growth_clear(struct memory_growth *growth)
{
    if (!growth)
        return;
    free(growth->places);
    *growth = (struct memory_growth){0};
}
