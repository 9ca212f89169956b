/* Reads compiled.json. */
#include "cost/modules/compiled_code.h"

#include "base/json/json_tree.h"

#include <string.h>

static uint32_t count_compiled_items(const struct json_node *items)
{
    uint32_t count = 0;

    for (; items; items = items->next)
        count++;
    return count;
}

static const char *copied_compiled_member(struct arena *arena, const struct json_node *entry,
                                          const char *key)
{
    const char *text = json_text_of(entry, key, "");

    return arena_copy_text(arena, text, strlen(text));
}

/* "a, b" of ["a", "b"]. */
static const char *joined_compiled_texts(struct arena *arena, const struct json_node *items)
{
    size_t length = 1;
    char *joined, *at;

    for (const struct json_node *item = items; item; item = item->next)
        length += item->kind == JSON_STRING ? strlen(item->text) + 2 : 0;
    joined = at = arena_allocate(arena, length);
    for (; items; items = items->next) {
        if (items->kind != JSON_STRING)
            continue;
        if (at != joined)
            at = (char *)mempcpy(at, ", ", 2);
        at = (char *)mempcpy(at, items->text, strlen(items->text));
    }
    *at = '\0';
    return joined;
}

static struct compiled_place compiled_place_of(struct arena *arena, const struct json_node *entry)
{
    return (struct compiled_place){.module = copied_compiled_member(arena, entry, "module"),
                                   .root = copied_compiled_member(arena, entry, "root"),
                                   .inner = copied_compiled_member(arena, entry, "inner")};
}

static struct compiled_shapes compiled_shapes_of(struct arena *arena, const struct json_node *items)
{
    struct compiled_shapes shapes = {
        .sizes = arena_allocate(arena,
                                (count_compiled_items(items) + (size_t)1) * sizeof *shapes.sizes)};

    for (; items; items = items->next)
        shapes.sizes[shapes.count++] =
            items->kind == JSON_STRING ? arena_copy_text(arena, items->text, strlen(items->text))
                                       : "";
    return shapes;
}

/* Left out where their sum is not that of the call. The parts must sum to the call's FLOPs, or
 * none is used: spreading a part would make the sum of modules differ from the total. */
static void add_compiled_products(struct compiled_call *call, struct arena *arena,
                                  const struct json_node *items)
{
    int64_t sum = 0;
    bool has_sizes = false;

    call->products =
        arena_allocate(arena, (count_compiled_items(items) + (size_t)1) * sizeof *call->products);
    for (; items && sum >= 0; items = items->next) {
        struct compiled_product *product = &call->products[call->product_count++];

        const char *sizes = copied_compiled_member(arena, items, "sizes");

        *product = (struct compiled_product){
            .sizes = *sizes ? sizes : NULL,
            .place = compiled_place_of(arena, items),
            .flops = json_integer_of(items, "flops", -1),
            .is_again = json_integer_of(items, "again", 0) != 0,
        };
        has_sizes = has_sizes || product->sizes;
        if (product->sizes)
            product->flops = -1;
        else if (product->flops < 0 || __builtin_add_overflow(sum, product->flops, &sum))
            sum = -1;
    }
    if (has_sizes && sum >= 0)
        call->flops = -1; /* until the sizes are known */
    else if (sum != call->flops)
        call->product_count = 0;
}

static enum compiled_phase compiled_phase_of(const struct json_node *call)
{
    int64_t again = json_integer_of(call, "again", -1);

    return again < 0 ? COMPILED_PHASE_UNKNOWN : again ? COMPILED_AGAIN : COMPILED_ONCE;
}

/* A key that comes twice leads to its first graph; the later one stays in the list,
 * unreferred. */
static void compiled_code_add_graph(struct compiled_code *code, struct arena *arena,
                                    const struct json_node *entry)
{
    struct compiled_graph *graph = &code->graphs[code->count];
    const struct json_node *call = json_items_of(entry, "calls");

    *graph = (struct compiled_graph){.key = copied_compiled_member(arena, entry, "key")};
    (void)hash_map_add(&code->graph_of,
                       string_pool_add(&code->keys, graph->key, strlen(graph->key)), code->count++);
    graph->inputs = compiled_shapes_of(arena, json_items_of(entry, "inputs"));
    graph->calls =
        arena_allocate(arena, (count_compiled_items(call) + (size_t)1) * sizeof *graph->calls);
    for (; call; call = call->next) {
        struct compiled_call *added = &graph->calls[graph->count++];

        *added = (struct compiled_call){
            .op = copied_compiled_member(arena, call, "op"),
            .place = compiled_place_of(arena, call),
            .aten = joined_compiled_texts(arena, json_items_of(call, "aten")),
            .lines = joined_compiled_texts(arena, json_items_of(call, "lines")),
            .flops = json_integer_of(call, "flops", -1),
            .bytes = json_integer_of(call, "bytes", -1),
            .shapes = compiled_shapes_of(arena, json_items_of(call, "shapes")),
            .phase = compiled_phase_of(call)};
        add_compiled_products(added, arena, json_items_of(call, "products"));
    }
}

/* The tree of JSON is dropped at the end: what is kept is copied into the caller's arena. */
bool compiled_code_parse(struct compiled_code *code, struct arena *arena, const char *text,
                         size_t length, struct error *error)
{
    SCOPED(arena) scratch = {0};
    const struct json_node *root = json_tree_parse(&scratch, text, length, error);
    const struct json_node *graphs;

    if (!root)
        return false;
    graphs = json_items_of(root, "graphs");
    code->graphs =
        arena_allocate(arena, (count_compiled_items(graphs) + (size_t)1) * sizeof *code->graphs);
    for (; graphs; graphs = graphs->next)
        compiled_code_add_graph(code, arena, graphs);
    return true;
}

/* By text id, then by map: a trace asks once per range. */
const struct compiled_graph *compiled_code_find(const struct compiled_code *code, const char *key,
                                                size_t length)
{
    uint32_t known = string_pool_find(&code->keys, key, length);
    uint32_t place = known == UINT32_MAX ? NO_VALUE : hash_map_find(&code->graph_of, known);

    return place == NO_VALUE ? NULL : &code->graphs[place];
}

bool compiled_code_calls(const struct compiled_code *code, const char *class_name)
{
    for (uint32_t i = 0; i < code->count; i++)
        for (uint32_t k = 0; k < code->graphs[i].count; k++)
            if (strcmp(code->graphs[i].calls[k].place.root, class_name) == 0)
                return true;
    return false;
}

void compiled_code_clear(struct compiled_code *code)
{
    string_pool_clear(&code->keys);
    hash_map_clear(&code->graph_of);
    *code = (struct compiled_code){0};
}
