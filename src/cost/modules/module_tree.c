/* Builds the tree of modules from the names of their ranges and from how the ranges nest. */
#include "cost/modules/module_tree.h"

#include "base/core/array.h"
#include "base/core/invariant.h"
#include "base/text/prefix.h"
#include "trace/name_answers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Marks are looked for in so many events around a mark, and a name has so many parts at most: no
 * program nests deeper. */
enum { NESTING_MAX = 2000, LEVELS_MAX = 64 };

static const char mark_prefix[] = "nn:";
/* The Python frames that the profiler writes with stacks or modules: class and number, no path. */
static const char frame_prefix[] = "nn.Module: ";
static const char backward_prefix[] = "autograd::engine::evaluate_function";

static bool is_name_of_mark(const char *name)
{
    return has_prefix(name, mark_prefix);
}

static bool is_name_of_frame(const char *name)
{
    return has_prefix(name, frame_prefix);
}

static bool has_kind_of_mark(const struct event *event, bool is_of_frames)
{
    return is_of_frames ? event->kind == EVENT_PYTHON_FUNCTION
                        : event->kind == EVENT_OPERATOR || event->kind == EVENT_ANNOTATION;
}

bool is_module_mark(const struct trace *trace, const struct event *event)
{
    return has_kind_of_mark(event, false) && is_name_of_mark(trace_text(trace, event->name));
}

static bool is_module_frame(const struct trace *trace, const struct event *event)
{
    return has_kind_of_mark(event, true) && is_name_of_frame(trace_text(trace, event->name));
}

/* Only names of marks have a module, so the name is not looked at once more. */
uint32_t module_of_mark(const struct module_tree *tree, const struct event *event)
{
    uint32_t module = tree->by_event_name[event->name];

    return has_kind_of_mark(event, tree->is_of_frames) ? module : NO_MODULE;
}

/* The module of a dotted name, new where there is none; its parent is still to be set. */
static uint32_t add_module(struct module_tree *tree, const char *name, size_t length)
{
    uint32_t id = string_pool_add(&tree->names, name, length);
    const char *own;

    /* ids count up from 1: 0 is the empty name */
    if (id - 1 < tree->count)
        return id - 1;
    ARRAY_ROOM(tree->modules, tree->count);
    name = string_pool_text(&tree->names, id);
    own = strrchr(name, '.');
    tree->modules[tree->count] = (struct module){.name = name,
                                                 .own_name = own && own[1] ? own + 1 : name,
                                                 .parent = NO_MODULE,
                                                 .above = NO_MODULE,
                                                 .first_child = NO_MODULE,
                                                 .last_child = NO_MODULE,
                                                 .next_sibling = NO_MODULE};
    return tree->count++;
}

/* Adds the modules whose names are the beginnings of this one's; returns the first of them, or the
 * module itself. "model.layers.0.mlp" lies in "model.layers.0", "model.layers", "model": names
 * are the tree where they are dotted. */
static uint32_t add_dotted_parents(struct module_tree *tree, uint32_t module)
{
    for (int level = 0; level < LEVELS_MAX; level++) {
        const char *name = tree->modules[module].name;
        const char *dot = strrchr(name, '.');
        uint32_t parent;

        if (!dot || dot == name)
            break;
        parent = add_module(tree, name, (size_t)(dot - name));
        tree->modules[module].parent = parent;
        module = parent;
    }
    return module;
}

static bool is_name_of_engine(const char *name)
{
    return has_prefix(name, backward_prefix);
}

/* The module of the outermost mark around event `i` in the forward, of frames of the innermost one;
 * NO_MODULE where there is none, or where the call is made by a backward (a recomputation says
 * nothing of its place). */
static uint32_t outermost_around(const struct module_tree *tree, const struct trace *trace,
                                 const uint32_t *parents, struct name_answers *backwards,
                                 uint32_t i)
{
    uint32_t outermost = NO_MODULE;

    i = parents[i];
    for (int depth = 0; i != NO_EVENT && depth < NESTING_MAX; depth++, i = parents[i]) {
        const struct event *event = &trace->host[i];
        uint32_t module = module_of_mark(tree, event);

        if (module != NO_MODULE && (outermost == NO_MODULE || !tree->is_of_frames))
            outermost = module;
        if (name_answer(backwards, trace, event->name))
            return NO_MODULE;
    }
    return outermost;
}

