/* Solves "2*s77, 3" against shapes like [[14, 3]]. */
#include "base/core/invariant.h"
#include "cost/flops/op_call.h"
#include "cost/modules/compiled_calls.h"

#include <string.h>

enum { SYMBOLS_MAX = 64, DEPTH_MAX = 8 };

struct size_symbol {
    const char *name;
    size_t length;
    int64_t value;
};

struct symbol_values {
    struct size_symbol symbols[SYMBOLS_MAX];
    uint32_t count;
};

/* What is known of "16*s77*s3". */
struct size_product {
    int64_t known;              /* the product of what is known; -1: no size */
    struct size_symbol unknown; /* the last such */
    uint32_t unknown_count;
};

static const struct size_symbol *size_symbol_named(const struct symbol_values *values,
                                                   const char *name, size_t length)
{
    for (uint32_t i = 0; i < values->count; i++)
        if (values->symbols[i].length == length &&
            memcmp(values->symbols[i].name, name, length) == 0)
            return &values->symbols[i];
    return NULL;
}

/* -1 where it is no number, or one that no size has. */
static int64_t number_of_factor(const char *text, size_t length)
{
    int64_t number = 0;

    for (size_t i = 0; i < length; i++)
        if (text[i] < '0' || text[i] > '9' || __builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, text[i] - '0', &number))
            return -1;
    return length > 0 ? number : -1;
}

static struct size_product product_of_factors(const struct symbol_values *values, const char *text,
                                              size_t length)
{
    struct size_product product = {.known = 1};

    for (size_t at = 0; at <= length && product.known >= 0;) {
        const char *star = memchr(text + at, '*', length - at);
        size_t size = star ? (size_t)(star - text) - at : length - at;
        bool is_number = size > 0 && text[at] >= '0' && text[at] <= '9';
        const struct size_symbol *symbol = size_symbol_named(values, text + at, size);
        int64_t factor = is_number ? number_of_factor(text + at, size) : symbol ? symbol->value : 1;

        if (!is_number && !symbol) {
            product.unknown = (struct size_symbol){text + at, size, 0};
            product.unknown_count++;
        }
        if (size == 0 || factor < 0 ||
            __builtin_mul_overflow(product.known, factor, &product.known))
            product.known = -1;
        at += size + 1;
    }
    return product;
}

/* False where the size cannot be the one that was seen. A product of two unknown symbols tells
 * neither of them, and contradicts nothing yet. */
static bool bind_size(struct symbol_values *values, const char *text, size_t length, int64_t seen)
{
    struct size_product size = product_of_factors(values, text, length);

    if (size.known < 0 || seen < 0)
        return false;
    if (size.unknown_count == 0)
        return size.known == seen;
    if (size.unknown_count > 1 || size.known == 0 || values->count == SYMBOLS_MAX)
        return true;
    if (seen % size.known != 0)
        return false;
    size.unknown.value = seen / size.known;
    values->symbols[values->count++] = size.unknown;
    return true;
}

/* "s77, 3" of a tensor, "=s77" of a number, "" of what says nothing. */
static bool bind_argument(struct symbol_values *values, const char *sizes,
                          const struct op_call *call, uint32_t argument)
{
    int64_t number;
    int dim = 0;

    if (*sizes == '\0')
        return true;
    if (*sizes == '=')
        return !integer_value(call, argument, &number) ||
               bind_size(values, sizes + 1, strlen(sizes + 1), number);
    for (const char *at = sizes; at; dim++) {
        const char *comma = strchr(at, ',');
        size_t length = comma ? (size_t)(comma - at) : strlen(at);

        if (dim >= rank_of(call, argument) ||
            !bind_size(values, at, length, size_of(call, argument, dim)))
            return false;
        at = comma ? comma + 1 : NULL;
    }
    return dim == rank_of(call, argument);
}

static bool bind_shapes(struct symbol_values *values, const struct compiled_shapes *shapes,
                        const struct op_call *call)
{
    for (uint32_t i = 0; i < shapes->count; i++)
        if (*shapes->sizes[i] &&
            (i >= call->argument_count || !bind_argument(values, shapes->sizes[i], call, i)))
            return false;
    return true;
}

