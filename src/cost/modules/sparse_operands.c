/* Finds ops of sparse tensors by what PyTorch asks inside of them. */
#include "base/core/array.h"
#include "base/core/hash_map.h"
#include "base/text/prefix.h"
#include "cost/flops/user_formula.h"
#include "cost/modules/counted_ops.h"

#include <stdbool.h>
#include <string.h>

/* A dense tensor has none of them; values() and indices() stand with one of these. */
static const char *const questions[] = {
    "aten::_nnz",        "aten::_indices",     "aten::_values",      "aten::crow_indices",
    "aten::col_indices", "aten::ccol_indices", "aten::row_indices",  "aten::sparse_dim",
    "aten::dense_dim",   "aten::coalesce",     "aten::is_coalesced",
};
enum { QUESTION_COUNT = sizeof questions / sizeof *questions };

/* Products that are of sparse tensors by their name. */
static const char *const products[] = {"aten::_sparse_mm", "aten::_sparse_addmm",
                                       "aten::_sparse_sparse_matmul", "aten::sparse_sampled_addmm"};

struct sparse_search {
    struct counted_ops *ops;
    const struct trace *trace;
    const uint32_t *parents;
    const struct user_formulas *user;
    struct hash_map cost_of_name; /* the costs that say so */
};

static bool is_sparse_product(const char *name)
{
    for (size_t i = 0; i < sizeof products / sizeof *products; i++)
        if (has_prefix(name, products[i]))
            return true;
    return false;
}

/* Its FLOPs would be those of dense operands, or no formula knows it. */
static bool is_computing(const struct sparse_search *search, uint32_t event)
{
    uint32_t cost = search->ops->cost_of[event];
    const char *name = trace_text(search->trace, search->trace->host[event].name);

    if (cost == NO_EVENT || user_formulas_find(search->user, name))
        return false;
    return search->ops->costs[cost].kind >= COST_POINTWISE || is_sparse_product(name);
}

/* NO_EVENT: it is asked outside of any. The outermost, as an op of sparse tensors calls dense
 * ones on its values: what counts is what the user called. */
static uint32_t outermost_computing(const struct sparse_search *search, uint32_t event)
{
    uint32_t outermost = NO_EVENT;

    for (uint32_t at = search->parents[event]; at != NO_EVENT; at = search->parents[at])
        if (is_computing(search, at))
            outermost = at;
    return outermost;
}

static void uncount(struct sparse_search *search, uint32_t op)
{
    struct counted_ops *ops = search->ops;
    uint32_t name = search->trace->host[op].name;
    uint32_t cost = hash_map_add(&search->cost_of_name, name, ops->cost_count);

    if (cost == ops->cost_count) {
        ARRAY_ROOM(ops->name_kinds, ops->cost_count);
        ARRAY_ROOM(ops->costs, ops->cost_count);
        ops->name_kinds[cost] = 0; /* nothing asks for it once the ops are chosen */
        ops->costs[ops->cost_count++] =
            (struct op_cost){.kind = COST_NOT_COUNTED, .why = why_sparse, .bytes = -1};
    }
    ops->cost_of[op] = cost;
    ops->states[op] = OP_NOT_COUNTED;
}

static bool is_taken_back(const struct counted_ops *ops, uint32_t op)
{
    return ops->states[op] == OP_NOT_COUNTED && ops->costs[ops->cost_of[op]].why == why_sparse;
}

/* The names of the questions in the trace; false where it has none. */
static bool find_questions(const struct trace *trace, uint32_t names[QUESTION_COUNT])
{
    bool is_any = false;

    for (size_t i = 0; i < QUESTION_COUNT; i++) {
        names[i] = string_pool_find(&trace->strings, questions[i], strlen(questions[i]));
        is_any = is_any || names[i] != UINT32_MAX;
    }
    return is_any;
}

static bool is_question(const uint32_t names[QUESTION_COUNT], uint32_t name)
{
    for (size_t i = 0; i < QUESTION_COUNT; i++)
        if (names[i] == name)
            return true;
    return false;
}

/* FLOPs of a sparse product depend on its non-zeros, which no shape tells: the op is taken
 * back, and what lies in it goes with it. Traces without such questions cost eleven look-ups. */
void leave_out_sparse(struct counted_ops *ops, const struct trace *trace, const uint32_t *parents,
                      const struct user_formulas *user)
{
    struct sparse_search search = {.ops = ops, .trace = trace, .parents = parents, .user = user};
    uint32_t names[QUESTION_COUNT];

    if (!find_questions(trace, names))
        return;
    for (uint32_t i = 0; i < trace->host_count; i++) {
        uint32_t op =
            is_question(names, trace->host[i].name) ? outermost_computing(&search, i) : NO_EVENT;

        if (op != NO_EVENT && !is_taken_back(ops, op))
            uncount(&search, op);
    }
    for (uint32_t i = 0; i < trace->host_count; i++) {
        uint32_t above = parents[i];

        if (above != NO_EVENT && (ops->states[above] == OP_INSIDE || is_taken_back(ops, above)))
            ops->states[i] = OP_INSIDE;
    }
    hash_map_clear(&search.cost_of_name);
}