static uint32_t one_above(const struct module_tree *tree, uint32_t module)
{
    const struct module *at = &tree->modules[module];

    return at->above != NO_MODULE ? at->above : at->parent;
}

/* The outermost module that this one is in, or itself. Who is above stays above, so that each way
 * up is gone once. */
static uint32_t outermost_of(struct module_tree *tree, uint32_t module)
{
    uint32_t outermost = module;

    while (one_above(tree, outermost) != NO_MODULE)
        outermost = one_above(tree, outermost);
    while (module != outermost) {
        uint32_t next = one_above(tree, module);

        tree->modules[module].above = outermost;
        module = next;
    }
    return outermost;
}

/* A mark inside another: where their names have nothing in common, the outer one is the parent of
 * the first part of the inner name. */
static void place_under_outermost(struct module_tree *tree, uint32_t module, uint32_t outermost)
{
    uint32_t first = add_dotted_parents(tree, module);

    if (outermost == NO_MODULE || tree->modules[first].parent != NO_MODULE)
        return;
    if (outermost_of(tree, outermost) != first) /* no circles */
        tree->modules[first].parent = outermost;
}

/* The trace has a mark for the module. */
static bool is_marked(const struct trace *trace, const char *name)
{
    char mark[1024];
    int length = snprintf(mark, sizeof mark, "%s%s", mark_prefix, name);

    return length > 0 && (size_t)length < sizeof mark &&
           string_pool_find(&trace->strings, mark, (size_t)length) != UINT32_MAX;
}

/* Event indices of the marks in order of time, so that the order of children does not depend on the
 * order of threads. */
struct mark {
    int64_t start_ns;
    uint32_t event;
};

static int compare_marks(const void *a, const void *b)
{
    const struct mark *left = a;
    const struct mark *right = b;

    if (left->start_ns != right->start_ns)
        return left->start_ns < right->start_ns ? -1 : 1;
    return left->event < right->event ? -1 : left->event > right->event;
}

/* Sorted by start, as the tree is built from how ranges nest; the index keeps equal starts in
 * the order of the trace. */
static struct mark *find_marks(const struct trace *trace, uint32_t *count,
                               bool (*is_wanted)(const struct trace *trace,
                                                 const struct event *event))
{
    struct mark *marks = NULL;

    *count = 0;
    for (uint32_t i = 0; i < trace->host_count; i++) {
        if (!is_wanted(trace, &trace->host[i]))
            continue;
        ARRAY_ADD(marks, *count, (struct mark){trace->host[i].start_ns, i});
    }
    if (*count)
        qsort(marks, *count, sizeof *marks, compare_marks);
    return marks;
}

/* In order of time, so modules have the order of their first calls. */
static void add_marked_modules(struct module_tree *tree, const struct trace *trace,
                               const struct mark *marks, uint32_t count)
{
    for (uint32_t i = 0; marks && i < count; i++) {
        uint32_t string = trace->host[marks[i].event].name;
        const char *name = trace_text(trace, string) +
                           (tree->is_of_frames ? sizeof frame_prefix - 1 : sizeof mark_prefix - 1);

        if (*name == '\0' || tree->by_event_name[string] != NO_MODULE)
            continue;
        tree->by_event_name[string] = add_module(tree, name, strlen(name));
        tree->modules[tree->by_event_name[string]].is_called = true;
        (void)add_dotted_parents(tree, tree->by_event_name[string]);
    }
}

/* Links children to their parents in the order of the modules, which is that of first calls. By
 * first and next, so that a tree of any width has fixed-size nodes. */
static void link_children(struct module_tree *tree)
{
    for (uint32_t i = 0; i < tree->count; i++) {
        struct module *parent;

        if (tree->modules[i].parent == NO_MODULE)
            continue;
        parent = &tree->modules[tree->modules[i].parent];
        if (parent->last_child == NO_MODULE)
            parent->first_child = i;
        else
            tree->modules[parent->last_child].next_sibling = i;
        parent->last_child = i;
    }
}

/* The module after `at` when the tree below `root` is walked, parents first. Depth first without
 * a stack, by sibling and parent links: the depth of a file's names is not bounded by ours. */
