/* Reads kernel_information.json, which AOTInductor puts into its packages where inductor's
 * provenance is on: of each call that the code makes, in their order, the nodes that were fused and
 * where the program calls them; of calls into libraries what they are given, since PyTorch 2.14.
 *
 * A key is a name with the number of the call: "cpp_fused_gelu_0:2". */
#include "base/core/sort.h"
#include "base/json/json_tree.h"
#include "cost/modules/compiled_code.h"
#include "cost/modules/compiled_words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct numbered_kernel {
    const struct json_node *entry;
    int64_t number;
};

/* -1: no key of a kernel. */
static int64_t number_of_kernel(const char *key)
{
    const char *colon = strrchr(key, ':');
    char *end;
    int64_t number = colon ? strtoll(colon + 1, &end, 10) : -1;

    return colon && end > colon + 1 && *end == '\0' && number >= 0 ? number : -1;
}

static int compare_call_numbers(const void *a, const void *b)
{
    const struct numbered_kernel *left = a, *right = b;

    return ORDER_OF(left->number, right->number);
}

/* "[[64, 32], [32, 8]]" as a profiler writes it; NULL where a size is a symbol. */
static const char *shapes_of_kernel(struct arena *arena, const struct json_node *shape)
{
    char text[1024] = "[";
    size_t length = 1;

    if (!shape)
        return NULL;
    for (; shape; shape = shape->next) {
        text[length++] = '[';
        for (const struct json_node *size = shape->first; size; size = size->next) {
            if (!size->is_integer || length > sizeof text - 64)
                return NULL;
            length += (size_t)snprintf(text + length, 32, "%lld%s", (long long)size->integer,
                                       size->next ? ", " : "");
        }
        length += (size_t)snprintf(text + length, 8, "]%s", shape->next ? ", " : "]");
    }
    return arena_copy_text(arena, text, length);
}

/* "[\"float32\", ...]" of "torch.float32", ...: as torch.profiler names them. */
static const char *types_of_kernel(struct arena *arena, const struct json_node *type)
{
    static const char *const names[][2] = {{"torch.float32", "float"},
                                           {"torch.float64", "double"},
                                           {"torch.bfloat16", "c10::BFloat16"},
                                           {"torch.float16", "c10::Half"},
                                           {"torch.int8", "signed char"},
                                           {"torch.float8_e4m3fn", "c10::Float8_e4m3fn"},
                                           {"torch.float8_e5m2", "c10::Float8_e5m2"}};
    char text[1024] = "[";
    size_t length = 1;

    for (; type; type = type->next) {
        const char *name = "";

        for (size_t i = 0; type->kind == JSON_STRING && i < sizeof names / sizeof *names; i++)
            if (strcmp(type->text, names[i][0]) == 0)
                name = names[i][1];
        if (length > sizeof text - 64)
            return NULL;
        length += (size_t)snprintf(text + length, 60, "\"%s\"%s", name, type->next ? ", " : "");
    }
    text[length++] = ']';
    return arena_copy_text(arena, text, length);
}

static void add_information_of(struct compiled_graph *graph, struct arena *arena,
                               const struct json_node *entry)
{
    graph->calls[graph->count++] = (struct compiled_call){
        .op = compiled_operator_word(arena, entry->key),
        .place = {"", "", ""},
        .aten = compiled_node_words(arena, json_items_of(entry, "post_grad_nodes")),
        .lines = compiled_line_words(arena, json_items_of(entry, "stack_traces")),
        .input_shapes = shapes_of_kernel(arena, json_items_of(entry, "input_shapes")),
        .input_types = types_of_kernel(arena, json_items_of(entry, "input_dtypes")),
        .flops = -1,
        .bytes = -1};
}

bool compiled_code_parse_kernels(struct compiled_code *code, struct arena *arena, const char *text,
                                 size_t length, struct error *error)
{
    SCOPED(arena) scratch = {0};
    const struct json_node *root = json_tree_parse(&scratch, text, length, error);
    struct numbered_kernel *kernels;
    size_t count = 0;

    if (!root)
        return false;
    for (const struct json_node *entry = root->first; entry; entry = entry->next)
        count++;
    kernels = arena_allocate(&scratch, (count + 1) * sizeof *kernels);
    code->unranged.calls = arena_allocate(arena, (count + 1) * sizeof *code->unranged.calls);
    count = 0;
    for (const struct json_node *entry = root->first; entry; entry = entry->next)
        if (entry->key && number_of_kernel(entry->key) >= 0)
            kernels[count++] = (struct numbered_kernel){entry, number_of_kernel(entry->key)};
    if (count > 1)
        qsort(kernels, count, sizeof *kernels, compare_call_numbers);
    for (size_t i = 0; i < count; i++)
        add_information_of(&code->unranged, arena, kernels[i].entry);
    return true;
}
