/* JSON as a tree of plain data. */
#include "base/json/json_tree.h"
#include "base/pickle/pickle_build.h"
#include "base/pickle/pickle_tree.h"

#include <stdlib.h>
#include <string.h>

enum { DEPTH_MAX = 72 }; /* json_tree_parse allows 64 */

/* A list or dict that is being filled, and what comes next. */
struct open_node {
    struct pickle_value value;
    const struct json_node *next;
};

static struct pickle_value text_value(struct pickle_tree *tree, const char *text)
{
    return pickle_make(TAG_TEXT, string_pool_add(&tree->strings, text, strlen(text)));
}

/* A list or dict comes without its items. */
static struct pickle_value pickle_from_json_value_of(struct pickle_tree *tree,
                                                     const struct json_node *node)
{
    switch (node->kind) {
    case JSON_NULL:
        return pickle_make(TAG_NONE, 0);
    case JSON_BOOLEAN:
        return pickle_make(TAG_BOOLEAN, (uint64_t)node->integer);
    case JSON_NUMBER:
        return node->is_integer ? pickle_make_integer(tree, node->integer)
                                : pickle_make_real(tree, strtod(node->text, NULL));
    case JSON_STRING:
        return text_value(tree, node->text);
    case JSON_ARRAY:
        return pickle_make_sequence(tree, TAG_LIST);
    case JSON_OBJECT:
        return pickle_make_sequence(tree, TAG_DICT);
    }
    return pickle_make(TAG_NONE, 0);
}

/* Adds one item, and opens it where it has items of its own. */
static bool add_item(struct pickle_tree *tree, struct open_node *stack, size_t *depth)
{
    struct open_node *parent = &stack[*depth - 1];
    const struct json_node *node = parent->next;
    struct pickle_value cells[2];
    size_t count = 0;

    if (pickle_kind(parent->value) == PICKLE_DICT)
        cells[count++] = text_value(tree, node->key);
    cells[count++] = pickle_from_json_value_of(tree, node);
    parent->next = node->next;
    if (!pickle_extend(tree, parent->value, cells, count))
        return false;
    if (node->first)
        stack[(*depth)++] = (struct open_node){.value = cells[count - 1], .next = node->first};
    return true;
}

/* With a stack of its own, as the nesting comes from the file. */
bool pickle_tree_from_json(struct pickle_tree *tree, const char *text, size_t length,
                           struct error *error)
{
    SCOPED(arena) arena = {0};
    const struct json_node *root = json_tree_parse(&arena, text, length, error);
    struct open_node stack[DEPTH_MAX];
    size_t depth = 0;

    if (!root)
        return false;
    tree->root = pickle_from_json_value_of(tree, root);
    if (root->first)
        stack[depth++] = (struct open_node){.value = tree->root, .next = root->first};
    while (depth > 0) {
        if (!stack[depth - 1].next) {
            depth--;
            continue;
        }
        if (depth >= DEPTH_MAX || !add_item(tree, stack, &depth))
            return error_set(error, ERROR_INPUT, "the JSON is nested too deep, or too large");
    }
    return true;
}
