/* Finds what a compiled backward computes again, by the sizes of its products. */
#include "modules/compiled_recompute.h"

#include "base/hash_map.h"
#include "base/large_array.h"
#include "base/large_sort.h"
#include "base/prefix.h"
#include "flops/product_sizes.h"

#include <string.h>

static const char backward_name[] = "CompiledFunctionBackward";

/* A counted op of kind COST_MATRIX in a region. */
struct region_op {
    uint32_t region;
    uint32_t op;
    bool is_product; /* else attention, a convolution: equal by name and shapes, in `sizes` */
    struct product_sizes sizes;
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
    size_t capacity;
    struct hash_map forward_of; /* sequence number -> host event of the latest forward region */
    bool *is_again;
    bool *is_undecided;
};

static bool is_backward_region(const struct trace *trace, uint32_t event)
{
    return has_prefix(trace_text(trace, trace->host[event].name), backward_name);
}

static bool is_region(const struct trace *trace, uint32_t event)
{
    return is_backward_region(trace, event) ||
           strcmp(trace_text(trace, trace->host[event].name), "CompiledFunction") == 0;
}

static bool has_compiled_backward(const struct trace *trace)
{
    for (uint32_t i = 0; i < trace->host_count; i++)
        if (is_backward_region(trace, i))
            return true;
    return false;
}

static void add_op(struct recompute_search *search, uint32_t op, struct op_call *room)
{
    const struct event *event = &search->trace->host[op];
    const char *name = trace_text(search->trace, event->name);
    uint32_t shapes = search->trace->details[event->detail].input_shapes;
    struct region_op *added;

    if (strstr(name, "backward"))
        return;
    if (search->count == search->capacity) {
        search->ops = large_array_grown(search->ops, (search->count + 1) * sizeof *search->ops);
        search->capacity = large_array_bytes(search->ops) / sizeof *search->ops;
    }
    added = &search->ops[search->count++];
    *added = (struct region_op){.region = search->region_of[op], .op = op};
    added->is_product = product_sizes_of(&added->sizes, room, name,
                                         shapes ? trace_text(search->trace, shapes) : "");
    if (!added->is_product)
        added->sizes = (struct product_sizes){.count = event->name, .smaller = shapes};
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

static void collect_ops(struct recompute_search *search)
{
    const struct trace *trace = search->trace;
    struct op_call room = {0};

    for (uint32_t i = 0; i < trace->host_count; i++) {
        uint32_t parent = search->contexts->parents[i];
        uint32_t cost = search->counted->cost_of[i];

        search->region_of[i] = parent == NO_EVENT ? NO_EVENT : search->region_of[parent];
        if (is_region(trace, i))
            search->region_of[i] = i;
        else if (search->region_of[i] != NO_EVENT && search->counted->states[i] == OP_COUNTED &&
                 search->counted->costs[cost].kind == COST_MATRIX)
            add_op(search, i, &room);
    }
    op_call_clear(&room);
    sort_large(
        search->ops, search->count,
        &(struct large_order){.element_bytes = sizeof *search->ops, .compare = compare_region_ops});
}

static struct region_ops ops_of(const struct recompute_search *search, uint32_t region)
{
    struct region_ops found = {0};
    size_t low = 0;
    size_t high = search->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (search->ops[middle].region < region)
            low = middle + 1;
        else
            high = middle;
    }
    found.ops = search->ops + low;
    while (low + found.count < search->count && search->ops[low + found.count].region == region)
        found.count++;
    return found;
}

static bool are_equal(const struct product_sizes *a, const struct product_sizes *b)
{
    return a->count == b->count && a->smaller == b->smaller && a->shared == b->shared &&
           a->larger == b->larger;
}

static size_t count_equal(const struct region_op *ops, size_t count, const struct region_op *to)
{
    size_t equal = 0;

    for (size_t i = 0; i < count; i++)
        equal += ops[i].is_product == to->is_product && are_equal(&ops[i].sizes, &to->sizes);
    return equal;
}

static struct product_sizes product(int64_t count, int64_t rows, int64_t shared, int64_t columns)
{
    return (struct product_sizes){count, rows < columns ? rows : columns, shared,
                                  rows < columns ? columns : rows};
}

/* How many gradients of the forward's products are products of these sizes. */
static size_t count_gradients(struct region_ops forward, const struct region_op *like)
{
    size_t count = 0;

    for (size_t i = 0; i < forward.count && like->is_product; i++) {
        const struct product_sizes *of = &forward.ops[i].sizes;
        struct product_sizes left = product(of->count, of->smaller, of->larger, of->shared);
        struct product_sizes right = product(of->count, of->shared, of->smaller, of->larger);

        if (forward.ops[i].is_product)
            count += (size_t)are_equal(&left, &like->sizes) + are_equal(&right, &like->sizes);
    }
    return count;
}