/* False where a trace has no shapes of the event. */
static bool parse_event_shapes(struct op_call *call, const struct trace *trace, uint32_t event)
{
    const struct event_detail *detail = &trace->details[trace->host[event].detail];

    return detail->input_shapes &&
           op_call_parse(
               call, &(struct op_call_text){.name = trace_text(trace, trace->host[event].name),
                                            .shapes = trace_text(trace, detail->input_shapes),
                                            .types = trace_text(trace, detail->input_types),
                                            .values = trace_text(trace, detail->concrete_inputs)});
}

/* The function that autograd saw around the code is given what the code is given: one with as many
 * arguments of the same sizes. Another one, that of a backward, says nothing. */
static void bind_inputs(struct symbol_values *values, const struct compiled_range *range,
                        const struct trace *trace, const uint32_t *parents)
{
    SCOPED(op_call) call = {0};
    uint32_t event = parents[range->event];

    for (int depth = 0; event != NO_EVENT && depth < DEPTH_MAX; depth++, event = parents[event]) {
        struct symbol_values trial = *values;

        if (strcmp(trace_text(trace, trace->host[event].name), "CompiledFunction") != 0)
            continue;
        if (range->graph->inputs.count > 0 && parse_event_shapes(&call, trace, event) &&
            call.argument_count == range->graph->inputs.count &&
            bind_shapes(&trial, &range->graph->inputs, &call))
            *values = trial;
        return;
    }
}

/* Events [first, end) are those of the range. Twice: a product of two symbols is told by what
 * binds one of them later, and must not contradict it. */
static bool bind_range(struct symbol_values *values, const struct compiled_calls *calls,
                       size_t first, size_t end, const struct trace *trace)
{
    SCOPED(op_call) call = {0};

    for (int pass = 0; pass < 2; pass++)
        for (size_t i = first; i < end; i++) {
            const struct compiled_event *found = &calls->events[i];

            if (found->call && found->call->shapes.count > 0 &&
                parse_event_shapes(&call, trace, found->event) &&
                !bind_shapes(values, &found->call->shapes, &call))
                return false;
        }
    return true;
}

/* The same call with its FLOPs; itself where a symbol is not known. */
static const struct compiled_call *sized_call(struct compiled_calls *calls,
                                              const struct compiled_call *call,
                                              const struct symbol_values *values)
{
    struct compiled_call *sized = arena_allocate(&calls->arena, sizeof *sized);

    *sized = *call;
    sized->flops = 0;
    sized->products =
        arena_allocate(&calls->arena, (call->product_count + (size_t)1) * sizeof *sized->products);
    for (uint32_t i = 0; i < call->product_count; i++) {
        struct compiled_product *product = &sized->products[i];

        *product = call->products[i];
        if (product->sizes) {
            struct size_product flops =
                product_of_factors(values, product->sizes, strlen(product->sizes));

            product->flops = flops.unknown_count == 0 ? flops.known : -1;
        }
        if (product->flops < 0 ||
            __builtin_add_overflow(sized->flops, product->flops, &sized->flops))
            return call;
    }
    return sized;
}

static bool has_sizes(const struct compiled_call *call)
{
    for (uint32_t i = 0; call && i < call->product_count; i++)
        if (call->products[i].sizes)
            return true;
    return false;
}

static void bind_events(struct compiled_calls *calls, size_t first, size_t end,
                        const struct trace *trace, const uint32_t *parents)
{
    struct symbol_values values = {.count = 0};
    bool is_asked = false;

    for (size_t i = first; i < end; i++)
        is_asked = is_asked || has_sizes(calls->events[i].call);
    if (!is_asked)
        return;
    bind_inputs(&values, &calls->ranges[calls->events[first].range], trace, parents);
    if (!bind_range(&values, calls, first, end, trace))
        return;
    for (size_t i = first; i < end; i++)
        if (has_sizes(calls->events[i].call))
            calls->events[i].sized = sized_call(calls, calls->events[i].call, &values);
}

/* Events of one range stand together. */
void bind_compiled_sizes(struct compiled_calls *calls, const struct trace *trace,
                         const uint32_t *parents)
{
    size_t end;

    for (size_t first = 0; first < calls->event_count; first = end) {
        for (end = first;
             end < calls->event_count && calls->events[end].range == calls->events[first].range;
             end++)
            calls->events[end].sized = calls->events[end].call;
        bind_events(calls, first, end, trace, parents);
    }
}
