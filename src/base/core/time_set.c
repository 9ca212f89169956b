/* A set of intervals of time, of which those that touch are one. */
#include "base/core/time_set.h"

#include "base/core/large_sort.h"
#include "base/core/saturated.h"

#include <stdlib.h>
#include <string.h>

/* Late ones are sorted in when there are so many, and a part of what is packed already: then each
 * interval is packed a few times at most. */
enum { LATE_FEW = 4096, LATE_PART_BYTES = 16 };

/* Differences wrap around, so that any times have one. */
static int64_t length_ns(const struct interval *interval)
{
    return saturated_difference(interval->end_ns, interval->start_ns);
}

static void pack_interval(struct time_set *set, const struct interval *interval)
{
    packed_numbers_add(&set->packed, (uint64_t)interval->start_ns - (uint64_t)set->packed_end_ns,
                       (uint64_t)interval->end_ns - (uint64_t)interval->start_ns);
    set->packed_end_ns = interval->end_ns;
    set->packed_ns = saturated_sum(set->packed_ns, length_ns(interval));
}

/* The first of them: they are few, so that moving the others costs little. */
static void drop_recent(struct time_set *set, uint32_t count)
{
    set->recent_count -= count;
    memmove(set->recent, set->recent + count, set->recent_count * sizeof *set->recent);
}

static void pack_recent(struct time_set *set, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        pack_interval(set, &set->recent[i]);
    drop_recent(set, count);
}

static int compare_late(const void *a, const void *b, void *argument)
{
    const struct interval *left = a;
    const struct interval *right = b;

    (void)argument;
    return (left->start_ns > right->start_ns) - (left->start_ns < right->start_ns);
}

/* Two numbers, which say where it stands by the one before. */
static bool next_packed(struct time_set_walk *walk, struct interval *interval)
{
    if (walk->at == walk->set->packed.bytes + walk->set->packed.length)
        return false;
    interval->start_ns = (int64_t)((uint64_t)walk->end_ns + packed_number(&walk->at));
    interval->end_ns = (int64_t)((uint64_t)interval->start_ns + packed_number(&walk->at));
    walk->end_ns = interval->end_ns;
    return true;
}

/* The next of both, by start. */
static bool next_of_both(struct time_set_walk *walk, struct interval *packed, bool *has_packed,
                         size_t *late, struct interval *next)
{
    const struct time_set *set = walk->set;

    if (*late < set->late_count && (!*has_packed || set->late[*late].start_ns < packed->start_ns)) {
        *next = set->late[(*late)++];
        return true;
    }
    if (!*has_packed)
        return false;
    *next = *packed;
    *has_packed = next_packed(walk, packed);
    return true;
}

/* The last stays open: what comes next may touch it. */
static void sort_late_in(struct time_set *set)
{
    struct time_set merged = {.recent_count = 0};
    struct time_set_walk walk = {.set = set};
    struct interval packed, next;
    bool has_packed;
    size_t late = 0;

    sort_large(set->late, set->late_count,
               &(struct large_order){.element_bytes = sizeof *set->late, .compare = compare_late});
    pack_recent(set, set->recent_count);
    walk.at = set->packed.bytes;
    has_packed = next_packed(&walk, &packed);
    while (next_of_both(&walk, &packed, &has_packed, &late, &next)) {
        const struct interval *open = &merged.recent[0];

        time_set_add(&merged, next.start_ns, next.end_ns);
        if (merged.recent_count == 2)
            pack_recent(&merged, 1);
        if (length_ns(open) > length_ns(&merged.longest))
            merged.longest = *open;
    }
    time_set_clear(set);
    *set = merged;
}

/* Sorting takes each late one once, and packs the others anew: that is done seldom enough to cost
 * each of them a few times its first packing. */
static void add_late(struct time_set *set, struct interval interval)
{
    LARGE_ARRAY_ADD(set->late, set->late_count, interval);
    if (set->late_count > LATE_FEW + set->packed.length / LATE_PART_BYTES)
        sort_late_in(set);
}

/* Joins all recent ones that it touches to it, which are those from the one returned to *behind. */
static uint32_t join_recent(const struct time_set *set, struct interval *added, uint32_t *behind)
{
    uint32_t at = set->recent_count;

    while (at > 0 && set->recent[at - 1].start_ns > added->end_ns)
        at--;
    for (*behind = at; at > 0 && set->recent[at - 1].end_ns >= added->start_ns; at--) {
        const struct interval *touched = &set->recent[at - 1];

        if (touched->start_ns < added->start_ns)
            added->start_ns = touched->start_ns;
        if (touched->end_ns > added->end_ns)
            added->end_ns = touched->end_ns;
    }
    return at;
}