/* The two runs of a region. */
struct region_pair {
    struct region_ops forward;
    struct region_ops backward;
    bool has_all_gradients; /* as far as sizes tell */
};

static bool has_gradients_of(const struct region_pair *pair, const struct region_op *of)
{
    const struct product_sizes *sizes = &of->sizes;
    struct region_op gradients[] = {
        {.is_product = true,
         .sizes = product(sizes->count, sizes->smaller, sizes->larger, sizes->shared)},
        {.is_product = true,
         .sizes = product(sizes->count, sizes->shared, sizes->smaller, sizes->larger)},
    };

    for (size_t i = 0; i < sizeof gradients / sizeof *gradients; i++)
        if (count_equal(pair->backward.ops, pair->backward.count, &gradients[i]) <
            count_gradients(pair->forward, &gradients[i]))
            return false;
    return true;
}

static bool has_all_gradients(const struct region_pair *pair)
{
    for (size_t i = 0; i < pair->forward.count; i++)
        if (pair->forward.ops[i].is_product && !has_gradients_of(pair, &pair->forward.ops[i]))
            return false;
    return true;
}

static void judge_op(struct recompute_search *search, const struct region_pair *pair, size_t index)
{
    struct region_ops forward = pair->forward, backward = pair->backward;
    const struct region_op *op = &backward.ops[index];
    size_t there = count_equal(backward.ops, backward.count, op);
    size_t before = count_equal(backward.ops, index, op);
    size_t in_forward = count_equal(forward.ops, forward.count, op);
    size_t gradients = count_gradients(forward, op);

    size_t beyond = there > gradients ? there - gradients : 0;

    if (in_forward == 0)
        return; /* cannot be a product of the forward */
    if (beyond > in_forward)
        search->is_undecided[op->op] = true;
    else if (before < beyond)
        search->is_again[op->op] = true;
    else if (!pair->has_all_gradients && gradients > 0 && before < in_forward)
        search->is_undecided[op->op] = true; /* it may stand in the place of a missing one */
}

static void judge_region(struct recompute_search *search, uint32_t region)
{
    const struct event *event = &search->trace->host[region];
    uint32_t found = event->sequence_number == NO_ID
                         ? NO_VALUE
                         : hash_map_find(&search->forward_of, (uint64_t)event->sequence_number);
    struct region_pair pair = {.backward = ops_of(search, region)};

    for (size_t i = 0; found == NO_VALUE && i < pair.backward.count; i++)
        search->is_undecided[pair.backward.ops[i].op] = true;
    if (found == NO_VALUE)
        return;
    pair.forward = ops_of(search, found);
    pair.has_all_gradients = has_all_gradients(&pair);
    for (size_t i = 0; i < pair.backward.count; i++)
        judge_op(search, &pair, i);
}

static void judge_regions(struct recompute_search *search)
{
    const struct trace *trace = search->trace;

    for (uint32_t i = 0; i < trace->host_count; i++) {
        const struct event *event = &trace->host[i];

        if (!is_region(trace, i) || search->region_of[i] != i)
            continue;
        if (is_backward_region(trace, i))
            judge_region(search, i);
        else if (event->sequence_number != NO_ID)
            hash_map_set(&search->forward_of, (uint64_t)event->sequence_number, i);
    }
}

bool *find_compiled_recompute(struct host_contexts *contexts, const struct trace *trace,
                              const struct counted_ops *ops)
{
    struct recompute_search search = {.contexts = contexts, .trace = trace, .counted = ops};
    size_t count = trace->host_count + (size_t)1;

    if (!has_compiled_backward(trace))
        return NULL;
    search.region_of = large_array_new(count * sizeof *search.region_of);
    search.is_again = large_array_new(count * sizeof *search.is_again);
    search.is_undecided = large_array_new(count * sizeof *search.is_undecided);
    collect_ops(&search);
    judge_regions(&search);
    for (uint32_t i = 0; i < trace->host_count; i++) {
        uint32_t parent = contexts->parents[i];

        search.is_again[i] |= parent != NO_EVENT && search.is_again[parent];
        if (search.is_again[i])
            contexts->phases[i] = PHASE_RECOMPUTE;
    }
    hash_map_clear(&search.forward_of);
    large_array_free(search.ops);
    large_array_free(search.is_again);
    large_array_free(search.region_of);
    return search.is_undecided;
}
