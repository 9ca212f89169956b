/* Who owns an allocation of a snapshot, as far as the program said so itself. */
#include "memory/snapshot_owners.h"

#include "base/core/array.h"
#include "base/core/hash_map.h"
#include "base/core/invariant.h"

#include <stdlib.h>
#include <string.h>

/* ---- a tree of calls ------------------------------------------------------------------------- */

/* What held a device's memory at a moment, as a tree of calls: from the program's outermost line
 * inwards to the lines that allocated. */

enum { DEPTH_MAX = 200 };

/* The tree while it grows. */
struct tree_growth {
    struct call_tree *tree;
    const struct snapshot_places *places;
    struct hash_map children; /* of (parent + 1, frame), and of (0, place) without a frame */
    struct hash_map others;
    bool *is_user;           /* [frames] */
    uint32_t *leaf_of_stack; /* [stacks]: 1 + its node; 0: not yet known */
};

/* Nodes refer to each other by number and not by address: growing the list moves them all. */
static uint32_t snapshot_tree_add_node(struct tree_growth *growth, struct call_node node)
{
    struct call_tree *tree = growth->tree;

    ARRAY_ROOM(tree->nodes, tree->count);
    if (node.parent != SNAPSHOT_NONE)
        tree->nodes[node.parent].child_count++;
    tree->nodes[tree->count] = node;
    return tree->count++;
}

/* By (parent, frame): the same line called from two places is two nodes. */
static uint32_t child_of(struct tree_growth *growth, uint32_t parent, uint32_t frame)
{
    uint32_t next = growth->tree->count;
    uint32_t known = hash_map_add(&growth->children, pair_key(parent + 1, frame), next);

    if (known < next)
        return known;
    return snapshot_tree_add_node(growth, (struct call_node){.frame = frame, .parent = parent});
}

/* Of what has no line of the user's. */
static uint32_t node_of_place(struct tree_growth *growth, uint32_t place)
{
    uint32_t next = growth->tree->count;
    uint32_t known = hash_map_add(&growth->others, place, next);

    if (known < next)
        return known;
    return snapshot_tree_add_node(
        growth,
        (struct call_node){.frame = SNAPSHOT_NONE, .place = place, .parent = SNAPSHOT_NONE});
}

/* The innermost node of a stack, which is put into the tree. From the outermost frame inwards,
 * the program's own lines alone: lines of libraries are the same in all programs. DEPTH_MAX
 * bounds recursion in the program. */
static uint32_t leaf_of(struct tree_growth *growth, uint32_t stack)
{
    const struct memory_snapshot *snapshot = growth->places->snapshot;
    const struct snapshot_stack *frames = &snapshot->stacks[stack];
    uint32_t node = SNAPSHOT_NONE;
    int depth = 0;

    for (uint32_t i = frames->count; i > 0 && depth < DEPTH_MAX; i--) {
        uint32_t frame = snapshot->stack_frames[frames->first + i - 1];

        if (!growth->is_user[frame])
            continue;
        node = child_of(growth, node, frame);
        depth++;
    }
    return node == SNAPSHOT_NONE ? node_of_place(growth, growth->places->of_stack[stack]) : node;
}

/* Stacks are shared by many allocations, so each is put into the tree once. */
static uint32_t leaf_of_life(struct tree_growth *growth, const struct memory_life *life)
{
    uint32_t *known;

    if (life->stack == SNAPSHOT_NONE)
        return node_of_place(growth, place_of_life(growth->places, life));
    known = &growth->leaf_of_stack[life->stack];
    if (*known == 0)
        *known = leaf_of(growth, life->stack) + 1;
    return *known - 1;
}

/* O(lives + frames of all stacks). */
void build_call_tree(struct call_tree *tree, const struct snapshot_replay *replay,
                     const struct snapshot_places *places, uint32_t moment)
{
    const struct memory_snapshot *snapshot = places->snapshot;
    struct tree_growth growth = {.tree = tree, .places = places};

    growth.is_user =
        require_memory(calloc((size_t)snapshot->frame_count + 1, sizeof *growth.is_user));
    growth.leaf_of_stack =
        require_memory(calloc((size_t)snapshot->stack_count + 1, sizeof *growth.leaf_of_stack));
    for (uint32_t i = 0; i < snapshot->frame_count; i++)
        growth.is_user[i] = is_user_frame(snapshot, &snapshot->frames[i]);
    for (uint32_t i = 0; i < replay->life_count; i++) {
        const struct memory_life *life = &replay->lives[i];
        uint32_t node;

        if (!is_alive(life, moment))
            continue;
        node = leaf_of_life(&growth, life);
        tree->nodes[node].bytes += life->bytes;
        tree->nodes[node].blocks++;
        tree->bytes += life->bytes;
    }
    for (uint32_t i = tree->count; i > 0; i--) { /* children stand behind their parents */
        const struct call_node *node = &tree->nodes[i - 1];

        if (node->parent != SNAPSHOT_NONE) {
            tree->nodes[node->parent].bytes += node->bytes;
            tree->nodes[node->parent].blocks += node->blocks;
        }
    }
    hash_map_clear(&growth.children);
    hash_map_clear(&growth.others);
    free(growth.is_user);
    free(growth.leaf_of_stack);
}

