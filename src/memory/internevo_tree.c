/* Bytes by dotted path, as InternEvo's memory profiler lays them out. */
#include "base/core/array.h"
#include "base/text/prefix.h"
#include "memory/internevo.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_MAX_BYTES = 2048 };

static const char *const part_names[INTERNEVO_PART_COUNT] = {"params", "grads", "os_params",
                                                             "os_state", "activation_base"};
static const char *const part_roots[INTERNEVO_PART_COUNT] = {
    "param_mem", "grad_mem", "os_params_mem", "os_state_mem", "activations_0"};

const char *internevo_part_name(enum internevo_part part)
{
    return part_names[part];
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static uint32_t internevo_tree_add_node(struct internevo_tree *tree, const char *path,
                                        size_t length, uint32_t parent)
{
    uint32_t id = string_pool_add(&tree->paths, path, length);
    const char *dot;
    uint32_t index;

    if (id - 1 < tree->count) /* ids count up from 1: 0 is the empty path */
        return id - 1;
    ARRAY_ROOM(tree->nodes, tree->count);
    index = tree->count++;
    path = string_pool_text(&tree->paths, id);
    dot = strrchr(path, '.');
    tree->nodes[index] = (struct internevo_node){
        .path = path,
        .name = dot ? dot + 1 : path,
        .parent = parent,
        .first_child = NO_NODE,
        .last_child = NO_NODE,
        .next_sibling = NO_NODE,
        .depth = parent == NO_NODE ? 0 : tree->nodes[parent].depth + 1,
    };
    if (parent == NO_NODE)
        return index;
    if (tree->nodes[parent].last_child == NO_NODE)
        tree->nodes[parent].first_child = index;
    else
        tree->nodes[tree->nodes[parent].last_child].next_sibling = index;
    tree->nodes[parent].last_child = index;
    return index;
}

/* Every beginning of the path is a node of its own, made on the way. */
static void internevo_tree_add_bytes(struct internevo_tree *tree, const char *path, int64_t bytes)
{
    uint32_t node = NO_NODE;

    for (size_t i = 0;; i++) {
        if (path[i] != '.' && path[i] != '\0')
            continue;
        node = internevo_tree_add_node(tree, path, i, node);
        if (path[i] == '\0')
            break;
    }
    tree->nodes[node].own_bytes += bytes;
}

/* ---- what a block is called ------------------------------------------------------------------ */

/* Gives the parameters numbers, in the order of the side file: the model's, and as a rule the
 * optimizer's. */
static void number_parameters(const struct memory_run *run, struct string_pool *names)
{
    (void)string_pool_add(names, "", 0); /* so that the first parameter has id 1 */
    for (uint32_t i = 0; i < run->side->tensor_count; i++) {
        const struct marked_tensor *tensor = &run->side->tensors[i];
        char path[PATH_MAX_BYTES];

        if (tensor->kind != MEMORY_PARAMETER)
            continue;
        (void)snprintf(path, sizeof path, "%s.%s", tensor->module, tensor->name);
        (void)string_pool_add(names, path, strlen(path));
    }
}

/* A module as InternEvo names it: without the model itself, which all is in. */
static const char *module_path(const struct memory_run *run, const struct memory_block *block)
{
    bool is_model = block->module != NO_MODULE &&
                    run->tree.modules[block->module].parent == NO_MODULE &&
                    run->tree.modules[block->module].first_child != NO_MODULE;

    return is_model ? "" : memory_block_module(run, block);
}

/* "0.params.3" of "group 0.3", the name of a copy. */
static void name_copy(char *to, size_t size, const char *name)
{
    const char *dot = strrchr(name, '.');
    int group = has_prefix(name, "group ") ? (int)strtol(name + strlen("group "), NULL, 10) : 0;

    (void)snprintf(to, size, "%s.%d.params.%s", part_roots[INTERNEVO_OS_PARAMS], group,
                   dot ? dot + 1 : name);
}

/* "17.exp_avg": the parameter's number, and what is kept of it. */
static void name_state(char *to, size_t size, const struct string_pool *names,
                       const struct marked_tensor *tensor)
{
    const char *dot = strrchr(tensor->name, '.');
    size_t length = dot ? (size_t)(dot - tensor->name) : strlen(tensor->name);
    char parameter[PATH_MAX_BYTES];
    uint32_t id;

    (void)snprintf(parameter, sizeof parameter, "%s.%.*s", tensor->module, (int)length,
                   tensor->name);
    id = string_pool_find(names, parameter, strlen(parameter));
    (void)snprintf(to, size, "%s.%u.%s", part_roots[INTERNEVO_OS_STATE],
                   id == UINT32_MAX || id == 0 ? 0 : id - 1, dot ? dot + 1 : "state");
}

static bool is_copy(const struct marked_tensor *tensor)
{
    return tensor->kind == MEMORY_PARAMETER && *tensor->module == '\0';
}

/* Copies of parameters in full precision are the optimizer's, as InternEvo counts them. */
static bool is_of_part(const struct memory_run *run, const struct memory_block *block,
                       enum internevo_part part)
{
    bool copy = block->tensor != NO_TENSOR && is_copy(&run->side->tensors[block->tensor]);

    switch (part) {
    case INTERNEVO_PARAMS:
        return block->kind == MEMORY_PARAMETER && !copy;
    case INTERNEVO_GRADS:
        return block->kind == MEMORY_GRADIENT;
    case INTERNEVO_OS_PARAMS:
        return block->kind == MEMORY_PARAMETER && copy;
    case INTERNEVO_OS_STATE:
        return block->kind == MEMORY_OPTIMIZER_STATE;
    case INTERNEVO_ACTIVATIONS:
        break;
    }
    return block->kind == MEMORY_ACTIVATION;
}

/* Writes the path of a block to `to`, [PATH_MAX_BYTES]. */
static void name_block(char *to, const struct memory_run *run, const struct string_pool *names,
                       enum internevo_part part, const struct memory_block *block)
{
    const size_t size = PATH_MAX_BYTES;
    const char *module = module_path(run, block);
    const char *name = block->tensor == NO_TENSOR ? "" : run->side->tensors[block->tensor].name;

    if (part == INTERNEVO_OS_PARAMS)
        name_copy(to, size, name);
    else if (part == INTERNEVO_OS_STATE && block->tensor != NO_TENSOR)
        name_state(to, size, names, &run->side->tensors[block->tensor]);
    else
        (void)snprintf(to, size, "%s%s%s%s%s", part_roots[part], *module ? "." : "", module,
                       *name ? "." : "", name);
}

/* Totals from the end: parents stand before their children. */
void internevo_tree_fill(struct internevo_tree *tree, const struct memory_run *run, int32_t device,
                         enum internevo_part part, uint32_t change_count)
{
    struct string_pool names = {0};

    (void)string_pool_add(&tree->paths, "", 0);
    number_parameters(run, &names);
    internevo_tree_add_bytes(tree, part_roots[part], 0);
    for (uint32_t i = 0; i < run->blocks.count; i++) {
        const struct memory_block *block = &run->blocks.blocks[i];
        char path[PATH_MAX_BYTES];

        if (block->device != device || !is_of_part(run, block, part) ||
            !memory_block_is_alive(block, change_count))
            continue;
        name_block(path, run, &names, part, block);
        internevo_tree_add_bytes(tree, path, block->bytes);
    }
    for (uint32_t i = tree->count; i-- > 0;) {
        tree->nodes[i].total_bytes += tree->nodes[i].own_bytes;
        if (tree->nodes[i].parent != NO_NODE)
            tree->nodes[tree->nodes[i].parent].total_bytes += tree->nodes[i].total_bytes;
    }
    string_pool_clear(&names);
}

int64_t internevo_tree_bytes(const struct internevo_tree *tree)
{
    return tree->count ? tree->nodes[0].total_bytes : 0;
}

void internevo_tree_clear(struct internevo_tree *tree)
{
    if (!tree)
        return;
    free(tree->nodes);
    string_pool_clear(&tree->paths);
    *tree = (struct internevo_tree){0};
}
