/* Finds what a compiled backward computes again, by the sizes of its products.
 *
 * A backward of a region holds, for each product of its forward, the two gradients of it, and what
 * is computed again has the sizes of the forward's own. So what counts is how many ops of a size
 * each region has, and of how many of its products that size is the one of a gradient. Both are
 * counted once, by region and size (equal sizes have one number); to judge an op is then a few
 * look-ups. A backward with fewer products than its forward has gradients is known to lack some
 * without a look at them, so that many backwards of one forward cost no more: n log n in all. */
#include "cost/modules/compiled_recompute.h"

#include "base/core/array.h"
#include "base/core/hash_map.h"
#include "base/core/large_array.h"
#include "base/core/large_sort.h"
#include "base/core/search.h"
#include "base/core/string_pool.h"
#include "base/text/prefix.h"
#include "cost/flops/product_sizes.h"
#include "trace/name_answers.h"

#include <string.h>

static const char backward_name[] = "CompiledFunctionBackward";

/* A counted op of kind COST_MATRIX in a region. */
struct region_op {
    uint32_t region;
    uint32_t op;
    bool is_product;       /* else attention, a convolution: equal by name and shapes */
    uint32_t size;         /* the number of its sizes; of a product, also: */
    uint32_t gradients[2]; /* those of its gradients, whether there are products of them or not */
};

struct region_ops {
    const struct region_op *ops;
    size_t count;
};

struct recompute_search {
    struct host_contexts *contexts;
    const struct trace *trace;
    const struct counted_ops *counted;
    uint32_t *region_of; /* by host event: the compiled region around, or NO_EVENT */
    struct region_op *ops;
    size_t count;
    struct hash_map forward_of;  /* sequence number -> host event of the latest forward region */
    struct string_pool sizes;    /* the bytes of struct op_sizes -> a number */
    struct hash_map counts;      /* by region and size: how many ops */
    struct hash_map gradients;   /* by region and size: how many gradients of its products */
    struct hash_map products;    /* by region: how many products */
    struct hash_map seen_before; /* by region and size: how many ops before the one looked at */
    struct name_answers regions;
    uint32_t *found; /* [found_count]: host events that are regions */
    size_t found_count;
    bool *is_again;
    bool *is_undecided;
    bool has_again;
};

static bool is_name_of_backward(const char *name)
{
    return has_prefix(name, backward_name);
}

static bool is_name_of_region(const char *name)
{
    return is_name_of_backward(name) || strcmp(name, "CompiledFunction") == 0;
}

static bool is_region(struct recompute_search *search, uint32_t event)
{
    return name_answer(&search->regions, search->trace, search->trace->host[event].name);
}

/* What makes two ops equal; without holes. */
struct op_sizes {
    int64_t is_product;
    struct product_sizes sizes;
};

static uint32_t number_of_sizes(struct recompute_search *search, bool is_product,
                                const struct product_sizes *sizes)
{
    struct op_sizes all = {is_product, *sizes};

    return string_pool_add(&search->sizes, (const char *)&all, sizeof all);
}

static struct product_sizes product(int64_t count, int64_t rows, int64_t shared, int64_t columns)
{
    return (struct product_sizes){count, rows < columns ? rows : columns, shared,
                                  rows < columns ? columns : rows};
}

static void count_one(struct hash_map *counts, uint32_t region, uint32_t size)
{
    uint64_t key = pair_key(region, size);
    uint32_t before = hash_map_add(counts, key, 0);

    (void)hash_map_set(counts, key, before + 1);
}

static uint32_t counted_as(const struct hash_map *counts, uint32_t region, uint32_t size)
{
    uint32_t count = hash_map_find(counts, pair_key(region, size));

    return count == NO_VALUE ? 0 : count;
}

/* Of C = A B (M x K x N) the gradients are dA = dC B' (M x N x K) and dB = A' dC (K x M x N):
 * the same three sizes in other roles. */