/* What touches one that is packed, or lies before it, is late. */
void time_set_add_slowly(struct time_set *set, int64_t start_ns, int64_t end_ns)
{
    struct interval added = {start_ns, end_ns};
    uint32_t at, behind;

    if (start_ns >= set->longest.start_ns && end_ns <= set->longest.end_ns &&
        length_ns(&set->longest) > 0)
        return;
    at = join_recent(set, &added, &behind);
    if (at == 0 && set->packed.length && added.start_ns <= set->packed_end_ns) {
        drop_recent(set, behind);
        add_late(set, added);
        return;
    }
    if (at == behind && set->recent_count == TIME_SET_RECENT) {
        if (at == 0) {
            pack_interval(set, &added);
            return;
        }
        pack_recent(set, at < TIME_SET_RECENT / 2 ? at : TIME_SET_RECENT / 2);
        at -= TIME_SET_RECENT - set->recent_count;
        behind = at;
    }
    memmove(&set->recent[at + 1], &set->recent[behind],
            (set->recent_count - behind) * sizeof *set->recent);
    set->recent[at] = added;
    set->recent_count += at + 1 - behind;
}

/* What is late was seldom sorted in before: a set of times in order has none. */
void time_set_complete(struct time_set *set)
{
    if (set->late_count)
        sort_late_in(set);
}

/* The last of the recent ones is the last of all: a set that is not empty has one, since the last
 * that is packed stays open. */
bool time_set_span(const struct time_set *set, struct interval *span)
{
    struct time_set_walk walk = time_set_walk_of(set);

    if (!time_set_next(&walk, span))
        return false;
    span->end_ns = set->recent[set->recent_count - 1].end_ns;
    return true;
}

struct time_set_walk time_set_walk_of(const struct time_set *set)
{
    return (struct time_set_walk){.set = set, .at = set->packed.bytes};
}

/* Those that are packed come before the recent ones. */
bool time_set_next(struct time_set_walk *walk, struct interval *interval)
{
    if (next_packed(walk, interval))
        return true;
    if (walk->recent == walk->set->recent_count)
        return false;
    *interval = walk->set->recent[walk->recent++];
    return true;
}

int64_t time_set_covered_ns(const struct time_set *set)
{
    int64_t covered_ns = set->packed_ns;

    for (uint32_t i = 0; i < set->recent_count; i++)
        covered_ns = saturated_sum(covered_ns, length_ns(&set->recent[i]));
    return covered_ns;
}

/* ---- several sets ---------------------------------------------------------------------------- */

static bool comes_before(const struct time_set_head *a, const struct time_set_head *b)
{
    return a->interval.start_ns < b->interval.start_ns;
}

/* Heads are moved, not pointed to: there is one for each track, and most walks move few. */
static void swap_heads(struct time_set_head *a, struct time_set_head *b)
{
    struct time_set_head head = *a;

    *a = *b;
    *b = head;
}

/* An empty set has no head. Each is lifted to where the one above it begins before it does. */
void time_sets_walk_add(struct time_sets_walk *walk, const struct time_set *set)
{
    struct time_set_head head = {.walk = time_set_walk_of(set)};

    if (!time_set_next(&head.walk, &head.interval))
        return;
    ARRAY_ADD(walk->heads, walk->count, head);
    for (size_t at = walk->count - 1;
         at && comes_before(&walk->heads[at], &walk->heads[(at - 1) / 2]); at = (at - 1) / 2)
        swap_heads(&walk->heads[at], &walk->heads[(at - 1) / 2]);
}

/* The set whose interval was given stays where it is in most cases: its next one comes before those
 * of the others, or it is the only one. */
bool time_sets_next(struct time_sets_walk *walk, struct interval *interval)
{
    struct time_set_head *heads = walk->heads;
    size_t at = 0;

    if (!walk->count) {
        free(walk->heads);
        walk->heads = NULL;
        return false;
    }
    *interval = heads[0].interval;
    if (!time_set_next(&heads[0].walk, &heads[0].interval))
        heads[0] = heads[--walk->count];
    for (size_t child = 1; child < walk->count; child = 2 * at + 1) {
        child += child + 1 < walk->count && comes_before(&heads[child + 1], &heads[child]);
        if (!comes_before(&heads[child], &heads[at]))
            break;
        swap_heads(&heads[child], &heads[at]);
        at = child;
    }
    return true;
}

void time_set_clear(struct time_set *set)
{
    free(set->packed.bytes);
    large_array_free(set->late);
    *set = (struct time_set){.recent_count = 0};
}
