/* Shapes of softmaxes first, then the products that make and read such. */
#include "sections/advice/attention_scores.h"

#include "base/core/array.h"
#include "base/core/invariant.h"
#include "cost/efficiency/matrix_calls.h"
#include "cost/flops/op_call.h"

#include <stdlib.h>
#include <string.h>

/* Without recorded shapes nothing tells how large the scores are, so such an op is none of
 * them. */
static bool parse_op(struct op_call *parsed, const struct trace *trace, uint32_t op)
{
    const struct event *event = &trace->host[op];
    uint32_t shapes = trace->details[event->detail].input_shapes;
    struct op_call_text text = {.name = trace_text(trace, event->name)};

    if (!shapes)
        return false;
    text.shapes = trace_text(trace, shapes);
    return op_call_parse(parsed, &text);
}

/* The matrices of a tensor; false where it has none. All dimensions before the last two are
 * batch: heads and samples are alike to a product. */
static bool matrices_of(const struct op_call *call, uint32_t argument, struct score_shape *shape)
{
    int64_t elements = elements_of(call, argument);

    if (!is_tensor(call, argument) || rank_of(call, argument) < 2 || elements <= 0)
        return false;
    shape->rows = size_of(call, argument, -2);
    shape->columns = size_of(call, argument, -1);
    shape->batch = elements / shape->rows / shape->columns;
    return true;
}

static bool is_same_shape(const struct score_shape *a, const struct score_shape *b)
{
    return a->batch == b->batch && a->rows == b->rows && a->columns == b->columns;
}

static struct score_shape *find_shape(const struct attention_scores *scores,
                                      const struct score_shape *like)
{
    for (size_t i = 0; i < scores->count; i++)
        if (is_same_shape(&scores->shapes[i], like))
            return &scores->shapes[i];
    return NULL;
}

/* Small softmaxes are classifiers' or routers'; those below the limit are no attention. */
static void add_softmax(struct attention_scores *scores, const struct trace *trace, uint32_t op,
                        int64_t size_min)
{
    struct op_call parsed = {0};
    struct score_shape shape = {.softmax = op};

    if (parse_op(&parsed, trace, op) && matrices_of(&parsed, 0, &shape) && shape.rows >= size_min &&
        shape.columns >= size_min && !find_shape(scores, &shape)) {
        ARRAY_ADD(scores->shapes, scores->count, shape);
    }
    op_call_clear(&parsed);
}

/* The scores that the product's two matrices make, or that its first one is. baddbmm has the
 * tensor that is added first, so its matrices are one argument further on. */
static struct score_shape *shape_of_product(const struct attention_scores *scores,
                                            const struct trace *trace, uint32_t op,
                                            enum score_use *use)
{
    struct op_call parsed = {0};
    struct score_shape left, right, *found = NULL;

    *use = SCORES_NOT_USED;
    if (parse_op(&parsed, trace, op)) {
        uint32_t first = strcmp(trace_text(trace, trace->host[op].name), "aten::baddbmm") == 0;

        if (matrices_of(&parsed, first, &left) && matrices_of(&parsed, first + 1, &right) &&
            left.columns == right.rows) {
            struct score_shape made = {
                .batch = left.batch, .rows = left.rows, .columns = right.columns};

            found = find_shape(scores, &left);
            /* Scores are read as the first of two matrices, and made as a result. */
            *use = found ? SCORES_READ : SCORES_MADE;
            if (!found)
                found = find_shape(scores, &made);
        }
    }
    op_call_clear(&parsed);
    if (!found)
        *use = SCORES_NOT_USED;
    return found;
}

enum score_use score_use_of_product(const struct attention_scores *scores,
                                    const struct trace *trace, uint32_t op)
{
    enum score_use use = SCORES_NOT_USED;

    if (scores->count > 0)
        (void)shape_of_product(scores, trace, op, &use);
    return use;
}

/* Asked for each kernel: remembered by the text of the shapes, of which a trace has few. 0 is
 * "not asked", which no answer is. */
enum score_use score_use_of_op(struct attention_scores *scores, const struct trace *trace,
                               uint32_t op)
{
    uint32_t shapes = trace->details[trace->host[op].detail].input_shapes;
    struct op_call parsed = {0};
    struct score_shape shape;
    uint8_t *use;

    if (!shapes || scores->count == 0)
        return SCORES_NOT_USED;
    use = &scores->use_of_shapes[shapes];
    if (*use)
        return *use;
    *use = SCORES_NOT_USED;
    if (parse_op(&parsed, trace, op))
        for (uint32_t i = 0; i < parsed.argument_count; i++)
            if (matrices_of(&parsed, i, &shape) && find_shape(scores, &shape))
                *use = SCORES_USED;
    op_call_clear(&parsed);
    return *use;
}

/* Scores are a matrix that one product makes and another reads: either alone may be any square
 * product, and only both together are an attention that was written out. */
static void mark_products(struct attention_scores *scores, const struct efficiency *efficiency)
{
    const struct matrix_calls *calls = &efficiency->calls;

    for (uint32_t i = 0; i < calls->count; i++) {
        struct score_shape *shape;
        enum score_use use;

        if (!calls->calls[i].is_matrix)
            continue;
        shape = shape_of_product(scores, efficiency->trace, calls->calls[i].op, &use);
        if (!shape)
            continue;
        shape->is_made = shape->is_made || use == SCORES_MADE;
        shape->is_read = shape->is_read || use == SCORES_READ;
    }
}

/* A shape counts only where one product makes it, a softmax works on it and another product
 * reads it: that is what softmax(QK^T)V looks like, whatever the program calls it, and nothing
 * else in a model usually does. O(operators + products * shapes). */
void find_attention_scores(struct attention_scores *scores, const struct efficiency *efficiency,
                           int64_t size_min)
{
    const struct trace *trace = efficiency->trace;
    size_t kept = 0;

    for (uint32_t i = 0; i < trace->host_count; i++)
        if (trace->host[i].kind == EVENT_OPERATOR &&
            strcmp(trace_text(trace, trace->host[i].name), "aten::_softmax") == 0)
            add_softmax(scores, trace, i, size_min);
    if (scores->count == 0)
        return;
    mark_products(scores, efficiency);
    for (size_t i = 0; i < scores->count; i++)
        if (scores->shapes[i].is_made && scores->shapes[i].is_read)
            scores->shapes[kept++] = scores->shapes[i];
    scores->count = kept;
    scores->use_of_shapes = require_memory(calloc(string_pool_count(&trace->strings) + 1, 1));
}

void attention_scores_clear(struct attention_scores *scores)
{
    free(scores->shapes);
    free(scores->use_of_shapes);
    *scores = (struct attention_scores){0};
}