static void number_product(struct recompute_search *search, struct region_op *op,
                           const struct product_sizes *sizes)
{
    const struct product_sizes gradients[2] = {
        product(sizes->count, sizes->smaller, sizes->larger, sizes->shared),
        product(sizes->count, sizes->shared, sizes->smaller, sizes->larger)};

    count_one(&search->products, op->region, 0);
    for (int i = 0; i < 2; i++) {
        op->gradients[i] = number_of_sizes(search, true, &gradients[i]);
        count_one(&search->gradients, op->region, op->gradients[i]);
    }
}

/* Ops named "backward" are gradients by their name, and nobody's recomputation. */
static void compiled_recompute_add_op(struct recompute_search *search, uint32_t op,
                                      struct op_call *room)
{
    const struct event *event = &search->trace->host[op];
    const char *name = trace_text(search->trace, event->name);
    uint32_t shapes = search->trace->details[event->detail].input_shapes;
    struct product_sizes sizes;
    struct region_op *added;

    if (strstr(name, "backward"))
        return;
    LARGE_ARRAY_RESERVE(search->ops, search->count + (size_t)1);
    added = &search->ops[search->count++];
    *added = (struct region_op){.region = search->region_of[op], .op = op};
    added->is_product =
        product_sizes_of(&sizes, room, name, shapes ? trace_text(search->trace, shapes) : "");
    if (added->is_product)
        number_product(search, added, &sizes);
    else
        sizes = (struct product_sizes){.count = event->name, .smaller = shapes};
    added->size = number_of_sizes(search, added->is_product, &sizes);
    count_one(&search->counts, added->region, added->size);
}

static int compare_region_ops(const void *a, const void *b, void *unused)
{
    const struct region_op *left = a;
    const struct region_op *right = b;

    (void)unused;
    if (left->region != right->region)
        return left->region < right->region ? -1 : 1;
    return left->op < right->op ? -1 : left->op > right->op;
}

/* A region inside another belongs to itself alone, as the inner one is what autograd pairs. */
static void collect_ops(struct recompute_search *search)
{
    const struct trace *trace = search->trace;
    struct op_call room = {0};

    for (uint32_t i = 0; i < trace->host_count; i++) {
        uint32_t parent = search->contexts->parents[i];
        uint32_t cost = search->counted->cost_of[i];

        search->region_of[i] = parent == NO_EVENT ? NO_EVENT : search->region_of[parent];
        if (is_region(search, i)) {
            search->region_of[i] = i;
            ARRAY_ADD(search->found, search->found_count, i);
        } else if (search->region_of[i] != NO_EVENT && search->counted->states[i] == OP_COUNTED &&
                   search->counted->costs[cost].kind == COST_MATRIX) {
            compiled_recompute_add_op(search, i, &room);
        }
    }
    op_call_clear(&room);
    sort_large(
        search->ops, search->count,
        &(struct large_order){.element_bytes = sizeof *search->ops, .compare = compare_region_ops});
}

/* Ops are sorted by region, so that those of one lie together; a region without ops has none
 * and is found as such. */
static struct region_ops ops_of(const struct recompute_search *search, uint32_t region)
{
    struct region_ops found = {0};
    size_t low = LOWER_BOUND(i, 0, search->count, search->ops[i].region < region);

    found.ops = search->ops + low;
    while (low + found.count < search->count && search->ops[low + found.count].region == region)
        found.count++;
    return found;
}

/* The two runs of a region. */
struct region_pair {
    uint32_t forward;
    uint32_t backward;
    bool has_all_gradients; /* as far as sizes tell */
};

/* Fewer products than two per forward product: some gradient was not needed (an input without
 * gradient), or is another op. */
static bool has_all_gradients(const struct recompute_search *search, const struct region_pair *pair)
{
    uint32_t products = counted_as(&search->products, pair->forward, 0);
    struct region_ops forward;

    if (products > counted_as(&search->products, pair->backward, 0) / 2)
        return false;
    forward = ops_of(search, pair->forward);
    for (size_t i = 0; i < forward.count; i++)
        for (int k = 0; k < 2 && forward.ops[i].is_product; k++) {
            uint32_t size = forward.ops[i].gradients[k];

            if (counted_as(&search->counts, pair->backward, size) <
                counted_as(&search->gradients, pair->forward, size))
                return false;
        }
    return true;
}