static uint32_t next_in_walk(const struct module_tree *tree, uint32_t root, uint32_t at)
{
    if (tree->modules[at].first_child != NO_MODULE)
        return tree->modules[at].first_child;
    while (at != root && tree->modules[at].next_sibling == NO_MODULE)
        at = tree->modules[at].parent;
    return at == root ? NO_MODULE : tree->modules[at].next_sibling;
}

/* A walk from each root, parents before children: depths follow from the parent's, and tables
 * can be printed by this order. A module that no walk reached would mean a circle. */
static void module_tree_put_in_order(struct module_tree *tree)
{
    uint32_t count = 0;

    tree->order = require_memory(calloc(tree->count, sizeof *tree->order));
    for (uint32_t root = 0; root < tree->count; root++) {
        if (tree->modules[root].parent != NO_MODULE)
            continue;
        for (uint32_t at = root; at != NO_MODULE; at = next_in_walk(tree, root, at)) {
            struct module *module = &tree->modules[at];

            module->depth =
                module->parent == NO_MODULE ? 0 : tree->modules[module->parent].depth + 1;
            tree->order[count++] = at;
        }
    }
    require_invariant(count == tree->count, "each module stands once in the tree");
}

/* A function that was compiled with the model in it shows no mark. */
static bool is_called_compiled(const struct model_description *description,
                               const struct described_module *module)
{
    return strcmp(module->name, module->root) == 0 && *module->class_name &&
           compiled_code_calls(&description->compiled, module->class_name);
}

/* Modules in the order of the model, before those that only the trace shows; of models whose
 * modules the trace shows at all. */
static void add_described_modules(struct module_tree *tree, const struct trace *trace,
                                  const struct model_description *description)
{
    const char *called_root = NULL;

    for (uint32_t i = 0; description && i < description->count; i++) {
        const struct described_module *described = &description->modules[i];
        bool is_called = is_marked(trace, described->root) || is_marked(trace, described->name) ||
                         is_called_compiled(description, described);
        uint32_t root;

        if (is_called)
            called_root = described->root;
        if (*described->name == '\0' || !called_root || strcmp(called_root, described->root) != 0)
            continue;
        root = add_module(tree, described->root, strlen(described->root));
        place_under_outermost(tree, add_module(tree, described->name, strlen(described->name)),
                              root);
    }
}

/* Marks of the recorder ("nn:") have full names and go before frames of the profiler, which
 * have class and number only. Without either the tree is empty. */
void module_tree_build(struct module_tree *tree, const struct trace *trace, const uint32_t *parents,
                       const struct model_description *description)
{
    size_t strings = string_pool_count(&trace->strings);
    struct name_answers backwards = {.ask = is_name_of_engine};
    uint32_t mark_count = 0;
    struct mark *marks = NULL;

    if (any_text_is(trace, is_name_of_mark))
        marks = find_marks(trace, &mark_count, is_module_mark);
    if (mark_count == 0 && any_text_is(trace, is_name_of_frame)) {
        free(marks);
        marks = find_marks(trace, &mark_count, is_module_frame);
        tree->is_of_frames = mark_count > 0;
    }
    tree->by_event_name = require_memory(malloc((strings + 1) * sizeof *tree->by_event_name));
    for (size_t i = 0; i <= strings; i++)
        tree->by_event_name[i] = NO_MODULE;
    (void)string_pool_add(&tree->names, "", 0);
    add_described_modules(tree, trace, description);
    add_marked_modules(tree, trace, marks, mark_count);
    for (uint32_t i = 0; marks && i < mark_count; i++) {
        uint32_t module = tree->by_event_name[trace->host[marks[i].event].name];

        if (module != NO_MODULE)
            place_under_outermost(
                tree, module, outermost_around(tree, trace, parents, &backwards, marks[i].event));
    }
    free(backwards.answers);
    free(marks);
    if (tree->count == 0)
        return;
    link_children(tree);
    module_tree_put_in_order(tree);
}

uint32_t module_tree_find(const struct module_tree *tree, const char *name)
{
    uint32_t id = string_pool_find(&tree->names, name, strlen(name));

    return id == UINT32_MAX || id == 0 ? NO_MODULE : id - 1;
}

void module_tree_clear(struct module_tree *tree)
{
    free(tree->modules);
    free(tree->order);
    free(tree->by_event_name);
    string_pool_clear(&tree->names);
    *tree = (struct module_tree){0};
}