/* ---- rows ---- */

/* Children of one parent side by side, largest first: SNAPSHOT_NONE is the largest number, so
 * the outermost come last. */
static int by_parent_and_bytes(const void *a, const void *b, void *tree)
{
    const struct call_node *nodes = ((const struct call_tree *)tree)->nodes;
    uint32_t one = *(const uint32_t *)a;
    uint32_t other = *(const uint32_t *)b;

    if (nodes[one].parent != nodes[other].parent) /* the outermost lines come last */
        return nodes[one].parent < nodes[other].parent ? -1 : 1;
    if (nodes[one].bytes != nodes[other].bytes)
        return nodes[one].bytes < nodes[other].bytes ? 1 : -1;
    return (one > other) - (one < other);
}

/* All of it was allocated inside one call: that one says more. */
static bool is_passage(const struct call_tree *tree, const uint32_t *sorted, const uint32_t *first,
                       uint32_t node)
{
    return tree->nodes[node].child_count > 0 &&
           tree->nodes[sorted[first[node]]].bytes == tree->nodes[node].bytes;
}

/* Rows in the order of a walk; the nodes to visit wait on a stack, the next one on top. On a
 * stack of its own, as the depth is the file's. What is below least_bytes is left out with all
 * in it, since children hold no more. */
static uint32_t walk(const struct call_tree *tree, const uint32_t *sorted, const uint32_t *first,
                     int64_t least_bytes, struct call_row *rows)
{
    struct call_row *waiting = require_memory(calloc((size_t)tree->count + 1, sizeof *waiting));
    uint32_t outermost = first[tree->count];
    uint32_t waiting_count = 0;
    uint32_t count = 0;

    for (uint32_t i = tree->count; i > outermost; i--)
        waiting[waiting_count++] = (struct call_row){.node = sorted[i - 1]};
    while (waiting_count > 0) {
        struct call_row row = waiting[--waiting_count];
        const struct call_node *node = &tree->nodes[row.node];
        bool is_shown = !is_passage(tree, sorted, first, row.node);

        /* Children hold no more than their parent: all of them go with it. */
        if (node->bytes < least_bytes)
            continue;
        if (is_shown)
            rows[count++] = row;
        for (uint32_t i = node->child_count; i > 0; i--)
            waiting[waiting_count++] = (struct call_row){.node = sorted[first[row.node] + i - 1],
                                                         .depth = row.depth + (is_shown ? 1 : 0)};
    }
    free(waiting);
    return count;
}

struct call_row *call_tree_rows(const struct call_tree *tree, int64_t least_bytes, uint32_t *count)
{
    struct call_row *rows = require_memory(calloc((size_t)tree->count + 1, sizeof *rows));
    uint32_t *sorted = require_memory(calloc((size_t)tree->count + 1, sizeof *sorted));
    uint32_t *first = require_memory(calloc((size_t)tree->count + 1, sizeof *first));
    struct call_tree copy = *tree;

    for (uint32_t i = 0; i < tree->count; i++)
        sorted[i] = i;
    qsort_r(sorted, tree->count, sizeof *sorted, by_parent_and_bytes, &copy);
    for (uint32_t i = tree->count; i > 0; i--) { /* where the children of each begin */
        uint32_t parent = tree->nodes[sorted[i - 1]].parent;

        first[parent == SNAPSHOT_NONE ? tree->count : parent] = i - 1;
    }
    *count = walk(tree, sorted, first, least_bytes, rows);
    free(sorted);
    free(first);
    return rows;
}

void call_tree_clear(struct call_tree *tree)
{
    if (!tree)
        return;
    free(tree->nodes);
    *tree = (struct call_tree){0};
}

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

/* Keys are small numbers, so an array is the map; what has no block is dropped before sorting. */
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

/* "phase|module", as the recorder writes tags; a tag of the program's own has no bar, and
 * names a module. */
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

/* Annotations of several threads are in one list, so they need not nest: an end closes the
 * innermost one of its name, wherever it lies, and those inside stay open. More than OPEN_MAX at
 * once are passed over. */
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

/* Annotations and events both by time: one walk, with a stack of what is open. The innermost
 * is the owner. */
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

/* A tag is a text of phase and module: split once per text, as thousands of blocks share one. */
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