/* Of ops of one size the gradients are as many as the forward asks for; what is beyond them is
 * recomputed, and comes first, since a gradient needs it. What sizes cannot decide is told as
 * undecided, never guessed. */
static void check_op(struct recompute_search *search, const struct region_pair *pair,
                     const struct region_op *op)
{
    uint32_t there = counted_as(&search->counts, pair->backward, op->size);
    uint32_t before = counted_as(&search->seen_before, pair->backward, op->size);
    uint32_t in_forward = counted_as(&search->counts, pair->forward, op->size);
    uint32_t gradients = counted_as(&search->gradients, pair->forward, op->size);
    uint32_t beyond = there > gradients ? there - gradients : 0;

    count_one(&search->seen_before, pair->backward, op->size);
    if (in_forward == 0)
        return; /* cannot be a product of the forward */
    if (beyond > in_forward)
        search->is_undecided[op->op] = true;
    else if (before < beyond)
        search->is_again[op->op] = search->has_again = true;
    else if (!pair->has_all_gradients && gradients > 0 && before < in_forward)
        search->is_undecided[op->op] = true; /* it may stand in the place of a missing one */
}

/* Autograd gives a backward the sequence number of its forward; the latest forward of the
 * number is meant. */
static void check_region(struct recompute_search *search, uint32_t region)
{
    const struct event *event = &search->trace->host[region];
    uint32_t found = event->sequence_number == NO_ID
                         ? NO_VALUE
                         : hash_map_find(&search->forward_of, (uint64_t)event->sequence_number);
    struct region_ops backward = ops_of(search, region);
    struct region_pair pair = {.forward = found, .backward = region};

    for (size_t i = 0; found == NO_VALUE && i < backward.count; i++)
        search->is_undecided[backward.ops[i].op] = true;
    if (found == NO_VALUE)
        return;
    pair.has_all_gradients = has_all_gradients(search, &pair);
    for (size_t i = 0; i < backward.count; i++)
        check_op(search, &pair, &backward.ops[i]);
}

/* In order of start, a forward comes before its backward: its number is known when the
 * backward asks for it. */
static void check_regions(struct recompute_search *search)
{
    const struct trace *trace = search->trace;

    for (size_t i = 0; i < search->found_count; i++) {
        const struct event *event = &trace->host[search->found[i]];

        if (is_name_of_backward(trace_text(trace, event->name)))
            check_region(search, search->found[i]);
        else if (event->sequence_number != NO_ID)
            hash_map_set(&search->forward_of, (uint64_t)event->sequence_number, search->found[i]);
    }
}

/* Phases are inherited downwards at the end: host events have parents before children. What
 * stays undecided is the answer, and is the caller's to free; without any compiled backward
 * there is nothing to decide. */
bool *find_compiled_recompute(struct host_contexts *contexts, const struct trace *trace,
                              const struct counted_ops *ops)
{
    struct recompute_search search = {
        .contexts = contexts, .trace = trace, .counted = ops, .regions.ask = is_name_of_region};
    size_t count = trace->host_count + (size_t)1;

    if (!any_text_is(trace, is_name_of_backward)) /* most traces */
        return NULL;
    search.region_of = large_array_new(count * sizeof *search.region_of);
    search.is_again = large_array_new(count * sizeof *search.is_again);
    search.is_undecided = large_array_new(count * sizeof *search.is_undecided);
    collect_ops(&search);
    check_regions(&search);
    for (uint32_t i = 0; i < trace->host_count && search.has_again; i++) {
        uint32_t parent = contexts->parents[i];

        search.is_again[i] |= parent != NO_EVENT && search.is_again[parent];
        if (search.is_again[i])
            contexts->phases[i] = PHASE_RECOMPUTE;
    }
    hash_map_clear(&search.forward_of);
    hash_map_clear(&search.counts);
    hash_map_clear(&search.gradients);
    hash_map_clear(&search.products);
    hash_map_clear(&search.seen_before);
    string_pool_clear(&search.sizes);
    free(search.regions.answers);
    free(search.found);
    large_array_free(search.ops);
    large_array_free(search.is_again);
    large_array_free(search.region_of);
    return search.is_undecided;
}
